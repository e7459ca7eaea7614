/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_STAGES_H
#define EVLB_FLOWS_STAGES_H 1

/* Within flows/: what each stage adds to 'flows' for a rule.  One file a
 * stage; a rule that concerns several stages is passed to all of them. */

#include "flows/flows.h"

void l2_add_pipeline(const struct rule_pipeline *, struct flows *);
void l2_add_iface_counters(const struct rule_iface *, struct flows *);
void l2_add_iface(const struct rule_l2_iface *, struct flows *);
void l2_add_mac_filter(const struct rule_mac_filter *, struct flows *);

void l3_add_iface_counters(const struct rule_iface *, struct flows *);
void l3_add_iface(const struct rule_l2_iface *, struct flows *);
void l3_add_ip_filter(const struct rule_ip_filter *, struct flows *);

void local_add_instance(const struct rule_instance *, struct flows *);
void local_add_ip_filter(const struct rule_ip_filter *, struct flows *);

void nd_add_instance(const struct rule_instance *, struct flows *);
void nd_add_ip_filter(const struct rule_ip_filter *, struct flows *);

void source_add_instance(const struct rule_instance *, struct flows *);
void source_add_source(const struct rule_source *, struct flows *);

void parse_add_instance(const struct rule_instance *, struct flows *);
void parse_add_ports(const struct rule_ports *, struct flows *);

void header_add_instance(const struct rule_instance *, struct flows *);

void epoch_add_instance(const struct rule_instance *, struct flows *);
void epoch_add_epoch(const struct rule_epoch *, struct flows *);

void calendar_add_calendar(const struct rule_calendar *, struct flows *);

void member_add_instance(const struct rule_instance *, struct flows *);
void member_add_member(const struct rule_member *, struct flows *);

void probe_add_probe(const struct rule_probe *, struct flows *);

#endif /* stages.h */
