/* Records to a log's columns: frames, Events and Summary.Values. */
#include "events.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "crc32c.h"
#include "points.h"
#include "tags.h"
#include "tensor.h"

/* Fields of Event and of Summary.Value; tensorboard's event.proto and summary.proto. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_VERSION = 3,
    EVENT_GRAPH = 4,
    EVENT_SUMMARY = 5,
    EVENT_LOG = 6,
    EVENT_SESSION = 7,
    EVENT_RUN_METADATA = 8,
    EVENT_META_GRAPH = 9,
};
enum {
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    VALUE_OLD_HISTOGRAM = 3,
    VALUE_IMAGE = 4,
    VALUE_HISTOGRAM = 5,
    VALUE_AUDIO = 6,
    VALUE_NODE_NAME = 7,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9,
};
/* A span of a field of Event has this much added to its field number. */
enum { EVENT_FIELDS = 100 };

/* ---------- adding */

static inline void add_point(pb_log *log, pb_tag *t, int64_t step, double wall, double value) {
    if (__builtin_expect(!pb_points_add(&t->points, step, wall, value, log->restart_n, log->pool), 0)) {
        log->out_of_memory = 1;
        return;
    }
    log->points++;
}

static void add_span(pb_log *log, pb_tag *t, int64_t step, double wall, uint64_t offset, uint64_t length,
                     uint32_t field) {
    pb_span *s = pb_column_add(&t->spans, sizeof *s, log->restart_n);
    if (!s) {
        log->out_of_memory = 1;
        return;
    }
    *s = (pb_span){step, wall, offset, (uint32_t)length, field};
    t->span_fields |= 1u << (field < 16 ? field : field - 84);
}

static void add_note(pb_log *log, uint32_t code, uint64_t offset, uint64_t length, uint32_t got, uint32_t want) {
    if (!log->notes && !(log->notes = malloc(PB_MAX_NOTES * sizeof *log->notes))) {
        log->out_of_memory = 1;
        return;
    }
    if (log->note_n < PB_MAX_NOTES) log->notes[log->note_n] = (pb_note){offset, length, code, got, want};
    log->note_n++;
}

/* ---------- Summary.Value */

static void read_metadata(pb_log *log, pb_tag *t, pb_ptr p, uint64_t len, uint64_t offset) {
    if (t->plugin >= 0) return; /* the first one counts: writers leave it out of later values */
    pb_ptr end = p + len, name = p;
    uint64_t name_len = 0;
    pb_field f = {0}, g = {0};
    while (p < end && pb_next(&p, end, &f)) {
        if (f.number != 1 || f.wire != PB_BYTES) continue;
        for (pb_ptr q = f.body, q_end = q + f.len; q < q_end && pb_next(&q, q_end, &g);)
            if (g.number == 1 && g.wire == PB_BYTES) {
                name = g.body;
                name_len = g.len;
            }
    }
    t->plugin = pb_plugin_find_or_add(log, name, name_len);
    if (t->plugin < 0) log->out_of_memory = 1;
    t->meta_offset = offset;
    t->meta_length = (uint32_t)len;
}

static inline int is_scalars(const pb_log *log, const pb_tag *t) { return t->plugin == log->scalars_plugin; }

/* The Event being decoded. `base` is its first byte, and is at `base_offset` in the file. */
typedef struct {
    int64_t step;
    double wall;
    int cuts_tags;
    pb_ptr base;
    uint64_t base_offset;
} event_context;

