/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: where a packet goes, by the rules that a switch
 * should hold.  The switch is only asked for its ports. */

#include "controller/api/admin-gather.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/ports.h"
#include "controller/target/ovs/snapshot.h"
#include "controller/trace.h"

#define NORMAL_PORTS 0xff00 /* Numbers of real ports are below. */

/* A trace that waits for the switch's ports. */
struct tracing {
    char *in_port;
    uint64_t datapath_id;
    struct trace_packet packet;
    struct trace_result result;
};

/* Stores in '*addr' the address 's', if it is not empty, of the member 'name'
 * of the request. */
static char *
parse_addr__(const char *name, const char *s, struct in6_addr *addr)
{
    return (*s && !addr_from_string(s, addr)
                ? mem_printf("%s \"%s\" is no IPv4 or IPv6 address", name, s)
                : NULL);
}

/* Checks that 'value' of the member 'name' is at most 'max'. */
static char *
check__(const char *name, uint32_t value, uint32_t max)
{
    return (value > max ? mem_printf("%s %u is above %u", name,
                                     (unsigned int) value, (unsigned int) max)
                        : NULL);
}

static char *
check_numbers__(const Evlb__Admin__V1__TraceRequest *r)
{
    char *error = check__("version", r->version, UINT8_MAX);

    error = error ? error : check__("slot", r->slot_select, UINT16_MAX);
    error = error ? error : check__("entropy", r->entropy, UINT16_MAX);
    error = error ? error : check__("port", r->port, UINT16_MAX);
    return error ? error : check__("ttl", r->ttl, UINT8_MAX);
}

/* Makes the packet of the event that 'r' is about. */
static char *
make_event__(const struct instance *in, const Evlb__Admin__V1__TraceRequest *r,
             struct trace_packet *packet)
{
    struct in6_addr src = in->addresses[0];
    struct in6_addr dst;
    struct trace_event event;
    char *error = parse_addr__("source", r->source, &src);

    dst = src; /* Of the same family, unless it is given. */
    error = error ? error : parse_addr__("destination", r->destination, &dst);
    error = error ? error : check_numbers__(r);
    if (error) {
        return error;
    }
    trace_event_init(&event, in, addr_is_ipv4(&dst));
    event.src = *r->source ? src : event.src;
    event.dst = *r->destination ? dst : event.dst;
    event.tick = r->tick;
    event.slot_select = (uint16_t) r->slot_select;
    event.entropy = (uint16_t) r->entropy;
    event.version = r->version ? (uint8_t) r->version : event.version;
    event.udp_dst = r->port ? (uint16_t) r->port : event.udp_dst;
    event.ttl = r->ttl ? (uint8_t) r->ttl : event.ttl;
    return trace_make_event(&event, packet);
}

static char *
make_packet__(const struct state *state,
              const Evlb__Admin__V1__TraceRequest *r,
              struct trace_packet *packet)
{
    const struct instance *in =
        state_find_instance_by_name(state, r->instance);

    if (*r->packet) {
        return trace_parse_hex(r->packet, packet);
    }
    return (in ? make_event__(in, r, packet)
               : mem_strdup("neither an instance nor a packet is given"));
}

static void
tracing_destroy__(struct tracing *t)
{
    free(t->in_port);
    free(t);
}

/* Finds the port that 't' names, or any, in 's'.  Returns it, or NULL. */
static const struct snapshot_port *
find_in_port__(const struct tracing *t, const struct snapshot *s)
{
    const struct snapshot_port *first = NULL;
    char *end;
    unsigned long number = strtoul(t->in_port, &end, 10);

    for (size_t i = 0; i < s->n_ports; i++) {
        const struct snapshot_port *p = &s->ports[i];

        if (!*t->in_port) {
            if (p->number < NORMAL_PORTS
                && (!first || p->number < first->number)) {
                first = p;
            }
        } else if (!strcmp(p->name, t->in_port)
                   || (!*end && p->number == number)) {
            return p;
        }
    }
    return first;
}

/* Returns 'named', rules with names of ports, with the numbers that these have
 * in 's'. */
static const struct rule_set *
resolve_rules__(const struct rule_set *named, const struct snapshot *s)
{
    const struct rule_set *rules;
    struct ovs_ports ports;
    char *missing = NULL;

    ovs_ports_init(&ports);
    ports.ports = mem_zalloc(s->n_ports * sizeof *ports.ports);
    for (size_t i = 0; i < s->n_ports; i++) {
        ports.ports[ports.n].number = s->ports[i].number;
        memcpy(ports.ports[ports.n++].name, s->ports[i].name, IFNAMSIZ);
    }
    ports.allocated = ports.n;
    rules = ovs_ports_resolve(&ports, named, &missing);
    ovs_ports_destroy(&ports);
    free(missing);
    return rules;
}

static char *
hex__(struct arena *arena, const struct trace_packet *packet)
{
    char *s = packet->len ? trace_format_hex(packet) : mem_strdup("");
    char *copy = arena_strdup(arena, s);

    free(s);
    return copy;
}

