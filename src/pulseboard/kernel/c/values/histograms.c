/* Stored histograms to arrays. What is unusual is left to tbformat, which knows every layout and says what is wrong. */
#include "histograms.h"

#include <math.h>

#include "wire.h"

/* A field as writers store it: the key is one byte. 0 if it is anything else. */
static int next_field(pb_ptr *pp, pb_ptr end, pb_field *f) { return **pp < 0x80 && pb_next(pp, end, f); }

#define KEY(number, wire) ((number) << 3 | (wire))
static uint32_t key_of(const pb_field *f) { return KEY(f->number, f->wire); }

size_t pb_histogram_room(size_t n, uint32_t field) {
    /* A tensor may store floats. */
    return field == PB_TENSOR_HISTOGRAM_FIELD ? n / 4 : n / 8;
}

/* The one field of a Summary.Value that holds its content. 0 if there are others that matter. */
static int find_content(pb_ptr p, pb_ptr end, uint32_t field, pb_field *content) {
    pb_field f = {0};
    int found = 0;
    while (p < end) {
        if (!next_field(&p, end, &f)) return 0;
        switch (key_of(&f)) {
        case KEY(1, PB_BYTES): /* the tag */
        case KEY(7, PB_BYTES): break;
        case KEY(5, PB_BYTES):
        case KEY(8, PB_BYTES):
            if (found || f.number != field) return 0;
            found = 1;
            *content = f;
            break;
        default: return 0; /* metadata of its own is checked elsewhere */
        }
    }
    return found;
}

/* ---------- the old form */

/* How far apart the limits of two histograms in a row may begin, if one has a part of the other's. */
enum { MAX_SHIFT = 64 };

static int are_limits(const pb_histogram_numbers *to, size_t from, const pb_field *limits) {
    return from + limits->len / 8 <= to->limit_n &&
           !memcmp(to->numbers + to->limits_at + from, limits->body, limits->len);
}

static size_t shared_limits(pb_histogram_numbers *to, const pb_field *limits) {
    if (!limits->len) return to->used;
    size_t begin = to->near > MAX_SHIFT ? to->near - MAX_SHIFT : 0;
    if (are_limits(to, to->near, limits)) return to->limits_at + to->near;
    for (size_t from = begin; from < to->limit_n && from <= to->near + MAX_SHIFT; from++)
        if (!memcmp(to->numbers + to->limits_at + from, limits->body, 8) && are_limits(to, from, limits)) {
            to->near = from;
            return to->limits_at + from;
        }
    to->near = 0;
    to->limits_at = to->used;
    to->limit_n = limits->len / 8;
    memcpy(to->numbers + to->used, limits->body, limits->len);
    to->used += to->limit_n;
    return to->limits_at;
}

static void show_buckets(const double *counts, pb_stored_histogram *h) {
    int64_t first = 0, last = h->count_n - 1;
    while (first <= last && !(counts[first] > 0)) first++;
    while (last >= first && !(counts[last] > 0)) last--;
    h->first = first;
    h->shown_n = last - first + 1;
}

static int decode_old(const pb_field *content, pb_histogram_numbers *to, pb_stored_histogram *h) {
    pb_ptr p = content->body, end = p + content->len;
    double numbers[5] = {0};
    pb_field f = {0}, limits = {0}, counts = {0};
    while (p < end) {
        if (!next_field(&p, end, &f)) return 0;
        if (f.wire == PB_FIXED64 && f.number >= 1 && f.number <= 5) numbers[f.number - 1] = pb_ldf64(f.body);
        else if (key_of(&f) == KEY(6, PB_BYTES) && !limits.number && f.len % 8 == 0) limits = f;
        else if (key_of(&f) == KEY(7, PB_BYTES) && !counts.number && f.len % 8 == 0) counts = f;
        else return 0;
    }
    h->min = numbers[0];
    h->max = numbers[1];
    h->num = numbers[2];
    h->sum = numbers[3];
    h->sum_squares = numbers[4];
    h->limit_n = (int64_t)(limits.len / 8);
    h->count_n = (int64_t)(counts.len / 8);
    h->limits_at = (int64_t)shared_limits(to, &limits);
    h->at = (int64_t)to->used;
    if (counts.len) memcpy(to->numbers + to->used, counts.body, counts.len);
    show_buckets(to->numbers + to->used, h);
    if (h->shown_n && h->limit_n < h->first + h->shown_n - 1) return 0; /* too few limits */
    to->used += (size_t)h->count_n;
    return 1;
}

/* ---------- the tensor form */

/* The number of rows of a shape of rows x 3; 0 if it is anything else. */
static uint64_t rows_of(const pb_field *shape) {
    uint64_t sizes[2] = {0};
    int rank = 0;
    pb_field f = {0}, size = {0};
    for (pb_ptr p = shape->body, end = p + shape->len; p < end; rank++) {
        if (rank == 2 || !next_field(&p, end, &f) || key_of(&f) != KEY(2, PB_BYTES)) return 0;
        pb_ptr q = f.body, q_end = q + f.len;
        if (q == q_end || !next_field(&q, q_end, &size) || key_of(&size) != KEY(1, PB_VARINT) || q != q_end) return 0;
        sizes[rank] = size.varint;
    }
    return rank == 2 && sizes[1] == 3 ? sizes[0] : 0;
}

static int decode_tensor(const pb_field *content, pb_histogram_numbers *to, pb_stored_histogram *h) {
    pb_ptr p = content->body, end = p + content->len;
    pb_field f = {0}, shape = {0}, numbers = {0};
    uint64_t type = 0;
    while (p < end) {
        if (!next_field(&p, end, &f)) return 0;
        switch (key_of(&f)) {
        case KEY(1, PB_VARINT): type = f.varint; break;
        case KEY(2, PB_BYTES):
            if (shape.number) return 0;
            shape = f;
            break;
        case KEY(4, PB_BYTES): /* the bytes of all numbers, float_val, double_val */
        case KEY(5, PB_BYTES):
        case KEY(6, PB_BYTES):
            if (numbers.number) return 0;
            numbers = f;
            break;
        default: return 0;
        }
    }
    size_t size = type == 1 ? 4 : type == 2 ? 8 : 0; /* DT_FLOAT, DT_DOUBLE */
    uint64_t rows = shape.number ? rows_of(&shape) : 0;
    if (!size || !rows || (numbers.number == 5 && size != 4) || (numbers.number == 6 && size != 8)) return 0;
    if (numbers.len % (3 * size) || rows != numbers.len / (3 * size)) return 0;
    double *out = to->numbers + to->used;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t k = 0; k < 3; k++) {
            pb_ptr at = numbers.body + (3 * i + k) * size;
            out[k * rows + i] = size == 4 ? (double)pb_ldf32(at) : pb_ldf64(at);
        }
    *h = (pb_stored_histogram){.at = (int64_t)to->used, .limit_n = -1, .shown_n = (int64_t)rows};
    to->used += 3 * rows;
    return 1;
}

int pb_decode_histogram(const uint8_t *value, size_t n, uint32_t field, pb_histogram_numbers *to,
                        pb_stored_histogram *h) {
    pb_field content;
    size_t used = to->used;
    if (find_content(value, value + n, field, &content) &&
        (field == PB_OLD_HISTOGRAM_FIELD ? decode_old(&content, to, h) : decode_tensor(&content, to, h)))
        return 1;
    if (to->used != used) *to = (pb_histogram_numbers){.numbers = to->numbers, .used = used};
    h->at = -1;
    return 0;
}
