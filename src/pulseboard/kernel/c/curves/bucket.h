/* Series to pixel columns: what a chart draws, at a cost that depends on its pixels and not on its points.
 *
 * A pyramid holds a summary of every block of PB_FAN points, of every PB_FAN such blocks, and so on. A
 * pixel column is a range of points; its summary is computed from the largest blocks inside it and the
 * single points at both ends. Points are only ever added, so a pyramid is extended and never rebuilt. */
#ifndef PB_BUCKET_H
#define PB_BUCKET_H

#include <stdint.h>

/* 32: a range costs at most 62 steps per level, and the summaries take 3 bytes per point. */
enum { PB_FAN = 32, PB_LEVELS = 12 };

/* The summary of a range of values. `at_` fields are indices into the series. They, min, max and sum cover
 * finite values only, and mean nothing if `finite` is 0. */
typedef struct {
    double min, max, sum;
    uint64_t at_first, at_last, at_min, at_max;
    uint64_t finite, nan;
    uint32_t plus_inf, minus_inf;  /* 4 bytes are enough for a chart */
} pb_extent;

typedef struct {
    uint64_t n;                    /* points covered */
    pb_extent *level[PB_LEVELS];   /* level[k]: blocks of PB_FAN^(k+1) points, complete ones only */
    uint64_t level_n[PB_LEVELS], level_cap[PB_LEVELS];
} pb_pyramid;

void pb_pyramid_free(pb_pyramid *p);
/* Adds values[p->n .. n). 0: no memory; the pyramid then covers what it did before. */
int pb_pyramid_extend(pb_pyramid *p, const double *values, uint64_t n);
uint64_t pb_pyramid_bytes(const pb_pyramid *p);

/* The summary of values[from .. to). `p` may cover fewer points than the series has, or be NULL. */
void pb_extent_of(const pb_pyramid *p, const double *values, uint64_t from, uint64_t to, pb_extent *out);

/* The x of a series: floats or whole numbers, whichever is not NULL, less an origin. Whole numbers are steps as they were
 * read, so that a chart needs no copy of them. */
typedef struct {
    const double *floats;
    const int64_t *whole;
    double origin;
} pb_x;
/* Subtracting before comparing treats every point the same, however the subtraction rounds. */
static inline double pb_x_at(const pb_x *x, uint64_t i) {
    return (x->whole ? (double)x->whole[i] : x->floats[i]) - x->origin;
}

/* The first index in [from, to) with x >= edge (`after`: > edge); `to` if there is none. x must not fall. The closer the
 * result is to `guess`, the faster. */
uint64_t pb_find_x(const pb_x *x, uint64_t from, uint64_t to, uint64_t guess, double edge, int after);

/* Columns of equal width between two x, on a linear or logarithmic axis. Column k holds the points from its
 * own edge up to, but not including, the next; the last column also holds `high`. */
typedef struct {
    double low, high, log_low, log_high;
    uint64_t columns;
    int logarithmic;
} pb_axis;
void pb_axis_set(pb_axis *a, double low, double high, uint64_t columns, int logarithmic);
double pb_axis_edge(const pb_axis *a, uint64_t k);

/* Arrays to fill, with room for one item per column; NULL for those not needed. */
typedef struct {
    double *x, *first, *min, *max, *last, *mean;
    uint32_t *count, *nan, *plus_inf, *minus_inf;
    uint64_t *at_last;             /* of the last finite point; UINT64_MAX if there is none */
} pb_rows;

/* Puts points [from, to) into columns; x must not fall. Returns the number of rows written: columns without points have
 * none. */
uint64_t pb_bucket(const pb_axis *a, const pb_x *x, const double *values, const pb_pyramid *p, uint64_t from,
                   uint64_t to, pb_rows *rows);

/* Converts to float32. Returns 1 if every value, NaN aside, is unchanged. */
int pb_to_float32(const double *values, uint64_t n, float *out);

#endif
