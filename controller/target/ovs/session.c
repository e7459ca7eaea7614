/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/session-private.h"

#include <stdlib.h>
#include <string.h>

#include <openvswitch/ofp-bundle.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/change.h"
#include "controller/target/ovs/readback.h"

VLOG_DEFINE_THIS_MODULE(evlb_session);

/* A peer that asks more than this without reading answers is given up. */
#define MAX_REPLIES 1000

/* Ends 's' for the reason 'error', which it takes. */
void
session_fail__(struct session *s, char *error)
{
    if (s->error) {
        free(error);
    } else {
        s->error = error;
    }
}

/* Sends 'msg' as it is. */
void
session_send__(struct session *s, struct ofpbuf *msg)
{
    ovs_list_push_back(&s->requests, &msg->list_node);
}

/* Sends 'msg' with the next transaction id, which it returns. */
uint32_t
session_request__(struct session *s, struct ofpbuf *msg)
{
    struct ofp_header *oh = msg->data;

    oh->xid = htonl(s->next_xid);
    session_send__(s, msg);
    return s->next_xid++;
}

/* Sends 'msg' and waits for its reply in 'state'. */
void
session_ask__(struct session *s, enum session_state state, struct ofpbuf *msg)
{
    s->awaited_xid = session_request__(s, msg);
    s->state = state;
}

/* Sends 'msg', which answers something. */
void
session_reply__(struct session *s, struct ofpbuf *msg)
{
    session_send__(s, msg);
    if (++s->n_replies > MAX_REPLIES) {
        session_fail__(s, mem_strdup("asks more than it reads answers"));
    }
}

/* Returns a session with 'peer', which is connected now. */
struct session *
session_create(const char *peer, const struct session_handlers *handlers,
               void *aux, int64_t now)
{
    struct session *s = mem_zalloc(sizeof *s);

    s->name = mem_strdup(peer);
    s->handlers = handlers;
    s->aux = aux;
    s->state = SESSION_HELLO;
    s->next_xid = 1;
    ovs_list_init(&s->requests);
    s->now = s->started = s->last_received = s->last_probe = now;
    s->retry = INT64_MAX;
    ovs_ports_init(&s->ports);
    s->stats = session_stats_create__();
    s->version = OFP13_VERSION;
    session_request__(
        s, ofputil_encode_hello(1u << OFP13_VERSION | 1u << OFP15_VERSION));
    return s;
}

/* Destroys 's', which may be NULL. */
void
session_destroy(struct session *s)
{
    if (s) {
        session_stats_destroy__(s->stats, s->name, s->error);
        ofpbuf_list_delete(&s->requests);
        ovs_ports_destroy(&s->ports);
        rule_set_unref(s->rules);
        rule_set_unref(s->installed);
        readback_destroy(s->readback);
        change_destroy(s->change);
        rule_set_unref(s->change_rules);
        free(s->missing_ports);
        free(s->error);
        free(s->name);
        free(s);
    }
}

/* Returns the next message to send, which the caller must delete, or NULL.
 * The caller should not take more than the peer reads: what is left here shows
 * when the peer only asks. */
struct ofpbuf *
session_pop_request(struct session *s)
{
    struct ofpbuf *msg;

    if (ovs_list_is_empty(&s->requests)) {
        s->n_replies = 0;
        return NULL;
    }
    msg = ofpbuf_from_list(ovs_list_pop_front(&s->requests));
    s->counters.sent++;
    ofpmsg_update_length(msg);
    return msg;
}

/* Returns why the session is over, or NULL if it is not. */
const char *
session_get_error(const struct session *s)
{
    return s->error;
}

/* Has the peer show that it is there, as another one says that it is the same
 * switch. */
void
session_challenge(struct session *s, int64_t now)
{
    if (s->last_received >= s->challenged) {
        s->challenged = now;
        session_request__(s, ofputil_encode_echo_request(s->version));
    }
}

/* Returns true if the peer has not answered session_challenge() in time.  It is
 * not given up yet, but another connection of the same switch is more worth. */
bool
session_is_silent(const struct session *s, int64_t now)
{
    return (s->last_received < s->challenged
            && now - s->challenged >= SESSION_CHALLENGE_MS);
}

