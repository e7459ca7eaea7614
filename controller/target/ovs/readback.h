/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_READBACK_H
#define EVLB_OVS_READBACK_H 1

/* What a switch holds of ours, read back when it connects.
 *
 * It is filled, sealed, and then readback_compare() tells which of the rules that the switch should hold it
 * does hold; everything else that it holds of ours is a stray and has to go.
 * Only, what is connected must not change: if the rules contradict it, nothing
 * is done. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openvswitch/hmap.h>

#include "flows/flows.h"

struct rule_diff;
struct rule_set;

/* More entries than this are not believed. */
#define READBACK_MAX 1000000

struct readback {
    struct flows flows;
    struct hmap index;           /* Of "struct readback_node"s. */
    struct readback_node *nodes; /* Parallel to 'flows.entries'. */
};

struct readback *readback_create(bool slot_flows);
void readback_destroy(struct readback *);
void readback_seal(struct readback *);

struct rule_set *readback_compare(struct readback *, const struct rule_set *);
bool readback_has(const struct readback *, const struct flows_entry *);
bool
readback_has_epoch(const struct readback *, uint16_t instance, uint16_t epoch);
char *readback_finish_diff(const struct readback *, const struct rule_set *,
                           struct rule_diff *);

#endif /* readback.h */
