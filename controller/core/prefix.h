/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_PREFIX_H
#define EVLB_PREFIX_H 1

/* Ranges of 64-bit ticks as lists of aligned prefixes.
 *
 * A data plane matches ticks by longest prefix, so a range of ticks has to be
 * written as prefixes.  A range is half open, [begin, end), and an 'end' of 0
 * stands for 2^64, so that the last tick can be inside.  [0, 0) is therefore
 * the whole space; an empty range that starts at 0 cannot be written. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ticks whose 'len' most significant bits are those of 'value'.  The
 * other bits of 'value' are 0. */
struct prefix {
    uint64_t value;
    uint8_t len; /* 0...64. */
};

/* [1, 2^64 - 1) needs the most: one prefix of each length from 64 to 2 on
 * the way up and again on the way down. */
#define PREFIX_LIST_MAX 126

struct prefix_list {
    size_t n;
    struct prefix prefixes[PREFIX_LIST_MAX];
};

uint64_t prefix_mask(uint8_t len);
bool prefix_contains(const struct prefix *, uint64_t tick);
void
prefix_list_from_range(uint64_t begin, uint64_t end, struct prefix_list *);

#endif /* prefix.h */
