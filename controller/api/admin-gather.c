/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/admin-gather.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/server.h"
#include "controller/target/ovs/snapshot.h"

/* One switch that was asked. */
struct ask {
    struct gather *gather;
    size_t index; /* Of it in 'gather'. */
};

static void
destroy__(struct gather *g)
{
    for (size_t i = 0; i < g->n; i++) {
        snapshot_unref(g->targets[i].snapshot);
        free(g->targets[i].target);
        free(g->targets[i].error);
    }
    free(g->targets);
    free(g->instance);
    free(g);
}

/* Takes note that one of the things that 'g' waits for is there. */
static void
arrived__(struct gather *g)
{
    if (!--g->n_pending) {
        g->finish(g);
        destroy__(g);
    }
}

static void
snapshot_cb__(void *ask_, const char *error, const struct snapshot *snapshot)
{
    struct ask *ask = ask_;
    struct gather *g = ask->gather;
    struct gathered *target = &g->targets[ask->index];

    if (error) {
        target->error = mem_strdup(error);
    } else {
        target->snapshot = snapshot_ref(snapshot);
    }
    free(ask);
    arrived__(g);
}

/* Asks the switch 'bridge'. */
static void
ask__(struct gather *g, const struct bridge *bridge, unsigned int parts)
{
    struct ovs_server *server = engine_get_server(g->admin->engine);
    struct ask *ask = mem_zalloc(sizeof *ask);

    ask->gather = g;
    ask->index = g->n++;
    g->targets[ask->index].target = mem_strdup(bridge->name);
    g->n_pending++;
    ovs_server_snapshot(server, bridge->datapath_id, parts, snapshot_cb__,
                        ask);
}

/* Checks that there is a switch 'target', or that it is empty.  If not,
 * finishes 'call' with an error and returns false. */
static bool
check_target__(const struct state *state, struct grpc_call *call,
               const char *target)
{
    char *names = mem_strdup("");
    char *error;

    for (size_t i = 0; i < state->n_bridges; i++) {
        char *longer =
            mem_printf("%s%s%s", names, i ? ", " : "", state->bridges[i].name);

        free(names);
        names = longer;
        if (!*target || !strcmp(state->bridges[i].name, target)) {
            free(names);
            return true;
        }
    }
    error =
        mem_printf("there is no switch \"%s\"; there are: %s", target, names);
    grpc_call_finish(call, GRPC_NOT_FOUND, error);
    free(error);
    free(names);
    return false;
}

/* Reads the 'parts' of the switch 'target', or of all if it is empty, for
 * 'call', which is about 'instance', or about all if that is empty.  If there
 * is no such thing, finishes 'call' with an error and returns false. */
bool
admin_gather(struct admin *admin, struct grpc_call *call, const char *instance,
             const char *target, unsigned int parts,
             void (*finish)(struct gather *), void *aux)
{
    const struct state *state = engine_get_state(admin->engine);
    struct gather *g;

    if ((*instance && !admin_find(state, call, instance))
        || !check_target__(state, call, target)) {
        return false;
    }
    g = mem_zalloc(sizeof *g);
    g->admin = admin;
    g->call = call;
    g->instance = mem_strdup(instance);
    g->targets = mem_zalloc(state->n_bridges * sizeof *g->targets);
    g->finish = finish;
    g->aux = aux;
    g->n_pending = 1;
    for (size_t i = 0; i < state->n_bridges; i++) {
        if (!*target || !strcmp(state->bridges[i].name, target)) {
            ask__(g, &state->bridges[i], parts);
        }
    }
    arrived__(g);
    return true;
}

/* Stores in '*errors' a message for each switch that could not be read.
 * Returns how many there are. */
size_t
gather_errors(const struct gather *g, struct arena *arena,
              Evlb__Admin__V1__TargetError ***errors)
{
    size_t n = 0;

    *errors = arena_pointers(arena, g->n);
    for (size_t i = 0; i < g->n; i++) {
        if (g->targets[i].error) {
            Evlb__Admin__V1__TargetError *e =
                ARENA_NEW(arena, Evlb__Admin__V1__TargetError,
                          EVLB__ADMIN__V1__TARGET_ERROR__INIT);

            e->target = g->targets[i].target;
            e->error = g->targets[i].error;
            (*errors)[n++] = e;
        }
    }
    return n;
}
