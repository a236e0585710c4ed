/* Checksums of an index, and bounded reads from its head. */
#include "index_format.h"

#include <string.h>

#include "files.h"

/* ---------- checksums: of 64-bit words, because nearly everything in an index consists of them */

static inline uint64_t mix(uint64_t sum, uint64_t word) {
    __uint128_t m = (__uint128_t)(sum ^ word ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

uint64_t pb_index_sum(uint64_t sum, const void *bytes, size_t n) {
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

/* ---------- reading */

void pb_index_get(pb_index_cursor *cursor, void *to, size_t n) {
    if (cursor->failed || (size_t)(cursor->end - cursor->p) < n) {
        cursor->failed = 1;
        memset(to, 0, n);
        return;
    }
    if (n) memcpy(to, cursor->p, n);
    cursor->p += n;
}

uint64_t pb_index_get_u64(pb_index_cursor *cursor) {
    uint64_t v;
    pb_index_get(cursor, &v, 8);
    return v;
}

int pb_index_open_stored(const pb_log *log) {
    pb_file_info info;
    if (!log->stored_path) return -1;
    int fd = pb_open(log->stored_path);
    if (fd < 0) return -1;
    if (!pb_info_of(fd, &info) || info.dev != log->stored_dev || info.ino != log->stored_ino) {
        close(fd);
        return -1;
    }
    return fd;
}
