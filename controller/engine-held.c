/* SPDX-License-Identifier: Apache-2.0 */

/* What a switch holds when it comes back, and what came too late for it.
 *
 * An epoch that was connected while the switch was away, or whose bundle had
 * not been sent when evlbd died, is not in the switch.  If the ticks have
 * reached it, or nobody knows, the switch has sent events of its range to
 * members of the epoch before: given to the switch now, it would split events.
 * It is withdrawn, and what comes next is connected further ahead. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include <openvswitch/vlog.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/readback.h"
#include "controller/target/ovs/server.h"

VLOG_DEFINE_THIS_MODULE(evlb_held);

/* A switch that has been read. */
struct held {
    struct engine *engine;
    const struct engine_bridge *bridge;
    const struct readback *readback;
};

/* Returns true if another bridge than that of 'h' has taken 'epoch'. */
static bool
is_elsewhere__(const struct held *h, const struct instance *instance,
               const struct epoch *epoch)
{
    struct rule key = { .kind = RULE_CALENDAR };

    key.calendar.instance = instance->id;
    key.calendar.epoch = epoch->id;
    for (size_t i = 0; i < h->engine->n_bridges; i++) {
        const struct engine_bridge *b = &h->engine->bridges[i];

        if (b != h->bridge && b->held && rule_set_find(b->held, &key)) {
            return true;
        }
    }
    return false;
}

/* Returns the index behind the newest epoch of 'instance' that the switch
 * holds; 0 if it holds none. */
static size_t
find_first_missing__(const struct held *h, const struct instance *instance)
{
    size_t i = instance->epochs.n;

    while (i
           && !readback_has_epoch(h->readback, instance->id,
                                  instance->epochs.epochs[i - 1]->id)) {
        i--;
    }
    return i;
}

/* Returns true if the epoch at index 'i' of 'instance', which the switch lacks,
 * has to be withdrawn. */
static bool
is_late__(const struct held *h, const struct instance *instance, size_t i)
{
    const struct epoch *epoch = instance->epochs.epochs[i];
    char *note;
    char *error;

    if (instance->epoch_lines[i] || is_elsewhere__(h, instance, epoch)) {
        return false; /* The configuration has it, or a switch. */
    }
    error = engine_check_boundary__(h->engine, instance, epoch->first,
                                    !instance->reservable, &note);
    free(note);
    if (error) {
        VLOG_WARN("epoch %" PRIu16 " from tick %" PRIu64
                  " is withdrawn, for a switch lacks it: %s",
                  epoch->id, epoch->first, error);
        free(error);
        return true;
    }
    return false;
}

/* Withdraws from 'overlay' what the switch lacks of 'instance' and came too
 * late.  Returns true if there was something. */
static bool
withdraw__(const struct held *h, const struct instance *instance,
           struct overlay *overlay)
{
    size_t first = find_first_missing__(h, instance);
    bool any = false;

    for (size_t i = first; first && i < instance->epochs.n; i++) {
        if (is_late__(h, instance, i)) {
            overlay_withdraw(overlay, instance->id,
                             instance->epochs.epochs[i]->id);
            any = true;
        }
    }
    return any;
}

/* Makes in '*statep' the state of 'overlay', which lacks epochs of one that is
 * in service. */
static bool
apply__(const struct engine *engine, const struct overlay *overlay,
        struct state **statep)
{
    int line;
    char *error =
        overlay_apply(overlay, &engine->config->state, statep, &line);

    if (error) {
        VLOG_ERR("nothing is withdrawn: %s", error);
        free(error);
        return false;
    }
    return true;
}

/* Takes out of what is being stored what 'overlay', just in service, lacks of
 * 'old', the state before. */
static void
withdraw_draft__(struct engine *engine, const struct state *old)
{
    struct engine_draft *draft = engine->batch ? &engine->batch->draft : NULL;
    struct overlay *overlay;
    struct state *state;

    if (!draft || !draft->overlay) {
        return;
    }
    overlay = overlay_clone(draft->overlay);
    for (size_t i = 0; i < old->n_instances; i++) {
        const struct instance *a = &old->instances[i];
        const struct instance *b = state_find_instance(engine->state, a->id);

        for (size_t j = 0; j < a->epochs.n; j++) {
            if (!epochs_find_id(&b->epochs, a->epochs.epochs[j]->id)) {
                overlay_withdraw(overlay, a->id, a->epochs.epochs[j]->id);
            }
        }
    }
    if (apply__(engine, overlay, &state)) {
        engine_draft_rebase__(draft, overlay, state);
    } else {
        overlay_destroy(overlay);
    }
}

static void
stored_cb__(void *aux, const char *error)
{
    (void) aux;
    if (error) {
        VLOG_ERR("withdrawn epochs are still stored: %s", error);
    }
}

/* Stores what is left of what 'overlay' withdrew from. */
static void
store__(struct engine *engine, const struct overlay *overlay)
{
    const struct engine_draft *draft =
        engine->batch && engine->batch->draft.overlay ? &engine->batch->draft
                                                      : NULL;

    engine_store_changed__(engine, overlay,
                           draft ? draft->overlay : engine->overlay,
                           stored_cb__);
}

/* A switch has been read, and nothing is changed yet. */
static void
held_cb__(void *engine_, uint64_t datapath_id, const struct readback *readback)
{
    struct engine *engine = engine_;
    const struct held h = { engine, engine_find_bridge__(engine, datapath_id),
                            readback };
    struct overlay *overlay = overlay_clone(engine->overlay);
    struct state *state, old;
    bool any = false;

    overlay_forget_changes(overlay);
    for (size_t i = 0; h.bridge && i < engine->state->n_instances; i++) {
        any = withdraw__(&h, &engine->state->instances[i], overlay) || any;
    }
    if (!any || !apply__(engine, overlay, &state)) {
        overlay_destroy(overlay);
        return;
    }
    state_clone(&old, engine->state);
    engine_serve__(engine, overlay, state);
    withdraw_draft__(engine, &old);
    state_destroy(&old);
    store__(engine, overlay);
}

/* Has what switches lack looked at. */
void
engine_held_init__(struct engine *engine)
{
    ovs_server_set_held_cb(engine->server, held_cb__);
}
