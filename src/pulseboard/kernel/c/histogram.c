/* Histograms: a table maps the top bits of a number to its bin, up to one comparison.
 *
 * Numbers of one sign are ordered like their bits, so a bin is a range of bits. The bins are TensorBoard's
 * buckets and a few more. With SIDE edges on either side of zero:
 *
 *   from zero   0: up to the first edge   k: from edge k           SIDE: beyond       +1: inf    +2: NaN
 *   negative    0: minus zero             k: down to -(edge k)     SIDE + 1: beyond   +2: -inf   +3: NaN
 *
 * A cell of the table covers all bits that start with the same sign, exponent and four bits of mantissa. A
 * cell is at most 1/16 wide and edges are 1/10 apart, so its numbers fall into one bin or two.
 */
#include "histogram.h"

#include <math.h>
#include <string.h>

#include "threads.h"

enum { SIDE = PB_EDGES_PER_SIDE, FROM_ZERO = SIDE + 3, NEGATIVE = SIDE + 4, BINS = FROM_ZERO + NEGATIVE };

enum { CELL_SHIFT = 23 - 4, CELLS = 1 << (32 - CELL_SHIFT) };

/* Neighboring numbers are often equal, zeros above all, and an increment has to wait for the previous one to
 * the same counter. Separate counters per lane avoid that. */
enum { LANES = 4 };

enum {
    BLOCK = 1024,
    PIECE = 1 << 30, /* numbers: counters are merged before they can overflow */
};

/* For doubles, which find their cell through the nearest float. */
typedef struct {
    uint64_t last; /* the last bits of the cell's first bin */
    uint64_t bin;  /* that bin; higher bits belong to the next one */
} double_cell;

/* For floats the two are one number, bin << 32 | ~last: adding a float's bits carries into the bin if they
 * are past the last. */
typedef uint64_t float_cell;

static double edges[PB_EDGES];
static double_cell double_cells[CELLS];
static float_cell float_cells[CELLS];

static inline uint32_t float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static inline uint64_t double_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

/* ---- the tables */

/* The last bits of a bin on one side of zero, without the sign. */
static uint64_t last_of(uint32_t bin, int negative, int wide) {
    uint32_t end = (negative ? NEGATIVE : FROM_ZERO) - 1;
    uint64_t infinite = wide ? double_bits(INFINITY) : float_bits(INFINITY);
    if (bin == end) return wide ? INT64_MAX : INT32_MAX;
    if (bin == end - 1) return infinite;
    if (bin == end - 2) return infinite - 1;
    if (negative && !bin) return 0;
    double edge = edges[SIDE + bin + !negative];
    /* A bucket includes its left edge: the one farther from zero if it is negative. The last includes both. */
    int has_edge = negative || bin == SIDE - 1;
    if (wide) return double_bits(edge) - !has_edge;
    float near = (float)edge;
    int too_far = has_edge ? near > edge : near >= edge;
    return float_bits(near) - too_far;
}

static void make_cells_of(int negative, int wide) {
    uint32_t bin = 0, offset = negative ? FROM_ZERO : 0;
    for (uint32_t i = 0; i < CELLS / 2; i++) {
        uint64_t first = (uint64_t)i << CELL_SHIFT;
        if (wide && i) {
            /* Start one float earlier: a double may have been rounded up into the cell. */
            uint32_t bits = (uint32_t)first - 1;
            float earlier;
            memcpy(&earlier, &bits, 4);
            first = double_bits(earlier);
        }
        uint64_t last;
        while ((last = last_of(bin, negative, wide)) < first) bin++;
        uint32_t cell = i + (negative ? CELLS / 2 : 0);
        if (wide) double_cells[cell] = (double_cell){last | (uint64_t)negative << 63, bin + offset};
        else float_cells[cell] = (uint64_t)(bin + offset) << 32 | (uint32_t)~(last | (uint32_t)negative << 31);
    }
}

static void make_tables(void) {
    double edge = 1e-12;
    for (int i = 1; i <= SIDE; i++, edge *= 1.1) {
        edges[SIDE + i] = edge;
        edges[SIDE - i] = -edge;
    }
    for (int side = 0; side < 2; side++)
        for (int wide = 0; wide < 2; wide++) make_cells_of(side, wide);
}

static void prepare(void) {
    static pb_once once = PB_ONCE;
    pb_do_once(&once, make_tables);
}

const double *pb_histogram_edges(void) {
    prepare();
    return edges;
}

