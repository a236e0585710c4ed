/* Stored histograms to arrays: the layouts that writers produce, and no others. */
#ifndef PB_HISTOGRAMS_H
#define PB_HISTOGRAMS_H

#include <stddef.h>
#include <stdint.h>

/* The fields of Summary.Value that hold a histogram. */
enum { PB_OLD_HISTOGRAM_FIELD = 5, PB_TENSOR_HISTOGRAM_FIELD = 8 };

/* One histogram. Its numbers are in a buffer of doubles, from `at` on.
 *
 * Old form: one free number, `limit_n` limits, one free number, `count_n` counts. Buckets `first` to `first + shown_n - 1`
 * are shown. Their edges begin at at + first: min and max are put in place of the limits before and at the end, which
 * are kept in `before` and `after`.
 * Tensor form: `shown_n` left edges, right edges and counts. limit_n is -1.
 *
 * All members have 8 bytes: Python reads an array of these as a table. */
typedef struct {
    int64_t at; /* -1: not decoded */
    int64_t limit_n, count_n, first, shown_n;
    double min, max, num, sum, sum_squares, before, after;
} pb_stored_histogram;

/* The most doubles that a Summary.Value of `n` bytes can need. */
size_t pb_histogram_room(size_t n, uint32_t field);

/* Decodes a Summary.Value of `n` bytes. Returns the number of doubles written to `to`, which has room; sets all of *h but
 * `at`. -1 if the layout is unusual or wrong. */
int64_t pb_decode_histogram(const uint8_t *value, size_t n, uint32_t field, double *to, pb_stored_histogram *h);

#endif
