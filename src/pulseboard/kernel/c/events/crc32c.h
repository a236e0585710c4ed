/* CRC32C (Castagnoli), with the CPU's instruction if it has one. */
#ifndef PB_CRC32C_H
#define PB_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Chooses the implementation for this CPU, once; later calls cost nothing.
 * Every entry point of the kernel calls it before checking or writing a frame. */
void pb_crc32c_init(void);

/* The checksum of `n` bytes at `p`. Never reads outside them. */
extern uint32_t (*pb_crc32c)(const uint8_t *p, size_t n);

/* The portable version, public so that a test can compare the two. */
uint32_t pb_crc32c_table(const uint8_t *p, size_t n);

/* TFRecord stores checksums rotated and offset, so that a CRC of CRCs stays strong. */
static inline uint32_t pb_crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }

/* Masked CRC of a record's length field. Lengths below PB_SHORT_LENGTHS are looked up: nearly every
 * record is short, and a lookup takes the checksum off the critical path. */
enum { PB_SHORT_LENGTHS = 1024 };
extern uint32_t pb_short_length_crc[PB_SHORT_LENGTHS];
uint32_t pb_length_crc_slow(uint64_t length);

static inline uint32_t pb_length_crc(uint64_t length) {
    return length < PB_SHORT_LENGTHS ? pb_short_length_crc[length] : pb_length_crc_slow(length);
}

#endif
