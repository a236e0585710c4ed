# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: events/columns.c events/crc32c.c events/events.c events/load.c events/log.c events/memory.c events/points.c
# uses: events/tags.c events/tensor.c
# uses: index/index_format.c index/index_read.c index/index_write.c
"""Event files in, columns out. A thin layer: the work is in c/events, with the GIL released. Columns are returned as
buffers, which numpy wraps without copying, so reading does not need numpy."""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdlib cimport free, malloc
from libc.string cimport memset

include "shared.pxi"


cdef class EventLog:
    """Everything read so far from one event file. Can be queried while another thread loads it."""

    def __cinit__(self):
        self.log = pb_log_new()
        if self.log is NULL:
            raise MemoryError("no memory for an event log")

    def __dealloc__(self):
        pb_log_free(self.log)

    cdef void acquire(self) noexcept:
        # A loading thread holds the lock for one piece of the file. Wait without the GIL.
        with nogil:
            pb_mutex_lock(&self.log.lock)

    cdef void release(self) noexcept:
        pb_mutex_unlock(&self.log.lock)

    def restrict(self, bytes directories) -> None:
        """Load files only if they are in these directories: real paths, each followed by a zero. None: anywhere."""
        with nogil:
            pb_mutex_lock(&self.log.loading)
        self.within = directories  # keeps the bytes; Python adds the last zero
        self.log.within = NULL if directories is None else PyBytes_AS_STRING(self.within)
        pb_mutex_unlock(&self.log.loading)

    def load(self, bytes path not None) -> None:
        """Read what is new in the file at `path`; start over if the file was replaced or truncated."""
        cdef const char *p = path
        cdef pb_scratch scratch
        memset(&scratch, 0, sizeof(scratch))
        with nogil:
            pb_load(self.log, p, &scratch)
            pb_scratch_free(&scratch)

    def wait_until_loaded(self) -> None:
        """Return when no thread is loading the file."""
        with nogil:
            pb_mutex_lock(&self.log.loading)
            pb_mutex_unlock(&self.log.loading)

    def feed(self, const uint8_t[::1] data not None) -> int:
        """Read whole records from bytes that start at `offset` in the file. Returns the number of bytes consumed."""
        cdef size_t n = data.shape[0], consumed
        cdef uint64_t want = 0
        if not n:
            return 0
        with nogil:
            pb_mutex_lock(&self.log.lock)
            consumed = pb_feed(self.log, &data[0], n, &want)
            pb_mutex_unlock(&self.log.lock)
        return consumed

    def trim(self) -> None:
        """Free unused memory. Call it after feeding the file to its end."""
        self.acquire()
        pb_log_trim(self.log)
        self.release()

    def reset(self, double version=0, int64_t most_recent_step=-1) -> None:
        """Forget everything, and start from the version and step that the run's earlier files ended with."""
        with nogil:
            pb_mutex_lock(&self.log.loading)
        self.acquire()
        pb_log_reset(self.log, version, most_recent_step)
        self.release()
        pb_mutex_unlock(&self.log.loading)

    # ---- the index: index.h describes it

    def save(self, int fd) -> int:
        """Write an index of everything read to an open, empty file. Returns 0 or errno."""
        cdef int error
        with nogil:
            error = pb_index_write(self.log, fd)
        return error

    def restore(self, bytes index not None, bytes path not None) -> bool:
        """Load the index at `index` instead of reading the event file at `path`.

        Returns False and changes nothing if the index is damaged. Call it only on a log that has read nothing. Columns
        are read from the index on first use. If one is missing or damaged by then, the call reads the event file again
        and raises IndexError: tag indices may have changed, so look them up again.
        """
        cdef const char *p = index
        cdef int done
        with nogil:
            done = pb_index_read(self.log, p)
        self.path = path
        return done != 0

    def fetch(self) -> bool:
        """Read all columns that are still in the index into memory. False if any is missing or damaged."""
        cdef uint32_t i
        cdef int done = 1
        with nogil:
            pb_mutex_lock(&self.log.lock)
            for i in range(self.log.tag_n):
                done = (done and pb_fetch_points(self.log, &self.log.tags[i].points)
                        and pb_fetch_spans(self.log, &self.log.tags[i].spans))
            pb_mutex_unlock(&self.log.lock)
        return done != 0

    cdef int has_points(self, uint32_t tag) noexcept:
        """Make sure a tag's points are in memory; 0 if they are lost. Without the GIL: the disk may be slow."""
        cdef int done = 1
        if self.log.tags[tag].points.stored_n:
            with nogil:
                done = pb_fetch_points(self.log, &self.log.tags[tag].points)
        return done

    cdef int has_spans(self, uint32_t tag) noexcept:
        cdef int done
        with nogil:
            done = pb_fetch_spans(self.log, &self.log.tags[tag].spans)
        return done

    cdef int reload(self, uint64_t generation) except -1:
        """Read the event file because the index failed. Raises, so that no caller keeps using old tag indices."""
        cdef pb_scratch scratch
        cdef const char *p = self.path
        memset(&scratch, 0, sizeof(scratch))
        with nogil:
            pb_reload(self.log, p, generation, &scratch)
            pb_scratch_free(&scratch)
        raise IndexError("the index is missing or damaged; the event file was read again, so look up its tags again")

    # ---- the file

    @property
    def offset(self) -> int:
        """The byte after the last record read."""
        return self.log.offset

    @property
    def size(self) -> int:
        """The file's size in bytes at the last load."""
        return self.log.size

    @property
    def mtime_ns(self) -> int:
        """The file's modification time at the last load."""
        return self.log.mtime_ns

    @property
    def identity(self) -> tuple:
        """(device, inode) of the file."""
        return self.log.dev, self.log.ino

    @property
    def end(self) -> int:
        """How the last load ended: one of the END_ values."""
        return self.log.end

    @property
    def error(self) -> int:
        """errno, if `end` is END_ERRNO."""
        return self.log.error

    @property
    def generation(self) -> int:
        """How often the log has started over."""
        return self.log.generation

    @property
    def events(self) -> int:
        return self.log.events

    @property
    def points(self) -> int:
        """Number of scalar points, including orphaned ones."""
        return self.log.points

    @property
    def framing_bytes(self) -> int:
        """Bytes of the file that belong to no tag."""
        return self.log.framing_bytes

    @property
    def first_wall(self) -> float:
        return self.log.first_wall

    @property
    def last_wall(self) -> float:
        return self.log.last_wall

    @property
    def last_step(self) -> int:
        """The step of the last event with values; 0 if there is none."""
        return self.log.last_step

    @property
    def held_bytes(self) -> int:
        """Memory used by the columns."""
        self.acquire()
        n = pb_held_bytes(self.log)
        self.release()
        return n

    @property
    def state(self) -> tuple:
        """(version, most recent step) at the end of the file, which the run's next file starts from."""
        return self.log.version, self.log.most_recent_step

    @property
    def started_from(self) -> tuple:
        """The state this log started from."""
        return self.log.version_at_start, self.log.most_recent_at_start

    @property
    def unversioned(self) -> bool:
        """Whether a summary came before any version record, so that a falling step means a restart."""
        return self.log.unversioned != 0

    def notes(self) -> tuple:
        """(number of skipped records, the first of them as (code, offset, length, got, want))."""
        self.acquire()
        try:
            n = self.log.note_n
            return n, [(self.log.notes[i].code, self.log.notes[i].offset, self.log.notes[i].length,
                        self.log.notes[i].got, self.log.notes[i].want) for i in range(min(n, <uint64_t>PB_MAX_NOTES))]
        finally:
            self.release()

    def restarts(self) -> list:
        """Session starts as (step, wall time, byte offset)."""
        self.acquire()
        try:
            return [(self.log.restarts[i].step, self.log.restarts[i].wall, self.log.restarts[i].offset)
                    for i in range(self.log.restart_n)]
        finally:
            self.release()

    # ---- tags and their columns

    cdef tuple row(self, uint32_t i):
        cdef pb_tag *t = &self.log.tags[i]
        plugin = None if t.plugin < 0 else self.log.plugins[t.plugin].decode("utf-8", "backslashreplace")
        name = PyUnicode_DecodeUTF8(t.name, t.len, "backslashreplace")
        return name, plugin, t.points.n, t.spans.n, t.span_fields, t.bytes, t.meta_offset, t.meta_length, i

    def tags(self) -> list:
        """(name, plugin or None, points, spans, fields of the spans as bits, bytes, offset and length of the metadata,
        index) of each tag, in order of appearance."""
        cdef uint32_t i
        self.acquire()
        try:
            return [self.row(i) for i in range(self.log.tag_n)]
        finally:
            self.release()

    def tag(self, str name not None) -> tuple | None:
        """The same for one tag; None if the file has no such tag."""
        cdef uint32_t i
        self.acquire()
        try:
            i = self.index_of(name)
            return None if i == NO_TAG else self.row(i)
        finally:
            self.release()

    cdef uint32_t index_of(self, str name) except? 0:
        """The index of a tag; NO_TAG if there is no such tag. The caller holds the lock."""
        cdef Py_ssize_t size
        cdef const char *utf8
        cdef uint32_t i
        try:
            utf8 = PyUnicode_AsUTF8AndSize(name, &size)
        except UnicodeEncodeError:
            return NO_TAG  # no file can contain this name
        i = pb_log_find(self.log, <const uint8_t *>utf8, <uint32_t>size) if size < NO_TAG else NO_TAG
        if i == NO_TAG and "\\" in name:
            # The name may be the escaped form of bytes that are not UTF-8.
            for i in range(self.log.tag_n):
                if self.row(i)[0] == name:
                    return i
            return NO_TAG
        return i

    def scalar_tags(self, *, only=False) -> list | None:
        """The tags with points, in order of appearance. None if others may have scalars too, which depends on the run's
        other files; with `only`, also None if a tag has anything else."""
        cdef uint32_t i
        cdef pb_tag *t
        self.acquire()
        try:
            out = []
            for i in range(self.log.tag_n):
                t = &self.log.tags[i]
                if t.points.n and not (only and t.span_fields):
                    out.append(PyUnicode_DecodeUTF8(t.name, t.len, "backslashreplace"))
                elif t.span_fields and (only or t.plugin < 0 or t.plugin == self.log.scalars_plugin):
                    return None
            return out
        finally:
            self.release()

    @property
    def tag_count(self) -> int:
        return self.log.tag_n

    cdef tuple cuts_of(self, pb_column *c):
        return (c.restarts_seen, [(c.cuts[i].at, c.cuts[i].below, c.cuts[i].restart) for i in range(c.cut_n)])

    def point_columns(self, uint32_t tag, uint64_t start=0) -> tuple:
        """(steps int64, wall times float64, values float64, cuts) of the tag with this index, from point `start` on.

        From the first point on, they are shared with the log and read-only; otherwise they are copied.
        """
        cdef pb_column *c
        cdef int lost = 0
        self.acquire()
        cdef uint64_t generation = self.log.generation
        try:
            if tag >= self.log.tag_n:
                raise IndexError(tag)
            c = &self.log.tags[tag].points
            lost = start < c.stored_n and not self.has_points(tag)
            if not lost:
                return *(copied_points(c, start) if start else shared_points(c)), self.cuts_of(c)
        finally:
            self.release()
        self.reload(generation)

    def series(self, str tag not None) -> tuple | None:
        """(steps int64, wall times float64, values float64) of a tag, shared with the log and read-only.

        None if that is not the whole series: the file has no such points, a restart may have orphaned some, other files
        may hold more of what is a scalar, or the index that holds them is damaged.
        """
        return whole_series(self, tag)

    def packed_series(self, str tag not None) -> tuple | None:
        """(numbers, start, points): from this number on, the steps, wall times and values that `series` would return.

        The numbers are one read-only buffer, the same object for every tag until the file grows. None for long columns,
        and if `series` would return None.
        """
        return packed_series(self, tag)

    def summary(self, str tag not None) -> tuple | None:
        """(last value, its step, min, its step, max, its step) of what `packed_series` would return."""
        return summary(self, tag)

    def span_columns(self, uint32_t tag) -> tuple:
        """(steps int64, wall times float64, offsets uint64, lengths uint32, fields uint32, cuts), as bytearrays."""
        cdef pb_column *c
        self.acquire()
        cdef uint64_t generation = self.log.generation
        try:
            if tag >= self.log.tag_n:
                raise IndexError(tag)
            c = &self.log.tags[tag].spans
            if self.has_spans(tag):
                return *copied_spans(c), self.cuts_of(c)
        finally:
            self.release()
        self.reload(generation)

    def stats(self, uint32_t tag) -> tuple:
        """(count, NaNs, infinities, min, max, last value, first and last wall time, first, last, smallest and largest
        step) of a tag's points."""
        cdef pb_stats s
        cdef int in_memory = 0
        self.acquire()
        cdef uint64_t generation = self.log.generation
        try:
            if tag >= self.log.tag_n:
                raise IndexError(tag)
            in_memory = self.has_points(tag)
            if in_memory:
                pb_point_stats(&self.log.tags[tag].points, &s)
        finally:
            self.release()
        if not in_memory:
            self.reload(generation)
        return (s.n, s.nan, s.inf, s.min, s.max, s.last, s.first_wall, s.last_wall,
                s.first_step, s.last_step, s.min_step, s.max_step)


include "batch.pxi"
