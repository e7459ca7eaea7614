/* SPDX-License-Identifier: Apache-2.0 */

/* The control loop: in each period, reservations end, workers come and go, and
 * instances that are reserved get the epochs that follow from it.
 *
 * A period is a change like any other, so that its epochs are stored before
 * they are in service. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <event2/event.h>

#include <openvswitch/vlog.h>

#include "controller/api/now.h"
#include "controller/config.h"
#include "controller/core/boundary.h"
#include "controller/core/control.h"
#include "controller/core/mem.h"
#include "controller/counters.h"
#include "controller/target/ovs/server.h"

VLOG_DEFINE_THIS_MODULE(evlb_control);

/* What the loop knows about an instance. */
struct control_instance {
    uint16_t id;
    uint64_t generation; /* Of its epochs, that 'packets' is about. */
    uint64_t packets;    /* Counted before that generation began. */
    struct issues issues;
};

struct engine_control {
    struct event *timer;
    bool running;    /* Is a period under way? */
    int64_t started; /* Since when, in us. */

    /* The last period that changed rules, until switches hold them. */
    uint64_t version;    /* The engine's when the period began. */
    uint64_t installing; /* The engine's version then, or 0. */
    int64_t install_started;

    struct engine_periods periods;
    struct control_instance instances[INSTANCE_ID_MAX + 1];
};

/* One period of one instance. */
struct period {
    struct engine *engine;
    struct engine_draft *draft;
    const struct reservation *reservation;
    const struct session **sessions;
    size_t n_sessions;
    int64_t now;
};

static int64_t
now_us__(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static const struct instance *
get_instance__(const struct period *p)
{
    return state_find_instance(engine_draft_state(p->draft),
                               p->reservation->instance);
}

/* Packets. */

/* Returns true if 'c' counts packets that an epoch decided about. */
static bool
is_decided__(const struct counter *c)
{
    return c->scope == COUNTER_MEMBER || !strcmp(c->name, "lb_calendar_miss")
           || !strcmp(c->name, "mbr_info_miss");
}

/* Returns how many packets epochs of 'instance' decided about, as far as that
 * was counted. */
static uint64_t
count_packets__(const struct engine *engine, uint16_t instance)
{
    const struct counter **counters;
    uint64_t packets = 0;
    size_t n;

    counters = counters_get(engine->counters, &n);
    for (size_t i = 0; i < n; i++) {
        if (counters[i]->instance == instance && is_decided__(counters[i])) {
            packets += counters[i]->packets;
        }
    }
    free(counters);
    return packets;
}

/* Notes what was counted when the generations of the state began. */
void
engine_control_update__(struct engine *engine)
{
    for (size_t i = 0; i < engine->state->n_instances; i++) {
        const struct instance *instance = &engine->state->instances[i];
        struct control_instance *c = &engine->control->instances[instance->id];

        if (instance->reservable && c->generation != instance->generation) {
            c->generation = instance->generation;
            c->packets = count_packets__(engine, instance->id);
        }
    }
}

/* Stations. */

/* Returns true if a bridge knows how to get to 'ip' for 'instance'. */
static bool
is_known__(const struct engine *engine, const struct instance *instance,
           const struct in6_addr *ip)
{
    for (size_t i = 0; i < engine->n_bridges * instance->n_interfaces; i++) {
        const struct interface *iface =
            instance->interfaces[i % instance->n_interfaces];
        struct neighbour_key key = {
            .datapath_id =
                engine->bridges[i / instance->n_interfaces].datapath_id,
            .iface = iface->id
        };

        if (interface_next_hop(iface, ip, &key.ip)) {
            const struct neighbour *found =
                neighbours_find(&engine->neighbours, &key);

            if (found && found->known) {
                return true;
            }
        }
    }
    return false;
}

static void
admit__(const struct period *p, const struct instance *instance)
{
    for (size_t i = 0; i < p->n_sessions; i++) {
        const struct session *s = p->sessions[i];

        s->report->admitted = s->report->admitted
                              || !p->engine->state->neighbours.resolve
                              || is_known__(p->engine, instance, &s->ip);
    }
}

/* Members. */

static bool
has_session__(const struct period *p, uint16_t member)
{
    for (size_t i = 0; i < p->n_sessions; i++) {
        if (p->sessions[i]->member == member) {
            return true;
        }
    }
    return false;
}

/* Makes members of the sessions that are none yet. */
static void
add_members__(struct period *p)
{
    const struct instance *instance = get_instance__(p);

    for (size_t i = 0; i < p->n_sessions; i++) {
        const struct session *s = p->sessions[i];
        const struct member member = { .id = s->member,
                                       .ip = s->ip,
                                       .base = s->base,
                                       .bits = s->bits,
                                       .keep = s->keep,
                                       .egress = { .type = PORT_SEEN } };

        if (!instance_find_member(instance, s->member)) {
            overlay_add_member(engine_draft_change_overlay(p->draft),
                               instance->id, &member);
        }
    }
}

/* Removes the members of 'instance' that have no session any more, and that no
 * connected epoch names. */
static void
remove_members__(struct period *p, const struct instance *instance)
{
    for (size_t i = 0; i < instance->n_members; i++) {
        uint16_t id = instance->members[i].id;
        const struct epoch *epoch;

        if (!epochs_use_member(&instance->epochs, id, &epoch)
            && !has_session__(p, id)) {
            overlay_remove_member(engine_draft_change_overlay(p->draft),
                                  instance->id, id);
        }
    }
}

/* Epochs. */

/* Returns true if the only epoch of 'instance' may be replaced: if nothing was
 * counted, and no sender tells how far it is. */
static bool
is_untouched__(const struct period *p, const struct instance *instance,
               bool has_boundary)
{
    return instance->untouched && !has_boundary
           && count_packets__(p->engine, instance->id)
                  == p->engine->control->instances[instance->id].packets;
}

/* Connects the epoch that is the outcome. */
static void
connect__(struct period *p, const struct control_outcome *outcome)
{
    const struct instance *instance = get_instance__(p);
    uint16_t id = engine_next_epoch__(p->engine, instance);
    bool first = outcome->replace || !instance->epochs.n;
    struct overlay *overlay = engine_draft_change_overlay(p->draft);
    char *error;

    if (outcome->replace) {
        overlay_clear_epochs(overlay, instance->id);
    }
    overlay_set_untouched(overlay, instance->id, first);
    error = overlay_connect(overlay, instance->id, id, outcome->boundary, 0,
                            outcome->calendar);
    if (error) {
        VLOG_ERR("instance %s: %s", instance->name, error);
        free(error);
        return;
    }
    p->engine->control->periods.n_epochs++;
    VLOG_INFO("instance %s: epoch %" PRIu16 " from tick %" PRIu64 " on",
              instance->name, id, outcome->boundary);
}

static void
remove_sessions__(struct period *p, const struct control_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_gone; i++) {
        const struct session *s =
            book_find_session(engine_draft_book(p->draft), outcome->gone[i]);

        VLOG_WARN("worker \"%s\" (session %" PRIu64 ") of reservation %" PRIu64
                  " was silent for too long and is removed",
                  s->name, s->entry.id, p->reservation->entry.id);
        book_remove_session(engine_draft_change_book(p->draft),
                            outcome->gone[i]);
    }
}

