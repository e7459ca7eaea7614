/* SPDX-License-Identifier: Apache-2.0 */

/* Instances in the configuration, all but their members and epochs. */

#include "controller/config-parse.h"

#include <inttypes.h>
#include <string.h>

#include "controller/core/mem.h"

#define FIRST_PORT 16384
#define LAST_PORT 32767

/* Checks that no instance before 'instance', nor itself, has 'addr'. */
static void
check_address__(struct reader *r, const config_setting_t *setting,
                const struct state *state, const struct instance *instance,
                const struct in6_addr *addr)
{
    for (const struct instance *i = state->instances; i <= instance; i++) {
        for (size_t j = 0; j < i->n_addresses; j++) {
            if (&i->addresses[j] != addr
                && addr_equal(&i->addresses[j], addr)) {
                reader_fail(r, setting,
                            "is an address of instance \"%s\" "
                            "already",
                            i->name);
            }
        }
    }
}

static void
parse_addresses__(struct reader *r, const config_setting_t *group,
                  const struct state *state, struct instance *instance)
{
    const config_setting_t *list = reader_find_list(r, group, "addresses");
    size_t n = reader_length(list);

    if (!n) {
        reader_fail(r, group, "lacks addresses");
        return;
    }
    instance->addresses = mem_zalloc(n * sizeof *instance->addresses);
    for (size_t i = 0; !r->error && i < n; i++) {
        const config_setting_t *s =
            config_setting_get_elem(list, (unsigned int) i);
        struct in6_addr *addr = &instance->addresses[instance->n_addresses++];

        parse_addr(r, s, addr);
        check_address__(r, s, state, instance, addr);
    }
}

static const struct interface *
find_interface__(struct reader *r, const config_setting_t *setting,
                 const struct state *state)
{
    const char *name = reader_to_string(r, setting);

    for (size_t i = 0; i < state->n_interfaces; i++) {
        if (!strcmp(state->interfaces[i].name, name)) {
            return &state->interfaces[i];
        }
    }
    reader_fail(r, setting, "there is no interface \"%s\"", name);
    return NULL;
}

static void
add_interface__(struct instance *instance, const struct interface *iface)
{
    for (size_t i = 0; i < instance->n_interfaces; i++) {
        if (instance->interfaces[i] == iface) {
            return;
        }
    }
    instance->interfaces[instance->n_interfaces++] = iface;
}

/* Without a list of its own, an instance is on all interfaces. */
static void
parse_instance_interfaces__(struct reader *r, const config_setting_t *group,
                            const struct state *state,
                            struct instance *instance)
{
    const config_setting_t *list = reader_find_list(r, group, "interfaces");
    size_t n = list ? reader_length(list) : state->n_interfaces;

    instance->interfaces = mem_zalloc(n * sizeof(const struct interface *));
    reader_check_list(r, list);
    for (size_t i = 0; !r->error && i < n; i++) {
        const struct interface *iface = &state->interfaces[i];

        if (list) {
            iface = find_interface__(
                r, config_setting_get_elem(list, (unsigned int) i), state);
        }
        if (iface) {
            add_interface__(instance, iface);
        }
    }
}

static void
parse_udp_ports__(struct reader *r, const config_setting_t *group,
                  struct instance *instance)
{
    const config_setting_t *list = reader_find_list(r, group, "udp_ports");

    instance->first_port = FIRST_PORT;
    instance->last_port = LAST_PORT;
    if (!list) {
        return;
    }
    if (reader_length(list) != 2) {
        reader_fail(r, list,
                    "must be two numbers, the first port and the "
                    "last one");
        return;
    }
    instance->first_port = (uint16_t) reader_to_uint(
        r, config_setting_get_elem(list, 0), 1, UINT16_MAX);
    instance->last_port = (uint16_t) reader_to_uint(
        r, config_setting_get_elem(list, 1), 1, UINT16_MAX);
    if (instance->first_port > instance->last_port) {
        reader_fail(r, list, "the first port is above the last one");
    }
}

static void
parse_sources__(struct reader *r, const config_setting_t *group,
                struct instance *instance)
{
    const config_setting_t *list = reader_find_list(r, group, "sources");
    size_t n = reader_length(list);

    if (instance->reservable) {
        return;
    }
    if (!n) {
        reader_fail(r, group, "lacks sources: nobody could send");
        return;
    }
    parse_blocks(r, list, &instance->sources, &instance->n_sources);
}

static void
check_instance__(struct reader *r, const config_setting_t *group,
                 const struct state *state, const struct instance *instance)
{
    for (const struct instance *i = state->instances; i < instance; i++) {
        if (!strcmp(i->name, instance->name)) {
            reader_fail(r, group,
                        "another instance is named \"%s\", on line "
                        "%d",
                        i->name, i->line);
        } else if (i->id == instance->id) {
            reader_fail(r, group,
                        "instance \"%s\" has the same id, %" PRIu16
                        ", on line %d",
                        i->name, i->id, i->line);
        }
    }
}

static void
parse_instance__(struct reader *r, const config_setting_t *group,
                 struct state *state)
{
    static const char *const names[] = {
        "name",       "id",         "addresses",      "interfaces",
        "udp_ports",  "sources",    "late",           "members",
        "epochs",     "sync",       "sync_from",      "sync_skew",
        "look_ahead", "reservable", "sync_addresses", NULL
    };
    static const char *const lates[] = { "newest", "drop", NULL };
    struct instance *instance = &state->instances[state->n_instances++];

    epochs_init(&instance->epochs);
    reader_check_names(r, group, names);
    instance->line = reader_line(group);
    instance->name = parse_name(r, group);
    instance->id =
        (uint16_t) reader_get_uint(r, group, "id", 0, INSTANCE_ID_MAX);
    instance->late = reader_find_choice(r, group, "late", lates, 0)
                         ? LATE_DROP
                         : LATE_NEWEST;
    check_instance__(r, group, state, instance);
    parse_reservable(r, group, instance);
    parse_addresses__(r, group, state, instance);
    parse_instance_interfaces__(r, group, state, instance);
    parse_udp_ports__(r, group, instance);
    parse_sources__(r, group, instance);
    parse_sync(r, group, state, instance);
    parse_sync_addresses(r, group, instance);
    parse_members(r, group, instance);
    check_found(r, group, state);
    parse_epochs(r, group, instance);
}

void
parse_instances(struct reader *r, const config_setting_t *root,
                struct state *state)
{
    const config_setting_t *list = reader_find_list(r, root, "instances");
    size_t n = reader_length(list);

    state->instances = mem_zalloc(n * sizeof *state->instances);
    for (size_t i = 0; !r->error && i < n; i++) {
        parse_instance__(r, config_setting_get_elem(list, (unsigned int) i),
                         state);
    }
}
