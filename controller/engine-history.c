/* SPDX-License-Identifier: Apache-2.0 */

/* What happened, period by period, for those who look at it later. */

#include "controller/engine-private.h"

#include <stdlib.h>
#include <string.h>

#include <openvswitch/vlog.h>

#include "controller/api/now.h"
#include "controller/config.h"
#include "controller/core/calendar.h"
#include "controller/core/control.h"
#include "controller/core/mem.h"
#include "controller/store/series.h"

VLOG_DEFINE_THIS_MODULE(evlb_history);

/* The newest epoch of an instance that was recorded. */
struct recorded {
    bool any;
    uint16_t epoch;
    uint64_t first;
    uint64_t seed; /* Of the one that may come next. */
};

struct engine_history {
    struct series *series; /* NULL if nothing is kept. */
    struct recorded recorded[INSTANCE_ID_MAX + 1];
    uint32_t slots[CALENDAR_NO_MEMBER + 1]; /* By member, of an instance. */
};

/* Is 'epoch' another one than was recorded at last?  Then it is, now. */
static bool
is_news__(struct recorded *r, const struct epoch *epoch)
{
    bool news =
        epoch
        && (!r->any || r->epoch != epoch->id || r->first != epoch->first);

    r->any = epoch != NULL;
    if (epoch) {
        r->epoch = epoch->id;
        r->first = epoch->first;
    }
    return news;
}

static void
record_epoch__(struct engine_history *history, const struct reservation *r,
               const struct epoch *epoch, int64_t now)
{
    struct recorded *recorded = &history->recorded[r->instance];

    if (is_news__(recorded, epoch)) {
        const struct series_epoch row = { .reservation = r->entry.id,
                                          .time = now,
                                          .instance = r->instance,
                                          .epoch = epoch->id,
                                          .boundary = epoch->first,
                                          .seed = recorded->seed };

        series_append_epochs(history->series, &row, 1);
    }
}

static void
fill_sample__(struct series_sample *sample, const struct session *session,
              int64_t now)
{
    const struct report *report = session->report;

    sample->reservation = session->reservation;
    sample->session = session->entry.id;
    sample->time = now;
    sample->fill = report->fill;
    sample->control = report->control;
    sample->events_received = report->events_received;
    sample->events_reassembled = report->events_reassembled;
    sample->events_reassembly_errors = report->events_reassembly_errors;
    sample->events_dequeued = report->events_dequeued;
    sample->event_enqueue_errors = report->event_enqueue_errors;
    sample->bytes_received = report->bytes_received;
    sample->packets_received = report->packets_received;
}

static void
count_slots__(uint32_t *slots, const struct epoch *epoch)
{
    size_t n = epoch ? calendar_n_slots(epoch->calendar) : 0;

    memset(slots, 0, (CALENDAR_NO_MEMBER + 1) * sizeof *slots);
    for (size_t i = 0; i < n; i++) {
        slots[epoch->calendar->members[i]]++;
    }
}

static void
record_sessions__(struct engine *engine, const struct reservation *r,
                  const struct epoch *epoch, int64_t now)
{
    const struct reservation_settings *s = &engine->state->reservations;
    const struct control_settings settings = { s->ready_on_register, s->silent,
                                               s->gone };
    struct engine_history *history = engine->history;
    size_t n;
    const struct session **sessions =
        book_find_sessions(engine->book, r->entry.id, &n);
    struct series_sample *samples = mem_zalloc(n * sizeof *samples);

    count_slots__(history->slots, epoch);
    for (size_t i = 0; i < n; i++) {
        fill_sample__(&samples[i], sessions[i], now);
        samples[i].ready = control_is_ready(&settings, sessions[i], now_ms());
        samples[i].slots = history->slots[sessions[i]->member];
    }
    series_append(history->series, samples, n);
    free(samples);
    free(sessions);
}

/* Returns the newest epoch of the instance of 'r', or NULL. */
static const struct epoch *
newest__(const struct engine *engine, const struct reservation *r)
{
    const struct instance *instance =
        state_find_instance(engine->state, r->instance);

    return instance ? epochs_newest(&instance->epochs) : NULL;
}

/* Records what is in service. */
void
engine_history_record__(struct engine *engine)
{
    struct engine_history *history = engine->history;
    int64_t now = now_wall_ms();

    if (!history->series) {
        return;
    }
    for (size_t i = 0; i < engine->book->reservations.n; i++) {
        const struct reservation *r = book_get_reservation(engine->book, i);
        const struct epoch *epoch = newest__(engine, r);

        record_epoch__(history, r, epoch, now);
        record_sessions__(engine, r, epoch, now);
    }
}

/* If 'instance' gets another epoch now, its calendar is shuffled with 'seed'. */
void
engine_history_set_seed__(struct engine *engine, uint16_t instance,
                          uint64_t seed)
{
    engine->history->recorded[instance].seed = seed;
}

/* Keeps what the configuration says. */
void
engine_history_update__(struct engine *engine)
{
    series_set_limits(engine->history->series, &engine->config->history);
}

/* Opens the history beside the state, which is in 'file'.  Without it,
 * everything else goes on. */
void
engine_history_open__(struct engine *engine, const char *file)
{
    char *name = mem_printf("%s-history", file);
    char *error = series_open(engine->base, name, &engine->config->history,
                              &engine->history->series);

    if (error) {
        VLOG_ERR("%s; until the next start, there is none", error);
    }
    free(error);
    free(name);
}

/* Has epochs that are there already not recorded again. */
void
engine_history_start__(struct engine *engine)
{
    for (size_t i = 0; i < engine->book->reservations.n; i++) {
        const struct reservation *r = book_get_reservation(engine->book, i);

        is_news__(&engine->history->recorded[r->instance],
                  newest__(engine, r));
    }
}

void
engine_history_init__(struct engine *engine)
{
    engine->history = mem_zalloc(sizeof *engine->history);
}

void
engine_history_destroy__(struct engine *engine)
{
    series_close(engine->history->series);
    free(engine->history);
}

/* Returns the history, or NULL if there is none. */
struct series *
engine_get_series(const struct engine *engine)
{
    return engine->history->series;
}
