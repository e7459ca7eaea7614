/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/control-world.h"

#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "tests/unit/unit.h"

/* Makes the configuration: one instance, of both families. */
static void
make_config__(struct state *config)
{
    struct instance *instance = mem_zalloc(sizeof *instance);

    state_init(config);
    config->instances = instance;
    config->n_instances = 1;
    epochs_init(&instance->epochs);
    instance->name = mem_strdup("world");
    instance->id = WORLD_INSTANCE;
    instance->reservable = true;
    instance->addresses = mem_zalloc(2 * sizeof *instance->addresses);
    instance->n_addresses = 2;
    assert_true(addr_from_string("192.0.2.1", &instance->addresses[0]));
    assert_true(addr_from_string("2001:db8::1", &instance->addresses[1]));
}

/* Puts the overlay in service, if it changed. */
static void
serve__(struct world *w)
{
    const struct overlay_instance *o =
        overlay_find(w->overlay, WORLD_INSTANCE);
    struct state *state;
    int line;

    if (w->state && (!o || !o->changed)) {
        return;
    }
    unit_assert_error(overlay_apply(w->overlay, &w->config, &state, &line),
                      NULL);
    if (w->state) {
        unit_assert_error(state_check_successor(w->state, state, &line), NULL);
        state_destroy(w->state);
        free(w->state);
    }
    w->state = state;
    w->epochs = &state->instances[0].epochs;
    overlay_forget_changes(w->overlay);
}

/* Initializes 'w' as a reservation without workers, with the defaults of the
 * configuration. */
void
world_init(struct world *w)
{
    *w = (struct world){ .settings = { true, 2000, 60000 }, .now = 1000000 };
    w->reservation.entry.id = 7;
    make_config__(&w->config);
    w->overlay = overlay_create();
    serve__(w);
    world_begin_generation(w);
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
    overlay_destroy(w->overlay);
    state_destroy(&w->config);
    state_destroy(w->state);
    free(w->state);
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

/* Takes out the epochs that begin before the tick 'oldest'. */
void
world_retire(struct world *w, uint64_t oldest)
{
    overlay_retire(w->overlay, WORLD_INSTANCE, oldest);
    serve__(w);
}

/* Forgets the epochs, for ticks begin anew. */
void
world_begin_generation(struct world *w)
{
    overlay_begin_generation(w->overlay, WORLD_INSTANCE);
    w->packets = false;
    serve__(w);
}

static bool
has_session__(const struct world *w, uint16_t member)
{
    for (size_t i = 0; i < w->n_sessions; i++) {
        if (w->sessions[i]->member == member) {
            return true;
        }
    }
    return false;
}

/* Makes members of new workers, and removes those that have none and that no
 * epoch names. */
static void
update_members__(struct world *w)
{
    const struct instance *instance = &w->state->instances[0];

    for (size_t i = 0; i < w->n_sessions; i++) {
        const struct session *s = w->sessions[i];
        const struct member member = { .id = s->member,
                                       .ip = s->ip,
                                       .base = s->base,
                                       .egress = { .type = PORT_SEEN } };

        if (!instance_find_member(instance, s->member)) {
            overlay_add_member(w->overlay, WORLD_INSTANCE, &member);
        }
    }
    for (size_t i = 0; i < instance->n_members; i++) {
        uint16_t id = instance->members[i].id;
        const struct epoch *epoch;

        if (!has_session__(w, id)
            && !epochs_use_member(&instance->epochs, id, &epoch)) {
            overlay_remove_member(w->overlay, WORLD_INSTANCE, id);
        }
    }
    serve__(w);
}

/* Connects what the last step decided. */
static void
connect__(struct world *w)
{
    uint16_t id = w->state->instances[0].last_epoch;
    bool first = w->outcome.replace || !w->epochs->n;

    do {
        id++;
    } while (epochs_find_id(w->epochs, id));
    if (w->outcome.replace) {
        assert_int_equal(w->epochs->n, 1);
        overlay_clear_epochs(w->overlay, WORLD_INSTANCE);
    }
    overlay_set_untouched(w->overlay, WORLD_INSTANCE, first);
    unit_assert_error(overlay_connect(w->overlay, WORLD_INSTANCE, id,
                                      w->outcome.boundary, 0,
                                      w->outcome.calendar),
                      NULL);
    serve__(w);
}

/* Removes workers that are gone. */
static void
remove_gone__(struct world *w)
{
    for (size_t i = 0; i < w->outcome.n_gone; i++) {
        size_t j = 0;

        while (w->sessions[j]->entry.id != w->outcome.gone[i]) {
            assert_true(++j < w->n_sessions);
        }
        world_deregister(w, w->sessions[j]);
    }
}

/* Runs one period. */
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
        .no_boundary = w->no_boundary,
        .boundary = w->boundary
    };

    update_members__(w);
    in.epochs = w->epochs;
    in.untouched =
        w->state->instances[0].untouched && w->no_boundary && !w->packets;
    if (!in.untouched && w->state->instances[0].untouched) {
        overlay_set_untouched(w->overlay, WORLD_INSTANCE, false);
        serve__(w);
        in.epochs = w->epochs;
    }
    if (w->stepped) {
        control_outcome_destroy(&w->outcome);
    }
    control_step(&in, &w->outcome);
    w->stepped = true;
    if (w->outcome.calendar) {
        connect__(w);
    }
    remove_gone__(w);
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
    const struct epoch *newest = epochs_newest(w->epochs);

    return newest ? calendar_count(newest->calendar, s->member) : 0;
}
