/* scan: as fast as a plain reader of TensorBoard event files can be on this machine, for comparison.
 *
 *     scan [--threads N] [--tags] PATH...
 *
 * Every PATH is an event file, or a directory that is searched for files with "tfevents" in their names. The scanner
 * maps each file, walks its records, verifies both checksums of each record with the processor's CRC32C instruction,
 * and keeps the step, wall time and value of every scalar in columns, one set per tag and file. Histograms keep their
 * bucket limits and counts. Files are the unit of work: N threads take them from one list.
 *
 * Prints one line of JSON. --tags adds a line per file and tag: path, tag, number of values, their sum.
 *
 * A record, little-endian:
 *     u64  length
 *     u32  masked CRC32C of the length
 *     ...  an Event message, `length` bytes
 *     u32  masked CRC32C of the message
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "columns.h"

enum { MAX_THREADS = 64 };

typedef struct {
    const uint8_t *at, *end;
} Bytes;

/* ---- checksums */

static inline uint32_t masked_crc(const uint8_t *at, size_t bytes) {
    uint64_t wide = UINT32_MAX;
    const uint8_t *end = at + bytes;
    for (; end - at >= 8; at += 8) wide = _mm_crc32_u64(wide, u64_at(at));
    uint32_t crc = (uint32_t)wide;
    if (bytes & 4) crc = _mm_crc32_u32(crc, u32_at(at)), at += 4;
    if (bytes & 2) crc = _mm_crc32_u16(crc, u16_at(at)), at += 2;
    if (bytes & 1) crc = _mm_crc32_u8(crc, *at);
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* ---- protobuf */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
#define KEY(number, wire) ((number) << 3 | (wire))

typedef struct {
    uint64_t key;
    uint64_t number; /* VARINT */
    Bytes body;      /* all other wire types */
} Field;

static bool take_varint(Bytes *from, uint64_t *number) {
    *number = 0;
    for (unsigned shift = 0; from->at < from->end && shift < 64; shift += 7) {
        uint8_t byte = *from->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool take_field(Bytes *from, Field *field) {
    uint64_t bytes;
    if (!take_varint(from, &field->key)) return false;
    unsigned wire = field->key & 7;
    if (wire == VARINT) return take_varint(from, &field->number);
    if (wire == FIXED64 || wire == FIXED32) bytes = wire == FIXED64 ? 8 : 4;
    else if (wire != BYTES || !take_varint(from, &bytes)) return false;
    if (bytes > (uint64_t)(from->end - from->at)) return false;
    field->body = (Bytes){from->at, from->at + bytes};
    from->at += bytes;
    return true;
}

static inline size_t size_of(Bytes bytes) { return (size_t)(bytes.end - bytes.at); }

/* TensorProto: one float or double, as a field of its own or as raw content. */
static bool tensor_value(Bytes tensor, double *value) {
    Field field;
    Bytes content = {0};
    uint64_t dtype = 0;
    bool found = false;
    while (tensor.at < tensor.end && take_field(&tensor, &field)) {
        size_t bytes = field.key & 7 ? size_of(field.body) : 0;
        if (field.key == KEY(1, VARINT)) dtype = field.number;
        if (field.key == KEY(4, BYTES)) content = field.body;
        if (field.key >> 3 == 5 && bytes == 4) *value = float_at(field.body.at), found = true;
        if (field.key >> 3 == 6 && bytes == 8) *value = double_at(field.body.at), found = true;
    }
    if (found) return true;
    if (dtype == 1 && size_of(content) == 4) return *value = float_at(content.at), true;
    if (dtype == 2 && size_of(content) == 8) return *value = double_at(content.at), true;
    return false;
}

static bool summary_value(File *file, Bytes message, int64_t step, double wall) {
    Field field;
    Bytes tag = {0}, tensor = {0}, histogram = {0};
    double value = 0;
    bool scalar = false;
    while (message.at < message.end) {
        if (!take_field(&message, &field)) return false;
        if (field.key == KEY(1, BYTES)) tag = field.body;
        if (field.key == KEY(2, FIXED32)) value = float_at(field.body.at), scalar = true;
        if (field.key == KEY(5, BYTES)) histogram = field.body;
        if (field.key == KEY(8, BYTES)) tensor = field.body;
    }
    if (tensor.at) scalar = tensor_value(tensor, &value);
    if (!tag.at || (!scalar && !histogram.at)) return true;
    Column *column = column_of(file, tag.at, (uint32_t)size_of(tag));
    keep(file, column, step, wall, value);
    while (histogram.at < histogram.end && take_field(&histogram, &field))
        if (field.key == KEY(6, BYTES) || field.key == KEY(7, BYTES))
            keep_buckets(column, field.body.at, size_of(field.body));
    return true;
}

static bool event(File *file, Bytes message) {
    Field field;
    Bytes summary = {0};
    double wall = 0;
    int64_t step = 0;
    while (message.at < message.end) {
        if (!take_field(&message, &field)) return false;
        if (field.key == KEY(1, FIXED64)) wall = double_at(field.body.at);
        if (field.key == KEY(2, VARINT)) step = (int64_t)field.number;
        if (field.key == KEY(5, BYTES)) summary = field.body;
    }
    while (summary.at < summary.end) {
        if (!take_field(&summary, &field)) return false;
        if (field.key == KEY(1, BYTES) && !summary_value(file, field.body, step, wall)) return false;
    }
    return true;
}

/* The event that nearly all records are: wall time, step unless 0, and a summary of one scalar, every length in one
 * byte. The scalar is a float, or a tensor of one float with or without metadata after it:
 *
 *     09 wall(8) [10 step(varint)] 2a n 0a n-2 0a tag_bytes tag...  15 float(4)
 *                                                                   42 0a 08 01 12 00 2a 04 float(4) [4a m ...]
 *
 * Returns false for anything else, and changes nothing then. Reads at most 8 bytes past what it has checked, which
 * are the checksum and the tail of the message: a message has at least 24 bytes here. */
static inline bool plain_scalar(File *file, Bytes message) {
    static const uint8_t tensor_head[8] = {0x42, 0x0a, 0x08, 0x01, 0x12, 0x00, 0x2a, 0x04};
    const uint8_t *at = message.at;
    if (size_of(message) < 24 || *at != 0x09) return false;
    double wall = double_at(at + 1);
    int64_t step = 0;
    at += 9;
    if (*at == 0x10) {
        /* Up to four bytes of step, put together without branches: bit 7 of each says whether another follows. */
        uint32_t raw = u32_at(++at), ends = ~raw & 0x80808080u;
        if (!ends) return false;
        unsigned bytes = ((unsigned)__builtin_ctz(ends) >> 3) + 1;
        raw &= UINT32_MAX >> (32 - 8 * bytes);
        step = (raw & 0x7f) | (raw >> 1 & 0x3f80) | (raw >> 2 & 0x1fc000) | (raw >> 3 & 0xfe00000);
        at += bytes;
    }
    size_t left = (size_t)(message.end - at);
    if (left < 11 || left > 129) return false;
    if (at[0] != 0x2a || at[1] != left - 2 || at[2] != 0x0a || at[3] != left - 4 || at[4] != 0x0a) return false;
    uint32_t tag_bytes = at[5];
    if (tag_bytes + 11u > left) return false;
    const uint8_t *tag = at + 6, *value = tag + tag_bytes;
    size_t rest = left - 6 - tag_bytes;
    if (rest == 5 && *value == 0x15) {
        value += 1;
    } else if (rest >= 12 && u64_at(value) == u64_at(tensor_head) &&
               (rest == 12 || (rest >= 14 && value[12] == 0x4a && value[13] == rest - 14))) {
        value += 8;
    } else {
        return false;
    }
    keep(file, column_of(file, tag, tag_bytes), step, wall, float_at(value));
    return true;
}

/* ---- files */

static void scan(File *file, const uint8_t *at, size_t size) {
    const uint8_t *end = at + size;
    file->bytes = size;
    while (end - at >= 16) {
        uint64_t bytes = u64_at(at);
        if (masked_crc(at, 8) != u32_at(at + 8)) {
            file->damaged++;
            return; /* without a length there is no next record */
        }
        if (bytes > (uint64_t)(end - at) - 16) return; /* still being written */
        Bytes message = {at + 12, at + 12 + bytes};
        if (masked_crc(message.at, bytes) != u32_at(message.end)) file->damaged++;
        else if (!plain_scalar(file, message) && !event(file, message)) file->damaged++;
        file->records++;
        at = message.end + 4;
    }
}

static void scan_file(File *file) {
    struct stat status;
    int fd = open(file->path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status)) fail(file->path);
    size_t size = (size_t)status.st_size;
    if (size) {
        void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
        if (map == MAP_FAILED) fail(file->path);
        scan(file, map, size);
        munmap(map, size);
    }
    close(fd);
}

static File *files;
static size_t file_count;
static atomic_size_t next_file;

static void add_file(const char *path) {
    files = resized(files, (file_count + 1) * sizeof *files);
    files[file_count++] = (File){.path = strdup(path)};
}

static int by_name(const FTSENT **left, const FTSENT **right) { return strcmp((*left)->fts_name, (*right)->fts_name); }

static void find_files(char *path) {
    char *paths[] = {path, NULL};
    FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F && (entry->fts_level == 0 || strstr(entry->fts_name, "tfevents")))
            add_file(entry->fts_path);
    if (tree) fts_close(tree);
}

static void *work(void *unused) {
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next_file, 1)) < file_count;) scan_file(&files[i]);
    return NULL;
}

