/* SPDX-License-Identifier: Apache-2.0 */

/* The control loop in a world where everything happens: workers that come, go,
 * fall silent one by one or all at once, and lie about their clocks; senders
 * whose Sync is lost, runs backwards or jumps; evlbd restarts; reservations that
 * end and begin.  After each period, what must be true is checked.
 *
 *     SIM_SEEDS=N    so many lives (default 24)
 *     SIM_FIRST=N    from this seed on (default 1)
 *     SIM_STEPS=N    periods of each (default 2000) */

#include <inttypes.h>
#include <stdio.h>

#include "controller/core/boundary.h"
#include "controller/core/mem.h"
#include "tests/unit/control-check.h"
#include "tests/unit/unit.h"

#define MAX_WORKERS 60
#define MAX_SENDERS 6
#define LOOK_AHEAD 800
#define LEAD 300
#define KEPT 4

/* A worker as it sees itself. */
struct sim_worker {
    struct session *session;
    int64_t heard; /* When it registered or was heard at last, */
    bool reported; /* the latter, */
    bool ready;    /* and what it said. */
    bool found;    /* Its station. */
    int64_t mute;  /* Until when it reports nothing. */
};

struct sim_sender {
    int64_t began; /* When it was at tick 'offset'. */
    uint64_t offset;
    uint32_t told; /* Its rate, or 0 if it tells none. */
    int64_t next;  /* When its next Sync is due. */
    int64_t mute;  /* Until when its Sync is lost. */
};

/* What happened, for the reader to see that it did. */
struct sim_counts {
    uint64_t steps;
    uint64_t epochs;
    uint64_t replaced;
    uint64_t retired;
    uint64_t waited; /* Periods without a boundary for a change; */
    uint64_t frozen; /* with a silent majority; */
    uint64_t nobody; /* with nobody ready. */
    uint64_t quiet;  /* Periods in which nothing had changed. */
    uint64_t gone;
    uint64_t restarts;
    uint64_t reservations;
};

struct sim {
    struct world w;
    struct check check;
    uint64_t random;
    uint32_t period;
    unsigned int churn; /* How often things happen, per mille of periods. */
    bool honest;        /* Do all senders tell the truth? */
    bool control;       /* Do workers send control signals? */

    struct sim_worker workers[MAX_WORKERS];
    size_t n_workers;
    size_t most_workers;
    int64_t outage; /* Until when no report comes through at all. */

    struct predictor *predictor;
    struct sim_sender senders[MAX_SENDERS];
    size_t n_senders;
    uint32_t rate;

    struct check_worker standings[MAX_WORKERS];
    uint64_t signature; /* Of the standings in the last period. */
    bool changed;       /* Since an epoch began or had not to. */
    struct sim_counts counts;
};

/* Returns true 'n' times of a thousand. */
static bool
chance(struct sim *s, unsigned int n)
{
    return unit_random_below(&s->random, 1000) < n;
}

static unsigned int
below(struct sim *s, size_t n)
{
    return unit_random_below(&s->random, (unsigned int) n);
}

/* Returns a time from now on, of a few periods mostly and of many sometimes. */
static int64_t
some_time(struct sim *s)
{
    return s->w.now
           + (int64_t) s->period * (1 + below(s, chance(s, 800) ? 6 : 150));
}

/* Senders. */

static uint64_t
get_tick(const struct sim *s, const struct sim_sender *sender, int64_t at)
{
    int64_t ms = at > sender->began ? at - sender->began : 0;

    return sender->offset + (uint64_t) ms * s->rate / 1000;
}

