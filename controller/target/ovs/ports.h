/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_PORTS_H
#define EVLB_OVS_PORTS_H 1

/* The ports of a bridge, and rules with names of ports as rules with their
 * numbers.
 *
 * A rule set says "port cn1", a switch knows "port 5".  Names are looked up
 * before rule sets are compared, so that a port that appears, goes, or changes
 * its number is a change of rules like any other. */

#include <stddef.h>

#include "controller/rules/rule-set.h"

struct ofputil_phy_port;

struct ovs_port {
    uint32_t number;
    char name[IFNAMSIZ];
};

struct ovs_ports {
    struct ovs_port *ports;
    size_t n;
    size_t allocated;
};

void ovs_ports_init(struct ovs_ports *);
void ovs_ports_destroy(struct ovs_ports *);
void ovs_ports_clear(struct ovs_ports *);
void ovs_ports_set(struct ovs_ports *, const struct ofputil_phy_port *);
void ovs_ports_remove(struct ovs_ports *, const struct ofputil_phy_port *);
const struct ovs_port *
ovs_ports_find(const struct ovs_ports *, const char *name);
const struct rule_set *
ovs_ports_resolve(const struct ovs_ports *, const struct rule_set *,
                  char **missing);

#endif /* ports.h */
