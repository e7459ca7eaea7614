/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's operations, from the request to the call back. */

#include "controller/engine-private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include <openvswitch/vlog.h>

#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/server.h"

VLOG_DEFINE_THIS_MODULE(evlb_operation);

/* How often to look whether a switch that is waited for went away. */
#define POLL_MS 100

/* Adds a sentence to the notes of 'op''s result. */
void
operation_note__(struct operation *op, const char *format, ...)
{
    char *note, *notes;
    va_list args;

    va_start(args, format);
    if (vasprintf(&note, format, args) < 0) {
        abort();
    }
    va_end(args);
    notes =
        op->notes ? mem_printf("%s %s", op->notes, note) : mem_strdup(note);
    free(op->notes);
    free(note);
    op->notes = notes;
}

/* Reports 'op', with 'error', which is freed, or NULL; then it is gone. */
static void
operation_finish__(struct operation *op, char *error)
{
    const struct engine_result *result = NULL;

    ovs_list_remove(&op->node);
    overlay_destroy(op->overlay);
    engine_state_free__(op->state);
    if (!error || op->phase == OPERATION_COMMITTING) {
        op->result.notes = op->notes ? op->notes : "";
        result = &op->result;
    }
    if (op->done) {
        op->done(op->aux, error, result);
    } else if (error) {
        VLOG_WARN("instance %s: epochs that are over stay: %s", op->instance,
                  error);
    }
    free(error);
    free(op->notes);
    free(op->instance);
    free(op->shares);
    free(op);
}

/* Puts what 'op' changes in service. */
static void
operation_serve__(struct engine *engine, struct operation *op)
{
    op->phase = OPERATION_COMMITTING;
    op->deadline = now_ms() + ENGINE_COMMIT_MS;
    engine_serve__(engine, op->overlay, op->state);
    op->overlay = NULL;
    op->state = NULL;
    op->version = engine->version;
}

static void
stored_cb__(void *op_, const char *error)
{
    struct operation *op = op_;
    struct engine *engine = op->engine;

    engine->storing = NULL;
    if (error) {
        operation_finish__(op, mem_printf("nothing is changed, for it could "
                                          "not be stored: %s",
                                          error));
    } else {
        operation_serve__(engine, op);
    }
    engine_operations_wake__(engine);
}

/* Plans 'op', and has what it changes stored, or puts it in service. */
static char *
operation_start__(struct engine *engine, struct operation *op)
{
    char *error;

    op->overlay = overlay_clone(engine->overlay);
    error = operation_plan__(engine, op, op->overlay);
    if (!error) {
        error = engine_check__(engine, op->overlay, &op->state);
    }
    if (error) {
        return error;
    }
    if (engine->store) {
        const struct instance *instance =
            state_find_instance_by_name(op->state, op->instance);

        op->phase = OPERATION_STORING;
        engine->storing = op;
        engine_store_put__(engine, op->overlay, instance->id, stored_cb__, op);
    } else {
        operation_note__(op, "A restart of evlbd forgets this, because no "
                             "\"state_file\" is set.");
        operation_serve__(engine, op);
    }
    return NULL;
}

/* Returns the names of the connected switches that have not committed what 'op'
 * is about, or NULL if all have.  The caller must free it. */
static char *
find_missing__(const struct engine *engine, const struct operation *op)
{
    char *missing = NULL;

    for (size_t i = 0; i < engine->n_bridges; i++) {
        const struct engine_bridge *b = &engine->bridges[i];

        if (b->committed < op->version
            && ovs_server_is_connected(engine->server, b->datapath_id)) {
            char *old = missing;
            const char *name = engine->state->bridges[i].name;

            missing = old ? mem_printf("%s, %s", old, name) : mem_strdup(name);
            free(old);
        }
    }
    return missing;
}

static void
note_disconnected__(const struct engine *engine, struct operation *op)
{
    for (size_t i = 0; i < engine->n_bridges; i++) {
        const struct engine_bridge *b = &engine->bridges[i];

        if (b->committed < op->version) {
            operation_note__(op,
                             "Switch %s is not connected and will be given "
                             "the change when it is.",
                             engine->state->bridges[i].name);
        }
    }
}

/* Returns true if 'op' is still waiting for switches. */
static bool
operation_wait__(struct engine *engine, struct operation *op)
{
    char *missing = find_missing__(engine, op);

    if (!missing) {
        note_disconnected__(engine, op);
        operation_finish__(op, NULL);
        return false;
    }
    if (now_ms() >= op->deadline) {
        operation_finish__(op, mem_printf("the change is in service, but not "
                                          "committed after %d s by: %s (the "
                                          "log says why; it is tried again)",
                                          ENGINE_COMMIT_MS / 1000, missing));
        free(missing);
        return false;
    }
    free(missing);
    return true;
}

