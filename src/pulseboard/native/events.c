/* Decoding Events into a log's columns. */
#include "events.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "columns.h"
#include "crc32c.h"
#include "tensor.h"

/* ---------- tags, found by a seeded hash: a file must not be able to choose collisions */

static uint64_t hash_seed;

static inline uint64_t fold(uint64_t a, uint64_t b) {
    __uint128_t m = (__uint128_t)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint32_t hash_tag(pb_ptr p, uint32_t n) {
    uint64_t h = hash_seed ^ n, a = 0;
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) h = fold(h ^ pb_ld64(p + i), 0x9E3779B97F4A7C15u);
    memcpy(&a, p + i, n - i);
    h = fold(h ^ a, 0xD6E8FEB86659FD93u);
    return (uint32_t)(h ^ h >> 32);
}

static int rehash(pb_log *log) {
    uint32_t n = log->slot_n ? log->slot_n * 2 : 32;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots) return 0;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        uint32_t s = log->tags[i].hash & (n - 1);
        while (slots[s]) s = (s + 1) & (n - 1);
        slots[s] = i + 1;
    }
    free(log->slots);
    log->slots = slots;
    log->slot_n = n;
    return 1;
}

static inline int same_tag(const pb_tag *t, pb_ptr name, uint32_t len) {
    return t->len == len && !memcmp(t->name, name, len);
}

static uint32_t find_or_add(pb_log *log, pb_ptr name, uint32_t len) {
    uint32_t h = hash_tag(name, len);
    if ((log->tag_n + 1) * 2 > log->slot_n && !rehash(log)) return UINT32_MAX;
    uint32_t s = h & (log->slot_n - 1);
    for (; log->slots[s]; s = (s + 1) & (log->slot_n - 1)) {
        const pb_tag *t = &log->tags[log->slots[s] - 1];
        if (t->hash == h && same_tag(t, name, len)) return log->slots[s] - 1;
    }
    if (log->tag_n == log->tag_cap) {
        uint32_t cap = log->tag_cap ? log->tag_cap * 2 : 8;
        pb_tag *tags = realloc(log->tags, cap * sizeof *tags);
        if (!tags) return UINT32_MAX;
        log->tags = tags;
        log->tag_cap = cap;
    }
    char *own = malloc(len ? len : 1);
    if (!own) return UINT32_MAX;
    memcpy(own, name, len);
    log->tags[log->tag_n] = (pb_tag){.name = own, .len = len, .hash = h, .plugin = -1};
    log->slots[s] = ++log->tag_n;
    return log->tag_n - 1;
}

/* Training loops log the same tags in the same order, so the tag after this one is nearly always
 * the one that came after it last time: one comparison in place of a hash. */
static inline pb_tag *tag_of(pb_log *log, pb_ptr name, uint64_t len) {
    if (len > UINT32_MAX) return NULL;
    uint32_t guess = log->last < log->tag_n ? log->tags[log->last].next : 0;
    uint32_t i = guess;
    if (guess >= log->tag_n || !same_tag(&log->tags[guess], name, (uint32_t)len)) {
        i = find_or_add(log, name, (uint32_t)len);
        if (i == UINT32_MAX) {
            log->out_of_memory = 1;
            return NULL;
        }
        if (log->last < log->tag_n) log->tags[log->last].next = i;
    }
    log->last = i;
    return &log->tags[i];
}

/* A file that names plugins without end gets one shared name for those past this many. */
enum { MAX_PLUGINS = 1000 };

static int32_t plugin_index(pb_log *log, pb_ptr name, uint64_t len) {
    static const char rest[] = "(one of very many)";
    /* strncmp, not strlen: the comparison costs what this name is long, not what the others are. */
    for (uint32_t i = 0; i < log->plugin_n; i++)
        if (!strncmp(log->plugins[i], (const char *)name, len) && !log->plugins[i][len]) return (int32_t)i;
    if (log->plugin_n > MAX_PLUGINS) return MAX_PLUGINS;
    if (log->plugin_n == MAX_PLUGINS) name = (pb_ptr)rest, len = sizeof rest - 1;
    if (log->plugin_n == log->plugin_cap) {
        uint32_t cap = log->plugin_cap ? log->plugin_cap * 2 : 4;
        char **plugins = realloc(log->plugins, cap * sizeof *plugins);
        if (!plugins) return -1;
        log->plugins = plugins;
        log->plugin_cap = cap;
    }
    char *own = malloc(len + 1);
    if (!own) return -1;
    memcpy(own, name, len);
    own[len] = 0;
    log->plugins[log->plugin_n] = own;
    if (!strcmp(own, "scalars")) log->scalars = (int32_t)log->plugin_n;
    return (int32_t)log->plugin_n++;
}