/* Has all senders begin anew, within a tenth of a second. */
static void
begin_senders(struct sim *s)
{
    static const uint32_t rates[] = { 1, 100, 12345, 1000000, 4000000000 };
    bool clock = chance(s, 500);
    int64_t delay = chance(s, 500) ? s->period * (int64_t) below(s, 200) : 0;

    s->rate = rates[below(s, 5)];
    s->n_senders = 1 + below(s, MAX_SENDERS);
    for (size_t i = 0; i < s->n_senders; i++) {
        struct sim_sender *sender = &s->senders[i];

        *sender = (struct sim_sender){
            .began = s->w.now + below(s, 100),
            .offset = clock ? UINT64_C(1796088787763200) : 0,
            .told = chance(s, 700) ? s->rate : 0,
            .next = s->w.now + delay,
        };
    }
}

/* Has 'sender' do what no sender should. */
static void
misbehave(struct sim *s, struct sim_sender *sender)
{
    switch (below(s, 4)) {
    case 0: /* It begins anew. */
        sender->began = s->w.now;
        sender->offset = 0;
        break;
    case 1: /* It jumps. */
        sender->offset = unit_random(&s->random) >> below(s, 64);
        break;
    case 2: /* It goes back a little. */
        sender->began += 1 + below(s, 20000);
        break;
    case 3: /* It does not know its rate. */
        sender->told = (uint32_t) unit_random(&s->random);
        break;
    default:
        break;
    }
}

/* Delivers the Sync that came since the last period, or was lost. */
static void
run_sender(struct sim *s, uint32_t id, struct sim_sender *sender)
{
    if (chance(s, s->churn / 4)) {
        sender->mute = some_time(s);
    }
    if (!s->honest && chance(s, s->churn / 8)) {
        misbehave(s, sender);
    }
    if (sender->next < s->w.now - 10000) {
        sender->next = s->w.now - 10000 + below(s, 1000); /* Too old anyway. */
    }
    for (; sender->next <= s->w.now; sender->next += 1000) {
        if (sender->next > sender->mute && !chance(s, 20)) {
            predictor_add(s->predictor, id, get_tick(s, sender, sender->next),
                          sender->told, sender->next);
        }
    }
}

/* Checks that no sender that tells the truth has come to the boundary by the
 * time that switches know of it. */
static void
check_boundary(const struct sim *s)
{
    uint64_t boundary = s->w.outcome.boundary;

    for (size_t i = 0; s->honest && boundary && i < s->n_senders; i++) {
        assert_true(get_tick(s, &s->senders[i], s->w.now + LEAD) < boundary);
    }
}

/* Workers. */

static void
demand(struct sim *s, struct session *session)
{
    free(session->demands);
    session->demands = mem_alloc(sizeof *session->demands);
    session->n_demands = 1;
    session->demands[0] =
        (struct slot_range){ chance(s, 900) ? SLOT_RANGE_ANYWHERE
                                            : (int32_t) below(s, 512),
                             1 + below(s, 12) };
}

static void
join(struct sim *s)
{
    static const double weights[] = { 1, 1, 1, .5, 3, 1e-6, 1e6 };
    struct sim_worker *worker = &s->workers[s->n_workers];
    struct session *session = world_register(&s->w, weights[below(s, 7)]);

    s->n_workers++;
    *worker = (struct sim_worker){ .session = session, .heard = s->w.now };
    worker->found = chance(s, 800);
    worker->mute = chance(s, 100) ? some_time(s) : 0;
    session->report->admitted = worker->found;
    session->max_factor = chance(s, 200) ? 1 + below(s, 3) : 0;
    session->min_factor = chance(s, 200) ? below(s, 10) / 10. : 0;
    if (s->w.reservation.strategy != STRATEGY_DYNAMIC && chance(s, 400)) {
        demand(s, session);
    }
}

/* Forgets the worker at index 'i', whose session is gone. */
static void
forget(struct sim *s, size_t i)
{
    memmove(&s->workers[i], &s->workers[i + 1],
            (--s->n_workers - i) * sizeof s->workers[0]);
}

static void
leave(struct sim *s, size_t i)
{
    world_deregister(&s->w, s->workers[i].session);
    forget(s, i);
}

