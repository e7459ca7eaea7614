/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DPIF_NETDEV_LB_H
#define DPIF_NETDEV_LB_H 1

#include "dpif-netdev-private-dpcls.h"
#include "flow.h"

/* Returns true if 'key' holds a tick, that is, if hardly another packet has
 * the same key.  Such keys are looked up in the classifier alone: in the exact
 * match caches they would only push others out. */
static inline bool
netdev_flow_key_has_tick(const struct netdev_flow_key *key)
{
    return flowmap_is_set(&key->mf.map, FLOW_U64_OFFSET(lb_tick));
}

#endif /* dpif-netdev-lb.h */