uint32_t pb_log_find(const pb_log *log, pb_ptr name, uint32_t len) {
    if (!log->slot_n) return UINT32_MAX;
    uint32_t h = hash_tag(name, len), s = h & (log->slot_n - 1);
    for (; log->slots[s]; s = (s + 1) & (log->slot_n - 1)) {
        const pb_tag *t = &log->tags[log->slots[s] - 1];
        if (t->hash == h && same_tag(t, name, len)) return log->slots[s] - 1;
    }
    return UINT32_MAX;
}

pb_tag *pb_log_add_tag(pb_log *log, pb_ptr name, uint32_t len) {
    uint32_t before = log->tag_n, i = find_or_add(log, name, len);
    return i == UINT32_MAX || log->tag_n == before ? NULL : &log->tags[i];
}

int pb_log_add_plugin(pb_log *log, pb_ptr name, uint64_t len) {
    return plugin_index(log, name, len) >= 0;
}

/* ---------- adding */

static inline void add_point(pb_log *log, pb_tag *t, int64_t step, double wall, double value) {
    pb_point *p = pb_column_add(&t->points, sizeof *p, log->restart_n);
    if (__builtin_expect(!p, 0)) {
        log->out_of_memory = 1;
        return;
    }
    *p = (pb_point){step, wall, value};
    log->points++;
}

static void add_span(pb_log *log, pb_tag *t, int64_t step, double wall, uint64_t offset, uint64_t length, uint32_t what) {
    pb_span *s = pb_column_add(&t->spans, sizeof *s, log->restart_n);
    if (!s) {
        log->out_of_memory = 1;
        return;
    }
    *s = (pb_span){step, wall, offset, (uint32_t)length, what};
    t->whats |= 1u << (what < 16 ? what : what - 84);
}

static void note(pb_log *log, uint32_t code, uint64_t offset, uint64_t length, uint32_t got, uint32_t want) {
    if (!log->notes && !(log->notes = malloc(PB_MAX_NOTES * sizeof *log->notes))) {
        log->out_of_memory = 1;
        return;
    }
    if (log->note_n < PB_MAX_NOTES) log->notes[log->note_n] = (pb_note){offset, length, code, got, want};
    log->note_n++;
}

/* ---------- Summary.Value */

static void take_metadata(pb_log *log, pb_tag *t, pb_ptr p, uint64_t len, uint64_t offset) {
    if (t->plugin >= 0) return; /* the first counts: writers leave it out of later values */
    pb_ptr end = p + len, name = p;
    uint64_t name_len = 0;
    pb_field f, g;
    while (p < end && pb_next(&p, end, &f)) {
        if (f.number != 1 || f.wire != PB_BYTES) continue;
        for (pb_ptr q = f.body, q_end = q + f.len; q < q_end && pb_next(&q, q_end, &g);)
            if (g.number == 1 && g.wire == PB_BYTES) {
                name = g.body;
                name_len = g.len;
            }
    }
    const uint8_t *zero = memchr(name, 0, name_len); /* names are kept as C strings */
    t->plugin = plugin_index(log, name, zero ? (uint64_t)(zero - name) : name_len);
    if (t->plugin < 0) log->out_of_memory = 1;
    t->meta_offset = offset;
    t->meta_length = (uint32_t)len;
}

static inline int is_scalars(const pb_log *log, const pb_tag *t) { return t->plugin == log->scalars; }

typedef struct { int64_t step; double wall; int by_tags; pb_ptr base; uint64_t base_offset; } context;

/* 0 when the bytes are no Value. What the value takes of the file leaves *unclaimed. */
static int take_value(pb_log *log, const context *x, pb_ptr p, pb_ptr end, uint64_t *unclaimed) {
    pb_ptr start = p, tag = NULL, node = NULL, meta = NULL, sub = NULL;
    uint64_t tag_len = 0, node_len = 0, meta_len = 0, sub_len = 0;
    uint32_t what = 0;
    float simple = 0;
    pb_field f;
    while (p < end) {
        if (!pb_next(&p, end, &f)) return 0;
        if (f.number == 2 && f.wire == PB_FIXED32) {
            simple = pb_ldf32(f.body);
            what = 2;
        } else if (f.wire == PB_BYTES) {
            switch (f.number) {
            case 1: tag = f.body, tag_len = f.len; break;
            case 7: node = f.body, node_len = f.len; break;
            case 9: meta = f.body, meta_len = f.len; break;
            case 3: case 4: case 5: case 6: case 8: what = f.number, sub = f.body, sub_len = f.len; break;
            }
        }
    }
    if (!what && !meta) return 1; /* nothing is said */
    if (!tag_len && what == 8) tag = node, tag_len = node_len; /* as the first tensor summaries were */
    pb_tag *t = tag_of(log, tag ? tag : start, tag ? tag_len : 0);
    if (!t) return 1;
    t->bytes += (uint64_t)(end - start);
    *unclaimed -= (uint64_t)(end - start);
    if (meta) take_metadata(log, t, meta, meta_len, x->base_offset + (uint64_t)(meta - x->base));
    /* Once an event, also where it names the tag twice; and also where the column is empty, since the
     * cut reaches back into the run's earlier files. */
    if (x->by_tags && t->cut_by != log->events + 1) {
        t->cut_by = log->events + 1;
        if (!pb_column_cut(&t->points, x->step, -1) || !pb_column_cut(&t->spans, x->step, -1)) log->out_of_memory = 1;
    }
    double number;
    if (what == 2) add_point(log, t, x->step, x->wall, simple);
    else if (what == 8 && is_scalars(log, t) && pb_tensor_number(sub, sub + sub_len, &number))
        add_point(log, t, x->step, x->wall, number);
    else
        add_span(log, t, x->step, x->wall, x->base_offset + (uint64_t)(start - x->base), (uint64_t)(end - start), what);
    return 1;
}

