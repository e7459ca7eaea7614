/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: what was accepted and dropped.
 *
 * The switches are read first, so that the counters are new. */

#include "controller/api/admin-gather.h"

#include <stdlib.h>

#include "controller/counters.h"
#include "controller/target/ovs/snapshot.h"

static const char *
scope__(enum counter_scope scope)
{
    switch (scope) {
    case COUNTER_ALL:
        return "all";
    case COUNTER_INTERFACE:
        return "interface";
    case COUNTER_INSTANCE:
        return "instance";
    case COUNTER_MEMBER:
        return "member";
    case COUNTER_PORT:
        return "port";
    }
    abort();
}

static char *
target_name__(struct arena *arena, const struct state *state, uint64_t id)
{
    const struct bridge *bridge = state_find_bridge(state, id);

    return arena_strdup(arena, bridge ? bridge->name : "");
}

static Evlb__Admin__V1__Counter *
make_counter__(struct arena *arena, const struct state *state,
               const struct counter *c)
{
    Evlb__Admin__V1__Counter *m = ARENA_NEW(arena, Evlb__Admin__V1__Counter,
                                            EVLB__ADMIN__V1__COUNTER__INIT);

    m->scope = arena_strdup(arena, scope__(c->scope));
    m->instance = admin_instance_name(arena, state, c->instance);
    m->member = c->member;
    m->interface = admin_interface_name(arena, state, c->iface);
    m->target = target_name__(arena, state, c->datapath_id);
    m->port = arena_strdup(arena, c->port);
    m->name = arena_strdup(arena, c->name);
    m->dropped = c->dropped;
    m->packets = c->packets;
    m->bytes = c->bytes;
    return m;
}

static void
finish__(struct gather *g)
{
    const struct state *state = engine_get_state(g->admin->engine);
    const struct instance *only =
        state_find_instance_by_name(state, g->instance);
    Evlb__Admin__V1__CountersReply reply =
        EVLB__ADMIN__V1__COUNTERS_REPLY__INIT;
    const struct counter **counters;
    struct arena arena;
    size_t n;

    counters = counters_get(engine_get_counters(g->admin->engine), &n);
    arena_init(&arena);
    reply.counters = arena_pointers(&arena, n);
    for (size_t i = 0; i < n; i++) {
        if (!*g->instance || (only && counters[i]->instance == only->id)) {
            reply.counters[reply.n_counters++] =
                make_counter__(&arena, state, counters[i]);
        }
    }
    reply.n_errors = gather_errors(g, &arena, &reply.errors);
    grpc_call_reply(g->call, &reply.base);
    arena_destroy(&arena);
    free(counters);
}

void
admin_counters(void *admin, struct grpc_call *call,
               const ProtobufCMessage *request)
{
    const Evlb__Admin__V1__InstanceRequest *r = (const void *) request;

    admin_gather(admin, call, r->instance, "", SNAPSHOT_FLOWS | SNAPSHOT_PORTS,
                 finish__, NULL);
}
