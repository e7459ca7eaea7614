/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_SLOTS_H
#define EVLB_SLOTS_H 1

/* Ranges of a calendar's slots, as workers ask for them and are told.
 *
 * A range says where it begins, or asks for the first gap that is large enough.
 * Those that say so get their places first, whoever has asked; the others
 * follow in the order of those who ask.  No slot is given twice. */

#include <stddef.h>
#include <stdint.h>

/* The first gap that is large enough, as the index of a range. */
#define SLOT_RANGE_ANYWHERE -1

struct slot_range {
    int32_t index; /* The first slot, or SLOT_RANGE_ANYWHERE. */
    uint32_t length;
};

/* What one session asks for. */
struct slot_demand {
    uint64_t session; /* For messages. */
    const struct slot_range *ranges;
    size_t n;
};

/* A slot that nobody has. */
#define SLOT_FREE UINT16_MAX

char *slots_resolve(const struct slot_demand *, size_t n, uint16_t *owners,
                    uint32_t n_slots);
size_t slots_find_ranges(const uint16_t *owners, uint32_t n_slots,
                         uint16_t owner, struct slot_range **);

#endif /* slots.h */
