/* SPDX-License-Identifier: Apache-2.0 */

/* The operator's service: what changes the state in service.
 *
 * A change is answered when it is stored and each connected switch has
 * committed it, or with the reason why nothing is changed. */

#include "controller/api/admin-private.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"

VLOG_DEFINE_THIS_MODULE(evlb_operator);

/* A call that waits for the engine. */
struct change {
    struct grpc_call *call;
    const char *what; /* What is changed, for the log. */
    char *instance;
};

static struct change *
change_create__(struct grpc_call *call, const char *what, const char *instance)
{
    struct change *change = mem_zalloc(sizeof *change);

    change->call = call;
    change->what = what;
    change->instance = mem_strdup(instance);
    return change;
}

/* Leaves a trace of who changed what. */
static void
log_change__(const struct change *change, const char *error,
             const struct engine_result *result)
{
    const char *peer = grpc_call_get_peer(change->call);

    if (error) {
        VLOG_WARN("%s: %s of instance %s: %s", peer, change->what,
                  change->instance, error);
    } else if (result->epoch) {
        VLOG_INFO("%s: %s of instance %s: epoch %" PRIu16 " from tick "
                  "%" PRIu64,
                  peer, change->what, change->instance, result->epoch,
                  result->boundary);
    } else {
        VLOG_INFO("%s: %s of instance %s", peer, change->what,
                  change->instance);
    }
}

/* Answers the call of a change that the engine is through with. */
static void
done_cb__(void *change_, const char *error, const struct engine_result *result)
{
    struct change *change = change_;
    Evlb__Admin__V1__ChangeReply reply = EVLB__ADMIN__V1__CHANGE_REPLY__INIT;

    log_change__(change, error, result);
    if (error) {
        grpc_call_finish(change->call,
                         result ? GRPC_UNKNOWN : GRPC_FAILED_PRECONDITION,
                         error);
    } else {
        char *notes = mem_strdup(result->notes);

        reply.instance = change->instance;
        reply.epoch = result->epoch;
        reply.boundary = result->boundary;
        reply.notes = notes;
        grpc_call_reply(change->call, &reply.base);
        free(notes);
    }
    free(change->instance);
    free(change);
}

static struct engine_boundary
boundary__(const Evlb__Admin__V1__Boundary *b)
{
    return (struct engine_boundary){
        .automatic = !b || b->automatic,
        .at_event = b ? b->at_event : 0,
        .force = b && b->force,
    };
}

/* Checks that 'member' is the number of one.  If not, finishes 'call' with an
 * error and returns false. */
static bool
check_member__(struct grpc_call *call, uint32_t member)
{
    char *error;

    if (member < CALENDAR_NO_MEMBER) {
        return true;
    }
    error = mem_printf("member %u: numbers of members are 0 to %u",
                       (unsigned int) member, CALENDAR_NO_MEMBER - 1u);
    grpc_call_finish(call, GRPC_INVALID_ARGUMENT, error);
    free(error);
    return false;
}

void
admin_set_epoch(void *admin_, struct grpc_call *call,
                const ProtobufCMessage *request)
{
    const Evlb__Admin__V1__SetEpochRequest *r = (const void *) request;
    const struct admin *admin = admin_;
    struct calendar_share *shares;

    if (!admin_find(engine_get_state(admin->engine), call, r->instance)) {
        return;
    }
    for (size_t i = 0; i < r->n_shares; i++) {
        if (!check_member__(call, r->shares[i]->member)) {
            return;
        }
    }
    shares = mem_zalloc(r->n_shares * sizeof *shares);
    for (size_t i = 0; i < r->n_shares; i++) {
        shares[i].member = (uint16_t) r->shares[i]->member;
        shares[i].weight = r->shares[i]->weight;
        shares[i].min_factor = r->shares[i]->min_factor;
        shares[i].max_factor = r->shares[i]->max_factor;
    }
    engine_set_epoch(admin->engine,
                     &(struct engine_epoch_request){
                         .instance = r->instance,
                         .boundary = boundary__(r->boundary),
                         .shares = shares,
                         .n_shares = r->n_shares,
                     },
                     done_cb__, change_create__(call, "shares", r->instance));
    free(shares);
}

void
admin_drain(void *admin_, struct grpc_call *call,
            const ProtobufCMessage *request)
{
    const Evlb__Admin__V1__DrainRequest *r = (const void *) request;
    const struct engine_boundary boundary = boundary__(r->boundary);
    const struct admin *admin = admin_;

    if (admin_find(engine_get_state(admin->engine), call, r->instance)
        && check_member__(call, r->member)) {
        engine_drain(admin->engine, r->instance, (uint16_t) r->member,
                     &boundary, done_cb__,
                     change_create__(call, "draining", r->instance));
    }
}

