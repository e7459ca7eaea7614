/* SPDX-License-Identifier: Apache-2.0 */

/* Which bridges carry an instance that is reserved: those that took an epoch of
 * it.  While one of them is away, it goes on by the epochs that it has, so no
 * other is connected, and none of them goes. */

#include "controller/engine-private.h"

#include <stdlib.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/server.h"

/* Returns true if 'b' held 'epoch' of 'instance' at last. */
static bool
has_epoch__(const struct engine_bridge *b, const struct instance *instance,
            const struct epoch *epoch)
{
    struct rule key = { .kind = RULE_CALENDAR };

    key.calendar.instance = instance->id;
    key.calendar.epoch = epoch->id;
    return b->held && rule_set_find(b->held, &key);
}

/* Returns the name of a bridge that carries 'instance' and does not have its
 * newest epoch, or is away; or NULL if there is none. */
const char *
engine_find_absent__(const struct engine *engine,
                     const struct instance *instance)
{
    const struct overlay_instance *o =
        overlay_find(engine->overlay, instance->id);
    const struct epoch *newest = epochs_newest(&instance->epochs);

    for (size_t i = 0; newest && o && i < engine->n_bridges; i++) {
        const struct engine_bridge *b = &engine->bridges[i];

        if (overlay_has_carrier(o, b->datapath_id)
            && (!has_epoch__(b, instance, newest)
                || !ovs_server_is_connected(engine->server, b->datapath_id))) {
            return engine->state->bridges[i].name;
        }
    }
    return NULL;
}

static char *
plan_cb__(void *b_, struct engine_draft *draft)
{
    const uint64_t *datapath_id = b_;
    const struct engine_bridge *b =
        engine_find_bridge__(draft->engine, *datapath_id);
    const struct state *state = engine_draft_state(draft);

    for (size_t i = 0; b && i < state->n_instances; i++) {
        const struct instance *instance = &state->instances[i];
        const struct epoch *newest = epochs_newest(&instance->epochs);

        if (instance->reservable && newest
            && has_epoch__(b, instance, newest)) {
            overlay_add_carrier(engine_draft_change_overlay(draft),
                                instance->id, *datapath_id);
        }
    }
    return NULL;
}

static void
done_cb__(void *datapath_id, enum engine_outcome outcome, const char *error)
{
    (void) outcome; /* The next commitment tries again. */
    (void) error;
    free(datapath_id);
}

/* Notes which instances 'b', which has taken a change, carries now. */
void
engine_carry__(struct engine *engine, const struct engine_bridge *b)
{
    for (size_t i = 0; i < engine->state->n_instances; i++) {
        const struct instance *instance = &engine->state->instances[i];
        const struct epoch *newest = epochs_newest(&instance->epochs);
        const struct overlay_instance *o =
            overlay_find(engine->overlay, instance->id);

        if (instance->reservable && newest && o
            && has_epoch__(b, instance, newest)
            && !overlay_has_carrier(o, b->datapath_id)) {
            engine_change(engine, plan_cb__, done_cb__,
                          mem_dup(&b->datapath_id, sizeof b->datapath_id));
            return;
        }
    }
}
