/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFP_LB_H
#define OFP_LB_H 1

/* The OpenFlow side of event load balancing: checks on lb_calendar groups and
 * the parts of the lb_* actions that need no private helper of
 * ofp-actions.c. */

#include <stdint.h>
#include "openvswitch/lb.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-group.h"

struct ofpact_lb_forward;
struct ds;
struct ovs_list;

bool ofp_lb_is_calendar(const struct ofputil_group_props *);
enum ofperr ofp_lb_calendar_check(const struct ovs_list *buckets,
                                  const struct ofputil_group_props *,
                                  uint32_t members[], char **errorp);

enum ofperr ofp_lb_group_mod_check(const struct ofputil_group_mod *,
                                   char **errorp);

char *ofp_lb_forward_parse(char *arg, struct ofpact_lb_forward *)
    OVS_WARN_UNUSED_RESULT;
char *ofp_lb_forward_check(const struct ofpact_lb_forward *)
    OVS_WARN_UNUSED_RESULT;
void ofp_lb_forward_format(const struct ofpact_lb_forward *, struct ds *);

#endif /* ofp-lb.h */
