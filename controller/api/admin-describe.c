/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: what a description of a flow says, as a message. */

#include <stdlib.h>

#include "controller/api/admin-gather.h"
#include "controller/target/ovs/snapshot.h"
#include "flows/describe.h"

/* Returns the name of the port whose number is 's', or 's'. */
char *
gather_port_name(struct arena *arena, const struct gathered *target,
                 const char *s)
{
    char *end;
    unsigned long number = strtoul(s, &end, 10);
    const char *name =
        *s && !*end ? snapshot_port_name(target->snapshot, (uint32_t) number)
                    : NULL;

    return arena_strdup(arena, name ? name : s);
}

static char *
in_port__(struct arena *arena, const struct gathered *target, int number)
{
    return (number < 0 ? arena_strdup(arena, "")
                       : gather_port_name(arena, target,
                                          arena_printf(arena, "%d", number)));
}

/* Makes a message of what 'd' says, without counters. */
Evlb__Admin__V1__Flow *
gather_describe(struct arena *arena, const struct state *state,
                const struct gathered *target, const struct description *d)
{
    Evlb__Admin__V1__Flow *m =
        ARENA_NEW(arena, Evlb__Admin__V1__Flow, EVLB__ADMIN__V1__FLOW__INIT);

    m->target = target->target;
    m->table = d->table;
    m->priority = d->priority;
    m->stage = arena_strdup(arena, d->stage);
    m->kind = arena_strdup(arena, d->kind);
    m->verdict = arena_strdup(arena, d->verdict);
    m->instance = admin_instance_name(arena, state, d->instance);
    m->epoch = d->epoch;
    m->has_ticks = d->has_ticks;
    m->first_tick = d->first_tick;
    m->last_tick = d->last_tick;
    m->slots = arena_strdup(arena, d->slots ? d->slots : "");
    m->n_slots = d->n_slots;
    m->in_port = in_port__(arena, target, d->in_port);
    m->vlan = d->vlan;
    m->eth_dst = arena_strdup(arena, d->eth_dst);
    m->address = arena_strdup(arena, d->address);
    m->source = arena_strdup(arena, d->source);
    m->first_port = d->first_port;
    m->last_port = d->last_port;
    m->member = d->member;
    m->member_ip = arena_strdup(arena, d->member_ip);
    m->member_mac = arena_strdup(arena, d->member_mac);
    m->egress = gather_port_name(arena, target, d->egress);
    m->group = d->group;
    return m;
}
