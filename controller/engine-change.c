/* SPDX-License-Identifier: Apache-2.0 */

/* Changes of what is in service: planned, stored, and put in service, several
 * of them at once. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include <event2/event.h>

#include <openvswitch/vlog.h>

#include "controller/api/now.h"
#include "controller/config.h"
#include "controller/core/mem.h"

VLOG_DEFINE_THIS_MODULE(evlb_batch);

/* If storing takes longer, boundaries may have come too near meanwhile. */
#define SLACK_MS 100

struct change {
    struct ovs_list node;
    engine_plan_cb *plan;
    engine_changed_cb *done;
    void *aux;
    bool alone; /* Is it to be a batch of its own? */
};

/* Drafts. */

/* Makes 'state' what follows from 'draft'. */
static void
set_state__(struct engine_draft *draft, struct state *state)
{
    engine_state_free__(draft->state);
    draft->state = state;
    draft->stale = false;
}

/* Returns the state that follows from 'draft'. */
const struct state *
engine_draft_state(struct engine_draft *draft)
{
    if (draft->stale) {
        struct state *state;
        int line;
        char *error = overlay_apply(
            draft->overlay, &draft->engine->config->state, &state, &line);

        if (!error) {
            set_state__(draft, state);
        }
        free(error); /* The check of the whole batch finds it again. */
    }
    return draft->state ? draft->state : draft->engine->state;
}

const struct book *
engine_draft_book(const struct engine_draft *draft)
{
    return draft->book ? draft->book : draft->engine->book;
}

struct book *
engine_draft_change_book(struct engine_draft *draft)
{
    if (!draft->book) {
        draft->book = book_clone(draft->engine->book);
    }
    return draft->book;
}

const struct overlay *
engine_draft_overlay(const struct engine_draft *draft)
{
    return draft->overlay ? draft->overlay : draft->engine->overlay;
}

struct overlay *
engine_draft_change_overlay(struct engine_draft *draft)
{
    if (!draft->overlay) {
        draft->overlay = overlay_clone(draft->engine->overlay);
        overlay_forget_changes(draft->overlay);
    }
    draft->stale = true;
    return draft->overlay;
}

void
engine_draft_free(struct engine_draft *draft, const struct reservation *r)
{
    uint16_t instance = r->instance;

    book_remove_reservation(engine_draft_change_book(draft), r->entry.id);
    overlay_begin_generation(engine_draft_change_overlay(draft), instance);
    overlay_clear_members(draft->overlay, instance);
    overlay_clear_sources(draft->overlay, instance);
}

/* Has 'draft' change another configuration: 'overlay' and 'state' take the
 * place of its own. */
void
engine_draft_rebase__(struct engine_draft *draft, struct overlay *overlay,
                      struct state *state)
{
    overlay_destroy(draft->overlay);
    draft->overlay = overlay;
    set_state__(draft, state);
}

static void
draft_destroy__(struct engine_draft *draft)
{
    book_destroy(draft->book);
    overlay_destroy(draft->overlay);
    engine_state_free__(draft->state);
}

/* Batches. */

static struct change *
first__(struct ovs_list *changes)
{
    return CONTAINER_OF(ovs_list_front(changes), struct change, node);
}

static void
finish__(struct change *change, enum engine_outcome outcome, const char *error)
{
    ovs_list_remove(&change->node);
    change->done(change->aux, outcome, error);
    free(change);
}

/* Ends 'batch' and all changes in it. */
static void
batch_finish__(struct engine_batch *batch, enum engine_outcome outcome,
               const char *error)
{
    while (!ovs_list_is_empty(&batch->changes)) {
        finish__(first__(&batch->changes), outcome, error);
    }
    draft_destroy__(&batch->draft);
    free(batch);
}

/* Gives the changes of 'batch' back, to be tried one by one. */
static void
batch_give_back__(struct engine *engine, struct engine_batch *batch)
{
    struct change *change;

    LIST_FOR_EACH (change, node, &batch->changes) {
        change->alone = true;
    }
    ovs_list_splice(engine->changes.next, batch->changes.next,
                    &batch->changes);
    batch_finish__(batch, ENGINE_DONE, NULL);
}

