/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics of the control API: reservations, workers, the control loop.  Those
 * that begin with "udplbd" have the names that the dashboards of EJ-FAT sites
 * look for. */

#include "controller/api/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/api/metrics-text.h"
#include "controller/core/book.h"
#include "controller/core/calendar.h"
#include "controller/core/epoch.h"
#include "controller/core/mem.h"
#include "controller/engine.h"

/* A set of numbers. */
struct summary {
    size_t n;
    double sum, squares, max, min;
};

/* What there is to say of a reservation. */
struct reserved {
    const struct reservation *reservation;
    const struct instance *instance;
    char id[24];
    struct summary slots;
    struct summary fill; /* 0 to 1. */
};

static void
summary_add__(struct summary *s, double x)
{
    s->max = !s->n || x > s->max ? x : s->max;
    s->min = !s->n || x < s->min ? x : s->min;
    s->sum += x;
    s->squares += x * x;
    s->n++;
}

static double
average__(const struct summary *s)
{
    return s->n ? s->sum / (double) s->n : 0;
}

static double
deviation__(const struct summary *s)
{
    double average = average__(s);
    double square = s->n ? s->squares / (double) s->n - average * average : 0;

    return square > 0 ? sqrt(square) : 0;
}

static double
max__(const struct summary *s)
{
    return s->max;
}

static double
min__(const struct summary *s)
{
    return s->min;
}

static void
summarize__(const struct book *book, struct reserved *r)
{
    const struct epoch *newest =
        r->instance ? epochs_newest(&r->instance->epochs) : NULL;
    size_t n;
    const struct session **sessions =
        book_find_sessions(book, r->reservation->entry.id, &n);

    for (size_t i = 0; i < n; i++) {
        summary_add__(&r->fill, sessions[i]->report->fill);
        summary_add__(&r->slots, newest ? (double) calendar_count(
                                     newest->calendar, sessions[i]->member)
                                        : 0);
    }
    free(sessions);
}

/* Returns what there is to say of each reservation of 'book'. */
static struct reserved *
gather__(const struct book *book, const struct state *state)
{
    size_t n = book->reservations.n;
    struct reserved *all = mem_zalloc(n * sizeof *all);

    for (size_t i = 0; i < n; i++) {
        struct reserved *r = &all[i];

        r->reservation = book_get_reservation(book, i);
        r->instance = state_find_instance(state, r->reservation->instance);
        snprintf(r->id, sizeof r->id, "%" PRIu64, r->reservation->entry.id);
        summarize__(book, r);
    }
    return all;
}

/* Writes the sample of 'r', with the labels of a reservation. */
static void
write__(struct metrics *m, const struct reserved *r, double value)
{
    metrics_value(m, value, "lb", r->id, "name", r->reservation->name,
                  "instance", r->instance ? r->instance->name : "", NULL);
}

static void
write_summaries__(struct metrics *m, const struct reserved *all, size_t n)
{
    static const struct {
        const char *name;
        const char *help;
        bool fill;
        double (*get)(const struct summary *);
    } families[] = {
        { "udplbd_lb_slots_avg", "Slots of workers, on average.", false,
          average__ },
        { "udplbd_lb_slots_stddev", "Their standard deviation.", false,
          deviation__ },
        { "udplbd_lb_slots_max", "Slots of the worker with most.", false,
          max__ },
        { "udplbd_lb_slots_min", "Slots of the worker with least.", false,
          min__ },
        { "udplbd_lb_fill_percent_avg", "Fill of workers, 0 to 1, on average.",
          true, average__ },
        { "udplbd_lb_fill_percent_stddev", "Their standard deviation.", true,
          deviation__ },
        { "udplbd_lb_fill_percent_max", "Fill of the fullest worker.", true,
          max__ },
        { "udplbd_lb_fill_percent_min", "Fill of the emptiest worker.", true,
          min__ },
    };

    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        metrics_family(m, families[k].name, METRICS_GAUGE, families[k].help);
        for (size_t i = 0; i < n; i++) {
            write__(m, &all[i],
                    families[k].get(families[k].fill ? &all[i].fill
                                                     : &all[i].slots));
        }
    }
}

