/* SPDX-License-Identifier: Apache-2.0 */

/* Bridges and interfaces in the configuration. */

#include "controller/config-parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* Returns the datapath id that the member 'datapath_id' of 'group' is, as
 * ovs-vsctl shows it: hexadecimal digits, perhaps after 0x. */
static uint64_t
parse_datapath_id__(struct reader *r, const config_setting_t *group)
{
    const char *s = reader_get_string(r, group, "datapath_id");
    const char *digits = !strncmp(s, "0x", 2) ? s + 2 : s;
    size_t n = strlen(digits);
    uint64_t id = strtoull(digits, NULL, 16);

    if (!r->error
        && (!id || n > 16 || strspn(digits, "0123456789abcdefABCDEF") != n)) {
        reader_fail(r, config_setting_get_member(group, "datapath_id"),
                    "must be 1 to 16 hexadecimal digits, not all 0, in "
                    "quotes");
    }
    return id;
}

static void
parse_bridge_ports__(struct reader *r, const config_setting_t *list,
                     struct bridge *bridge)
{
    reader_check_list(r, list);
    bridge->ports = mem_zalloc(reader_length(list) * sizeof *bridge->ports);
    for (size_t i = 0; i < reader_length(list); i++) {
        const config_setting_t *s =
            config_setting_get_elem(list, (unsigned int) i);
        struct port *port = &bridge->ports[bridge->n_ports++];

        parse_port(r, s, port);
        for (size_t j = 0; j < i; j++) {
            if (!port_compare(port, &bridge->ports[j])) {
                reader_fail(r, s, "is listed twice");
            }
        }
    }
}

/* Reads through which interface and port changes are measured. */
static void
parse_probe__(struct reader *r, const config_setting_t *group,
              struct bridge *bridge)
{
    static const char *const names[] = { "interface", "port", NULL };
    const config_setting_t *probe =
        r->error ? NULL : config_setting_get_member(group, "lead_probe");
    const config_setting_t *port;
    const char *interface;

    if (!probe) {
        return;
    }
    reader_check_names(r, probe, names);
    interface = reader_get_string(r, probe, "interface");
    port = reader_get_setting(r, probe, "port");
    if (port) {
        parse_port(r, port, &bridge->probe_port);
    }
    if (!r->error
        && (!*interface || strlen(interface) >= sizeof bridge->probe_interface)) {
        reader_fail(r, config_setting_get_member(probe, "interface"),
                    "\"%s\" is no name of an interface, which has 1 to %zu "
                    "characters",
                    interface, sizeof bridge->probe_interface - 1);
    }
    if (!r->error) {
        memcpy(bridge->probe_interface, interface, strlen(interface) + 1);
    }
}

static void
parse_bridge__(struct reader *r, const config_setting_t *group,
               struct state *state)
{
    static const char *const names[] = { "name",     "datapath_id", "ports",
                                         "calendar", "lead_probe",  NULL };
    static const char *const modes[] = { [CALENDAR_AUTO] = "auto",
                                         [CALENDAR_GROUP] = "group",
                                         [CALENDAR_FLOWS] = "flows",
                                         NULL };
    struct bridge *bridge = &state->bridges[state->n_bridges++];

    reader_check_names(r, group, names);
    bridge->name = parse_name(r, group);
    bridge->datapath_id = parse_datapath_id__(r, group);
    bridge->calendar = (enum calendar_mode) reader_find_choice(
        r, group, "calendar", modes, CALENDAR_AUTO);
    parse_probe__(r, group, bridge);
    bridge->line = reader_line(group);
    parse_bridge_ports__(r, reader_find_list(r, group, "ports"), bridge);

    for (const struct bridge *b = state->bridges; b < bridge; b++) {
        if (!strcmp(b->name, bridge->name)) {
            reader_fail(r, group,
                        "another bridge is named \"%s\", on line "
                        "%d",
                        b->name, b->line);
        } else if (b->datapath_id == bridge->datapath_id) {
            reader_fail(r, group,
                        "bridge \"%s\" has the same datapath_id, on "
                        "line %d",
                        b->name, b->line);
        }
    }
}

void
parse_bridges(struct reader *r, const config_setting_t *root,
              struct state *state)
{
    const config_setting_t *list = reader_find_list(r, root, "bridges");
    size_t n = reader_length(list);

    if (!n) {
        reader_fail(r, root, "no bridges are configured");
        return;
    }
    state->bridges = mem_zalloc(n * sizeof *state->bridges);
    for (size_t i = 0; !r->error && i < n; i++) {
        parse_bridge__(r, config_setting_get_elem(list, (unsigned int) i),
                       state);
    }
}

/* Checks that 'iface', which 'group' is about, differs from those before
 * it. */
static void
check_interface__(struct reader *r, const config_setting_t *group,
                  const struct state *state, const struct interface *iface)
{
    for (const struct interface *i = state->interfaces; i < iface; i++) {
        if (!strcmp(i->name, iface->name)) {
            reader_fail(r, group,
                        "another interface is named \"%s\", on line "
                        "%d",
                        i->name, i->line);
        } else if (i->id == iface->id) {
            reader_fail(r, group,
                        "interface \"%s\" has the same id, %" PRIu8
                        ", on line %d",
                        i->name, i->id, i->line);
        } else if (i->vlan == iface->vlan) {
            reader_fail(r, group,
                        "interface \"%s\" has the same vlan, "
                        "%" PRIu16 ", on line %d",
                        i->name, i->vlan, i->line);
        }
    }
}

static void
parse_interface__(struct reader *r, const config_setting_t *group,
                  struct state *state)
{
    static const char *const names[] = { "name",     "id",     "vlan", "mac",
                                         "networks", "routes", NULL };
    size_t index = state->n_interfaces++;
    struct interface *iface = &state->interfaces[index];

    reader_check_names(r, group, names);
    iface->name = parse_name(r, group);
    iface->id =
        (uint8_t) reader_find_uint(r, group, "id", 0, INTERFACE_ID_MAX, index);
    iface->vlan = (uint16_t) reader_find_uint(r, group, "vlan", 0, 4094, 0);
    parse_mac(r, group, "mac", &iface->mac);
    parse_routes(r, group, iface);
    iface->line = reader_line(group);
    check_interface__(r, group, state, iface);
}

void
parse_interfaces(struct reader *r, const config_setting_t *root,
                 struct state *state)
{
    const config_setting_t *list = reader_find_list(r, root, "interfaces");
    size_t n = reader_length(list);

    if (!n) {
        reader_fail(r, root, "no interfaces are configured");
        return;
    }
    if (n > INTERFACE_ID_MAX + 1) {
        reader_fail(r, list, "there are more than %d interfaces",
                    INTERFACE_ID_MAX + 1);
        return;
    }
    state->interfaces = mem_zalloc(n * sizeof *state->interfaces);
    for (size_t i = 0; !r->error && i < n; i++) {
        parse_interface__(r, config_setting_get_elem(list, (unsigned int) i),
                          state);
    }
}
