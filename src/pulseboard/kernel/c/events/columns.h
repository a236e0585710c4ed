/* Adding to a column of spans; events.h has the types, and points.h is the same for points. */
#ifndef PB_COLUMNS_H
#define PB_COLUMNS_H

#include "events.h"

pb_block *pb_column_grow(pb_column *c, size_t item_size); /* NULL: no memory */
void pb_column_free(pb_column *c);
void pb_column_trim(pb_column *c, size_t item_size);
int pb_column_cut(pb_column *c, int64_t below, int64_t restart); /* 0: no memory */

/* For a restart since the last item: adds a cut, unless the column is empty. 0: no memory. */
static inline int pb_column_see_restarts(pb_column *c, uint64_t restart_n) {
    if (c->n && !pb_column_cut(c, 0, (int64_t)c->restarts_seen)) return 0;
    c->restarts_seen = restart_n;
    return 1;
}

/* Adds one item and returns a pointer to it; NULL: no memory. First adds a cut if there were restarts since the last
 * item. */
static inline void *pb_column_add(pb_column *c, size_t item_size, uint64_t restart_n) {
    if (__builtin_expect(c->restarts_seen != restart_n, 0) && !pb_column_see_restarts(c, restart_n)) return NULL;
    pb_block *b = c->tail;
    if (__builtin_expect(!b || b->n == b->cap, 0) && !(b = pb_column_grow(c, item_size))) return NULL;
    c->n++;
    return (char *)(b + 1) + (size_t)b->n++ * item_size;
}

#endif
