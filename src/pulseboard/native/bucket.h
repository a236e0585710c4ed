/* Series to columns of pixels: what a chart draws, at a cost of pixels and not of points.
 *
 * A pyramid holds, for every block of PB_FAN points, of PB_FAN blocks of them, and so on, what the
 * block's values come to. A column of pixels is a range of points, and is put together from the
 * greatest blocks inside it and the single points at both ends. Points are only ever added, so a
 * pyramid is extended and never made anew. */
#ifndef PB_BUCKET_H
#define PB_BUCKET_H

#include <stdint.h>

/* 32: a range costs at most 62 steps a level, and the records take 3 bytes a point. */
enum { PB_FAN = 32, PB_LEVELS = 12 };

/* What a range of values comes to. Places are indices into the series; min, max, sum and the places
 * are of finite values, and mean nothing where `finite` is 0. */
typedef struct {
    double min, max, sum;
    uint64_t at_first, at_last, at_min, at_max;
    uint64_t finite, nan;
    uint32_t plus_inf, minus_inf;  /* 4 bytes: two that fit where one did, and a chart counts no further */
} pb_extent;

typedef struct {
    uint64_t n;                    /* points covered */
    pb_extent *level[PB_LEVELS];   /* level[k]: of blocks of PB_FAN^(k+1) points, whole ones only */
    uint64_t level_n[PB_LEVELS], level_cap[PB_LEVELS];
} pb_pyramid;

void pb_pyramid_free(pb_pyramid *p);
/* Takes values[p->n .. n) in. 0: no memory, and then what was covered before still is. */
int pb_pyramid_extend(pb_pyramid *p, const double *values, uint64_t n);
uint64_t pb_pyramid_bytes(const pb_pyramid *p);

/* What values[from .. to) come to. `p` may cover fewer points than the series has, or be NULL. */
void pb_extent_of(const pb_pyramid *p, const double *values, uint64_t from, uint64_t to, pb_extent *out);

/* The first index in [from, to) whose x less `origin` is at least `edge` (`after`: greater than it); `to` where there is
 * none. x does not fall. The nearer it is to `guess`, the less is looked at. Subtracting before comparing gives every
 * point the same rule, whatever rounding takes. */
uint64_t pb_place(const double *x, double origin, uint64_t from, uint64_t to, uint64_t guess, double edge, int after);

/* Columns of equal width between two x, on a linear or a logarithmic axis. Column k holds the points
 * from its own edge up to, and without, the next; the last holds `high` too. */
typedef struct { double low, high, log_low, log_high; uint64_t columns; int logarithmic; } pb_axis;
void pb_axis_set(pb_axis *a, double low, double high, uint64_t columns, int logarithmic);
double pb_axis_edge(const pb_axis *a, uint64_t k);

/* Rows to write to, room for one a column each; NULL for what is not asked for. */
typedef struct {
    double *x, *first, *min, *max, *last, *mean;
    uint32_t *count, *nan, *plus_inf, *minus_inf;
    uint64_t *at_last;             /* of the last finite point; UINT64_MAX where there is none */
} pb_rows;

/* Puts points [from, to), whose x less `origin` do not fall, into columns. Returns the rows written: columns without
 * points have none. */
uint64_t pb_bucket(const pb_axis *a, const double *x, double origin, const double *values, const pb_pyramid *p,
                   uint64_t from, uint64_t to, pb_rows *rows);

/* Values in half the bytes. 1 where every one of them, NaN aside, is still the same. */
int pb_narrow(const double *values, uint64_t n, float *out);

#endif
