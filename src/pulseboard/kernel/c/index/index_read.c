/* Reading the index of one event file. */
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "index.h"
#include "index_format.h"
#include "points.h"
#include "tags.h"

/* ---------- the head */

/* A count of items that take at least `size` bytes each. If there are not that many bytes, the head is damaged. */
static uint64_t get_count(pb_index_cursor *cursor, size_t size) {
    uint64_t n = pb_index_get_u64(cursor);
    if (n > (uint64_t)(cursor->end - cursor->p) / size) {
        cursor->failed = 1;
        return 0;
    }
    return n;
}

static void get_column(pb_index_cursor *cursor, pb_column *c, size_t item_size, uint64_t data_end, uint64_t restart_n) {
    pb_index_column k;
    pb_index_get(cursor, &k, sizeof k);
    if (cursor->failed || k.at > data_end || k.n > (data_end - k.at) / item_size || k.n > UINT32_MAX ||
        k.restarts_seen > restart_n || k.cut_n > (uint64_t)(cursor->end - cursor->p) / sizeof(pb_cut) ||
        k.cut_n > UINT32_MAX) {
        cursor->failed = 1;
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
            cursor->failed = 1;
            return;
        }
        pb_index_get(cursor, c->cuts, k.cut_n * sizeof *c->cuts);
        c->cut_n = c->cut_cap = (uint32_t)k.cut_n;
        for (uint32_t i = 0; i < c->cut_n; i++)
            if (c->cuts[i].at > k.n || (i && c->cuts[i].at < c->cuts[i - 1].at) ||
                c->cuts[i].restart >= (int64_t)restart_n)
                cursor->failed = 1;
    }
}

/* A new tag; NULL if the name occurs twice, or there is no memory. */
static pb_tag *add_tag(pb_log *log, pb_ptr name, uint32_t len) {
    uint32_t before = log->tag_n, i = pb_tag_find_or_add(log, name, len);
    return i == UINT32_MAX || log->tag_n == before ? NULL : &log->tags[i];
}

static int get_tag(pb_index_cursor *cursor, pb_log *log, uint64_t data_end) {
    pb_index_tag t;
    pb_index_get(cursor, &t, sizeof t);
    if (cursor->failed || t.len > (uint64_t)(cursor->end - cursor->p) || t.len > UINT32_MAX) return 0;
    pb_tag *tag = add_tag(log, cursor->p, (uint32_t)t.len);
    if (!tag) return 0;
    cursor->p += t.len;
    tag->plugin = (int32_t)(int64_t)t.plugin;
    if (tag->plugin < -1 || tag->plugin >= (int32_t)log->plugin_n) return 0;
    tag->bytes = t.bytes;
    tag->meta_offset = t.meta_offset;
    tag->meta_length = (uint32_t)t.meta_length;
    tag->cut_by = t.cut_by;
    tag->span_fields = (uint32_t)t.span_fields;
    tag->next = (uint32_t)t.next;
    get_column(cursor, &tag->points, sizeof(pb_point), data_end, log->restart_n);
    get_column(cursor, &tag->spans, sizeof(pb_span), data_end, log->restart_n);
    return 1;
}

static void set_numbers(pb_log *log, const pb_index_log *k) {
    log->offset = k->offset;
    log->events = k->events;
    log->points = k->points;
    log->framing_bytes = k->framing_bytes;
    log->first_wall = k->first_wall;
    log->last_wall = k->last_wall;
    log->last_step = k->last_step;
    log->version = k->version;
    log->most_recent_step = k->most_recent_step;
    log->version_at_start = k->version_at_start;
    log->most_recent_at_start = k->most_recent_at_start;
    log->unversioned = (int)k->unversioned;
    log->end = (int)k->end;
    log->last_tag = (uint32_t)k->last_tag;
    log->size = k->size;
    log->mtime_ns = k->mtime_ns;
    log->dev = k->dev;
    log->ino = k->ino;
    memcpy(log->last_bytes, k->last_bytes, sizeof log->last_bytes);
    memcpy(log->first_bytes, k->first_bytes, sizeof log->first_bytes);
    log->last_bytes_n = (uint32_t)k->last_bytes_n;
    log->first_bytes_n = (uint32_t)k->first_bytes_n;
}

static int get_head(pb_index_cursor *cursor, pb_log *log, uint64_t data_end) {
    pb_index_log k;
    pb_index_get(cursor, &k, sizeof k);
    for (uint64_t n = get_count(cursor, 8); n && !cursor->failed; n--) {
        uint64_t len = get_count(cursor, 1);
        /* Tags refer to plugins by their place in this list, so each must be new, and added as it is. */
        uint32_t before = log->plugin_n;
        if (cursor->failed || memchr(cursor->p, 0, len)) return 0;
        if (pb_plugin_find_or_add(log, cursor->p, len) < 0 || log->plugin_n == before) return 0;
        cursor->p += len;
    }
    uint64_t restart_n = get_count(cursor, sizeof(pb_restart));
    if (restart_n) {
        if (!(log->restarts = malloc(restart_n * sizeof *log->restarts))) return 0;
        pb_index_get(cursor, log->restarts, restart_n * sizeof *log->restarts);
        log->restart_n = log->restart_cap = restart_n;
    }
    log->note_n = pb_index_get_u64(cursor);
    uint64_t kept = log->note_n < PB_MAX_NOTES ? log->note_n : PB_MAX_NOTES;
    if (kept) {
        if (!(log->notes = calloc(PB_MAX_NOTES, sizeof *log->notes))) return 0;
        pb_index_get(cursor, log->notes, kept * sizeof *log->notes);
    }
    for (uint64_t n = get_count(cursor, sizeof(pb_index_tag)); n && !cursor->failed; n--)
        if (!get_tag(cursor, log, data_end)) return 0;
    if (cursor->failed || cursor->p != cursor->end) return 0;
    if (k.last_bytes_n > sizeof log->last_bytes || k.first_bytes_n > sizeof log->first_bytes) return 0;
    set_numbers(log, &k);
    return 1;
}

