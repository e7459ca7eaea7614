/* SPDX-License-Identifier: Apache-2.0 */

/* Whose worker we may be, in the configuration. */

#include "controller/config-parse.h"

#include <stdlib.h>
#include <string.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "lib/ejfat-uri.h"

#define ALLOW_MAX 64

/* Frees what 'chain' holds, but not 'chain' itself. */
void
chain_settings_destroy(struct chain_settings *chain)
{
    for (size_t i = 0; i < chain->n_allow; i++) {
        free(chain->allow[i]);
    }
    free(chain->allow);
    free(chain->ca);
}

/* May we be a worker of the control plane at 'address', HOST:PORT? */
bool
chain_settings_allow(const struct chain_settings *chain, const char *address)
{
    for (size_t i = 0; i < chain->n_allow; i++) {
        if (!strcasecmp(chain->allow[i], address)) {
            return true;
        }
    }
    return false;
}

static void
add_address__(struct reader *r, const config_setting_t *setting,
              struct chain_settings *chain)
{
    const char *address = reader_to_string(r, setting);
    char host[EJFAT_HOST_MAX + 1];
    uint16_t port;

    if (!r->error && !ejfat_authority_parse(address, host, &port)) {
        reader_fail(r, setting,
                    "\"%s\" is not HOST:PORT, as it stands in an EJFAT_URI",
                    address);
    } else if (!r->error && chain_settings_allow(chain, address)) {
        reader_fail(r, setting, "\"%s\" is there twice", address);
    }
    if (!r->error) {
        chain->allow[chain->n_allow++] = mem_strdup(address);
    }
}

void
parse_chain(struct reader *r, const config_setting_t *root,
            struct chain_settings *chain)
{
    static const char *const names[] = { "allow", "ca", NULL };
    const config_setting_t *group =
        r->error ? NULL : config_setting_get_member(root, "chain");
    const config_setting_t *list, *ca;

    if (!group) {
        return;
    }
    reader_check_names(r, group, names);
    if (r->error) {
        return;
    }
    list = reader_find_list(r, group, "allow");
    if (reader_length(list) > ALLOW_MAX) {
        reader_fail(r, list, "has more than %d addresses", ALLOW_MAX);
    }
    chain->allow = mem_zalloc(ALLOW_MAX * sizeof *chain->allow);
    for (size_t i = 0; !r->error && i < reader_length(list); i++) {
        add_address__(r, config_setting_get_elem(list, (unsigned int) i),
                      chain);
    }
    ca = r->error ? NULL : config_setting_get_member(group, "ca");
    if (ca) {
        chain->ca = mem_strdup(reader_to_string(r, ca));
    }
}
