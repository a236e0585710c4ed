/* Writing the index of one event file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "index.h"
#include "index_format.h"

/* Bytes copied or written at a time. */
enum { SLICE = 1 << 20 };

/* ---------- bytes that grow */

typedef struct {
    uint8_t *bytes;
    size_t n, cap;
    int failed;
} buffer;

static void put(buffer *b, const void *bytes, size_t n) {
    if (b->failed) return;
    if (b->n + n > b->cap) {
        size_t cap = (b->n + n) * 2;
        uint8_t *more = realloc(b->bytes, cap);
        if (!more) {
            b->failed = 1;
            return;
        }
        b->bytes = more;
        b->cap = cap;
    }
    if (n) memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

static void put_u64(buffer *b, uint64_t v) { put(b, &v, 8); }

/* ---------- the output file */

typedef struct {
    int fd, error;
    uint64_t written; /* to the file and to `queue` */
    buffer queue;
} output;

static void flush(output *out) {
    size_t done = 0;
    while (!out->error && done < out->queue.n) {
        ssize_t k = write(out->fd, out->queue.bytes + done, out->queue.n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) out->error = errno;
        else done += (size_t)k;
    }
    out->queue.n = 0;
}

static void emit(output *out, const void *bytes, size_t n) {
    put(&out->queue, bytes, n);
    if (out->queue.failed) out->error = ENOMEM;
    out->written += n;
    if (out->queue.n >= SLICE) flush(out);
}

/* ---------- the head */

/* The checksum is filled in later, once the column has been written. */
static void put_column(buffer *head, const pb_column *c, size_t item_size, uint64_t *at) {
    pb_index_column k = {c->n, c->restarts_seen, c->cut_n, *at, 0};
    put(head, &k, sizeof k);
    put(head, c->cuts, c->cut_n * sizeof *c->cuts);
    *at += c->n * item_size;
}

static void put_head(buffer *head, const pb_log *log) {
    pb_index_log k = {
        log->offset,
        log->events,
        log->points,
        log->framing_bytes,
        log->first_wall,
        log->last_wall,
        log->last_step,
        log->version,
        log->most_recent_step,
        log->version_at_start,
        log->most_recent_at_start,
        log->unversioned,
        log->end,
        log->last_tag,
        log->size,
        log->mtime_ns,
        log->dev,
        log->ino,
        .last_bytes_n = log->last_bytes_n,
        .first_bytes_n = log->first_bytes_n,
    };
    memcpy(k.last_bytes, log->last_bytes, sizeof k.last_bytes);
    memcpy(k.first_bytes, log->first_bytes, sizeof k.first_bytes);
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
    uint64_t at = PB_INDEX_MAGIC_SIZE;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        const pb_tag *t = &log->tags[i];
        pb_index_tag n = {
            t->len, (uint64_t)(int64_t)t->plugin, t->bytes, t->meta_offset, t->meta_length, t->cut_by, t->span_fields,
            t->next};
        put(head, &n, sizeof n);
        put(head, t->name, t->len);
        put_column(head, &t->points, sizeof(pb_point), &at);
        put_column(head, &t->spans, sizeof(pb_span), &at);
    }
}

/* Moves past everything before the tags in a head that put_head made. Returns the number of tags. */
static uint64_t skip_to_tags(pb_index_cursor *cursor) {
    cursor->p += sizeof(pb_index_log);
    for (uint64_t n = pb_index_get_u64(cursor); n; n--) {
        uint64_t len = pb_index_get_u64(cursor);
        cursor->p += len;
    }
    uint64_t restart_n = pb_index_get_u64(cursor);
    cursor->p += restart_n * sizeof(pb_restart);
    uint64_t note_n = pb_index_get_u64(cursor);
    cursor->p += (note_n < PB_MAX_NOTES ? note_n : PB_MAX_NOTES) * sizeof(pb_note);
    return pb_index_get_u64(cursor);
}

/* ---------- the columns */

/* Copies points [from, from + n) that are in memory. The caller holds the lock. */
static void copy_point_items(const pb_column *c, uint64_t from, uint64_t n, pb_point *to) {
    from -= c->stored_n;
    for (uint64_t i = 0; i < n; i++) to[i] = (pb_point){c->steps[from + i], c->walls[from + i], c->values[from + i]};
}