/* ---------- Event */

/* The two layouts Python and TensorFlow writers give one scalar: wall time, step, and a summary of one
 * value {tag, simple_value} or {tag, float tensor, metadata}, every length under 128. 0 when the bytes
 * are anything else, and the general way takes them. Only where no restart logic looks at each event. */
static inline int take_common(pb_log *log, pb_ptr p, pb_ptr end, uint64_t record_bytes) {
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
    else if (rest >= 12 && pb_ld64(q) == pb_ld64(float_tensor) && (rest == 12 || (rest >= 14 && q[12] == 0x4a && q[13] == rest - 14))) {
        value = pb_ldf32(q + 8);
        tensor = 1;
    } else return 0;
    pb_tag *t = tag_of(log, p + 6, (uint64_t)tag_len);
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
    pb_field f;
    for (pb_ptr end = p + len; p < end && pb_next(&p, end, &f);)
        if (f.number == 1 && f.wire == PB_VARINT) status = f.varint;
    return status == 1;
}

static void take_restart(pb_log *log, int64_t step, double wall, uint64_t offset) {
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

static void take_blob(pb_log *log, const context *x, const char *name, pb_ptr p, uint64_t len, uint32_t what, uint64_t bytes) {
    pb_tag *t = tag_of(log, (pb_ptr)name, strlen(name));
    if (!t) return;
    t->bytes += bytes;
    add_span(log, t, x->step, x->wall, x->base_offset + (uint64_t)(p - x->base), len, what);
}

/* 0 when the bytes are no Event. `offset` is where they stand in the file. */
static int take_event(pb_log *log, pb_ptr p, uint64_t len, uint64_t offset) {
    pb_ptr end = p + len;
    uint64_t bytes = len + 16;
    int by_steps = log->version < 2; /* no version record: a step that falls is the sign of a restart */
    if (!by_steps && take_common(log, p, end, bytes)) return 1;

    context x = {.base = p, .base_offset = offset};
    pb_ptr body = NULL;
    uint64_t body_len = 0;
    uint32_t what = 0;
    pb_field f;
    while (p < end) {
        if (!pb_next(&p, end, &f)) {
            log->framing_bytes += bytes;
            return 0;
        }
        if (f.number == 1 && f.wire == PB_FIXED64) x.wall = pb_ldf64(f.body);
        else if (f.number == 2 && f.wire == PB_VARINT) x.step = (int64_t)f.varint;
        else if (f.number >= 3 && f.number <= 9 && f.wire == PB_BYTES) what = f.number, body = f.body, body_len = f.len;
    }
    if (!log->events++) log->first_wall = x.wall;
    log->last_wall = x.wall;
    if (what == 3) {
        log->version = parse_version(body, body_len);
        by_steps = log->version < 2;
    }
    if (by_steps) {
        if (what == 5 || what == 7) log->unversioned = 1;
        if (what == 5 && x.step < log->most_recent_step) x.by_tags = 1;
        else log->most_recent_step = x.step;
    } else if (what == 7 && is_session_start(body, body_len)) take_restart(log, x.step, x.wall, offset);

    switch (what) {
    case 4: take_blob(log, &x, "__run_graph__", body, body_len, 104, bytes); return 1;
    case 6: take_blob(log, &x, "__log__", body, body_len, 106, bytes); return 1;
    case 8: take_blob(log, &x, "__run_metadata__", body, body_len, 108, bytes); return 1;
    case 9: take_blob(log, &x, "__meta_graph__", body, body_len, 109, bytes); return 1;
    case 5: /* hyperparameters come at step 0, whenever they come */
        if (x.step) log->last_step = x.step;
        break;
    default: log->framing_bytes += bytes; return 1;
    }
    /* The first value's tag carries the record's own bytes, so that the tags' sizes add up to the file's. */
    uint64_t overhead = bytes;
    uint32_t first = UINT32_MAX;
    int whole = 1;
    for (p = body, end = body + body_len; p < end && whole;) {
        whole = pb_next(&p, end, &f);
        if (!whole || f.number != 1 || f.wire != PB_BYTES) continue;
        whole = take_value(log, &x, f.body, f.body + f.len, &overhead);
        if (first == UINT32_MAX && overhead != bytes) first = log->last; /* a value was claimed */
    }
    if (first < log->tag_n) log->tags[first].bytes += overhead;
    else log->framing_bytes += overhead;
    return whole;
}

/* ---------- frames */

size_t pb_feed(pb_log *log, pb_ptr bytes, size_t n, uint64_t *want) {
    pb_ptr p = bytes, end = bytes + n;
    *want = 0;
    log->end = PB_END_CLEAN;
    log->out_of_memory = 0; /* there may be some again */
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
            note(log, PB_NOTE_PAYLOAD, at, len, crc, stored);
            log->framing_bytes += len + 16;
        } else {
            if (__builtin_expect(!take_event(log, data, len, at + 12), 0)) note(log, PB_NOTE_EVENT, at, len, 0, 0);
        }
        p = data + len + 4;
        log->end = PB_END_CLEAN;
        if (__builtin_expect(log->out_of_memory, 0)) {
            log->end = PB_END_NO_MEMORY;
            break;
        }
    }
    size_t taken = (size_t)(p - bytes);
    if (!log->offset) {
        log->opening_n = taken < sizeof log->opening ? (uint32_t)taken : (uint32_t)sizeof log->opening;
        memcpy(log->opening, bytes, log->opening_n);
    }
    log->offset += taken;
    if (taken) {
        uint32_t k = taken < sizeof log->seal ? (uint32_t)taken : (uint32_t)sizeof log->seal;
        memcpy(log->seal, p - k, k);
        log->seal_n = k;
    }
    return taken;
}

