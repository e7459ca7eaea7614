/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_FLOW_LB_H
#define META_FLOW_LB_H 1

/* The lb_* match fields.  All of them are plain bytes in struct flow, so that
 * one set of functions serves the six. */

#include <stdbool.h>
#include "openvswitch/meta-flow.h"

struct ds;
struct flow;
struct flow_wildcards;
struct match;

#define CASE_MFF_LB                                             \
    case MFF_LB_STATUS: case MFF_LB_VERSION: case MFF_LB_MEMBER: \
    case MFF_LB_SLOT_SELECT: case MFF_LB_PORT_SELECT: case MFF_LB_TICK

bool mf_lb_is_all_wild(const struct mf_field *, const struct flow_wildcards *);
void mf_lb_get_value(const struct mf_field *, const struct flow *,
                     union mf_value *);
void mf_lb_set_flow_value(const struct mf_field *, const union mf_value *,
                          struct flow *);
void mf_lb_set_masked(const struct mf_field *, const union mf_value *value,
                      const union mf_value *mask, struct match *);
void mf_lb_get_metadata(const struct flow *, struct match *);
void mf_lb_format(const struct match *, struct ds *);

#endif /* meta-flow-lb.h */