/* Takes changes that are waiting, and plans them. */
static struct engine_batch *
batch_create__(struct engine *engine)
{
    struct engine_batch *batch = mem_zalloc(sizeof *batch);
    bool alone = first__(&engine->changes)->alone;

    ovs_list_init(&batch->changes);
    batch->draft.engine = engine;
    batch->planned = now_ms();
    do {
        struct change *change = first__(&engine->changes);
        char *error;

        ovs_list_remove(&change->node);
        ovs_list_push_back(&batch->changes, &change->node);
        error = change->plan(change->aux, &batch->draft);
        if (error) {
            finish__(change, ENGINE_REFUSED, error);
            free(error);
        }
    } while (!alone && !ovs_list_is_empty(&engine->changes)
             && !first__(&engine->changes)->alone);
    return batch;
}

/* Checks what 'batch' makes.  Returns NULL, or the reason why it cannot be in
 * service, which the caller must free. */
static char *
batch_check__(struct engine *engine, struct engine_batch *batch)
{
    struct engine_draft *draft = &batch->draft;
    struct state *state;
    char *error;

    if (!draft->overlay) {
        return NULL;
    }
    error = engine_check__(engine, draft->overlay, &state);
    if (!error) {
        set_state__(draft, state);
    }
    return error;
}

/* Puts what 'batch' changes in service. */
static void
batch_serve__(struct engine *engine, struct engine_batch *batch)
{
    struct engine_draft *draft = &batch->draft;

    if (draft->book) {
        book_destroy(engine->book);
        engine->book = draft->book;
        draft->book = NULL;
    }
    if (draft->overlay) {
        engine_serve__(engine, draft->overlay, draft->state);
        draft->overlay = NULL;
        draft->state = NULL;
    }
    batch_finish__(batch, ENGINE_DONE, NULL);
}

static void
stored_cb__(void *batch_, const char *error)
{
    struct engine_batch *batch = batch_;
    struct engine *engine = batch->draft.engine;
    char *late = NULL;

    engine->batch = NULL;
    if (!error && !engine->ending && batch->draft.state
        && now_ms() - batch->planned > SLACK_MS) {
        late = engine_check_late__(engine, batch->draft.state);
    }
    if (late) {
        VLOG_WARN("storing took %" PRId64 " ms: %s", now_ms() - batch->planned,
                  late);
        engine_store_undo__(engine, &batch->draft);
        error = late;
    }
    if (error) {
        batch_finish__(batch, ENGINE_NOT_STORED, error);
    } else {
        batch_serve__(engine, batch);
    }
    free(late);
    engine_changes_wake__(engine);
}

/* Carries out 'batch' as far as possible now. */
static void
batch_run__(struct engine *engine, struct engine_batch *batch)
{
    char *error = batch_check__(engine, batch);

    if (error && !ovs_list_is_short(&batch->changes)) {
        batch_give_back__(engine, batch);
    } else if (error) {
        batch_finish__(batch, ENGINE_REFUSED, error);
    } else if (engine->store && (batch->draft.book || batch->draft.overlay)) {
        engine->batch = batch;
        engine_store_draft__(engine, &batch->draft, stored_cb__, batch);
    } else {
        batch_serve__(engine, batch);
    }
    free(error);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *engine_)
{
    struct engine *engine = engine_;

    (void) fd;
    (void) events;
    while (!engine->batch && !ovs_list_is_empty(&engine->changes)) {
        batch_run__(engine, batch_create__(engine));
    }
}

/* Has changes looked at, soon. */
void
engine_changes_wake__(struct engine *engine)
{
    if (!ovs_list_is_empty(&engine->changes)) {
        event_active(engine->change_timer, EV_TIMEOUT, 0);
    }
}

void
engine_changes_init__(struct engine *engine)
{
    ovs_list_init(&engine->changes);
    engine->change_timer = evtimer_new(engine->base, timer_cb__, engine);
}

/* Ends the changes that are not done with an error. */
void
engine_changes_destroy__(struct engine *engine)
{
    if (engine->batch) {
        batch_finish__(engine->batch, ENGINE_NOT_STORED, "evlbd is ending");
    }
    while (!ovs_list_is_empty(&engine->changes)) {
        finish__(first__(&engine->changes), ENGINE_NOT_STORED,
                 "evlbd is ending");
    }
    event_free(engine->change_timer);
}

/* Has 'plan' change what is in service: see engine.h. */
void
engine_change(struct engine *engine, engine_plan_cb *plan,
              engine_changed_cb *done, void *aux)
{
    struct change *change = mem_zalloc(sizeof *change);

    change->plan = plan;
    change->done = done;
    change->aux = aux;
    ovs_list_push_back(&engine->changes, &change->node);
    engine_changes_wake__(engine);
}
