/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/control.h"

#include <math.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "tests/unit/control-world.h"
#include "tests/unit/unit.h"

/* Most tests are about a world that ticks on: a further epoch can begin. */
static void
setup(struct world *w, size_t n_workers)
{
    world_init(w);
    for (size_t i = 0; i < n_workers; i++) {
        world_register(w, 1);
    }
}

/* Runs the next period, in which a further epoch may begin. */
static void
tick(struct world *w)
{
    w->now += WORLD_PERIOD;
    w->boundary += 1000000;
    world_step(w);
}

/* All workers but the first 'n_silent' report; then the next period runs. */
static void
tick_reports(struct world *w, size_t n_silent)
{
    w->now += WORLD_PERIOD;
    w->boundary += 1000000;
    for (size_t i = n_silent; i < w->n_sessions; i++) {
        world_report(w, w->sessions[i], true, 0);
    }
    world_step(w);
}

/* Checks that the last step connected nothing and said why as 'issue', or that
 * nothing is wrong if that is NULL. */
static void
assert_kept(const struct world *w, const char *issue)
{
    assert_null(w->outcome.calendar);
    if (issue) {
        assert_true(world_has_issue(w, issue, 0));
    } else {
        assert_int_equal(w->outcome.issues.n, 0);
    }
}

static void
assert_connected(const struct world *w, uint64_t boundary)
{
    assert_non_null(w->outcome.calendar);
    assert_int_equal(w->outcome.boundary, boundary);
}

/* Epochs. */

static void
test_nobody(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 0);
    tick(&w);
    assert_kept(&w, "no_workers");
    assert_int_equal(w.outcome.n_gone, 0);
    world_destroy(&w);
}

/* The first epoch needs no Sync, and begins with tick 0. */
static void
test_first_epoch(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 2);
    w.no_boundary = "no Sync";
    tick(&w);
    assert_connected(&w, 0);
    assert_false(w.outcome.replace);
    assert_int_equal(w.outcome.issues.n, 0);
    assert_int_equal(w.epochs->n, 1);
    assert_int_equal(world_count(&w, w.sessions[0]), 256);
    assert_int_equal(world_count(&w, w.sessions[1]), 256);
    world_destroy(&w);
}

static void
test_nothing_changes(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 3);
    for (int i = 0; i < 1000; i++) {
        tick_reports(&w, 0);
        assert_int_equal(w.epochs->n, 1);
    }
    assert_kept(&w, NULL);
    world_destroy(&w);
}

static void
test_further_epoch(void **state)
{
    struct world w;
    uint64_t boundary;

    (void) state;
    setup(&w, 1);
    tick(&w);
    world_register(&w, 1);
    boundary = w.boundary + 1000000;
    tick(&w);
    assert_connected(&w, boundary);
    assert_false(w.outcome.replace);
    assert_int_equal(w.epochs->n, 2);
    assert_int_equal(world_count(&w, w.sessions[1]), 256);
    world_destroy(&w);
}

/* The only epoch, which decided about nothing yet, is replaced. */
static void
test_replace(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 1);
    w.no_boundary = "no Sync";
    tick_reports(&w, 0);
    tick_reports(&w, 0);
    assert_kept(&w, NULL);
    world_register(&w, 1);
    tick_reports(&w, 0);
    assert_connected(&w, 0);
    assert_true(w.outcome.replace);
    assert_int_equal(w.epochs->n, 1);
    assert_int_equal(world_count(&w, w.sessions[1]), 256);
    world_destroy(&w);
}

static void
test_no_boundary(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 1);
    w.packets = true;
    tick_reports(&w, 0);
    world_register(&w, 1);
    w.no_boundary = "no Sync came";
    tick_reports(&w, 0);
    assert_kept(&w, "no_boundary");
    assert_non_null(
        strstr(w.outcome.issues.issues[0].message, "no Sync came"));
    w.no_boundary = NULL;
    tick_reports(&w, 0);
    assert_connected(&w, w.boundary);
    w.no_boundary = "no Sync came"; /* Nothing waits for it. */
    tick_reports(&w, 0);
    assert_kept(&w, NULL);
    world_destroy(&w);
}

