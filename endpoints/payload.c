/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/payload.h"

#include <endian.h>
#include <string.h>

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)
#define CRC32C_REVERSED UINT32_C(0x82f63b78)
#define WORD sizeof(uint64_t)

/* Returns splitmix64's finalizer of 'x': a bijection that changes about half
 * of the bits for each bit that changes in 'x'. */
uint64_t
payload_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Returns the seed of the data of event 'event_num' of source 'data_id', which
 * is 'length' bytes long in all. */
uint64_t
payload_seed(uint16_t data_id, uint64_t event_num, uint32_t length)
{
    uint64_t x = payload_mix(((uint64_t) data_id << 32) | length);

    return payload_mix(x + event_num);
}

/* Returns word 'k' of the stream of 'seed', in the byte order of data. */
static uint64_t
stream_word(uint64_t seed, uint64_t k)
{
    return htobe64(payload_mix(seed + (k + 1) * GOLDEN_GAMMA));
}

/* A part of an event's data: bytes of one word before the first whole word,
 * whole words, and bytes of one word after them. */
struct part {
    uint64_t k;     /* Word that the part starts in. */
    size_t skip;    /* Bytes of that word before the part. */
    size_t head;    /* Bytes until the first whole word. */
    size_t n_words; /* Whole words. */
    size_t tail;    /* Bytes after the last whole word. */
};

static struct part
part_of(uint32_t offset, size_t size)
{
    struct part part = { .k = offset / WORD, .skip = offset % WORD };

    part.head = part.skip ? WORD - part.skip : 0;
    part.head = part.head < size ? part.head : size;
    part.n_words = (size - part.head) / WORD;
    part.tail = (size - part.head) % WORD;
    return part;
}

/* Writes to 'data' the 'size' bytes at 'offset' of the event with 'seed'. */
void
payload_fill(uint64_t seed, uint32_t offset, void *data, size_t size)
{
    struct part part = part_of(offset, size);
    uint64_t word, k = part.k;
    uint8_t *p = data;

    if (part.head) {
        word = stream_word(seed, k++);
        memcpy(p, (const uint8_t *) &word + part.skip, part.head);
        p += part.head;
    }
    for (size_t i = 0; i < part.n_words; i++, p += WORD) {
        word = stream_word(seed, k++);
        memcpy(p, &word, WORD);
    }
    if (part.tail) {
        word = stream_word(seed, k);
        memcpy(p, &word, part.tail);
    }
}

/* Returns true if the 'size' bytes at 'data' are those that payload_fill()
 * writes for 'seed' and 'offset'. */
bool
payload_check(uint64_t seed, uint32_t offset, const void *data, size_t size)
{
    struct part part = part_of(offset, size);
    uint64_t word, there, wrong = 0, k = part.k;
    const uint8_t *p = data;

    if (part.head) {
        word = stream_word(seed, k++);
        if (memcmp(p, (const uint8_t *) &word + part.skip, part.head)) {
            return false;
        }
        p += part.head;
    }
    for (size_t i = 0; i < part.n_words; i++, p += WORD) {
        memcpy(&there, p, WORD);
        wrong |= there ^ stream_word(seed, k++);
    }
    word = stream_word(seed, k);
    return !wrong && !memcmp(p, &word, part.tail);
}

/* The same as payload_crc32c(), one bit at a time, for processors that have no
 * instruction for it. */
uint32_t
payload_crc32c_bitwise(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint32_t crc = UINT32_MAX;

    for (; size; p++, size--) {
        crc ^= *p;
        for (int i = 0; i < 8; i++) {
            crc = (crc >> 1) ^ (crc & 1 ? CRC32C_REVERSED : 0);
        }
    }
    return ~crc;
}

#if defined __x86_64__
static uint32_t crc32c_sse42(uint32_t, const uint8_t *, size_t)
    __attribute__((target("sse4.2")));

static uint32_t
crc32c_sse42(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= WORD; p += WORD, size -= WORD) {
        uint64_t word;

        memcpy(&word, p, sizeof word);
        crc = __builtin_ia32_crc32di(crc, word);
    }
    for (; size; p++, size--) {
        crc = __builtin_ia32_crc32qi(crc, *p);
    }
    return crc;
}
#endif

/* Returns the CRC-32C of the 'size' bytes at 'data'. */
uint32_t
payload_crc32c(const void *data, size_t size)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("sse4.2")) {
        return ~crc32c_sse42(UINT32_MAX, data, size);
    }
#endif
    return payload_crc32c_bitwise(data, size);
}
