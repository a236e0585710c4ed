/* Pyramids of extents, and pixel columns computed from them. */
#include "bucket.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---------- extents */

static const pb_extent EMPTY = {.min = INFINITY, .max = -INFINITY};

static inline void add_value(pb_extent *e, double v, uint64_t at) {
    if (__builtin_expect(!isfinite(v), 0)) {
        if (isnan(v)) e->nan++;
        else if (v > 0) e->plus_inf++;
        else e->minus_inf++;
        return;
    }
    if (!e->finite) e->at_first = at;
    e->at_last = at;
    if (v < e->min) e->min = v, e->at_min = at;
    if (v > e->max) e->max = v, e->at_max = at;
    e->sum += v;
    e->finite++;
}

static inline void add_extent(pb_extent *e, const pb_extent *other) {
    e->nan += other->nan;
    e->plus_inf += other->plus_inf;
    e->minus_inf += other->minus_inf;
    if (!other->finite) return;
    if (!e->finite) e->at_first = other->at_first;
    e->at_last = other->at_last;
    if (other->min < e->min) e->min = other->min, e->at_min = other->at_min;
    if (other->max > e->max) e->max = other->max, e->at_max = other->at_max;
    e->sum += other->sum;
    e->finite += other->finite;
}

/* Two values at a time, with SSE2 or NEON, which every 64-bit x86 and ARM CPU has. Elsewhere the compiler emits scalar
 * code. min2 and max2 return their second operand if the first is NaN. */
typedef double two __attribute__((vector_size(16)));