/* Ticks that began anew make no boundary that is behind the newest one. */
static void
test_boundary_behind(void **state)
{
    struct world w;
    uint64_t first;

    (void) state;
    setup(&w, 1);
    tick_reports(&w, 0);
    world_register(&w, 1);
    tick_reports(&w, 0);
    first = epochs_newest(w.epochs)->first;
    world_register(&w, 1);

    w.boundary = first - 1000000;
    tick_reports(&w, 0);
    assert_int_equal(w.boundary, first);
    assert_kept(&w, "no_boundary");
    assert_non_null(strstr(w.outcome.issues.issues[0].message, "reset"));

    w.boundary = first + 1 - 1000000;
    tick_reports(&w, 0);
    assert_connected(&w, first + 1);
    world_destroy(&w);
}

/* Readiness. */

static void
test_ready_on_register(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 1);
    w.settings.ready_on_register = false;
    tick(&w);
    assert_kept(&w, "no_workers");
    world_report(&w, w.sessions[0], false, 0);
    tick(&w);
    assert_kept(&w, "no_workers");
    world_report(&w, w.sessions[0], true, 0);
    tick(&w);
    assert_connected(&w, 0);
    world_destroy(&w);
}

/* A worker that never reports is ready no longer than one that did. */
static void
test_never_reports(void **state)
{
    struct world w;
    struct session *s;

    (void) state;
    setup(&w, 3);
    tick_reports(&w, 1);
    s = w.sessions[0];
    assert_int_equal(world_count(&w, s), 171);
    tick_reports(&w, 1);
    assert_kept(&w, NULL);
    tick_reports(&w, 1);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, s), 0);
    assert_true(world_has_issue(&w, "silent", s->entry.id));
    world_destroy(&w);
}

static void
test_silence(void **state)
{
    struct world w;
    struct session *s;

    (void) state;
    setup(&w, 3);
    tick_reports(&w, 0);
    s = w.sessions[0];
    w.now -= WORLD_PERIOD;
    for (int ms = WORLD_PERIOD; ms <= 2000; ms += WORLD_PERIOD) {
        tick_reports(&w, 1);
    }
    w.now = s->report->received + 2000;
    world_report(&w, w.sessions[1], true, 0);
    world_report(&w, w.sessions[2], true, 0);
    world_step(&w);
    assert_kept(&w, NULL);
    w.now++;
    world_step(&w);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, s), 0);
    assert_true(world_has_issue(&w, "silent", s->entry.id));

    world_report(&w, s, true, 0);
    tick(&w);
    assert_int_equal(world_count(&w, s), 171);
    assert_false(world_has_issue(&w, "silent", s->entry.id));
    world_destroy(&w);
}

/* The time that a report says is not ours, and is not looked at. */
static void
test_wall_clock(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 2);
    for (int i = 0; i < 10; i++) {
        w.sessions[0]->report->wall = i % 2 ? INT64_MIN : INT64_MAX;
        tick_reports(&w, 0);
    }
    assert_kept(&w, NULL);
    assert_int_equal(w.epochs->n, 1);
    world_destroy(&w);
}

static void
test_gone(void **state)
{
    struct world w;
    uint64_t id;

    (void) state;
    setup(&w, 3);
    tick_reports(&w, 0);
    id = w.sessions[0]->entry.id;
    w.now = w.sessions[0]->report->received + 60000 - WORLD_PERIOD;
    tick_reports(&w, 1);
    assert_int_equal(w.outcome.n_gone, 0);
    tick_reports(&w, 1);
    assert_int_equal(w.outcome.n_gone, 1);
    assert_int_equal(w.outcome.gone[0], id);
    assert_int_equal(w.n_sessions, 2);
    tick_reports(&w, 0);
    assert_int_equal(w.outcome.n_gone, 0);
    assert_kept(&w, NULL);
    world_destroy(&w);
}

/* One that never reported is gone after the same time, ready or not. */
static void
test_gone_unheard(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 1);
    w.settings.ready_on_register = false;
    w.now += 60000 - WORLD_PERIOD;
    tick(&w);
    assert_int_equal(w.outcome.n_gone, 0);
    tick(&w);
    assert_int_equal(w.outcome.n_gone, 1);
    world_destroy(&w);
}

