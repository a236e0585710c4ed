/* Writing and reading the index of one event file. */
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "columns.h"

static const char MAGIC[8] = "PBINDEX\1";
enum { FOOTER = 32, SLICE = 1 << 20 };

/* ---------- checksums: of 64-bit words, as everything here is made of them */

static inline uint64_t mix(uint64_t sum, uint64_t word) {
    __uint128_t m = (__uint128_t)(sum ^ word ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t sum_of(uint64_t sum, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    uint64_t word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        sum = mix(sum, word);
    }
    if (n) {
        word = 0;
        memcpy(&word, p, n);
        sum = mix(sum, word);
    }
    return sum;
}

/* ---------- bytes that grow, and bytes that are read */

typedef struct { uint8_t *bytes; size_t n, cap; int failed; } growing;

static void put(growing *g, const void *bytes, size_t n) {
    if (g->failed) return;
    if (g->n + n > g->cap) {
        size_t cap = (g->n + n) * 2;
        uint8_t *more = realloc(g->bytes, cap);
        if (!more) {
            g->failed = 1;
            return;
        }
        g->bytes = more;
        g->cap = cap;
    }
    if (n) memcpy(g->bytes + g->n, bytes, n);
    g->n += n;
}

static void put_u64(growing *g, uint64_t v) {
    put(g, &v, 8);
}

typedef struct { const uint8_t *p, *end; int failed; } reading;

static void get(reading *r, void *to, size_t n) {
    if (r->failed || (size_t)(r->end - r->p) < n) {
        r->failed = 1;
        memset(to, 0, n);
        return;
    }
    if (n) memcpy(to, r->p, n);
    r->p += n;
}

static uint64_t get_u64(reading *r) {
    uint64_t v;
    get(r, &v, 8);
    return v;
}

/* A number of things of which each takes at least `size` bytes: more than there are bytes for is damage. */
static uint64_t get_count(reading *r, size_t size) {
    uint64_t n = get_u64(r);
    if (n > (uint64_t)(r->end - r->p) / size) {
        r->failed = 1;
        return 0;
    }
    return n;
}

/* What of a log is plain numbers, in the order it is written. */
typedef struct {
    uint64_t offset, events, points, framing_bytes;
    double first_wall, last_wall;
    int64_t last_step;
    double version;
    int64_t most_recent_step;
    double version_at_start;
    int64_t most_recent_at_start;
    int64_t unversioned, end, last_tag;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t dev, ino;
    uint8_t seal[16], opening[64];
    uint64_t seal_n, opening_n;
} numbers;

typedef struct {
    uint64_t len, plugin, bytes, meta_offset, meta_length, cut_by, whats, next;
} tag_numbers;

typedef struct { uint64_t n, restarts_seen, cut_n, at, sum; } column_numbers;

/* ---------- writing */

typedef struct {
    int fd, error;
    uint64_t written; /* to the file and to `waiting` */
    growing waiting;
} output;

static void flush(output *out) {
    size_t done = 0;
    while (!out->error && done < out->waiting.n) {
        ssize_t k = write(out->fd, out->waiting.bytes + done, out->waiting.n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) out->error = errno;
        else done += (size_t)k;
    }
    out->waiting.n = 0;
}

static void emit(output *out, const void *bytes, size_t n) {
    put(&out->waiting, bytes, n);
    if (out->waiting.failed) out->error = ENOMEM;
    out->written += n;
    if (out->waiting.n >= SLICE) flush(out);
}

/* Where in the head the numbers of each column stand, to be completed once its checksum is known. */
static void put_column(growing *head, const pb_column *c, size_t item_size, uint64_t *at) {
    column_numbers k = {c->n, c->restarts_seen, c->cut_n, *at, 0};
    put(head, &k, sizeof k);
    put(head, c->cuts, c->cut_n * sizeof *c->cuts);
    *at += c->n * item_size;
}

static void put_head(growing *head, const pb_log *log) {
    numbers k = {
        log->offset, log->events, log->points, log->framing_bytes, log->first_wall, log->last_wall, log->last_step,
        log->version, log->most_recent_step, log->version_at_start, log->most_recent_at_start, log->unversioned,
        log->end, log->last, log->size, log->mtime_ns, log->dev, log->ino, .seal_n = log->seal_n,
        .opening_n = log->opening_n,
    };
    memcpy(k.seal, log->seal, sizeof k.seal);
    memcpy(k.opening, log->opening, sizeof k.opening);
    put(head, &k, sizeof k);
    put_u64(head, log->plugin_n);
    for (uint32_t i = 0; i < log->plugin_n; i++) {
        put_u64(head, strlen(log->plugins[i]));
        put(head, log->plugins[i], strlen(log->plugins[i]));
    }
    put_u64(head, log->restart_n);
    put(head, log->restarts, log->restart_n * sizeof *log->restarts);
    put_u64(head, log->note_n);
    put(head, log->notes, (log->note_n < PB_MAX_NOTES ? log->note_n : PB_MAX_NOTES) * sizeof *log->notes);
    put_u64(head, log->tag_n);
    uint64_t at = sizeof MAGIC;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        const pb_tag *t = &log->tags[i];
        tag_numbers n = {t->len,         (uint64_t)(int64_t)t->plugin, t->bytes, t->meta_offset,
                         t->meta_length, t->cut_by,                    t->whats, t->next};
        put(head, &n, sizeof n);
        put(head, t->name, t->len);
        put_column(head, &t->points, sizeof(pb_point), &at);
        put_column(head, &t->spans, sizeof(pb_span), &at);
    }
}

