"""Part of reader.pyx: whole series, without copying them."""


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