/* Reports what 'worker' has to tell, at some time since the last period. */
static void
report(struct sim *s, struct sim_worker *worker)
{
    int64_t now = s->w.now;
    int64_t at = now - below(s, s->period);
    double control = 0;

    worker->heard = at > worker->heard ? at : worker->heard;
    worker->ready = worker->reported ? worker->ready : true;
    if (chance(s, worker->ready ? s->churn / 16 : 100)) {
        worker->ready = !worker->ready;
    }
    worker->reported = true;
    if (s->control) {
        control = chance(s, 5) ? 1e30 : (double) below(s, 2000) - 1000;
        control = chance(s, 5) ? -1e30 : control;
        s->changed = true;
    }
    s->w.now = worker->heard;
    world_report(&s->w, worker->session, worker->ready, control);
    s->w.now = now;
    worker->session->report->wall = (int64_t) unit_random(&s->random);
    worker->session->report->fill = below(s, 100) / 100.;
}

static void
run_worker(struct sim *s, struct sim_worker *worker)
{
    if (!worker->found && chance(s, 300)) {
        worker->found = true;
        worker->session->report->admitted = true;
    }
    if (chance(s, s->churn / 8)) {
        worker->mute = some_time(s);
    }
    if (s->w.now > worker->mute && s->w.now > s->outage && !chance(s, 20)) {
        report(s, worker);
    }
}

static void
run_workers(struct sim *s)
{
    if (chance(s, s->churn / 16)) {
        s->outage = some_time(s);
    }
    if (chance(s, s->churn / 2) && s->n_workers < s->most_workers) {
        join(s);
    }
    if (chance(s, s->churn / 2) && s->n_workers) {
        leave(s, below(s, s->n_workers));
    }
    if (chance(s, s->churn / 32)) {
        while (s->n_workers && !chance(s, 100)) {
            leave(s, below(s, s->n_workers));
        }
    }
    for (size_t i = 0; i < s->n_workers; i++) {
        run_worker(s, &s->workers[i]);
    }
    if (s->w.reservation.strategy != STRATEGY_DYNAMIC && s->n_workers
        && chance(s, s->churn / 16)) {
        demand(s, s->workers[below(s, s->n_workers)].session);
        s->changed = true;
    }
}

/* The instance. */

/* Begins a reservation, after the end of the one before. */
static void
reserve(struct sim *s)
{
    static const enum strategy strategies[] = {
        STRATEGY_DYNAMIC, STRATEGY_DYNAMIC, STRATEGY_STATIC, STRATEGY_EXPLICIT
    };

    while (s->n_workers) {
        leave(s, 0);
    }
    s->w.reservation.entry.id++;
    s->w.reservation.strategy = strategies[below(s, 4)];
    s->control =
        s->w.reservation.strategy == STRATEGY_DYNAMIC && chance(s, 500);
    s->most_workers = 1 + below(s, chance(s, 700) ? 8 : MAX_WORKERS);
    s->outage = 0;
    world_begin_generation(&s->w);
    check_forget(&s->check);
    predictor_reset(s->predictor);
    begin_senders(s);
    s->changed = true;
    s->counts.reservations++;
}

/* evlbd ends and begins again: what was reported and heard is forgotten. */
static void
restart(struct sim *s)
{
    for (size_t i = 0; i < s->n_workers; i++) {
        struct sim_worker *worker = &s->workers[i];

        free(worker->session->report);
        worker->session->report = report_create(s->w.now);
        worker->heard = s->w.now;
        worker->reported = false;
        worker->ready = true;
        worker->found = false;
    }
    predictor_reset(s->predictor);
    s->w.packets = true; /* Nobody knows any more. */
    s->counts.restarts++;
}

/* Finds the boundary of a further epoch, as the engine does. */
static char *
choose_boundary(struct sim *s)
{
    static const struct boundary_settings settings = {
        "world", "udp:192.0.2.9:19531", LOOK_AHEAD, LEAD, true
    };
    const struct epoch *newest = epochs_newest(s->w.epochs);

    s->w.boundary = 0;
    return newest ? boundary_choose(&settings, s->predictor, newest, s->w.now,
                                    &s->w.boundary)
                  : NULL;
}