static ssize_t read_at(int fd, void *to, size_t n, uint64_t offset) {
    size_t got = 0;
    while (got < n) {
        ssize_t k = pread(fd, (uint8_t *)to + got, n - got, (off_t)(offset + got));
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) break;
        got += (size_t)k;
    }
    return (ssize_t)got;
}

/* The index that the log was read from, if it is still the same file; -1 where it is not. */
static int open_stored(const pb_log *log) {
    struct stat st;
    if (!log->stored_path) return -1;
    int fd = open(log->stored_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &st) || (uint64_t)st.st_dev != log->stored_dev || (uint64_t)st.st_ino != log->stored_ino) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Copies items [from, from + n) of a column that are in memory; the caller holds the lock. */
static void copy_items(const pb_column *c, size_t item_size, uint64_t from, uint64_t n, uint8_t *to) {
    from -= c->stored_n;
    for (const pb_block *b = c->head; b && n; b = b->next) {
        if (from >= b->n) {
            from -= b->n;
            continue;
        }
        uint64_t take = b->n - from < n ? b->n - from : n;
        memcpy(to, (const uint8_t *)(b + 1) + from * item_size, take * item_size);
        to += take * item_size;
        n -= take;
        from = 0;
    }
}

/* The first `n` items of a column, in slices, so that nobody waits long for the lock. The checksum goes to *sum. */
static int write_column(pb_log *log, output *out, uint64_t generation, uint32_t tag, int spans, uint64_t n,
                        uint8_t *slice, uint64_t *sum) {
    size_t item_size = spans ? sizeof(pb_span) : sizeof(pb_point);
    uint64_t most = SLICE / item_size, expected = 0, stored = 0;
    int fd = -1, wrong = 0;
    *sum = 0;
    for (uint64_t from = 0; from < n && !out->error && !wrong;) {
        uint64_t take = n - from < most ? n - from : most, at = 0;
        pthread_mutex_lock(&log->lock);
        int anew = log->generation != generation;
        if (!anew) {
            const pb_column *c = spans ? &log->tags[tag].spans : &log->tags[tag].points;
            if (from < c->stored_n) {
                if (c->stored_n - from < take) take = c->stored_n - from;
                at = c->stored_at + from * item_size;
                stored = c->stored_n;
                expected = c->stored_sum;
                if (fd < 0 && (fd = open_stored(log)) < 0) wrong = 1;
            } else copy_items(c, item_size, from, take, slice);
        }
        pthread_mutex_unlock(&log->lock);
        if (anew) {
            if (fd >= 0) close(fd);
            return EAGAIN;
        }
        if (at && !wrong && read_at(fd, slice, take * item_size, at) != (ssize_t)(take * item_size)) wrong = 1;
        if (wrong) break;
        *sum = sum_of(*sum, slice, take * item_size);
        emit(out, slice, take * item_size);
        from += take;
        if (at && from == stored) wrong = *sum != expected;
    }
    if (fd >= 0) close(fd);
    return wrong ? EILSEQ : out->error;
}

/* Passes over what stands before the tags in a head that was just made; the number of tags. */
static uint64_t skip_to_tags(reading *r) {
    r->p += sizeof(numbers);
    for (uint64_t n = get_u64(r); n; n--) {
        uint64_t len = get_u64(r);
        r->p += len;
    }
    uint64_t restart_n = get_u64(r);
    r->p += restart_n * sizeof(pb_restart);
    uint64_t note_n = get_u64(r);
    r->p += (note_n < PB_MAX_NOTES ? note_n : PB_MAX_NOTES) * sizeof(pb_note);
    return get_u64(r);
}

