/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's operations: changes, and whether switches have taken them. */

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

/* Reports 'op', with 'error', which is freed, or NULL; then it is gone.  It is
 * 'served' if it is in service nevertheless. */
static void
operation_finish__(struct operation *op, bool served, char *error)
{
    const struct engine_result *result = NULL;

    ovs_list_remove(&op->node);
    if (!error || served) {
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

/* Ends 'op' if there is nothing more to wait for. */
static void
operation_run__(struct engine *engine, struct operation *op)
{
    char *missing = find_missing__(engine, op);

    if (!missing) {
        note_disconnected__(engine, op);
        operation_finish__(op, true, NULL);
    } else if (now_ms() >= op->deadline) {
        operation_finish__(
            op, true,
            mem_printf("the change is in service, but not committed after %d "
                       "s by: %s (the log says why; it is tried again)",
                       ENGINE_COMMIT_MS / 1000, missing));
    }
    free(missing);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *engine_)
{
    static const struct timeval poll = { 0, POLL_MS * 1000 };
    struct engine *engine = engine_;
    struct operation *op;

    (void) fd;
    (void) events;
    LIST_FOR_EACH_SAFE (op, node, &engine->committing) {
        operation_run__(engine, op);
    }
    if (!ovs_list_is_empty(&engine->committing)) {
        event_add(engine->timer, &poll);
    }
}

/* Has the operations looked at that wait for switches, soon. */
void
engine_operations_wake__(struct engine *engine)
{
    if (!ovs_list_is_empty(&engine->committing)) {
        event_active(engine->timer, EV_TIMEOUT, 0);
    }
}

void
engine_operations_init__(struct engine *engine)
{
    ovs_list_init(&engine->operations);
    ovs_list_init(&engine->committing);
    engine->timer = evtimer_new(engine->base, timer_cb__, engine);
}

/* Ends the operations that wait for switches with an error; there are no
 * others any more. */
void
engine_operations_destroy__(struct engine *engine)
{
    struct operation *op;

    LIST_FOR_EACH_SAFE (op, node, &engine->committing) {
        operation_finish__(op, true, mem_strdup("evlbd is ending"));
    }
    event_free(engine->timer);
}

/* Requests. */

static char *
plan_cb__(void *op_, struct engine_draft *draft)
{
    struct operation *op = op_;

    free(op->notes);
    op->notes = NULL;
    if (!op->engine->store) {
        operation_note__(op, "A restart of evlbd forgets this, because no "
                             "\"state_file\" is set.");
    }
    return operation_plan__(op, draft);
}

static void
changed_cb__(void *op_, enum engine_outcome outcome, const char *error)
{
    struct operation *op = op_;
    struct engine *engine = op->engine;

    switch (outcome) {
    case ENGINE_DONE:
        ovs_list_remove(&op->node);
        ovs_list_push_back(&engine->committing, &op->node);
        op->version = engine->version;
        op->deadline = now_ms() + ENGINE_COMMIT_MS;
        engine_operations_wake__(engine);
        break;
    case ENGINE_REFUSED:
        operation_finish__(op, false, mem_strdup(error));
        break;
    case ENGINE_NOT_STORED:
        operation_finish__(op, false,
                           mem_printf("nothing is changed, for it could not "
                                      "be stored: %s",
                                      error));
        break;
    }
}

static struct operation *
operation_create__(struct engine *engine, enum operation_type type,
                   const char *instance, engine_done_cb *done, void *aux)
{
    struct operation *op = mem_zalloc(sizeof *op);

    op->engine = engine;
    op->type = type;
    op->instance = mem_strdup(instance);
    op->done = done;
    op->aux = aux;
    ovs_list_push_back(&engine->operations, &op->node);
    engine_change(engine, plan_cb__, changed_cb__, op);
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
