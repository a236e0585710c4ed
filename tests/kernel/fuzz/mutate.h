/* Byte buffers, a reproducible random stream, and mutations that keep frames and protobuf messages intact. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "wire.h"

/* ---------- buffers */

typedef struct {
    uint8_t *p;
    size_t n, cap;
} buffer;

static void must(void *p) {
    if (p) return;
    fprintf(stderr, "fuzz: no memory for the fuzzer itself\n");
    exit(3);
}

static void put(buffer *b, const void *p, size_t n) {
    if (b->n + n > b->cap) {
        b->cap = (b->n + n) * 2 + 64;
        must(b->p = realloc(b->p, b->cap));
    }
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void put_byte(buffer *b, uint8_t v) { put(b, &v, 1); }

static void put_varint(buffer *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7) put_byte(b, (uint8_t)v | 0x80);
    put_byte(b, (uint8_t)v);
}

static void put_field(buffer *b, uint32_t number, const void *p, size_t n) {
    put_varint(b, (uint64_t)number << 3 | PB_BYTES);
    put_varint(b, n);
    put(b, p, n);
}

/* Appends the contents of `from` to `to` as one field, and empties `from`. */
static void put_message(buffer *to, uint32_t number, buffer *from) {
    put_field(to, number, from->p, from->n);
    from->n = 0;
}

static void put_number(buffer *b, uint32_t number, uint64_t v) {
    put_varint(b, (uint64_t)number << 3 | PB_VARINT);
    put_varint(b, v);
}

static void put_double(buffer *b, uint32_t number, double v) {
    put_varint(b, (uint64_t)number << 3 | PB_FIXED64);
    put(b, &v, 8);
}

static void put_float(buffer *b, uint32_t number, float v) {
    put_varint(b, (uint64_t)number << 3 | PB_FIXED32);
    put(b, &v, 4);
}

/* Replaces `n` bytes at `at` with others. */
static void splice(buffer *b, size_t at, size_t n, const void *by, size_t by_n) {
    buffer out = {0};
    put(&out, b->p, at);
    put(&out, by, by_n);
    put(&out, b->p + at + n, b->n - at - n);
    free(b->p);
    *b = out;
}

static void put_frame(buffer *to, const void *payload, uint64_t n) {
    uint32_t head = pb_length_crc(n), tail = pb_crc32c_mask(pb_crc32c(payload, n));
    put(to, &n, 8);
    put(to, &head, 4);
    put(to, payload, n);
    put(to, &tail, 4);
}

/* ---------- random numbers (splitmix64) */

typedef struct {
    uint64_t s;
} stream;