/* ---------- life */

static void forget(pb_log *log) {
    for (uint32_t i = 0; i < log->tag_n; i++) {
        free(log->tags[i].name);
        pb_column_free(&log->tags[i].points);
        pb_column_free(&log->tags[i].spans);
    }
    for (uint32_t i = 0; i < log->plugin_n; i++) free(log->plugins[i]);
    free(log->tags);
    free(log->slots);
    free(log->plugins);
    free(log->restarts);
    free(log->notes);
    free(log->stored_path);
}

void pb_log_reset(pb_log *log, double version, int64_t most_recent_step) {
    forget(log);
    uint64_t generation = log->generation;
    size_t kept = offsetof(pb_log, tags); /* the locks stay: the caller may hold them */
    memset((char *)log + kept, 0, sizeof *log - kept);
    log->generation = generation + 1;
    log->scalars = -2;
    log->first_wall = log->last_wall = NAN;
    log->version = log->version_at_start = version;
    log->most_recent_step = log->most_recent_at_start = most_recent_step;
}

static void seed_hash(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    FILE *f = fopen("/dev/urandom", "rb");
    if (!f || fread(&hash_seed, sizeof hash_seed, 1, f) != 1)
        hash_seed = fold((uint64_t)t.tv_nsec ^ (uintptr_t)&t, (uint64_t)t.tv_sec | 1);
    if (f) fclose(f);
}

pb_log *pb_log_new(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, seed_hash);
    pb_crc32c_init();
    pb_log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    pthread_mutex_init(&log->lock, NULL);
    pthread_mutex_init(&log->loading, NULL);
    pb_log_reset(log, 0, -1);
    log->generation = 0;
    return log;
}

void pb_log_free(pb_log *log) {
    if (!log) return;
    forget(log);
    pthread_mutex_destroy(&log->lock);
    pthread_mutex_destroy(&log->loading);
    free(log);
}

void pb_log_trim(pb_log *log) {
    for (uint32_t i = 0; i < log->tag_n; i++) {
        pb_column_trim(&log->tags[i].points, sizeof(pb_point));
        pb_column_trim(&log->tags[i].spans, sizeof(pb_span));
    }
}

uint64_t pb_held_bytes(const pb_log *log) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        for (const pb_block *b = log->tags[i].points.head; b; b = b->next) sum += sizeof *b + b->cap * sizeof(pb_point);
        for (const pb_block *b = log->tags[i].spans.head; b; b = b->next) sum += sizeof *b + b->cap * sizeof(pb_span);
    }
    return sum;
}
