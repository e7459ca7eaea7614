/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: the switches. */

#include "controller/api/admin-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/target/ovs/server.h"

static Evlb__Admin__V1__Target *
make_target__(struct arena *arena, const struct ovs_server *server,
              const struct bridge *bridge)
{
    Evlb__Admin__V1__Target *m = ADMIN_NEW(arena, Evlb__Admin__V1__Target,
                                           EVLB__ADMIN__V1__TARGET__INIT);

    m->name = arena_strdup(arena, bridge->name);
    m->datapath_id = arena_printf(arena, "%016" PRIx64, bridge->datapath_id);
    m->connected = ovs_server_is_connected(server, bridge->datapath_id);
    m->ports = arena_pointers(arena, bridge->n_ports);
    for (size_t i = 0; i < bridge->n_ports; i++) {
        char *port = port_to_string(&bridge->ports[i]);

        m->ports[m->n_ports++] = arena_strdup(arena, port);
        free(port);
    }
    return m;
}

void
admin_targets(void *admin_, struct grpc_call *call,
              const ProtobufCMessage *request)
{
    const struct admin *admin = admin_;
    const struct state *state = engine_get_state(admin->engine);
    Evlb__Admin__V1__TargetsReply reply = EVLB__ADMIN__V1__TARGETS_REPLY__INIT;
    struct arena arena;

    (void) request;
    arena_init(&arena);
    reply.targets = arena_pointers(&arena, state->n_bridges);
    for (size_t i = 0; i < state->n_bridges; i++) {
        reply.targets[reply.n_targets++] = make_target__(
            &arena, engine_get_server(admin->engine), &state->bridges[i]);
    }
    grpc_call_reply(call, &reply.base);
    arena_destroy(&arena);
}
