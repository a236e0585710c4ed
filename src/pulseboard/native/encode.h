/* Events to bytes: the frames a writer hands to the system. */
#ifndef PB_ENCODE_H
#define PB_ENCODE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that wait to be written. `open_at` is where the record under construction begins. */
typedef struct {
    uint8_t *bytes;
    size_t n, cap;
    size_t open_at;
    int64_t step; /* of that record */
    double wall;
} pb_buffer;

void pb_buffer_free(pb_buffer *b);

/* One record of many scalars: pb_scalars_begin, pb_scalars_add for each, pb_scalars_end.
 * Every call that adds returns 0 when memory ran out. */
int pb_scalars_begin(pb_buffer *b, int64_t step, double wall);
int pb_scalars_add(pb_buffer *b, const char *tag, size_t tag_len, float value);
int pb_scalars_end(pb_buffer *b);

/* Bytes that are framed already. */
int pb_bytes_add(pb_buffer *b, const uint8_t *bytes, size_t n);

/* One record of a message that is encoded already. */
int pb_record_add(pb_buffer *b, const uint8_t *payload, size_t n);

/* Writes what waits at *offset of the file, and moves *offset on. 0, or errno: then nothing that
 * waits is lost, and the next call writes over what the failed one may have left. */
int pb_buffer_write(pb_buffer *b, int fd, uint64_t *offset);

#endif