static void
write_reservations__(struct metrics *m, const struct reserved *all, size_t n)
{
    metrics_family(m, "udplbd_lb_active_sessions_total", METRICS_GAUGE,
                   "Workers that are registered.");
    for (size_t i = 0; i < n; i++) {
        write__(m, &all[i], (double) all[i].fill.n);
    }
    metrics_family(m, "udplbd_lb_epoch_boundary", METRICS_GAUGE,
                   "The first tick of the newest epoch.");
    for (size_t i = 0; i < n; i++) {
        const struct epoch *newest =
            all[i].instance ? epochs_newest(&all[i].instance->epochs) : NULL;

        if (newest) {
            write__(m, &all[i], (double) newest->first);
        }
    }
    write_summaries__(m, all, n);
    metrics_family(m, "evlb_reservation_expires_seconds", METRICS_GAUGE,
                   "When the reservation ends, since 1970.");
    for (size_t i = 0; i < n; i++) {
        write__(m, &all[i], (double) all[i].reservation->expires / 1000);
    }
}

/* Writes which of the instances that can be reserved are. */
static void
write_active__(struct metrics *m, const struct state *state,
               const struct book *book)
{
    metrics_family(m, "udplbd_lb_is_active", METRICS_GAUGE,
                   "Is the instance reserved?");
    for (size_t i = 0; i < state->n_instances; i++) {
        const struct instance *in = &state->instances[i];

        if (in->reservable) {
            metrics_count(m, book_find_reservation_of(book, in->id) != NULL,
                          "instance", in->name, NULL);
        }
    }
}

static void
write_periods__(struct metrics *m, const struct engine_periods *p)
{
    metrics_family(m, "udplbd_epochs_processed_total", METRICS_COUNTER,
                   "Epochs that the control loop connected.");
    metrics_count(m, p->n_epochs, NULL);
    metrics_family(m, "udplbd_lb_tick_duration_seconds", METRICS_HISTOGRAM,
                   "How long periods of the control loop took.");
    metrics_histogram(m, &p->durations);
    metrics_family(m, "evlb_control_period_seconds", METRICS_HISTOGRAM,
                   "How long periods of the control loop took, until what "
                   "they changed was in service.");
    metrics_histogram(m, &p->durations);
    metrics_family(m, "evlb_control_install_seconds", METRICS_HISTOGRAM,
                   "How long periods of the control loop that changed rules "
                   "took, until all connected switches held them.");
    metrics_histogram(m, &p->installs);
    metrics_family(m, "evlb_control_periods_missed_total", METRICS_COUNTER,
                   "Periods that did not begin, because another one lasted.");
    metrics_count(m, p->n_missed, NULL);
    metrics_family(m, "evlb_control_periods_failed_total", METRICS_COUNTER,
                   "Periods that could not be stored.");
    metrics_count(m, p->n_failed, NULL);
}

/* Writes how many issues there are, by how bad they are. */
static void
write_issues__(struct metrics *m, const struct engine *engine)
{
    const struct state *state = engine_get_state(engine);

    metrics_family(m, "evlb_health_issues", METRICS_GAUGE,
                   "What is wrong with the instance, by how bad it is.");
    for (size_t i = 0; i < state->n_instances; i++) {
        const struct instance *in = &state->instances[i];
        const struct issues *issues = engine_get_issues(engine, in->id);
        size_t n[2] = { 0, 0 };

        for (size_t k = 0; k < issues->n; k++) {
            n[issues->issues[k].severity == ISSUE_ERROR]++;
        }
        metrics_count(m, n[0], "instance", in->name, "severity",
                      issue_severity_to_string(ISSUE_WARNING), NULL);
        metrics_count(m, n[1], "instance", in->name, "severity",
                      issue_severity_to_string(ISSUE_ERROR), NULL);
    }
}

void
metrics_control(struct metrics *m, struct engine *engine)
{
    const struct book *book = engine_get_book(engine);
    const struct state *state = engine_get_state(engine);
    struct reserved *all = gather__(book, state);

    metrics_family(m, "evlb_reservations", METRICS_GAUGE,
                   "Reservations that there are.");
    metrics_count(m, book->reservations.n, NULL);
    metrics_family(m, "evlb_sessions", METRICS_GAUGE,
                   "Workers that are registered, of all reservations.");
    metrics_count(m, book->sessions.n, NULL);
    write_active__(m, state, book);
    write_reservations__(m, all, book->reservations.n);
    write_periods__(m, engine_get_periods(engine));
    write_issues__(m, engine);
    free(all);
}
