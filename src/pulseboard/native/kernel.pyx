# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: columns.c crc32c.c encode.c events.c histogram.c index.c load.c tensor.c
"""The kernel's Python face: event files in, columns out.

Thin on purpose: the work is in the C files beside this one, with the GIL released. Arrays come
back as bytes-like memory that numpy wraps without copying, so that reading needs no numpy.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsDouble, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, strlen

import struct

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_lock(pthread_mutex_t *)
    int pthread_mutex_unlock(pthread_mutex_t *)

cdef extern from "crc32c.h" nogil:
    void pb_crc32c_init()
    uint32_t (*pb_crc32c)(const uint8_t *p, size_t n)
    uint32_t pb_crc32c_table(const uint8_t *p, size_t n)
    uint32_t pb_crc32c_mask(uint32_t crc)
    uint32_t pb_length_crc(uint64_t length)
    const char *pb_crc32c_name()

cdef extern from "events.h" nogil:
    ctypedef struct pb_cut:
        uint64_t at
        int64_t below
        int64_t restart
    ctypedef struct pb_column:
        uint64_t n
        uint64_t stored_n
        uint64_t restarts_seen
        pb_cut *cuts
        uint32_t cut_n
    ctypedef struct pb_tag:
        char *name
        uint32_t len
        int plugin
        uint64_t bytes
        uint64_t meta_offset
        uint32_t meta_length
        uint32_t whats
        pb_column points
        pb_column spans
    ctypedef struct pb_note:
        uint64_t offset
        uint64_t length
        uint32_t code
        uint32_t got
        uint32_t want
    ctypedef struct pb_restart:
        int64_t step
        double wall
        uint64_t offset
    ctypedef struct pb_point:
        pass
    ctypedef struct pb_span:
        pass
    ctypedef struct pb_log:
        pthread_mutex_t lock
        pthread_mutex_t loading
        pb_tag *tags
        uint32_t tag_n
        char **plugins
        uint32_t plugin_n
        pb_restart *restarts
        uint64_t restart_n
        pb_note *notes
        uint64_t note_n
        uint64_t offset
        uint64_t events
        uint64_t points
        uint64_t framing_bytes
        double first_wall
        double last_wall
        int64_t last_step
        double version
        int64_t most_recent_step
        double version_at_start
        int64_t most_recent_at_start
        int unversioned
        int end
        int error
        uint64_t size
        int64_t mtime_ns
        uint64_t dev
        uint64_t ino
        uint64_t generation
    ctypedef struct pb_stats:
        uint64_t n
        uint64_t nan
        uint64_t inf
        double min
        double max
        double last
        double last_wall
        double first_wall
        int64_t first_step
        int64_t last_step
        int64_t min_step
        int64_t max_step
    ctypedef struct pb_batch:
        pb_log **logs
        const char **paths
        size_t n
        size_t cursor
        size_t done
        int cancelled
    ctypedef struct pb_scratch:
        uint8_t *bytes
        size_t cap
    enum:
        PB_MAX_NOTES
    pb_log *pb_log_new()
    void pb_log_free(pb_log *)
    void pb_log_reset(pb_log *, double version, int64_t most_recent_step)
    void pb_log_trim(pb_log *)
    uint32_t pb_log_find(const pb_log *, const uint8_t *name, uint32_t len)
    size_t pb_feed(pb_log *, const uint8_t *, size_t n, uint64_t *want)
    void pb_copy_points(const pb_column *, uint64_t start, int64_t *, double *, double *)
    void pb_copy_spans(const pb_column *, int64_t *, double *, uint64_t *, uint32_t *, uint32_t *)
    void pb_point_stats(const pb_column *, pb_stats *)
    uint64_t pb_held_bytes(const pb_log *)
    void pb_load(pb_log *, const char *path, pb_scratch *)
    void pb_reload(pb_log *, const char *path, uint64_t generation, pb_scratch *)
    void pb_batch_work(pb_batch *)

cdef extern from "index.h" nogil:
    int pb_index_write(pb_log *, int fd)
    int pb_index_read(pb_log *, const char *path)
    int pb_column_fetch(pb_log *, pb_column *, size_t item_size)

cdef extern from "encode.h" nogil:
    ctypedef struct pb_buffer:
        uint8_t *bytes
        size_t n
        size_t cap
    void pb_buffer_free(pb_buffer *)
    int pb_scalars_begin(pb_buffer *, int64_t step, double wall)
    int pb_scalars_add(pb_buffer *, const char *tag, size_t tag_len, float value)
    int pb_scalars_end(pb_buffer *)
    int pb_bytes_add(pb_buffer *, const uint8_t *, size_t n)
    int pb_record_add(pb_buffer *, const uint8_t *payload, size_t n)
    int pb_buffer_write(pb_buffer *, int fd, uint64_t *offset)

# How a file ended (EventLog.end); events.h says what each means.
END_CLEAN, END_TORN, END_BAD_LENGTH, END_HUGE, END_ERRNO, END_NOT_A_FILE, END_NO_MEMORY = range(7)
# Why a record was skipped (the first item of a note).
NOTE_PAYLOAD, NOTE_EVENT = 1, 2

pb_crc32c_init()


def checksum(const uint8_t[::1] data not None) -> int:
    """The masked CRC32C that TFRecord stores beside `data`."""
    cdef size_t n = data.shape[0]
    return pb_crc32c_mask(pb_crc32c(&data[0] if n else NULL, n))


def checksum_portable(const uint8_t[::1] data not None) -> int:
    """The same, by table: what a CPU without the instruction uses."""
    cdef size_t n = data.shape[0]
    return pb_crc32c_mask(pb_crc32c_table(&data[0] if n else NULL, n))


def checksum_by() -> str:
    """How checksums are computed on this CPU: 'sse4.2', 'armv8-crc' or 'table'."""
    return pb_crc32c_name().decode()


def frame(bytes payload not None) -> bytes:
    """One record: length, its checksum, the payload, its checksum."""
    cdef uint64_t n = len(payload)
    cdef const uint8_t *p = payload
    cdef uint32_t head = pb_length_crc(n)
    cdef uint32_t tail = pb_crc32c_mask(pb_crc32c(p, n))
    return n.to_bytes(8, "little") + head.to_bytes(4, "little") + payload + tail.to_bytes(4, "little")


cdef class EventLog:
    """What one event file has told so far. Safe to read while another thread loads it."""

    cdef pb_log *log
    cdef bytes path  # of the event file, where columns may still lie in an index

    def __cinit__(self):
        self.log = pb_log_new()
        if self.log is NULL:
            raise MemoryError("no memory for an event log")

    def __dealloc__(self):
        pb_log_free(self.log)

    cdef void acquire(self) noexcept:
        # A loading thread holds the lock for a piece of a file: wait for it without the GIL.
        with nogil:
            pthread_mutex_lock(&self.log.lock)

    cdef void release(self) noexcept:
        pthread_mutex_unlock(&self.log.lock)

    def load(self, bytes path not None) -> None:
        """Read what is new in the file at `path`; start anew if it was replaced or cut."""
        cdef const char *p = path
        cdef pb_scratch scratch
        scratch.bytes = NULL
        scratch.cap = 0
        with nogil:
            pb_load(self.log, p, &scratch)
            free(scratch.bytes)

    def feed(self, const uint8_t[::1] data not None) -> int:
        """Take whole records from bytes that stand at `offset`; the number of bytes taken."""
        cdef size_t n = data.shape[0], taken
        cdef uint64_t want = 0
        if not n:
            return 0
        with nogil:
            pthread_mutex_lock(&self.log.lock)
            taken = pb_feed(self.log, &data[0], n, &want)
            pthread_mutex_unlock(&self.log.lock)
        return taken

    def trim(self) -> None:
        """Give unused room back, once the file has been fed to its end."""
        self.acquire()
        pb_log_trim(self.log)
        self.release()

    def reset(self, double version=0, int64_t most_recent_step=-1) -> None:
        """Forget everything, as if the files before this one had left this version and step."""
        with nogil:
            pthread_mutex_lock(&self.log.loading)
        self.acquire()
        pb_log_reset(self.log, version, most_recent_step)
        self.release()
        pthread_mutex_unlock(&self.log.loading)

    # ---- the index: index.h says what it is

    def save(self, int fd) -> int:
        """Write an index of all that was read to an open, empty file: 0, or errno."""
        cdef int error
        with nogil:
            error = pb_index_write(self.log, fd)
        return error

    def restore(self, bytes index not None, bytes path not None) -> bool:
        """Take over what the index at `index` tells about the event file at `path`, without reading that. False, and
        nothing done, where it is not whole. Only for a log that has read nothing.

        Columns come from the index when they are asked for. Where one is gone or damaged by then, the event file is
        read from its beginning, and whoever asked gets an IndexError and asks anew: tags have other numbers now."""
        cdef const char *p = index
        cdef int done
        with nogil:
            done = pb_index_read(self.log, p)
        self.path = path
        return done != 0

    def fetch(self) -> bool:
        """Read all that still lies in the index into memory; False where some of it is gone or damaged."""
        cdef uint32_t i
        cdef int done = 1
        with nogil:
            pthread_mutex_lock(&self.log.lock)
            for i in range(self.log.tag_n):
                done = (done and pb_column_fetch(self.log, &self.log.tags[i].points, sizeof(pb_point))
                        and pb_column_fetch(self.log, &self.log.tags[i].spans, sizeof(pb_span)))
            pthread_mutex_unlock(&self.log.lock)
        return done != 0

    cdef int fetched(self, pb_column *c, size_t item_size) noexcept:
        """Whether a column is in memory now. With the lock held, but not the GIL: the disk may be slow."""
        cdef int done = 1
        if c.stored_n:
            with nogil:
                done = pb_column_fetch(self.log, c, item_size)
        return done

    cdef int reload(self, uint64_t generation) except -1:
        """Read the event file, as the index has failed. Raises, so that nobody goes on with the numbers of before."""
        cdef pb_scratch scratch
        cdef const char *p = self.path
        scratch.bytes = NULL
        scratch.cap = 0
        with nogil:
            pb_reload(self.log, p, generation, &scratch)
            free(scratch.bytes)
        raise IndexError("the index of this file is gone or damaged; the file was read anew, so ask again")

    @property
    def offset(self) -> int:
        """The byte after the last record taken."""
        return self.log.offset

    @property
    def size(self) -> int:
        """The file's bytes when it was last looked at."""
        return self.log.size

    @property
    def mtime_ns(self) -> int:
        """The file's time of change when it was last looked at."""
        return self.log.mtime_ns

    @property
    def identity(self) -> tuple:
        """(device, inode) of the file that was read."""
        return self.log.dev, self.log.ino

    @property
    def end(self) -> int:
        """How the last look at the file ended: one of the END_ values."""
        return self.log.end

    @property
    def error(self) -> int:
        """errno, where `end` is END_ERRNO."""
        return self.log.error

    @property
    def generation(self) -> int:
        """Counts how often the log started anew."""
        return self.log.generation

    @property
    def events(self) -> int:
        return self.log.events

    @property
    def points(self) -> int:
        """Scalar points, orphaned ones included."""
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
        """The step of the last event with values; 0 where there is none."""
        return self.log.last_step

    @property
    def held_bytes(self) -> int:
        """Memory of the columns."""
        self.acquire()
        n = pb_held_bytes(self.log)
        self.release()
        return n

    @property
    def state(self) -> tuple:
        """(version, most recent step): what the file leaves behind for the next one of its run."""
        return self.log.version, self.log.most_recent_step

    @property
    def started_from(self) -> tuple:
        """The state this log was started from."""
        return self.log.version_at_start, self.log.most_recent_at_start

    @property
    def unversioned(self) -> bool:
        """Whether a summary came while no version record was in force, so that falling steps orphan."""
        return self.log.unversioned != 0

    def notes(self) -> tuple:
        """(how many records were skipped, the first of them as (code, offset, length, got, want))."""
        cdef uint64_t i
        self.acquire()
        try:
            n = self.log.note_n
            out = []
            for i in range(min(n, <uint64_t>PB_MAX_NOTES)):
                note = self.log.notes[i]
                out.append((note.code, note.offset, note.length, note.got, note.want))
            return n, out
        finally:
            self.release()

    def restarts(self) -> list:
        """Session starts: (step, wall time, byte)."""
        self.acquire()
        try:
            return [(self.log.restarts[i].step, self.log.restarts[i].wall, self.log.restarts[i].offset)
                    for i in range(self.log.restart_n)]
        finally:
            self.release()

    cdef tuple row(self, uint32_t i):
        cdef pb_tag *t = &self.log.tags[i]
        plugin = None if t.plugin < 0 else self.log.plugins[t.plugin].decode("utf-8", "backslashreplace")
        name = PyBytes_FromStringAndSize(t.name, t.len).decode("utf-8", "backslashreplace")
        return name, plugin, t.points.n, t.spans.n, t.whats, t.bytes, t.meta_offset, t.meta_length

    def tags(self) -> list:
        """(name, plugin or None, points, spans, kinds of span as bits, bytes, metadata's byte, its length),
        in order of appearance."""
        cdef uint32_t i
        self.acquire()
        try:
            return [self.row(i) for i in range(self.log.tag_n)]
        finally:
            self.release()

    def tag(self, str name not None) -> tuple | None:
        """The same for the tag of one name, and its index behind; None where there is none."""
        cdef uint32_t i
        cdef bytes raw
        try:
            raw = name.encode()
        except UnicodeEncodeError:
            return None  # no file can say such a name
        cdef const uint8_t *p = raw
        self.acquire()
        try:
            i = pb_log_find(self.log, p, len(raw)) if len(raw) < 0xFFFFFFFF else 0xFFFFFFFF
            if i == 0xFFFFFFFF and "\\" in name:
                # Perhaps it stands for bytes that are no text.
                for i in range(self.log.tag_n):
                    if self.row(i)[0] == name:
                        return *self.row(i), i
                return None
            return None if i == 0xFFFFFFFF else (*self.row(i), i)
        finally:
            self.release()

    @property
    def tag_count(self) -> int:
        return self.log.tag_n

    def shape(self) -> bytes:
        """Which tags the log has and what they hold, in a form that is equal for logs of which that is equal:
        `tags_of` reads it."""
        cdef uint64_t size = 8
        cdef uint32_t i, n
        cdef uint32_t head[4]
        cdef pb_tag *t
        cdef char *to
        self.acquire()
        try:
            for i in range(self.log.plugin_n):
                size += 4 + strlen(self.log.plugins[i])
            for i in range(self.log.tag_n):
                size += sizeof(head) + self.log.tags[i].len
            out = PyBytes_FromStringAndSize(NULL, size)
            to = PyBytes_AS_STRING(out)
            memcpy(to, &self.log.plugin_n, 4)
            memcpy(to + 4, &self.log.tag_n, 4)
            to += 8
            for i in range(self.log.plugin_n):
                n = strlen(self.log.plugins[i])
                memcpy(to, &n, 4)
                memcpy(to + 4, self.log.plugins[i], n)
                to += 4 + n
            for i in range(self.log.tag_n):
                t = &self.log.tags[i]
                head[0] = t.len
                head[1] = <uint32_t>(t.plugin + 1)
                head[2] = t.whats
                head[3] = t.points.n != 0
                memcpy(to, head, sizeof(head))
                memcpy(to + sizeof(head), t.name, t.len)
                to += sizeof(head) + t.len
            return out
        finally:
            self.release()

    cdef tuple cuts_of(self, pb_column *c):
        return (c.restarts_seen, [(c.cuts[i].at, c.cuts[i].below, c.cuts[i].restart) for i in range(c.cut_n)])

    def point_columns(self, uint32_t tag, uint64_t start=0) -> tuple:
        """(steps int64, wall times float64, values float64, cuts) of the tag with this index, as bytearrays; with
        `start`, without the points before that one."""
        cdef pb_column *c
        cdef uint64_t n
        cdef int lost = 0
        self.acquire()
        cdef uint64_t generation = self.log.generation
        try:
            if tag >= self.log.tag_n:
                raise IndexError(tag)
            c = &self.log.tags[tag].points
            lost = start < c.stored_n and not self.fetched(c, sizeof(pb_point))
            if not lost:
                n = c.n - start if start < c.n else 0
                step = PyByteArray_FromStringAndSize(NULL, n * 8)
                wall = PyByteArray_FromStringAndSize(NULL, n * 8)
                value = PyByteArray_FromStringAndSize(NULL, n * 8)
                if n:
                    pb_copy_points(c, start - c.stored_n, <int64_t *>PyByteArray_AS_STRING(step),
                                   <double *>PyByteArray_AS_STRING(wall), <double *>PyByteArray_AS_STRING(value))
                return step, wall, value, self.cuts_of(c)
        finally:
            self.release()
        self.reload(generation)

    def span_columns(self, uint32_t tag) -> tuple:
        """(steps int64, wall times float64, offsets uint64, lengths uint32, what uint32, cuts), as bytearrays."""
        cdef pb_column *c
        self.acquire()
        cdef uint64_t generation = self.log.generation
        try:
            if tag >= self.log.tag_n:
                raise IndexError(tag)
            c = &self.log.tags[tag].spans
            if self.fetched(c, sizeof(pb_span)):
                step = PyByteArray_FromStringAndSize(NULL, c.n * 8)
                wall = PyByteArray_FromStringAndSize(NULL, c.n * 8)
                offset = PyByteArray_FromStringAndSize(NULL, c.n * 8)
                length = PyByteArray_FromStringAndSize(NULL, c.n * 4)
                what = PyByteArray_FromStringAndSize(NULL, c.n * 4)
                pb_copy_spans(c, <int64_t *>PyByteArray_AS_STRING(step), <double *>PyByteArray_AS_STRING(wall),
                              <uint64_t *>PyByteArray_AS_STRING(offset), <uint32_t *>PyByteArray_AS_STRING(length),
                              <uint32_t *>PyByteArray_AS_STRING(what))
                return step, wall, offset, length, what, self.cuts_of(c)
        finally:
            self.release()
        self.reload(generation)

    def stats(self, uint32_t tag) -> tuple:
        """(points, NaNs, infinities, min, max, last value, first and last wall time,
        first, last, least and greatest step) of a tag's points."""
        cdef pb_stats s
        cdef int there = 0
        self.acquire()
        cdef uint64_t generation = self.log.generation
        try:
            if tag >= self.log.tag_n:
                raise IndexError(tag)
            there = self.fetched(&self.log.tags[tag].points, sizeof(pb_point))
            if there:
                pb_point_stats(&self.log.tags[tag].points, &s)
        finally:
            self.release()
        if not there:
            self.reload(generation)
        return (s.n, s.nan, s.inf, s.min, s.max, s.last, s.first_wall, s.last_wall,
                s.first_step, s.last_step, s.min_step, s.max_step)