/* ---- counting */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE double number_at(const void *numbers, size_t i, int wide) {
    return wide ? ((const double *)numbers)[i] : ((const float *)numbers)[i];
}

ALWAYS_INLINE uint32_t bin_at(const void *numbers, size_t i, int wide) {
    if (!wide) {
        uint32_t bits = float_bits(((const float *)numbers)[i]);
        return (uint32_t)((float_cells[bits >> CELL_SHIFT] + bits) >> 32);
    }
    double x = ((const double *)numbers)[i];
    const double_cell *cell = &double_cells[float_bits((float)x) >> CELL_SHIFT];
    return (uint32_t)(cell->bin + (double_bits(x) > cell->last));
}

typedef struct {
    double sum, squares, min, max;
} sums;

#define NO_SUMS {0, 0, INFINITY, -INFINITY}

ALWAYS_INLINE void add_number(sums *s, double x) {
    s->sum += x;
    s->squares += x * x;
    s->min = x < s->min ? x : s->min;
    s->max = x > s->max ? x : s->max;
}

ALWAYS_INLINE void add_sums(sums *to, const sums *s) {
    to->sum += s->sum;
    to->squares += s->squares;
    to->min = s->min < to->min ? s->min : to->min;
    to->max = s->max > to->max ? s->max : to->max;
}

ALWAYS_INLINE sums count_block(const void *numbers, size_t from, size_t to, int wide, uint32_t (*counters)[BINS]) {
    sums lanes[LANES] = {NO_SUMS, NO_SUMS, NO_SUMS, NO_SUMS};
    size_t i = from;
    for (; i + LANES <= to; i += LANES) {
#pragma GCC unroll 4
        for (int lane = 0; lane < LANES; lane++) {
            add_number(&lanes[lane], number_at(numbers, i + lane, wide));
            counters[lane][bin_at(numbers, i + lane, wide)]++;
        }
    }
    for (; i < to; i++) {
        add_number(&lanes[0], number_at(numbers, i, wide));
        counters[0][bin_at(numbers, i, wide)]++;
    }
    for (int lane = 1; lane < LANES; lane++) add_sums(&lanes[0], &lanes[lane]);
    return lanes[0];
}

/* For a block with a number, or the square of one, that is not finite. */
static sums sum_finite(const void *numbers, size_t from, size_t to, int wide) {
    sums s = NO_SUMS;
    for (size_t i = from; i < to; i++) {
        double x = number_at(numbers, i, wide);
        if (isfinite(x)) add_number(&s, x);
    }
    return s;
}

static void merge(pb_histogram *h, uint32_t (*counters)[BINS]) {
    for (int lane = 0; lane < LANES; lane++) {
        const uint32_t *from_zero = counters[lane], *negative = from_zero + FROM_ZERO;
        for (int i = 0; i < SIDE; i++) h->counts[SIDE + i] += from_zero[i];
        for (int i = 0; i <= SIDE; i++) h->counts[SIDE - i] += negative[i];
        h->inf += (uint64_t)from_zero[FROM_ZERO - 2] + negative[NEGATIVE - 2];
        h->nan += (uint64_t)from_zero[FROM_ZERO - 1] + negative[NEGATIVE - 1];
    }
}

ALWAYS_INLINE void count(pb_histogram *h, const void *numbers, size_t n, int wide) {
    sums all = NO_SUMS;
    for (size_t piece = 0; piece < n; piece += PIECE) {
        uint32_t counters[LANES][BINS] = {{0}};
        size_t piece_end = n - piece < PIECE ? n : piece + PIECE;
        for (size_t from = piece; from < piece_end; from += BLOCK) {
            size_t to = piece_end - from < BLOCK ? piece_end : from + BLOCK;
            sums s = count_block(numbers, from, to, wide, counters);
            if (!isfinite(s.squares)) s = sum_finite(numbers, from, to, wide);
            add_sums(&all, &s);
        }
        merge(h, counters);
    }
    h->num = n - h->nan - h->inf;
    h->sum = all.sum;
    h->sum_squares = all.squares;
    h->min = h->num ? all.min : NAN;
    h->max = h->num ? all.max : NAN;
}

void pb_histogram_of(pb_histogram *h, const void *numbers, size_t n, int wide) {
    prepare();
    memset(h, 0, sizeof *h);
    if (wide) count(h, numbers, n, 1);
    else count(h, numbers, n, 0);
}