/* Returns the second number of the OpenFlow version that is spoken, 5 for
 * OpenFlow 1.5. */
unsigned int
session_get_minor_version(const struct session *s)
{
    return s->version - 1u;
}

/* Returns true if the switch's calendars are flows, not groups. */
bool
session_has_slot_flows(const struct session *s)
{
    return s->slot_flows;
}

enum session_state
session_get_state(const struct session *s)
{
    return s->state;
}

const char *
session_state_to_string(enum session_state state)
{
    switch (state) {
#define SESSION_STATE(NAME, TEXT) \
    case SESSION_##NAME:          \
        return TEXT;
        SESSION_STATES
#undef SESSION_STATE
    }
    abort();
}

static void
session_receive_port_status__(struct session *s, const struct ofp_header *oh)
{
    struct ofputil_port_status ps;

    if (ofputil_decode_port_status(oh, &ps)) {
        session_fail__(s, mem_strdup("sent a malformed port status"));
        return;
    }
    if (ps.reason == OFPPR_DELETE) {
        ovs_ports_remove(&s->ports, &ps.desc);
    } else {
        ovs_ports_set(&s->ports, &ps.desc);
    }
    s->dirty = true;
    session_sync__(s);
}

static void
session_receive_bundle__(struct session *s, const struct ofp_header *oh)
{
    struct ofputil_bundle_ctrl_msg ctrl;

    if (ofputil_decode_bundle_ctrl(oh, &ctrl)) {
        session_fail__(s, mem_strdup("sent a malformed bundle control"));
    } else if (ctrl.type == OFPBCT_COMMIT_REPLY) {
        if (s->state == SESSION_COMMITTING
            && ntohl(oh->xid) == s->awaited_xid) {
            session_complete_change__(s);
        } else {
            session_fail__(s, mem_strdup("committed what it was not told "
                                         "to"));
        }
    }
}

/* Processes 'oh' of 'type' if it is the reply that 's' waits for.  Returns
 * false if it is not. */
static bool
session_receive_reply__(struct session *s, enum ofptype type,
                        const struct ofp_header *oh)
{
    struct ofpbuf b = ofpbuf_const_initializer(oh, ntohs(oh->length));
    struct ofpbuf *msg = &b;

    if (ntohl(oh->xid) != s->awaited_xid) {
        return false;
    }
    if (s->state == SESSION_FEATURES && type == OFPTYPE_FEATURES_REPLY) {
        session_receive_features__(s, msg);
    } else if (s->state == SESSION_PORTS
               && type == OFPTYPE_PORT_DESC_STATS_REPLY) {
        session_receive_ports__(s, msg, ofpmp_more(oh));
    } else if (s->state == SESSION_GROUPS
               && type == OFPTYPE_GROUP_DESC_STATS_REPLY) {
        session_receive_groups__(s, msg, ofpmp_more(oh));
    } else if (s->state == SESSION_FLOWS && type == OFPTYPE_FLOW_STATS_REPLY) {
        session_receive_flows__(s, msg, ofpmp_more(oh));
    } else if (s->state == SESSION_TRYING && type == OFPTYPE_BARRIER_REPLY) {
        session_finish_trial__(s);
    } else if (s->state == SESSION_STAGING && type == OFPTYPE_BARRIER_REPLY) {
        session_finish_staging__(s);
    } else {
        return false;
    }
    return true;
}

