/* TensorProto to number: from typed value fields, packed or not, or from raw content. */
#include "tensor.h"

#include <math.h>
#include <stddef.h>

enum {
    FLOAT = 1,
    DOUBLE = 2,
    INT32 = 3,
    UINT8 = 4,
    INT16 = 5,
    INT8 = 6,
    INT64 = 9,
    BOOL = 10,
    BFLOAT16 = 14,
    UINT16 = 17,
    HALF = 19,
    UINT32 = 22,
    UINT64 = 23,
};

static double from_half(uint32_t bits) {
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double v = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024.0 + fraction, (int)exponent - 25)
                              : ldexp(fraction, -24);
    return bits & 0x8000 ? -v : v;
}

static double from_bfloat16(uint32_t bits) {
    uint32_t wide = bits << 16;
    return pb_ldf32((pb_ptr)&wide);
}

/* Bytes of one value in raw content; 0 for a dtype that is not a number. */
static uint64_t content_size(uint64_t dtype) {
    switch (dtype) {
    case INT8:
    case UINT8:
    case BOOL: return 1;
    case INT16:
    case UINT16:
    case HALF:
    case BFLOAT16: return 2;
    case FLOAT:
    case INT32:
    case UINT32: return 4;
    case DOUBLE:
    case INT64:
    case UINT64: return 8;
    default: return 0;
    }
}

/* The number in content_size(dtype) bytes. */
static double from_content(uint64_t dtype, pb_ptr p) {
    uint64_t v = 0;
    memcpy(&v, p, content_size(dtype));
    switch (dtype) {
    case FLOAT: return pb_ldf32(p);
    case DOUBLE: return pb_ldf64(p);
    case HALF: return from_half((uint32_t)v);
    case BFLOAT16: return from_bfloat16((uint32_t)v);
    case INT8: return (double)(int8_t)v;
    case INT16: return (double)(int16_t)v;
    case INT32: return (double)(int32_t)v;
    case INT64: return (double)(int64_t)v;
    case BOOL: return v != 0;
    default: return (double)v;
    }
}

/* The field of TensorProto that holds a dtype's values. */
static uint32_t value_field(uint64_t dtype) {
    switch (dtype) {
    case FLOAT: return 5;
    case DOUBLE: return 6;
    case INT32:
    case UINT8:
    case INT16:
    case INT8:
    case UINT16: return 7;
    case INT64: return 10;
    case BOOL: return 11;
    case HALF:
    case BFLOAT16: return 13;
    case UINT32: return 16;
    case UINT64: return 17;
    default: return 0;
    }
}

static double from_varint(uint64_t dtype, uint64_t v) {
    switch (dtype) {
    case HALF: return from_half((uint32_t)v & 0xFFFF);
    case BFLOAT16: return from_bfloat16((uint32_t)v & 0xFFFF);
    case UINT32: return (double)(uint32_t)v;
    case UINT64: return (double)v;
    case BOOL: return v != 0;
    case INT64: return (double)(int64_t)v;
    default: return (double)(int32_t)v;
    }
}

static int one_element(pb_ptr p, pb_ptr end) {
    pb_field f = {0}, g = {0};
    while (p < end) {
        if (!pb_next(&p, end, &f)) return 0;
        if (f.number == 3 && f.wire == PB_VARINT && f.varint) return 0; /* unknown rank */
        if (f.number != 2 || f.wire != PB_BYTES) continue;
        uint64_t size = 0;
        for (pb_ptr q = f.body, q_end = q + f.len; q < q_end;) {
            if (!pb_next(&q, q_end, &g)) return 0;
            if (g.number == 1 && g.wire == PB_VARINT) size = g.varint;
        }
        if (size != 1) return 0;
    }
    return 1;
}

int pb_tensor_number(pb_ptr p, pb_ptr end, double *out) {
    pb_ptr start = p, content = NULL;
    uint64_t dtype = 0, content_len = 0, count = 0, v;
    pb_field f = {0};
    while (p < end) { /* first the dtype: fields can come in any order */
        if (!pb_next(&p, end, &f)) return 0;
        if (f.number == 1 && f.wire == PB_VARINT) dtype = f.varint;
        else if (f.number == 2 && f.wire == PB_BYTES && !one_element(f.body, f.body + f.len)) return 0;
        else if (f.number == 4 && f.wire == PB_BYTES) content = f.body, content_len = f.len;
    }
    if (content_len) {
        if (content_len != content_size(dtype)) return 0;
        *out = from_content(dtype, content);
        return 1;
    }
    uint32_t field = value_field(dtype);
    if (!field) return 0;
    for (p = start; p < end;) {
        if (!pb_next(&p, end, &f)) return 0;
        if (f.number != field) continue;
        if (field == 5 && (f.wire == PB_BYTES || f.wire == PB_FIXED32)) {
            if (f.len >= 4) *out = pb_ldf32(f.body);
            count += f.len / 4;
        } else if (field == 6 && (f.wire == PB_BYTES || f.wire == PB_FIXED64)) {
            if (f.len >= 8) *out = pb_ldf64(f.body);
            count += f.len / 8;
        } else if (field > 6 && f.wire == PB_VARINT) {
            *out = from_varint(dtype, f.varint);
            count++;
        } else if (field > 6 && f.wire == PB_BYTES) {
            for (pb_ptr q = f.body, q_end = q + f.len; q < q_end; count++) {
                if (!pb_varint(&q, q_end, &v)) return 0;
                *out = from_varint(dtype, v);
            }
        }
    }
    return count == 1;
}