/* The bytes of the head, checked; NULL if the file is damaged. */
static uint8_t *read_head(int fd, uint64_t file_size, uint64_t *n, uint64_t *data_end) {
    uint64_t footer[4];
    if (file_size < PB_INDEX_MAGIC_SIZE + PB_INDEX_FOOTER_SIZE) return NULL;
    uint64_t footer_at = file_size - PB_INDEX_FOOTER_SIZE;
    if (pb_read_at(fd, footer, PB_INDEX_FOOTER_SIZE, footer_at) != PB_INDEX_FOOTER_SIZE) return NULL;
    uint64_t at = footer[0], length = footer[1];
    if (memcmp(&footer[3], PB_INDEX_MAGIC, PB_INDEX_MAGIC_SIZE) || at < PB_INDEX_MAGIC_SIZE || at > footer_at ||
        length != footer_at - at)
        return NULL;
    uint8_t *head = malloc(length ? length : 1);
    if (!head) return NULL;
    if (pb_read_at(fd, head, length, at) != (ssize_t)length || pb_index_sum(0, head, length) != footer[2]) {
        free(head);
        return NULL;
    }
    *n = length;
    *data_end = at;
    return head;
}

int pb_index_read(pb_log *log, const char *path) {
    pb_file_info info;
    int done = 0;
    int fd = pb_open(path);
    if (fd < 0) return 0;
    pb_mutex_lock(&log->loading);
    pb_mutex_lock(&log->lock);
    if (!log->offset && !log->tag_n && pb_info_of(fd, &info) && info.is_regular) {
        uint64_t n = 0, data_end = 0, generation = log->generation;
        uint8_t *head = read_head(fd, info.size, &n, &data_end);
        if (head) {
            pb_index_cursor cursor = {head, head + n, 0};
            done = get_head(&cursor, log, data_end);
            if (done) {
                log->stored_path = strdup(path);
                log->stored_dev = info.dev;
                log->stored_ino = info.ino;
                done = log->stored_path != NULL;
            }
            if (!done) {
                pb_log_reset(log, 0, -1);
                log->generation = generation;
            }
            free(head);
        }
    }
    pb_mutex_unlock(&log->lock);
    pb_mutex_unlock(&log->loading);
    close(fd);
    return done;
}

/* ---------- the columns */

/* The stored items of a column, checked; NULL if they are missing or damaged, or if there is no memory. `before` bytes
 * are left free in front of them. */
static uint8_t *read_items(pb_log *log, const pb_column *c, size_t item_size, size_t before) {
    int fd = pb_index_open_stored(log);
    if (fd < 0) return NULL;
    size_t n = c->stored_n * item_size;
    uint8_t *bytes = malloc(before + n);
    if (bytes && (pb_read_at(fd, bytes + before, n, c->stored_at) != (ssize_t)n ||
                  pb_index_sum(0, bytes + before, n) != c->stored_sum)) {
        pb_remove(log->stored_path); /* so that nothing reads it again */
        free(bytes);
        bytes = NULL;
    }
    close(fd);
    return bytes;
}

int pb_fetch_points(pb_log *log, pb_column *c) {
    if (!c->stored_n) return 1;
    uint8_t *bytes = read_items(log, c, sizeof(pb_point), 0);
    if (!bytes) return 0;
    uint64_t stored = c->stored_n, added = c->n - stored;
    if (!pb_points_reserve(c, c->n > c->cap ? c->n : c->cap, NULL)) {
        free(bytes);
        return 0;
    }
    memmove(c->steps + stored, c->steps, added * sizeof *c->steps);
    memmove(c->walls + stored, c->walls, added * sizeof *c->walls);
    memmove(c->values + stored, c->values, added * sizeof *c->values);
    const pb_point *p = (const pb_point *)bytes;
    for (uint64_t i = 0; i < stored; i++) {
        c->steps[i] = p[i].step;
        c->walls[i] = p[i].wall;
        c->values[i] = p[i].value;
    }
    c->stored_n = 0;
    free(bytes);
    return 1;
}

int pb_fetch_spans(pb_log *log, pb_column *c) {
    if (!c->stored_n) return 1;
    pb_block *b = (pb_block *)read_items(log, c, sizeof(pb_span), sizeof *b);
    if (!b) return 0;
    b->next = c->head;
    b->n = b->cap = (uint32_t)c->stored_n;
    c->head = b;
    if (!c->tail) c->tail = b;
    c->stored_n = 0;
    return 1;
}
