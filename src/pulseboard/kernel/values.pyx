# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: events/memory.c values/histograms.c
"""Positions of stored values in, arrays out, with the GIL released."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

from pulseboard.kernel.reader cimport Shared

cdef extern from "memory.h" nogil:
    ctypedef struct pb_memory:
        pass
    pb_memory *pb_memory_of(void *, void *, void *)

cdef extern from "files.h" nogil:
    ssize_t pb_read_at(int fd, void *, size_t n, size_t at)

cdef extern from "histograms.h" nogil:
    ctypedef struct pb_stored_histogram:
        int64_t at
    size_t pb_histogram_room(size_t n, uint32_t field)
    int64_t pb_decode_histogram(const uint8_t *, size_t n, uint32_t field, double *, pb_stored_histogram *)


def histograms(int fd, const uint64_t[::1] offsets not None, const uint32_t[::1] lengths not None,
               const uint32_t[::1] fields not None) -> tuple:
    """Decode the Summary.Values at these positions of an open file. `fields` are the fields that hold the histograms.

    Returns their numbers as one read-only buffer of float64, and a table with one row for each: a pb_stored_histogram of
    12 items of 8 bytes (histograms.h). The first is -1 for a value that has to be decoded in another way.
    """
    cdef size_t n = offsets.shape[0], i, room = 0, longest = 0
    if <size_t>lengths.shape[0] != n or <size_t>fields.shape[0] != n:
        raise ValueError(f"{n} offsets, {lengths.shape[0]} lengths and {fields.shape[0]} fields")
    for i in range(n):
        room += pb_histogram_room(lengths[i], fields[i])
        longest = max(longest, <size_t>lengths[i])
    table = PyByteArray_FromStringAndSize(NULL, n * sizeof(pb_stored_histogram))
    cdef pb_stored_histogram *rows = <pb_stored_histogram *>PyByteArray_AS_STRING(table)
    cdef double *numbers = <double *>malloc((room or 1) * sizeof(double))
    cdef uint8_t *scratch = <uint8_t *>malloc(longest or 1)
    cdef size_t used = 0
    if numbers is NULL or scratch is NULL:
        free(numbers)
        free(scratch)
        raise MemoryError("no memory for histograms")
    with nogil:
        for i in range(n):
            rows[i].at = -1
            if pb_read_at(fd, scratch, lengths[i], offsets[i]) == <ssize_t>lengths[i]:
                used += decoded(scratch, lengths[i], fields[i], numbers, used, &rows[i])
        free(scratch)
        numbers = shrunk(numbers, used)
    return owned(numbers, used), table


cdef size_t decoded(const uint8_t *value, size_t n, uint32_t field, double *numbers, size_t used,
                    pb_stored_histogram *row) noexcept nogil:
    """Decode one value behind the numbers used so far. Returns how many it adds."""
    cdef int64_t count = pb_decode_histogram(value, n, field, numbers + used, row)
    row.at = <int64_t>used if count >= 0 else -1
    return <size_t>count if count > 0 else 0


cdef double *shrunk(double *numbers, size_t used) noexcept nogil:
    cdef double *smaller = <double *>realloc(numbers, (used or 1) * sizeof(double))
    return smaller if smaller is not NULL else numbers


cdef Shared owned(double *numbers, size_t n):
    cdef Shared out = Shared.__new__(Shared)
    cdef pb_memory *owner = pb_memory_of(numbers, NULL, NULL)
    if owner is NULL:
        free(numbers)
        raise MemoryError("no memory for histograms")
    out.owner, out.items, out.n = owner, numbers, n
    return out
