/* Decoding of stored values: nothing is read or written out of bounds, and what is found lies within the output. */
#ifndef FUZZ_CHECK_VALUES_H
#define FUZZ_CHECK_VALUES_H

#include "compare.h"
#include "histograms.h"

/* Blocks of exactly the sizes that are promised, so that the sanitizers catch one byte too many. */
static void check_histogram(const uint8_t *data, size_t n, uint32_t field) {
    size_t room = pb_histogram_room(n, field);
    uint8_t *value = malloc(n ? n : 1);
    double *numbers = malloc(room * sizeof *numbers);
    must(value);
    must(numbers);
    if (n) memcpy(value, data, n);
    pb_stored_histogram h = {0};
    int64_t count = pb_decode_histogram(value, n, field, numbers, &h);
    if (count >= 0) {
        REQUIRE((uint64_t)count <= room, "%lld numbers in room for %zu", (long long)count, room);
        int64_t needed = h.limit_n < 0 ? 3 * h.shown_n : h.limit_n + h.count_n + 2;
        REQUIRE(needed == count, "%lld numbers, but %lld are described", (long long)count, (long long)needed);
        REQUIRE(h.first >= 0 && h.shown_n >= 0, "a negative bucket");
        REQUIRE(h.limit_n < 0 || h.first + h.shown_n <= h.count_n, "a bucket past the last is shown");
        REQUIRE(h.limit_n < 0 || !h.shown_n || h.first + h.shown_n <= h.limit_n + 1, "an edge past the last limit");
    }
    free(numbers);
    free(value);
}

static void check_values(const pb_log *log, const uint8_t *data, size_t n) {
    check_histogram(data, n, PB_OLD_HISTOGRAM_FIELD);
    check_histogram(data, n, PB_TENSOR_HISTOGRAM_FIELD);
    for (uint32_t i = 0; i < log->tag_n; i++)
        for (const pb_block *b = log->tags[i].spans.head; b; b = b->next) {
            const pb_span *spans = (const pb_span *)(b + 1);
            for (uint32_t k = 0; k < b->n; k++)
                if (spans[k].field == PB_OLD_HISTOGRAM_FIELD || spans[k].field == PB_TENSOR_HISTOGRAM_FIELD)
                    check_histogram(data + spans[k].offset, spans[k].length, spans[k].field);
        }
}

#endif
