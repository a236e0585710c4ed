/* The same bytes in files that grow, change and disappear. */
#ifndef FUZZ_CHECK_FILES_H
#define FUZZ_CHECK_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_feed.h"
#include "seeds.h"

static char folder[256], path[300], replacement[300];

static void remove_folder(void) {
    unlink(path);
    unlink(replacement);
    rmdir(folder);
}

static void make_folder(void) {
    if (folder[0]) return;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/pulseboard-fuzz-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder)) {
        fprintf(stderr, "fuzz: cannot make a temporary folder: %s. Set TMPDIR to a writable one. %s\n", strerror(errno),
                folder);
        exit(3);
    }
    snprintf(path, sizeof path, "%s/events", folder);
    snprintf(replacement, sizeof replacement, "%s/replacement", folder);
    atexit(remove_folder);
}

static void write_file(const char *to, int flags, const uint8_t *data, size_t n) {
    int fd = open(to, O_WRONLY | O_CREAT | flags, 0600);
    if (fd < 0 || (n && write(fd, data, n) != (ssize_t)n)) {
        fprintf(stderr, "fuzz: cannot write a temporary file: %s. %s\n", strerror(errno), to);
        exit(3);
    }
    close(fd);
}

static void require_same_as_fed(const pb_log *log, const uint8_t *data, size_t n, const char *how) {
    pb_log *fresh = fed(data, n);
    check_log(log, n, 0, how);
    require_same(log, fresh, 1, how);
    pb_log_free(fresh);
}

/* Truncates, replaces or overwrites the file after it was read; `now` is its content. It must then be read as it is
 * now. 0 if the kernel could not notice the change. */
static int check_changed_file(pb_log *log, pb_scratch *scratch, buffer *now, stream *r) {
    uint64_t generation = log->generation, offset = log->offset;
    uint8_t *before = malloc(offset + 1);
    must(before);
    if (offset) memcpy(before, now->p, offset);
    size_t how = below(r, 4);
    if (how == 0) now->n = below(r, now->n + 1);
    else
        for (size_t k = below(r, 4); k; k--) mutate_bytes(r, now, now);
    int noticed = now->n < offset;
    if (how == 0 && truncate(path, (off_t)now->n)) fail("truncate: %s", strerror(errno));
    if (how == 1) { /* another file is renamed to its name */
        write_file(replacement, O_TRUNC, now->p, now->n);
        if (rename(replacement, path)) fail("rename: %s", strerror(errno));
        noticed = offset > 0;
    }
    if (how >= 2) { /* the same file, overwritten */
        write_file(path, O_TRUNC, now->p, now->n);
        noticed |= offset && now->n >= offset &&
                   (memcmp(now->p + offset - log->last_bytes_n, log->last_bytes, log->last_bytes_n) != 0 ||
                    memcmp(now->p, log->first_bytes, log->first_bytes_n) != 0);
    }
    pb_load(log, path, scratch);
    REQUIRE(log->generation == generation + (uint64_t)noticed, "a changed file was %s",
            noticed ? "not noticed" : "noticed without a change");
    /* The kernel compares only the first bytes and those before the offset: it cannot see a change in between. */
    int readable = noticed || !offset || !memcmp(now->p, before, offset);
    if (readable) require_same_as_fed(log, now->p, now->n, "from a file that changed");
    free(before);
    return readable;
}

static void check_file(const pb_log *whole, const uint8_t *data, size_t n, stream *r) {
    make_folder();
    pb_log *log = new_log();
    pb_scratch scratch = {0};
    size_t written = below(r, n + 1);
    write_file(path, O_TRUNC, data, written);
    pb_load(log, path, &scratch);
    check_log(log, written, 0, "from a file");
    while (written < n) {
        size_t more = 1 + below(r, n - written);
        write_file(path, O_APPEND, data + written, more);
        written += more;
        pb_load(log, path, &scratch);
    }
    check_log(log, n, 0, "from a file that grew");
    require_same(log, whole, 1, "from a file that grew");
    REQUIRE(log->generation == 0, "a file that only grew was read from the start");
    REQUIRE(scratch.cap <= n + (1 << 20), "%zu bytes of scratch for a file of %zu", scratch.cap, n);
    buffer now = {0};
    put(&now, data, n);
    for (size_t changes = below(r, 4); changes && check_changed_file(log, &scratch, &now, r); changes--) {}
    free(now.p);
    if (one_in(r, 8)) {
        unlink(path);
        uint64_t points = log->points;
        pb_load(log, path, &scratch);
        REQUIRE(log->end == PB_END_ERRNO && log->error == ENOENT, "a missing file is not reported as missing");
        REQUIRE(log->points == points, "points were lost with the file");
        pb_load(log, folder, &scratch);
        REQUIRE(log->end == PB_END_NOT_A_FILE, "a folder is treated as a file");
    }
    unlink(path);
    pb_scratch_free(&scratch);
    pb_log_free(log);
}

/* A file of many pieces of pb_load: the input repeated, a large record in the middle, and sometimes at the end the
 * start of a record that is longer than the file. */
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
    REQUIRE(scratch.cap <= file.n + (1 << 20), "%zu bytes of scratch for a file of %zu", scratch.cap, file.n);
    require_same_as_fed(log, file.p, file.n, "from a long file");
    pb_scratch_free(&scratch);
    pb_log_reset(log, 0, -1);
    const char *paths[] = {path};
    pb_batch batch = {.logs = &log, .paths = paths, .n = 1};
    pb_batch_work(&batch);
    REQUIRE(batch.done == 1, "a batch of one file read %zu", batch.done);
    require_same_as_fed(log, file.p, file.n, "from a long file of a batch");
    unlink(path);
    pb_log_free(log);
    free(file.p);
    free(graph.p);
}

#endif
