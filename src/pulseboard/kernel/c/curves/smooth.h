/* Smoothing at full resolution. A value that is not finite stays as it is and does not affect its neighbors; every
 * smoother returns as many numbers as it is given.
 *
 * The two moving averages can be continued: the caller keeps their state, {0} at the beginning. */
#ifndef PB_SMOOTH_H
#define PB_SMOOTH_H

#include <stdint.h>

/* TensorBoard's: last = last * weight + value * (1 - weight), divided by 1 - weight^count. */
typedef struct {
    double last;
    uint64_t count;
} pb_debiased;
void pb_smooth_debiased(pb_debiased *s, const double *values, uint64_t n, double weight, double *out);

/* Earlier values fade by weight^(distance in x / unit). */
typedef struct {
    double sum, weights, x;
    uint64_t count;
} pb_faded;
void pb_smooth_faded(pb_faded *s, const double *x, const double *values, uint64_t n, double weight, double unit,
                     double *out);

/* A Gaussian kernel with this standard deviation in points, cut off at four of them. 0: no memory. */
int pb_smooth_gaussian(const double *values, uint64_t n, double sigma, double *out);

/* The mean of the `width` points around each; an even window has one more before than after. 0: no memory. */
int pb_smooth_mean(const double *values, uint64_t n, uint64_t width, double *out);

#endif
