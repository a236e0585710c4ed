// Dates with a time of day in text.
#ifndef PB_DATE_H
#define PB_DATE_H

#include <stddef.h>

// Parse 2026-05-20 00:03:47,930 and its relatives: - or / in the date, a space, T or _ before the time. Returns the bytes
// used, 0 if there is no date. The value is in seconds since 1970. A zone, Z or +02:00, makes the type PB_TOKEN_UTC;
// without one it is PB_TOKEN_TIME, and the value is as if the date were in UTC.
size_t pb_date(const char *p, const char *end, double *value, int *type);

// The number of two digits at `p`, or -1.
int pb_two_digits(const char *p);

#endif
