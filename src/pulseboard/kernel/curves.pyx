# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: curves/bucket.c curves/smooth.c
"""Series in, pixel columns and smoothed series out, for charts.

A thin layer: the work is in bucket.c and smooth.c, with the GIL released. A series is any contiguous buffer of float64,
and its x one of float64 or int64; columns are returned as bytearrays, which numpy wraps without copying.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from "bucket.h" nogil:
    ctypedef struct pb_pyramid:
        uint64_t n
    ctypedef struct pb_extent:
        double min
        double max
        double sum
        uint64_t at_first
        uint64_t at_last
        uint64_t at_min
        uint64_t at_max
        uint64_t finite
        uint64_t nan
        uint32_t plus_inf
        uint32_t minus_inf
    ctypedef struct pb_x:
        const double *floats
        const int64_t *whole
        double origin
    ctypedef struct pb_axis:
        uint64_t columns
    ctypedef struct pb_rows:
        double *x
        double *first
        double *min
        double *max
        double *last
        double *mean
        uint32_t *count
        uint32_t *nan
        uint32_t *plus_inf
        uint32_t *minus_inf
        uint64_t *at_last
    void pb_pyramid_free(pb_pyramid *)
    int pb_pyramid_extend(pb_pyramid *, const double *values, uint64_t n)
    uint64_t pb_pyramid_bytes(const pb_pyramid *)
    void pb_extent_of(const pb_pyramid *, const double *values, uint64_t, uint64_t, pb_extent *)
    uint64_t pb_find_x(const pb_x *, uint64_t, uint64_t, uint64_t guess, double edge, int after)
    void pb_axis_set(pb_axis *, double low, double high, uint64_t columns, int logarithmic)
    double pb_axis_edge(const pb_axis *, uint64_t k)
    uint64_t pb_bucket(const pb_axis *, const pb_x *, const double *values, const pb_pyramid *, uint64_t, uint64_t,
                       pb_rows *)
    int pb_to_float32(const double *values, uint64_t n, float *out)

cdef extern from "smooth.h" nogil:
    ctypedef struct pb_debiased:
        double last
        uint64_t count
    ctypedef struct pb_faded:
        double sum
        double weights
        double x
        uint64_t count
    void pb_smooth_debiased(pb_debiased *, const double *values, uint64_t n, double weight, double *out)
    void pb_smooth_faded(pb_faded *, const double *x, const double *values, uint64_t n, double weight, double unit,
                         double *out)
    int pb_smooth_gaussian(const double *values, uint64_t n, double sigma, double *out)
    int pb_smooth_mean(const double *values, uint64_t n, uint64_t width, double *out)


cdef class Pyramid:
    """Summaries of blocks of a series, so that a column of any width costs little.

    Only one thread may extend it, and no other may use it meanwhile.
    """

    cdef pb_pyramid pyramid

    def __dealloc__(self):
        pb_pyramid_free(&self.pyramid)

    def extend(self, const double[::1] values not None) -> None:
        """Add the new points of a series. `values` is the whole series, starting with the points already added."""
        cdef uint64_t n = values.shape[0]
        cdef int done = 1
        if n < self.pyramid.n:
            raise ValueError("a series only grows; make a new pyramid for a different one")
        if n:
            with nogil:
                done = pb_pyramid_extend(&self.pyramid, &values[0], n)
        if not done:
            raise MemoryError("no memory for a pyramid")

    @property
    def points(self) -> int:
        """Number of points added."""
        return self.pyramid.n

    @property
    def held_bytes(self) -> int:
        return pb_pyramid_bytes(&self.pyramid)


def extent(const double[::1] values not None, Pyramid pyramid, uint64_t start, uint64_t end) -> tuple:
    """(min, max, sum, indices of the first, last, smallest and largest finite value, number of finite values, of NaN, of
    inf and of -inf) of values[start:end]."""
    cdef pb_extent e
    if not start <= end <= <uint64_t>values.shape[0]:
        raise IndexError((start, end))
    if start == end:
        return 0.0, 0.0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0
    with nogil:
        pb_extent_of(&pyramid.pyramid if pyramid is not None else NULL, &values[0], start, end, &e)
    return (e.min, e.max, e.sum, e.at_first, e.at_last, e.at_min, e.at_max, e.finite, e.nan, e.plus_inf,
            e.minus_inf)


cdef class _X:
    """The x of a series, in float64 or int64. Keeps the buffer."""

    cdef const double[::1] floats
    cdef const int64_t[::1] whole
    cdef uint64_t n
    cdef pb_x x

    def __cinit__(self, x not None, double origin):
        self.x.origin = origin
        if memoryview(x).format in ("l", "q"):
            self.whole = x
            self.n = self.whole.shape[0]
            if self.n:
                self.x.whole = &self.whole[0]
        else:
            self.floats = x
            self.n = self.floats.shape[0]
            if self.n:
                self.x.floats = &self.floats[0]


def index_range(x not None, double origin, double low, double high) -> tuple:
    """(first index, index after the last) of the points with low <= x - origin <= high. x must not fall."""
    cdef _X points = _X(x, origin)
    cdef uint64_t n = points.n, start = 0, end = 0
    if n:
        with nogil:
            start = pb_find_x(&points.x, 0, n, 0, low, 0)
            end = pb_find_x(&points.x, start, n, n, high, 1)
    return start, end


def edges(double low, double high, uint64_t columns, bint logarithmic) -> list:
    """The edges of the columns: one more than there are columns. If low equals high there is one column."""
    cdef pb_axis axis
    pb_axis_set(&axis, low, high, columns, logarithmic)
    return [pb_axis_edge(&axis, k) for k in range(axis.columns + 1)]


def bucket(x not None, const double[::1] values not None, Pyramid pyramid, uint64_t start,
           uint64_t end, *, double origin, double low, double high, uint64_t columns, bint logarithmic, names) -> dict:
    """Put points [start, end) into columns of equal width from low to high. Returns the rows named in `names`, with one
    item per column that has points.

    `x` of the column's first point; `first`, `min`, `max`, `last` and `mean` of its finite values (float64); `count`,
    `nan`, `plus_inf`, `minus_inf` (uint32); `at_last`, the index of its last finite point, or -1 (int64).
    For these points x - origin must not fall, and must be between low and high.
    """
    cdef _X points = _X(x, origin)
    cdef pb_axis axis
    cdef pb_rows rows
    cdef uint64_t n = 0
    cdef uint64_t room = min(columns, end - start) if end > start else 0
    if not start <= end <= min(points.n, <uint64_t>values.shape[0]):
        raise IndexError((start, end))
    if not columns:
        raise ValueError("a chart needs at least one column")
    cdef dict out = {name: PyByteArray_FromStringAndSize(NULL, room * _ITEM_BYTES[name]) for name in names}
    if not room:
        return out
    rows.x = <double *>_row(out, "x")
    rows.first = <double *>_row(out, "first")
    rows.min = <double *>_row(out, "min")
    rows.max = <double *>_row(out, "max")
    rows.last = <double *>_row(out, "last")
    rows.mean = <double *>_row(out, "mean")
    rows.count = <uint32_t *>_row(out, "count")
    rows.nan = <uint32_t *>_row(out, "nan")
    rows.plus_inf = <uint32_t *>_row(out, "plus_inf")
    rows.minus_inf = <uint32_t *>_row(out, "minus_inf")
    rows.at_last = <uint64_t *>_row(out, "at_last")
    with nogil:
        pb_axis_set(&axis, low, high, columns, logarithmic)
        n = pb_bucket(&axis, &points.x, &values[0], &pyramid.pyramid if pyramid is not None else NULL, start, end, &rows)
    for name, row in out.items():
        del row[n * _ITEM_BYTES[name]:]
    return out


_ITEM_BYTES = {
    **dict.fromkeys(("x", "first", "min", "max", "last", "mean", "at_last"), 8),
    **dict.fromkeys(("count", "nan", "plus_inf", "minus_inf"), 4),
}


cdef void *_row(dict rows, str name):
    """Where to write a row; NULL if it is not wanted."""
    row = rows.get(name)
    return PyByteArray_AS_STRING(row) if row is not None else NULL


def smooth_debiased(const double[::1] values not None, double weight, double[::1] out not None,
                    tuple state=(0.0, 0)) -> tuple:
    """TensorBoard's moving average, into `out`. `state` is what the call for the preceding points returned."""
    cdef pb_debiased s
    cdef uint64_t n = values.shape[0]
    _check_room(values.shape[0], out.shape[0])
    s.last, s.count = state
    if n:
        with nogil:
            pb_smooth_debiased(&s, &values[0], n, weight, &out[0])
    return s.last, s.count


