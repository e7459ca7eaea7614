/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/prefix.h"

/* Returns a mask of the 'len' most significant bits. */
uint64_t
prefix_mask(uint8_t len)
{
    return len ? UINT64_MAX << (64 - len) : 0;
}

/* Returns true if 'tick' is in 'prefix'. */
bool
prefix_contains(const struct prefix *prefix, uint64_t tick)
{
    return !((tick ^ prefix->value) & prefix_mask(prefix->len));
}

/* Returns the binary logarithm of the size of the largest aligned block that
 * begins at 'begin' and holds no more than 'size' ticks.  'size' is not 0. */
static unsigned int
largest_block__(uint64_t begin, uint64_t size)
{
    unsigned int fits = 63 - (unsigned int) __builtin_clzll(size);
    unsigned int aligned = begin ? (unsigned int) __builtin_ctzll(begin) : 63;

    return fits < aligned ? fits : aligned;
}

/* Stores in 'list' the shortest list of prefixes that covers exactly the
 * ticks in [begin, end), in ascending order.  An 'end' of 0 is 2^64.  The
 * list is empty if 'end' is not above 'begin'.
 *
 * Taking the largest aligned block each time gives the shortest list, because
 * two prefixes are either disjoint or one holds the other. */
void
prefix_list_from_range(uint64_t begin, uint64_t end, struct prefix_list *list)
{
    list->n = 0;
    if (!begin && !end) {
        list->prefixes[list->n++] = (struct prefix){ 0, 0 };
        return;
    }
    if (end && begin >= end) {
        return;
    }

    do {
        /* Modulo 2^64, so that it is right for an 'end' of 2^64 too. */
        unsigned int log2 = largest_block__(begin, end - begin);

        list->prefixes[list->n++] =
            (struct prefix){ begin, (uint8_t) (64 - log2) };
        begin += UINT64_C(1) << log2;
    } while (begin != end);
}
