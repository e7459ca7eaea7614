/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_EPOCH_H
#define EVLB_EPOCH_H 1

/* The connected epochs of one instance.
 *
 *      tick 0      first[0]          first[1]             first[2]      2^64
 *        |   late     |     epoch 0     |     epoch 1        |  epoch 2  |
 *        `------------'-----------------'--------------------'-----------'
 *           prefixes       prefixes            prefixes           /0
 *
 * An epoch ties the ticks from its first one on to a calendar.  It is final
 * from the moment it is connected: everything in struct epoch is constant, and
 * the end of its range, the one thing that is not known yet, is no member of
 * it but follows from the beginning of the next one.  Changing how events are
 * distributed therefore means connecting another epoch further ahead.
 *
 * The newest epoch is written as the prefix of length 0, so that every tick
 * has a rule, and the older ones as the prefixes of their ranges, which win
 * because they are longer.  Ticks below the first epoch are late: they belong
 * to an epoch that is not connected any more. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/prefix.h"

struct calendar;

struct epoch {
    uint16_t id;                     /* Unique among the connected epochs. */
    uint64_t first;                  /* The first tick. */
    uint16_t xor ;                   /* Applied to the slot selector. */
    const struct calendar *calendar; /* A reference. */
};

struct epochs {
    const struct epoch **epochs; /* By ascending 'first'. */
    size_t n;
    size_t allocated;
};

void epochs_init(struct epochs *);
void epochs_clone(struct epochs *, const struct epochs *);
void epochs_destroy(struct epochs *);

char *epochs_connect(struct epochs *, uint16_t id, uint64_t first,
                     uint16_t xor, const struct calendar *);
void epochs_remove(struct epochs *, uint16_t id);
void epochs_retire(struct epochs *, uint64_t oldest);
const struct epoch *epochs_newest(const struct epochs *);
const struct epoch *epochs_find_id(const struct epochs *, uint16_t id);
const struct epoch *epochs_find_tick(const struct epochs *, uint64_t tick);
void
epochs_get_prefixes(const struct epochs *, size_t i, struct prefix_list *);
void epochs_get_late_prefixes(const struct epochs *, struct prefix_list *);

bool epochs_use_member(const struct epochs *, uint16_t member,
                       const struct epoch **);

bool epoch_equal(const struct epoch *, const struct epoch *);

#endif /* epoch.h */
