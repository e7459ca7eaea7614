/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: the switches. */

#include "controller/api/admin-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/api/now.h"
#include "controller/target/ovs/server.h"

/* A reply under construction. */
struct targets {
    const struct state *state;
    struct arena arena;
    Evlb__Admin__V1__TargetsReply reply;
};

static void
add_ports__(struct arena *arena, Evlb__Admin__V1__Target *m,
            const struct bridge *bridge)
{
    m->ports = arena_pointers(arena, bridge->n_ports);
    for (size_t i = 0; i < bridge->n_ports; i++) {
        char *port = port_to_string(&bridge->ports[i]);

        m->ports[m->n_ports++] = arena_strdup(arena, port);
        free(port);
    }
}

static void
status_cb__(void *targets_, const struct ovs_switch_status *status)
{
    struct targets *targets = targets_;
    struct arena *arena = &targets->arena;
    const struct bridge *bridge =
        state_find_bridge(targets->state, status->datapath_id);
    Evlb__Admin__V1__Target *m = ARENA_NEW(arena, Evlb__Admin__V1__Target,
                                           EVLB__ADMIN__V1__TARGET__INIT);

    if (!bridge) {
        return;
    }
    m->name = arena_strdup(arena, status->name);
    m->datapath_id = arena_printf(arena, "%016" PRIx64, status->datapath_id);
    m->connected = status->peer != NULL;
    m->peer = arena_strdup(arena, status->peer ? status->peer : "");
    m->tls = status->tls;
    m->state = arena_strdup(arena, status->state);
    m->connected_ms =
        status->peer ? (uint64_t) (now_ms() - status->connected_since) : 0;
    m->rules = (uint32_t) status->n_rules;
    m->last_error =
        arena_strdup(arena, status->last_error ? status->last_error : "");
    m->openflow = status->openflow
                      ? arena_printf(arena, "1.%u", status->openflow)
                      : arena_strdup(arena, "");
    m->calendars = arena_strdup(arena, !status->openflow    ? ""
                                       : status->slot_flows ? "flows"
                                                            : "groups");
    m->secondary = status->secondary;
    add_ports__(arena, m, bridge);
    targets->reply.targets[targets->reply.n_targets++] = m;
}

void
admin_targets(void *admin_, struct grpc_call *call,
              const ProtobufCMessage *request)
{
    const struct admin *admin = admin_;
    struct targets targets = {
        .state = engine_get_state(admin->engine),
        .reply = EVLB__ADMIN__V1__TARGETS_REPLY__INIT,
    };

    (void) request;
    arena_init(&targets.arena);
    targets.reply.targets =
        arena_pointers(&targets.arena, targets.state->n_bridges);
    ovs_server_for_each_switch(engine_get_server(admin->engine), status_cb__,
                               &targets);
    grpc_call_reply(call, &targets.reply.base);
    arena_destroy(&targets.arena);
}
