/* Two logs that must agree. */
#ifndef FUZZ_COMPARE_H
#define FUZZ_COMPARE_H

#include <string.h>

#include "events.h"
#include "mutate.h"
#include "require.h"

static uint64_t bits(double v) {
    uint64_t b;
    memcpy(&b, &v, 8);
    return b;
}

#define AGREE(name, left, right)                                                                       \
    REQUIRE((uint64_t)(left) == (uint64_t)(right), "%s: %s is %lld, but %lld if fed whole", how, name, \
            (long long)(left), (long long)(right))

static void require_same_cuts(const pb_column *a, const pb_column *b, const char *how) {
    AGREE("a column's count of restarts seen", a->restarts_seen, b->restarts_seen);
    AGREE("a column's count of cuts", a->cut_n, b->cut_n);
    for (uint32_t i = 0; i < a->cut_n; i++) {
        AGREE("a cut's position", a->cuts[i].at, b->cuts[i].at);
        AGREE("a cut's limit", a->cuts[i].below, b->cuts[i].below);
        AGREE("a cut's restart", a->cuts[i].restart, b->cuts[i].restart);
    }
}

/* A column's items in one array, regardless of blocks. */
static uint64_t *copied_points(const pb_column *c) {
    uint64_t *all = malloc(c->n * 24 + 1);
    must(all);
    pb_copy_points(c, 0, (int64_t *)all, (double *)(all + c->n), (double *)(all + 2 * c->n));
    return all;
}

static uint64_t *copied_spans(const pb_column *c) {
    uint64_t *all = malloc(c->n * 32 + 1);
    must(all);
    uint32_t *narrow = (uint32_t *)(all + 3 * c->n);
    pb_copy_spans(c, (int64_t *)all, (double *)(all + c->n), all + 2 * c->n, narrow, narrow + c->n);
    return all;
}

static void require_same_items(uint64_t *a, uint64_t *b, size_t bytes, const char *name, const char *how) {
    REQUIRE(!memcmp(a, b, bytes), "%s: %s differ from those of the file fed whole", how, name);
    free(a);
    free(b);
}

/* With `history`, restarts must agree too. They depend on the version the log started from. */
static void require_same(const pb_log *a, const pb_log *b, int history, const char *how) {
    AGREE("offset", a->offset, b->offset);
    AGREE("end", a->end, b->end);
    AGREE("the count of events", a->events, b->events);
    AGREE("the count of points", a->points, b->points);
    AGREE("the number of framing bytes", a->framing_bytes, b->framing_bytes);
    AGREE("the first wall time's bits", bits(a->first_wall), bits(b->first_wall));
    AGREE("the last wall time's bits", bits(a->last_wall), bits(b->last_wall));
    AGREE("the number of last bytes", a->last_bytes_n, b->last_bytes_n);
    REQUIRE(!memcmp(a->last_bytes, b->last_bytes, a->last_bytes_n), "%s: the last bytes differ", how);
    AGREE("the count of notes", a->note_n, b->note_n);
    for (uint64_t i = 0; i < a->note_n && i < PB_MAX_NOTES; i++) {
        AGREE("a note's code", a->notes[i].code, b->notes[i].code);
        AGREE("a note's offset", a->notes[i].offset, b->notes[i].offset);
        AGREE("a note's length", a->notes[i].length, b->notes[i].length);
        AGREE("a note's computed checksum", a->notes[i].got, b->notes[i].got);
        AGREE("a note's stored checksum", a->notes[i].want, b->notes[i].want);
    }
    AGREE("the count of tags", a->tag_n, b->tag_n);
    for (uint32_t i = 0; i < a->tag_n; i++) {
        const pb_tag *s = &a->tags[i], *t = &b->tags[i];
        AGREE("a tag's length", s->len, t->len);
        REQUIRE(!memcmp(s->name, t->name, s->len), "%s: tag %u is '%.*s', but '%.*s' if fed whole", how, i, (int)s->len,
                s->name, (int)t->len, t->name);
        AGREE("a tag's bytes", s->bytes, t->bytes);
        AGREE("a tag's plugin", s->plugin, t->plugin);
        AGREE("a tag's metadata's offset", s->meta_offset, t->meta_offset);
        AGREE("a tag's metadata's length", s->meta_length, t->meta_length);
        AGREE("a tag's span fields", s->span_fields, t->span_fields);
        AGREE("a tag's count of points", s->points.n, t->points.n);
        AGREE("a tag's count of spans", s->spans.n, t->spans.n);
        require_same_items(copied_points(&s->points), copied_points(&t->points), s->points.n * 24, "points", how);
        require_same_items(copied_spans(&s->spans), copied_spans(&t->spans), s->spans.n * 32, "spans", how);
        if (!history) continue;
        require_same_cuts(&s->points, &t->points, how);
        require_same_cuts(&s->spans, &t->spans, how);
    }
    AGREE("the count of plugins", a->plugin_n, b->plugin_n);
    for (uint32_t i = 0; i < a->plugin_n; i++)
        REQUIRE(!strcmp(a->plugins[i], b->plugins[i]), "%s: plugin %u is '%s', but '%s' if fed whole", how, i,
                a->plugins[i], b->plugins[i]);
    if (!history) return;
    AGREE("the version's bits", bits(a->version), bits(b->version));
    AGREE("the most recent step", a->most_recent_step, b->most_recent_step);
    AGREE("whether summaries came before a version record", a->unversioned, b->unversioned);
    AGREE("the count of restarts", a->restart_n, b->restart_n);
    for (uint64_t i = 0; i < a->restart_n; i++) {
        AGREE("a restart's step", a->restarts[i].step, b->restarts[i].step);
        AGREE("a restart's offset", a->restarts[i].offset, b->restarts[i].offset);
        AGREE("a restart's wall time's bits", bits(a->restarts[i].wall), bits(b->restarts[i].wall));
    }
}

#endif
