/* SPDX-License-Identifier: Apache-2.0 */

/* Where our servers listen, in the configuration. */

#include "controller/config-parse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"

static void
check_address__(struct reader *r, const config_setting_t *setting,
                const struct listen_address *la,
                const struct listen_settings *settings, bool allow_plain)
{
    const char *s = reader_to_string(r, setting);

    if (la->sa.ss_family == AF_UNIX) {
        reader_fail(r, setting, "\"%s\" is a Unix socket; %s", s,
                    settings->no_unix);
    } else if (la->tls && !settings->has_tls) {
        reader_fail(r, setting, "needs the settings of %s.tls",
                    settings->group);
    } else if (!la->tls && !allow_plain && !listen_address_is_local(la)) {
        reader_fail(r, setting,
                    "\"%s\" can be reached from other hosts, without "
                    "encryption of tokens; use \"ssl:\", or set "
                    "%s.allow_plain = true if that is meant",
                    s, settings->group);
    }
}

static bool
is_there__(char *const *addresses, size_t n, const char *address)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(addresses[i], address)) {
            return true;
        }
    }
    return false;
}

/* Adds the address that 'setting' is to the '*n' 'addresses', with its
 * port. */
static void
add_address__(struct reader *r, const config_setting_t *setting,
              const struct listen_settings *settings, bool allow_plain,
              char **addresses, size_t *n)
{
    const char *s = reader_to_string(r, setting);
    struct listen_address la;
    char *error, *address;

    if (r->error) {
        return;
    }
    error = listen_address_parse_at(s, settings->port, &la);
    if (error) {
        reader_fail(r, setting, "%s", error);
        free(error);
        return;
    }
    check_address__(r, setting, &la, settings, allow_plain);
    if (r->error) {
        return;
    }
    address = listen_address_to_string(&la);
    if (is_there__(addresses, *n, address)) {
        reader_fail(r, setting, "\"%s\" is there twice", s);
    }
    addresses[(*n)++] = address;
}

/* Stores in '*addresses', and in '*n' how many they are, where the member
 * "listen" of 'group' says, or this host's by default.  The caller must free
 * them.  Returns the list, or NULL if it is not there. */
const config_setting_t *
parse_listen(struct reader *r, const config_setting_t *group,
             const struct listen_settings *settings, char ***addresses,
             size_t *n)
{
    const config_setting_t *list = reader_find_list(r, group, "listen");
    bool allow_plain = reader_find_bool(r, group, "allow_plain", false);
    const char *scheme = settings->has_tls ? "ssl" : "tcp";

    *n = 0;
    *addresses = mem_zalloc(LISTEN_MAX * sizeof **addresses);
    reader_check_list(r, list);
    if (reader_length(list) > LISTEN_MAX) {
        reader_fail(r, list, "has more than %d addresses", LISTEN_MAX);
    }
    for (size_t i = 0; !r->error && i < reader_length(list); i++) {
        add_address__(r, config_setting_get_elem(list, (unsigned int) i),
                      settings, allow_plain, *addresses, n);
    }
    if (!list) {
        (*addresses)[(*n)++] =
            mem_printf("%s:127.0.0.1:%u", scheme, settings->port);
        (*addresses)[(*n)++] =
            mem_printf("%s:[::1]:%u", scheme, settings->port);
    }
    return list;
}
