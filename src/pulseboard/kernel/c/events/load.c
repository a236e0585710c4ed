/* Files to logs: read in pieces, not mapped, so that a file truncated while it is read is an ordinary
 * short read and not a SIGBUS (docs/design/reading.md). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "files.h"

/* 256 KiB: stays in the L2 cache between the copy and the parse. */
enum { PIECE = 256 << 10 };

static int reserve(pb_scratch *s, size_t n) {
    if (s->cap >= n) return 1;
    uint8_t *bytes = realloc(s->bytes, n);
    if (!bytes) return 0;
    s->bytes = bytes;
    s->cap = n;
    return 1;
}

static int rewritten(const pb_log *log, int fd, const pb_file_info *info) {
    if (!log->offset) return 0;
    if (log->dev != info->dev || log->ino != info->ino || info->size < log->offset) return 1;
    uint8_t now[sizeof log->first_bytes];
    uint32_t first = log->first_bytes_n, last = log->last_bytes_n;
    return pb_read_at(fd, now, last, log->offset - last) != (ssize_t)last || memcmp(now, log->last_bytes, last) != 0 ||
           pb_read_at(fd, now, first, 0) != (ssize_t)first || memcmp(now, log->first_bytes, first) != 0;
}

static void read_new(pb_log *log, int fd, uint64_t size, pb_scratch *scratch) {
    size_t kept = 0; /* bytes in scratch that start at log->offset in the file */
    uint64_t want = 0;
    int from_start = log->offset == 0;
    if (log->offset == size) {
        log->end = PB_END_CLEAN;
        return;
    }
    for (;;) {
        uint64_t left = size - log->offset - kept;
        if (!left) break;
        size_t room = want > PIECE ? want : PIECE;
        if (room < kept + 1) room = kept + PIECE;
        /* A record longer than the rest of the file is a torn tail, and must not cost memory. */
        if (want > size - log->offset) break;
        if (!reserve(scratch, room)) {
            log->end = PB_END_NO_MEMORY;
            break;
        }
        size_t count = room - kept;
        if (count > left) count = (size_t)left;
        ssize_t got = pb_read_at(fd, scratch->bytes + kept, count, log->offset + kept);
        if (got < 0) {
            log->end = PB_END_ERRNO;
            log->error = errno;
            break;
        }
        if (!got) break; /* truncated while it was read: the next load will notice */
        kept += (size_t)got;
        pb_mutex_lock(&log->lock);
        log->pool = &scratch->pool;
        size_t consumed = pb_feed(log, scratch->bytes, kept, &want);
        log->pool = NULL;
        pb_mutex_unlock(&log->lock);
        if (log->end > PB_END_TORN) break;
        kept -= consumed;
        memmove(scratch->bytes, scratch->bytes + consumed, kept);
    }
    if (from_start) {
        pb_mutex_lock(&log->lock);
        log->pool = &scratch->pool;
        pb_log_trim(log);
        log->pool = NULL;
        pb_mutex_unlock(&log->lock);
    }
}

void pb_scratch_free(pb_scratch *scratch) {
    free(scratch->bytes);
    pb_pool_free(&scratch->pool);
}

/* Whether an open file is in one of the directories. Asked of the open file, because any part of its path may have
 * become a link since the directory was listed. */
static int is_within(const char *tops, int fd, const pb_file_info *info, const char *path) {
    char real[PB_MAX_PATH];
    if (!pb_path_of(fd, info, path, real)) return 0;
    for (size_t n; (n = strlen(tops)); tops += n + 1) {
        if (strncmp(real, tops, n)) continue;
        if (!real[n] || pb_is_separator(real[n]) || pb_is_separator(tops[n - 1])) return 1;
    }
    return 0;
}

/* The caller holds log->loading. */
static void load(pb_log *log, const char *path, pb_scratch *scratch) {
    pb_file_info info;
    log->error = 0;
    int fd = pb_open(path);
    if (fd < 0 || !pb_info_of(fd, &info)) {
        log->end = PB_END_ERRNO;
        log->error = errno;
        if (fd >= 0) close(fd);
        return;
    }
    if (!info.is_regular) log->end = PB_END_NOT_A_FILE;
    else if (log->within && !is_within(log->within, fd, &info, path)) log->end = PB_END_OUTSIDE;
    else {
        if (rewritten(log, fd, &info)) {
            pb_mutex_lock(&log->lock);
            pb_log_reset(log, log->version_at_start, log->most_recent_at_start);
            pb_mutex_unlock(&log->lock);
        }
        log->dev = info.dev;
        log->ino = info.ino;
        log->size = info.size;
        log->mtime_ns = info.mtime_ns;
        read_new(log, fd, log->size, scratch);
    }
    close(fd);
}

void pb_load(pb_log *log, const char *path, pb_scratch *scratch) {
    pb_mutex_lock(&log->loading);
    load(log, path, scratch);
    pb_mutex_unlock(&log->loading);
}

void pb_reload(pb_log *log, const char *path, uint64_t generation, pb_scratch *scratch) {
    pb_mutex_lock(&log->loading);
    if (log->generation == generation) {
        pb_mutex_lock(&log->lock);
        pb_log_reset(log, log->version_at_start, log->most_recent_at_start);
        pb_mutex_unlock(&log->lock);
        load(log, path, scratch);
    }
    pb_mutex_unlock(&log->loading);
}

void pb_batch_work(pb_batch *batch) {
    pb_scratch scratch = {0};
    for (;;) {
        if (__atomic_load_n(&batch->cancelled, __ATOMIC_RELAXED)) break;
        size_t i = __atomic_fetch_add(&batch->cursor, 1, __ATOMIC_RELAXED);
        if (i >= batch->n) break;
        pb_load(batch->logs[i], batch->paths[i], &scratch);
        __atomic_fetch_add(&batch->done, 1, __ATOMIC_RELAXED);
        if (scratch.cap > 16u << 20) { /* do not keep the memory of one giant record */
            free(scratch.bytes);
            scratch.bytes = NULL;
            scratch.cap = 0;
        }
    }
    pb_scratch_free(&scratch);
}