/* 0 if the bytes are not a Summary.Value. Subtracts from *unclaimed the bytes charged to the value's tag. */
static int decode_value(pb_log *log, const event_context *x, pb_ptr p, pb_ptr end, uint64_t *unclaimed) {
    pb_ptr start = p, tag = NULL, node = NULL, meta = NULL, content = NULL;
    uint64_t tag_len = 0, node_len = 0, meta_len = 0, content_len = 0;
    uint32_t field = 0;
    float simple = 0;
    pb_field f = {0};
    while (p < end) {
        if (!pb_next(&p, end, &f)) return 0;
        if (f.number == VALUE_SIMPLE && f.wire == PB_FIXED32) {
            simple = pb_ldf32(f.body);
            field = VALUE_SIMPLE;
        } else if (f.wire == PB_BYTES) {
            switch (f.number) {
            case VALUE_TAG: tag = f.body, tag_len = f.len; break;
            case VALUE_NODE_NAME: node = f.body, node_len = f.len; break;
            case VALUE_METADATA: meta = f.body, meta_len = f.len; break;
            case VALUE_OLD_HISTOGRAM:
            case VALUE_IMAGE:
            case VALUE_HISTOGRAM:
            case VALUE_AUDIO:
            case VALUE_TENSOR: field = f.number, content = f.body, content_len = f.len; break;
            }
        }
    }
    if (!field && !meta) return 1; /* the value is empty */
    if (!tag_len && field == VALUE_TENSOR) tag = node, tag_len = node_len; /* the first tensor summaries had no tag */
    pb_tag *t = pb_next_tag(log, tag ? tag : start, tag ? tag_len : 0);
    if (!t) return 1;
    t->bytes += (uint64_t)(end - start);
    *unclaimed -= (uint64_t)(end - start);
    if (meta) read_metadata(log, t, meta, meta_len, x->base_offset + (uint64_t)(meta - x->base));
    /* Once per event, even if it names the tag twice; and even if the column is empty, because the cut
     * reaches back into the run's earlier files. */
    if (x->cuts_tags && t->cut_by != log->events + 1) {
        t->cut_by = log->events + 1;
        if (!pb_column_cut(&t->points, x->step, -1) || !pb_column_cut(&t->spans, x->step, -1)) log->out_of_memory = 1;
    }
    double number;
    if (field == VALUE_SIMPLE) add_point(log, t, x->step, x->wall, simple);
    else if (field == VALUE_TENSOR && is_scalars(log, t) && pb_tensor_number(content, content + content_len, &number))
        add_point(log, t, x->step, x->wall, number);
    else
        add_span(log, t, x->step, x->wall, x->base_offset + (uint64_t)(start - x->base), (uint64_t)(end - start),
                 field);
    return 1;
}

/* ---------- Event */

/* The fast path for the two layouts in which Python and TensorFlow write one scalar: wall time, step, and a
 * summary of one value {tag, simple_value} or {tag, float tensor, metadata}, every length under 128. 0 if
 * the bytes are anything else; decode_event then handles them. Not for files in which every event's step
 * has to be checked for a restart. */
static inline int decode_common_scalar(pb_log *log, pb_ptr p, pb_ptr end, uint64_t record_bytes) {
    static const uint8_t float_tensor[8] = {0x42, 10, 0x08, 1, 0x12, 0, 0x2a, 4};
    if (end - p < 24 || p[0] != 0x09) return 0;
    double wall = pb_ldf64(p + 1);
    uint64_t step = 0;
    p += 9;
    if (*p == 0x10) { /* a varint of at most 8 bytes, without a loop */
        uint64_t w = pb_ld64(++p), stop = ~w & 0x8080808080808080u;
        if (!stop) return 0;
        int n = (__builtin_ctzll(stop) >> 3) + 1;
        w &= n == 8 ? ~0ull : (1ull << (8 * n)) - 1;
        w = (w & 0x007F007F007F007Fu) | (w & 0x7F007F007F007F00u) >> 1;
        w = (w & 0x00003FFF00003FFFu) | (w & 0x3FFF00003FFF0000u) >> 2;
        step = (w & 0x000000000FFFFFFFu) | (w & 0x0FFFFFFF00000000u) >> 4;
        p += n;
    }
    ptrdiff_t left = end - p;
    if (left > 127 || left < 11) return 0;
    if (p[0] != 0x2a || p[1] != left - 2 || p[2] != 0x0a || p[3] != left - 4 || p[4] != 0x0a) return 0;
    ptrdiff_t tag_len = p[5], rest = left - 6 - tag_len;
    if (rest < 5) return 0;
    pb_ptr q = p + 6 + tag_len;
    double value;
    int tensor = 0;
    if (*q == 0x15 && rest == 5) value = pb_ldf32(q + 1);
    else if (rest >= 12 && pb_ld64(q) == pb_ld64(float_tensor) &&
             (rest == 12 || (rest >= 14 && q[12] == 0x4a && q[13] == rest - 14))) {
        value = pb_ldf32(q + 8);
        tensor = 1;
    } else return 0;
    pb_tag *t = pb_next_tag(log, p + 6, (uint64_t)tag_len);
    if (!t) return 1;
    if (tensor && !is_scalars(log, t)) return 0; /* its first metadata, or another plugin's tensor */
    t->bytes += record_bytes;
    add_point(log, t, (int64_t)step, wall, value);
    if (!log->events++) log->first_wall = wall;
    log->last_wall = wall;
    log->last_step = (int64_t)step;
    return 1;
}