/* Takes 'op' a step on.  Returns true if it waits for something. */
static bool
operation_run__(struct engine *engine, struct operation *op)
{
    switch (op->phase) {
    case OPERATION_QUEUED: {
        char *error = operation_start__(engine, op);

        if (error) {
            operation_finish__(op, error);
            return false;
        }
        return op->phase == OPERATION_STORING || operation_wait__(engine, op);
    }
    case OPERATION_STORING:
        return true;
    case OPERATION_COMMITTING:
        return operation_wait__(engine, op);
    }
    abort();
}

static void
timer_cb__(evutil_socket_t fd, short events, void *engine_)
{
    static const struct timeval poll = { 0, POLL_MS * 1000 };
    struct engine *engine = engine_;
    bool waiting = false;

    (void) fd;
    (void) events;
    while (!waiting && !ovs_list_is_empty(&engine->operations)) {
        waiting = operation_run__(
            engine, CONTAINER_OF(ovs_list_front(&engine->operations),
                                 struct operation, node));
    }
    if (waiting) {
        event_add(engine->timer, &poll);
    }
}

/* Has operations looked at, soon. */
void
engine_operations_wake__(struct engine *engine)
{
    if (!ovs_list_is_empty(&engine->operations)) {
        event_active(engine->timer, EV_TIMEOUT, 0);
    }
}

void
engine_operations_init__(struct engine *engine)
{
    ovs_list_init(&engine->operations);
    engine->timer = evtimer_new(engine->base, timer_cb__, engine);
}

void
engine_operations_destroy__(struct engine *engine)
{
    struct operation *op;

    LIST_FOR_EACH_SAFE (op, node, &engine->operations) {
        operation_finish__(op, mem_strdup("evlbd is ending"));
    }
    event_free(engine->timer);
}

/* Requests. */

static struct operation *
operation_create__(struct engine *engine, enum operation_type type,
                   const char *instance, engine_done_cb *done, void *aux)
{
    struct operation *op = mem_zalloc(sizeof *op);

    op->engine = engine;
    op->type = type;
    op->phase = OPERATION_QUEUED;
    op->instance = mem_strdup(instance);
    op->done = done;
    op->aux = aux;
    ovs_list_push_back(&engine->operations, &op->node);
    engine_operations_wake__(engine);
    return op;
}

/* Connects an epoch with the shares of 'request' behind the newest one. */
void
engine_set_epoch(struct engine *engine,
                 const struct engine_epoch_request *request,
                 engine_done_cb *done, void *aux)
{
    struct operation *op = operation_create__(engine, OPERATION_SET_EPOCH,
                                              request->instance, done, aux);

    op->boundary = request->boundary;
    op->shares =
        mem_dup(request->shares, request->n_shares * sizeof *op->shares);
    op->n_shares = request->n_shares;
}

/* Connects an epoch with the shares of the newest one, without 'member'. */
void
engine_drain(struct engine *engine, const char *instance, uint16_t member,
             const struct engine_boundary *boundary, engine_done_cb *done,
             void *aux)
{
    struct operation *op =
        operation_create__(engine, OPERATION_DRAIN, instance, done, aux);

    op->member.id = member;
    op->boundary = *boundary;
}

/* Adds 'member' to 'instance'.  It receives events once an epoch names it. */
void
engine_add_member(struct engine *engine, const char *instance,
                  const struct member *member, engine_done_cb *done, void *aux)
{
    struct operation *op =
        operation_create__(engine, OPERATION_ADD_MEMBER, instance, done, aux);

    op->member = *member;
}

/* Removes 'member' from 'instance', if no connected epoch names it. */
void
engine_remove_member(struct engine *engine, const char *instance,
                     uint16_t member, engine_done_cb *done, void *aux)
{
    struct operation *op = operation_create__(engine, OPERATION_REMOVE_MEMBER,
                                              instance, done, aux);

    op->member.id = member;
}

/* Takes out the epochs of 'instance' that are over, unless that is under way. */
void
engine_clean_up__(struct engine *engine, const char *instance)
{
    struct operation *op;

    LIST_FOR_EACH (op, node, &engine->operations) {
        if (op->type == OPERATION_CLEAN_UP
            && !strcmp(op->instance, instance)) {
            return;
        }
    }
    operation_create__(engine, OPERATION_CLEAN_UP, instance, NULL, NULL);
}
