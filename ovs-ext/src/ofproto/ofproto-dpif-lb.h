/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFPROTO_DPIF_LB_H
#define OFPROTO_DPIF_LB_H 1

/* Event load balancing in ofproto-dpif: what translation, groups, probing and
 * tracing need beyond their own code. */

#include <stdbool.h>
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-errors.h"

struct dp_packet;
struct dpif;
struct flow;
struct ofgroup;
struct ofpbuf;
struct ovs_action_lb_calendar;

bool ofproto_lb_probe(struct dpif *);

enum ofperr ofproto_lb_group_construct(const struct ofgroup *, bool supported,
                                       struct ovs_action_lb_calendar **);
uint8_t ofproto_lb_group_table(const struct ofgroup *);

void ofproto_lb_put_calendar(const struct ovs_action_lb_calendar *,
                             struct ofpbuf *odp_actions);
void ofproto_lb_put_forward(const struct ofpact_lb_forward *,
                            struct ofpbuf *odp_actions);
void ofproto_lb_forward_flow(const struct ofpact_lb_forward *, struct flow *);
void ofproto_lb_wrap_in_clone(struct ofpbuf *odp_actions, size_t start);
bool ofproto_lb_forward_allows(const struct ofpact *next);

enum ofperr ofproto_lb_check_actions(const struct ofpact[], size_t);

void ofproto_lb_trace_parse(const struct dp_packet *, struct flow *);
void ofproto_lb_trace_calendar(const struct ovs_action_lb_calendar *,
                               struct flow *);

#endif /* ofproto-dpif-lb.h */