/* The same for spans. */
static void copy_span_items(const pb_column *c, uint64_t from, uint64_t n, pb_span *to) {
    from -= c->stored_n;
    for (const pb_block *b = c->head; b && n; b = b->next) {
        if (from >= b->n) {
            from -= b->n;
            continue;
        }
        uint64_t count = b->n - from < n ? b->n - from : n;
        memcpy(to, (const pb_span *)(b + 1) + from, count * sizeof *to);
        to += count;
        n -= count;
        from = 0;
    }
}

/* Writes the first `n` items of a column in slices, so that no thread waits long for the lock. Stores the checksum in
 * *sum. */
static int write_column(pb_log *log, output *out, uint64_t generation, uint32_t tag, int spans, uint64_t n,
                        uint8_t *slice, uint64_t *sum) {
    size_t item_size = spans ? sizeof(pb_span) : sizeof(pb_point);
    uint64_t max_count = SLICE / item_size, expected = 0, stored = 0;
    int fd = -1, damaged = 0;
    *sum = 0;
    for (uint64_t from = 0; from < n && !out->error && !damaged;) {
        uint64_t count = n - from < max_count ? n - from : max_count, at = 0;
        pb_mutex_lock(&log->lock);
        int started_over = log->generation != generation;
        if (!started_over) {
            const pb_column *c = spans ? &log->tags[tag].spans : &log->tags[tag].points;
            if (from < c->stored_n) {
                if (c->stored_n - from < count) count = c->stored_n - from;
                at = c->stored_at + from * item_size;
                stored = c->stored_n;
                expected = c->stored_sum;
                if (fd < 0 && (fd = pb_index_open_stored(log)) < 0) damaged = 1;
            } else if (spans) copy_span_items(c, from, count, (pb_span *)slice);
            else copy_point_items(c, from, count, (pb_point *)slice);
        }
        pb_mutex_unlock(&log->lock);
        if (started_over) {
            if (fd >= 0) close(fd);
            return EAGAIN;
        }
        size_t bytes = count * item_size;
        if (at && !damaged && pb_read_at(fd, slice, bytes, at) != (ssize_t)bytes) damaged = 1;
        if (damaged) break;
        *sum = pb_index_sum(*sum, slice, bytes);
        emit(out, slice, bytes);
        from += count;
        if (at && from == stored) damaged = *sum != expected;
    }
    if (fd >= 0) close(fd);
    return damaged ? EILSEQ : out->error;
}

/* Writes the columns listed in the head, and their checksums into the head. */
static int write_columns(pb_log *log, output *out, uint64_t generation, buffer *head) {
    uint8_t *slice = malloc(SLICE);
    int error = slice ? 0 : ENOMEM;
    pb_index_cursor cursor = {head->bytes, head->bytes + head->n, 0};
    uint64_t tag_n = skip_to_tags(&cursor);
    for (uint64_t i = 0; i < tag_n && !error; i++) {
        pb_index_tag t;
        pb_index_get(&cursor, &t, sizeof t);
        cursor.p += t.len;
        for (int spans = 0; spans < 2 && !error; spans++) {
            uint8_t *column = head->bytes + (cursor.p - head->bytes);
            pb_index_column k;
            pb_index_get(&cursor, &k, sizeof k);
            cursor.p += k.cut_n * sizeof(pb_cut);
            error = write_column(log, out, generation, (uint32_t)i, spans, k.n, slice, &k.sum);
            memcpy(column, &k, sizeof k);
        }
    }
    free(slice);
    return error;
}

int pb_index_write(pb_log *log, int fd) {
    output out = {.fd = fd};
    buffer head = {0};
    /* The head first, under the lock. Columns only grow, so the parts of them that it lists do not change. */
    pb_mutex_lock(&log->lock);
    uint64_t generation = log->generation;
    put_head(&head, log);
    pb_mutex_unlock(&log->lock);
    emit(&out, PB_INDEX_MAGIC, PB_INDEX_MAGIC_SIZE);
    int error = head.failed ? ENOMEM : write_columns(log, &out, generation, &head);
    if (!error) {
        uint64_t footer[4] = {out.written, head.n, pb_index_sum(0, head.bytes, head.n)};
        memcpy(&footer[3], PB_INDEX_MAGIC, PB_INDEX_MAGIC_SIZE);
        emit(&out, head.bytes, head.n);
        emit(&out, footer, sizeof footer);
        flush(&out);
        error = out.error;
    }
    free(head.bytes);
    free(out.queue.bytes);
    return error;
}
