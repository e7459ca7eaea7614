/* SPDX-License-Identifier: Apache-2.0 */

/* How members are found, in the configuration. */

#include "controller/config-parse.h"

#include <string.h>

#include "controller/core/mem.h"
#include "controller/core/neighbour.h"

#define REFRESH_MAX_S 3600

void
parse_neighbours(struct reader *r, const config_setting_t *root,
                 struct neighbour_settings *settings)
{
    static const char *const names[] = { "resolve", "refresh", NULL };
    const config_setting_t *group =
        config_setting_get_member(root, "neighbour");

    settings->resolve = true;
    settings->refresh = NEIGHBOUR_REFRESH_MS / 1000;
    if (group) {
        reader_check_names(r, group, names);
        settings->resolve = reader_find_bool(r, group, "resolve", true);
        settings->refresh = (uint32_t) reader_find_uint(
            r, group, "refresh", 1, REFRESH_MAX_S, settings->refresh);
    }
}

static void
parse_networks__(struct reader *r, const config_setting_t *group,
                 struct interface *iface)
{
    const config_setting_t *list = reader_find_list(r, group, "networks");

    reader_check_list(r, list);
    iface->networks =
        mem_zalloc(reader_length(list) * sizeof *iface->networks);
    for (size_t i = 0; i < reader_length(list); i++) {
        parse_block(r, config_setting_get_elem(list, (unsigned int) i),
                    &iface->networks[iface->n_networks++]);
    }
}

/* Returns true if a router at 'via' can be reached through 'iface' without
 * another router. */
static bool
is_on_link__(const struct interface *iface, const struct in6_addr *via)
{
    const struct interface link = { .networks = iface->networks,
                                    .n_networks = iface->n_networks };
    struct in6_addr next_hop;

    return interface_next_hop(&link, via, &next_hop);
}

static void
parse_route__(struct reader *r, const config_setting_t *group,
              struct interface *iface)
{
    static const char *const names[] = { "to", "via", NULL };
    struct route *route = &iface->routes[iface->n_routes++];
    const config_setting_t *to, *via;

    reader_check_names(r, group, names);
    to = reader_get_setting(r, group, "to");
    if (to) {
        parse_block(r, to, &route->to);
    }
    via = reader_get_setting(r, group, "via");
    if (via) {
        parse_addr(r, via, &route->via);
    }
    if (r->error) {
        return;
    }
    if (addr_is_ipv4(&route->to.addr) != addr_is_ipv4(&route->via)) {
        reader_fail(r, via, "is not of the family of \"to\"");
    } else if (!is_on_link__(iface, &route->via)) {
        reader_fail(r, via, "is in none of the interface's networks");
    }
}

/* Reads where stations behind 'iface' are. */
void
parse_routes(struct reader *r, const config_setting_t *group,
             struct interface *iface)
{
    const config_setting_t *list;

    parse_networks__(r, group, iface);
    list = reader_find_list(r, group, "routes");
    reader_check_list(r, list);
    iface->routes = mem_zalloc(reader_length(list) * sizeof *iface->routes);
    for (size_t i = 0; !r->error && i < reader_length(list); i++) {
        parse_route__(r, config_setting_get_elem(list, (unsigned int) i),
                      iface);
    }
}

/* Checks that 'member' can be reached through an interface of 'instance'. */
void
check_reachable(struct reader *r, const config_setting_t *group,
                const struct instance *instance, const struct member *member)
{
    struct in6_addr next_hop;

    for (size_t i = 0; i < instance->n_interfaces; i++) {
        if (interface_next_hop(instance->interfaces[i], &member->ip,
                               &next_hop)) {
            return;
        }
    }
    reader_fail(r, group,
                "no network and no route of the instance's interfaces leads "
                "to the member's ip");
}

/* Checks that the members of the instance that 'group' is about say where they
 * are, if nobody is asked. */
void
check_found(struct reader *r, const config_setting_t *group,
            const struct state *state)
{
    static const char *const needed[] = { "mac", "egress" };
    const config_setting_t *list = reader_find_list(r, group, "members");

    if (state->neighbours.resolve) {
        return;
    }
    for (unsigned int i = 0; !r->error && i < reader_length(list); i++) {
        const config_setting_t *member = config_setting_get_elem(list, i);

        for (size_t j = 0; j < sizeof needed / sizeof needed[0]; j++) {
            if (!config_setting_get_member(member, needed[j])) {
                reader_fail(r, member,
                            "lacks the setting \"%s\", which nobody finds "
                            "out: neighbour.resolve is false",
                            needed[j]);
            }
        }
    }
}
