// Numbers in the lines of a text file, by the shape of the line.
//
// The shape of a line is what is left when its numbers are taken out: "step N: loss N, lr N". A log has few shapes and
// many lines. The scanner stops at a shape it has not met and asks its caller what to do with such lines; every later
// line of that shape costs a hash lookup and the parsing of its numbers.
#ifndef PB_SCAN_H
#define PB_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum {
    PB_SCAN_TEXT = 0,       // free text: numbers anywhere in a line
    PB_SCAN_DELIMITED = 1,  // cells between delimiters: each is a number, a time, empty or text
    PB_SCAN_JSON = 2, // one JSON object per line: names are part of the shape; texts and arrays are not looked into
};

enum {
    PB_TOKEN_NUMBER = 0,
    PB_TOKEN_TIME = 1, // a date and time of day; its value is seconds since 1970 as if in UTC
    PB_TOKEN_UTC = 2, // the same with a zone: seconds since 1970
    PB_TOKEN_EMPTY = 3, // delimited only: nothing, or a word for a missing value
    PB_TOKEN_WORD = 4, // delimited only: anything else
};

enum { PB_SHAPE_IGNORED = -1, PB_SHAPE_UNKNOWN = -2 };

typedef struct {
    uint32_t start, end; // bytes of the line
    int type;
} pb_token;

typedef struct {
    uint64_t hash;
    int32_t id;
    uint32_t token_count; // lines with another count have this shape by accident, and are dropped
    int used;
} pb_shape;

typedef struct {
    int mode;
    char delimiter;
    int decimal_comma;
    int64_t lines; // complete lines scanned so far

    pb_shape *shapes; // open addressing
    uint32_t shape_capacity, shape_count;
    uint32_t max_shapes; // once so many are known, lines of others are dropped without asking; 0: no limit

    // One row for each line whose shape is kept: its line number, its shape, and where its values begin.
    int64_t *row_lines;
    int32_t *row_shapes;
    uint64_t *row_values;
    uint64_t row_count, row_capacity;
    double *values; // numbers and times of the rows, in order
    uint64_t value_count, value_capacity;

    // The line scanned last.
    uint64_t hash;
    const char *line;
    size_t line_length;
    pb_token *tokens;
    double *token_values;
    uint32_t token_count, token_capacity;
} pb_scan;

void pb_scan_init(pb_scan *scan, int mode, char delimiter, int decimal_comma);
void pb_scan_free(pb_scan *scan);

// Scan complete lines of `data`. Stops after `n` bytes, or before a line of unknown shape: then *unknown is 1 and the
// scan's `hash`, `line` and `tokens` describe that line. With `last`, an unfinished last line counts as complete.
// Returns the bytes consumed, or -1 if out of memory.
int64_t pb_scan_feed(pb_scan *scan, const char *data, size_t n, int last, int *unknown);

// Remember what to do with a shape: an id of 0 or more keeps its lines, PB_SHAPE_IGNORED drops them. -1: out of memory.
int pb_scan_learn(pb_scan *scan, uint64_t hash, int32_t id);

#endif
