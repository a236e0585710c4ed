/* Reading from a known offset of an open file. */
#ifndef PB_READ_AT_H
#define PB_READ_AT_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* Reads up to n bytes; fewer at the end of the file; -1 on error. */
static inline ssize_t pb_read_at(int fd, void *to, size_t n, uint64_t offset) {
    size_t got = 0;
    while (got < n) {
        ssize_t k = pread(fd, (uint8_t *)to + got, n - got, (off_t)(offset + got));
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        if (!k) break;
        got += (size_t)k;
    }
    return (ssize_t)got;
}

#endif
