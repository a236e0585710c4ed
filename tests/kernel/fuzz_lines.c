// Feeds mutated logs to the line scanner, cut at random places, with the sanitizers watching. See test_fuzz_lines.py.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scan.h"

static const char *const SEEDS[] = {
    "step 1: loss 2.5, lr=1e-3\r\nEpoch: [3][40/1251]\tLoss 6.9 (7.0)\n\x1b[31mstep: 10\x1b[0m 2026-05-20 00:03:47,930\n",
    "step,loss\n1,2.5\n2,nan\n\"3\",\"a \"\"b\"\"\nc\"\n4,-inf\n5,1e400\n2026-05-20T00:03:47+02:00,N/A\n",
    "{\"step\": 1, \"loss\": NaN, \"a\": [1, [2]], \"t\": \"2026-05-20 00:00:00Z\", \"b\": \"inf\"}\n{\"step\": -2e-3}\n",
    " 45%|\xe2\x96\x88\xe2\x96\x88## | 45/100 [00:10<00:12, 4.5it/s, loss=2.5]\r 46%|##  |\n10,270 1,234,567.5 -.5 +3\n",
};
static const char BYTES[] = "0123456789.eE+-,;\t|\"'[]{}:\\ \r\n\x1b\x01\xe2\x96nainfZT_/#=";

static unsigned long long state;

static unsigned next(unsigned below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

static size_t mutate(char *data, size_t n, size_t capacity) {
    for (unsigned count = next(12); count--;) {
        size_t at = n ? next((unsigned)n) : 0;
        switch (next(4)) {
        case 0:
            if (n) data[at] = BYTES[next(sizeof BYTES - 1)];
            break;
        case 1:
            if (n) data[at] = (char)next(256);
            break;
        case 2: {  // repeat a piece
            size_t length = next(64) < n - at ? next(64) : n - at;
            if (length > n - at) length = n - at;
            if (n + length > capacity) break;
            memmove(data + at + length, data + at, n - at);
            n += length;
            break;
        }
        default: {  // remove a piece
            size_t length = n ? next(16) : 0;
            if (length > n - at) length = n - at;
            memmove(data + at, data + at + length, n - at - length);
            n -= length;
        }
        }
    }
    return n;
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    time_t end = time(NULL) + (time_t)seconds + 1;
    unsigned long long runs = 0, rows = 0;
    for (; time(NULL) < end; runs++) {
        static char buffer[8192];
        const char *seed = SEEDS[next(sizeof SEEDS / sizeof *SEEDS)];
        size_t n = strlen(seed);
        memcpy(buffer, seed, n);
        n = mutate(buffer, n, sizeof buffer);
        pb_scan scan;
        pb_scan_init(&scan, (int)next(3), ",;\t|"[next(4)], (int)next(2));
        size_t begin = 0;
        int32_t id = 0;
        while (begin < n) {
            // A piece of its own, so that a byte read past it is seen.
            size_t length = next(3) ? n - begin : 1 + next((unsigned)(n - begin));
            int last = begin + length == n;
            char *piece = malloc(length);
            memcpy(piece, buffer + begin, length);
            size_t at = 0;
            for (;;) {
                int unknown = 0;
                int64_t used = pb_scan_feed(&scan, piece + at, length - at, last, &unknown);
                if (used < 0 || (size_t)used > length - at) abort();
                at += (size_t)used;
                if (!unknown) break;
                for (uint32_t i = 0; i < scan.token_count; i++)
                    if (scan.tokens[i].start > scan.tokens[i].end || scan.tokens[i].end > scan.line_length) abort();
                if (pb_scan_learn(&scan, scan.hash, next(4) ? id++ : PB_SHAPE_IGNORED)) abort();
            }
            free(piece);
            if (last) break;
            begin += at ? at : length;
        }
        rows += scan.row_count;
        pb_scan_free(&scan);
    }
    printf("%llu runs, %llu rows\n", runs, rows);
    return rows == 0;
}
