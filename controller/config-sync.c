/* SPDX-License-Identifier: Apache-2.0 */

/* Where an instance's senders tell how far they are, in the configuration. */

#include "controller/config-parse.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/sync-address.h"

#define LOOK_AHEAD_DEFAULT 800
#define SKEW_DEFAULT 5000
#define TIME_MAX 600000

static void
parse_address__(struct reader *r, const config_setting_t *setting,
                const struct state *state, struct instance *instance)
{
    const char *s = reader_to_string(r, setting);
    struct sync_address address;
    char *error;

    if (r->error) {
        return;
    }
    error = sync_address_parse(s, &address);
    if (error) {
        reader_fail(r, setting, "%s", error);
        free(error);
        return;
    }
    for (const struct instance *i = state->instances; i < instance; i++) {
        if (i->sync.address && !strcmp(i->sync.address, s)) {
            reader_fail(r, setting, "is that of instance \"%s\" already",
                        i->name);
        }
    }
    instance->sync.address = mem_strdup(s);
}

static void
parse_from__(struct reader *r, const config_setting_t *group,
             struct sync_settings *sync)
{
    static const char *const choices[] = { "senders", "any", NULL };
    const config_setting_t *setting =
        r->error ? NULL : config_setting_get_member(group, "sync_from");

    if (setting && config_setting_is_aggregate(setting)) {
        sync->from = SYNC_FROM_LIST;
        parse_blocks(r, reader_find_list(r, group, "sync_from"), &sync->list,
                     &sync->n_list);
    } else {
        sync->from = reader_find_choice(r, group, "sync_from", choices, 0)
                         ? SYNC_FROM_ANY
                         : SYNC_FROM_SENDERS;
    }
}

void
parse_sync(struct reader *r, const config_setting_t *group,
           const struct state *state, struct instance *instance)
{
    const config_setting_t *setting =
        r->error ? NULL : config_setting_get_member(group, "sync");
    struct sync_settings *sync = &instance->sync;

    if (setting) {
        parse_address__(r, setting, state, instance);
    }
    parse_from__(r, group, sync);
    sync->look_ahead = (uint32_t) reader_find_uint(
        r, group, "look_ahead", 1, TIME_MAX, LOOK_AHEAD_DEFAULT);
    sync->skew = (uint32_t) reader_find_uint(r, group, "sync_skew", 1,
                                             TIME_MAX, SKEW_DEFAULT);
}

void
parse_epoch_settings(struct reader *r, const config_setting_t *root,
                     struct state *state)
{
    state->min_lead = (uint32_t) reader_find_uint(r, root, "min_lead", 0,
                                                  TIME_MAX, STATE_MIN_LEAD);
    state->epochs_kept = (uint32_t) reader_find_uint(r, root, "epochs_kept", 1,
                                                     64, STATE_EPOCHS_KEPT);
    state->quiesce = 1000
                     * (uint32_t) reader_find_uint(
                         r, root, "quiesce", 0, 86400, STATE_QUIESCE / 1000);
}