/* ---- the program */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **arguments) {
    double began = seconds();
    long threads = 1;
    bool tags = false;
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--threads") && i + 1 < count) threads = strtol(arguments[++i], NULL, 10);
        else if (!strcmp(arguments[i], "--tags")) tags = true;
        else find_files(arguments[i]);
    }
    pthread_t others[MAX_THREADS];
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    for (long i = 1; i < threads; i++) pthread_create(&others[i], NULL, work, NULL);
    work(NULL);
    for (long i = 1; i < threads; i++) pthread_join(others[i], NULL);
    double took = seconds() - began;

    uint64_t records = 0, values = 0, bytes = 0, damaged = 0, columns = 0;
    double sum = 0;
    for (size_t i = 0; i < file_count; i++) {
        records += files[i].records, values += files[i].values;
        bytes += files[i].bytes, damaged += files[i].damaged, columns += files[i].column_count;
        for (size_t k = 0; k < files[i].column_count; k++) {
            Column *column = files[i].columns[k];
            double column_sum = 0;
            for (size_t row = 0; row < column->rows; row++) column_sum += column->values[row];
            sum += column_sum;
            if (tags) printf("%s\t%s\t%zu\t%.17g\n", files[i].path, column->tag, column->rows, column_sum);
        }
    }
    printf("{\"files\": %zu, \"threads\": %ld, \"records\": %lu, \"values\": %lu, \"columns\": %lu, \"bytes\": %lu, "
           "\"damaged\": %lu, \"sum\": %.17g, \"seconds\": %.6f}\n",
           file_count, threads, records, values, columns, bytes, damaged, sum, took);
    return damaged ? 1 : 0;
}
