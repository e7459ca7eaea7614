/* SPDX-License-Identifier: Apache-2.0 */

/* Addresses and ports in the configuration. */

#include "controller/config-parse.h"

#include <stdio.h>
#include <string.h>

#include "controller/core/mem.h"

/* Returns the name that 'group' has to have, which the caller must free. */
char *
parse_name(struct reader *r, const config_setting_t *group)
{
    const char *name = reader_get_string(r, group, "name");

    if (!r->error && !*name) {
        reader_fail(r, config_setting_get_member(group, "name"),
                    "must not be empty");
    }
    return mem_strdup(name);
}

/* Stores in 'mac' the unicast address that the member 'name' of 'group'
 * is. */
void
parse_mac(struct reader *r, const config_setting_t *group, const char *name,
          struct mac *mac)
{
    static const struct mac zero;
    const config_setting_t *setting = reader_get_setting(r, group, name);
    const char *s = setting ? reader_to_string(r, setting) : "";

    if (r->error) {
        return;
    }
    if (!mac_from_string(s, mac)) {
        reader_fail(r, setting, "\"%s\" is no MAC address", s);
    } else if (mac_is_multicast(mac) || mac_equal(mac, &zero)) {
        reader_fail(r, setting,
                    "\"%s\" is not the MAC address of one "
                    "station",
                    s);
    }
}

/* Stores in 'addr' the unicast address that 'setting' is. */
void
parse_addr(struct reader *r, const config_setting_t *setting,
           struct in6_addr *addr)
{
    const char *s = reader_to_string(r, setting);

    if (r->error) {
        return;
    }
    if (!addr_from_string(s, addr)) {
        reader_fail(r, setting, "\"%s\" is no IPv4 or IPv6 address", s);
    } else if (!addr_is_unicast(addr)) {
        reader_fail(r, setting, "\"%s\" is not the address of one host", s);
    }
}

/* Stores in 'block' the addresses that 'setting' is. */
void
parse_block(struct reader *r, const config_setting_t *setting,
            struct addr_block *block)
{
    const char *s = reader_to_string(r, setting);

    if (!r->error && !addr_block_from_string(s, block)) {
        reader_fail(r, setting,
                    "\"%s\" is no address and no ADDRESS/LENGTH with zeros "
                    "behind the prefix",
                    s);
    }
}

/* Stores in '*blocksp' and '*n' the addresses and prefixes in 'list', which may
 * be NULL. */
void
parse_blocks(struct reader *r, const config_setting_t *list,
             struct addr_block **blocksp, size_t *n)
{
    *blocksp = mem_zalloc(reader_length(list) * sizeof **blocksp);
    *n = 0;
    if (list) {
        reader_check_list(r, list);
    }
    for (size_t i = 0; !r->error && i < reader_length(list); i++) {
        parse_block(r, config_setting_get_elem(list, (unsigned int) i),
                    &(*blocksp)[(*n)++]);
    }
}

/* Stores in 'port' what 'setting' is: a port's name or OpenFlow number. */
void
parse_port(struct reader *r, const config_setting_t *setting,
           struct port *port)
{
    memset(port, 0, sizeof *port);
    if (r->error) {
        return;
    }
    if (config_setting_is_number(setting)) {
        port->type = PORT_NUMBER;
        port->number = (uint32_t) reader_to_uint(r, setting, 1, 0xfeff);
    } else if (config_setting_type(setting) != CONFIG_TYPE_STRING) {
        reader_fail(r, setting, "must be a port's name or number");
    } else {
        const char *s = reader_to_string(r, setting);

        port->type = PORT_NAME;
        if (!*s || strlen(s) >= sizeof port->name) {
            reader_fail(r, setting,
                        "\"%s\" is no name of a port, which has 1 "
                        "to %zu characters",
                        s, sizeof port->name - 1);
        }
        snprintf(port->name, sizeof port->name, "%s", s);
    }
}
