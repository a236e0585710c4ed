/* columns: steps, wall times and values of one event file, a column of each per tag, found by a hash of the tag. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <nmmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 256 };

/* ---- errors of the system end the program: there is nothing to compare then */

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *resized(void *old, size_t bytes) {
    void *new = realloc(old, bytes);
    if (!new) fail("memory");
    return new;
}

/* ---- little-endian numbers at any address */

#define LOADER(name, type)                       \
    static inline type name(const uint8_t *at) { \
        type number;                             \
        memcpy(&number, at, sizeof number);      \
        return number;                           \
    }
LOADER(u16_at, uint16_t)
LOADER(u32_at, uint32_t)
LOADER(u64_at, uint64_t)
LOADER(float_at, float)
LOADER(double_at, double)

/* ---- columns */

typedef struct {
    char *tag;
    uint32_t tag_bytes;
    size_t rows, capacity;
    int64_t *steps;
    double *walls, *values;
    double *buckets; /* limits and counts of histograms, one after another */
    size_t bucket_numbers, bucket_capacity;
    uint32_t hash;
} Column;

typedef struct {
    const char *path;
    Column **columns; /* in the order of their first value */
    Column **slots;   /* a hash table of them with linear probing; a power of two, at most half full */
    size_t column_count, slot_count;
    uint64_t records, values, damaged, bytes;
} File;

static inline uint32_t hash_of(const uint8_t *tag, uint32_t bytes) {
    uint64_t hash = bytes;
    uint32_t at = 0;
    for (; at + 8 <= bytes; at += 8) hash = _mm_crc32_u64(hash, u64_at(tag + at));
    for (; at < bytes; at++) hash = _mm_crc32_u8((uint32_t)hash, tag[at]);
    return (uint32_t)hash;
}

static Column **slot_of(const File *file, const uint8_t *tag, uint32_t bytes, uint32_t hash) {
    size_t mask = file->slot_count - 1, at = hash & mask;
    for (Column *column; (column = file->slots[at]); at = (at + 1) & mask)
        if (column->hash == hash && column->tag_bytes == bytes && !memcmp(column->tag, tag, bytes)) break;
    return &file->slots[at];
}

static void grow_table(File *file) {
    free(file->slots);
    file->slot_count = file->slot_count ? 2 * file->slot_count : 64;
    file->slots = calloc(file->slot_count, sizeof *file->slots);
    if (!file->slots) fail("memory");
    for (size_t i = 0; i < file->column_count; i++) {
        Column *column = file->columns[i];
        *slot_of(file, (uint8_t *)column->tag, column->tag_bytes, column->hash) = column;
    }
}

static Column *add_column(File *file, const uint8_t *tag, uint32_t bytes, uint32_t hash) {
    Column *column = calloc(1, sizeof *column);
    if (!column) fail("memory");
    column->tag = resized(NULL, bytes + 1u);
    memcpy(column->tag, tag, bytes);
    column->tag[bytes] = 0;
    column->tag_bytes = bytes;
    column->hash = hash;
    file->columns = resized(file->columns, (file->column_count + 1) * sizeof *file->columns);
    file->columns[file->column_count++] = column;
    if (2 * file->column_count > file->slot_count) grow_table(file);
    *slot_of(file, tag, bytes, hash) = column;
    return column;
}

static inline Column *column_of(File *file, const uint8_t *tag, uint32_t bytes) {
    uint32_t hash = hash_of(tag, bytes);
    Column *column = file->slot_count ? *slot_of(file, tag, bytes, hash) : NULL;
    return column ? column : add_column(file, tag, bytes, hash);
}

static void make_room(Column *column) {
    column->capacity = column->capacity ? 2 * column->capacity : FIRST_ROWS;
    column->steps = resized(column->steps, column->capacity * sizeof *column->steps);
    column->walls = resized(column->walls, column->capacity * sizeof *column->walls);
    column->values = resized(column->values, column->capacity * sizeof *column->values);
}

static inline void keep(File *file, Column *column, int64_t step, double wall, double value) {
    if (column->rows == column->capacity) make_room(column);
    column->steps[column->rows] = step;
    column->walls[column->rows] = wall;
    column->values[column->rows++] = value;
    file->values++;
}

static void keep_buckets(Column *column, const uint8_t *numbers, size_t bytes) {
    size_t count = bytes / sizeof(double), total = column->bucket_numbers + count;
    if (total > column->bucket_capacity) {
        column->bucket_capacity = 2 * total;
        column->buckets = resized(column->buckets, column->bucket_capacity * sizeof(double));
    }
    memcpy(column->buckets + column->bucket_numbers, numbers, count * sizeof(double));
    column->bucket_numbers = total;
}

#endif
