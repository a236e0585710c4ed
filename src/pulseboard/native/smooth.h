/* Smoothing at full resolution. A value that is not finite stays what it is and has no part in its neighbours;
 * every smoother gives as many numbers as it gets.
 *
 * The two moving averages go on where they stopped: their state is the caller's, {0} at the beginning. */
#ifndef PB_SMOOTH_H
#define PB_SMOOTH_H

#include <stdint.h>

/* TensorBoard's: last = last * weight + value * (1 - weight), over 1 - weight^(values so far). */
typedef struct { double last; uint64_t taken; } pb_debiased;
void pb_smooth_debiased(pb_debiased *s, const double *values, uint64_t n, double weight, double *out);

/* The past fades by weight^(distance in x / unit). */
typedef struct { double sum, weights, x; uint64_t taken; } pb_faded;
void pb_smooth_faded(pb_faded *s, const double *x, const double *values, uint64_t n, double weight, double unit, double *out);

/* A bell of this standard deviation, in points, cut off at four of them. 0: no memory. */
int pb_smooth_gaussian(const double *values, uint64_t n, double sigma, double *out);

/* The mean of the `width` points around each; of an even number the one more is before. 0: no memory. */
int pb_smooth_mean(const double *values, uint64_t n, uint64_t width, double *out);

#endif
