/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_REORDER_H
#define ENDPOINTS_REORDER_H 1

/* Segments out of order, as a network may deliver them.
 *
 *     plan -> reorder_put() -> [pool of 'window' segments] -> sender
 *
 * Each segment gets the key "its position plus a random number from 0 to
 * 'window'", and the least key leaves first.  So a segment is overtaken by no
 * more than 'window' that follow it, and a segment in the pool is not held up
 * for longer than it takes 'window' others to come.  With a window of 0 the
 * order stays.  The random numbers come from a hash of the seed and the
 * position: a run can be repeated.
 *
 * There is no I/O and no clock here. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoints/plan.h"

struct reorder_item {
    uint64_t position;           /* In the plan. */
    uint64_t key;                /* Decides when it leaves. */
    struct plan_segment segment; /* What leaves. */
};

struct reorder {
    size_t window;             /* Segments to hold back. */
    uint64_t seed;             /* Of the random numbers. */
    uint64_t n_in;             /* Segments that came. */
    uint64_t top;              /* 1 + highest position that left. */
    uint64_t n_overtaken;      /* Left after one that came later. */
    struct reorder_item *pool; /* Has room for 'window' + 1 of them. */
    size_t n;                  /* In 'pool'. */
};

bool reorder_init(struct reorder *, size_t window, uint64_t seed);
void reorder_destroy(struct reorder *);

bool reorder_put(struct reorder *, const struct plan_segment *in,
                 struct plan_segment *out);
bool reorder_drain(struct reorder *, struct plan_segment *out);

#endif /* endpoints/reorder.h */