static void
test_unresolved(void **state)
{
    struct world w;
    struct session *s;

    (void) state;
    setup(&w, 2);
    s = w.sessions[0];
    s->report->admitted = false;
    tick_reports(&w, 0);
    assert_connected(&w, 0);
    assert_int_equal(world_count(&w, s), 0);
    assert_true(world_has_issue(&w, "unresolved", s->entry.id));
    assert_false(control_is_ready(&w.settings, s, w.now));
    s->report->admitted = true;
    tick_reports(&w, 0);
    assert_int_equal(world_count(&w, s), 256);
    assert_true(control_is_ready(&w.settings, s, w.now));
    assert_int_equal(w.outcome.issues.n, 0);
    world_destroy(&w);
}

/* Who says it is not ready, or deregisters, gets nothing more. */
static void
test_leave(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 3);
    tick_reports(&w, 0);
    world_report(&w, w.sessions[1], false, 0);
    tick(&w);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, w.sessions[1]), 0);
    assert_int_equal(w.outcome.issues.n, 0);
    world_deregister(&w, w.sessions[0]);
    tick_reports(&w, 0);
    assert_int_equal(world_count(&w, w.sessions[0]), 256);
    assert_int_equal(world_count(&w, w.sessions[1]), 256);
    world_destroy(&w);
}

/* All but one may leave at once, if they say so. */
static void
test_most_leave(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 10);
    tick_reports(&w, 0);
    for (size_t i = 1; i < 5; i++) {
        world_report(&w, w.sessions[i], false, 0);
    }
    for (size_t i = 5; i < 10; i++) {
        world_deregister(&w, w.sessions[5]);
    }
    tick(&w);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, w.sessions[0]), 512);
    assert_int_equal(w.outcome.issues.n, 0);
    world_destroy(&w);
}

/* Nobody else is there: the last ones keep their slots. */
static void
test_last_leaves(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 2);
    tick_reports(&w, 0);
    world_report(&w, w.sessions[0], false, 0);
    world_report(&w, w.sessions[1], false, 0);
    tick(&w);
    assert_kept(&w, "last_worker");
    world_deregister(&w, w.sessions[0]);
    world_deregister(&w, w.sessions[0]);
    tick(&w);
    assert_kept(&w, "no_workers");
    world_register(&w, 1);
    tick(&w);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, w.sessions[0]), 512);
    world_destroy(&w);
}

/* A majority that falls silent. */

/* Has the first 'n_silent' of 'n' workers fall silent. */
static void
fall_silent(struct world *w, size_t n, size_t n_silent)
{
    setup(w, n);
    tick_reports(w, 0);
    for (int i = 0; i < 3; i++) {
        tick_reports(w, n_silent);
    }
}

static void
test_half_silent(void **state)
{
    struct world w;

    (void) state;
    fall_silent(&w, 4, 2);
    assert_int_equal(w.epochs->n, 2);
    assert_false(world_has_issue(&w, "majority_silent", 0));
    assert_int_equal(world_count(&w, w.sessions[0]), 0);
    assert_int_equal(world_count(&w, w.sessions[3]), 256);
    world_destroy(&w);
}

static void
test_majority_silent(void **state)
{
    struct world w;

    (void) state;
    fall_silent(&w, 5, 3);
    assert_kept(&w, "majority_silent");
    assert_int_equal(w.epochs->n, 1);
    assert_true(world_has_issue(&w, "silent", w.sessions[2]->entry.id));

    /* Neither who joins nor what others report changes anything. */
    world_register(&w, 1);
    w.sessions[4]->report->control = 500;
    tick_reports(&w, 3);
    assert_kept(&w, "majority_silent");

    /* They are back. */
    tick_reports(&w, 0);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, w.sessions[0]), 86);
    assert_int_equal(w.outcome.issues.n, 0);
    world_destroy(&w);
}

/* One that leaves meanwhile does, and the silent ones keep their slots. */
static void
test_majority_silent_leave(void **state)
{
    struct world w;

    (void) state;
    fall_silent(&w, 4, 3);
    assert_kept(&w, "majority_silent");
    world_register(&w, 1000); /* Whoever joins has to wait. */
    world_report(&w, w.sessions[3], false, 0);
    tick(&w);
    assert_connected(&w, w.boundary);
    assert_true(world_has_issue(&w, "majority_silent", 0));
    assert_int_equal(world_count(&w, w.sessions[3]), 0);
    assert_int_equal(world_count(&w, w.sessions[0]), 171);
    tick(&w);
    assert_kept(&w, "majority_silent");
    world_destroy(&w);
}

