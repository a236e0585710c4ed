/* Events to bytes: framed records, ready to be written to a file. */
#ifndef PB_ENCODE_H
#define PB_ENCODE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes queued for writing. `record_start` is where the unfinished record begins. */
typedef struct {
    uint8_t *bytes;
    size_t n, cap;
    size_t record_start;
    int64_t step; /* of that record */
    double wall;
} pb_buffer;

void pb_buffer_free(pb_buffer *b);

/* One record of many scalars: pb_scalars_begin, pb_scalars_add for each, pb_scalars_end.
 * `wide` stores what float32 cannot hold as a double: digits above 2^24, and numbers beyond float32's range.
 * All functions that add bytes return 0 if there is no memory. */
int pb_scalars_begin(pb_buffer *b, int64_t step, double wall);
int pb_scalars_add(pb_buffer *b, const char *tag, size_t tag_len, double value, int wide);
int pb_scalars_end(pb_buffer *b);

/* Bytes that are already framed. */
int pb_bytes_add(pb_buffer *b, const uint8_t *bytes, size_t n);

/* One record of a message that is already encoded. */
int pb_record_add(pb_buffer *b, const uint8_t *payload, size_t n);

/* Removes the first n bytes of the queue. */
void pb_buffer_drop(pb_buffer *b, size_t n);

/* Writes the queue at *offset of the file and advances *offset. Returns 0 or errno; after an error the
 * queue is kept, and the next call overwrites whatever the failed one wrote. */
int pb_buffer_write(pb_buffer *b, int fd, uint64_t *offset);

#endif