def tags_of(bytes shape not None) -> list:
    """(name, plugin or None, kinds of span as bits, whether it has points) of each tag of a shape."""
    plugin_n, tag_n = struct.unpack_from("<2I", shape)
    at, plugins, out = 8, [None], []
    for _ in range(plugin_n):
        (n,) = struct.unpack_from("<I", shape, at)
        plugins.append(shape[at + 4 : at + 4 + n].decode("utf-8", "backslashreplace"))
        at += 4 + n
    for _ in range(tag_n):
        n, plugin, whats, points = struct.unpack_from("<4I", shape, at)
        out.append((shape[at + 16 : at + 16 + n].decode("utf-8", "backslashreplace"), plugins[plugin], whats, bool(points)))
        at += 16 + n
    return out


cdef class Batch:
    """Many files, read by as many threads as call `work`."""

    cdef pb_batch batch
    cdef list logs
    cdef list paths

    def __cinit__(self, list logs not None, list paths not None):
        cdef size_t n = len(logs), i
        if n != <size_t>len(paths):
            raise ValueError("as many logs as paths")
        self.logs, self.paths = logs, paths
        self.batch.logs = <pb_log **>malloc((n or 1) * sizeof(pb_log *))
        self.batch.paths = <const char **>malloc((n or 1) * sizeof(char *))
        if self.batch.logs is NULL or self.batch.paths is NULL:
            raise MemoryError
        for i in range(n):
            self.batch.logs[i] = (<EventLog?>logs[i]).log
            path = <bytes?>paths[i]
            self.batch.paths[i] = PyBytes_AS_STRING(path)  # `paths` keeps it alive
        self.batch.n = n

    def __dealloc__(self):
        free(self.batch.logs)
        free(<void *>self.batch.paths)

    def work(self) -> None:
        """Take files until none is left. Call it from every thread that should help."""
        with nogil:
            pb_batch_work(&self.batch)

    def cancel(self) -> None:
        """Take no further file; those under way are finished."""
        self.batch.cancelled = 1

    @property
    def done(self) -> int:
        """Files read so far."""
        return self.batch.done


