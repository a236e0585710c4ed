/* What must hold for every log, whatever it was fed. */
#ifndef FUZZ_INVARIANTS_H
#define FUZZ_INVARIANTS_H

#include <math.h>

#include "compare.h"
#include "events.h"
#include "require.h"

static void check_stats(const pb_column *c) {
    pb_stats s;
    pb_point_stats(c, &s);
    REQUIRE(s.n == c->n, "stats count %llu points of %llu", (unsigned long long)s.n, (unsigned long long)c->n);
    if (!c->n) return;
    uint64_t *all = copied_points(c), n = c->n, nan = 0, inf = 0;
    const int64_t *step = (const int64_t *)all;
    const double *value = (const double *)(all + 2 * n);
    for (uint64_t i = 0; i < n; i++) {
        nan += isnan(value[i]) != 0;
        inf += isinf(value[i]) != 0;
        REQUIRE(step[i] >= s.min_step && step[i] <= s.max_step, "a step is outside min_step and max_step");
        REQUIRE(!isfinite(value[i]) || (value[i] >= s.min && value[i] <= s.max), "a value is outside min and max");
    }
    REQUIRE(isnan(s.min) || (value[s.at_min] == s.min && value[s.at_max] == s.max),
            "at_min or at_max is another point");
    REQUIRE(s.nan == nan && s.inf == inf, "stats count the wrong number of NaNs or infinities");
    REQUIRE(isnan(s.min) == (nan + inf == n), "min is NaN although there are finite values, or the reverse");
    REQUIRE(s.first_step == step[0] && s.last_step == step[n - 1], "stats have the wrong first or last step");
    REQUIRE(bits(s.last) == bits(value[n - 1]), "stats have the wrong last value");
    free(all);
}

static void check_cuts(const pb_log *log, const pb_column *c) {
    uint64_t at = 0;
    REQUIRE(c->restarts_seen <= log->restart_n, "a column counts restarts that the log does not have");
    for (uint32_t i = 0; i < c->cut_n; at = c->cuts[i++].at) {
        REQUIRE(c->cuts[i].at >= at && c->cuts[i].at <= c->n, "cuts are out of order or past the column's end");
        REQUIRE(c->cuts[i].restart >= -1 && c->cuts[i].restart < (int64_t)log->restart_n,
                "a cut refers to a restart that does not exist");
    }
}

/* `lossy`: an allocation failed, so some bytes may be charged to no tag. */
static void check_log(const pb_log *log, size_t n, int lossy, const char *how) {
    REQUIRE(log->offset <= n, "%s: offset %llu is past the %zu bytes fed", how, (unsigned long long)log->offset, n);
    uint64_t charged = log->framing_bytes, points = 0;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        const pb_tag *t = &log->tags[i];
        charged += t->bytes;
        points += t->points.n;
        REQUIRE(t->plugin < (int32_t)log->plugin_n, "%s: a tag's plugin is not in the list", how);
        REQUIRE(t->meta_offset <= log->offset && t->meta_length <= log->offset - t->meta_offset,
                "%s: metadata is outside the file", how);
        check_cuts(log, &t->points);
        check_cuts(log, &t->spans);
        check_stats(&t->points);
        uint64_t *spans = copied_spans(&t->spans), k = t->spans.n;
        const uint32_t *length = (const uint32_t *)(spans + 3 * k);
        for (uint64_t j = 0; j < k; j++)
            REQUIRE(spans[2 * k + j] <= log->offset && length[j] <= log->offset - spans[2 * k + j],
                    "%s: a span is outside the file", how);
        free(spans);
    }
    REQUIRE(points == log->points, "%s: the points of the tags do not add up to the log's", how);
    REQUIRE(lossy ? charged <= log->offset : charged == log->offset,
            "%s: tags and framing account for %llu of the %llu bytes read", how, (unsigned long long)charged,
            (unsigned long long)log->offset);
    for (uint64_t i = 0; i < log->note_n && i < PB_MAX_NOTES; i++)
        REQUIRE(log->notes[i].offset + log->notes[i].length + 16 <= log->offset, "%s: a note is past the offset", how);
    /* A tag of seven bytes gets a first block of 144 bytes, 21 times as many; a value of four gets a span of 64. */
    uint64_t held = pb_held_bytes(log);
    REQUIRE(held <= 24 * (uint64_t)n + 1024, "%s: %llu bytes are held for %zu fed", how, (unsigned long long)held, n);
}

#endif
