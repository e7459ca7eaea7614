/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: what the state in service is. */

#include "controller/api/admin-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/api/now.h"
#include "controller/core/calendar.h"
#include "controller/core/epoch.h"
#include "controller/core/instance.h"
#include "controller/target/ovs/server.h"

static const struct state *
state__(const struct admin *admin)
{
    return engine_get_state(admin->engine);
}

static const struct epoch *
newest__(const struct instance *in)
{
    return in->epochs.n ? in->epochs.epochs[in->epochs.n - 1] : NULL;
}

/* Returns how many members have slots in 'calendar'. */
static uint32_t
count_receiving__(const struct instance *in, const struct calendar *calendar)
{
    uint32_t n = 0;

    for (size_t i = 0; i < in->n_members; i++) {
        n += calendar_count(calendar, in->members[i].id) > 0;
    }
    return n;
}

static double
share__(const struct calendar *calendar, uint16_t member)
{
    return ((double) calendar_count(calendar, member)
            / (double) calendar_n_slots(calendar));
}

static char *
addr__(struct arena *arena, const struct in6_addr *addr)
{
    char s[ADDR_STRLEN];

    addr_to_string(addr, s);
    return arena_strdup(arena, s);
}

/* Status. */

/* Adds to 's' what Sync has told of 'in'. */
static void
add_timing__(struct arena *arena, const struct engine *engine,
             const struct instance *in, Evlb__Admin__V1__InstanceStatus *s)
{
    static const struct in6_addr zero;
    struct engine_timing t;

    engine_get_timing(engine, in, &t);
    s->lead_ms = t.lead_ms;
    s->lead_measured = t.lead_measured;
    s->has_sync = t.has_sync;
    s->tick_known = t.now.known;
    s->tick = t.now.known ? t.now.tick : 0;
    s->rate = t.now.known ? t.now.rate : 0;
    s->senders = (uint32_t) t.now.n_senders;
    s->quarantined = (uint32_t) t.now.n_quarantined;
    s->sync_age_ms = t.now.age;
    s->sync_taken = t.counters.n_taken;
    s->sync_malformed = t.counters.n_malformed;
    s->sync_foreign = t.counters.n_foreign;
    s->sync_backwards = t.counters.n_backwards;
    s->sync_too_many = t.counters.n_too_many;
    s->sync_foreign_address = addr_equal(&t.counters.foreign, &zero)
                                  ? arena_strdup(arena, "")
                                  : addr__(arena, &t.counters.foreign);
}

static Evlb__Admin__V1__InstanceStatus *
make_instance_status__(struct arena *arena, const struct engine *engine,
                       const struct instance *in)
{
    Evlb__Admin__V1__InstanceStatus *s =
        ARENA_NEW(arena, Evlb__Admin__V1__InstanceStatus,
                  EVLB__ADMIN__V1__INSTANCE_STATUS__INIT);
    const struct epoch *newest = newest__(in);

    s->instance = in->name;
    s->members = (uint32_t) in->n_members;
    s->epochs = (uint32_t) in->epochs.n;
    add_timing__(arena, engine, in, s);
    if (newest) {
        s->newest_epoch = newest->id;
        s->newest_first = newest->first;
        s->receiving = count_receiving__(in, newest->calendar);
    }
    return s;
}

void
admin_status(void *admin_, struct grpc_call *call,
             const ProtobufCMessage *request)
{
    const struct admin *admin = admin_;
    const struct state *state = state__(admin);
    Evlb__Admin__V1__StatusReply reply = EVLB__ADMIN__V1__STATUS_REPLY__INIT;
    struct arena arena;

    (void) request;
    arena_init(&arena);
    reply.version = arena_strdup(&arena, EVLB_VERSION);
    reply.pid = (uint32_t) getpid();
    reply.uptime_ms = (uint64_t) (now_ms() - admin->started);
    reply.config_file = engine_get_config(admin->engine)->file;
    reply.targets = (uint32_t) state->n_bridges;
    reply.connected = (uint32_t) ovs_server_count_connected(
        engine_get_server(admin->engine));
    reply.instances = arena_pointers(&arena, state->n_instances);
    for (size_t i = 0; i < state->n_instances; i++) {
        reply.instances[reply.n_instances++] = make_instance_status__(
            &arena, admin->engine, &state->instances[i]);
    }
    grpc_call_reply(call, &reply.base);
    arena_destroy(&arena);
}

