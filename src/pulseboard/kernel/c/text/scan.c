// Numbers in the lines of a text file, by the shape of the line. See scan.h.
#include "scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "tokens.h"

// ---- memory

static int grow(void **array, uint64_t *capacity, uint64_t needed, size_t size) {
    if (needed <= *capacity) return 1;
    uint64_t wanted = *capacity ? *capacity : 1024;
    while (wanted < needed) wanted += wanted / 2;
    void *larger = realloc(*array, wanted * size);
    if (!larger) return 0;
    *array = larger;
    *capacity = wanted;
    return 1;
}

void pb_scan_init(pb_scan *scan, int mode, char delimiter, int decimal_comma) {
    memset(scan, 0, sizeof *scan);
    scan->mode = mode;
    scan->delimiter = delimiter;
    scan->decimal_comma = decimal_comma;
}

void pb_scan_free(pb_scan *scan) {
    free(scan->shapes);
    free(scan->row_lines);
    free(scan->row_shapes);
    free(scan->row_values);
    free(scan->values);
    free(scan->tokens);
    free(scan->token_values);
    memset(scan, 0, sizeof *scan);
}

// ---- shapes

static pb_shape *find(pb_shape *shapes, uint32_t capacity, uint64_t hash) {
    uint32_t at = (uint32_t)hash & (capacity - 1);
    while (shapes[at].used && shapes[at].hash != hash) at = (at + 1) & (capacity - 1);
    return &shapes[at];
}

static int32_t shape_of(const pb_scan *scan, uint64_t hash) {
    if (!scan->shape_capacity) return PB_SHAPE_UNKNOWN;
    const pb_shape *shape = find(scan->shapes, scan->shape_capacity, hash);
    const int is_full = scan->max_shapes && scan->shape_count >= scan->max_shapes;
    if (!shape->used) return is_full ? PB_SHAPE_IGNORED : PB_SHAPE_UNKNOWN;
    return shape->token_count == scan->token_count ? shape->id : PB_SHAPE_IGNORED;
}

int pb_scan_learn(pb_scan *scan, uint64_t hash, int32_t id) {
    if (2 * (scan->shape_count + 1) > scan->shape_capacity) {
        uint32_t capacity = scan->shape_capacity ? 2 * scan->shape_capacity : 256;
        pb_shape *larger = calloc(capacity, sizeof *larger);
        if (!larger) return -1;
        for (uint32_t i = 0; i < scan->shape_capacity; i++)
            if (scan->shapes[i].used) *find(larger, capacity, scan->shapes[i].hash) = scan->shapes[i];
        free(scan->shapes);
        scan->shapes = larger;
        scan->shape_capacity = capacity;
    }
    pb_shape *shape = find(scan->shapes, scan->shape_capacity, hash);
    scan->shape_count += !shape->used;
    *shape = (pb_shape){hash, id, scan->token_count, 1};
    return 0;
}

// ---- rows

static int keep(pb_scan *scan, int32_t id) {
    uint64_t rows = scan->row_count + 1, capacity = scan->row_capacity;
    if (rows > capacity) {
        uint64_t a = capacity, b = capacity, c = capacity;
        if (!grow((void **)&scan->row_lines, &a, rows, sizeof *scan->row_lines)) return 0;
        if (!grow((void **)&scan->row_shapes, &b, rows, sizeof *scan->row_shapes)) return 0;
        if (!grow((void **)&scan->row_values, &c, rows, sizeof *scan->row_values)) return 0;
        scan->row_capacity = a;
    }
    if (!grow((void **)&scan->values, &scan->value_capacity, scan->value_count + scan->token_count, sizeof(double)))
        return 0;
    scan->row_lines[scan->row_count] = scan->lines;
    scan->row_shapes[scan->row_count] = id;
    scan->row_values[scan->row_count] = scan->value_count;
    for (uint32_t i = 0; i < scan->token_count; i++)
        if (scan->tokens[i].type <= PB_TOKEN_UTC) scan->values[scan->value_count++] = scan->token_values[i];
    scan->row_count++;
    return 1;
}

// ---- lines

// The end of the line at `p`, or NULL if it is not complete. Line breaks: \n, \r\n, or \r alone, as progress bars use.
static const char *line_end(const char *p, const char *end, int last, size_t *break_length) {
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    const char *stop = lf ? lf : end;
    const char *cr = memchr(p, '\r', (size_t)(stop - p));
    if (cr && cr + 1 == end && !last) return NULL;  // may be half of \r\n
    if (cr) {
        *break_length = cr + 1 < end && cr[1] == '\n' ? 2 : 1;
        return cr;
    }
    if (lf) {
        *break_length = 1;
        return lf;
    }
    *break_length = 0;
    return last && p < end ? end : NULL;
}

int64_t pb_scan_feed(pb_scan *scan, const char *data, size_t n, int last, int *unknown) {
    const char *p = data, *end = data + n;
    *unknown = 0;
    while (p < end) {
        size_t break_length = 0;
        const char *stop = line_end(p, end, last, &break_length);
        if (stop && scan->mode == PB_SCAN_DELIMITED && memchr(p, '"', (size_t)(stop - p)))
            stop = pb_quoted_line_end(p, end, last, &break_length);
        if (!stop) break;
        scan->line = p;
        scan->line_length = (size_t)(stop - p);
        int ok = scan->mode == PB_SCAN_DELIMITED ? pb_tokens_delimited(scan)
                 : scan->mode == PB_SCAN_JSON    ? pb_tokens_json(scan)
                                                 : pb_tokens_text(scan);
        if (!ok) return -1;
        if (scan->token_count || (scan->mode == PB_SCAN_JSON && scan->line_length)) {
            int32_t id = shape_of(scan, scan->hash);
            if (id == PB_SHAPE_UNKNOWN) {
                *unknown = 1;
                break;
            }
            if (id >= 0 && !keep(scan, id)) return -1;
        }
        scan->lines++;
        p = stop + break_length;
    }
    return p - data;
}
