/* SPDX-License-Identifier: Apache-2.0 */

/* From a state to its rule set. */

#include "controller/rules/rule-set.h"

#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/neighbour.h"

/* What a rule set is made from, and the set itself. */
struct build {
    const struct state *state;
    const struct bridge *bridge;
    const struct rule_inputs *inputs;
    struct rule_set *set;
};

static void
add_mac_filter__(struct rule_set *set, const struct interface *iface,
                 const struct mac *mac)
{
    struct rule rule = { .kind = RULE_MAC_FILTER };

    rule.mac_filter.iface = iface->id;
    rule.mac_filter.mac = *mac;
    rule_set_add(set, &rule);
}

static void
add_ip_filter__(struct rule_set *set, const struct instance *instance,
                const struct interface *iface, const struct in6_addr *address,
                const struct in6_addr *unicast)
{
    struct rule rule = { .kind = RULE_IP_FILTER };

    rule.ip_filter.iface = iface->id;
    rule.ip_filter.address = *address;
    rule.ip_filter.instance = instance->id;
    rule.ip_filter.unicast = *unicast;
    rule.ip_filter.mac = iface->mac;
    rule_set_add(set, &rule);
}

/* Adds what lets frames for an IPv6 'address' in that are sent to those who may
 * have it. */
static void
add_solicited_node__(struct rule_set *set, const struct instance *instance,
                     const struct interface *iface,
                     const struct in6_addr *address)
{
    static const struct mac all_nodes = { { 0x33, 0x33, 0, 0, 0, 1 } };
    struct in6_addr group;
    struct mac mac;

    addr_solicited_node(address, &group);
    addr_solicited_node_mac(address, &mac);
    add_ip_filter__(set, instance, iface, &group, address);
    add_mac_filter__(set, iface, &mac);
    add_mac_filter__(set, iface, &all_nodes);
}

/* Adds what lets frames for 'address' in through 'iface'. */
static void
add_address__(struct rule_set *set, const struct instance *instance,
              const struct interface *iface, const struct in6_addr *address)
{
    static const struct mac broadcast = { { 255, 255, 255, 255, 255, 255 } };

    add_ip_filter__(set, instance, iface, address, address);
    add_mac_filter__(set, iface, &iface->mac);
    add_mac_filter__(set, iface, &broadcast);
    if (!addr_is_ipv4(address)) {
        add_solicited_node__(set, instance, iface, address);
    }
}

/* Stores in 'rule' how 'm' is reached through the interface of 'iface', as far
 * as it has to be found out. */
static void
resolve_member__(const struct build *build, const struct interface *iface,
                 const struct member *m, struct rule_member *rule)
{
    struct neighbour_key key = { .datapath_id = build->bridge->datapath_id,
                                 .iface = iface->id };
    const struct neighbour *found = NULL;

    if (!interface_next_hop(iface, &m->ip, &key.ip)) {
        rule->action = RULE_MEMBER_UNRESOLVED;
        return;
    }
    if (build->inputs->neighbours) {
        found = neighbours_find(build->inputs->neighbours, &key);
    }
    if (mac_is_zero(&m->mac) && found && found->known) {
        rule->mac = found->mac;
    } else if (mac_is_zero(&m->mac)) {
        rule->action = RULE_MEMBER_UNRESOLVED;
    }
    if (m->egress.type == PORT_SEEN) {
        rule->egress = (struct port){ .type = PORT_NONE };
        if (found && found->known) {
            rule->egress.type = PORT_NUMBER;
            rule->egress.number = found->port;
        } else {
            rule->action = RULE_MEMBER_UNRESOLVED;
        }
    }
}

static void
add_member__(const struct build *build, const struct instance *instance,
             const struct interface *iface, const struct in6_addr *address,
             const struct member *m)
{
    struct rule rule = { .kind = RULE_MEMBER };

    rule.member.instance = instance->id;
    rule.member.vlan = iface->vlan;
    rule.member.address = *address;
    rule.member.member = m->id;
    rule.member.src_mac = iface->mac;
    rule.member.mac = m->mac;
    rule.member.ip = m->ip;
    rule.member.base = m->base;
    rule.member.bits = m->bits;
    rule.member.keep = m->keep;
    rule.member.egress = m->egress;
    resolve_member__(build, iface, m, &rule.member);
    rule_set_add(build->set, &rule);
}

/* Adds the members that packets to 'address' of 'iface' can go to: those of
 * the same family. */
static void
add_members__(const struct build *build, const struct instance *instance,
              const struct interface *iface, const struct in6_addr *address)
{
    for (size_t i = 0; i < instance->n_members; i++) {
        const struct member *m = &instance->members[i];

        if (addr_is_ipv4(&m->ip) == addr_is_ipv4(address)) {
            add_member__(build, instance, iface, address, m);
        }
    }
}

static void
add_ports__(struct rule_set *set, const struct instance *instance)
{
    struct rule rule = { .kind = RULE_PORTS };
    struct prefix_list list;

    rule.ports.instance = instance->id;
    prefix_list_from_range(instance->first_port,
                           (uint64_t) instance->last_port + 1, &list);
    for (size_t i = 0; i < list.n; i++) {
        rule.ports.port = (uint16_t) list.prefixes[i].value;
        rule.ports.mask = (uint16_t) prefix_mask(list.prefixes[i].len);
        rule_set_add(set, &rule);
    }
}