static inline two load_two(const double *p) {
    two v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline two min2(two v, two w) {
#ifdef __SSE2__
    return (two)_mm_min_pd((__m128d)v, (__m128d)w);
#else
    return (two){v[0] < w[0] ? v[0] : w[0], v[1] < w[1] ? v[1] : w[1]};
#endif
}

static inline two max2(two v, two w) {
#ifdef __SSE2__
    return (two)_mm_max_pd((__m128d)v, (__m128d)w);
#else
    return (two){v[0] > w[0] ? v[0] : w[0], v[1] > w[1] ? v[1] : w[1]};
#endif
}

/* For values that are all finite, as they nearly always are. Returns 0 and does nothing if one is not. at_min and
 * at_max are set only if `want_indices` is set. */
static inline int add_finite(pb_extent *e, const double *values, uint64_t from, uint64_t to, int want_indices) {
    /* Two accumulators of each, so that one does not wait for the other. */
    two low = {INFINITY, INFINITY}, high = -low, total = {0, 0}, nonfinite = {0, 0};
    two low2 = low, high2 = high, total2 = total, nonfinite2 = nonfinite;
    uint64_t i = from;
    for (; i + 4 <= to; i += 4) {
        two v = load_two(values + i), w = load_two(values + i + 2);
        low = min2(v, low);
        low2 = min2(w, low2);
        high = max2(v, high);
        high2 = max2(w, high2);
        total += v;
        total2 += w;
        nonfinite += v - v; /* 0, or NaN from the first value that is not finite on */
        nonfinite2 += w - w;
    }
    low = min2(low2, low);
    high = max2(high2, high);
    total += total2;
    nonfinite += nonfinite2;
    double min = low[0] < low[1] ? low[0] : low[1], max = high[0] > high[1] ? high[0] : high[1];
    double sum = total[0] + total[1], check = nonfinite[0] + nonfinite[1];
    for (; i < to; i++) {
        double v = values[i];
        min = v < min ? v : min;
        max = v > max ? v : max;
        sum += v;
        check += v - v;
    }
    if (check != 0) return 0;
    if (min < e->min) {
        e->min = min;
        if (want_indices) {
            for (i = from; values[i] != min;) i++;
            e->at_min = i;
        }
    }
    if (max > e->max) {
        e->max = max;
        if (want_indices) {
            for (i = from; values[i] != max;) i++;
            e->at_max = i;
        }
    }
    if (!e->finite) e->at_first = from;
    e->at_last = to - 1;
    e->sum += sum;
    e->finite += to - from;
    return 1;
}

static inline void add_values(pb_extent *e, const double *values, uint64_t from, uint64_t to, int want_indices) {
    if (from >= to || add_finite(e, values, from, to, want_indices)) return;
    for (uint64_t i = from; i < to; i++) add_value(e, values[i], i);
}

/* ---------- pyramids */

void pb_pyramid_free(pb_pyramid *p) {
    for (int k = 0; k < PB_LEVELS; k++) free(p->level[k]);
    memset(p, 0, sizeof *p);
}

static int reserve(pb_pyramid *p, int k, uint64_t n) {
    if (n <= p->level_cap[k]) return 1;
    uint64_t cap = p->level_cap[k] + p->level_cap[k] / 4;
    if (cap < n) cap = n;
    pb_extent *level = realloc(p->level[k], cap * sizeof *level);
    if (!level) return 0;
    p->level[k] = level;
    p->level_cap[k] = cap;
    return 1;
}

int pb_pyramid_extend(pb_pyramid *p, const double *values, uint64_t n) {
    uint64_t whole = n;
    /* Allocate first, so that running out of memory changes nothing. */
    for (int k = 0; k < PB_LEVELS && (whole /= PB_FAN); k++)
        if (!reserve(p, k, whole)) return 0;
    whole = n / PB_FAN;
    for (uint64_t i = p->level_n[0]; i < whole; i++) {
        pb_extent e = EMPTY;
        add_values(&e, values, i * PB_FAN, (i + 1) * PB_FAN, 1);
        p->level[0][i] = e;
    }
    if (whole > p->level_n[0]) p->level_n[0] = whole;
    for (int k = 1; k < PB_LEVELS && (whole /= PB_FAN); k++) {
        for (uint64_t i = p->level_n[k]; i < whole; i++) {
            pb_extent e = EMPTY;
            for (uint64_t j = i * PB_FAN; j < (i + 1) * PB_FAN; j++) add_extent(&e, &p->level[k - 1][j]);
            p->level[k][i] = e;
        }
        if (whole > p->level_n[k]) p->level_n[k] = whole;
    }
    p->n = n;
    return 1;
}

uint64_t pb_pyramid_bytes(const pb_pyramid *p) {
    uint64_t sum = 0;
    for (int k = 0; k < PB_LEVELS; k++) sum += p->level_cap[k] * sizeof(pb_extent);
    return sum;
}

/* Adds blocks [from, to) of level k, using the largest blocks inside that range; from left to right, so that first and
 * last come out right. */
static void add_blocks(const pb_pyramid *p, int k, uint64_t from, uint64_t to, pb_extent *e) {
    uint64_t above_from = (from + PB_FAN - 1) / PB_FAN, above_to = to / PB_FAN;
    if (k + 1 < PB_LEVELS && above_from < above_to) {
        for (uint64_t i = from; i < above_from * PB_FAN; i++) add_extent(e, &p->level[k][i]);
        add_blocks(p, k + 1, above_from, above_to, e);
        from = above_to * PB_FAN;
    }
    for (uint64_t i = from; i < to; i++) add_extent(e, &p->level[k][i]);
}

static inline void extent_of(const pb_pyramid *p, const double *values, uint64_t from, uint64_t to, int want_indices,
                             pb_extent *out) {
    *out = EMPTY;
    uint64_t first = (from + PB_FAN - 1) / PB_FAN, end = to / PB_FAN;
    if (p && end > p->level_n[0]) end = p->level_n[0];
    if (!p || first >= end) {
        add_values(out, values, from, to, want_indices);
        return;
    }
    add_values(out, values, from, first * PB_FAN, want_indices);
    add_blocks(p, 0, first, end, out);
    add_values(out, values, end * PB_FAN, to, want_indices);
}

void pb_extent_of(const pb_pyramid *p, const double *values, uint64_t from, uint64_t to, pb_extent *out) {
    extent_of(p, values, from, to, 1, out);
}

/* ---------- columns */

uint64_t pb_find_x(const pb_x *x, uint64_t from, uint64_t to, uint64_t guess, double edge, int after) {
    uint64_t low = from, high = to, jump = 1;
#define BEFORE(i) (after ? pb_x_at(x, i) <= edge : pb_x_at(x, i) < edge)
    /* Gallop away from the guess until the edge is between two jumps, then bisect. */
    if (guess > from && guess <= to && !BEFORE(guess - 1)) {
        high = guess - 1;
        while (high - low >= jump && !BEFORE(high - jump)) {
            high -= jump;
            jump *= 2;
        }
        if (high - low > jump) low = high - jump + 1;
    } else if (guess >= from && guess < to) {
        low = guess;
        while (to - low > jump && BEFORE(low + jump - 1)) {
            low += jump;
            jump *= 2;
        }
        if (to - low > jump) high = low + jump - 1;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (BEFORE(middle)) low = middle + 1;
        else high = middle;
    }
#undef BEFORE
    return low;
}

void pb_axis_set(pb_axis *a, double low, double high, uint64_t columns, int logarithmic) {
    *a = (pb_axis){.low = low, .high = high, .columns = low < high ? columns : 1, .logarithmic = logarithmic};
    if (logarithmic) {
        a->log_low = log(low);
        a->log_high = log(high);
    }
}

double pb_axis_edge(const pb_axis *a, uint64_t k) {
    if (!k) return a->low;
    if (k == a->columns) return a->high;
    double part = (double)k / (double)a->columns;
    /* Two products, not low + width * part: the width can overflow. */
    if (a->logarithmic) return exp(a->log_low * (1 - part) + a->log_high * part);
    return a->low * (1 - part) + a->high * part;
}

/* The column of x. The edges decide: the division is only a guess, because it rounds. */
static uint64_t column_of(const pb_axis *a, double x) {
    double part = a->logarithmic ? (log(x) - a->log_low) / (a->log_high - a->log_low)
                                 : (x / 2 - a->low / 2) / (a->high / 2 - a->low / 2);
    uint64_t k = 0, last = a->columns - 1;
    if (part > 0) k = part >= 1 ? last : (uint64_t)(part * (double)a->columns);
    if (k > last) k = last;
    while (k > 0 && x < pb_axis_edge(a, k)) k--;
    while (k < last && x >= pb_axis_edge(a, k + 1)) k++;
    return k;
}

static inline uint32_t clamp_count(uint64_t n) { return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n; }

static void write_row(double x, const double *values, const pb_extent *e, uint64_t points, pb_rows *rows,
                      uint64_t row) {
    int any = e->finite != 0;
    if (rows->x) rows->x[row] = x;
    if (rows->first) rows->first[row] = any ? values[e->at_first] : NAN;
    if (rows->min) rows->min[row] = any ? e->min : NAN;
    if (rows->max) rows->max[row] = any ? e->max : NAN;
    if (rows->last) rows->last[row] = any ? values[e->at_last] : NAN;
    if (rows->mean) rows->mean[row] = any ? e->sum / (double)e->finite : NAN;
    if (rows->count) rows->count[row] = clamp_count(points);
    if (rows->nan) rows->nan[row] = clamp_count(e->nan);
    if (rows->plus_inf) rows->plus_inf[row] = e->plus_inf;
    if (rows->minus_inf) rows->minus_inf[row] = e->minus_inf;
    if (rows->at_last) rows->at_last[row] = any ? e->at_last : UINT64_MAX;
}

uint64_t pb_bucket(const pb_axis *a, const pb_x *x, const double *values, const pb_pyramid *p, uint64_t from,
                   uint64_t to, pb_rows *rows) {
    uint64_t row = 0, width = 0;
    while (from < to) {
        uint64_t k = column_of(a, pb_x_at(x, from));
        /* Points are mostly evenly spaced: guess that this column has as many as the one before. */
        uint64_t guess = width < to - from ? from + (width ? width : 1) : to;
        uint64_t end = k + 1 >= a->columns ? to : pb_find_x(x, from + 1, to, guess, pb_axis_edge(a, k + 1), 0);
        pb_extent e;
        extent_of(p, values, from, end, 0, &e);
        write_row(pb_x_at(x, from), values, &e, end - from, rows, row++);
        width = end - from;
        from = end;
    }
    return row;
}

int pb_to_float32(const double *values, uint64_t n, float *out) {
    int same = 1;
    for (uint64_t i = 0; i < n; i++) {
        float single = (float)values[i];
        out[i] = single;
        same &= (double)single == values[i] || values[i] != values[i];
    }
    return same;
}