/* Does what 'outcome' says. */
static void
carry_out__(struct period *p, struct control_outcome *outcome)
{
    uint16_t instance = p->reservation->instance;

    if (outcome->calendar) {
        connect__(p, outcome);
    }
    remove_sessions__(p, outcome);
    engine_store_add_issues__(p->engine, &outcome->issues);
    issues_replace(&p->engine->control->instances[instance].issues,
                   &outcome->issues, now_wall_ms());
}

static uint64_t
get_seed__(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        abort();
    }
    return seed;
}

/* Stores in 'inputs' where the next epoch of 'instance' may begin, and returns
 * the reason if that is nowhere, which the caller must free. */
static char *
choose__(struct period *p, const struct instance *instance,
         struct control_inputs *inputs)
{
    const char *absent = engine_find_absent__(p->engine, instance);
    char *no_boundary;

    if (absent) {
        no_boundary =
            mem_printf("instance %s: switch %s, which carries it, is not "
                       "connected or has not taken the newest epoch, and "
                       "goes on by those that it has; take it out of the "
                       "configuration if it is gone for good",
                       instance->name, absent);
    } else {
        no_boundary =
            engine_choose_boundary__(p->engine, instance, &inputs->boundary);
        inputs->untouched = is_untouched__(p, instance, !no_boundary);
        if (instance->untouched && !inputs->untouched) {
            overlay_set_untouched(engine_draft_change_overlay(p->draft),
                                  instance->id, false);
        }
    }
    inputs->no_boundary = no_boundary;
    return no_boundary;
}

/* Adds an issue if there are senders whose Sync is left out. */
static void
warn_quarantine__(const struct period *p, struct issues *issues)
{
    struct engine_timing timing;
    char *quarantine;

    engine_get_timing(p->engine, get_instance__(p), &timing);
    quarantine = boundary_describe_quarantine(&timing.now);
    if (quarantine) {
        issues_add(issues, "sync_quarantine", ISSUE_WARNING, 0, "%s: %s",
                   quarantine,
                   timing.now.known ? "what they tell is left out"
                                    : "nobody knows how far the ticks are");
        free(quarantine);
    }
}

