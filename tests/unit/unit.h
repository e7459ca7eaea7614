/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H 1

/* What every unit test of the controller includes: cmocka, and numbers that
 * are random but the same in each run. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Returns the next number of the sequence that '*state' is in (xorshift64*,
 * Vigna 2016).  '*state' must not be 0 at first. */
static inline uint64_t
unit_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* Returns a number below 'n', which is not 0. */
static inline unsigned int
unit_random_below(uint64_t *state, unsigned int n)
{
    return (unsigned int) ((unit_random(state) >> 32) % n);
}

/* Checks that 'error', which is freed, holds the words 'expected', or that
 * there is no error if 'expected' is NULL. */
static inline void
unit_assert_error(char *error, const char *expected)
{
    if (!expected) {
        if (error) {
            fail_msg("unexpected error: %s", error);
        }
    } else if (!error) {
        fail_msg("no error, expected one with \"%s\"", expected);
    } else if (!strstr(error, expected)) {
        fail_msg("error \"%s\" lacks \"%s\"", error, expected);
    }
    free(error);
}

#endif /* unit.h */
