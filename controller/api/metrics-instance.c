/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics of instances: how far their senders are, and how events are
 * distributed. */

#include "controller/api/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/api/metrics-text.h"
#include "controller/core/calendar.h"
#include "controller/core/epoch.h"
#include "controller/core/mem.h"
#include "controller/engine.h"

static double
members__(const struct instance *in, const struct engine_timing *t)
{
    (void) t;
    return (double) in->n_members;
}

static double
epochs__(const struct instance *in, const struct engine_timing *t)
{
    (void) t;
    return (double) in->epochs.n;
}

static double
lead__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return t->lead_ms / 1000.0;
}

static double
lead_measured__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return t->lead_measured;
}

static double
senders__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return (double) t->now.n_senders;
}

static double
quarantined__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return (double) t->now.n_quarantined;
}

static double
tick__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return t->now.known ? (double) t->now.tick : 0;
}

static double
tick_known__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return t->now.known;
}

static double
rate__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return t->now.known ? t->now.rate : 0;
}

static double
age__(const struct instance *in, const struct engine_timing *t)
{
    (void) in;
    return t->now.age < 0 ? -1 : (double) t->now.age / 1000.0;
}

/* What is said of each instance, in a family of its own. */
static const struct figure {
    const char *name;
    const char *help;
    double (*get)(const struct instance *, const struct engine_timing *);
    bool sync; /* Is it only there with Sync? */
} figures[] = {
    { "evlb_instance_members", "Members of the instance.", members__, false },
    { "evlb_instance_epochs", "Epochs that are connected.", epochs__, false },
    { "evlb_lead_time_seconds", "How far ahead a boundary must lie.", lead__,
      false },
    { "evlb_lead_time_measured", "Was the lead time measured on packets?",
      lead_measured__, false },
    { "evlb_sync_senders", "Senders of Sync that told something of late.",
      senders__, true },
    { "evlb_sync_quarantined",
      "Of these, how many do not agree with the others.", quarantined__,
      true },
    { "evlb_sync_tick_known", "Is it known how far the ticks are?",
      tick_known__, true },
    { "evlb_sync_tick", "Where the ticks are; 0 if that is not known.", tick__,
      true },
    { "evlb_sync_rate_hertz", "Ticks a second, of the fastest sender.", rate__,
      true },
    { "evlb_sync_age_seconds",
      "Age of the newest sample of Sync; -1 if there is none.", age__, true },
};

static void
write_sync_counters__(struct metrics *m, const struct instance *in,
                      const struct sync_counters *c)
{
    const struct {
        const char *result;
        uint64_t n;
    } all[] = {
        { "taken", c->n_taken },       { "malformed", c->n_malformed },
        { "foreign", c->n_foreign },   { "backwards", c->n_backwards },
        { "too_many", c->n_too_many },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        metrics_count(m, all[i].n, "instance", in->name, "result",
                      all[i].result, NULL);
    }
}

/* Writes the slots of each member of 'in' in the newest epoch. */
static void
write_slots__(struct metrics *m, const struct instance *in)
{
    const struct epoch *newest = epochs_newest(&in->epochs);

    for (size_t i = 0; newest && i < in->n_members; i++) {
        char member[8];

        snprintf(member, sizeof member, "%u", in->members[i].id);
        metrics_count(m, calendar_count(newest->calendar, in->members[i].id),
                      "instance", in->name, "member", member, NULL);
    }
}

static void
write_epochs__(struct metrics *m, const struct instance *in)
{
    for (size_t i = 0; i < in->epochs.n; i++) {
        char epoch[8];

        snprintf(epoch, sizeof epoch, "%u", in->epochs.epochs[i]->id);
        metrics_count(m, in->epochs.epochs[i]->first, "instance", in->name,
                      "epoch", epoch, NULL);
    }
}

static void
write_newest__(struct metrics *m, const struct state *state)
{
    metrics_family(m, "evlb_epoch_boundary", METRICS_GAUGE,
                   "The first tick of the newest epoch.");
    for (size_t i = 0; i < state->n_instances; i++) {
        const struct instance *in = &state->instances[i];
        const struct epoch *newest = epochs_newest(&in->epochs);

        if (newest) {
            metrics_count(m, newest->first, "instance", in->name, NULL);
        }
    }
    metrics_family(m, "evlb_epoch_first_tick", METRICS_GAUGE,
                   "The first tick of each epoch that is connected.");
    for (size_t i = 0; i < state->n_instances; i++) {
        write_epochs__(m, &state->instances[i]);
    }
    metrics_family(m, "evlb_member_slots", METRICS_GAUGE,
                   "Slots of the member in the newest epoch.");
    for (size_t i = 0; i < state->n_instances; i++) {
        write_slots__(m, &state->instances[i]);
    }
}

void
metrics_instances(struct metrics *m, struct engine *engine)
{
    const struct state *state = engine_get_state(engine);
    struct engine_timing *t = mem_zalloc(state->n_instances * sizeof *t);

    for (size_t i = 0; i < state->n_instances; i++) {
        engine_get_timing(engine, &state->instances[i], &t[i]);
    }
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        const struct figure *f = &figures[k];

        metrics_family(m, f->name, METRICS_GAUGE, f->help);
        for (size_t i = 0; i < state->n_instances; i++) {
            const struct instance *in = &state->instances[i];

            if (t[i].has_sync || !f->sync) {
                metrics_value(m, f->get(in, &t[i]), "instance", in->name,
                              NULL);
            }
        }
    }
    metrics_family(m, "evlb_sync_datagrams_total", METRICS_COUNTER,
                   "Datagrams of Sync, by what became of them.");
    for (size_t i = 0; i < state->n_instances; i++) {
        if (t[i].has_sync) {
            write_sync_counters__(m, &state->instances[i], &t[i].counters);
        }
    }
    write_newest__(m, state);
    free(t);
}
