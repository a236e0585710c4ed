/* Stored histograms to arrays: the layouts that writers produce, and no others. */
#ifndef PB_HISTOGRAMS_H
#define PB_HISTOGRAMS_H

#include <stddef.h>
#include <stdint.h>

/* The fields of Summary.Value that hold a histogram. */
enum { PB_OLD_HISTOGRAM_FIELD = 5, PB_TENSOR_HISTOGRAM_FIELD = 8 };

/* One histogram. Its numbers are in a buffer of doubles, its counts from `at` on.
 *
 * Old form: `limit_n` limits, which other histograms may share, and `count_n` counts. Buckets `first` to
 * `first + shown_n - 1` are shown: from min over the limits from `first` on to max, which takes the place of the last.
 * Tensor form: `shown_n` left edges from `at` on, then as many right edges and counts. limit_n is -1.
 *
 * All members have 8 bytes: Python reads an array of these as a table. */
typedef struct {
    int64_t at; /* -1: not decoded */
    int64_t limits_at, limit_n, count_n, first, shown_n;
    double min, max, num, sum, sum_squares;
} pb_stored_histogram;

/* The buffer. Histograms of one tag mostly have the same limits, or a part of them: they are stored once. */
typedef struct {
    double *numbers;
    size_t used;
    size_t limits_at, limit_n; /* the limits stored last */
    size_t near;               /* where in them those of the last histogram begin */
} pb_histogram_numbers;

/* The most doubles that a Summary.Value of `n` bytes can need. */
size_t pb_histogram_room(size_t n, uint32_t field);

/* Decodes a Summary.Value of `n` bytes into the buffer, which has room. Returns 0, and sets `at` to -1, if the layout is
 * unusual or wrong. */
int pb_decode_histogram(const uint8_t *value, size_t n, uint32_t field, pb_histogram_numbers *to,
                        pb_stored_histogram *h);

#endif
