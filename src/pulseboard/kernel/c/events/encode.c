/* Encoding: scalars packed into one Event, framed with both checksums, written at a known offset. */
#define _GNU_SOURCE
#include "encode.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "files.h"

static int reserve(pb_buffer *b, size_t more) {
    if (b->cap - b->n >= more) return 1;
    size_t cap = b->cap ? b->cap : 4096;
    while (cap - b->n < more) cap *= 2;
    uint8_t *bytes = realloc(b->bytes, cap);
    if (!bytes) return 0;
    b->bytes = bytes;
    b->cap = cap;
    return 1;
}

void pb_buffer_free(pb_buffer *b) {
    free(b->bytes);
    *b = (pb_buffer){0};
}

static inline size_t put_varint(uint8_t *to, uint64_t v) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) to[n++] = (uint8_t)(v | 0x80);
    to[n++] = (uint8_t)v;
    return n;
}

static inline size_t varint_size(uint64_t v) {
    size_t n = 1;
    for (; v >= 0x80; v >>= 7) n++;
    return n;
}

enum { FRAME_HEAD = 12, MAX_EVENT_HEAD = 9 + 11 + 11, FRONT = FRAME_HEAD + MAX_EVENT_HEAD };

/* The size of the event's head depends on the total size of its values, so leave room for the longest. */
int pb_scalars_begin(pb_buffer *b, int64_t step, double wall) {
    if (!reserve(b, FRONT)) return 0;
    b->record_start = b->n;
    b->step = step;
    b->wall = wall;
    b->n += FRONT;
    return 1;
}

/* Whether a value loses more than its last digits as float32: it is large, and not a float32, or it is too small. */
static inline int needs_double(double value) {
    double size = fabs(value);
    if (size >= 16777216.0) return (double)(float)value != value && size <= DBL_MAX;
    return size < FLT_MIN && size > 0;
}

/* Summary.Value.metadata (9), which names the plugin "scalars", and the start of its tensor (8): dtype double (1: 2) and
 * one double_val (6), whose 8 bytes follow. */
static const uint8_t DOUBLE_TENSOR[] = {0x4a, 11,  0x0a, 9,    0x0a, 7,    's', 'c',  'a', 'l',
                                        'a',  'r', 's',  0x42, 12,   0x08, 2,   0x32, 8};

int pb_scalars_add(pb_buffer *b, const char *tag, size_t tag_len, double value, int wide) {
    wide = wide && needs_double(value);
    size_t inner = 1 + varint_size(tag_len) + tag_len + (wide ? sizeof DOUBLE_TENSOR + 8 : 5);
    if (!reserve(b, 1 + 10 + inner)) return 0;
    uint8_t *p = b->bytes + b->n;
    *p++ = 0x0a; /* value */
    p += put_varint(p, inner);
    *p++ = 0x0a; /* tag */
    p += put_varint(p, tag_len);
    memcpy(p, tag, tag_len);
    p += tag_len;
    if (wide) {
        memcpy(p, DOUBLE_TENSOR, sizeof DOUBLE_TENSOR);
        memcpy(p + sizeof DOUBLE_TENSOR, &value, 8);
        p += sizeof DOUBLE_TENSOR + 8;
    } else {
        float narrow = (float)value;
        *p++ = 0x15; /* simple_value */
        memcpy(p, &narrow, 4);
        p += 4;
    }
    b->n = (size_t)(p - b->bytes);
    return 1;
}

static int close_frame(pb_buffer *b) {
    if (!reserve(b, 4)) return 0;
    uint8_t *frame = b->bytes + b->record_start;
    uint64_t length = b->n - b->record_start - FRAME_HEAD;
    uint32_t head = pb_length_crc(length), tail = pb_crc32c_mask(pb_crc32c(frame + FRAME_HEAD, length));
    memcpy(frame, &length, 8);
    memcpy(frame + 8, &head, 4);
    memcpy(b->bytes + b->n, &tail, 4);
    b->n += 4;
    return 1;
}

int pb_scalars_end(pb_buffer *b) {
    uint8_t head[MAX_EVENT_HEAD], *p = head, *values = b->bytes + b->record_start + FRONT;
    size_t size = b->n - b->record_start - FRONT;
    *p++ = 0x09; /* wall_time */
    memcpy(p, &b->wall, 8);
    p += 8;
    if (b->step) { /* proto3 omits a zero */
        *p++ = 0x10;
        p += put_varint(p, (uint64_t)b->step);
    }
    *p++ = 0x2a; /* summary */
    p += put_varint(p, size);
    size_t head_size = (size_t)(p - head);
    uint8_t *event = b->bytes + b->record_start + FRAME_HEAD;
    memmove(event + head_size, values, size);
    memcpy(event, head, head_size);
    b->n = b->record_start + FRAME_HEAD + head_size + size;
    return close_frame(b);
}

int pb_bytes_add(pb_buffer *b, const uint8_t *bytes, size_t n) {
    if (!reserve(b, n)) return 0;
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    return 1;
}

int pb_record_add(pb_buffer *b, const uint8_t *payload, size_t n) {
    if (!reserve(b, FRAME_HEAD + n + 4)) return 0;
    b->record_start = b->n;
    memcpy(b->bytes + b->n + FRAME_HEAD, payload, n);
    b->n += FRAME_HEAD + n;
    return close_frame(b);
}

void pb_buffer_drop(pb_buffer *b, size_t n) {
    if (n >= b->n) {
        pb_buffer_free(b); /* it may have grown large while the disk was full */
        return;
    }
    memmove(b->bytes, b->bytes + n, b->n - n);
    b->n -= n;
}

int pb_buffer_write(pb_buffer *b, int fd, uint64_t *offset) {
    size_t done = 0;
    while (done < b->n) {
        ssize_t k = pb_pwrite(fd, b->bytes + done, b->n - done, *offset + done);
        if (k < 0 && errno == EINTR) continue;
        /* The file may now end in half a record. *offset has not moved, so the next try overwrites it. */
        if (k < 0) return errno;
        if (!k) return EIO;
        done += (size_t)k;
    }
    *offset += b->n;
    b->n = 0;
    return 0;
}
