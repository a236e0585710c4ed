/* Files to logs: read(2) in pieces, not mmap, so that a file cut while it is read is an
 * ordinary short read and not a SIGBUS (docs/design/reading.md). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.h"

/* 256 KiB: stays in the second-level cache between the copy and the parse. */
enum { PIECE = 256 << 10 };

static int64_t mtime_ns(const struct stat *st) {
#ifdef __APPLE__
    return (int64_t)st->st_mtimespec.tv_sec * 1000000000 + st->st_mtimespec.tv_nsec;
#else
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
#endif
}

static int reserve(pb_scratch *s, size_t n) {
    if (s->cap >= n) return 1;
    uint8_t *bytes = realloc(s->bytes, n);
    if (!bytes) return 0;
    s->bytes = bytes;
    s->cap = n;
    return 1;
}

/* Reads up to n bytes; fewer at the end of the file; -1 on an error. */
static ssize_t read_at(int fd, uint8_t *to, size_t n, uint64_t offset) {
    size_t got = 0;
    while (got < n) {
        ssize_t k = pread(fd, to + got, n - got, (off_t)(offset + got));
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        if (!k) break;
        got += (size_t)k;
    }
    return (ssize_t)got;
}

static int rewritten(const pb_log *log, int fd, const struct stat *st) {
    if (!log->offset) return 0;
    if (log->dev != st->st_dev || log->ino != st->st_ino || (uint64_t)st->st_size < log->offset) return 1;
    uint8_t now[sizeof log->opening];
    return read_at(fd, now, log->seal_n, log->offset - log->seal_n) != (ssize_t)log->seal_n ||
           memcmp(now, log->seal, log->seal_n) != 0 ||
           read_at(fd, now, log->opening_n, 0) != (ssize_t)log->opening_n ||
           memcmp(now, log->opening, log->opening_n) != 0;
}

static void read_new(pb_log *log, int fd, uint64_t size, pb_scratch *scratch) {
    size_t kept = 0; /* bytes at the front of scratch that stand at log->offset */
    uint64_t want = 0;
    int whole = log->offset == 0;
    if (log->offset == size) {
        log->end = PB_END_CLEAN;
        return;
    }
    for (;;) {
        uint64_t left = size - log->offset - kept;
        if (!left) break;
        size_t room = want > PIECE ? want : PIECE;
        if (room < kept + 1) room = kept + PIECE;
        /* A record that the file is too short for is a torn tail, and asks for no memory. */
        if (want > size - log->offset) break;
        if (!reserve(scratch, room)) {
            log->end = PB_END_NO_MEMORY;
            break;
        }
        size_t ask = room - kept;
        if (ask > left) ask = (size_t)left;
        ssize_t got = read_at(fd, scratch->bytes + kept, ask, log->offset + kept);
        if (got < 0) {
            log->end = PB_END_ERRNO;
            log->error = errno;
            break;
        }
        if (!got) break; /* cut while it was read: the next look will notice */
        kept += (size_t)got;
        pthread_mutex_lock(&log->lock);
        size_t taken = pb_feed(log, scratch->bytes, kept, &want);
        pthread_mutex_unlock(&log->lock);
        if (log->end > PB_END_TORN) break;
        kept -= taken;
        memmove(scratch->bytes, scratch->bytes + taken, kept);
    }
    if (whole) {
        pthread_mutex_lock(&log->lock);
        pb_log_trim(log);
        pthread_mutex_unlock(&log->lock);
    }
}

/* The caller holds log->loading. */
static void load(pb_log *log, const char *path, pb_scratch *scratch) {
    struct stat st;
    log->error = 0;
    /* O_NONBLOCK: a pipe with this name must not hold us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) {
        log->end = PB_END_ERRNO;
        log->error = errno;
        if (fd >= 0) close(fd);
        return;
    }
    if (!S_ISREG(st.st_mode)) log->end = PB_END_NOT_A_FILE;
    else {
        if (rewritten(log, fd, &st)) {
            pthread_mutex_lock(&log->lock);
            pb_log_reset(log, log->version_at_start, log->most_recent_at_start);
            pthread_mutex_unlock(&log->lock);
        }
        log->dev = st.st_dev;
        log->ino = st.st_ino;
        log->size = (uint64_t)st.st_size;
        log->mtime_ns = mtime_ns(&st);
        read_new(log, fd, log->size, scratch);
    }
    close(fd);
}

void pb_load(pb_log *log, const char *path, pb_scratch *scratch) {
    pthread_mutex_lock(&log->loading);
    load(log, path, scratch);
    pthread_mutex_unlock(&log->loading);
}

void pb_reload(pb_log *log, const char *path, uint64_t generation, pb_scratch *scratch) {
    pthread_mutex_lock(&log->loading);
    if (log->generation == generation) {
        pthread_mutex_lock(&log->lock);
        pb_log_reset(log, log->version_at_start, log->most_recent_at_start);
        pthread_mutex_unlock(&log->lock);
        load(log, path, scratch);
    }
    pthread_mutex_unlock(&log->loading);
}

void pb_batch_work(pb_batch *batch) {
    pb_scratch scratch = {0};
    for (;;) {
        if (__atomic_load_n(&batch->cancelled, __ATOMIC_RELAXED)) break;
        size_t i = __atomic_fetch_add(&batch->cursor, 1, __ATOMIC_RELAXED);
        if (i >= batch->n) break;
        pb_load(batch->logs[i], batch->paths[i], &scratch);
        __atomic_fetch_add(&batch->done, 1, __ATOMIC_RELAXED);
        if (scratch.cap > 16u << 20) { /* one giant record is no reason to keep its room */
            free(scratch.bytes);
            scratch = (pb_scratch){0};
        }
    }
    free(scratch.bytes);
}
