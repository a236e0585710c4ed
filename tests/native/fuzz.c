/* The kernel against hostile bytes: a libFuzzer target, and a main of its own for plain gcc.
 *
 *   fuzz --seconds N --seed S [--case FILE] [CORPUS FILES...]
 *
 * Every input is read in several ways that must agree, and what comes out must keep its promises.
 * fuzz.py builds and runs it. For libFuzzer: clang -DLIBFUZZER -fsanitize=fuzzer,address fuzz.c and
 * the kernel's C files. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "mutate.h"
#include "seeds.h"

/* What the address sanitizer knows of the heap; absent without it. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
static size_t heap(void) {
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "fuzz: broken promise: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

#define PROMISE(truth, ...) do { if (!(truth)) fail(__VA_ARGS__); } while (0)

/* ---------- allocations that fail (built with WRAPPED and the linker's --wrap) */

#ifdef WRAPPED
static int64_t allocations_left = -1; /* those that succeed; -1: all of them */
static int refuse(void) {
    if (allocations_left < 0) return 0;
    if (allocations_left) return allocations_left--, 0;
    return 1;
}
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t n) { return refuse() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t k, size_t n) { return refuse() ? NULL : __real_calloc(k, n); }
void *__wrap_realloc(void *p, size_t n) { return refuse() ? NULL : __real_realloc(p, n); }

/* The kernel reads only its hash seed this way; a fixed one makes runs repeat. */
size_t __wrap_fread(void *to, size_t size, size_t n, FILE *f) {
    (void)f;
    memset(to, 0x5A, size * n);
    return n;
}
#endif

/* ---------- two logs that must agree */

static uint64_t bits(double v) {
    uint64_t b;
    memcpy(&b, &v, 8);
    return b;
}

#define AGREE(what, left, right)                                                                              \
    PROMISE((uint64_t)(left) == (uint64_t)(right), "%s: %s is %lld, but %lld when fed whole", how, what,     \
            (long long)(left), (long long)(right))

static void same_cuts(const pb_column *a, const pb_column *b, const char *how) {
    AGREE("a column's count of restarts seen", a->restarts_seen, b->restarts_seen);
    AGREE("a column's count of cuts", a->cut_n, b->cut_n);
    for (uint32_t i = 0; i < a->cut_n; i++) {
        AGREE("a cut's place", a->cuts[i].at, b->cuts[i].at);
        AGREE("a cut's limit", a->cuts[i].below, b->cuts[i].below);
        AGREE("a cut's restart", a->cuts[i].restart, b->cuts[i].restart);
    }
}

/* A column's items one after another, blocks forgotten. */
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

static void same_items(uint64_t *a, uint64_t *b, size_t bytes, const char *what, const char *how) {
    PROMISE(!memcmp(a, b, bytes), "%s: %s differ from those fed whole", how, what);
    free(a);
    free(b);
}