/* What others report meanwhile takes nothing from them, and counts after it. */
static void
test_majority_silent_control(void **state)
{
    struct world w;

    (void) state;
    fall_silent(&w, 6, 4);
    assert_kept(&w, "majority_silent");
    world_report(&w, w.sessions[4], true, 5000);
    world_report(&w, w.sessions[5], false, 0);
    tick(&w);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, w.sessions[5]), 0);
    assert_true(world_count(&w, w.sessions[0]) >= 102);
    assert_true(world_count(&w, w.sessions[4]) <= 103);
    for (size_t i = 0; i < 4; i++) {
        world_report(&w, w.sessions[i], true, 0);
    }
    tick(&w);
    assert_int_equal(w.outcome.issues.n, 0);
    assert_true(world_count(&w, w.sessions[4]) >= 300);
    world_destroy(&w);
}

/* In the end they are gone, and those who are left get everything. */
static void
test_majority_gone(void **state)
{
    struct world w;

    (void) state;
    fall_silent(&w, 5, 3);
    while (w.n_sessions == 5) {
        assert_kept(&w, "majority_silent");
        tick_reports(&w, 3);
    }
    assert_int_equal(w.outcome.n_gone, 3);
    assert_int_equal(w.n_sessions, 2);
    assert_connected(&w, w.boundary);
    assert_int_equal(world_count(&w, w.sessions[0]), 256);
    world_destroy(&w);
}

/* If nobody is left, the last ones keep their slots. */
static void
test_all_gone(void **state)
{
    struct world w;
    int periods = 0;

    (void) state;
    fall_silent(&w, 3, 3);
    while (w.n_sessions) {
        assert_kept(&w, "majority_silent");
        tick(&w);
        assert_true(++periods < 100);
    }
    assert_int_equal(w.outcome.n_gone, 3);
    assert_kept(&w, "last_worker");
    tick(&w);
    assert_kept(&w, "no_workers");
    assert_int_equal(w.epochs->n, 1);
    world_destroy(&w);
}

/* Shares. */

static void
test_weights(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 1);
    world_register(&w, 3);
    tick_reports(&w, 0);
    assert_int_equal(world_count(&w, w.sessions[0]), 128);
    assert_int_equal(world_count(&w, w.sessions[1]), 384);
    assert_true(w.sessions[0]->report->weighted);
    assert_true(fabs(w.sessions[0]->report->share - 500) < 1e-6);
    assert_true(fabs(w.sessions[1]->report->share - 1500) < 1e-6);
    world_destroy(&w);
}

static void
test_control(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 2);
    tick_reports(&w, 0);
    world_report(&w, w.sessions[0], true, 1000);
    tick(&w);
    assert_connected(&w, w.boundary);
    assert_true(fabs(w.sessions[0]->report->share - 2000 * 2 / 3.) < 1e-6);
    assert_int_equal(world_count(&w, w.sessions[0]), 341);
    assert_false(w.sessions[0]->report->news);

    /* It counts once. */
    tick(&w);
    assert_kept(&w, NULL);

    world_report(&w, w.sessions[0], true, -1e9);
    world_report(&w, w.sessions[1], true, 0);
    tick(&w);
    assert_int_equal(world_count(&w, w.sessions[0]), 0);
    assert_int_equal(world_count(&w, w.sessions[1]), 512);

    /* One that has no slots any more can come back. */
    world_report(&w, w.sessions[0], true, 2000);
    world_report(&w, w.sessions[1], true, 0);
    tick(&w);
    assert_int_equal(world_count(&w, w.sessions[0]), 256);
    world_destroy(&w);
}

/* Who has nothing because all have nothing gets as much as the others. */
static void
test_all_zero(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 4);
    tick_reports(&w, 0);
    for (size_t i = 0; i < 4; i++) {
        world_report(&w, w.sessions[i], true, -5000);
    }
    tick(&w);
    assert_kept(&w, NULL);
    assert_true(fabs(w.sessions[3]->report->share - 1000) < 1e-6);
    world_destroy(&w);
}

