// Dates with a time of day in text.
#include "date.h"

#include <stdint.h>

#include "scan.h"

static int is_digit(char c) { return c >= '0' && c <= '9'; }

int pb_two_digits(const char *p) { return is_digit(p[0]) && is_digit(p[1]) ? 10 * (p[0] - '0') + (p[1] - '0') : -1; }

// Days from 1970-01-01 in the Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date algorithms").
static int64_t days(int year, int month, int day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

size_t pb_date(const char *p, const char *end, double *value, int *type) {
    *type = PB_TOKEN_TIME;
    if (end - p < 19) return 0;
    int century = pb_two_digits(p), year = pb_two_digits(p + 2), month = pb_two_digits(p + 5),
        day = pb_two_digits(p + 8);
    int hour = pb_two_digits(p + 11), minute = pb_two_digits(p + 14), second = pb_two_digits(p + 17);
    int separated = (p[4] == '-' || p[4] == '/') && p[7] == p[4] && (p[10] == ' ' || p[10] == 'T' || p[10] == '_') &&
                    p[13] == ':' && p[16] == ':';
    if (!separated || century < 0 || year < 0 || month < 1 || month > 12 || day < 1 || day > 31) return 0;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return 0;
    const char *q = p + 19;
    double fraction = 0, unit = 0.1;
    if (end - q > 1 && (*q == '.' || *q == ',') && is_digit(q[1]))
        for (q++; q < end && is_digit(*q); q++, unit /= 10) fraction += unit * (*q - '0');
    *value =
        86400.0 * (double)days(100 * century + year, month, day) + 3600.0 * hour + 60.0 * minute + second + fraction;
    if (q < end && *q == 'Z') {
        *type = PB_TOKEN_UTC;
        q++;
    } else if (end - q >= 6 && (*q == '+' || *q == '-') && q[3] == ':' && pb_two_digits(q + 1) >= 0 &&
               pb_two_digits(q + 4) >= 0) {
        *type = PB_TOKEN_UTC;
        *value -= (*q == '-' ? -60.0 : 60.0) * (60 * pb_two_digits(q + 1) + pb_two_digits(q + 4));
        q += 6;
    }
    return (size_t)(q - p);
}