/* Instances. */

static char *
addr_block__(struct arena *arena, const struct addr_block *block)
{
    char s[ADDR_STRLEN];

    addr_block_to_string(block, s);
    return arena_strdup(arena, s);
}

static Evlb__Admin__V1__Instance *
make_instance__(struct arena *arena, const struct instance *in)
{
    Evlb__Admin__V1__Instance *m = ARENA_NEW(arena, Evlb__Admin__V1__Instance,
                                             EVLB__ADMIN__V1__INSTANCE__INIT);

    m->name = in->name;
    m->id = in->id;
    m->first_port = in->first_port;
    m->last_port = in->last_port;
    m->late = arena_strdup(arena, in->late == LATE_DROP ? "drop" : "newest");
    m->members = (uint32_t) in->n_members;
    m->epochs = (uint32_t) in->epochs.n;

    m->addresses = arena_pointers(arena, in->n_addresses);
    for (size_t i = 0; i < in->n_addresses; i++) {
        m->addresses[m->n_addresses++] = addr__(arena, &in->addresses[i]);
    }
    m->interfaces = arena_pointers(arena, in->n_interfaces);
    for (size_t i = 0; i < in->n_interfaces; i++) {
        m->interfaces[m->n_interfaces++] = in->interfaces[i]->name;
    }
    m->sources = arena_pointers(arena, in->n_sources);
    for (size_t i = 0; i < in->n_sources; i++) {
        m->sources[m->n_sources++] = addr_block__(arena, &in->sources[i]);
    }
    return m;
}

void
admin_instances(void *admin, struct grpc_call *call,
                const ProtobufCMessage *request_)
{
    const Evlb__Admin__V1__InstanceRequest *request = (const void *) request_;
    Evlb__Admin__V1__InstancesReply reply =
        EVLB__ADMIN__V1__INSTANCES_REPLY__INIT;
    const struct state *state = state__(admin);
    struct arena arena;
    size_t i, end;

    if (!admin_select(state, call, request->instance, &i, &end)) {
        return;
    }
    arena_init(&arena);
    reply.instances = arena_pointers(&arena, end);
    for (; i < end; i++) {
        reply.instances[reply.n_instances++] =
            make_instance__(&arena, &state->instances[i]);
    }
    grpc_call_reply(call, &reply.base);
    arena_destroy(&arena);
}

/* Epochs. */

static void
add_prefixes__(struct arena *arena, Evlb__Admin__V1__Epoch *m,
               const struct prefix_list *list)
{
    m->prefixes = arena_pointers(arena, list->n);
    for (size_t i = 0; i < list->n; i++) {
        m->prefixes[m->n_prefixes++] =
            arena_printf(arena, "0x%016" PRIx64 "/%u", list->prefixes[i].value,
                         list->prefixes[i].len);
    }
}

static Evlb__Admin__V1__EpochMember *
make_epoch_member__(struct arena *arena, const struct calendar *calendar,
                    uint16_t id)
{
    Evlb__Admin__V1__EpochMember *m =
        ARENA_NEW(arena, Evlb__Admin__V1__EpochMember,
                  EVLB__ADMIN__V1__EPOCH_MEMBER__INIT);
    const struct calendar_share *share = calendar_find_share(calendar, id);

    m->member = id;
    m->slots = (uint32_t) calendar_count(calendar, id);
    m->share = share__(calendar, id);
    if (share) {
        m->weight = share->weight;
        m->min_factor = share->min_factor;
        m->max_factor = share->max_factor;
    }
    return m;
}

static void
add_epoch_members__(struct arena *arena, Evlb__Admin__V1__Epoch *m,
                    const struct instance *in, const struct calendar *calendar)
{
    m->members = arena_pointers(arena, in->n_members);
    for (size_t i = 0; i < in->n_members; i++) {
        uint16_t id = in->members[i].id;

        if (calendar_count(calendar, id)) {
            m->members[m->n_members++] =
                make_epoch_member__(arena, calendar, id);
        }
    }
}