/* `history` asks for the same restarts too, which depend on the version the log started from. */
static void same(const pb_log *a, const pb_log *b, int history, const char *how) {
    AGREE("offset", a->offset, b->offset);
    AGREE("end", a->end, b->end);
    AGREE("the count of events", a->events, b->events);
    AGREE("the count of points", a->points, b->points);
    AGREE("the framing's bytes", a->framing_bytes, b->framing_bytes);
    AGREE("the first wall time's bits", bits(a->first_wall), bits(b->first_wall));
    AGREE("the last wall time's bits", bits(a->last_wall), bits(b->last_wall));
    AGREE("the seal's length", a->seal_n, b->seal_n);
    PROMISE(!memcmp(a->seal, b->seal, a->seal_n), "%s: the seal differs", how);
    AGREE("the count of notes", a->note_n, b->note_n);
    for (uint64_t i = 0; i < a->note_n && i < PB_MAX_NOTES; i++) {
        AGREE("a note's code", a->notes[i].code, b->notes[i].code);
        AGREE("a note's offset", a->notes[i].offset, b->notes[i].offset);
        AGREE("a note's length", a->notes[i].length, b->notes[i].length);
        AGREE("a note's checksum", a->notes[i].got, b->notes[i].got);
        AGREE("a note's stored checksum", a->notes[i].want, b->notes[i].want);
    }
    AGREE("the count of tags", a->tag_n, b->tag_n);
    for (uint32_t i = 0; i < a->tag_n; i++) {
        const pb_tag *s = &a->tags[i], *t = &b->tags[i];
        AGREE("a tag's length", s->len, t->len);
        PROMISE(!memcmp(s->name, t->name, s->len), "%s: tag %u is '%.*s', but '%.*s' when fed whole", how, i,
                (int)s->len, s->name, (int)t->len, t->name);
        AGREE("a tag's bytes", s->bytes, t->bytes);
        AGREE("a tag's plugin", s->plugin, t->plugin);
        AGREE("a tag's metadata's offset", s->meta_offset, t->meta_offset);
        AGREE("a tag's metadata's length", s->meta_length, t->meta_length);
        AGREE("a tag's kinds of span", s->whats, t->whats);
        AGREE("a tag's count of points", s->points.n, t->points.n);
        AGREE("a tag's count of spans", s->spans.n, t->spans.n);
        same_items(copied_points(&s->points), copied_points(&t->points), s->points.n * 24, "points", how);
        same_items(copied_spans(&s->spans), copied_spans(&t->spans), s->spans.n * 32, "spans", how);
        if (!history) continue;
        same_cuts(&s->points, &t->points, how);
        same_cuts(&s->spans, &t->spans, how);
    }
    AGREE("the count of plugins", a->plugin_n, b->plugin_n);
    for (uint32_t i = 0; i < a->plugin_n; i++)
        PROMISE(!strcmp(a->plugins[i], b->plugins[i]), "%s: plugin %u is '%s', but '%s' when fed whole", how, i,
                a->plugins[i], b->plugins[i]);
    if (!history) return;
    AGREE("the version's bits", bits(a->version), bits(b->version));
    AGREE("the most recent step", a->most_recent_step, b->most_recent_step);
    AGREE("whether summaries came without a version", a->unversioned, b->unversioned);
    AGREE("the count of restarts", a->restart_n, b->restart_n);
    for (uint64_t i = 0; i < a->restart_n; i++) {
        AGREE("a restart's step", a->restarts[i].step, b->restarts[i].step);
        AGREE("a restart's offset", a->restarts[i].offset, b->restarts[i].offset);
        AGREE("a restart's wall time's bits", bits(a->restarts[i].wall), bits(b->restarts[i].wall));
    }
}

/* ---------- what every log promises */

static void check_stats(const pb_column *c) {
    pb_stats s;
    pb_point_stats(c, &s);
    PROMISE(s.n == c->n, "stats count %llu points of %llu", (unsigned long long)s.n, (unsigned long long)c->n);
    if (!c->n) return;
    uint64_t *all = copied_points(c), n = c->n, nan = 0, inf = 0;
    const int64_t *step = (const int64_t *)all;
    const double *value = (const double *)(all + 2 * n);
    for (uint64_t i = 0; i < n; i++) {
        nan += isnan(value[i]) != 0;
        inf += isinf(value[i]) != 0;
        PROMISE(step[i] >= s.min_step && step[i] <= s.max_step, "a step lies outside the least and greatest");
        PROMISE(!isfinite(value[i]) || (value[i] >= s.min && value[i] <= s.max), "a value lies outside min and max");
    }
    PROMISE(s.nan == nan && s.inf == inf, "stats count other NaNs or infinities than there are");
    PROMISE(isnan(s.min) == (nan + inf == n), "min is NaN where there are finite values, or the reverse");
    PROMISE(s.first_step == step[0] && s.last_step == step[n - 1], "stats have other first and last steps");
    PROMISE(bits(s.last) == bits(value[n - 1]), "stats have another last value");
    free(all);
}

static void check_cuts(const pb_log *log, const pb_column *c) {
    uint64_t at = 0;
    PROMISE(c->restarts_seen <= log->restart_n, "a column saw restarts that never were");
    for (uint32_t i = 0; i < c->cut_n; at = c->cuts[i++].at) {
        PROMISE(c->cuts[i].at >= at && c->cuts[i].at <= c->n, "cuts fall back or lie past the column's end");
        PROMISE(c->cuts[i].restart >= -1 && c->cuts[i].restart < (int64_t)log->restart_n, "a cut names no restart");
    }
}

