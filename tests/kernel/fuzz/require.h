/* Failing with a message, and the size of the heap. */
#ifndef FUZZ_REQUIRE_H
#define FUZZ_REQUIRE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The address sanitizer's count of heap bytes; absent without it. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
static size_t heap(void) {
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "fuzz: check failed: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

#define REQUIRE(condition, ...)              \
    do {                                     \
        if (!(condition)) fail(__VA_ARGS__); \
    } while (0)

#endif
