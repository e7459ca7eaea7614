/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: what stands in the switches, in the rules' words. */

#include "controller/api/admin-gather.h"

#include "controller/target/ovs/snapshot.h"

/* A reply under construction. */
struct flows {
    const struct gather *gather;
    const struct state *state;
    const struct gathered *target; /* Whose flows are added. */
    Evlb__Admin__V1__FlowsReply reply;
    struct arena arena;
};

static bool
is_wanted__(const struct flows *f, const struct description *d)
{
    const struct instance *in;

    if (!*f->gather->instance) {
        return true;
    }
    in = state_find_instance_by_name(f->state, f->gather->instance);
    return in && d->instance == in->id;
}

static void
add_row__(struct flows *f, Evlb__Admin__V1__Flow *row)
{
    f->reply.flows = (Evlb__Admin__V1__Flow **) arena_append(
        &f->arena, (void **) f->reply.flows, &f->reply.n_flows, row);
}

static void
add_flow__(struct flows *f, const struct snapshot_flow *flow)
{
    Evlb__Admin__V1__Flow *m;

    if (is_wanted__(f, &flow->words)) {
        m = gather_describe(&f->arena, f->state, f->target, &flow->words);
        m->counted = true;
        m->packets = flow->count.packets;
        m->bytes = flow->count.bytes;
        m->cookie = flow->cookie;
        m->match = arena_strdup(&f->arena, flow->match);
        m->actions = arena_strdup(&f->arena, flow->actions);
        add_row__(f, m);
    }
}

static void
add_group__(struct flows *f, const struct snapshot_group *group)
{
    for (size_t i = 0; i < group->words.n; i++) {
        const struct description *d = &group->words.rows[i];
        Evlb__Admin__V1__Flow *m;

        if (is_wanted__(f, d)) {
            m = gather_describe(&f->arena, f->state, f->target, d);
            m->group = group->id;
            m->match = arena_strdup(&f->arena, "");
            m->actions = arena_strdup(&f->arena, group->method);
            add_row__(f, m);
        }
    }
}

/* Adds what 'snapshot' says, groups last. */
static void
add_snapshot__(struct flows *f, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_flows; i++) {
        add_flow__(f, &snapshot->flows[i]);
    }
    for (size_t i = 0; i < snapshot->n_groups; i++) {
        add_group__(f, &snapshot->groups[i]);
    }
}

static void
finish__(struct gather *g)
{
    struct flows f = {
        .gather = g,
        .state = engine_get_state(g->admin->engine),
        .reply = EVLB__ADMIN__V1__FLOWS_REPLY__INIT,
    };

    arena_init(&f.arena);
    for (size_t i = 0; i < g->n; i++) {
        f.target = &g->targets[i];
        if (f.target->snapshot) {
            add_snapshot__(&f, f.target->snapshot);
        }
    }
    f.reply.n_errors = gather_errors(g, &f.arena, &f.reply.errors);
    grpc_call_reply(g->call, &f.reply.base);
    arena_destroy(&f.arena);
}

void
admin_flows(void *admin, struct grpc_call *call,
            const ProtobufCMessage *request)
{
    const Evlb__Admin__V1__FlowsRequest *r = (const void *) request;

    admin_gather(admin, call, r->instance, r->target,
                 SNAPSHOT_FLOWS | SNAPSHOT_GROUPS | SNAPSHOT_PORTS, finish__,
                 NULL);
}