cdef class EventWriter:
    """Records to an open file. `scalars` and `record` queue; `write` hands all that waits to the system.

    Calls hold the GIL from beginning to end, so threads may share a writer, and a write to the page
    cache takes less time than getting the GIL back from a busy thread may. For file systems on which
    a write can take long, `take` gives the queued bytes to a thread that writes them without the GIL.
    """

    cdef pb_buffer buffer
    cdef uint64_t _offset
    cdef int fd

    def __cinit__(self):
        self.fd = -1

    def __dealloc__(self):
        pb_buffer_free(&self.buffer)

    def attach(self, int fd, uint64_t offset) -> None:
        """From now on `write` writes to this open file, from this byte on."""
        self.fd = fd
        self._offset = offset

    def detach(self) -> None:
        """From now on records only wait."""
        self.fd = -1

    def scalars(self, dict values not None, int64_t step, double wall, convert) -> list:
        """Queue one Event of all scalars. What is neither float nor int goes through `convert(value)`,
        which gives a float, or None to leave it out; those left out are returned as (tag, value)."""
        cdef double number
        cdef Py_ssize_t tag_len
        cdef const char *tag
        cdef list left = None
        cdef size_t added = 0
        cdef pb_buffer event  # its own buffer: `convert` is Python, and may log too
        event.bytes = NULL
        event.n = event.cap = 0
        try:
            if not pb_scalars_begin(&event, step, wall):
                raise MemoryError
            for name, value in values.items():
                if PyFloat_CheckExact(value):
                    number = PyFloat_AS_DOUBLE(value)
                elif PyLong_CheckExact(value):
                    number = PyLong_AsDouble(value)
                else:
                    got = convert(value)
                    if got is None:
                        if left is None:
                            left = []
                        left.append((name, value))
                        continue
                    number = got
                tag = PyUnicode_AsUTF8AndSize(name, &tag_len)
                if not pb_scalars_add(&event, tag, tag_len, <float>number):
                    raise MemoryError
                added += 1
            if added:
                if not pb_scalars_end(&event) or not pb_bytes_add(&self.buffer, event.bytes, event.n):
                    raise MemoryError
        finally:
            pb_buffer_free(&event)
        return left

    def record(self, const uint8_t[::1] payload not None) -> None:
        """Queue one Event that is encoded already."""
        cdef size_t n = payload.shape[0]
        if not pb_record_add(&self.buffer, &payload[0] if n else NULL, n):
            raise MemoryError

    def write(self) -> int:
        """Hand what waits to the system: 0, or errno, and then all of it still waits and the file is let
        go of. Without a file this does nothing."""
        cdef int error = 0
        if self.fd >= 0:
            error = pb_buffer_write(&self.buffer, self.fd, &self._offset)
            if error:
                self.fd = -1
        return error

    def take(self) -> bytes:
        """Everything that waits, which then no longer does."""
        out = PyBytes_FromStringAndSize(<char *>self.buffer.bytes, self.buffer.n)
        self.buffer.n = 0
        return out

    @property
    def waiting(self) -> int:
        """Bytes that wait."""
        return self.buffer.n

    @property
    def attached(self) -> bool:
        return self.fd >= 0

    @property
    def offset(self) -> int:
        """Bytes of the file attached last, once `write` has returned."""
        return self._offset


