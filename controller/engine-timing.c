/* SPDX-License-Identifier: Apache-2.0 */

/* Where boundaries may lie: how far the ticks are, and how long a change
 * takes. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/sync.h"

/* A boundary may be put off by this part of the look-ahead, to be coarse. */
#define COARSE_PART 4

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

static const char *
lead_source__(bool measured)
{
    return measured ? "measured" : "the setting min_lead";
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

static char *
explain_unknown__(const struct instance *instance,
                  const struct prediction *prediction)
{
    if (prediction->n_quarantined) {
        return mem_printf("instance %s: %zu of %zu senders are somewhere else "
                          "than the others, so that nobody knows how far the "
                          "ticks are",
                          instance->name, prediction->n_quarantined,
                          prediction->n_senders);
    }
    if (prediction->age >= 0) {
        return mem_printf("instance %s: no sender has told its tick and rate "
                          "of late (the last Sync came %" PRId64 " ms ago), "
                          "so that nobody knows how far the ticks are",
                          instance->name, prediction->age);
    }
    return mem_printf("instance %s: no Sync came at %s, so that nobody knows "
                      "how far the ticks are",
                      instance->name, instance->sync.address);
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
    int64_t now = now_ms();
    struct prediction here, ahead;
    bool measured;
    uint32_t lead = get_lead__(engine, &measured);

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
    predictor_predict(predictor, now, 0, &here);
    predictor_predict(predictor, now, lead, &ahead);
    if (!ahead.known) {
        char *error = explain_unknown__(instance, &ahead);

        if (force) {
            *note = mem_printf("The boundary was not checked: %s.", error);
            free(error);
            return NULL;
        }
        return error;
    }
    if (first <= ahead.tick) {
        return mem_printf("instance %s: tick %" PRIu64 " is too near: the "
                          "senders are at %" PRIu64 " now and make %.0f a "
                          "second; a change takes %" PRIu32 " ms (%s), so it "
                          "must be beyond %" PRIu64,
                          instance->name, first, here.tick, here.rate, lead,
                          lead_source__(measured), ahead.tick);
    }
    return NULL;
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
    uint32_t look_ahead = instance->sync.look_ahead;
    struct prediction ahead;
    bool measured;
    uint32_t lead = get_lead__(engine, &measured);

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
    predictor_predict(predictor, now_ms(),
                      lead > look_ahead ? lead : look_ahead, &ahead);
    if (!ahead.known) {
        return explain_unknown__(instance, &ahead);
    }
    *first = predictor_round_up(ahead.tick + 1,
                                ahead.rate * look_ahead / 1000 / COARSE_PART);
    if (*first <= newest->first) {
        return mem_printf("instance %s: an epoch from tick %" PRIu64 " on, "
                          "which is as far as one may look ahead, would not "
                          "be beyond epoch %" PRIu16 " from tick %" PRIu64
                          ": try again later",
                          instance->name, *first, newest->id, newest->first);
    }
    return NULL;
}

void
engine_reset_sync(struct engine *engine, uint16_t instance)
{
    const struct instance *i = state_find_instance(engine->state, instance);

    if (i) {
        syncs_reset(engine->syncs, i);
    }
}
