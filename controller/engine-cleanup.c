/* SPDX-License-Identifier: Apache-2.0 */

/* Epochs that are over go, oldest first, as long as enough others stay. */

#include "controller/engine-private.h"

#include <stdlib.h>

#include <event2/event.h>

#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/sync.h"

#define PERIOD_S 1

/* When an epoch was first seen in service. */
struct engine_epoch_time {
    uint16_t instance;
    uint16_t epoch;
    int64_t since;
};

static const struct engine_epoch_time *
find_time__(const struct engine *engine, uint16_t instance, uint16_t epoch)
{
    for (size_t i = 0; i < engine->n_epoch_times; i++) {
        const struct engine_epoch_time *t = &engine->epoch_times[i];

        if (t->instance == instance && t->epoch == epoch) {
            return t;
        }
    }
    return NULL;
}

/* Notes when the epochs of the state were connected, those that are new now. */
void
engine_cleanup_update__(struct engine *engine)
{
    const struct state *state = engine->state;
    struct engine_epoch_time *times;
    int64_t now = now_ms();
    size_t n = 0;

    for (size_t i = 0; i < state->n_instances; i++) {
        n += state->instances[i].epochs.n;
    }
    times = mem_alloc(n * sizeof *times);
    n = 0;
    for (size_t i = 0; i < state->n_instances; i++) {
        const struct instance *instance = &state->instances[i];

        for (size_t j = 0; j < instance->epochs.n; j++) {
            uint16_t id = instance->epochs.epochs[j]->id;
            const struct engine_epoch_time *old =
                find_time__(engine, instance->id, id);

            times[n++] = (struct engine_epoch_time){ instance->id, id,
                                                     old ? old->since : now };
        }
    }
    free(engine->epoch_times);
    engine->epoch_times = times;
    engine->n_epoch_times = n;
}

/* Returns true if no packet of the epoch at index 'i' of 'instance' can come
 * any more: its end was passed long ago or, where nothing tells, the next one
 * was connected long ago. */
static bool
is_quiesced__(const struct engine *engine, const struct instance *instance,
              size_t i)
{
    const struct epoch *next = instance->epochs.epochs[i + 1];
    const struct predictor *predictor =
        syncs_get(engine->syncs, instance->id, NULL);
    uint32_t quiesce = engine->state->quiesce;
    struct prediction here;

    if (!predictor) {
        const struct engine_epoch_time *t =
            find_time__(engine, instance->id, next->id);

        return t && now_ms() - t->since > quiesce;
    }
    predictor_predict(predictor, now_ms(), 0, &here);
    return here.known && here.tick >= next->first
           && (double) (here.tick - next->first) > here.rate * quiesce / 1000;
}

/* Returns the first tick of the oldest epoch of 'instance' that is to stay. */
uint64_t
engine_cleanup_oldest__(const struct engine *engine,
                        const struct instance *instance)
{
    const struct epochs *epochs = &instance->epochs;
    size_t i = 0;

    if (engine_find_absent__(engine, instance)) {
        return 0;
    }
    while (epochs->n - i > engine->state->epochs_kept
           && is_quiesced__(engine, instance, i)) {
        i++;
    }
    return i ? epochs->epochs[i]->first : 0;
}

static void
timer_cb__(evutil_socket_t fd, short events, void *engine_)
{
    struct engine *engine = engine_;
    const struct state *state = engine->state;

    (void) fd;
    (void) events;
    for (size_t i = 0; i < state->n_instances; i++) {
        if (engine_cleanup_oldest__(engine, &state->instances[i])) {
            engine_clean_up__(engine, state->instances[i].name);
        }
    }
}

void
engine_cleanup_init__(struct engine *engine)
{
    static const struct timeval period = { .tv_sec = PERIOD_S };

    engine->cleanup_timer =
        event_new(engine->base, -1, EV_PERSIST, timer_cb__, engine);
    event_add(engine->cleanup_timer, &period);
}

void
engine_cleanup_destroy__(struct engine *engine)
{
    event_free(engine->cleanup_timer);
    free(engine->epoch_times);
}
