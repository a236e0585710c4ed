/* The kernel against hostile bytes: a libFuzzer target, and a main of its own for gcc.
 *
 *   fuzz --seconds N --cases N --seed S [--case FILE] [CORPUS FILES...]
 *
 * Every input is read in several ways that must agree, and the result must be consistent.
 * fuzz.py builds and runs this. For libFuzzer: clang -DLIBFUZZER -fsanitize=fuzzer,address fuzz.c and
 * the kernel's C files. */
#include "check_feed.h"
#include "check_files.h"
#include "check_values.h"
#include "mutate.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    pb_crc32c_init();
    /* Seeded from the input, so that the same input is always checked the same way. */
    stream r = {n ^ (uint64_t)pb_crc32c(data, n) << 32};
    size_t before = heap();
    uint64_t want;
    pb_log *whole = new_log();
    feed_copy(whole, data, n, &want);
    /* A tag of seven bytes takes 180 in a table that doubles, in addition to its columns. */
    REQUIRE(heap() - before <= 128 * n + 16384, "%zu bytes of heap are used for %zu fed", heap() - before, n);
    check_log(whole, n, 0, "whole");
    check_pieces(whole, data, n, &r);
    if (one_in(&r, 4)) check_values(whole, data, n);
    if (one_in(&r, 2)) check_fast_path(whole, data, n);
    if (one_in(&r, 8)) check_failing_allocations(data, n, &r);
    if (one_in(&r, 16)) check_file(whole, data, n, &r);
    if (one_in(&r, 512) && n >= 256 && whole->end == PB_END_CLEAN) check_long_file(data, n, &r);
    pb_log_free(whole);
    return 0;
}

#ifndef LIBFUZZER
#include "driver.h"
#endif
