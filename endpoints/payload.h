/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_PAYLOAD_H
#define ENDPOINTS_PAYLOAD_H 1

/* Event data that proves its own integrity.
 *
 * Byte i of an event is byte i % 8, most significant first, of word i / 8 of a
 * pseudo-random stream whose seed is made of the event's data source, number
 * and length.  So a receiver can check any segment alone, however the event
 * was cut, and a wrong data id, event number, offset or length in the header
 * shows as wrong data.  Word k is splitmix64's k-th output (Steele, Lea and
 * Flood, "Fast splittable pseudorandom number generators", 2014), which needs
 * no earlier word:
 *
 *     seed = mix(mix(data_id * 2**32 + length) + event_num)
 *     word(k) = mix(seed + (k + 1) * 0x9e3779b97f4a7c15)
 *
 * Logs identify segments by CRC-32C (Castagnoli, as in RFC 3720) of their
 * data.  Pure functions, no state. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t payload_mix(uint64_t);
uint64_t payload_seed(uint16_t data_id, uint64_t event_num, uint32_t length);

void payload_fill(uint64_t seed, uint32_t offset, void *, size_t);
bool payload_check(uint64_t seed, uint32_t offset, const void *, size_t);

uint32_t payload_crc32c(const void *, size_t);
uint32_t payload_crc32c_bitwise(const void *, size_t);

#endif /* endpoints/payload.h */
