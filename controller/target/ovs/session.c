/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <byte-order.h>
#include <openvswitch/list.h>
#include <openvswitch/ofp-bundle.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/ofp-switch.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/ofpbuf.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/change.h"
#include "controller/target/ovs/ports.h"
#include "controller/target/ovs/readback.h"
#include "flows/cookie.h"

VLOG_DEFINE_THIS_MODULE(evlb_session);

/* A peer that asks more than this without reading answers is given up. */
#define MAX_REPLIES 1000

struct session {
    char *name; /* The peer's, then the switch's, too. */
    const struct session_handlers *handlers;
    void *aux;

    enum session_state state;
    uint32_t next_xid;
    uint32_t awaited_xid;     /* Of the reply that the state waits for. */
    struct ovs_list requests; /* To be sent. */
    size_t n_replies;         /* Replies among them. */
    char *error;              /* Why the session is over, or NULL. */

    int64_t now;
    int64_t created;
    int64_t last_received;
    int64_t last_probe;
    int64_t retry; /* When to try a refused change again. */

    struct ovs_ports ports;
    const struct rule_set *rules;     /* What the switch should hold. */
    const struct rule_set *installed; /* What it does, once it is READY. */
    struct readback *readback;        /* Until the first change is done. */
    bool dirty;                       /* Does something call for a change? */
    char *missing_ports;              /* That rules name, as last reported. */

    struct change *change;               /* The one under way. */
    const struct rule_set *change_rules; /* 'rules' that it is for. */
    bool refused; /* Did the switch refuse part of it? */
    int64_t change_started;
};

static void session_sync__(struct session *);

/* Ends 's' for the reason 'error', which it takes. */
static void
session_fail__(struct session *s, char *error)
{
    if (s->error) {
        free(error);
    } else {
        s->error = error;
    }
}

/* Sends 'msg' as it is. */
static void
session_send__(struct session *s, struct ofpbuf *msg)
{
    ovs_list_push_back(&s->requests, &msg->list_node);
}

/* Sends 'msg' with the next transaction id, which it returns. */
static uint32_t
session_request__(struct session *s, struct ofpbuf *msg)
{
    struct ofp_header *oh = msg->data;

    oh->xid = htonl(s->next_xid);
    session_send__(s, msg);
    return s->next_xid++;
}

/* Sends 'msg' and waits for its reply in 'state'. */
static void
session_ask__(struct session *s, enum session_state state, struct ofpbuf *msg)
{
    s->awaited_xid = session_request__(s, msg);
    s->state = state;
}

/* Sends 'msg', which answers something. */
static void
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
    s->now = s->created = s->last_received = s->last_probe = now;
    s->retry = INT64_MAX;
    ovs_ports_init(&s->ports);
    session_request__(s, ofputil_encode_hello(1u << OFP15_VERSION));
    return s;
}