/* Takes out epochs that are over, as the engine does. */
static void
clean_up(struct sim *s)
{
    const struct epochs *epochs = s->w.epochs;
    struct prediction here;
    size_t i = 0;

    predictor_predict(s->predictor, s->w.now, 0, &here);
    while (here.known && epochs->n - i > KEPT
           && here.tick >= epochs->epochs[i + 1]->first
           && (double) (here.tick - epochs->epochs[i + 1]->first)
                  > here.rate * 10) {
        i++;
    }
    if (i) {
        world_retire(&s->w, epochs->epochs[i]->first);
        check_epochs(&s->check, &s->w);
        s->counts.retired += i;
    }
}

/* What is to be expected. */

static bool
is_named(const struct sim *s, uint16_t member)
{
    const struct epoch *newest = epochs_newest(s->w.epochs);

    for (size_t i = 0; newest && i < newest->calendar->n_shares; i++) {
        if (newest->calendar->shares[i].member == member) {
            return true;
        }
    }
    return false;
}

static enum check_standing
get_standing(const struct sim *s, const struct sim_worker *worker, bool named)
{
    const struct control_settings *settings = &s->w.settings;
    int64_t silence = s->w.now - worker->heard;
    bool ready = worker->reported ? worker->ready
                                  : named || settings->ready_on_register;

    if (silence > settings->gone) {
        return CHECK_GONE;
    }
    if (!ready || (!worker->found && !named)) {
        return CHECK_UNREADY;
    }
    return silence > settings->silent ? CHECK_SILENT : CHECK_READY;
}

/* Fills 's->standings', and notes whether they are other ones. */
static void
find_standings(struct sim *s)
{
    uint64_t signature = s->w.reservation.entry.id;

    for (size_t i = 0; i < s->n_workers; i++) {
        const struct sim_worker *worker = &s->workers[i];
        struct check_worker *c = &s->standings[i];

        c->session = worker->session;
        c->named = is_named(s, worker->session->member);
        c->pool = world_count(&s->w, worker->session) > 0;
        c->standing = get_standing(s, worker, c->named);
        signature = (signature * 4 + c->standing) * UINT64_C(1099511628211)
                    + worker->session->entry.id;
    }
    s->changed = s->changed || signature != s->signature;
    s->signature = signature;
}

static void
forget_gone(struct sim *s)
{
    for (size_t i = s->n_workers; i-- > 0;) {
        if (s->standings[i].standing == CHECK_GONE) {
            forget(s, i);
            s->counts.gone++;
        }
    }
}

/* Notes what the step made of it. */
static void
count(struct sim *s)
{
    const struct world *w = &s->w;
    bool waits = world_has_issue(w, "no_boundary", 0);
    bool frozen = world_has_issue(w, "majority_silent", 0);
    bool none = world_has_issue(w, "no_calendar", 0);

    s->counts.steps++;
    s->counts.quiet += !s->changed;
    s->counts.epochs += w->outcome.calendar != NULL;
    s->counts.replaced += w->outcome.replace;
    s->counts.waited += waits;
    s->counts.frozen += frozen;
    s->counts.nobody += world_has_issue(w, "no_workers", 0)
                        || world_has_issue(w, "last_worker", 0);
    s->changed = s->changed && (waits || frozen || none);
}

