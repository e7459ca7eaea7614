/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_COUNTERS_H
#define EVLB_COUNTERS_H 1

/* What was accepted and dropped, by name, since evlbd runs.
 *
 * Switches count by flow, and a flow comes and goes; these count by name and
 * owner, and never go back:
 *
 *     snapshots, from time to time -----.
 *                                       +--> difference, flow by flow --> sum
 *     flows that go, with their last ---'
 *     count
 *
 * All flows that count are installed so that the switch sends a flow-removed
 * message when they are deleted, which has their last count.  A reading before
 * the change would miss what comes after it, and would hold up the change.
 * What no counter can get right is what the switch itself has not added to its
 * flows at the time of a change: Open vSwitch adds the packets of cached flows
 * twice a second, to the flows that are there then.  A flow that is replaced in its place gives its
 * count to its successor within the switch.  A switch that has lost all flows
 * ('life' of its snapshots) begins from 0.
 *
 * Names are those of verdicts (flows/cookie.h).  Sums are over all bridges,
 * except those of ports. */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counters;
struct snapshot;
struct snapshot_flow;

enum counter_scope {
    COUNTER_ALL,       /* Of nobody in particular. */
    COUNTER_INTERFACE, /* Of 'iface'. */
    COUNTER_INSTANCE,  /* Of 'instance'. */
    COUNTER_MEMBER,    /* Of 'member' of 'instance'. */
    COUNTER_PORT       /* Of 'port' of the bridge 'datapath_id'. */
};

struct counter {
    enum counter_scope scope;
    int iface;            /* Or -1. */
    int instance;         /* Or -1. */
    int member;           /* Or -1. */
    uint64_t datapath_id; /* Or 0. */
    char port[IFNAMSIZ];  /* Or "". */
    const char *name;     /* Static. */
    bool dropped;         /* Were the packets dropped? */
    uint64_t packets;
    uint64_t bytes;
};

struct counters *counters_create(void);
void counters_destroy(struct counters *);

void counters_update(struct counters *, const struct snapshot *);
void counters_flow_removed(struct counters *, uint64_t datapath_id,
                           unsigned int life, const struct snapshot_flow *,
                           int64_t now_ms);

const struct counter **counters_get(const struct counters *, size_t *n);

#endif /* counters.h */
