/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/shuffle.h"

/* Returns the next number of the sequence that '*state' is in. */
uint64_t
shuffle_next(uint64_t *state)
{
    uint64_t z;

    *state += UINT64_C(0x9e3779b97f4a7c15);
    z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Returns a number below 'n', which is not 0; each is as likely. */
uint64_t
shuffle_below(uint64_t *state, uint64_t n)
{
    uint64_t rest = (0 - n) % n; /* 2^64 mod n. */
    uint64_t r;

    do {
        r = shuffle_next(state);
    } while (r < rest);
    return r % n;
}

/* Puts the 'n' 'elements' into an order that is as random as 'seed'. */
void
shuffle(uint16_t *elements, size_t n, uint64_t seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t) shuffle_below(&seed, i);
        uint16_t tmp = elements[i - 1];

        elements[i - 1] = elements[j];
        elements[j] = tmp;
    }
}
