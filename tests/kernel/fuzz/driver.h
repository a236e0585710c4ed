/* A main for gcc: keeps inputs that reach new branches, and mutates them until the time is up or enough were made. */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check_files.h"
#include "mutate.h"
#include "require.h"
#include "seeds.h"

enum { MAX_INPUT = 1 << 18, LARGE = 1 << 14, MAX_INPUTS = 8192, MAX_SECS = 60, MAX_CPU_SECS = 2 };

static buffer pool[MAX_INPUTS];
static size_t pool_n;
static buffer input;
static uint64_t seed = 20251116, runs;

/* Paths through the kernel, counted as AFL does: with -fsanitize-coverage=trace-pc, every branch calls
 * here. An input that takes a new path is kept and mutated further. */
enum { EDGES = 1 << 16 };
static uint8_t hits[EDGES], seen[EDGES];
static uintptr_t previous_branch;
void __sanitizer_cov_trace_pc(void);

__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&LLVMFuzzerTestOneInput;
    here = here * 0x9E3779B97F4A7C15u >> 48;
    uint8_t *hit = &hits[(here ^ previous_branch) % EDGES];
    if (*hit < 255) ++*hit;
    previous_branch = here >> 1;
}

static int took_a_new_path(void) {
    int new = 0;
    for (size_t i = 0; i < EDGES; i++) {
        if (!hits[i]) continue;
        uint8_t often = (uint8_t)(1u << (31 - __builtin_clz(hits[i]))); /* 1, 2-3, 4-7 ... times */
        new |= (seen[i] & often) == 0;
        seen[i] |= often;
    }
    memset(hits, 0, sizeof hits);
    return new;
}

/* Called on any failure: saves the input and prints its path. */
static void save_input(void) {
    static int saved;
    char name[64], here[512];
    if (saved++ || !input.p) return;
    snprintf(name, sizeof name, "crash-%llu-%llu.bin", (unsigned long long)seed, (unsigned long long)runs);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, input.p, input.n) != (ssize_t)input.n) dprintf(2, "fuzz: could not save the input\n");
    dprintf(2, "fuzz: seed %llu, input %llu, %zu bytes. Run it alone with --case. %s/%s\n", (unsigned long long)seed,
            (unsigned long long)runs, input.n, getcwd(here, sizeof here) ? here : ".", name);
    if (folder[0]) remove_folder();
}

static void on_signal(int number) {
    if (number == SIGALRM) dprintf(2, "fuzz: check failed: one input takes longer than %d s\n", MAX_SECS);
    save_input();
    signal(SIGABRT, SIG_DFL);
    abort();
}

extern void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));
void __ubsan_on_report(void);
void __ubsan_on_report(void) { save_input(); }

static double secs_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now_secs(void) { return secs_of(CLOCK_MONOTONIC); }

static double slowest; /* seconds of processor time for one input */

static void run_input(void) {
    runs++;
    previous_branch = 0;
    alarm(MAX_SECS);
    size_t before = heap();
    double cpu = secs_of(CLOCK_PROCESS_CPUTIME_ID);
    LLVMFuzzerTestOneInput(input.p, input.n);
    REQUIRE(heap() == before, "%zu bytes of heap are not freed", heap() - before);
    alarm(0);
    cpu = secs_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    REQUIRE(cpu < MAX_CPU_SECS, "one input takes %.1f s of processor time", cpu);
    if (cpu > slowest) slowest = cpu;
}

static void keep_input(void) {
    if (pool_n == MAX_INPUTS) return;
    put(&pool[pool_n++], input.p, input.n);
}

static int read_input(const char *from) {
    int fd = open(from, O_RDONLY);
    uint8_t piece[4096];
    ssize_t k = -1;
    input.n = 0;
    while (fd >= 0 && (k = read(fd, piece, sizeof piece)) > 0) put(&input, piece, (size_t)k);
    if (fd >= 0) close(fd);
    if (k < 0) fprintf(stderr, "fuzz: cannot read a file: %s. %s\n", strerror(errno), from);
    return k == 0;
}

/* Large inputs are slow, so they are picked less often. */
static const buffer *draw_from_pool(stream *r) {
    const buffer *b = &pool[below(r, pool_n)];
    for (int again = 0; again < 8 && b->n > LARGE; again++) b = &pool[below(r, pool_n)];
    return b;
}

static void run_seeds(void) {
    buffer summary = {0};
    for (size_t i = 0; i < SEED_MAKERS; i++) {
        input.n = 0;
        seed_makers[i](&input, &summary);
        run_input();
        keep_input();
    }
    free(summary.p);
    took_a_new_path();
}

int main(int argc, char **argv) {
    double seconds = 60;
    uint64_t cases = UINT64_MAX;
    const char *single_case = NULL;
    int first_file = argc;
    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && !strcmp(argv[i], "--seconds")) seconds = atof(value), i++;
        else if (value && !strcmp(argv[i], "--cases")) cases = strtoull(value, NULL, 10), i++;
        else if (value && !strcmp(argv[i], "--seed")) seed = strtoull(value, NULL, 10), i++;
        else if (value && !strcmp(argv[i], "--case")) single_case = value, i++;
        else if (argv[i][0] != '-') {
            first_file = i;
            break;
        } else {
            fprintf(stderr, "usage: fuzz [--seconds N] [--cases N] [--seed S] [--case FILE] [CORPUS FILES...]\n");
            return 2;
        }
    }
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(save_input);
    pb_crc32c_init();
    make_folder();

    if (single_case) {
        if (!read_input(single_case)) return 2;
        run_input();
        printf("fuzz: 1 input, no findings\n");
        return 0;
    }
    double start = now_secs();
    run_seeds();
    for (int i = first_file; i < argc; i++) {
        if (!read_input(argv[i])) continue;
        run_input();
        if (took_a_new_path()) keep_input();
    }
    uint64_t seeds = runs;
    stream r = {seed};
    while (now_secs() - start < seconds && runs < cases) {
        const buffer *base = draw_from_pool(&r), *other = draw_from_pool(&r);
        mutate_file(&r, &input, base, other);
        if (input.n > MAX_INPUT) input.n = MAX_INPUT;
        run_input();
        if (took_a_new_path()) keep_input();
    }
    double spent = now_secs() - start;
    printf(
        "fuzz: %llu inputs in %.1f s, %.0f per second; %llu seeds, %zu inputs kept, slowest %.3f s of CPU; no findings\n",
        (unsigned long long)runs, spent, (double)runs / spent, (unsigned long long)seeds, pool_n, slowest);
    for (size_t i = 0; i < pool_n; i++) free(pool[i].p);
    free(input.p);
    return 0;
}

#endif