static double parse_version(pb_ptr p, uint64_t len) {
    static const char key[] = "brain.Event:";
    char text[64];
    if (len >= sizeof text) return -1;
    memcpy(text, p, len);
    text[len] = 0;
    char *at = text, *next, *stop;
    while ((next = strstr(at, key))) at = next + sizeof key - 1;
    double v = strtod(at, &stop);
    return stop == at || *stop ? -1 : v;
}

static int is_session_start(pb_ptr p, uint64_t len) {
    uint64_t status = 0;
    pb_field f = {0};
    for (pb_ptr end = p + len; p < end && pb_next(&p, end, &f);)
        if (f.number == 1 && f.wire == PB_VARINT) status = f.varint;
    return status == 1;
}

static void add_restart(pb_log *log, int64_t step, double wall, uint64_t offset) {
    if (log->restart_n == log->restart_cap) {
        uint64_t cap = log->restart_cap ? log->restart_cap * 2 : 4;
        pb_restart *r = realloc(log->restarts, cap * sizeof *r);
        if (!r) {
            log->out_of_memory = 1;
            return;
        }
        log->restarts = r;
        log->restart_cap = cap;
    }
    log->restarts[log->restart_n++] = (pb_restart){step, wall, offset};
}

/* A field of Event other than a summary, under a tag name of our own. */
static void add_event_field(pb_log *log, const event_context *x, const char *name, pb_ptr p, uint64_t len,
                            uint32_t field, uint64_t bytes) {
    pb_tag *t = pb_next_tag(log, (pb_ptr)name, strlen(name));
    if (!t) return;
    t->bytes += bytes;
    add_span(log, t, x->step, x->wall, x->base_offset + (uint64_t)(p - x->base), len, EVENT_FIELDS + field);
}

/* 0 if the bytes are not a Summary. */
static int decode_summary(pb_log *log, const event_context *x, pb_ptr p, uint64_t len, uint64_t bytes) {
    /* The record's own bytes go to the first value's tag, so that the sizes of the tags add up to the file's. */
    uint64_t overhead = bytes;
    uint32_t first = UINT32_MAX;
    int whole = 1;
    pb_field f = {0};
    for (pb_ptr end = p + len; p < end && whole;) {
        whole = pb_next(&p, end, &f);
        if (!whole || f.number != 1 || f.wire != PB_BYTES) continue;
        whole = decode_value(log, x, f.body, f.body + f.len, &overhead);
        if (first == UINT32_MAX && overhead != bytes) first = log->last_tag; /* this value was charged */
    }
    if (first < log->tag_n) log->tags[first].bytes += overhead;
    else log->framing_bytes += overhead;
    return whole;
}