static Evlb__Admin__V1__Epoch *
make_epoch__(struct arena *arena, const struct instance *in, size_t i)
{
    Evlb__Admin__V1__Epoch *m =
        ARENA_NEW(arena, Evlb__Admin__V1__Epoch, EVLB__ADMIN__V1__EPOCH__INIT);
    const struct epoch *epoch = in->epochs.epochs[i];
    struct prefix_list prefixes;

    m->instance = in->name;
    m->id = epoch->id;
    m->first = epoch->first;
    m->newest = i == in->epochs.n - 1;
    m->last = m->newest ? UINT64_MAX : in->epochs.epochs[i + 1]->first - 1;
    m->slots = (uint32_t) calendar_n_slots(epoch->calendar);
    m->xor_ = epoch->xor ;
    m->added = !in->epoch_lines[i];
    epochs_get_prefixes(&in->epochs, i, &prefixes);
    add_prefixes__(arena, m, &prefixes);
    add_epoch_members__(arena, m, in, epoch->calendar);
    return m;
}

void
admin_epochs(void *admin, struct grpc_call *call,
             const ProtobufCMessage *request_)
{
    const Evlb__Admin__V1__InstanceRequest *request = (const void *) request_;
    Evlb__Admin__V1__EpochsReply reply = EVLB__ADMIN__V1__EPOCHS_REPLY__INIT;
    const struct state *state = state__(admin);
    struct arena arena;
    size_t i, end;

    if (!admin_select(state, call, request->instance, &i, &end)) {
        return;
    }
    arena_init(&arena);
    for (; i < end; i++) {
        const struct instance *in = &state->instances[i];

        for (size_t j = 0; j < in->epochs.n; j++) {
            reply.epochs = (Evlb__Admin__V1__Epoch **) arena_append(
                &arena, (void **) reply.epochs, &reply.n_epochs,
                make_epoch__(&arena, in, j));
        }
    }
    grpc_call_reply(call, &reply.base);
    arena_destroy(&arena);
}

/* Members. */

static void
add_member_epochs__(struct arena *arena, Evlb__Admin__V1__Member *m,
                    const struct instance *in)
{
    m->epochs = arena_alloc(arena, in->epochs.n * sizeof *m->epochs);
    for (size_t i = 0; i < in->epochs.n; i++) {
        const struct epoch *epoch = in->epochs.epochs[i];

        if (calendar_count(epoch->calendar, (uint16_t) m->id)) {
            m->epochs[m->n_epochs++] = epoch->id;
        }
    }
}

static Evlb__Admin__V1__Member *
make_member__(struct arena *arena, const struct instance *in,
              const struct member *member)
{
    Evlb__Admin__V1__Member *m = ARENA_NEW(arena, Evlb__Admin__V1__Member,
                                           EVLB__ADMIN__V1__MEMBER__INIT);
    const struct epoch *newest = newest__(in);
    char mac[MAC_STRLEN];
    char *egress = port_to_string(&member->egress);

    *mac = '\0';
    if (!mac_is_zero(&member->mac)) {
        mac_to_string(&member->mac, mac);
    }
    m->instance = in->name;
    m->id = member->id;
    m->ip = addr__(arena, &member->ip);
    m->mac = arena_strdup(arena, mac);
    m->first_port = member->base;
    m->ports = 1u << member->bits;
    m->keep = member->keep;
    m->egress = arena_strdup(arena, egress);
    m->added = !member->line;
    free(egress);
    if (newest) {
        m->slots = (uint32_t) calendar_count(newest->calendar, member->id);
        m->share = share__(newest->calendar, member->id);
    }
    add_member_epochs__(arena, m, in);
    return m;
}

void
admin_members(void *admin, struct grpc_call *call,
              const ProtobufCMessage *request_)
{
    const Evlb__Admin__V1__InstanceRequest *request = (const void *) request_;
    Evlb__Admin__V1__MembersReply reply = EVLB__ADMIN__V1__MEMBERS_REPLY__INIT;
    const struct state *state = state__(admin);
    struct arena arena;
    size_t i, end;

    if (!admin_select(state, call, request->instance, &i, &end)) {
        return;
    }
    arena_init(&arena);
    for (; i < end; i++) {
        const struct instance *in = &state->instances[i];

        for (size_t j = 0; j < in->n_members; j++) {
            reply.members = (Evlb__Admin__V1__Member **) arena_append(
                &arena, (void **) reply.members, &reply.n_members,
                make_member__(&arena, in, &in->members[j]));
        }
    }
    grpc_call_reply(call, &reply.base);
    arena_destroy(&arena);
}