/* `lossy`: an allocation failed, so that bytes may be charged to nobody. */
static void check(const pb_log *log, size_t n, int lossy, const char *how) {
    PROMISE(log->offset <= n, "%s: offset %llu is past the %zu bytes fed", how, (unsigned long long)log->offset, n);
    uint64_t charged = log->framing_bytes, points = 0;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        const pb_tag *t = &log->tags[i];
        charged += t->bytes;
        points += t->points.n;
        PROMISE(t->plugin < (int32_t)log->plugin_n, "%s: a tag's plugin is not in the list", how);
        PROMISE(t->meta_offset <= log->offset && t->meta_length <= log->offset - t->meta_offset,
                "%s: metadata lies outside the file", how);
        check_cuts(log, &t->points);
        check_cuts(log, &t->spans);
        check_stats(&t->points);
        uint64_t *spans = copied_spans(&t->spans), k = t->spans.n;
        const uint32_t *length = (const uint32_t *)(spans + 3 * k);
        for (uint64_t j = 0; j < k; j++)
            PROMISE(spans[2 * k + j] <= log->offset && length[j] <= log->offset - spans[2 * k + j],
                    "%s: a span lies outside the file", how);
        free(spans);
    }
    PROMISE(points == log->points, "%s: the tags' points do not add up to the log's", how);
    PROMISE(lossy ? charged <= log->offset : charged == log->offset,
            "%s: tags and framing have %llu bytes of the %llu taken", how, (unsigned long long)charged,
            (unsigned long long)log->offset);
    for (uint64_t i = 0; i < log->note_n && i < PB_MAX_NOTES; i++)
        PROMISE(log->notes[i].offset + log->notes[i].length + 16 <= log->offset, "%s: a note lies past the offset", how);
    /* A tag of seven bytes gets a first block of 144: 21 times what it took; values of four, spans of 64. */
    uint64_t held = pb_held_bytes(log);
    PROMISE(held <= 24 * (uint64_t)n + 1024, "%s: %llu bytes are held for %zu fed", how, (unsigned long long)held, n);
}

/* ---------- the ways to read */

static pb_log *new_log(void) {
    pb_log *log = pb_log_new();
    must(log);
    return log;
}

/* From memory of exactly this size that is gone right after: reading past it, or later, is caught. */
static size_t feed_copy(pb_log *log, const uint8_t *data, size_t n, uint64_t *want) {
    uint8_t *copy = malloc(n ? n : 1);
    must(copy);
    if (n) memcpy(copy, data, n);
    uint64_t before = log->offset;
    size_t taken = pb_feed(log, copy, n, want);
    free(copy);
    PROMISE(taken <= n, "%zu bytes were taken of %zu", taken, n);
    PROMISE(log->offset == before + taken, "the offset moved by something else than the bytes taken");
    PROMISE(!*want || (log->end == PB_END_TORN && *want > n - taken), "more is wanted although it is there");
    return taken;
}

static pb_log *fed(const uint8_t *data, size_t n) {
    uint64_t want;
    pb_log *log = new_log();
    feed_copy(log, data, n, &want);
    return log;
}

static void feed_growing(pb_log *log, const uint8_t *data, size_t n, stream *r) {
    uint64_t want;
    size_t there = 0;
    do {
        there += 1 + below(r, one_in(r, 3) ? 16 : n / 4 + 16) + n / 256;
        if (there > n) there = n;
        feed_copy(log, data + log->offset, there - log->offset, &want);
        if (one_in(r, 8)) pb_log_trim(log);
    } while (there < n && log->end <= PB_END_TORN);
}

static void check_pieces(const pb_log *whole, const uint8_t *data, size_t n, stream *r) {
    pb_log *log = new_log();
    feed_growing(log, data, n, r);
    check(log, n, 0, "in pieces");
    same(log, whole, 1, "in pieces");
    if (one_in(r, 4)) {
        uint64_t generation = log->generation;
        pb_log_reset(log, 0, -1);
        PROMISE(!log->tag_n && !log->offset && log->generation == generation + 1, "a reset log is not new");
        feed_growing(log, data, n, r);
        same(log, whole, 1, "again after a reset");
    }
    uint64_t held = pb_held_bytes(log);
    pb_log_trim(log);
    PROMISE(pb_held_bytes(log) <= held, "trimming took memory");
    same(log, whole, 1, "trimmed");
    pb_log_free(log);
}

/* With a version from the start the kernel takes its short way for common events; without, never. */
static void check_short_way(const pb_log *whole, const uint8_t *data, size_t n) {
    uint64_t want;
    pb_log *log = new_log();
    pb_log_reset(log, 2, -1);
    feed_copy(log, data, n, &want);
    check(log, n, 0, "by the short way");
    same(log, whole, 0, "by the short way");
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
        check(log, n, 1, "with an allocation that failed");
    }
    for (int more = 0; more < 3; more++) pb_feed(log, copy + log->offset, n - log->offset, &want);
    check(log, n, 1, "after an allocation that failed");
    free(copy);
    pb_log_free(log);
