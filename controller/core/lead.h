/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_LEAD_H
#define EVLB_LEAD_H 1

/* How far ahead a boundary must lie, as time: until a bridge treats all packets
 * by a change that it is given.
 *
 * It is a setting until it was measured on packets.  From then on it is the
 * longest of the newest measurements and half as much again, for the next one
 * may be longer. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAD_WINDOW 16   /* Measurements that count. */
#define LEAD_FLOOR_MS 20 /* No lead is believed to be shorter. */

struct lead {
    uint32_t samples[LEAD_WINDOW]; /* Milliseconds. */
    size_t n_samples;              /* All that there were. */
};

void lead_init(struct lead *);
void lead_add_sample(struct lead *, uint32_t ms);
bool lead_is_measured(const struct lead *);
uint32_t lead_get(const struct lead *, uint32_t min_lead);

#endif /* lead.h */
