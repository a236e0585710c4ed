/* The columns of a tag's points: steps, wall times and values, each in one piece, so that arrays can show them without
 * a copy. events.h has the type. */
#ifndef PB_POINTS_H
#define PB_POINTS_H

#include "columns.h"

/* Makes room for one more; 0: no memory. Pools may be NULL everywhere. */
int pb_points_grow(pb_column *c, pb_pool *pool);
/* Makes room for `cap` points, keeping those in memory; 0: no memory. */
int pb_points_reserve(pb_column *c, uint64_t cap, pb_pool *pool);
void pb_points_free(pb_column *c, pb_pool *pool);
/* Moves the points of short columns next to each other, and frees unused memory of long ones. */
void pb_points_trim(pb_tag *tags, uint32_t n, pb_pool *pool);

/* Adds one point; 0: no memory. First adds a cut if there were restarts since the last one. */
static inline int pb_points_add(pb_column *c, int64_t step, double wall, double value, uint64_t restart_n,
                                pb_pool *pool) {
    if (__builtin_expect(c->restarts_seen != restart_n, 0) && !pb_column_see_restarts(c, restart_n)) return 0;
    uint64_t i = c->n - c->stored_n;
    if (__builtin_expect(i == c->cap, 0) && !pb_points_grow(c, pool)) return 0;
    c->steps[i] = step;
    c->walls[i] = wall;
    c->values[i] = value;
    c->n++;
    return 1;
}

#endif
