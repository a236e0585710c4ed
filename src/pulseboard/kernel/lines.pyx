# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
# uses: text/date.c text/number.c text/tokens.c text/scan.c
"""Numbers in the lines of a text file, by the shape of the line (c/text/scan.h).

The scanner runs without the GIL. It stops at every line shape it has not met, so that Python decides once for each
shape what its numbers mean.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "scan.h" nogil:
    enum:
        PB_SCAN_TEXT
        PB_SCAN_DELIMITED
        PB_SCAN_JSON
        PB_TOKEN_NUMBER
        PB_TOKEN_TIME
        PB_TOKEN_UTC
        PB_TOKEN_EMPTY
        PB_TOKEN_WORD
        PB_SHAPE_IGNORED
    ctypedef struct pb_token:
        uint32_t start
        uint32_t end
        int type
    ctypedef struct pb_scan:
        int64_t lines
        uint32_t shape_count
        uint32_t max_shapes
        int64_t *row_lines
        int32_t *row_shapes
        uint64_t *row_values
        uint64_t row_count
        double *values
        uint64_t value_count
        uint64_t hash
        const char *line
        size_t line_length
        pb_token *tokens
        double *token_values
        uint32_t token_count
    void pb_scan_init(pb_scan *scan, int mode, char delimiter, int decimal_comma)
    void pb_scan_free(pb_scan *scan)
    int64_t pb_scan_feed(pb_scan *scan, const char *data, size_t n, int last, int *unknown)
    int pb_scan_learn(pb_scan *scan, uint64_t hash, int32_t id)

TEXT, DELIMITED, JSON = PB_SCAN_TEXT, PB_SCAN_DELIMITED, PB_SCAN_JSON
NUMBER, TIME, UTC, EMPTY, WORD = PB_TOKEN_NUMBER, PB_TOKEN_TIME, PB_TOKEN_UTC, PB_TOKEN_EMPTY, PB_TOKEN_WORD
IGNORED = PB_SHAPE_IGNORED
# A log has some dozen shapes. One that keeps making new ones is prose; only lines of the shapes known by then are read.
MAX_SHAPES = 20_000


cdef object _copy(const void *data, size_t size):
    out = PyByteArray_FromStringAndSize(NULL, <Py_ssize_t>size)
    if size:
        memcpy(PyByteArray_AS_STRING(out), data, size)
    return out


cdef class LineScanner:
    """Scans lines as they come. Not for use by two threads at once.

    When `max_shapes` are known, lines of any other shape are dropped, so that memory and time are bounded.
    """

    cdef pb_scan scan

    def __cinit__(self, int mode, *, str delimiter=",", bint decimal_comma=False, uint32_t max_shapes=20_000):
        pb_scan_init(&self.scan, mode, <char>ord(delimiter), decimal_comma)
        self.scan.max_shapes = max_shapes

    def __dealloc__(self):
        pb_scan_free(&self.scan)

    def feed(self, const unsigned char[::1] data not None, size_t start=0, *, bint last=False) -> tuple:
        """Scan complete lines of `data` from byte `start` on.

        Returns (end, shape): the byte where it stopped, and None at the end of the last complete line. Otherwise
        shape describes a line of unknown shape at that byte: (hash, line, [(start, end, type, value)]). Call `learn`,
        then `feed` again from there. With `last`, an unfinished last line counts as complete.
        """
        cdef size_t n = <size_t>data.shape[0]
        cdef int unknown = 0
        cdef int64_t used
        if start >= n:
            return start, None
        with nogil:
            used = pb_scan_feed(&self.scan, <const char *>&data[start], n - start, last, &unknown)
        if used < 0:
            raise MemoryError
        if not unknown:
            return start + used, None
        tokens = [
            (
                self.scan.tokens[i].start,
                self.scan.tokens[i].end,
                self.scan.tokens[i].type,
                self.scan.token_values[i],
            )
            for i in range(self.scan.token_count)
        ]
        return start + used, (self.scan.hash, self.scan.line[:self.scan.line_length], tokens)

    def learn(self, uint64_t hash, int32_t id) -> None:
        """Keep the lines of this shape under `id` (0 or more), or drop them (IGNORED)."""
        if pb_scan_learn(&self.scan, hash, id):
            raise MemoryError

    @property
    def lines(self) -> int:
        """How many complete lines have been scanned since the last call of `take`."""
        return self.scan.lines

    @property
    def shapes(self) -> int:
        """How many shapes have been learned."""
        return self.scan.shape_count

    def take(self) -> tuple:
        """The rows kept since the last call: (line numbers i64, shape ids i32, value starts u64, values f64).

        Lines are counted from the last call. A row's values begin at its start in `values`: one for each NUMBER, TIME and UTC token of its shape.
        """
        cdef uint64_t rows = self.scan.row_count
        out = (
            _copy(self.scan.row_lines, rows * sizeof(int64_t)),
            _copy(self.scan.row_shapes, rows * sizeof(int32_t)),
            _copy(self.scan.row_values, rows * sizeof(uint64_t)),
            _copy(self.scan.values, self.scan.value_count * sizeof(double)),
        )
        self.scan.row_count = self.scan.value_count = 0
        self.scan.lines = 0
        return out
