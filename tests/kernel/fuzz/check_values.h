/* Decoding of stored values: nothing is read or written out of bounds, and what is found lies within the output. */
#ifndef FUZZ_CHECK_VALUES_H
#define FUZZ_CHECK_VALUES_H

#include "compare.h"
#include "histograms.h"

/* Blocks of exactly the sizes that are promised, so that the sanitizers catch one byte too many. */
static void check_histogram(const uint8_t *data, size_t n, uint32_t field) {
    size_t room = pb_histogram_room(n, field);
    uint8_t *value = malloc(n ? n : 1);
    double *numbers = malloc((room ? 2 * room : 1) * sizeof *numbers);
    must(value);
    must(numbers);
    if (n) memcpy(value, data, n);
    pb_histogram_numbers to = {.numbers = numbers};
    for (size_t most = room; most <= 2 * room; most += room) { /* the second may share the limits of the first */
        size_t before = to.used;
        pb_stored_histogram h = {0};
        int decoded = pb_decode_histogram(value, n, field, &to, &h);
        REQUIRE(decoded == (h.at >= 0), "%d, at %lld", decoded, (long long)h.at);
        REQUIRE(decoded || to.used == before, "numbers of a histogram that is not decoded");
        REQUIRE(to.used <= most, "%zu numbers in room for %zu", to.used, most);
        if (decoded) {
            int64_t used = (int64_t)to.used, counted = h.limit_n < 0 ? 3 * h.shown_n : h.count_n;
            REQUIRE(h.at + counted <= used, "counts past the last number");
            REQUIRE(h.limit_n < 0 || (h.limits_at >= 0 && h.limits_at + h.limit_n <= used),
                    "limits past the last number");
            REQUIRE(h.first >= 0 && h.shown_n >= 0, "a negative bucket");
            REQUIRE(h.limit_n < 0 || h.first + h.shown_n <= h.count_n, "a bucket past the last is shown");
            REQUIRE(h.limit_n < 0 || !h.shown_n || h.first + h.shown_n <= h.limit_n + 1, "an edge past the last limit");
        }
        if (!room) break;
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
