/* Files: opening them without surprises, which file it is, and reading and writing at an offset. */
#ifndef PB_FILES_H
#define PB_FILES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef struct {
    uint64_t dev, ino, size;
    int64_t mtime_ns;
    int is_regular;
} pb_file_info;

#ifdef _WIN32
#include "files_windows.h"
#else
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PB_MAX_PATH = PATH_MAX };

static inline int pb_is_separator(char c) { return c == '/'; }

/* Opens a file for reading; -1 on error. O_NONBLOCK: a pipe with this name must not block us. */
static inline int pb_open(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

static inline pb_file_info pb_info_from(const struct stat *st) {
#ifdef __APPLE__
    const struct timespec *modified = &st->st_mtimespec;
#else
    const struct timespec *modified = &st->st_mtim;
#endif
    return (pb_file_info){
        .dev = (uint64_t)st->st_dev,
        .ino = (uint64_t)st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_ns = (int64_t)modified->tv_sec * 1000000000 + modified->tv_nsec,
        .is_regular = S_ISREG(st->st_mode),
    };
}

/* What an open file is; 0 on error. */
static inline int pb_info_of(int fd, pb_file_info *info) {
    struct stat st;
    if (fstat(fd, &st)) return 0;
    *info = pb_info_from(&st);
    return 1;
}

/* The path of an open file, without links; 0 if it cannot be found. */
static inline int pb_path_of(int fd, const pb_file_info *info, const char *path, char real[PB_MAX_PATH]) {
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, PB_MAX_PATH - 1);
    if (n >= 0) {
        real[n] = 0;
        return 1;
    }
    /* A system without /proc: the path now, if it still leads to this file. */
    struct stat now;
    return realpath(path, real) && !stat(real, &now) && (uint64_t)now.st_dev == info->dev &&
           (uint64_t)now.st_ino == info->ino;
}

static inline void pb_remove(const char *path) { unlink(path); }

static inline ssize_t pb_pread(int fd, void *to, size_t n, uint64_t offset) { return pread(fd, to, n, (off_t)offset); }

static inline ssize_t pb_pwrite(int fd, const void *from, size_t n, uint64_t offset) {
    return pwrite(fd, from, n, (off_t)offset);
}
#endif

/* Reads up to n bytes; fewer at the end of the file; -1 on error. */
static inline ssize_t pb_read_at(int fd, void *to, size_t n, uint64_t offset) {
    size_t got = 0;
    while (got < n) {
        ssize_t k = pb_pread(fd, (uint8_t *)to + got, n - got, offset + got);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        if (!k) break;
        got += (size_t)k;
    }
    return (ssize_t)got;
}

#endif