def smooth_faded(const double[::1] x not None, const double[::1] values not None, double weight, double unit,
                 double[::1] out not None) -> None:
    """A moving average in which earlier values fade by weight^(distance in x / unit), into `out`."""
    cdef pb_faded s
    cdef uint64_t n = values.shape[0]
    _check_room(values.shape[0], out.shape[0])
    _check_room(values.shape[0], x.shape[0])
    s.sum = s.weights = s.x = 0
    s.count = 0
    if n:
        with nogil:
            pb_smooth_faded(&s, &x[0], &values[0], n, weight, unit, &out[0])


def smooth_gaussian(const double[::1] values not None, double sigma, double[::1] out not None) -> None:
    """Gaussian smoothing with this standard deviation in points, into `out`."""
    cdef uint64_t n = values.shape[0]
    cdef int done = 1
    _check_room(values.shape[0], out.shape[0])
    if n:
        with nogil:
            done = pb_smooth_gaussian(&values[0], n, sigma, &out[0])
    if not done:
        raise MemoryError("no memory to smooth a series")


def smooth_mean(const double[::1] values not None, uint64_t width, double[::1] out not None) -> None:
    """The mean of the `width` points around each, into `out`."""
    cdef uint64_t n = values.shape[0]
    cdef int done = 1
    _check_room(values.shape[0], out.shape[0])
    if n:
        with nogil:
            done = pb_smooth_mean(&values[0], n, width, &out[0])
    if not done:
        raise MemoryError("no memory to smooth a series")


cdef int _check_room(Py_ssize_t points, Py_ssize_t room) except -1:
    if points != room:
        raise ValueError(f"{points} points, but room for {room}")
    return 0


def as_float32(const double[::1] values):
    """The values as float32, or None if any would change."""
    cdef uint64_t n = values.shape[0]
    cdef int same = 1
    out = PyByteArray_FromStringAndSize(NULL, n * sizeof(float))
    cdef float *to = <float *>PyByteArray_AS_STRING(out)
    if n:
        with nogil:
            same = pb_to_float32(&values[0], n, to)
    return out if same else None
