/* The parts of the index's layout that its writer and its reader share. */
#ifndef PB_INDEX_FORMAT_H
#define PB_INDEX_FORMAT_H

#include "events.h"

#define PB_INDEX_MAGIC "PBINDEX\1" /* without the final zero */
enum { PB_INDEX_MAGIC_SIZE = 8, PB_INDEX_FOOTER_SIZE = 32 };

/* The numbers in a log, in the order they are written. */
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
    uint8_t last_bytes[16], first_bytes[64];
    uint64_t last_bytes_n, first_bytes_n;
} pb_index_log;

/* The numbers of a tag; its name follows, then its two columns. */
typedef struct {
    uint64_t len, plugin, bytes, meta_offset, meta_length, cut_by, span_fields, next;
} pb_index_tag;

/* The numbers of a column; its cuts follow. */
typedef struct {
    uint64_t n, restarts_seen, cut_n, at, sum;
} pb_index_column;

/* Checksum of `n` bytes, continued from `sum`. */
uint64_t pb_index_sum(uint64_t sum, const void *bytes, size_t n);

/* Bytes of a head that are being read. A read past the end sets `failed` and gives zeros. */
typedef struct {
    const uint8_t *p, *end;
    int failed;
} pb_index_cursor;

void pb_index_get(pb_index_cursor *cursor, void *to, size_t n);
uint64_t pb_index_get_u64(pb_index_cursor *cursor);

/* Opens the index that the log was read from. -1 if it is missing or has been replaced. */
int pb_index_open_stored(const pb_log *log);

#endif
