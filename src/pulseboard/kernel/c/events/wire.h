/* Protobuf's wire format: never allocates and never reads past `end`. */
#ifndef PB_WIRE_H
#define PB_WIRE_H

#include <stdint.h>
#include <string.h>

typedef const uint8_t *pb_ptr;

static inline uint64_t pb_ld64(pb_ptr p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline uint32_t pb_ld32(pb_ptr p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline double pb_ldf64(pb_ptr p) {
    double v;
    memcpy(&v, p, 8);
    return v;
}
static inline float pb_ldf32(pb_ptr p) {
    float v;
    memcpy(&v, p, 4);
    return v;
}

static inline int pb_varint(pb_ptr *pp, pb_ptr end, uint64_t *out) {
    pb_ptr p = *pp;
    if (__builtin_expect(p < end && *p < 0x80, 1)) {
        *out = *p;
        *pp = p + 1;
        return 1;
    }
    uint64_t v = 0;
    for (int shift = 0; p < end && shift < 70; shift += 7) {
        uint8_t b = *p++;
        if (shift < 64) v |= (uint64_t)(b & 0x7F) << shift;
        if (b < 0x80) {
            *out = v;
            *pp = p;
            return 1;
        }
    }
    return 0;
}

enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_GROUP = 3, PB_GROUP_END = 4, PB_FIXED32 = 5 };

/* One field. `body`..`body + len` is its content: 8 or 4 bytes for the fixed types. */
typedef struct {
    uint32_t number, wire;
    uint64_t varint;
    pb_ptr body;
    uint64_t len;
} pb_field;

/* Skips an unknown group, including nested ones. Counts instead of recursing: the file controls the
 * nesting depth, and must not overflow the stack. */
static inline int pb_skip_group(pb_ptr *pp, pb_ptr end) {
    uint64_t open = 1, key, n;
    while (open) {
        if (!pb_varint(pp, end, &key)) return 0;
        switch (key & 7) {
        case PB_VARINT:
            if (!pb_varint(pp, end, &n)) return 0;
            break;
        case PB_FIXED64:
            if (end - *pp < 8) return 0;
            *pp += 8;
            break;
        case PB_FIXED32:
            if (end - *pp < 4) return 0;
            *pp += 4;
            break;
        case PB_BYTES:
            if (!pb_varint(pp, end, &n) || n > (uint64_t)(end - *pp)) return 0;
            *pp += n;
            break;
        case PB_GROUP: open++; break;
        case PB_GROUP_END: open--; break;
        default: return 0;
        }
    }
    return 1;
}

/* Reads the field at *pp and moves past it. 0 if the bytes are not a field. */
static inline int pb_next(pb_ptr *pp, pb_ptr end, pb_field *f) {
    uint64_t key;
    if (!pb_varint(pp, end, &key)) return 0;
    f->number = (uint32_t)(key >> 3);
    f->wire = key & 7;
    f->body = *pp;
    switch (f->wire) {
    case PB_VARINT: return pb_varint(pp, end, &f->varint);
    case PB_FIXED64:
        if (end - *pp < 8) return 0;
        *pp += 8;
        f->len = 8;
        return 1;
    case PB_FIXED32:
        if (end - *pp < 4) return 0;
        *pp += 4;
        f->len = 4;
        return 1;
    case PB_BYTES:
        if (!pb_varint(pp, end, &f->len) || f->len > (uint64_t)(end - *pp)) return 0;
        f->body = *pp;
        *pp += f->len;
        return 1;
    case PB_GROUP: return pb_skip_group(pp, end);
    default: return 0;
    }
}

#endif
