"""Part of reader.pyx: constants, and columns as buffers. Those of a whole series are not copied."""

# How reading a file ended (EventLog.end). events.h describes each value.
END_CLEAN, END_TORN, END_BAD_LENGTH, END_HUGE, END_ERRNO, END_NOT_A_FILE, END_NO_MEMORY, END_OUTSIDE = range(8)
# Why a record was skipped (the first item of a note).
NOTE_PAYLOAD, NOTE_EVENT = 1, 2

cdef uint32_t NO_TAG = 0xFFFFFFFF


cdef class Shared:
    """Numbers of a column, as a read-only buffer. They stay as they are, whatever happens to the log."""

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.items, self.n * 8, 1, flags)

    def __dealloc__(self):
        pb_memory_release(self.owner)


cdef Shared shared(pb_memory *owner, void *items, uint64_t n):
    """Takes over one use of the memory."""
    cdef Shared out = Shared.__new__(Shared)
    out.owner, out.items, out.n = owner, items, n
    return out


cdef tuple shared_points(pb_column *c):
    """(steps, wall times, values) of a column that is in memory. The caller holds the lock."""
    cdef pb_memory *owner = pb_points_share(c)
    if owner is NULL:
        if c.n:
            raise MemoryError("no memory for arrays")
        return b"", b"", b""
    pb_memory_use(owner)
    pb_memory_use(owner)
    return shared(owner, c.steps, c.n), shared(owner, c.walls, c.n), shared(owner, c.values, c.n)


cdef tuple copied_points(pb_column *c, uint64_t start):
    """The same from point `start` on, copied."""
    cdef uint64_t n = c.n - start if start < c.n else 0
    step = PyByteArray_FromStringAndSize(NULL, n * 8)
    wall = PyByteArray_FromStringAndSize(NULL, n * 8)
    value = PyByteArray_FromStringAndSize(NULL, n * 8)
    if n:
        pb_copy_points(c, start - c.stored_n, <int64_t *>PyByteArray_AS_STRING(step),
                       <double *>PyByteArray_AS_STRING(wall), <double *>PyByteArray_AS_STRING(value))
    return step, wall, value


cdef tuple copied_spans(pb_column *c):
    """(steps, wall times, offsets, lengths, fields), copied."""
    step = PyByteArray_FromStringAndSize(NULL, c.n * 8)
    wall = PyByteArray_FromStringAndSize(NULL, c.n * 8)
    offset = PyByteArray_FromStringAndSize(NULL, c.n * 8)
    length = PyByteArray_FromStringAndSize(NULL, c.n * 4)
    field = PyByteArray_FromStringAndSize(NULL, c.n * 4)
    pb_copy_spans(c, <int64_t *>PyByteArray_AS_STRING(step), <double *>PyByteArray_AS_STRING(wall),
                  <uint64_t *>PyByteArray_AS_STRING(offset), <uint32_t *>PyByteArray_AS_STRING(length),
                  <uint32_t *>PyByteArray_AS_STRING(field))
    return step, wall, offset, length, field


cdef pb_column *whole_column(EventLog log, str tag) except? NULL:
    """The points of a tag; NULL if they may not be the whole series. The caller holds the lock."""
    if log.log.unversioned or log.log.restart_n:
        return NULL
    cdef uint32_t i = log.index_of(tag)
    if i == NO_TAG or log.log.tags[i].spans.n or not log.log.tags[i].points.n or not log.has_points(i):
        return NULL
    return &log.log.tags[i].points


cdef tuple whole_series(EventLog log, str tag):
    log.acquire()
    try:
        column = whole_column(log, tag)
        return None if column is NULL else shared_points(column)
    finally:
        log.release()


cdef tuple packed_series(EventLog log, str tag):
    log.acquire()
    try:
        column = whole_column(log, tag)
        if column is NULL or column.owner is NULL or not column.owner.packed_n:
            log.packed = None
            return None
        owner = column.owner
        if log.packed is None or log.packed.owner is not owner:
            pb_memory_use(owner)
            log.packed = shared(owner, owner.parts[0], owner.packed_n)
        return log.packed, column.steps - <int64_t *>owner.parts[0], column.n
    finally:
        log.release()


cdef tuple summary(EventLog log, str tag):
    cdef pb_stats s
    log.acquire()
    try:
        column = whole_column(log, tag)
        if column is NULL or column.owner is NULL or not column.owner.packed_n:
            return None
        pb_point_stats(column, &s)
        at = column.steps
        if s.min != s.min:  # no value is finite
            return s.last, s.last_step, s.min, 0, s.max, 0
        return s.last, s.last_step, s.min, at[s.at_min], s.max, at[s.at_max]
    finally:
        log.release()
