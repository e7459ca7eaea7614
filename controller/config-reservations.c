/* SPDX-License-Identifier: Apache-2.0 */

/* Instances that are reserved through the control API, in the
 * configuration. */

#include "controller/config-parse.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/mem.h"
#include "controller/sync-address.h"

/* Milliseconds. */
#define PERIOD_MIN 50
#define PERIOD_MAX 60000
#define SILENCE_MIN 100
#define SILENCE_MAX 86400000

static void
parse_silences__(struct reader *r, const config_setting_t *group,
                 struct reservation_settings *settings)
{
    settings->silent =
        (uint32_t) reader_find_uint(r, group, "unready_after", SILENCE_MIN,
                                    SILENCE_MAX, RESERVATION_SILENT);
    settings->gone = (uint32_t) reader_find_uint(
        r, group, "remove_after", SILENCE_MIN, SILENCE_MAX, RESERVATION_GONE);
    if (!r->error && settings->silent >= settings->gone) {
        const config_setting_t *later =
            config_setting_get_member(group, "unready_after");

        reader_fail(r,
                    later ? later
                          : config_setting_get_member(group, "remove_after"),
                    "a worker would be removed before it is not ready: "
                    "unready_after, %" PRIu32 " ms, must be below "
                    "remove_after, %" PRIu32 " ms",
                    settings->silent, settings->gone);
    }
}

/* Reads how reserved instances are treated. */
void
parse_reservations(struct reader *r, const config_setting_t *root,
                   struct reservation_settings *settings)
{
    static const char *const names[] = { "period",
                                         "ready_on_register",
                                         "unready_after",
                                         "remove_after",
                                         "worker_networks",
                                         "allow_loopback_workers",
                                         "allow_private_workers",
                                         "registration_from_worker",
                                         NULL };
    const config_setting_t *group =
        r->error ? NULL : config_setting_get_member(root, "reservations");

    *settings = (struct reservation_settings){
        .period = RESERVATION_PERIOD,
        .ready_on_register = true,
        .silent = RESERVATION_SILENT,
        .gone = RESERVATION_GONE,
        .private_workers = true,
    };
    if (!group) {
        return;
    }
    reader_check_names(r, group, names);
    settings->period = (uint32_t) reader_find_uint(
        r, group, "period", PERIOD_MIN, PERIOD_MAX, RESERVATION_PERIOD);
    settings->ready_on_register =
        reader_find_bool(r, group, "ready_on_register", true);
    parse_silences__(r, group, settings);
    parse_blocks(r, reader_find_list(r, group, "worker_networks"),
                 &settings->worker_networks, &settings->n_worker_networks);
    settings->loopback_workers =
        reader_find_bool(r, group, "allow_loopback_workers", false);
    settings->private_workers =
        reader_find_bool(r, group, "allow_private_workers", true);
    settings->from_worker =
        reader_find_bool(r, group, "registration_from_worker", false);
}

/* Adds to 'sync' the address 'setting', which senders are told. */
static void
parse_public__(struct reader *r, const config_setting_t *setting,
               struct sync_settings *sync)
{
    struct in6_addr addr;

    parse_addr(r, setting, &addr);
    for (size_t i = 0; !r->error && i < sync->n_public; i++) {
        if (addr_is_ipv4(&sync->public[i]) == addr_is_ipv4(&addr)) {
            reader_fail(r, setting, "is a second address of its family");
        }
    }
    if (!r->error) {
        sync->public[sync->n_public++] = addr;
    }
}

/* Checks that senders can be told where the listener of 'sync' is. */
static void
check_told__(struct reader *r, const config_setting_t *group,
             const struct sync_settings *sync)
{
    struct sync_address address;

    if (r->error || sync->n_public) {
        return;
    }
    free(sync_address_parse(sync->address, &address));
    if (sync_address_is_any(&address)) {
        reader_fail(r, config_setting_get_member(group, "sync"),
                    "senders cannot be told \"%s\", which stands for all of "
                    "this host's addresses: name those that they reach in "
                    "sync_addresses",
                    sync->address);
    }
}

static void
check_absent__(struct reader *r, const config_setting_t *group,
               const char *name, const char *call)
{
    const config_setting_t *setting =
        r->error ? NULL : config_setting_get_member(group, name);

    if (setting) {
        reader_fail(r, setting,
                    "is not for an instance that is reservable: %s", call);
    }
}

/* Reads whether 'instance' can be reserved, and checks that the configuration
 * says nothing about it that whoever reserves it has to say. */
void
parse_reservable(struct reader *r, const config_setting_t *group,
                 struct instance *instance)
{
    instance->reservable = reader_find_bool(r, group, "reservable", false);
    if (instance->reservable) {
        check_absent__(r, group, "sources", "who reserves it names senders");
        check_absent__(r, group, "members", "workers register themselves");
        check_absent__(r, group, "epochs", "they follow from its workers");
        reader_get_setting(r, group, "sync");
    }
}

/* Reads what senders of 'instance', whose Sync listener has been read, are told
 * instead of its address. */
void
parse_sync_addresses(struct reader *r, const config_setting_t *group,
                     struct instance *instance)
{
    const config_setting_t *list =
        reader_find_list(r, group, "sync_addresses");

    reader_check_list(r, list);
    if (list && !instance->reservable) {
        reader_fail(r, list, "needs reservable = true");
    }
    instance->sync.public =
        mem_zalloc(reader_length(list) * sizeof *instance->sync.public);
    for (size_t i = 0; !r->error && i < reader_length(list); i++) {
        parse_public__(r, config_setting_get_elem(list, (unsigned int) i),
                       &instance->sync);
    }
    if (instance->reservable) {
        check_told__(r, group, &instance->sync);
    }
}
