/* Histograms: numbers counted in TensorBoard's buckets, with their least, greatest and sums. */
#ifndef PB_HISTOGRAM_H
#define PB_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    PB_EDGES_A_SIDE = 774,
    PB_EDGES = 2 * PB_EDGES_A_SIDE + 1,
    PB_BUCKETS = PB_EDGES - 1,
};

/* What was counted. */
typedef struct {
    uint64_t nan, inf;           /* counted here, and left out of all else */
    uint64_t num;                /* numbers */
    double min, max;             /* NaN where there is no number */
    double sum, sum_squares;
    uint64_t counts[PB_BUCKETS]; /* numbers beyond the outermost edges are in no bucket */
} pb_histogram;

/* The edges, rising: 1e-12, each next one 1.1 times the last, as long as they are below 1e20; the same
 * mirrored; and zero. Bucket i holds edges[i] <= x < edges[i + 1], and the last one its right edge too. */
const double *pb_histogram_edges(void);

/* Counts n floats, or doubles where `wide` is set. */
void pb_histogram_of(pb_histogram *h, const void *numbers, size_t n, int wide);

#endif
