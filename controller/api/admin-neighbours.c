/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: what was found of the stations that members are
 * reached by.  The switches are asked for the names of their ports. */

#include "controller/api/admin-gather.h"

#include <string.h>

#include "controller/api/now.h"
#include "controller/core/neighbour.h"
#include "controller/target/ovs/snapshot.h"

/* Returns what 'g' has of the switch 'name', or NULL. */
static const struct gathered *
find_target__(const struct gather *g, const char *name)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->targets[i].snapshot && !strcmp(g->targets[i].target, name)) {
            return &g->targets[i];
        }
    }
    return NULL;
}

/* Stores in 'm' what the last answer said. */
static void
set_known__(const struct gather *g, struct arena *arena,
            const struct neighbour *n, Evlb__Admin__V1__Neighbour *m)
{
    const struct gathered *target = find_target__(g, m->target);
    char *port = arena_printf(arena, "%u", (unsigned int) n->port);
    int64_t age = now_ms() - n->confirmed;
    char mac[MAC_STRLEN];

    mac_to_string(&n->mac, mac);
    m->mac = arena_strdup(arena, mac);
    m->port = target ? gather_port_name(arena, target, port) : port;
    m->age_ms = age > 0 ? (uint64_t) age : 0;
}

static Evlb__Admin__V1__Neighbour *
make_neighbour__(const struct gather *g, struct arena *arena,
                 const struct neighbour *n)
{
    const struct state *state = engine_get_state(g->admin->engine);
    const struct bridge *bridge = state_find_bridge(state, n->key.datapath_id);
    Evlb__Admin__V1__Neighbour *m = ARENA_NEW(
        arena, Evlb__Admin__V1__Neighbour, EVLB__ADMIN__V1__NEIGHBOUR__INIT);
    char ip[ADDR_STRLEN];

    addr_to_string(&n->key.ip, ip);
    m->target = arena_strdup(arena, bridge ? bridge->name : "");
    m->interface = admin_interface_name(arena, state, n->key.iface);
    m->ip = arena_strdup(arena, ip);
    m->known = n->known;
    m->mac = arena_strdup(arena, "");
    m->port = arena_strdup(arena, "");
    m->unanswered = n->n_silent;
    if (n->known) {
        set_known__(g, arena, n, m);
    }
    return m;
}

static void
finish__(struct gather *g)
{
    const struct neighbours *all = engine_get_neighbours(g->admin->engine);
    Evlb__Admin__V1__NeighboursReply reply =
        EVLB__ADMIN__V1__NEIGHBOURS_REPLY__INIT;
    struct arena arena;

    arena_init(&arena);
    reply.neighbours = arena_pointers(&arena, all->n);
    for (size_t i = 0; i < all->n; i++) {
        reply.neighbours[reply.n_neighbours++] =
            make_neighbour__(g, &arena, &all->neighbours[i]);
    }
    reply.n_errors = gather_errors(g, &arena, &reply.errors);
    grpc_call_reply(g->call, &reply.base);
    arena_destroy(&arena);
}

void
admin_neighbours(void *admin, struct grpc_call *call,
                 const ProtobufCMessage *request)
{
    (void) request;
    admin_gather(admin, call, "", "", SNAPSHOT_PORTS, finish__, NULL);
}
