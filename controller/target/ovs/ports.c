/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <flow.h>
#include <openvswitch/ofp-port.h>

#include "controller/core/mem.h"

/* Initializes 'ports' as those of a bridge without ports. */
void
ovs_ports_init(struct ovs_ports *ports)
{
    *ports = (struct ovs_ports){ .n = 0 };
}

/* Frees what 'ports' holds, but not 'ports' itself. */
void
ovs_ports_destroy(struct ovs_ports *ports)
{
    free(ports->ports);
}

/* Forgets all of 'ports'. */
void
ovs_ports_clear(struct ovs_ports *ports)
{
    ports->n = 0;
}

/* Removes the port with the number of 'pp' from 'ports', if it is there. */
void
ovs_ports_remove(struct ovs_ports *ports, const struct ofputil_phy_port *pp)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->ports[i].number == ofp_to_u16(pp->port_no)) {
            ports->ports[i] = ports->ports[--ports->n];
            return;
        }
    }
}

/* Returns true if 'port' is one that packets may be sent to.  The other reserved
 * numbers are of no port, whatever the switch says. */
static bool
is_port__(ofp_port_t port)
{
    return port == OFPP_LOCAL || ofp_to_u16(port) < ofp_to_u16(OFPP_MAX);
}

/* Adds 'pp' to 'ports', in place of one with the same number.  There are less
 * than 65536 of them, therefore. */
void
ovs_ports_set(struct ovs_ports *ports, const struct ofputil_phy_port *pp)
{
    struct ovs_port *port;

    if (!is_port__(pp->port_no)) {
        return;
    }
    ovs_ports_remove(ports, pp);
    if (ports->n >= ports->allocated) {
        ports->ports =
            mem_grow(ports->ports, &ports->allocated, sizeof *ports->ports);
    }
    port = &ports->ports[ports->n++];
    port->number = ofp_to_u16(pp->port_no);
    snprintf(port->name, sizeof port->name, "%s", pp->name);
}

/* Returns the port with the given 'name', or NULL. */
const struct ovs_port *
ovs_ports_find(const struct ovs_ports *ports, const char *name)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (!strcmp(ports->ports[i].name, name)) {
            return &ports->ports[i];
        }
    }
    return NULL;
}

/* Turns 'port' from a name to a number.  Returns false if there is no such
 * port, and 'port' says so then. */
static bool
resolve_port__(const struct ovs_ports *ports, struct port *port)
{
    const struct ovs_port *found;

    if (port->type != PORT_NAME) {
        return true;
    }
    found = ovs_ports_find(ports, port->name);
    *port = (struct port){ .type = found ? PORT_NUMBER : PORT_NONE,
                           .number = found ? found->number : 0 };
    return found != NULL;
}

/* Returns the port that 'rule' names, or NULL. */
static struct port *
get_port__(struct rule *rule)
{
    return (rule->kind == RULE_MEMBER     ? &rule->member.egress
            : rule->kind == RULE_L2_IFACE ? &rule->l2_iface.port
            : rule->kind == RULE_PROBE    ? &rule->probe.port
                                          : NULL);
}

/* Adds 'name' to the list in '*names', unless it is there. */
static void
add_name__(char **names, const char *name)
{
    char *item = mem_printf(" %s,", name);
    char *longer;

    if (!strstr(*names, item)) {
        longer = mem_printf("%s%s", *names, item);
        free(*names);
        *names = longer;
    }
    free(item);
}

/* Returns 'set' with names of ports turned into numbers, which the caller must
 * unref.  Stores in '*missing' the names of the ports that are not there, each
 * separated by commas, which the caller must free.  A member behind such a port stays,
 * and drops; an interface on such a port is left out, because nothing can come
 * in through it. */
const struct rule_set *
ovs_ports_resolve(const struct ovs_ports *ports, const struct rule_set *set,
                  char **missing)
{
    struct rule_set *resolved = rule_set_create();

    *missing = mem_strdup("");
    for (size_t i = 0; i < set->n; i++) {
        struct rule rule = set->rules[i];
        struct port *port = get_port__(&rule);
        char name[IFNAMSIZ] = "";
        bool found = true;

        if (port) {
            memcpy(name, port->name, sizeof name);
            found = resolve_port__(ports, port);
        }
        if (!found) {
            add_name__(missing, name);
        }
        if (found || rule.kind == RULE_MEMBER) {
            rule_set_add(resolved, &rule);
        }
    }

    /* Drop the last comma. */
    if (**missing) {
        (*missing)[strlen(*missing) - 1] = '\0';
    }

    /* Two names of one port: the rows are equal or, at worst, the first one
     * stands. */
    free(rule_set_seal(resolved));
    return resolved;
}