/* The columns that the head names, and their checksums into it. */
static int write_columns(pb_log *log, output *out, uint64_t generation, growing *head) {
    uint8_t *slice = malloc(SLICE);
    int error = slice ? 0 : ENOMEM;
    reading r = {head->bytes, head->bytes + head->n, 0};
    uint64_t tag_n = skip_to_tags(&r);
    for (uint64_t i = 0; i < tag_n && !error; i++) {
        tag_numbers t;
        get(&r, &t, sizeof t);
        r.p += t.len;
        for (int spans = 0; spans < 2 && !error; spans++) {
            uint8_t *place = head->bytes + (r.p - head->bytes);
            column_numbers k;
            get(&r, &k, sizeof k);
            r.p += k.cut_n * sizeof(pb_cut);
            error = write_column(log, out, generation, (uint32_t)i, spans, k.n, slice, &k.sum);
            memcpy(place, &k, sizeof k);
        }
    }
    free(slice);
    return error;
}

int pb_index_write(pb_log *log, int fd) {
    output out = {.fd = fd};
    growing head = {0};
    /* The head first, at one moment; columns only grow, so what it names of them stays as it is. */
    pthread_mutex_lock(&log->lock);
    uint64_t generation = log->generation;
    put_head(&head, log);
    pthread_mutex_unlock(&log->lock);
    emit(&out, MAGIC, sizeof MAGIC);
    int error = head.failed ? ENOMEM : write_columns(log, &out, generation, &head);
    if (!error) {
        uint64_t footer[4] = {out.written, head.n, sum_of(0, head.bytes, head.n)};
        memcpy(&footer[3], MAGIC, 8);
        emit(&out, head.bytes, head.n);
        emit(&out, footer, sizeof footer);
        flush(&out);
        error = out.error;
    }
    free(head.bytes);
    free(out.waiting.bytes);
    return error;
}

/* ---------- reading */

static void get_column(reading *r, pb_column *c, size_t item_size, uint64_t data_end, uint64_t restart_n) {
    column_numbers k;
    get(r, &k, sizeof k);
    if (r->failed || k.at > data_end || k.n > (data_end - k.at) / item_size || k.n > UINT32_MAX ||
        k.restarts_seen > restart_n || k.cut_n > (uint64_t)(r->end - r->p) / sizeof(pb_cut) || k.cut_n > UINT32_MAX) {
        r->failed = 1;
        return;
    }
    c->n = c->stored_n = k.n;
    c->stored_at = k.at;
    c->stored_sum = k.sum;
    c->restarts_seen = k.restarts_seen;
    c->trimmed = 1;
    if (k.cut_n) {
        c->cuts = malloc(k.cut_n * sizeof *c->cuts);
        if (!c->cuts) {
            r->failed = 1;
            return;
        }
        get(r, c->cuts, k.cut_n * sizeof *c->cuts);
        c->cut_n = c->cut_cap = (uint32_t)k.cut_n;
        for (uint32_t i = 0; i < c->cut_n; i++)
            if (c->cuts[i].at > k.n || (i && c->cuts[i].at < c->cuts[i - 1].at) ||
                c->cuts[i].restart >= (int64_t)restart_n)
                r->failed = 1;
    }
}

