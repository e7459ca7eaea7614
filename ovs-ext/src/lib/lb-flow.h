/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LB_FLOW_H
#define LB_FLOW_H 1

/* Conversion between the lb_* members of struct flow and struct ovs_key_lb,
 * which have one layout. */

#include <string.h>
#include "flow.h"
#include "openvswitch/lb.h"

#define LB_SAME_PLACE(MEMBER)                                           \
    (offsetof(struct flow, lb_##MEMBER) - offsetof(struct flow, lb_tick) \
     == offsetof(struct ovs_key_lb, MEMBER))
BUILD_ASSERT_DECL(LB_SAME_PLACE(tick) && LB_SAME_PLACE(slot_select)
                  && LB_SAME_PLACE(port_select) && LB_SAME_PLACE(member)
                  && LB_SAME_PLACE(status) && LB_SAME_PLACE(version)
                  && sizeof(struct ovs_key_lb) == 2 * sizeof(uint64_t)
                  && offsetof(struct flow, lb_tick) % sizeof(uint64_t) == 0);

/* Copies the lb_* members of 'flow' to 'key', which may be unaligned. */
static inline void
lb_key_from_flow(const struct flow *flow, void *key)
{
    memcpy(key, (const char *) flow + offsetof(struct flow, lb_tick),
           sizeof(struct ovs_key_lb));
}

/* Copies 'key', which may be unaligned, to the lb_* members of 'flow'. */
static inline void
lb_key_to_flow(const void *key, struct flow *flow)
{
    memcpy((char *) flow + offsetof(struct flow, lb_tick), key,
           sizeof(struct ovs_key_lb));
}

/* Returns true if 'mf' has no bit in the lb_* members. */
static inline bool
miniflow_lb_is_zero(const struct miniflow *mf)
{
    return !miniflow_get(mf, FLOW_U64_OFFSET(lb_tick))
           && !miniflow_get(mf, FLOW_U64_OFFSET(lb_tick) + 1);
}

#endif /* lb-flow.h */
