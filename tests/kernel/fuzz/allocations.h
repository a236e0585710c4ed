/* Allocations that fail on demand: built with WRAPPED and the linker's --wrap. */
#ifndef FUZZ_ALLOCATIONS_H
#define FUZZ_ALLOCATIONS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef WRAPPED
static int64_t allocations_left = -1; /* allocations that succeed before one fails; -1: all succeed */
static int refuse(void) {
    if (allocations_left < 0) return 0;
    if (allocations_left) return allocations_left--, 0;
    return 1;
}
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t n) { return refuse() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t k, size_t n) { return refuse() ? NULL : __real_calloc(k, n); }
void *__wrap_realloc(void *p, size_t n) { return refuse() ? NULL : __real_realloc(p, n); }

/* The kernel reads only its hash seed this way; a fixed seed makes runs reproducible. */
size_t __wrap_fread(void *to, size_t size, size_t n, FILE *f) {
    (void)f;
    memset(to, 0x5A, size * n);
    return n;
}
#endif

#endif