static int get_head(reading *r, pb_log *log, uint64_t data_end) {
    numbers k;
    get(r, &k, sizeof k);
    for (uint64_t n = get_count(r, 8); n && !r->failed; n--) {
        uint64_t len = get_count(r, 1);
        if (r->failed || !pb_log_add_plugin(log, r->p, len)) return 0;
        r->p += len;
    }
    uint64_t restart_n = get_count(r, sizeof(pb_restart));
    if (restart_n) {
        if (!(log->restarts = malloc(restart_n * sizeof *log->restarts))) return 0;
        get(r, log->restarts, restart_n * sizeof *log->restarts);
        log->restart_n = log->restart_cap = restart_n;
    }
    log->note_n = get_u64(r);
    uint64_t kept = log->note_n < PB_MAX_NOTES ? log->note_n : PB_MAX_NOTES;
    if (kept) {
        if (!(log->notes = calloc(PB_MAX_NOTES, sizeof *log->notes))) return 0;
        get(r, log->notes, kept * sizeof *log->notes);
    }
    for (uint64_t n = get_count(r, sizeof(tag_numbers)); n && !r->failed; n--) {
        tag_numbers t;
        get(r, &t, sizeof t);
        if (r->failed || t.len > (uint64_t)(r->end - r->p) || t.len > UINT32_MAX) return 0;
        pb_tag *tag = pb_log_add_tag(log, r->p, (uint32_t)t.len);
        if (!tag) return 0;
        r->p += t.len;
        tag->plugin = (int32_t)(int64_t)t.plugin;
        if (tag->plugin < -1 || tag->plugin >= (int32_t)log->plugin_n) return 0;
        tag->bytes = t.bytes;
        tag->meta_offset = t.meta_offset;
        tag->meta_length = (uint32_t)t.meta_length;
        tag->cut_by = t.cut_by;
        tag->whats = (uint32_t)t.whats;
        tag->next = (uint32_t)t.next;
        get_column(r, &tag->points, sizeof(pb_point), data_end, restart_n);
        get_column(r, &tag->spans, sizeof(pb_span), data_end, restart_n);
    }
    if (r->failed || r->p != r->end || k.seal_n > sizeof log->seal || k.opening_n > sizeof log->opening) return 0;
    log->offset = k.offset;
    log->events = k.events;
    log->points = k.points;
    log->framing_bytes = k.framing_bytes;
    log->first_wall = k.first_wall;
    log->last_wall = k.last_wall;
    log->last_step = k.last_step;
    log->version = k.version;
    log->most_recent_step = k.most_recent_step;
    log->version_at_start = k.version_at_start;
    log->most_recent_at_start = k.most_recent_at_start;
    log->unversioned = (int)k.unversioned;
    log->end = (int)k.end;
    log->last = (uint32_t)k.last_tag;
    log->size = k.size;
    log->mtime_ns = k.mtime_ns;
    log->dev = (dev_t)k.dev;
    log->ino = (ino_t)k.ino;
    memcpy(log->seal, k.seal, sizeof log->seal);
    memcpy(log->opening, k.opening, sizeof log->opening);
    log->seal_n = (uint32_t)k.seal_n;
    log->opening_n = (uint32_t)k.opening_n;
    return 1;
}

/* The head's bytes, checked; NULL where the file is not whole. */
static uint8_t *read_head(int fd, uint64_t file_size, uint64_t *n, uint64_t *data_end) {
    uint64_t footer[4];
    if (file_size < sizeof MAGIC + FOOTER || read_at(fd, footer, FOOTER, file_size - FOOTER) != FOOTER) return NULL;
    uint64_t at = footer[0], length = footer[1];
    if (memcmp(&footer[3], MAGIC, 8) || at < sizeof MAGIC || at > file_size - FOOTER || length != file_size - FOOTER - at)
        return NULL;
    uint8_t *head = malloc(length ? length : 1);
    if (!head) return NULL;
    if (read_at(fd, head, length, at) != (ssize_t)length || sum_of(0, head, length) != footer[2]) {
        free(head);
        return NULL;
    }
    *n = length;
    *data_end = at;
    return head;
}

int pb_index_read(pb_log *log, const char *path) {
    struct stat st;
    int done = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    pthread_mutex_lock(&log->loading);
    pthread_mutex_lock(&log->lock);
    if (!log->offset && !log->tag_n && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
        uint64_t n = 0, data_end = 0, generation = log->generation;
        uint8_t *head = read_head(fd, (uint64_t)st.st_size, &n, &data_end);
        if (head) {
            reading r = {head, head + n, 0};
            done = get_head(&r, log, data_end);
            if (done) {
                log->stored_path = strdup(path);
                log->stored_dev = st.st_dev;
                log->stored_ino = st.st_ino;
                done = log->stored_path != NULL;
            }
            if (!done) {
                pb_log_reset(log, 0, -1);
                log->generation = generation;
            }
            free(head);
        }
    }
    pthread_mutex_unlock(&log->lock);
    pthread_mutex_unlock(&log->loading);
    close(fd);
    return done;
}

int pb_column_fetch(pb_log *log, pb_column *c, size_t item_size) {
    if (!c->stored_n) return 1;
    int fd = open_stored(log);
    if (fd < 0) return 0;
    uint64_t n = c->stored_n;
    pb_block *b = malloc(sizeof *b + n * item_size);
    if (!b) {
        close(fd);
        return 0;
    }
    int whole = read_at(fd, b + 1, n * item_size, c->stored_at) == (ssize_t)(n * item_size) &&
                sum_of(0, b + 1, n * item_size) == c->stored_sum;
    close(fd);
    if (!whole) {
        unlink(log->stored_path); /* so that it troubles nobody again */
        free(b);
        return 0;
    }
    b->next = c->head;
    b->n = b->cap = (uint32_t)n;
    c->head = b;
    if (!c->tail) c->tail = b;
    c->stored_n = 0;
    return 1;
}
