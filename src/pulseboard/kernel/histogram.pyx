# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: histogram.c
"""Numbers in, counts in TensorBoard's buckets out, with the GIL released."""

from cpython.buffer cimport PyBUF_CONTIG_RO, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint64_t, uintptr_t

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


def bucket_edges() -> bytes:
    """The edges of TensorBoard's buckets as float64, ascending: -9.9e19 ... -1e-12, 0, 1e-12 ... 9.9e19."""
    return PyBytes_FromStringAndSize(<const char *>pb_histogram_edges(), PB_EDGES * sizeof(double))


def count_values(numbers) -> tuple:
    """Count a C-contiguous buffer of float32 or float64 in these buckets.

    Returns (count, NaNs, infinities, min, max, sum, sum of squares, index of the first non-empty bucket, counts). The
    counts are uint64, for the first to the last non-empty bucket. NaNs and infinities are left out of everything else.
    min and max are NaN if there are no numbers.
    """
    cdef Py_buffer view
    cdef pb_histogram h
    cdef size_t n, first = 0, end = PB_BUCKETS
    cdef int wide
    PyObject_GetBuffer(numbers, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT)
    try:
        code = (<bytes>view.format).lstrip(b"@=<") if view.format is not NULL else b""
        wide = code == b"d"
        if not wide and code != b"f":
            raise ValueError(f"a histogram needs float32 or float64, not {code.decode()!r}; convert the array first")
        if <uintptr_t>view.buf % <size_t>view.itemsize:
            raise ValueError("a histogram needs aligned numbers; copy the array first")
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
