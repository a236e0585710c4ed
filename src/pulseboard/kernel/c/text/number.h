// Decimal numbers in text, parsed exactly and fast.
#ifndef PB_NUMBER_H
#define PB_NUMBER_H

#include <stddef.h>

// Parse a number at `p`: digits, an optional fraction and exponent, no sign, no leading white space.
// Returns the number of bytes used, 0 if there is no number. The value is correctly rounded.
size_t pb_number(const char *p, const char *end, double *value);

// Parse `nan`, `inf` or `infinity` in any case, not followed by a letter, digit or underscore. Returns bytes used, or 0.
size_t pb_number_word(const char *p, const char *end, double *value);

#endif