#else
    (void)data, (void)n, (void)r;
#endif
}

/* ---------- files */

static char folder[256], path[300], aside[300];

static void forget_folder(void) {
    unlink(path);
    unlink(aside);
    rmdir(folder);
}

static void make_folder(void) {
    if (folder[0]) return;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/pulseboard-fuzz-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder)) {
        fprintf(stderr, "fuzz: no temporary folder: %s. Set TMPDIR to one that can be written. %s\n",
                strerror(errno), folder);
        exit(3);
    }
    snprintf(path, sizeof path, "%s/events", folder);
    snprintf(aside, sizeof aside, "%s/aside", folder);
    atexit(forget_folder);
}

static void write_file(const char *to, int flags, const uint8_t *data, size_t n) {
    int fd = open(to, O_WRONLY | O_CREAT | flags, 0600);
    if (fd < 0 || (n && write(fd, data, n) != (ssize_t)n)) {
        fprintf(stderr, "fuzz: cannot write a temporary file: %s. %s\n", strerror(errno), to);
        exit(3);
    }
    close(fd);
}

static void same_as_fed(const pb_log *log, const uint8_t *data, size_t n, const char *how) {
    pb_log *fresh = fed(data, n);
    check(log, n, 0, how);
    same(log, fresh, 1, how);
    pb_log_free(fresh);
}

/* The file, as `is` has it, is cut, replaced or written over after it was read, and must be read as what
 * it is then. 0 when the kernel could not tell that it changed. */
static int check_changed_file(pb_log *log, pb_scratch *scratch, buffer *is, stream *r) {
    uint64_t generation = log->generation, offset = log->offset;
    uint8_t *before = malloc(offset + 1);
    must(before);
    if (offset) memcpy(before, is->p, offset);
    size_t how = below(r, 4);
    if (how == 0) is->n = below(r, is->n + 1);
    else
        for (size_t k = below(r, 4); k; k--) mutate_bytes(r, is, is);
    int noticed = is->n < offset;
    if (how == 0 && truncate(path, (off_t)is->n)) fail("truncate: %s", strerror(errno));
    if (how == 1) { /* another file takes its name */
        write_file(aside, O_TRUNC, is->p, is->n);
        if (rename(aside, path)) fail("rename: %s", strerror(errno));
        noticed = offset > 0;
    }
    if (how >= 2) { /* the same file, written over */
        write_file(path, O_TRUNC, is->p, is->n);
        noticed |= offset && is->n >= offset &&
                   (memcmp(is->p + offset - log->seal_n, log->seal, log->seal_n) != 0 ||
                    memcmp(is->p, log->opening, log->opening_n) != 0);
    }
    pb_load(log, path, scratch);
    PROMISE(log->generation == generation + (uint64_t)noticed, "a changed file was %s", noticed ? "missed" : "imagined");
    /* Only the bytes before the offset are sealed: a change further back goes unseen. */
    int told = noticed || !offset || !memcmp(is->p, before, offset);
    if (told) same_as_fed(log, is->p, is->n, "from a file that changed");
    free(before);
    return told;
}

static void check_file(const pb_log *whole, const uint8_t *data, size_t n, stream *r) {
    make_folder();
    pb_log *log = new_log();
    pb_scratch scratch = {0};
    size_t there = below(r, n + 1);
    write_file(path, O_TRUNC, data, there);
    pb_load(log, path, &scratch);
    check(log, there, 0, "from a file");
    while (there < n) {
        size_t more = 1 + below(r, n - there);
        write_file(path, O_APPEND, data + there, more);
        there += more;
        pb_load(log, path, &scratch);
    }
    check(log, n, 0, "from a file that grew");
    same(log, whole, 1, "from a file that grew");
    PROMISE(log->generation == 0, "a file that only grew was started anew");
    PROMISE(scratch.cap <= n + (1 << 20), "%zu bytes of scratch for a file of %zu", scratch.cap, n);
    buffer is = {0};
    put(&is, data, n);
    for (size_t changes = below(r, 4); changes && check_changed_file(log, &scratch, &is, r); changes--) {}
    free(is.p);
    if (one_in(r, 8)) {
        unlink(path);
        uint64_t points = log->points;
        pb_load(log, path, &scratch);
        PROMISE(log->end == PB_END_ERRNO && log->error == ENOENT, "a missing file is not said to be missing");
        PROMISE(log->points == points, "points went with the file");
        pb_load(log, folder, &scratch);
        PROMISE(log->end == PB_END_NOT_A_FILE, "a folder is taken for a file");
    }
    unlink(path);
    free(scratch.bytes);
    pb_log_free(log);
}