static uint64_t draw(stream *r) {
    uint64_t z = r->s += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static size_t below(stream *r, size_t n) { return n ? draw(r) % n : 0; }
static int one_in(stream *r, size_t n) { return below(r, n) == 0; }

/* Mostly small, sometimes up to `n`. */
static size_t short_below(stream *r, size_t n) {
    size_t cap = one_in(r, 8) ? n : one_in(r, 2) ? 64 : 8;
    return below(r, cap < n ? cap : n);
}

static uint64_t odd_number(stream *r) {
    static const uint64_t edges[] = {
        0,
        1,
        2,
        3,
        7,
        8,
        15,
        16,
        23,
        24,
        127,
        128,
        255,
        256,
        1023,
        1024,
        65535,
        65536,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
        0x100000000,
        0x7FFFFFFFFFFFFFFF,
        0x8000000000000000,
        0xFFFFFFFFFFFFFFFF,
        0xFFFFFFFFFFFFFFF0,
    };
    uint64_t v = edges[below(r, sizeof edges / sizeof *edges)];
    return one_in(r, 3) ? v + below(r, 9) - 4 : v;
}

/* ---------- bytes */

static void put_varint_bomb(stream *r, buffer *b) {
    size_t n = 1 + below(r, 14);
    while (n--) put_byte(b, (uint8_t)draw(r) | 0x80);
    if (one_in(r, 2)) put_byte(b, (uint8_t)draw(r) & 0x7F);
}

static void mutate_bytes(stream *r, buffer *b, const buffer *other) {
    size_t at = below(r, b->n + 1), left = b->n - at, n;
    buffer with = {0};
    uint64_t v;
    switch (below(r, 10)) {
    case 0: /* a bit */
        if (left) b->p[at] ^= (uint8_t)(1u << below(r, 8));
        break;
    case 1: /* a byte */
        if (left) b->p[at] = (uint8_t)draw(r);
        break;
    case 2: /* bytes inserted */
        for (n = short_below(r, 256); n; n--) put_byte(&with, (uint8_t)draw(r));
        splice(b, at, 0, with.p, with.n);
        break;
    case 3: /* bytes deleted */ splice(b, at, short_below(r, left + 1), NULL, 0); break;
    case 4: /* cut short */ b->n = at; break;
    case 5: /* a part of another input */
        n = below(r, other->n + 1);
        splice(b, at, one_in(r, 2) ? short_below(r, left + 1) : 0, other->p + n, short_below(r, other->n - n + 1));
        break;
    case 6: /* a range repeated */
        n = short_below(r, left + 1);
        put(&with, b->p + at, n);
        splice(b, at, 0, with.p, with.n);
        break;
    case 7: /* an integer of 1, 2, 4 or 8 bytes */
        n = (size_t)1 << below(r, 4);
        v = odd_number(r);
        if (n <= left) memcpy(b->p + at, &v, n);
        break;
    case 8: /* a varint */
        put_varint(&with, odd_number(r));
        splice(b, at, below(r, left < 3 ? left + 1 : 3), with.p, with.n);
        break;
    case 9: /* an endless varint */
        put_varint_bomb(r, &with);
        splice(b, at, 0, with.p, with.n);
        break;
    }
    free(with.p);
}

/* ---------- messages */

enum { MAX_FIELDS = 256 };

/* Changes something inside a message at any depth and corrects the enclosing lengths, so that the parser
 * reaches the change; sometimes leaves a length wrong. */
static void mutate_message(stream *r, buffer *b, const buffer *other, int depth) {
    struct {
        pb_ptr start, end;
        pb_field f;
    } fields[MAX_FIELDS];
    size_t n = 0;
    pb_ptr p = b->p, end = b->p + b->n;
    while (n < MAX_FIELDS && p < end) {
        fields[n].start = p;
        if (!pb_next(&p, end, &fields[n].f)) break;
        fields[n++].end = p;
    }
    if (!n || one_in(r, 12)) {
        mutate_bytes(r, b, other);
        return;
    }
    size_t i = below(r, n), at = (size_t)(fields[i].start - b->p), len = (size_t)(fields[i].end - fields[i].start);
    pb_field *f = &fields[i].f;
    buffer with = {0}, body = {0};
    size_t pick = below(r, 16);
    if (pick == 0) { /* remove the field */
    } else if (pick == 1) { /* repeat the field */
        put(&with, fields[i].start, len);
        put(&with, fields[i].start, len);
    } else if (pick == 2) { /* put another field in its place, or before it */
        size_t j = below(r, n);
        put(&with, fields[j].start, (size_t)(fields[j].end - fields[j].start));
        if (one_in(r, 2)) put(&with, fields[i].start, len);
    } else if (pick == 3) { /* change its number or wire type */
        put_varint(&with, one_in(r, 8) ? odd_number(r) : below(r, 20) << 3 | below(r, 8));
        put(&with, f->body, (size_t)(fields[i].end - f->body));
    } else if (pick == 4) { /* wrap it in a group of any depth, closed or not */
        size_t depth_of_group = 1 + short_below(r, 512);
        for (size_t k = 0; k < depth_of_group; k++) put_varint(&with, 15 << 3 | PB_GROUP);
        put(&with, fields[i].start, len);
        if (one_in(r, 4)) depth_of_group = below(r, depth_of_group + 2);
        for (size_t k = 0; k < depth_of_group; k++) put_varint(&with, 15 << 3 | PB_GROUP_END);
    } else if (f->wire == PB_BYTES) {
        put(&body, f->body, f->len);
        if (depth && pick > 6) mutate_message(r, &body, other, depth - 1);
        else mutate_bytes(r, &body, other);
        put_varint(&with, (uint64_t)f->number << 3 | PB_BYTES);
        put_varint(&with, one_in(r, 16) ? odd_number(r) : one_in(r, 16) ? body.n + below(r, 5) - 2 : body.n);
        put(&with, body.p, body.n);
    } else if (f->wire == PB_VARINT) {
        put_number(&with, f->number, one_in(r, 3) ? draw(r) >> below(r, 64) : odd_number(r));
    } else {
        put(&with, fields[i].start, len);
        mutate_bytes(r, &with, other);
    }
    splice(b, at, len, with.p, with.n);
    free(with.p);
    free(body.p);
}

/* ---------- files */

/* The frame at `at`, by its length field and without checking checksums; 0 if it is not complete. */
static int frame_at(const buffer *b, size_t at, size_t *payload, size_t *n) {
    if (b->n - at < 16) return 0;
    uint64_t len = pb_ld64(b->p + at);
    if (len > b->n - at - 16) return 0;
    *payload = at + 12;
    *n = (size_t)len;
    return 1;
}

/* A damaged frame, or one with an impossible length. */
static void put_bad_frame(stream *r, buffer *to, const buffer *payload) {
    size_t start = to->n;
    uint64_t len = one_in(r, 2) ? odd_number(r) : payload->n + below(r, 64);
    uint32_t crc = pb_length_crc(len);
    switch (below(r, 4)) {
    case 0: /* payload checksum */
        put_frame(to, payload->p, payload->n);
        to->p[to->n - 1 - below(r, 4)] ^= (uint8_t)(1 + below(r, 255));
        break;
    case 1: /* length checksum */
        put_frame(to, payload->p, payload->n);
        to->p[start + below(r, 12)] ^= (uint8_t)(1 + below(r, 255));
        break;
    default: /* a wrong length with a good checksum */
        put(to, &len, 8);
        put(to, &crc, 4);
        put(to, payload->p, payload->n);
    }
}

/* Makes an input from another: changes, repeats, removes and exchanges records. */
static void mutate_file(stream *r, buffer *out, const buffer *base, const buffer *other) {
    out->n = 0;
    if (one_in(r, 10)) { /* change raw bytes and let checksums fail */
        put(out, base->p, base->n);
        for (size_t n = 1 + short_below(r, 16); n; n--) mutate_bytes(r, out, other);
        return;
    }
    size_t at = 0, from, n, other_at = 0, count = 0;
    for (; frame_at(base, at, &from, &n); at += n + 16) count++;
    size_t often = 1 + below(r, count + 1); /* about one record in `often` is changed */
    buffer payload = {0};
    for (at = 0; frame_at(base, at, &from, &n); at += n + 16) {
        payload.n = 0;
        put(&payload, base->p + from, n);
        size_t other_from, other_n;
        if (one_in(r, often)) {
            size_t pick = below(r, 16);
            if (pick == 0) continue;
            if (pick == 1) put_frame(out, payload.p, payload.n);
            if (pick == 2 && frame_at(other, other_at, &other_from, &other_n)) {
                put_frame(out, other->p + other_from, other_n);
                other_at += other_n + 16;
            }
            for (size_t k = 1 + below(r, 4); k; k--)
                if (pick < 5) mutate_bytes(r, &payload, other);
                else mutate_message(r, &payload, other, 5);
            if (one_in(r, 12)) {
                put_bad_frame(r, out, &payload);
                continue;
            }
        }
        put_frame(out, payload.p, payload.n);
    }
    put(out, base->p + at, base->n - at);
    if (one_in(r, 8)) out->n -= short_below(r, out->n + 1); /* a torn tail */
    free(payload.p);
}

#endif
