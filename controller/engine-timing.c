/* SPDX-License-Identifier: Apache-2.0 */

/* Where boundaries may lie: how far the ticks are, and how long a change
 * takes. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/api/now.h"
#include "controller/core/boundary.h"
#include "controller/core/mem.h"
#include "controller/sync.h"

/* Returns how far ahead a boundary must lie, in ms: as far as the slowest
 * bridge needs.  Stores in '*measured' whether all of them were measured. */
static uint32_t
get_lead__(const struct engine *engine, bool *measured)
{
    uint32_t longest = 0;

    *measured = engine->n_bridges > 0;
    for (size_t i = 0; i < engine->n_bridges; i++) {
        const struct lead *lead = &engine->bridges[i].lead;
        uint32_t ms = lead_get(lead, engine->state->min_lead);

        longest = ms > longest ? ms : longest;
        *measured = *measured && lead_is_measured(lead);
    }
    return engine->n_bridges ? longest : engine->state->min_lead;
}

/* Stores in '*timing' what is known about 'instance', which is in the state. */
void
engine_get_timing(const struct engine *engine, const struct instance *instance,
                  struct engine_timing *timing)
{
    const struct sync_counters *counters;
    const struct predictor *predictor =
        syncs_get(engine->syncs, instance->id, &counters);

    *timing = (struct engine_timing){ .now.age = -1 };
    timing->lead_ms = get_lead__(engine, &timing->lead_measured);
    if (predictor) {
        timing->has_sync = true;
        timing->counters = *counters;
        predictor_predict(predictor, now_ms(), 0, &timing->now);
    }
}

/* Stores in 'senders' who told 'instance' something by Sync of late.  Returns
 * how many there are. */
size_t
engine_get_senders(const struct engine *engine,
                   const struct instance *instance,
                   struct predictor_sender senders[PREDICTOR_MAX_SENDERS])
{
    const struct sync_counters *counters;
    const struct predictor *predictor =
        syncs_get(engine->syncs, instance->id, &counters);

    return predictor ? predictor_get_senders(predictor, now_ms(), senders) : 0;
}

/* Returns what a boundary of 'instance' has to do with. */
static struct boundary_settings
get_settings__(const struct engine *engine, const struct instance *instance)
{
    struct boundary_settings settings = { .instance = instance->name,
                                          .sync = instance->sync.address,
                                          .look_ahead =
                                              instance->sync.look_ahead };

    settings.lead = get_lead__(engine, &settings.lead_measured);
    return settings;
}

/* Checks that an epoch from 'first' on may be connected to 'instance', as it is
 * in service now.  Returns NULL, or the reason why not, which the caller must
 * free.  With 'force', it is enough that nothing is known; then stores in
 * '*note' what was not checked, or NULL. */
char *
engine_check_boundary__(const struct engine *engine,
                        const struct instance *instance, uint64_t first,
                        bool force, char **note)
{
    const struct predictor *predictor =
        syncs_get(engine->syncs, instance->id, NULL);
    struct boundary_settings settings = get_settings__(engine, instance);
    char *error;
    bool known;

    *note = NULL;
    if (!instance->epochs.n) {
        return NULL; /* All ticks were dropped. */
    }
    if (!predictor) {
        *note = mem_strdup("Nothing tells how far the ticks are (the instance "
                           "has no \"sync\"), so the boundary was not "
                           "checked.");
        return NULL;
    }
    error = boundary_check(&settings, predictor, first, now_ms(), &known);
    if (!known && force) {
        *note = mem_printf("The boundary was not checked: %s.", error);
        free(error);
        return NULL;
    }
    return error;
}

/* Checks the boundaries of the epochs that 'new' adds to what is in service, as
 * engine_check_boundary__() does.  Returns NULL, or the reason why one is
 * refused, and stores in '*line' which. */
static char *
check_boundaries__(const struct engine *engine, const struct state *new,
                   bool force, int *line)
{
    char *error = NULL;

    for (size_t i = 0; i < new->n_instances; i++) {
        const struct instance *b = &new->instances[i];
        const struct instance *a = state_find_instance(engine->state, b->id);

        for (size_t j = 0; a && !error && j < b->epochs.n; j++) {
            const struct epoch *epoch = b->epochs.epochs[j];

            if (!epochs_find_id(&a->epochs, epoch->id)) {
                char *note;

                *line = b->epoch_lines[j];
                error = engine_check_boundary__(engine, a, epoch->first, force,
                                                &note);
                free(note);
            }
        }
    }
    return error;
}

char *
engine_check_boundaries__(const struct engine *engine, const struct state *new,
                          int *line)
{
    return check_boundaries__(engine, new, false, line);
}

/* Checks that the ticks have not come too near to the epochs that 'new' adds to
 * what is in service.  Returns NULL, or says which, which the caller must
 * free. */
char *
engine_check_late__(const struct engine *engine, const struct state *new)
{
    int line;

    return check_boundaries__(engine, new, true, &line);
}

/* Chooses in '*first' where the next epoch of 'instance' begins.  Returns NULL,
 * or the reason why it cannot, which the caller must free. */
char *
engine_choose_boundary__(const struct engine *engine,
                         const struct instance *instance, uint64_t *first)
{
    const struct predictor *predictor =
        syncs_get(engine->syncs, instance->id, NULL);
    const struct epoch *newest = epochs_newest(&instance->epochs);
    struct boundary_settings settings = get_settings__(engine, instance);

    if (!newest) {
        *first = 0;
        return NULL;
    }
    if (!predictor) {
        return mem_printf("instance %s has no \"sync\", so nothing tells how "
                          "far its ticks are: say with which event the epoch "
                          "is to begin",
                          instance->name);
    }
    return boundary_choose(&settings, predictor, newest, now_ms(), first);
}

void
engine_reset_sync(struct engine *engine, uint16_t instance)
{
    const struct instance *i = state_find_instance(engine->state, instance);

    if (i) {
        syncs_reset(engine->syncs, i);
    }
}
