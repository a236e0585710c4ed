/* Histograms: numbers counted in TensorBoard's buckets, with min, max and sums. */
#ifndef PB_HISTOGRAM_H
#define PB_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    PB_EDGES_PER_SIDE = 774,
    PB_EDGES = 2 * PB_EDGES_PER_SIDE + 1,
    PB_BUCKETS = PB_EDGES - 1,
};

typedef struct {
    uint64_t nan, inf;           /* left out of everything else */
    uint64_t num;                /* finite numbers */
    double min, max;             /* NaN if there are no numbers */
    double sum, sum_squares;
    uint64_t counts[PB_BUCKETS]; /* numbers beyond the outermost edges are in no bucket */
} pb_histogram;

/* The edges, ascending: 1e-12, then each 1.1 times the one before, up to 1e20; the same mirrored; and zero.
 * Bucket i holds edges[i] <= x < edges[i + 1]; the last one also holds its right edge. */
const double *pb_histogram_edges(void);

/* Counts n floats, or doubles if `wide` is set. */
void pb_histogram_of(pb_histogram *h, const void *numbers, size_t n, int wide);

#endif
