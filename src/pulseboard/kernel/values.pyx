# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: events/memory.c values/histograms.c
"""Positions of stored values in, arrays out, with the GIL released."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

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
    ctypedef struct pb_histogram_numbers:
        double *numbers
        size_t used
    int pb_decode_histogram(const uint8_t *, size_t n, uint32_t field, pb_histogram_numbers *, pb_stored_histogram *)


def histograms(int fd, const uint64_t[::1] offsets not None, const uint32_t[::1] lengths not None,
               const uint32_t[::1] fields not None) -> tuple:
    """Decode the Summary.Values at these positions of an open file. `fields` are the fields that hold the histograms.

    Returns their numbers as one read-only buffer of float64, and a table with one row for each: a pb_stored_histogram of
    11 items of 8 bytes (histograms.h). The first is -1 for a value that has to be decoded in another way.
    """
    cdef size_t n = offsets.shape[0], i, room = 0, longest = 0
    if <size_t>lengths.shape[0] != n or <size_t>fields.shape[0] != n:
        raise ValueError(f"{n} offsets, {lengths.shape[0]} lengths and {fields.shape[0]} fields")
    for i in range(n):
        room += pb_histogram_room(lengths[i], fields[i])
        longest = max(longest, <size_t>lengths[i])
    table = PyByteArray_FromStringAndSize(NULL, n * sizeof(pb_stored_histogram))
    cdef pb_stored_histogram *rows = <pb_stored_histogram *>PyByteArray_AS_STRING(table)
    cdef pb_histogram_numbers to
    memset(&to, 0, sizeof(to))
    to.numbers = <double *>malloc((room or 1) * sizeof(double))
    cdef uint8_t *scratch = <uint8_t *>malloc(longest or 1)
    if to.numbers is NULL or scratch is NULL:
        free(to.numbers)
        free(scratch)
        raise MemoryError("no memory for histograms")
    with nogil:
        for i in range(n):
            rows[i].at = -1
            if pb_read_at(fd, scratch, lengths[i], offsets[i]) == <ssize_t>lengths[i]:
                pb_decode_histogram(scratch, lengths[i], fields[i], &to, &rows[i])
        free(scratch)
        to.numbers = shrunk(to.numbers, to.used)
    return owned(to.numbers, to.used), table


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
