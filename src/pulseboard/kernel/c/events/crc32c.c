/* CRC32C: slicing-by-8 tables, SSE4.2 and ARMv8 versions, and the choice between them. */
#include "crc32c.h"

#include <string.h>

#include "threads.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the event-file kernel reads little-endian fields directly, but this CPU is big-endian"
#endif

static uint32_t table[8][256];

static inline uint64_t load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

uint32_t pb_crc32c_table(const uint8_t *p, size_t n) {
    uint32_t c = 0xFFFFFFFFu;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v = load64(p) ^ c;
        c = table[7][v & 0xFF] ^ table[6][v >> 8 & 0xFF] ^ table[5][v >> 16 & 0xFF] ^ table[4][v >> 24 & 0xFF] ^
            table[3][v >> 32 & 0xFF] ^ table[2][v >> 40 & 0xFF] ^ table[1][v >> 48 & 0xFF] ^ table[0][v >> 56];
    }
    while (n--) c = table[0][(c ^ *p++) & 0xFF] ^ c >> 8;
    return ~c;
}

#if defined(__x86_64__)
/* Not __builtin_cpu_supports: it needs a symbol of the compiler's own library, which zig does not link. */
static int hardware_present(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}

/* Clang has a feature of its own for these instructions; GCC counts them as part of SSE4.2. */
#ifdef __clang__
#define HARDWARE_TARGET "sse4.2,crc32"
#else
#define HARDWARE_TARGET "sse4.2"
#endif

__attribute__((target(HARDWARE_TARGET))) static uint32_t hardware(const uint8_t *p, size_t n) {
    uint64_t c = 0xFFFFFFFFu;
    for (; n >= 8; n -= 8, p += 8) c = __builtin_ia32_crc32di(c, load64(p));
    uint32_t d = (uint32_t)c;
    if (n & 4) {
        uint32_t v;
        memcpy(&v, p, 4);
        d = __builtin_ia32_crc32si(d, v);
        p += 4;
    }
    if (n & 2) {
        uint16_t v;
        memcpy(&v, p, 2);
        d = __builtin_ia32_crc32hi(d, v);
        p += 2;
    }
    if (n & 1) d = __builtin_ia32_crc32qi(d, *p);
    return ~d;
}
#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))
#ifdef __linux__
static int hardware_present(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#else
static int hardware_present(void) { return 1; } /* every 64-bit Apple CPU has it */
#endif

/* Assembly, not <arm_acle.h>: its intrinsics exist only when the whole file is built for +crc. */
__attribute__((target("+crc"))) static uint32_t hardware(const uint8_t *p, size_t n) {
    uint32_t c = 0xFFFFFFFFu;
    for (; n >= 8; n -= 8, p += 8) __asm__("crc32cx %w0, %w0, %x1" : "+r"(c) : "r"(load64(p)));
    while (n--) __asm__("crc32cb %w0, %w0, %w1" : "+r"(c) : "r"((uint32_t)*p++));
    return ~c;
}
#else
static int hardware_present(void) { return 0; }
static uint32_t hardware(const uint8_t *p, size_t n) { return pb_crc32c_table(p, n); }
#endif

uint32_t (*pb_crc32c)(const uint8_t *p, size_t n) = pb_crc32c_table;
uint32_t pb_short_length_crc[PB_SHORT_LENGTHS];

uint32_t pb_length_crc_slow(uint64_t length) { return pb_crc32c_mask(pb_crc32c((const uint8_t *)&length, 8)); }

static void choose_version(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0);
        table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xFF];
    if (hardware_present()) pb_crc32c = hardware;
    for (uint64_t n = 0; n < PB_SHORT_LENGTHS; n++) pb_short_length_crc[n] = pb_length_crc_slow(n);
}

void pb_crc32c_init(void) {
    static pb_once once = PB_ONCE;
    pb_do_once(&once, choose_version);
}
