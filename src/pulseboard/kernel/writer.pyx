# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: events/crc32c.c events/encode.c
"""Scalars and encoded Events in, framed records out, to an open file or as bytes."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsDouble, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "crc32c.h" nogil:
    void pb_crc32c_init()
    uint32_t (*pb_crc32c)(const uint8_t *p, size_t n)
    uint32_t pb_crc32c_table(const uint8_t *p, size_t n)
    uint32_t pb_crc32c_mask(uint32_t crc)
    uint32_t pb_length_crc(uint64_t length)

cdef extern from "encode.h" nogil:
    ctypedef struct pb_buffer:
        uint8_t *bytes
        size_t n
        size_t cap
    void pb_buffer_free(pb_buffer *)
    int pb_scalars_begin(pb_buffer *, int64_t step, double wall)
    int pb_scalars_add(pb_buffer *, const char *tag, size_t tag_len, double value, int wide)
    int pb_scalars_end(pb_buffer *)
    int pb_bytes_add(pb_buffer *, const uint8_t *, size_t n)
    int pb_record_add(pb_buffer *, const uint8_t *payload, size_t n)
    void pb_buffer_drop(pb_buffer *, size_t n)
    int pb_buffer_write(pb_buffer *, int fd, uint64_t *offset)

pb_crc32c_init()

cdef enum:
    MAX_TAG_BYTES = 1 << 20


def checksum(const uint8_t[::1] data not None) -> int:
    """The masked CRC32C that TFRecord stores with `data`."""
    cdef size_t n = data.shape[0]
    return pb_crc32c_mask(pb_crc32c(&data[0] if n else NULL, n))


def checksum_portable(const uint8_t[::1] data not None) -> int:
    """The same from a table, as on a CPU without the instruction. Tests compare the two."""
    cdef size_t n = data.shape[0]
    return pb_crc32c_mask(pb_crc32c_table(&data[0] if n else NULL, n))


def frame(bytes payload not None) -> bytes:
    """One record: length, its checksum, the payload, its checksum."""
    cdef uint64_t n = len(payload)
    cdef const uint8_t *p = payload
    cdef uint32_t head = pb_length_crc(n)
    cdef uint32_t tail = pb_crc32c_mask(pb_crc32c(p, n))
    return n.to_bytes(8, "little") + head.to_bytes(4, "little") + payload + tail.to_bytes(4, "little")


cdef class EventWriter:
    """Writes records to an open file. `scalars` and `record` queue; `write` passes the queue to the system.

    Calls hold the GIL throughout, so threads may share a writer. A write to the page cache takes less time than
    getting the GIL back from a busy thread can. For file systems where a write can take long, `take` hands the
    queued bytes to a thread that writes them without the GIL.
    """

    cdef pb_buffer buffer
    cdef uint64_t _offset
    cdef int fd
    cdef int wide

    def __cinit__(self, *, bint wide=False):
        """`wide` stores values that float32 cannot hold as doubles."""
        self.fd = -1
        self.wide = wide

    def __dealloc__(self):
        pb_buffer_free(&self.buffer)

    def attach(self, int fd, uint64_t offset) -> None:
        """From now on, `write` writes to this open file, starting at byte `offset`."""
        self.fd = fd
        self._offset = offset

    def detach(self) -> None:
        """From now on, records are only queued."""
        self.fd = -1

    def scalars(self, dict values not None, int64_t step, double wall, convert) -> list:
        """Queue one Event with all scalars.

        A value that is neither float nor int, or an int that is too large, goes through `convert(value)`, which returns
        a float, or None to leave it out. A tag that cannot be encoded is left out too. Returns what was left out as
        (tag, value), or None. If `convert` raises, nothing is queued.
        """
        cdef double number
        cdef Py_ssize_t tag_len
        cdef const char *tag
        cdef list left_out = None
        cdef size_t added = 0
        cdef pb_buffer event  # not self.buffer: `convert` is Python code, and may log too
        event.bytes = NULL
        event.n = event.cap = 0
        try:
            if not pb_scalars_begin(&event, step, wall):
                raise MemoryError
            for name, value in values.items():
                if PyFloat_CheckExact(value):
                    converted = value
                elif PyLong_CheckExact(value):
                    try:
                        converted = float(value)
                    except OverflowError:
                        converted = convert(value)
                else:
                    converted = convert(value)
                try:
                    number = converted  # None raises a TypeError here
                    tag = PyUnicode_AsUTF8AndSize(name, &tag_len)
                    if tag_len > MAX_TAG_BYTES:
                        raise ValueError
                except (TypeError, ValueError):
                    if left_out is None:
                        left_out = []
                    left_out.append((name, value))
                    continue
                if not pb_scalars_add(&event, tag, tag_len, number, self.wide):
                    raise MemoryError
                added += 1
            if added:
                if not pb_scalars_end(&event) or not pb_bytes_add(&self.buffer, event.bytes, event.n):
                    raise MemoryError
        finally:
            pb_buffer_free(&event)
        return left_out

    def record(self, const uint8_t[::1] payload not None) -> None:
        """Queue one Event that is already encoded."""
        cdef size_t n = payload.shape[0]
        if not pb_record_add(&self.buffer, &payload[0] if n else NULL, n):
            raise MemoryError

    def write(self) -> int:
        """Pass the queue to the system. Returns 0 or errno; after an error everything stays queued and the file is
        detached. Without a file this does nothing."""
        cdef int error = 0
        if self.fd >= 0:
            error = pb_buffer_write(&self.buffer, self.fd, &self._offset)
            if error:
                self.fd = -1
        return error

    def take(self, max_bytes=None) -> bytes:
        """Remove everything from the queue, or its first `max_bytes`, and return it. It may end within a record."""
        cdef size_t n = self.buffer.n if max_bytes is None else min(<size_t>max_bytes, self.buffer.n)
        out = PyBytes_FromStringAndSize(<char *>self.buffer.bytes, n)
        pb_buffer_drop(&self.buffer, n)
        return out

    @property
    def queued_bytes(self) -> int:
        return self.buffer.n

    @property
    def attached(self) -> bool:
        return self.fd >= 0

    @property
    def offset(self) -> int:
        """Size of the last attached file in bytes, once `write` has returned."""
        return self._offset