void
admin_remove_member(void *admin_, struct grpc_call *call,
                    const ProtobufCMessage *request)
{
    const Evlb__Admin__V1__RemoveMemberRequest *r = (const void *) request;
    const struct admin *admin = admin_;

    if (admin_find(engine_get_state(admin->engine), call, r->instance)
        && check_member__(call, r->member)) {
        engine_remove_member(
            admin->engine, r->instance, (uint16_t) r->member, done_cb__,
            change_create__(call, "removal of a member", r->instance));
    }
}

/* Parses 's', what the operator calls a port, into '*port'. */
static char *
parse_egress__(const char *s, struct port *port)
{
    memset(port, 0, sizeof *port);
    if (!*s) {
        port->type = PORT_SEEN;
    } else if (port_from_keyword(s, port)) {
        return NULL;
    } else if (isdigit((unsigned char) *s)) {
        char *end;
        unsigned long number = strtoul(s, &end, 10);

        if (*end || strlen(s) > 5 || !number || number > 0xfeff) {
            return mem_printf("egress \"%s\" is no OpenFlow port number from "
                              "1 to 65279",
                              s);
        }
        port->type = PORT_NUMBER;
        port->number = (uint32_t) number;
    } else if (strlen(s) >= sizeof port->name) {
        return mem_printf("egress \"%s\" is no name of a port, which has 1 to "
                          "%zu characters",
                          s, sizeof port->name - 1);
    } else {
        port->type = PORT_NAME;
        snprintf(port->name, sizeof port->name, "%s", s);
    }
    return NULL;
}

/* Makes the member that 'r' describes. */
static char *
parse_member__(const Evlb__Admin__V1__AddMemberRequest *r, struct member *m)
{
    memset(m, 0, sizeof *m);
    if (!addr_from_string(r->ip, &m->ip)) {
        return mem_printf("ip \"%s\" is no IPv4 or IPv6 address", r->ip);
    }
    if (*r->mac && !mac_from_string(r->mac, &m->mac)) {
        return mem_printf("mac \"%s\" is no MAC address", r->mac);
    }
    if (*r->mac && (mac_is_multicast(&m->mac) || mac_is_zero(&m->mac))) {
        return mem_printf("mac \"%s\" is not the address of one station",
                          r->mac);
    }
    if (r->first_port > UINT16_MAX) {
        return mem_printf("base %u is above 65535",
                          (unsigned int) r->first_port);
    }
    if (r->bits > MEMBER_BITS_MAX) {
        return mem_printf("bits %u is above %d", (unsigned int) r->bits,
                          MEMBER_BITS_MAX);
    }
    m->id = (uint16_t) r->id;
    m->base = (uint16_t) r->first_port;
    m->bits = (uint8_t) r->bits;
    m->keep = r->keep;
    return parse_egress__(r->egress, &m->egress);
}

void
admin_add_member(void *admin_, struct grpc_call *call,
                 const ProtobufCMessage *request)
{
    const Evlb__Admin__V1__AddMemberRequest *r = (const void *) request;
    const struct admin *admin = admin_;
    struct member member;
    char *error;

    if (!admin_find(engine_get_state(admin->engine), call, r->instance)
        || !check_member__(call, r->id)) {
        return;
    }
    error = parse_member__(r, &member);
    if (!error && !engine_get_state(admin->engine)->neighbours.resolve
        && (mac_is_zero(&member.mac) || member.egress.type == PORT_SEEN)) {
        error = mem_strdup("mac and egress have to be given, because nobody "
                           "finds them out: neighbour.resolve is false");
    }
    if (error) {
        grpc_call_finish(call, GRPC_INVALID_ARGUMENT, error);
        free(error);
        return;
    }
    engine_add_member(admin->engine, r->instance, &member, done_cb__,
                      change_create__(call, "new member", r->instance));
}

void
admin_reload(void *admin_, struct grpc_call *call,
             const ProtobufCMessage *request)
{
    Evlb__Admin__V1__ReloadReply reply = EVLB__ADMIN__V1__RELOAD_REPLY__INIT;
    const struct admin *admin = admin_;
    char *error = engine_reload(admin->engine);

    (void) request;
    if (error) {
        VLOG_WARN("%s: reload refused, nothing is changed: %s",
                  grpc_call_get_peer(call), error);
        grpc_call_finish(call, GRPC_FAILED_PRECONDITION, error);
        free(error);
    } else {
        reply.config_file = engine_get_config(admin->engine)->file;
        VLOG_INFO("%s: %s: reloaded", grpc_call_get_peer(call),
                  reply.config_file);
        grpc_call_reply(call, &reply.base);
    }
}
