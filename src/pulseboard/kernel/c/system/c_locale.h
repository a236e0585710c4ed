/* strtod with a decimal point, whatever the locale of the process. */
#ifndef PB_C_LOCALE_H
#define PB_C_LOCALE_H

#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

static inline double pb_strtod(const char *text) {
#ifdef _WIN32
    static _locale_t c;
    if (!c) c = _create_locale(LC_ALL, "C"); /* at worst two threads make two */
    return c ? _strtod_l(text, NULL, c) : strtod(text, NULL);
#else
    static locale_t c;
    if (!c) c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* at worst two threads make two */
    return c ? strtod_l(text, NULL, c) : strtod(text, NULL);
#endif
}

#endif
