/* Bytes fed whole, in pieces, by the fast path and with failing allocations: the result must be the same. */
#ifndef FUZZ_CHECK_FEED_H
#define FUZZ_CHECK_FEED_H

#include "allocations.h"
#include "compare.h"
#include "invariants.h"
#include "mutate.h"

static pb_log *new_log(void) {
    pb_log *log = pb_log_new();
    must(log);
    return log;
}

/* Feeds from a block of exactly this size that is freed right after, so that reading past it, or later, is caught. */
static size_t feed_copy(pb_log *log, const uint8_t *data, size_t n, uint64_t *want) {
    uint8_t *copy = malloc(n ? n : 1);
    must(copy);
    if (n) memcpy(copy, data, n);
    uint64_t before = log->offset;
    size_t consumed = pb_feed(log, copy, n, want);
    free(copy);
    REQUIRE(consumed <= n, "%zu of %zu bytes were consumed", consumed, n);
    REQUIRE(log->offset == before + consumed, "the offset did not advance by the bytes consumed");
    REQUIRE(!*want || (log->end == PB_END_TORN && *want > n - consumed), "bytes are requested that are already there");
    return consumed;
}

static pb_log *fed(const uint8_t *data, size_t n) {
    uint64_t want;
    pb_log *log = new_log();
    feed_copy(log, data, n, &want);
    return log;
}

/* The points of a tag as an array would show them: they must stay as they were, whatever is added or freed. */
typedef struct {
    pb_memory *memory;
    const double *values;
    double *copy;
    uint64_t n;
} shown_points;

static shown_points show_points(pb_log *log, stream *r) {
    shown_points s = {0};
    if (!log->tag_n) return s;
    pb_column *c = &log->tags[below(r, log->tag_n)].points;
    s.memory = pb_points_share(c);
    if (!s.memory) return s;
    s.values = c->values;
    s.n = c->n;
    s.copy = malloc(s.n * sizeof *s.copy + 1);
    must(s.copy);
    memcpy(s.copy, s.values, s.n * sizeof *s.copy);
    return s;
}

static void hide_points(shown_points *s) {
    if (s->memory) REQUIRE(!memcmp(s->values, s->copy, s->n * sizeof *s->copy), "shared points have changed");
    pb_memory_release(s->memory);
    free(s->copy);
}

static void feed_growing(pb_log *log, const uint8_t *data, size_t n, stream *r) {
    uint64_t want;
    size_t available = 0;
    shown_points shown = {0};
    do {
        available += 1 + below(r, one_in(r, 3) ? 16 : n / 4 + 16) + n / 256;
        if (available > n) available = n;
        feed_copy(log, data + log->offset, available - log->offset, &want);
        if (one_in(r, 8)) pb_log_trim(log);
        if (one_in(r, 8)) {
            hide_points(&shown);
            shown = show_points(log, r);
        }
    } while (available < n && log->end <= PB_END_TORN);
    hide_points(&shown);
}

static void check_pieces(const pb_log *whole, const uint8_t *data, size_t n, stream *r) {
    pb_log *log = new_log();
    feed_growing(log, data, n, r);
    check_log(log, n, 0, "in pieces");
    require_same(log, whole, 1, "in pieces");
    if (one_in(r, 4)) {
        uint64_t generation = log->generation;
        pb_log_reset(log, 0, -1);
        REQUIRE(!log->tag_n && !log->offset && log->generation == generation + 1, "a reset log is not empty");
        feed_growing(log, data, n, r);
        require_same(log, whole, 1, "again after a reset");
    }
    uint64_t held = pb_held_bytes(log);
    pb_log_trim(log);
    REQUIRE(pb_held_bytes(log) <= held, "trimming used more memory");
    require_same(log, whole, 1, "trimmed");
    pb_log_free(log);
}

/* With a version from the start, the kernel uses its fast path for common events; otherwise never. */
static void check_fast_path(const pb_log *whole, const uint8_t *data, size_t n) {
    uint64_t want;
    pb_log *log = new_log();
    pb_log_reset(log, 2, -1);
    feed_copy(log, data, n, &want);
    check_log(log, n, 0, "by the fast path");
    require_same(log, whole, 0, "by the fast path");
    pb_log_free(log);
}

static void check_failing_allocations(const uint8_t *data, size_t n, stream *r) {
#ifdef WRAPPED
    uint64_t want;
    pb_log *log = new_log();
    uint8_t *copy = malloc(n ? n : 1);
    must(copy);
    if (n) memcpy(copy, data, n);
    for (int round = 0; round < 4 && log->end <= PB_END_TORN; round++) {
        allocations_left = (int64_t)below(r, 40);
        pb_feed(log, copy + log->offset, n - log->offset, &want);
        pb_log_trim(log);
        allocations_left = -1;
        check_log(log, n, 1, "with a failed allocation");
    }
    for (int more = 0; more < 3; more++) pb_feed(log, copy + log->offset, n - log->offset, &want);
    check_log(log, n, 1, "after a failed allocation");
    free(copy);
    pb_log_free(log);
#else
    (void)data, (void)n, (void)r;
#endif
}

#endif
