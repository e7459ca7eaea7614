/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_SHUFFLE_H
#define EVLB_SHUFFLE_H 1

/* Shuffles, so that it can be done again: the order depends on the seed alone.
 *
 *     for i from n - 1 down to 1:            Fisher and Yates, Durstenfeld
 *         swap elements i and below(i + 1)
 *
 *     below(n):                              without bias
 *         repeat r = next() until r >= 2^64 mod n
 *         return r mod n
 *
 *     next():                                SplitMix64, Steele, Lea and
 *         state += 0x9e3779b97f4a7c15        Flood 2014; the state is the seed
 *         z = state                          at first
 *         z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
 *         z = (z ^ z >> 27) * 0x94d049bb133111eb
 *         return z ^ z >> 31
 *
 * All of it is modulo 2^64.  This is for fairness and not for secrets. */

#include <stddef.h>
#include <stdint.h>

uint64_t shuffle_next(uint64_t *state);
uint64_t shuffle_below(uint64_t *state, uint64_t n);
void shuffle(uint16_t *elements, size_t n, uint64_t seed);

#endif /* shuffle.h */