static void
add_sources__(struct rule_set *set, const struct instance *instance)
{
    struct rule rule = { .kind = RULE_SOURCE };

    rule.source.instance = instance->id;
    for (size_t i = 0; i < instance->n_sources; i++) {
        rule.source.block = instance->sources[i];
        rule_set_add(set, &rule);
    }
}

/* Adds a rule like 'epoch' for each of 'prefixes'. */
static void
add_prefixes__(struct rule_set *set, const struct rule_epoch *epoch,
               const struct prefix_list *prefixes)
{
    struct rule rule = { .kind = RULE_EPOCH, .epoch = *epoch };

    for (size_t i = 0; i < prefixes->n; i++) {
        rule.epoch.prefix = prefixes->prefixes[i];
        rule_set_add(set, &rule);
    }
}

static void
add_calendar__(struct rule_set *set, const struct instance *instance,
               const struct epoch *epoch)
{
    struct rule rule = { .kind = RULE_CALENDAR };

    rule.calendar.instance = instance->id;
    rule.calendar.epoch = epoch->id;
    rule.calendar.xor = epoch->xor ;
    rule.calendar.calendar = epoch->calendar;
    rule_set_add(set, &rule);
}

static void
add_epochs__(struct rule_set *set, const struct instance *instance)
{
    const struct epochs *epochs = &instance->epochs;
    struct rule_epoch epoch = { .instance = instance->id };
    struct prefix_list prefixes;

    if (!epochs->n) {
        return;
    }
    for (size_t i = 0; i < epochs->n; i++) {
        epoch.epoch = epochs->epochs[i]->id;
        add_calendar__(set, instance, epochs->epochs[i]);
        epochs_get_prefixes(epochs, i, &prefixes);
        add_prefixes__(set, &epoch, &prefixes);
    }

    /* 'epoch' names the newest one now. */
    epoch.late = true;
    if (instance->late == LATE_DROP) {
        epoch.drop = true;
        epoch.epoch = 0;
    }
    epochs_get_late_prefixes(epochs, &prefixes);
    add_prefixes__(set, &epoch, &prefixes);
}

static void
add_instance__(const struct build *build, const struct instance *instance)
{
    struct rule_set *set = build->set;
    struct rule rule = { .kind = RULE_INSTANCE };

    rule.instance.instance = instance->id;
    rule.instance.l2_normal = build->state->l2_normal;
    rule.instance.renewable = instance->reservable;
    rule_set_add(set, &rule);
    for (size_t i = 0; i < instance->n_interfaces; i++) {
        for (size_t j = 0; j < instance->n_addresses; j++) {
            add_address__(set, instance, instance->interfaces[i],
                          &instance->addresses[j]);
            add_members__(build, instance, instance->interfaces[i],
                          &instance->addresses[j]);
        }
    }
    add_ports__(set, instance);
    add_sources__(set, instance);
    add_epochs__(set, instance);
}

/* Adds the counters of 'iface'. */
static void
add_iface__(struct rule_set *set, const struct interface *iface,
            bool l2_normal)
{
    struct rule rule = { .kind = RULE_IFACE };

    rule.iface.iface = iface->id;
    rule.iface.l2_normal = l2_normal;
    rule_set_add(set, &rule);
}

/* Adds what leads frames to 'iface', from each port of 'bridge' that events
 * may come in through. */
static void
add_interface__(struct rule_set *set, const struct interface *iface,
                const struct bridge *bridge)
{
    struct rule rule = { .kind = RULE_L2_IFACE };

    rule.l2_iface.port.type = PORT_ANY;
    rule.l2_iface.vlan = iface->vlan;
    rule.l2_iface.iface = iface->id;
    if (!bridge->n_ports) {
        rule_set_add(set, &rule);
    }
    for (size_t i = 0; i < bridge->n_ports; i++) {
        rule.l2_iface.port = bridge->ports[i];
        rule_set_add(set, &rule);
    }
}

static void
add_pipeline__(struct rule_set *set, const struct state *state)
{
    struct rule rule = { .kind = RULE_PIPELINE };

    rule.pipeline.l2_normal = state->l2_normal;
    rule_set_add(set, &rule);
}

/* Adds the scratch boundary of a bridge that measures. */
static void
add_probe__(const struct build *build)
{
    struct rule rule = { .kind = RULE_PROBE };

    if (*build->bridge->probe_interface) {
        rule.probe.port = build->bridge->probe_port;
        rule.probe.change = build->inputs->change;
        rule_set_add(build->set, &rule);
    }
}

/* Returns the rule set of 'state' and 'inputs' for 'bridge', which the caller must unref.
 * 'state' is free of contradictions, so that the rule set is too, but for
 * solicited-node addresses that several addresses share: the first one has
 * them. */
struct rule_set *
rule_set_build(const struct state *state, const struct bridge *bridge,
               const struct rule_inputs *inputs)
{
    struct rule_set *set = rule_set_create();
    const struct build build = { state, bridge, inputs, set };

    add_pipeline__(set, state);
    add_probe__(&build);
    for (size_t i = 0; i < state->n_instances; i++) {
        add_instance__(&build, &state->instances[i]);
    }
    for (size_t i = 0; i < state->n_interfaces; i++) {
        add_iface__(set, &state->interfaces[i], state->l2_normal);
        add_interface__(set, &state->interfaces[i], bridge);
    }

    free(rule_set_seal(set));
    return set;
}