/* 0 if the bytes are not an Event. `offset` is their position in the file. */
static int decode_event(pb_log *log, pb_ptr p, uint64_t len, uint64_t offset) {
    pb_ptr end = p + len;
    uint64_t bytes = len + 16;
    int by_steps = log->version < 2; /* without a version record, a falling step means a restart */
    if (!by_steps && decode_common_scalar(log, p, end, bytes)) return 1;

    event_context x = {.base = p, .base_offset = offset};
    pb_ptr body = NULL;
    uint64_t body_len = 0;
    uint32_t field = 0;
    pb_field f = {0};
    while (p < end) {
        if (!pb_next(&p, end, &f)) {
            log->framing_bytes += bytes;
            return 0;
        }
        if (f.number == EVENT_WALL_TIME && f.wire == PB_FIXED64) x.wall = pb_ldf64(f.body);
        else if (f.number == EVENT_STEP && f.wire == PB_VARINT) x.step = (int64_t)f.varint;
        else if (f.number >= EVENT_VERSION && f.number <= EVENT_META_GRAPH && f.wire == PB_BYTES)
            field = f.number, body = f.body, body_len = f.len;
    }
    if (!log->events++) log->first_wall = x.wall;
    log->last_wall = x.wall;
    if (field == EVENT_VERSION) {
        log->version = parse_version(body, body_len);
        by_steps = log->version < 2;
    }
    if (by_steps) {
        if (field == EVENT_SUMMARY || field == EVENT_SESSION) log->unversioned = 1;
        if (field == EVENT_SUMMARY && x.step < log->most_recent_step) x.cuts_tags = 1;
        else log->most_recent_step = x.step;
    } else if (field == EVENT_SESSION && is_session_start(body, body_len)) add_restart(log, x.step, x.wall, offset);

    switch (field) {
    case EVENT_GRAPH: add_event_field(log, &x, "__run_graph__", body, body_len, field, bytes); return 1;
    case EVENT_LOG: add_event_field(log, &x, "__log__", body, body_len, field, bytes); return 1;
    case EVENT_RUN_METADATA: add_event_field(log, &x, "__run_metadata__", body, body_len, field, bytes); return 1;
    case EVENT_META_GRAPH: add_event_field(log, &x, "__meta_graph__", body, body_len, field, bytes); return 1;
    case EVENT_SUMMARY:
        if (x.step) log->last_step = x.step; /* hyperparameters are logged at step 0, whenever they come */
        return decode_summary(log, &x, body, body_len, bytes);
    default: log->framing_bytes += bytes; return 1;
    }
}

/* ---------- frames */

size_t pb_feed(pb_log *log, pb_ptr bytes, size_t n, uint64_t *want) {
    pb_ptr p = bytes, end = bytes + n;
    *want = 0;
    log->end = PB_END_CLEAN;
    log->out_of_memory = 0; /* memory may be available again */
    while (p < end) {
        log->end = PB_END_TORN;
        if (end - p < 12) break;
        uint64_t len = pb_ld64(p);
        if (pb_ld32(p + 8) != pb_length_crc(len)) {
            log->end = PB_END_BAD_LENGTH;
            break;
        }
        if (len > PB_MAX_RECORD) {
            log->end = PB_END_HUGE;
            break;
        }
        if (len + 16 > (uint64_t)(end - p)) {
            *want = len + 16;
            break;
        }
        pb_ptr data = p + 12;
        uint64_t at = log->offset + (uint64_t)(p - bytes);
        uint32_t stored = pb_ld32(data + len), crc = pb_crc32c_mask(pb_crc32c(data, len));
        if (__builtin_expect(stored != crc, 0)) {
            add_note(log, PB_NOTE_PAYLOAD, at, len, crc, stored);
            log->framing_bytes += len + 16;
        } else {
            if (__builtin_expect(!decode_event(log, data, len, at + 12), 0))
                add_note(log, PB_NOTE_EVENT, at, len, 0, 0);
        }
        p = data + len + 4;
        log->end = PB_END_CLEAN;
        if (__builtin_expect(log->out_of_memory, 0)) {
            log->end = PB_END_NO_MEMORY;
            break;
        }
    }
    size_t consumed = (size_t)(p - bytes);
    if (!log->offset) {
        log->first_bytes_n = (uint32_t)(consumed < sizeof log->first_bytes ? consumed : sizeof log->first_bytes);
        memcpy(log->first_bytes, bytes, log->first_bytes_n);
    }
    log->offset += consumed;
    if (consumed) {
        log->last_bytes_n = (uint32_t)(consumed < sizeof log->last_bytes ? consumed : sizeof log->last_bytes);
        memcpy(log->last_bytes, p - log->last_bytes_n, log->last_bytes_n);
    }
    return consumed;
}
