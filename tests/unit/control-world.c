/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/control-world.h"

#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "tests/unit/unit.h"

/* Initializes 'w' as a reservation without workers, with the defaults of the
 * configuration. */
void
world_init(struct world *w)
{
    *w = (struct world){ .settings = { true, 2000, 60000 }, .now = 1000000 };
    w->reservation.entry.id = 7;
    epochs_init(&w->epochs);
}

void
world_destroy(struct world *w)
{
    if (w->stepped) {
        control_outcome_destroy(&w->outcome);
    }
    for (size_t i = 0; i < w->n_sessions; i++) {
        session_unref(w->sessions[i]);
    }
    free(w->sessions);
    free(w->reservation.senders);
    epochs_destroy(&w->epochs);
}

/* Returns a worker that registers now; its station is found. */
struct session *
world_register(struct world *w, double weight)
{
    struct session *s = mem_zalloc(sizeof *s);
    char *ip;

    s->entry = (struct book_entry){ 1, ++w->last_session };
    s->reservation = w->reservation.entry.id;
    s->member = w->last_member++;
    s->name = mem_printf("worker%u", (unsigned int) s->member);
    s->weight = weight;
    s->base = 10000;
    ip = mem_printf("10.1.%u.%u", s->member / 256u, s->member % 256u);
    assert_true(addr_from_string(ip, &s->ip));
    free(ip);
    s->report = report_create(w->now);
    s->report->admitted = true;

    if (w->n_sessions >= w->allocated_sessions) {
        w->sessions = mem_grow(w->sessions, &w->allocated_sessions,
                               sizeof(struct session *));
    }
    w->sessions[w->n_sessions++] = s;
    return s;
}

void
world_deregister(struct world *w, const struct session *s)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n_sessions; i++) {
        if (w->sessions[i] != s) {
            w->sessions[n++] = w->sessions[i];
        }
    }
    assert_int_equal(n, w->n_sessions - 1);
    w->n_sessions = n;
    session_unref(s);
}

void
world_report(struct world *w, struct session *s, bool ready, double control)
{
    s->report->received = w->now;
    s->report->ready = ready;
    s->report->control = control;
    s->report->news = true;
}

void
world_add_sender(struct world *w, const char *address)
{
    struct reservation *r = &w->reservation;

    r->senders = realloc(r->senders, (r->n_senders + 1) * sizeof *r->senders);
    assert_non_null(r->senders);
    assert_true(addr_from_string(address, &r->senders[r->n_senders++]));
}

/* Connects what the last step decided. */
static void
connect__(struct world *w)
{
    if (w->outcome.replace) {
        assert_int_equal(w->epochs.n, 1);
        epochs_destroy(&w->epochs);
        epochs_init(&w->epochs);
    }
    unit_assert_error(epochs_connect(&w->epochs, ++w->last_epoch,
                                     w->outcome.boundary, 0,
                                     w->outcome.calendar),
                      NULL);
}

/* Runs one period, and removes workers that are gone. */
void
world_step(struct world *w)
{
    struct control_inputs in = {
        .settings = &w->settings,
        .now = w->now,
        .seed = ++w->seed,
        .reservation = &w->reservation,
        .sessions = (const struct session *const *) w->sessions,
        .n_sessions = w->n_sessions,
        .epochs = &w->epochs,
        .untouched = w->untouched,
        .no_boundary = w->no_boundary,
        .boundary = w->boundary
    };

    if (w->stepped) {
        control_outcome_destroy(&w->outcome);
    }
    control_step(&in, &w->outcome);
    w->stepped = true;
    if (w->outcome.calendar) {
        connect__(w);
    }
    for (size_t i = 0; i < w->outcome.n_gone; i++) {
        size_t j = 0;

        while (w->sessions[j]->entry.id != w->outcome.gone[i]) {
            assert_true(++j < w->n_sessions);
        }
        world_deregister(w, w->sessions[j]);
    }
}

/* Returns true if the last step said what is wrong as 'type' about 'session',
 * or about the instance if that is 0. */
bool
world_has_issue(const struct world *w, const char *type, uint64_t session)
{
    for (size_t i = 0; i < w->outcome.issues.n; i++) {
        const struct issue *issue = &w->outcome.issues.issues[i];

        if (!strcmp(issue->type, type) && issue->session == session) {
            return true;
        }
    }
    return false;
}

/* Returns how many slots 's' has in the newest epoch. */
size_t
world_count(const struct world *w, const struct session *s)
{
    const struct epoch *newest = epochs_newest(&w->epochs);

    return newest ? calendar_count(newest->calendar, s->member) : 0;
}
