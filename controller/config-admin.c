/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's socket in the configuration. */

#include "controller/config-parse.h"

#include <grp.h>
#include <stdlib.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"

static void
check_socket__(struct reader *r, const config_setting_t *setting,
               const char *path)
{
    struct listen_address la;
    char *address = mem_printf("unix:%s", path);
    char *error = listen_address_parse(address, &la);

    if (error) {
        reader_fail(r, setting, "%s", error);
    }
    free(error);
    free(address);
}

static gid_t
find_group__(struct reader *r, const config_setting_t *setting)
{
    const char *name = reader_to_string(r, setting);
    const struct group *group = r->error ? NULL : getgrnam(name);

    if (!r->error && !group) {
        reader_fail(r, setting, "there is no group \"%s\"", name);
    }
    return group ? group->gr_gid : ADMIN_NO_GROUP;
}

void
parse_admin(struct reader *r, const config_setting_t *root,
            const char *state_dir, struct admin_settings *admin)
{
    static const char *const names[] = { "socket", "group", NULL };
    const config_setting_t *group = config_setting_get_member(root, "admin");
    const config_setting_t *setting;

    admin->group = ADMIN_NO_GROUP;
    if (group) {
        reader_check_names(r, group, names);
    }
    setting =
        group && !r->error ? config_setting_get_member(group, "socket") : NULL;
    if (setting) {
        admin->socket = mem_strdup(reader_to_string(r, setting));
    } else {
        admin->socket = state_dir ? mem_printf("%s/evlbd.sock", state_dir)
                                  : mem_strdup(ADMIN_SOCKET);
    }
    admin->asked = setting != NULL;
    if (setting && *admin->socket) {
        check_socket__(r, setting, admin->socket);
    }
    setting =
        group && !r->error ? config_setting_get_member(group, "group") : NULL;
    if (setting) {
        admin->group = find_group__(r, setting);
    }
}