/* Processes 'oh' of 'type', whose lengths were checked. */
static void
session_dispatch__(struct session *s, enum ofptype type,
                   const struct ofp_header *oh)
{
    if (type == OFPTYPE_HELLO) {
        session_receive_hello__(s, oh);
    } else if (type == OFPTYPE_ERROR) {
        s->counters.errors++;
        session_receive_error__(s, oh);
    } else if (s->state == SESSION_HELLO) {
        session_fail__(
            s, mem_printf("sent %s before hello", ofptype_get_name(type)));
    } else if (type == OFPTYPE_ECHO_REQUEST) {
        session_reply__(s, ofputil_encode_echo_reply(oh));
    } else if (type == OFPTYPE_PORT_STATUS) {
        session_receive_port_status__(s, oh);
    } else if (type == OFPTYPE_BUNDLE_CONTROL) {
        session_receive_bundle__(s, oh);
    } else if (type == OFPTYPE_FLOW_REMOVED) {
        session_stats_receive_removed__(s, oh);
    } else if (type == OFPTYPE_ROLE_REPLY || type == OFPTYPE_ROLE_STATUS) {
        session_receive_role__(s, oh, type == OFPTYPE_ROLE_STATUS);
    } else if (type == OFPTYPE_PACKET_IN) {
        s->counters.packets++;
        session_receive_packet__(s, oh);
    } else if (type == OFPTYPE_METER_CONFIG_STATS_REPLY
               && session_receive_meter__(s, oh)) {
        return;
    } else if (type != OFPTYPE_ECHO_REPLY && !session_stats_receive__(s, oh)
               && !session_receive_reply__(s, type, oh)) {
        VLOG_DBG("%s: ignored %s while %s", s->name, ofptype_get_name(type),
                 session_state_to_string(s->state));
    }
}

/* Processes the message 'oh', of which as many bytes are there as its length
 * says, at least those of its header. */
void
session_receive(struct session *s, const struct ofp_header *oh, int64_t now)
{
    enum ofptype type;
    enum ofperr error;

    if (s->error) {
        return;
    }
    s->now = s->last_received = now;
    s->counters.received++;
    if (s->state != SESSION_HELLO && oh->version != s->version) {
        session_fail__(s, mem_printf("sent OpenFlow wire version 0x%02x after "
                                     "agreeing on 0x%02x",
                                     oh->version, s->version));
        return;
    }

    error = ofptype_decode(&type, oh);
    if (!error) {
        session_dispatch__(s, type, oh);
    } else if (error == OFPERR_OFPBRC_BAD_LEN) {
        session_fail__(s, mem_strdup("sent a message of a wrong length"));
    } else {
        session_reply__(s, ofperr_encode_reply(error, oh));
    }
    session_stats_run__(s);
}

/* Does what time calls for. */
void
session_run(struct session *s, int64_t now)
{
    if (s->error) {
        return;
    }
    s->now = now;
    if (now - s->last_received >= SESSION_DEAD_MS) {
        session_fail__(s, mem_strdup("is silent"));
    } else if (s->state < SESSION_READY
               && now - s->started >= SESSION_HANDSHAKE_MS) {
        session_fail__(s, mem_printf("takes too long for the handshake (%s)",
                                     session_state_to_string(s->state)));
    } else if (s->state > SESSION_HELLO
               && now - s->last_received >= SESSION_PROBE_MS
               && now - s->last_probe >= SESSION_PROBE_MS) {
        s->last_probe = now;
        s->counters.probes++;
        session_request__(s, ofputil_encode_echo_request(s->version));
    }
    if (now >= s->retry) {
        s->retry = INT64_MAX;
        s->dirty = true;
        session_sync__(s);
    }
    session_stats_run__(s);
}

static int64_t
min__(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the time at which session_run() should be called next. */
int64_t
session_wakeup(const struct session *s)
{
    int64_t heard = s->last_received;
    int64_t probe = heard > s->last_probe ? heard : s->last_probe;
    int64_t wakeup = min__(heard + SESSION_DEAD_MS, probe + SESSION_PROBE_MS);

    if (s->state < SESSION_READY) {
        wakeup = min__(wakeup, s->started + SESSION_HANDSHAKE_MS);
    }
    wakeup = min__(wakeup, session_stats_wakeup__(s->stats));
    return min__(wakeup, s->retry);
}

/* Adds to 'sum' what went over 's', which may be NULL. */
void
session_add_counters(const struct session *s, struct session_counters *sum)
{
    if (s) {
        sum->sent += s->counters.sent;
        sum->received += s->counters.received;
        sum->errors += s->counters.errors;
        sum->packets += s->counters.packets;
        sum->probes += s->counters.probes;
        sum->changes += s->counters.changes;
    }
}

/* Returns when the peer of 's' was heard last. */
int64_t
session_get_last_received(const struct session *s)
{
    return s->last_received;
}
