// Decimal numbers in text. Most logged numbers take the fast path; the rest go to strtod in the C locale.
#define _GNU_SOURCE
#include "number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "c_locale.h"

enum { MAX_DIGITS = 19 };  // any 19 digits fit 64 bits
enum { MAX_POWER = 27 };   // 10^27 = 5^27 * 2^27, and 5^27 fits 64 bits

static int is_digit(char c) { return c >= '0' && c <= '9'; }

#if FLT_EVAL_METHOD == 0
// Both numbers are exact, so the result is rounded once (Clinger, How to read floating point numbers accurately, 1990).
static int exact(uint64_t digits, int power, double *value) {
    static const double POWERS[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits >> 53 || power < -22 || power > 22) return 0;
    *value = power < 0 ? (double)digits / POWERS[-power] : (double)digits * POWERS[power];
    return 1;
}
#else
static int exact(uint64_t digits, int power, double *value) {
    (void)digits, (void)power, (void)value;
    return 0;
}
#endif

#if LDBL_MANT_DIG == 64
static const long double POWERS[MAX_POWER + 1] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                                  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                                  1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

// Exact unless the extended result lies next to the middle between two doubles; then returns 0.
static int fast(uint64_t digits, int power, double *value) {
    if (exact(digits, power, value)) return 1;
    if (power < -MAX_POWER || power > MAX_POWER) return 0;
    long double wide = (long double)digits;
    wide = power < 0 ? wide / POWERS[-power] : wide * POWERS[power];
    // The product is off by at most one unit in the last of its 64 bits. Rounding to 53 bits drops 11 of them.
    uint64_t mantissa;
    memcpy(&mantissa, &wide, sizeof mantissa);
    uint64_t dropped = mantissa & 0x7ff;
    if (dropped >= 0x3ff && dropped <= 0x401) return 0;
    *value = (double)wide;
    return 1;
}
#else
static int fast(uint64_t digits, int power, double *value) { return exact(digits, power, value); }
#endif

static double slow(const char *p, size_t n) {
    char small[64];
    char *text = n < sizeof small ? small : malloc(n + 1);
    if (!text) return NAN;
    memcpy(text, p, n);
    text[n] = 0;
    double value = pb_strtod(text);
    if (text != small) free(text);
    return value;
}

// The same as `pb_number` for a few digits, perhaps with a point, as most logged numbers are; 0 for all others.
static size_t plain(const char *p, const char *end, double *value) {
    const char *start = p, *limit = end - p > MAX_DIGITS ? p + MAX_DIGITS : end;
    uint64_t digits = 0;
    int power = 0;
    for (; p < limit && is_digit(*p); p++) digits = 10 * digits + (uint64_t)(*p - '0');
    if (p == start) return 0;
    if (p < limit && *p == '.') {
        const char *point = p++;
        for (; p < limit && is_digit(*p); p++) digits = 10 * digits + (uint64_t)(*p - '0');
        power = (int)(point + 1 - p);
    }
    if (p < end && (is_digit(*p) || *p == '.' || *p == 'e' || *p == 'E')) return 0;
    return exact(digits, power, value) ? (size_t)(p - start) : 0;
}

size_t pb_number(const char *p, const char *end, double *value) {
    const char *start = p;
    size_t used = plain(p, end, value);
    if (used) return used;
    uint64_t digits = 0;
    int count = 0, power = 0, any = 0;
    for (; p < end && is_digit(*p); p++) {
        any = 1;
        if (count < MAX_DIGITS) {
            digits = 10 * digits + (uint64_t)(*p - '0');
            count += digits != 0;
        } else {
            power++;
            count++;
        }
    }
    if (p < end && *p == '.' && (any || (p + 1 < end && is_digit(p[1])))) {
        p++;
        for (; p < end && is_digit(*p); p++) {
            any = 1;
            if (count < MAX_DIGITS) {
                digits = 10 * digits + (uint64_t)(*p - '0');
                count += digits != 0;
                power--;
            } else {
                count++;
            }
        }
    }
    if (!any) return 0;
    if (p + 1 < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        int negative = *q == '-';
        if (*q == '-' || *q == '+') q++;
        if (q < end && is_digit(*q)) {
            int exponent = 0;
            for (; q < end && is_digit(*q); q++)
                if (exponent < 100000) exponent = 10 * exponent + (*q - '0');
            power += negative ? -exponent : exponent;
            p = q;
        }
    }
    if (!digits) *value = 0.0;
    else if (count > MAX_DIGITS || !fast(digits, power, value)) *value = slow(start, (size_t)(p - start));
    return (size_t)(p - start);
}

size_t pb_number_word(const char *p, const char *end, double *value) {
    static const struct {
        const char *word;
        size_t length;
    } WORDS[] = {{"nan", 3}, {"infinity", 8}, {"inf", 3}};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        size_t n = WORDS[i].length;
        if ((size_t)(end - p) < n || strncasecmp(p, WORDS[i].word, n)) continue;
        // nanms, as in step_avg:nanms, is a number with its unit.
        size_t unit = (size_t)(end - p) >= n + 2 && p[n] == 'm' && p[n + 1] == 's' ? 2 : 0;
        char next = p + n + unit < end ? p[n + unit] : ' ';
        if (is_digit(next) || next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z')) continue;
        *value = i == 0 ? (double)NAN : (double)INFINITY;
        return n;
    }
    return 0;
}