/* Shares stay finite, whatever is reported. */
static void
test_extremes(void **state)
{
    static const double controls[] = { 3e38,      -3e38, 1e-40, INFINITY,
                                       -INFINITY, NAN,   -NAN,  1.7e308 };
    struct world w;
    uint64_t random = 1;

    (void) state;
    setup(&w, 3);
    world_register(&w, 3e38);
    world_register(&w, 1e-38);
    for (int i = 0; i < 500; i++) {
        w.now += WORLD_PERIOD;
        w.boundary++;
        for (size_t j = 0; j < w.n_sessions; j++) {
            world_report(&w, w.sessions[j], true,
                         controls[unit_random_below(&random, 8)]);
        }
        world_step(&w);
        for (size_t j = 0; j < w.n_sessions; j++) {
            double share = w.sessions[j]->report->share;

            assert_true(share >= 0 && share <= 5000.01);
        }
        assert_false(world_has_issue(&w, "no_calendar", 0));
    }
    world_destroy(&w);
}

/* With another strategy, weights stay what they were at registration. */
static void
test_static(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 1);
    w.reservation.strategy = STRATEGY_STATIC;
    world_register(&w, 3);
    tick_reports(&w, 0);
    for (int i = 0; i < 10; i++) {
        w.sessions[0]->report->control = 1000;
        tick_reports(&w, 0);
        assert_kept(&w, NULL);
    }
    world_report(&w, w.sessions[1], false, 0);
    tick(&w);
    assert_int_equal(world_count(&w, w.sessions[0]), 512);
    tick_reports(&w, 0);
    assert_int_equal(world_count(&w, w.sessions[0]), 128);
    world_destroy(&w);
}

/* Shares that are scaled already stay what they are, to the last bit: rounding
 * would move a slot some day. */
static void
test_shares_rest(void **state)
{
    double shares[40];
    uint64_t random = 1;
    struct world w;

    (void) state;
    setup(&w, 0);
    for (size_t i = 0; i < 40; i++) {
        world_register(&w, 1. / (1 + unit_random_below(&random, 1000)));
    }
    tick_reports(&w, 0);
    for (size_t i = 0; i < 40; i++) {
        shares[i] = w.sessions[i]->report->share;
    }
    for (int i = 0; i < 100; i++) {
        tick_reports(&w, 0);
        assert_kept(&w, NULL);
    }
    for (size_t i = 0; i < 40; i++) {
        assert_memory_equal(&shares[i], &w.sessions[i]->report->share,
                            sizeof shares[i]);
    }
    world_destroy(&w);
}

/* After a restart, what was reported is forgotten, but not what has come of it:
 * the same epoch goes on. */
static void
test_restart(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 5);
    w.settings.ready_on_register = false;
    tick_reports(&w, 0);
    for (size_t i = 0; i < 5; i++) {
        world_report(&w, w.sessions[i], true, 137.0 * (double) i * (double) i);
    }
    tick(&w);
    assert_int_equal(w.epochs->n, 2);
    for (size_t i = 0; i < 5; i++) {
        free(w.sessions[i]->report);
        w.sessions[i]->report = report_create(w.now);
    }
    for (int i = 0; i < 2; i++) {
        tick(&w);
        assert_kept(&w, NULL);
    }
    tick_reports(&w, 0);
    assert_kept(&w, NULL);
    for (size_t i = 0; i < 5; i++) {
        assert_true(w.sessions[i]->report->served);
    }
    world_destroy(&w);
}

/* Factors and families. */

static void
test_factors(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 3);
    w.sessions[0]->max_factor = .5;
    w.sessions[1]->min_factor = 2;
    tick_reports(&w, 0);
    assert_true(world_count(&w, w.sessions[0]) <= 85);
    assert_true(world_count(&w, w.sessions[1]) >= 342);
    world_destroy(&w);
}

/* Factors that cannot be kept are told, and all slots are given away. */
static void
test_factors_impossible(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 2);
    w.sessions[0]->max_factor = .5;
    w.sessions[1]->max_factor = .5;
    tick_reports(&w, 0);
    assert_connected(&w, 0);
    assert_true(world_has_issue(&w, "factors", 0));
    assert_int_equal(world_count(&w, w.sessions[0]), 256);
    assert_int_equal(world_count(&w, w.sessions[1]), 256);
    tick_reports(&w, 0);
    assert_null(w.outcome.calendar);
    world_destroy(&w);
}