static void
run_period(struct sim *s)
{
    char *no_boundary;

    s->w.now += s->period + (chance(s, 2) ? below(s, 70 * s->period) : 0);
    for (size_t i = 0; i < s->n_senders; i++) {
        run_sender(s, (uint32_t) i, &s->senders[i]);
    }
    run_workers(s);
    s->w.packets = s->w.packets || (s->w.epochs->n && chance(s, 10));

    no_boundary = choose_boundary(s);
    s->w.no_boundary = no_boundary;
    find_standings(s);
    check_before(&s->check, &s->w, s->standings, s->n_workers, !s->changed);
    world_step(&s->w);
    check_after(&s->check, &s->w);
    check_boundary(s);
    if (s->w.outcome.calendar) {
        check_ticks(s->w.epochs, &s->random);
    }
    count(s);
    forget_gone(s);
    free(no_boundary);
    s->w.no_boundary = NULL;
}

static void
sim_init(struct sim *s, uint64_t seed)
{
    static const uint32_t periods[] = { 50, 200, 1000, 5000, 30000 };
    static const unsigned int churns[] = { 20, 100, 300 };
    static const struct predictor_settings settings = { LOOK_AHEAD, 5000 };

    *s = (struct sim){ .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
    world_init(&s->w);
    check_init(&s->check);
    s->predictor = predictor_create(&settings);
    s->period = periods[below(s, 5)];
    s->churn = churns[below(s, 3)];
    s->honest = chance(s, 500);
    s->w.settings.ready_on_register = chance(s, 500);
    s->w.settings.silent = 2 * s->period;
    s->w.settings.gone = 60 * s->period;
    reserve(s);
}

/* Lives for 'steps' periods. */
static void
sim_run(struct sim *s, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++) {
        run_period(s);
        if (chance(s, 200)) {
            clean_up(s);
        }
        if (below(s, 3000) == 0) {
            reserve(s);
        }
        if (below(s, 1000) == 0) {
            restart(s);
        }
    }
}

static void
sim_destroy(struct sim *s)
{
    predictor_destroy(s->predictor);
    check_destroy(&s->check);
    world_destroy(&s->w);
}

static void
add_counts(struct sim_counts *sum, const struct sim_counts *counts)
{
    const uint64_t *from = (const uint64_t *) counts;
    uint64_t *to = (uint64_t *) sum;

    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) {
        to[i] += from[i];
    }
}

static void
print_counts(const struct sim_counts *c, double hours)
{
    print_message(
        "%.1f hours, %" PRIu64 " periods: %" PRIu64 " epochs, %" PRIu64
        " replaced, %" PRIu64 " retired; %" PRIu64
        " periods waited for a boundary, "
        "%" PRIu64 " with a silent majority, %" PRIu64
        " with nobody ready, %" PRIu64 " without a change; %" PRIu64
        " workers gone, %" PRIu64 " restarts, %" PRIu64 " reservations\n",
        hours, c->steps, c->epochs, c->replaced, c->retired, c->waited,
        c->frozen, c->nobody, c->quiet, c->gone, c->restarts, c->reservations);
}

static uint64_t
get_number(const char *variable, uint64_t otherwise)
{
    const char *s = getenv(variable);

    return s ? strtoull(s, NULL, 10) : otherwise;
}

static void
test_lives(void **state)
{
    uint64_t n = get_number("SIM_SEEDS", 24);
    uint64_t first = get_number("SIM_FIRST", 1);
    uint64_t steps = get_number("SIM_STEPS", 2000);
    struct sim_counts sum = { 0 };
    double hours = 0;

    (void) state;
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct sim *s = mem_alloc(sizeof *s);
        int64_t began;

        sim_init(s, seed);
        print_message("seed %" PRIu64 ": periods of %" PRIu32 " ms, "
                      "churn %u, senders %s\n",
                      seed, s->period, s->churn,
                      s->honest ? "honest" : "not honest");
        began = s->w.now;
        sim_run(s, steps);
        hours += (double) (s->w.now - began) / 3.6e6;
        add_counts(&sum, &s->counts);
        sim_destroy(s);
        free(s);
    }
    print_counts(&sum, hours);
    assert_true(sum.epochs && sum.replaced && sum.retired && sum.waited
                && sum.frozen && sum.nobody && sum.quiet && sum.gone
                && sum.restarts);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
