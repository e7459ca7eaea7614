/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_RANGES_H
#define ENDPOINTS_RANGES_H 1

/* A set of byte positions, held as sorted ranges that neither overlap nor
 * touch.  Segments that arrive in order, or in reverse, make one range;
 * a hostile sender could make many, so there is a limit on their number.
 * The set owns its memory.  No I/O. */

#include <stddef.h>
#include <stdint.h>

/* Positions 'start' to 'end' - 1, never empty. */
struct range {
    uint32_t start;
    uint32_t end;
};

struct ranges {
    struct range *v;  /* Sorted, 'n' of them. */
    size_t n;         /* Ranges in the set. */
    size_t allocated; /* Ranges that 'v' has room for. */
};

/* The ranges of a set that a new range overlaps or touches: those from
 * 'first' on, before 'last'. */
struct ranges_span {
    size_t first;
    size_t last;
};

void ranges_init(struct ranges *);
void ranges_destroy(struct ranges *);

struct ranges_span ranges_find(const struct ranges *, struct range);
uint32_t
ranges_overlap(const struct ranges *, struct ranges_span, struct range);
int ranges_add(struct ranges *, struct ranges_span, struct range,
               size_t max_ranges);

#endif /* endpoints/ranges.h */
