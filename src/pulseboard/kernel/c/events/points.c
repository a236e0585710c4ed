/* Points: columns in one piece each, that grow by moving.
 *
 * A short column is one allocation: steps, then wall times, then values. A long one is three, which the system can
 * enlarge by moving pages instead of copying bytes. Once arrays share the memory (c->owner), it never changes: the
 * column moves elsewhere before it grows. */
#include "points.h"

#include <math.h>
#include <stdlib.h>

/* Up to this many points (96 KiB) are one allocation. */
enum { MAX_SHORT = 4096, MIN_CAP = 4 };

static uint64_t held(const pb_column *c) { return c->n - c->stored_n; }

/* Short columns of these sizes, from 4 to 4096 points, come from the pool. */
static int is_pooled(uint64_t cap) { return cap <= MAX_SHORT && !(cap & (cap - 1)); }

static void *take_short(pb_pool *pool, uint64_t cap) {
    size_t n = cap * sizeof(pb_point);
    return is_pooled(cap) ? pb_pool_take(pool, (unsigned)__builtin_ctzll(cap), n) : malloc(n);
}

static void free_pieces(int64_t *steps, double *walls, double *values, uint64_t cap, pb_pool *pool) {
    if (is_pooled(cap)) pb_pool_return(pool, (unsigned)__builtin_ctzll(cap), cap * sizeof(pb_point), steps);
    else free(steps);
    if (cap <= MAX_SHORT) return;
    free(walls);
    free(values);
}

static int enlarge_long(pb_column *c, uint64_t cap) {
    size_t n = cap * sizeof(double);
    /* Each is replaced as it comes: if the next one fails, the column is as it was, with some room to spare. */
    void *steps = realloc(c->steps, n);
    if (!steps) return 0;
    c->steps = steps;
    void *walls = realloc(c->walls, n);
    if (!walls) return 0;
    c->walls = walls;
    void *values = realloc(c->values, n);
    if (!values) return 0;
    c->values = values;
    c->cap = cap;
    return 1;
}

int pb_points_reserve(pb_column *c, uint64_t cap, pb_pool *pool) {
    if (!c->owner && c->cap > MAX_SHORT) return enlarge_long(c, cap);
    uint64_t n = held(c);
    int is_short = cap <= MAX_SHORT;
    int64_t *steps = is_short ? take_short(pool, cap) : malloc(cap * sizeof *steps);
    if (!steps) return 0;
    double *walls = is_short ? (double *)(steps + cap) : malloc(cap * sizeof *walls);
    double *values = is_short ? (double *)(steps + 2 * cap) : malloc(cap * sizeof *values);
    if (!walls || !values) {
        free_pieces(steps, walls, values, cap, pool);
        return 0;
    }
    if (n) {
        memcpy(steps, c->steps, n * sizeof *steps);
        memcpy(walls, c->walls, n * sizeof *walls);
        memcpy(values, c->values, n * sizeof *values);
    }
    pb_points_free(c, pool);
    c->steps = steps;
    c->walls = walls;
    c->values = values;
    c->cap = cap;
    return 1;
}

int pb_points_grow(pb_column *c, pb_pool *pool) {
    uint64_t n = held(c);
    /* A file that is being followed grows point by point: grow by an eighth. In a long column that is still being
     * loaded, room that is not used takes no memory and is given back at the end. */
    uint64_t more = c->trimmed ? n / 8 : n < 64 || n > MAX_SHORT ? n * 3 : n;
    return pb_points_reserve(c, n + (more < MIN_CAP ? MIN_CAP : more), pool);
}

void pb_points_free(pb_column *c, pb_pool *pool) {
    if (c->owner) pb_memory_release(c->owner);
    else if (c->cap) free_pieces(c->steps, c->walls, c->values, c->cap, pool);
    c->owner = NULL;
    c->steps = NULL;
    c->walls = c->values = NULL;
    c->cap = 0;
}

pb_memory *pb_points_share(pb_column *c) {
    if (!c->owner && c->cap) {
        int is_long = c->cap > MAX_SHORT;
        c->owner = pb_memory_of(c->steps, is_long ? c->walls : NULL, is_long ? c->values : NULL);
        if (!c->owner) return NULL;
        c->cap = held(c); /* full: what the arrays show must not change */
    }
    if (c->owner) pb_memory_use(c->owner);
    return c->owner;
}

/* ---------- trimming */

static int is_packed(const pb_column *c) { return !c->owner && !c->stored_n && c->cap && c->cap <= MAX_SHORT && c->n; }

static void move_into(pb_column *c, pb_memory *owner, int64_t *to, pb_pool *pool) {
    uint64_t n = c->n;
    memcpy(to, c->steps, n * 8);
    memcpy(to + n, c->walls, n * 8);
    memcpy(to + 2 * n, c->values, n * 8);
    pb_points_free(c, pool);
    pb_memory_use(c->owner = owner);
    c->steps = to;
    c->walls = (double *)(to + n);
    c->values = (double *)(to + 2 * n);
    c->cap = n;
}

void pb_points_trim(pb_tag *tags, uint32_t tag_n, pb_pool *pool) {
    size_t total = 0;
    for (uint32_t i = 0; i < tag_n; i++) {
        pb_column *c = &tags[i].points;
        c->trimmed = 1;
        if (is_packed(c)) total += c->n * sizeof(pb_point);
        else if (!c->owner && c->cap > MAX_SHORT && held(c) > MAX_SHORT && held(c) < c->cap) enlarge_long(c, held(c));
    }
    int64_t *to = total ? malloc(total) : NULL;
    pb_memory *owner = to ? pb_memory_of(to, NULL, NULL) : NULL;
    if (!owner) {
        free(to);
        return;
    }
    owner->packed_n = total / 8;
    for (uint32_t i = 0; i < tag_n; i++) {
        pb_column *c = &tags[i].points;
        if (!is_packed(c)) continue;
        uint64_t n = c->n;
        move_into(c, owner, to, pool);
        to += 3 * n;
    }
    pb_memory_release(owner);
}

/* ---------- reading */

void pb_copy_points(const pb_column *c, uint64_t from, int64_t *step, double *wall, double *value) {
    uint64_t n = held(c) > from ? held(c) - from : 0;
    if (!n) return;
    memcpy(step, c->steps + from, n * sizeof *step);
    memcpy(wall, c->walls + from, n * sizeof *wall);
    memcpy(value, c->values + from, n * sizeof *value);
}

void pb_point_stats(const pb_column *c, pb_stats *out) {
    pb_stats s = {.n = held(c), .min = INFINITY, .max = -INFINITY, .last = NAN, .last_wall = NAN, .first_wall = NAN};
    if (s.n) {
        s.first_step = s.min_step = s.max_step = c->steps[0];
        s.last_step = c->steps[s.n - 1];
        s.first_wall = c->walls[0];
        s.last_wall = c->walls[s.n - 1];
        s.last = c->values[s.n - 1];
    }
    for (uint64_t i = 0; i < s.n; i++) {
        double v = c->values[i];
        if (isfinite(v)) {
            if (v < s.min) s.min = v, s.at_min = i;
            if (v > s.max) s.max = v, s.at_max = i;
        } else if (isnan(v)) s.nan++;
        else s.inf++;
        int64_t step = c->steps[i];
        s.min_step = step < s.min_step ? step : s.min_step;
        s.max_step = step > s.max_step ? step : s.max_step;
    }
    if (s.min > s.max) s.min = s.max = NAN;
    *out = s;
}