/* Many pieces of pb_load long: the input again and again, a large record between, and now and then
 * the head of a record at the end that the file is too short for. */
static void check_long_file(const uint8_t *data, size_t n, stream *r) {
    make_folder();
    buffer file = {0}, graph = {0};
    while (file.n < 300000) put(&file, data, n);
    must(graph.p = calloc(1, graph.cap = 1 << 20));
    graph.n = below(r, graph.cap);
    put_event(&file, 1, 1, 4, &graph);
    for (size_t stop = file.n + below(r, 300000); file.n < stop;) put(&file, data, n);
    if (one_in(r, 2)) {
        uint64_t length = one_in(r, 2) ? PB_MAX_RECORD - below(r, 32) : 1000000 + below(r, 1 << 30);
        uint32_t crc = pb_length_crc(length);
        put(&file, &length, 8);
        put(&file, &crc, 4);
        for (size_t stop = file.n + below(r, 600000); file.n < stop;) put(&file, data, n);
    }
    write_file(path, O_TRUNC, file.p, file.n);

    pb_log *log = new_log();
    pb_scratch scratch = {0};
    pb_load(log, path, &scratch);
    PROMISE(scratch.cap <= file.n + (1 << 20), "%zu bytes of scratch for a file of %zu", scratch.cap, file.n);
    same_as_fed(log, file.p, file.n, "from a long file");
    free(scratch.bytes);
    pb_log_reset(log, 0, -1);
    const char *paths[] = {path};
    pb_batch batch = {.logs = &log, .paths = paths, .n = 1};
    pb_batch_work(&batch);
    PROMISE(batch.done == 1, "a batch of one file did %zu", batch.done);
    same_as_fed(log, file.p, file.n, "from a long file of a batch");
    unlink(path);
    pb_log_free(log);
    free(file.p);
    free(graph.p);
}

/* ---------- the target */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    pb_crc32c_init();
    /* From the input, so that one input is always treated alike. */
    stream r = {n ^ (uint64_t)pb_crc32c(data, n) << 32};
    size_t before = heap();
    uint64_t want;
    pb_log *whole = new_log();
    feed_copy(whole, data, n, &want);
    /* Tags of seven bytes take 180 in a table that doubles, besides their columns. */
    PROMISE(heap() - before <= 128 * n + 16384, "%zu bytes of heap are taken for %zu fed", heap() - before, n);
    check(whole, n, 0, "whole");
    check_pieces(whole, data, n, &r);
    if (one_in(&r, 2)) check_short_way(whole, data, n);
    if (one_in(&r, 8)) check_failing_allocations(data, n, &r);
    if (one_in(&r, 16)) check_file(whole, data, n, &r);
    if (one_in(&r, 512) && n >= 256 && whole->end == PB_END_CLEAN) check_long_file(data, n, &r);
    pb_log_free(whole);
    return 0;
}

/* ---------- a main of its own */

#ifndef LIBFUZZER

enum { LARGEST_INPUT = 1 << 18, LARGE = 1 << 14, MOST_INPUTS = 8192, SLOWEST_SECS = 60 };

static buffer pool[MOST_INPUTS];
static size_t pool_n;
static buffer input;
static uint64_t seed = 20251116, runs;

/* Paths through the kernel, as AFL counts them: built with -fsanitize-coverage=trace-pc, every
 * branch calls here. An input that takes a new one is kept to be changed further. */
enum { EDGES = 1 << 16 };
static uint8_t hits[EDGES], seen[EDGES];
static uintptr_t branch_before;
void __sanitizer_cov_trace_pc(void);

__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&LLVMFuzzerTestOneInput;
    here = here * 0x9E3779B97F4A7C15u >> 48;
    uint8_t *hit = &hits[(here ^ branch_before) % EDGES];
    if (*hit < 255) ++*hit;
    branch_before = here >> 1;
}

static int took_a_new_path(void) {
    int new = 0;
    for (size_t i = 0; i < EDGES; i++) {
        if (!hits[i]) continue;
        uint8_t often = (uint8_t)(1u << (31 - __builtin_clz(hits[i]))); /* 1, 2-3, 4-7 ... times */
        new |= (seen[i] & often) == 0;
        seen[i] |= often;
    }
    memset(hits, 0, sizeof hits);
    return new;
}