/* Destroys 's', which may be NULL. */
void
session_destroy(struct session *s)
{
    if (s) {
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
    ofpmsg_update_length(msg);
    return msg;
}

/* Returns why the session is over, or NULL if it is not. */
const char *
session_get_error(const struct session *s)
{
    return s->error;
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

/* Makes 'rules' what the switch should hold. */
void
session_set_rules(struct session *s, const struct rule_set *rules, int64_t now)
{
    s->now = now;
    rule_set_unref(s->rules);
    s->rules = rule_set_ref(rules);
    s->dirty = true;
    session_sync__(s);
}

/* Changes. */

static void
end_change__(struct session *s)
{
    change_destroy(s->change);
    s->change = NULL;
    rule_set_unref(s->change_rules);
    s->change_rules = NULL;
    s->state = SESSION_READY;
}

/* The switch holds what 's->change' wanted. */
static void
complete_change__(struct session *s)
{
    const struct rule_set *rules = rule_set_ref(s->change_rules);

    if (s->change->n_messages) {
        VLOG_INFO("%s: change committed: %zu steps, %zu messages, %" PRId64
                  " ms",
                  s->name, s->change->diff.n, s->change->n_messages,
                  s->now - s->change_started);
    }
    rule_set_unref(s->installed);
    s->installed = rule_set_ref(s->change->desired);
    end_change__(s);
    readback_destroy(s->readback);
    s->readback = NULL;
    s->handlers->committed(s->aux, s, rules);
    rule_set_unref(rules);
    session_sync__(s);
}

/* Sends 's->change', or completes it if there is nothing to send. */
static void
start_change__(struct session *s)
{
    s->refused = false;
    s->change_started = s->now;
    s->change_rules = rule_set_ref(s->rules);
    if (!s->change->n_messages) {
        complete_change__(s);
        return;
    }
    s->next_xid =
        change_put_bundle(s->change, s->next_xid, s->next_xid, &s->requests);
    session_ask__(s, SESSION_STAGING,
                  ofputil_encode_barrier_request(OFP15_VERSION));
}

/* Makes in 's->change' the change from what the switch holds to 'desired'. */
static char *
make_change__(struct session *s, const struct rule_set *desired)
{
    const struct rule_set *installed;
    char *error;

    installed = s->readback ? readback_compare(s->readback, desired)
                            : rule_set_ref(s->installed);
    error = change_create(installed, desired, s->readback, &s->change);
    rule_set_unref(installed);
    return error;
}

/* Returns the rules that the switch should hold, for the ports that it has;
 * the caller must unref them. */
static const struct rule_set *
resolve_ports__(struct session *s)
{
    const struct rule_set *desired;
    char *missing;

    desired = ovs_ports_resolve(&s->ports, s->rules, &missing);
    if (*missing && (!s->missing_ports || strcmp(missing, s->missing_ports))) {
        VLOG_WARN("%s: lacks ports%s; packets for members there are dropped",
                  s->name, missing);
    }
    free(s->missing_ports);
    s->missing_ports = missing;
    return desired;
}

/* Starts the change from what the switch holds to what it should hold, unless
 * one is under way or nothing calls for it. */
static void
session_sync__(struct session *s)
{
    const struct rule_set *desired;
    char *error;

    if (s->state != SESSION_READY || !s->dirty || !s->rules) {
        return;
    }
    s->dirty = false;
    s->retry = INT64_MAX;

    desired = resolve_ports__(s);
    error = make_change__(s, desired);
    rule_set_unref(desired);
    if (error) {
        VLOG_ERR("%s: nothing is changed: %s", s->name, error);
        free(error);
    } else {
        start_change__(s);
    }
}

/* The switch has answered all messages of the change, and has reported those
 * that it refused. */
static void
finish_staging__(struct session *s)
{
    if (s->refused) {
        session_request__(s, change_encode_discard(s->change));
        end_change__(s);
        s->retry = s->now + SESSION_RETRY_MS;
    } else {
        session_ask__(s, SESSION_COMMITTING, change_encode_commit(s->change));
    }
}

/* Reports the error message 'oh', and lets it take effect. */
static void
session_receive_error__(struct session *s, const struct ofp_header *oh)
{
    uint32_t xid = ntohl(oh->xid);
    struct ofpbuf payload;
    enum ofperr ofperr;
    char *what;

    ofperr = ofperr_decode_msg(oh, &payload);
    if (!ofperr) {
        session_fail__(s, mem_strdup("sent a malformed error"));
        return;
    }
    ofpbuf_uninit(&payload);

    what = s->change ? change_explain_xid(s->change, xid) : NULL;
    if (what) {
        VLOG_ERR("%s: refused the %s: %s", s->name, what,
                 ofperr_to_string(ofperr));
        s->refused = true;
    } else if (s->state == SESSION_COMMITTING && xid == s->awaited_xid) {
        VLOG_ERR("%s: change not committed, everything is as before: %s",
                 s->name, ofperr_to_string(ofperr));
        end_change__(s);
        s->retry = s->now + SESSION_RETRY_MS;
    } else if (s->state == SESSION_STAGING) {
        VLOG_ERR("%s: refused the change: %s", s->name,
                 ofperr_to_string(ofperr));
        s->refused = true;
    } else {
        session_fail__(s, mem_printf("answered with error %s while %s",
                                     ofperr_to_string(ofperr),
                                     session_state_to_string(s->state)));
    }
    free(what);
}

/* Messages of the handshake. */

/* Returns the highest OpenFlow version in 'bitmap'. */
static unsigned int
highest_version__(uint32_t bitmap)
{
    return bitmap ? 31 - (unsigned int) __builtin_clz(bitmap) : 0;
}

static void
session_receive_hello__(struct session *s, const struct ofp_header *oh)
{
    uint32_t versions;

    if (s->state != SESSION_HELLO) {
        session_fail__(s, mem_strdup("sent a second hello"));
        return;
    }
    if (!ofputil_decode_hello(oh, &versions)) {
        VLOG_WARN("%s: sent a hello with elements that are not known",
                  s->name);
    }
    if (!(versions & (1u << OFP15_VERSION))) {
        session_send__(s, ofperr_encode_hello(OFPERR_OFPHFC_INCOMPATIBLE,
                                              OFP15_VERSION,
                                              "OpenFlow 1.5 is needed"));
        session_fail__(s, mem_printf("speaks OpenFlow wire version 0x%02x at "
                                     "most, but OpenFlow 1.5 (0x06) is needed "
                                     "(ovs-vsctl set bridge BRIDGE "
                                     "protocols=OpenFlow15)",
                                     highest_version__(versions)));
        return;
    }
    session_ask__(
        s, SESSION_FEATURES,
        ofpraw_alloc(OFPRAW_OFPT_FEATURES_REQUEST, OFP15_VERSION, 0));
}

static void
session_receive_features__(struct session *s, struct ofpbuf *msg)
{
    struct ofputil_switch_features features;
    char *error = NULL;
    const char *name;

    if (ofputil_pull_switch_features(msg, &features)) {
        session_fail__(s, mem_strdup("sent malformed features"));
        return;
    }
    name = s->handlers->identify(s->aux, s, features.datapath_id, &error);
    if (!name) {
        session_fail__(s, error);
        return;
    }

    VLOG_INFO("%s: is switch %s, datapath id %016" PRIx64, s->name, name,
              features.datapath_id);
    free(s->name);
    s->name = mem_strdup(name);
    session_ask__(
        s, SESSION_PORTS,
        ofputil_encode_port_desc_stats_request(OFP15_VERSION, OFPP_ANY));
}

static void
ask_groups__(struct session *s)
{
    s->readback = readback_create();
    session_ask__(s, SESSION_GROUPS,
                  ofputil_encode_group_desc_request(OFP15_VERSION, OFPG_ALL));
}

static void
ask_flows__(struct session *s)
{
    struct ofputil_flow_stats_request fsr = { .cookie = htonll(COOKIE_MAGIC),
                                              .cookie_mask =
                                                  htonll(COOKIE_MASK),
                                              .out_port = OFPP_ANY,
                                              .out_group = OFPG_ANY,
                                              .table_id = 0xff };

    match_init_catchall(&fsr.match);
    session_ask__(s, SESSION_FLOWS,
                  ofputil_encode_flow_stats_request(&fsr, OFPUTIL_P_OF15_OXM));
}

static void
session_receive_ports__(struct session *s, struct ofpbuf *msg, bool more)
{
    struct ofputil_phy_port pp;
    int retval;

    ofpraw_pull_assert(msg);
    while (!(retval = ofputil_pull_phy_port(OFP15_VERSION, msg, &pp))) {
        ovs_ports_set(&s->ports, &pp);
    }
    if (retval != EOF) {
        session_fail__(s, mem_strdup("sent a malformed list of ports"));
    } else if (!more) {
        ask_groups__(s);
    }
}

static bool
readback_is_full__(struct session *s)
{
    if (s->readback->flows.n > READBACK_MAX) {
        session_fail__(s, mem_printf("has more than %d flows and groups of "
                                     "ours",
                                     READBACK_MAX));
        return true;
    }
    return false;
}

static void
session_receive_groups__(struct session *s, struct ofpbuf *msg, bool more)
{
    struct ofputil_group_desc gd;
    int retval = 0;

    while (!readback_is_full__(s)) {
        retval = ofputil_decode_group_desc_reply(&gd, msg, OFP15_VERSION);
        if (retval) {
            break;
        }
        flows_add_group_desc(&gd, &s->readback->flows);
        ofputil_uninit_group_desc(&gd);
    }
    if (retval && retval != EOF) {
        session_fail__(s, mem_strdup("sent a malformed list of groups"));
    } else if (!more) {
        ask_flows__(s);
    }
}

static void
session_receive_flows__(struct session *s, struct ofpbuf *msg, bool more)
{
    struct ofputil_flow_stats fs;
    struct ofpbuf actions;
    int retval = 0;

    ofpbuf_init(&actions, 256);
    while (!readback_is_full__(s)) {
        retval = ofputil_decode_flow_stats_reply(&fs, msg, false, &actions);
        if (retval) {
            break;
        }
        flows_add_flow_stats(&fs, &s->readback->flows);
    }
    ofpbuf_uninit(&actions);
    if (retval && retval != EOF) {
        session_fail__(s, mem_strdup("sent a malformed list of flows"));
    } else if (!more) {
        readback_seal(s->readback);
        VLOG_INFO("%s: has %zu ports, and %zu flows and groups of ours",
                  s->name, s->ports.n, s->readback->flows.n);
        s->state = SESSION_READY;
        s->dirty = true;
        session_sync__(s);
    }
}

/* Other messages. */

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
            complete_change__(s);
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
    } else if (s->state == SESSION_STAGING && type == OFPTYPE_BARRIER_REPLY) {
        finish_staging__(s);
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
    } else if (type != OFPTYPE_ECHO_REPLY
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
    if (s->state != SESSION_HELLO && oh->version != OFP15_VERSION) {
        session_fail__(s, mem_printf("sent OpenFlow wire version 0x%02x after "
                                     "agreeing on 0x06",
                                     oh->version));
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
               && now - s->created >= SESSION_HANDSHAKE_MS) {
        session_fail__(s, mem_printf("takes too long for the handshake (%s)",
                                     session_state_to_string(s->state)));
    } else if (s->state > SESSION_HELLO
               && now - s->last_received >= SESSION_PROBE_MS
               && now - s->last_probe >= SESSION_PROBE_MS) {
        s->last_probe = now;
        session_request__(s, ofputil_encode_echo_request(OFP15_VERSION));
    }
    if (now >= s->retry) {
        s->dirty = true;
        session_sync__(s);
    }
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
        wakeup = min__(wakeup, s->created + SESSION_HANDSHAKE_MS);
    }
    return min__(wakeup, s->retry);
}