static void
add_steps__(struct arena *arena, const struct state *state,
            const struct gathered *target, const struct trace_result *result,
            Evlb__Admin__V1__TraceReply *reply)
{
    reply->steps = arena_pointers(arena, result->n_steps);
    for (size_t i = 0; i < result->n_steps; i++) {
        const struct trace_step *step = &result->steps[i];
        Evlb__Admin__V1__Flow *m =
            gather_describe(arena, state, target, &step->words);

        m->match = arena_strdup(arena, step->match);
        m->actions = arena_strdup(arena, step->actions);
        reply->steps[reply->n_steps++] = m;
    }
}

/* Fills 'reply' with what 'r' says. */
static void
add_result__(struct arena *arena, const struct state *state,
             const struct gathered *target, const struct trace_result *r,
             Evlb__Admin__V1__TraceReply *reply)
{
    reply->instance = admin_instance_name(arena, state, r->instance);
    reply->epoch = r->epoch;
    reply->slot = r->slot;
    reply->member = r->member;
    reply->group = r->group;
    reply->verdict = arena_strdup(arena, r->verdict);
    reply->dropped = r->dropped;
    reply->lb_status = arena_strdup(arena, r->lb_status ? r->lb_status : "");
    reply->lb_version = r->lb_version;
    reply->lb_tick = r->lb_tick;
    reply->lb_slot_select = r->lb_slot_select;
    reply->lb_port_select = r->lb_port_select;
    reply->egress = gather_port_name(arena, target, r->egress);
    reply->egress_port = arena_strdup(arena, r->egress);
    reply->eth_src = arena_strdup(arena, r->eth_src);
    reply->eth_dst = arena_strdup(arena, r->eth_dst);
    reply->ip_src = arena_strdup(arena, r->ip_src);
    reply->ip_dst = arena_strdup(arena, r->ip_dst);
    reply->vlan = r->vlan;
    reply->ttl = r->ttl;
    reply->udp_dst = r->udp_dst;
    reply->out = hex__(arena, &r->out);
}

/* Traces 't''s packet from 'port' on, and answers 'g''s call. */
static void
run__(struct gather *g, struct tracing *t, const struct rule_set *named,
      const struct snapshot_port *port)
{
    const struct state *state = engine_get_state(g->admin->engine);
    const struct gathered *target = &g->targets[0];
    Evlb__Admin__V1__TraceReply reply = EVLB__ADMIN__V1__TRACE_REPLY__INIT;
    const struct rule_set *rules = resolve_rules__(named, target->snapshot);
    struct arena arena;

    arena_init(&arena);
    trace_run(rules, port->number, &t->packet, &t->result);
    reply.target = target->target;
    reply.in_port = arena_strdup(&arena, port->name);
    reply.in_port_number = port->number;
    reply.packet = hex__(&arena, &t->packet);
    add_steps__(&arena, state, target, &t->result, &reply);
    add_result__(&arena, state, target, &t->result, &reply);
    grpc_call_reply(g->call, &reply.base);
    trace_result_uninit(&t->result);
    arena_destroy(&arena);
    rule_set_unref(rules);
}

/* The ports are there, or not. */
static void
finish__(struct gather *g)
{
    const struct gathered *target = &g->targets[0];
    struct tracing *t = g->aux;
    const struct rule_set *rules =
        engine_get_rules(g->admin->engine, t->datapath_id);
    const struct snapshot_port *port =
        target->snapshot ? find_in_port__(t, target->snapshot) : NULL;
    char *error = NULL;

    if (!target->snapshot || !rules) {
        error = mem_printf("%s: its ports are not known: %s", target->target,
                           target->error ? target->error : "it is gone");
    } else if (!port) {
        error = mem_printf("%s: there is no port \"%s\"", target->target,
                           t->in_port);
    } else {
        run__(g, t, rules, port);
    }
    if (error) {
        grpc_call_finish(g->call, GRPC_FAILED_PRECONDITION, error);
        free(error);
    }
    tracing_destroy__(t);
}

/* Returns the switch 'target', the first if it is empty, or NULL. */
static const struct bridge *
find_bridge__(const struct state *state, const char *target)
{
    for (size_t i = 0; i < state->n_bridges; i++) {
        if (!*target || !strcmp(state->bridges[i].name, target)) {
            return &state->bridges[i];
        }
    }
    return NULL;
}

void
admin_trace(void *admin_, struct grpc_call *call,
            const ProtobufCMessage *request)
{
    const Evlb__Admin__V1__TraceRequest *r = (const void *) request;
    struct admin *admin = admin_;
    const struct state *state = engine_get_state(admin->engine);
    const struct bridge *bridge = find_bridge__(state, r->target);
    struct tracing *t;
    char *error;

    if (*r->instance && !admin_find(state, call, r->instance)) {
        return;
    }
    t = mem_zalloc(sizeof *t);
    t->in_port = mem_strdup(r->in_port);
    t->datapath_id = bridge ? bridge->datapath_id : 0;
    error = make_packet__(state, r, &t->packet);
    if (error) {
        grpc_call_finish(call, GRPC_INVALID_ARGUMENT, error);
        free(error);
        tracing_destroy__(t);
    } else if (!admin_gather(admin, call, r->instance,
                             bridge ? bridge->name : r->target, SNAPSHOT_PORTS,
                             finish__, t)) {
        tracing_destroy__(t);
    }
}