/* Called when anything dies: leaves the input on disk and says where. */
static void save_input(void) {
    static int saved;
    char name[64], here[512];
    if (saved++ || !input.p) return;
    snprintf(name, sizeof name, "crash-%llu-%llu.bin", (unsigned long long)seed, (unsigned long long)runs);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, input.p, input.n) != (ssize_t)input.n) dprintf(2, "fuzz: could not save the input\n");
    dprintf(2, "fuzz: seed %llu, input %llu, %zu bytes. Run it alone with --case. %s/%s\n", (unsigned long long)seed,
            (unsigned long long)runs, input.n, getcwd(here, sizeof here) ? here : ".", name);
    if (folder[0]) forget_folder();
}

static void on_signal(int number) {
    if (number == SIGALRM) dprintf(2, "fuzz: broken promise: one input takes longer than %d s\n", SLOWEST_SECS);
    save_input();
    signal(SIGABRT, SIG_DFL);
    abort();
}

extern void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));
void __ubsan_on_report(void);
void __ubsan_on_report(void) { save_input(); }

static double now_secs(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_input(void) {
    runs++;
    branch_before = 0;
    alarm(SLOWEST_SECS);
    size_t before = heap();
    LLVMFuzzerTestOneInput(input.p, input.n);
    PROMISE(heap() == before, "%zu bytes of heap are not given back", heap() - before);
    alarm(0);
}

static void keep_input(void) {
    if (pool_n == MOST_INPUTS) return;
    put(&pool[pool_n++], input.p, input.n);
}

static int read_input(const char *from) {
    int fd = open(from, O_RDONLY);
    uint8_t piece[4096];
    ssize_t k = -1;
    input.n = 0;
    while (fd >= 0 && (k = read(fd, piece, sizeof piece)) > 0) put(&input, piece, (size_t)k);
    if (fd >= 0) close(fd);
    if (k < 0) fprintf(stderr, "fuzz: cannot read a file: %s. %s\n", strerror(errno), from);
    return k == 0;
}

/* Large inputs are slow; they are drawn, but not often. */
static const buffer *draw_from_pool(stream *r) {
    const buffer *b = &pool[below(r, pool_n)];
    for (int again = 0; again < 8 && b->n > LARGE; again++) b = &pool[below(r, pool_n)];
    return b;
}

static void run_seeds(void) {
    buffer summary = {0};
    for (size_t i = 0; i < SEED_MAKERS; i++) {
        input.n = 0;
        seed_makers[i](&input, &summary);
        run_input();
        keep_input();
    }
    free(summary.p);
    took_a_new_path();
}

int main(int argc, char **argv) {
    double seconds = 60, slowest = 0;
    const char *alone = NULL;
    int first_file = argc;
    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && !strcmp(argv[i], "--seconds")) seconds = atof(value), i++;
        else if (value && !strcmp(argv[i], "--seed")) seed = strtoull(value, NULL, 10), i++;
        else if (value && !strcmp(argv[i], "--case")) alone = value, i++;
        else if (argv[i][0] != '-') { first_file = i; break; }
        else {
            fprintf(stderr, "usage: fuzz [--seconds N] [--seed S] [--case FILE] [CORPUS FILES...]\n");
            return 2;
        }
    }
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(save_input);
    pb_crc32c_init();
    make_folder();

    if (alone) {
        if (!read_input(alone)) return 2;
        run_input();
        printf("fuzz: 1 input, no findings\n");
        return 0;
    }
    double start = now_secs();
    run_seeds();
    for (int i = first_file; i < argc; i++) {
        if (!read_input(argv[i])) continue;
        run_input();
        if (took_a_new_path()) keep_input();
    }
    uint64_t seeds = runs;
    stream r = {seed};
    for (double at = now_secs(), next; at - start < seconds; at = next) {
        const buffer *base = draw_from_pool(&r), *other = draw_from_pool(&r);
        mutate_file(&r, &input, base, other);
        if (input.n > LARGEST_INPUT) input.n = LARGEST_INPUT;
        run_input();
        if (took_a_new_path()) keep_input();
        next = now_secs();
        if (next - at > slowest) slowest = next - at;
    }
    double spent = now_secs() - start;
    printf("fuzz: %llu inputs in %.1f s, %.0f a second; %llu seeds, %zu inputs kept, slowest %.3f s; no findings\n",
           (unsigned long long)runs, spent, (double)runs / spent, (unsigned long long)seeds, pool_n, slowest);
    for (size_t i = 0; i < pool_n; i++) free(pool[i].p);
    free(input.p);
    return 0;
}

#endif
