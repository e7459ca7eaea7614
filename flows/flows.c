/* SPDX-License-Identifier: Apache-2.0 */

#include "flows/flows.h"

#include "flows/stages.h"

static void
add_instance__(const struct rule_instance *rule, struct flows *flows)
{
    nd_add_instance(rule, flows);
    local_add_instance(rule, flows);
    source_add_instance(rule, flows);
    parse_add_instance(rule, flows);
    header_add_instance(rule, flows);
    epoch_add_instance(rule, flows);
    member_add_instance(rule, flows);
}

/* Adds to 'flows' the entries of 'rule', in the order in which they should be
 * added to a switch. */
void
flows_encode(const struct rule *rule, struct flows *flows)
{
    switch (rule->kind) {
    case RULE_PIPELINE:
        l2_add_pipeline(&rule->pipeline, flows);
        break;
    case RULE_IFACE:
        l2_add_iface_counters(&rule->iface, flows);
        l3_add_iface_counters(&rule->iface, flows);
        break;
    case RULE_PROBE:
        probe_add_probe(&rule->probe, flows);
        break;
    case RULE_INSTANCE:
        add_instance__(&rule->instance, flows);
        break;
    case RULE_MEMBER:
        member_add_member(&rule->member, flows);
        break;
    case RULE_CALENDAR:
        calendar_add_calendar(&rule->calendar, flows);
        break;
    case RULE_EPOCH:
        epoch_add_epoch(&rule->epoch, flows);
        break;
    case RULE_PORTS:
        parse_add_ports(&rule->ports, flows);
        break;
    case RULE_SOURCE:
        source_add_source(&rule->source, flows);
        break;
    case RULE_IP_FILTER:
        nd_add_ip_filter(&rule->ip_filter, flows);
        local_add_ip_filter(&rule->ip_filter, flows);
        l3_add_ip_filter(&rule->ip_filter, flows);
        break;
    case RULE_MAC_FILTER:
        l2_add_mac_filter(&rule->mac_filter, flows);
        break;
    case RULE_L2_IFACE:
        l3_add_iface(&rule->l2_iface, flows);
        l2_add_iface(&rule->l2_iface, flows);
        break;
    }
}
