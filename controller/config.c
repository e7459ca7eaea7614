/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/config.h"

#include <stdlib.h>
#include <string.h>

#include "controller/config-numbers.h"
#include "controller/config-parse.h"
#include "controller/config-reader.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"

/* Destroys 'config', which may be NULL. */
void
evlb_config_destroy(struct evlb_config *config)
{
    if (config) {
        for (size_t i = 0; i < config->n_listen; i++) {
            free(config->listen[i]);
        }
        free(config->listen);
        tls_files_destroy(&config->tls);
        free(config->admin.socket);
        api_settings_destroy(&config->api);
        chain_settings_destroy(&config->chain);
        http_settings_destroy(&config->http);
        state_destroy(&config->state);
        log_settings_destroy(&config->log);
        free(config->file);
        free(config->state_file);
        free(config->state_dir);
        free(config);
    }
}

/* Packets a second. */
#define SLOW_PATH_LIMIT 1000
#define CONTROLLER_LIMIT 500
#define LIMIT_MAX 1000000

/* Checks one address that switches connect to. */
static void
check_listen__(struct reader *r, const config_setting_t *setting,
               bool allow_plain, bool has_tls)
{
    const char *s = reader_to_string(r, setting);
    struct listen_address address;
    char *error;

    if (r->error) {
        return;
    }
    error = listen_address_parse(s, &address);
    if (error) {
        reader_fail(r, setting, "%s", error);
        free(error);
    } else if (address.tls && !has_tls) {
        reader_fail(r, setting, "needs the settings of openflow.tls");
    } else if (!address.tls && !allow_plain
               && !listen_address_is_local(&address)) {
        reader_fail(r, setting,
                    "\"%s\" can be reached from other hosts, "
                    "without encryption; set openflow.allow_plain = true if "
                    "that is meant",
                    s);
    }
}

static void
parse_openflow__(struct reader *r, const config_setting_t *root,
                 struct evlb_config *config)
{
    static const char *const names[] = {
        "listen", "allow_plain", "slow_path_limit", "controller_limit", "tls",
        "role",   NULL
    };
    static const char *const roles[] = { "equal", "primary", NULL };
    const config_setting_t *group =
        config_setting_get_member(root, "openflow");
    const config_setting_t *listen = NULL;
    bool allow_plain = false;

    config->slow_path_limit = SLOW_PATH_LIMIT;
    config->controller_limit = CONTROLLER_LIMIT;
    if (group) {
        reader_check_names(r, group, names);
        listen = reader_find_list(r, group, "listen");
        reader_check_list(r, listen);
        parse_tls(r, group, true, &config->tls);
        config->primary = reader_find_choice(r, group, "role", roles, 0);
        allow_plain = reader_find_bool(r, group, "allow_plain", false);
        config->slow_path_limit = (unsigned int) reader_find_uint(
            r, group, "slow_path_limit", 0, LIMIT_MAX, SLOW_PATH_LIMIT);
        config->controller_limit = (unsigned int) reader_find_uint(
            r, group, "controller_limit", 0, LIMIT_MAX, CONTROLLER_LIMIT);
    }
    if (!listen) {
        config->listen = mem_zalloc(sizeof *config->listen);
        config->listen[config->n_listen++] = mem_strdup("tcp:127.0.0.1");
        return;
    }

    config->listen =
        mem_zalloc(reader_length(listen) * sizeof *config->listen);
    for (size_t i = 0; i < reader_length(listen); i++) {
        const config_setting_t *s =
            config_setting_get_elem(listen, (unsigned int) i);

        check_listen__(r, s, allow_plain, config->tls.certificate != NULL);
        config->listen[config->n_listen++] =
            mem_strdup(reader_to_string(r, s));
    }
}

static void
parse_root__(struct reader *r, const config_setting_t *root,
             struct evlb_config *config)
{
    static const char *const names[] = {
        "admin",   "openflow",   "log",       "l2_miss",   "neighbour",
        "bridges", "interfaces", "instances", "min_lead",  "epochs_kept",
        "quiesce", "state_file", "history",   "state_dir", "reservations",
        "http",    "api",        "chain",     NULL
    };
    static const char *const l2_misses[] = { "drop", "normal", NULL };

    reader_check_names(r, root, names);
    parse_state_place(r, root, config);
    parse_admin(r, root, config->state_dir, &config->admin);
    parse_openflow__(r, root, config);
    parse_api(r, root, &config->api);
    parse_chain(r, root, &config->chain);
    parse_http(r, root, &config->http);
    parse_history(r, root, &config->history);
    parse_log(r, root, &config->log);
    parse_neighbours(r, root, &config->state.neighbours);
    config->state.l2_normal =
        reader_find_choice(r, root, "l2_miss", l2_misses, 1);
    parse_epoch_settings(r, root, &config->state);
    parse_reservations(r, root, &config->state.reservations);
    parse_bridges(r, root, &config->state);
    parse_interfaces(r, root, &config->state);
    parse_instances(r, root, &config->state);
}

/* Reads and checks the configuration in 'file'.
 *
 * Returns NULL and stores the configuration in '*configp', which the caller
 * must destroy, or returns an error that says where it is, which the caller
 * must free. */
char *
evlb_config_load(const char *file, struct evlb_config **configp)
{
    struct evlb_config *config = mem_zalloc(sizeof *config);
    struct reader r = { .file = file };
    config_t cf;

    config->file = mem_strdup(file);
    state_init(&config->state);
    config_init(&cf);
    r.error = config_file_read(&cf, file);
    if (!r.error) {
        r.error = config_numbers_check(config_root_setting(&cf), file);
    }
    if (!r.error) {
        parse_root__(&r, config_root_setting(&cf), config);
    }
    config_destroy(&cf);

    if (r.error) {
        evlb_config_destroy(config);
        config = NULL;
    }
    *configp = config;
    return r.error;
}