# ---- histograms

from cpython.buffer cimport PyBUF_CONTIG_RO, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer

cdef extern from "histogram.h" nogil:
    enum:
        PB_EDGES
        PB_BUCKETS
    ctypedef struct pb_histogram:
        uint64_t nan
        uint64_t inf
        uint64_t num
        double min
        double max
        double sum
        double sum_squares
        uint64_t counts[1]  # PB_BUCKETS of them
    const double *pb_histogram_edges()
    void pb_histogram_of(pb_histogram *, const void *numbers, size_t n, int wide)


def histogram_edges() -> bytes:
    """The edges of TensorBoard's buckets as float64, rising: -9.9e19 ... -1e-12, 0, 1e-12 ... 9.9e19."""
    return PyBytes_FromStringAndSize(<const char *>pb_histogram_edges(), PB_EDGES * sizeof(double))


def histogram(numbers) -> tuple:
    """Count a C-contiguous buffer of float32 or float64 in these buckets.

    (numbers, NaNs, infinities, min, max, sum, sum of squares, first bucket that has anything in it, the
    counts from it to the last such bucket as uint64). NaNs and infinities are in none of the others, and
    min and max are NaN where there are no numbers.
    """
    cdef Py_buffer view
    cdef pb_histogram h
    cdef size_t n, first = 0, end = PB_BUCKETS
    cdef int wide
    PyObject_GetBuffer(numbers, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT)
    try:
        form = (<bytes>view.format).lstrip(b"@=<") if view.format is not NULL else b""
        wide = form == b"d"
        if not wide and form != b"f":
            raise ValueError(f"histogram counts float32 and float64; convert what is {form.decode()!r}")
        if <uintptr_t>view.buf % <size_t>view.itemsize:
            raise ValueError("histogram counts aligned numbers; copy these first")
        n = view.len // view.itemsize
        with nogil:
            pb_histogram_of(&h, view.buf, n, wide)
    finally:
        PyBuffer_Release(&view)
    while first < end and not h.counts[first]:
        first += 1
    while end > first and not h.counts[end - 1]:
        end -= 1
    counts = PyBytes_FromStringAndSize(<const char *>&h.counts[first], (end - first) * sizeof(uint64_t))
    return h.num, h.nan, h.inf, h.min, h.max, h.sum, h.sum_squares, first, counts