/* Demands. */

static void
demand(struct session *s, int32_t index, uint32_t length)
{
    free(s->demands);
    s->demands = mem_alloc(sizeof *s->demands);
    s->demands[0] = (struct slot_range){ index, length };
    s->n_demands = 1;
}

/* Returns the member that has 'slot' in the newest epoch. */
static uint16_t
get_member(const struct world *w, size_t slot)
{
    return epochs_newest(w->epochs)->calendar->members[slot];
}

static void
test_demands(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 3);
    w.reservation.strategy = STRATEGY_STATIC;
    demand(w.sessions[1], 100, 12);
    tick_reports(&w, 0);
    assert_int_equal(world_count(&w, w.sessions[0]), 250);
    assert_int_equal(world_count(&w, w.sessions[1]), 12);
    assert_int_equal(get_member(&w, 100), w.sessions[1]->member);
    assert_int_equal(get_member(&w, 111), w.sessions[1]->member);
    tick_reports(&w, 0);
    assert_kept(&w, NULL);

    /* As many slots, but others. */
    demand(w.sessions[1], 101, 12);
    tick_reports(&w, 0);
    assert_connected(&w, w.boundary);
    assert_int_equal(get_member(&w, 112), w.sessions[1]->member);

    /* What cannot be changes nothing. */
    demand(w.sessions[2], 112, 1);
    tick_reports(&w, 0);
    assert_kept(&w, "no_calendar");
    world_destroy(&w);
}

static void
test_explicit(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 2);
    w.reservation.strategy = STRATEGY_EXPLICIT;
    tick_reports(&w, 0);
    assert_kept(&w, "no_calendar");
    demand(w.sessions[1], 500, 12);
    tick_reports(&w, 0);
    assert_connected(&w, 0);
    assert_int_equal(world_count(&w, w.sessions[0]), 0);
    assert_int_equal(world_count(&w, w.sessions[1]), 12);
    assert_int_equal(get_member(&w, 0), CALENDAR_NO_MEMBER);
    tick_reports(&w, 0);
    assert_kept(&w, NULL);
    world_destroy(&w);
}

static void
test_sender_family(void **state)
{
    struct world w;

    (void) state;
    setup(&w, 2);
    world_add_sender(&w, "10.0.0.1");
    tick_reports(&w, 0);
    assert_int_equal(w.outcome.issues.n, 0);

    world_add_sender(&w, "fd00::1");
    tick_reports(&w, 0);
    assert_int_equal(w.outcome.issues.n, 1);
    assert_string_equal(w.outcome.issues.issues[0].type, "sender_family");
    assert_int_equal(w.outcome.issues.issues[0].severity, ISSUE_ERROR);
    assert_non_null(strstr(w.outcome.issues.issues[0].message, "IPv6"));

    /* Now each family loses half of it. */
    assert_true(addr_from_string("fd00::2", &w.sessions[0]->ip));
    tick_reports(&w, 0);
    assert_int_equal(w.outcome.issues.n, 2);
    assert_int_equal(w.outcome.issues.issues[0].severity, ISSUE_WARNING);
    assert_int_equal(w.outcome.issues.issues[1].severity, ISSUE_WARNING);
    world_destroy(&w);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_first_epoch),
        cmocka_unit_test(test_nothing_changes),
        cmocka_unit_test(test_further_epoch),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_no_boundary),
        cmocka_unit_test(test_boundary_behind),
        cmocka_unit_test(test_ready_on_register),
        cmocka_unit_test(test_never_reports),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_wall_clock),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_gone_unheard),
        cmocka_unit_test(test_unresolved),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_most_leave),
        cmocka_unit_test(test_last_leaves),
        cmocka_unit_test(test_half_silent),
        cmocka_unit_test(test_majority_silent),
        cmocka_unit_test(test_majority_silent_leave),
        cmocka_unit_test(test_majority_silent_control),
        cmocka_unit_test(test_majority_gone),
        cmocka_unit_test(test_all_gone),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_all_zero),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_static),
        cmocka_unit_test(test_shares_rest),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_factors_impossible),
        cmocka_unit_test(test_demands),
        cmocka_unit_test(test_explicit),
        cmocka_unit_test(test_sender_family),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
