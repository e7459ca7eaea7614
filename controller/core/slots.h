/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_SLOTS_H
#define EVLB_SLOTS_H 1

/* Ranges of a calendar's slots, as workers ask for them and are told. */

#include <stdint.h>

/* The first gap that is large enough, as the index of a range. */
#define SLOT_RANGE_ANYWHERE -1

struct slot_range {
    int32_t index; /* The first slot, or SLOT_RANGE_ANYWHERE. */
    uint32_t length;
};

#endif /* slots.h */
