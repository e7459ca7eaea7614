/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ODP_LB_H
#define ODP_LB_H 1

/* The datapath side of event load balancing: execution and the text form of
 *
 *     lb_parse                     OVS_ACTION_ATTR_LB_PARSE, no argument
 *     lb_calendar(...)             OVS_ACTION_ATTR_LB_CALENDAR
 *     lb_forward(...)              OVS_ACTION_ATTR_LB_FORWARD
 *     lb(...)                      OVS_KEY_ATTR_LB, a struct ovs_key_lb
 *
 * lb_parse and lb_calendar write packet metadata only; a recirc() after them
 * lets the next flow match on it, as with ct(). */

#include <stddef.h>
#include "lb-calendar.h"
#include "lb-forward.h"
#include "openvswitch/lb.h"

struct dp_packet;
struct dp_packet_batch;
struct ds;
struct flow;
struct flow_wildcards;
struct nlattr;
struct ofpbuf;

void odp_execute_lb_parse(struct dp_packet_batch *);
void odp_execute_lb_calendar(struct dp_packet_batch *, const struct nlattr *);
void odp_execute_lb_forward(struct dp_packet_batch *, const struct nlattr *);
void odp_execute_set_lb(struct dp_packet *, const struct ovs_key_lb *,
                        const struct ovs_key_lb *mask);

void odp_lb_commit_member(const struct flow *, struct flow *base,
                          struct ofpbuf *odp_actions,
                          const struct flow_wildcards *);

void odp_lb_calendar_format(const struct nlattr *, struct ds *);
void odp_lb_forward_format(const struct nlattr *, struct ds *);
void odp_lb_key_format(const struct nlattr *, const struct nlattr *mask,
                       bool verbose, struct ds *);
int odp_lb_action_parse(const char *, struct ofpbuf *actions);

#endif /* odp-lb.h */