/* Decides about the instance of 'p'. */
static void
run__(struct period *p)
{
    const struct engine *engine = p->engine;
    const struct reservation_settings *s = &engine->state->reservations;
    const struct control_settings settings = { s->ready_on_register, s->silent,
                                               s->gone };
    const struct instance *instance;
    struct control_outcome outcome;
    struct control_inputs inputs = { .settings = &settings,
                                     .now = p->now,
                                     .seed = get_seed__(),
                                     .reservation = p->reservation,
                                     .sessions = p->sessions,
                                     .n_sessions = p->n_sessions };
    char *no_boundary;

    add_members__(p);
    instance = get_instance__(p);
    remove_members__(p, instance);
    instance = get_instance__(p);
    admit__(p, instance);
    no_boundary = choose__(p, instance, &inputs);
    inputs.epochs = &get_instance__(p)->epochs;
    control_step(&inputs, &outcome);
    engine_history_set_seed__(p->engine, p->reservation->instance,
                              inputs.seed);
    warn_quarantine__(p, &outcome.issues);
    carry_out__(p, &outcome);
    control_outcome_destroy(&outcome);
    free(no_boundary);
}

/* Ends the reservation 'id' of 'instance', for its time is over. */
static void
expire__(struct engine_draft *draft, const struct reservation *r)
{
    VLOG_INFO("reservation %" PRIu64 " (\"%s\") of instance %" PRIu16
              " has expired",
              r->entry.id, r->name, r->instance);
    engine_draft_free(draft, r);
}

static void
run_reservation__(struct engine *engine, struct engine_draft *draft,
                  uint64_t id)
{
    const struct reservation *r =
        book_find_reservation(engine_draft_book(draft), id);
    struct period p = { engine, draft, r, NULL, 0, now_ms() };

    if (now_wall_ms() >= r->expires) {
        expire__(draft, r);
        return;
    }
    p.sessions =
        book_find_sessions(engine_draft_book(draft), id, &p.n_sessions);
    run__(&p);
    free(p.sessions);
}

static char *
plan_cb__(void *engine_, struct engine_draft *draft)
{
    struct engine *engine = engine_;
    const struct book *book = engine_draft_book(draft);
    size_t n = book->reservations.n;
    uint64_t *ids = mem_alloc(n * sizeof *ids);

    for (size_t i = 0; i < n; i++) {
        ids[i] = book->reservations.entries[i]->id;
    }
    for (size_t i = 0; i < n; i++) {
        run_reservation__(engine, draft, ids[i]);
    }
    free(ids);
    return NULL;
}

static void
done_cb__(void *engine_, enum engine_outcome outcome, const char *error)
{
    struct engine *engine = engine_;
    struct engine_control *control = engine->control;
    int64_t us = now_us__() - control->started;

    control->running = false;
    if (engine->version != control->version) {
        control->installing = engine->version;
        control->install_started = control->started;
    }
    control->periods.n++;
    control->periods.last_us = us;
    control->periods.total_us += us;
    histogram_add(&control->periods.durations, (double) us / 1e6);
    if (us > control->periods.longest_us) {
        control->periods.longest_us = us;
    }
    if (outcome == ENGINE_DONE) {
        engine_history_record__(engine);
    } else {
        control->periods.n_failed++;
        VLOG_ERR("a period of the control loop changes nothing: %s", error);
    }
}

static void
timer_cb__(evutil_socket_t fd, short events, void *engine_)
{
    struct engine *engine = engine_;
    struct engine_control *control = engine->control;

    (void) fd;
    (void) events;
    if (control->running) {
        control->periods.n_missed++;
        return;
    }
    control->running = true;
    control->started = now_us__();
    control->version = engine->version;
    engine_change(engine, plan_cb__, done_cb__, engine);
}

/* A switch has taken a change. */
void
engine_control_committed__(struct engine *engine)
{
    struct engine_control *control = engine->control;

    for (size_t i = 0; i < engine->n_bridges; i++) {
        const struct engine_bridge *b = &engine->bridges[i];

        if (b->committed < control->installing
            && ovs_server_is_connected(engine->server, b->datapath_id)) {
            return;
        }
    }
    if (control->installing) {
        histogram_add(&control->periods.installs,
                      (double) (now_us__() - control->install_started) / 1e6);
        control->installing = 0;
    }
}

/* Begins periods, of the length that the configuration says. */
void
engine_control_start__(struct engine *engine)
{
    uint32_t ms = engine->state->reservations.period;
    const struct timeval period = { ms / 1000, ms % 1000 * 1000 };

    event_add(engine->control->timer, &period);
}

void
engine_control_init__(struct engine *engine)
{
    engine->control = mem_zalloc(sizeof *engine->control);
    engine->control->timer =
        event_new(engine->base, -1, EV_PERSIST, timer_cb__, engine);
}

void
engine_control_destroy__(struct engine *engine)
{
    for (size_t i = 0; i <= INSTANCE_ID_MAX; i++) {
        issues_destroy(&engine->control->instances[i].issues);
    }
    event_free(engine->control->timer);
    free(engine->control);
}

const struct issues *
engine_get_issues(const struct engine *engine, uint16_t instance)
{
    return &engine->control->instances[instance].issues;
}

/* Returns how long periods took. */
const struct engine_periods *
engine_get_periods(const struct engine *engine)
{
    return &engine->control->periods;
}
