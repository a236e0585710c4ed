/* Histograms: a table gives the place of a number from its top bits, up to one comparison.
 *
 * Numbers of one sign are ordered as their bits are, so a place is a range of bits. With SIDE edges on
 * either side of zero:
 *
 *   from zero   0: up to the first edge   k: from edge k           SIDE: beyond       +1: inf    +2: NaN
 *   negative    0: minus zero             k: down to -(edge k)     SIDE + 1: beyond   +2: -inf   +3: NaN
 *
 * A cell of the table is all bits that begin alike: sign, exponent and four bits of mantissa. It is at most
 * 1/16 wide and edges are 1/10 apart, so that it has numbers of one place or of two.
 */
#include "histogram.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { SIDE = PB_EDGES_A_SIDE, FROM_ZERO = SIDE + 3, NEGATIVE = SIDE + 4, PLACES = FROM_ZERO + NEGATIVE };

enum { CELL_SHIFT = 23 - 4, CELLS = 1 << (32 - CELL_SHIFT) };

/* Neighbours are often alike, zeros most of all, and adding to a counter that was just added to must wait
 * for that addition. With a counter for each of the lanes it does not. */
enum { LANES = 4 };

enum {
    BLOCK = 1024,
    PIECE = 1 << 30, /* numbers: no counter is full before it is merged */
};

/* For doubles, which find their cell as the float they are nearest to. */
typedef struct {
    uint64_t last;  /* the last bits of the cell's first place */
    uint64_t place; /* that place; what has higher bits is one place further */
} double_cell;

/* For floats the two are one number, place << 32 | ~last: adding a float's bits carries into the place
 * where they are past the last. */
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

/* The last bits of a place on one side of zero, without the sign. */
static uint64_t last_of(uint32_t place, int negative, int wide) {
    uint32_t end = (negative ? NEGATIVE : FROM_ZERO) - 1;
    uint64_t infinite = wide ? double_bits(INFINITY) : float_bits(INFINITY);
    if (place == end) return wide ? INT64_MAX : INT32_MAX;
    if (place == end - 1) return infinite;
    if (place == end - 2) return infinite - 1;
    if (negative && !place) return 0;
    double edge = edges[SIDE + place + !negative];
    /* A bucket has its left edge: the one farther from zero, if it is negative. The last has both. */
    int has_edge = negative || place == SIDE - 1;
    if (wide) return double_bits(edge) - !has_edge;
    float near = (float)edge;
    int too_far = has_edge ? near > edge : near >= edge;
    return float_bits(near) - too_far;
}

static void make_cells_of(int negative, int wide) {
    uint32_t place = 0, offset = negative ? FROM_ZERO : 0;
    for (uint32_t i = 0; i < CELLS / 2; i++) {
        uint64_t first = (uint64_t)i << CELL_SHIFT;
        if (wide && i) {
            /* From one float earlier: a double may have been rounded up into the cell. */
            uint32_t bits = (uint32_t)first - 1;
            float earlier;
            memcpy(&earlier, &bits, 4);
            first = double_bits(earlier);
        }
        uint64_t last;
        while ((last = last_of(place, negative, wide)) < first) place++;
        uint32_t cell = i + (negative ? CELLS / 2 : 0);
        if (wide)
            double_cells[cell] = (double_cell){last | (uint64_t)negative << 63, place + offset};
        else
            float_cells[cell] = (uint64_t)(place + offset) << 32 | (uint32_t)~(last | (uint32_t)negative << 31);
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
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_tables);
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

ALWAYS_INLINE uint32_t place_at(const void *numbers, size_t i, int wide) {
    if (!wide) {
        uint32_t bits = float_bits(((const float *)numbers)[i]);
        return (uint32_t)((float_cells[bits >> CELL_SHIFT] + bits) >> 32);
    }
    double x = ((const double *)numbers)[i];
    const double_cell *cell = &double_cells[float_bits((float)x) >> CELL_SHIFT];
    return (uint32_t)(cell->place + (double_bits(x) > cell->last));
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

ALWAYS_INLINE sums count_block(const void *numbers, size_t from, size_t to, int wide, uint32_t (*counters)[PLACES]) {
    sums lanes[LANES] = {NO_SUMS, NO_SUMS, NO_SUMS, NO_SUMS};
    size_t i = from;
    for (; i + LANES <= to; i += LANES) {
#pragma GCC unroll 4
        for (int lane = 0; lane < LANES; lane++) {
            add_number(&lanes[lane], number_at(numbers, i + lane, wide));
            counters[lane][place_at(numbers, i + lane, wide)]++;
        }
    }
    for (; i < to; i++) {
        add_number(&lanes[0], number_at(numbers, i, wide));
        counters[0][place_at(numbers, i, wide)]++;
    }
    for (int lane = 1; lane < LANES; lane++) add_sums(&lanes[0], &lanes[lane]);
    return lanes[0];
}

/* For a block in which something is not finite, or has a square that is not. */
static sums sum_finite(const void *numbers, size_t from, size_t to, int wide) {
    sums s = NO_SUMS;
    for (size_t i = from; i < to; i++) {
        double x = number_at(numbers, i, wide);
        if (isfinite(x)) add_number(&s, x);
    }
    return s;
}

static void merge(pb_histogram *h, uint32_t (*counters)[PLACES]) {
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
        uint32_t counters[LANES][PLACES] = {{0}};
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
    if (wide)
        count(h, numbers, n, 1);
    else
        count(h, numbers, n, 0);
}
