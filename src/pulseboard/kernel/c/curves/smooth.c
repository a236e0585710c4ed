/* The four smoothers. */
#include "smooth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pb_smooth_debiased(pb_debiased *s, const double *values, uint64_t n, double weight, double *out) {
    double last = s->last;
    uint64_t count = s->count;
    int debias = 1; /* until weight^count is too small to matter next to 1 */
    for (uint64_t i = 0; i < n; i++) {
        double v = values[i];
        if (!isfinite(v)) {
            out[i] = v;
            continue;
        }
        last = last * weight + (1 - weight) * v;
        count++;
        double divisor = 1;
        if (debias && weight != 1) {
            divisor = 1 - pow(weight, (double)count);
            debias = divisor != 1;
        }
        out[i] = last / divisor;
    }
    s->last = last;
    s->count = count;
}

void pb_smooth_faded(pb_faded *s, const double *x, const double *values, uint64_t n, double weight, double unit,
                     double *out) {
    double rate = weight > 0 ? log(weight) / unit : -INFINITY;
    for (uint64_t i = 0; i < n; i++) {
        double v = values[i];
        if (!isfinite(v) || !isfinite(x[i])) {
            out[i] = isfinite(v) ? NAN : v;
            continue;
        }
        double distance = s->count ? fabs(x[i] - s->x) : 0;
        /* Points with the same x weigh the same, even if nothing else is remembered. */
        double keep = distance > 0 ? exp(rate * distance) : 1;
        /* With weight w, `sum` and `weights` are those of W&B's time-weighted average. */
        s->sum = s->sum * keep + v;
        s->weights = s->weights * keep + 1;
        s->x = x[i];
        s->count++;
        out[i] = s->sum / s->weights;
    }
}

/* Computes the output in pieces that stay in the cache, one distance for a whole piece at a time, which the compiler
 * vectorizes. `number` and `present` have `reach` zeros before and after them. */
enum { PIECE = 1024 };

static void gaussian_sums(const double *number, const double *present, uint64_t n, const double *kernel, uint64_t reach,
                          double *out) {
    double sum[PIECE], weights[PIECE];
    for (uint64_t from = 0; from < n; from += PIECE) {
        uint64_t m = n - from < PIECE ? n - from : PIECE;
        const double *v = number + from, *t = present + from;
        for (uint64_t i = 0; i < m; i++) sum[i] = v[i], weights[i] = t[i]; /* kernel[0] is 1 */
        for (uint64_t d = 1; d <= reach; d++) {
            double by = kernel[d];
            const double *v0 = v - d, *v1 = v + d, *t0 = t - d, *t1 = t + d;
            for (uint64_t i = 0; i < m; i++) {
                sum[i] += by * (v0[i] + v1[i]);
                weights[i] += by * (t0[i] + t1[i]);
            }
        }
        for (uint64_t i = 0; i < m; i++)
            if (t[i] != 0) out[from + i] = sum[i] / weights[i];
    }
}

int pb_smooth_gaussian(const double *values, uint64_t n, double sigma, double *out) {
    memmove(out, values, n * sizeof *out);
    if (!(sigma > 0) || !n) return 1;
    uint64_t reach = (uint64_t)ceil(4 * sigma);
    if (reach > n) reach = n; /* there are no points further away */
    double *kernel = malloc((reach + 1) * sizeof *kernel);
    double *number = calloc(2 * (n + 2 * reach), sizeof *number);
    if (kernel && number) {
        double *v = number + reach, *t = v + n + 2 * reach;
        for (uint64_t d = 0; d <= reach; d++) kernel[d] = exp(-0.5 * ((double)d / sigma) * ((double)d / sigma));
        for (uint64_t i = 0; i < n; i++)
            if (isfinite(values[i])) v[i] = values[i], t[i] = 1;
        gaussian_sums(v, t, n, kernel, reach, out);
    }
    int done = kernel && number;
    free(kernel);
    free(number);
    return done;
}

/* Window sums without subtraction, which would carry the rounding error of one huge value into all that follow: the
 * series is cut into pieces as wide as the window, so that every window is the end of one piece and the beginning of
 * the next. */
static void window_sums(const double *v, uint64_t n, uint64_t width, double *ends, double *begins, double *sums) {
    for (uint64_t from = 0; from < n; from += width) {
        uint64_t to = n - from < width ? n : from + width;
        begins[from] = v[from];
        for (uint64_t i = from + 1; i < to; i++) begins[i] = begins[i - 1] + v[i];
        ends[to - 1] = v[to - 1];
        for (uint64_t i = to - 1; i-- > from;) ends[i] = ends[i + 1] + v[i];
    }
    uint64_t behind = width / 2, ahead = width - 1 - behind;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t first = i < behind ? 0 : i - behind, last = n - 1 - i < ahead ? n - 1 : i + ahead;
        /* A window inside one piece touches its beginning or end: it fits exactly, or the series ends there. */
        if (first / width != last / width) sums[i] = ends[first] + begins[last];
        else sums[i] = first % width ? ends[first] : begins[last];
    }
}

int pb_smooth_mean(const double *values, uint64_t n, uint64_t width, double *out) {
    if (width < 2 || !n) {
        memmove(out, values, n * sizeof *out);
        return 1;
    }
    double *room = malloc(5 * n * sizeof *room);
    if (!room) return 0;
    double *number = room, *present = room + n, *ends = room + 2 * n, *begins = room + 3 * n, *counts = room + 4 * n;
    for (uint64_t i = 0; i < n; i++) {
        present[i] = isfinite(values[i]) ? 1 : 0;
        number[i] = present[i] != 0 ? values[i] : 0;
    }
    window_sums(present, n, width, ends, begins, counts);
    window_sums(number, n, width, ends, begins, out);
    for (uint64_t i = 0; i < n; i++) out[i] = present[i] != 0 ? out[i] / counts[i] : values[i];
    free(room);
    return 1;
}
