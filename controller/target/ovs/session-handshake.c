/* SPDX-License-Identifier: Apache-2.0 */

/* How a session learns which switch it is talking to, and what it holds. */

#include "controller/target/ovs/session-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <byte-order.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/ofp-switch.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/readback.h"
#include "flows/cookie.h"

VLOG_DEFINE_THIS_MODULE(evlb_handshake);

/* Returns the highest OpenFlow version in 'bitmap'. */
static unsigned int
highest_version__(uint32_t bitmap)
{
    return bitmap ? 31 - (unsigned int) __builtin_clz(bitmap) : 0;
}

void
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
    if (versions & 1u << OFP15_VERSION) {
        s->version = OFP15_VERSION;
    } else if (!(versions & 1u << OFP13_VERSION)) {
        session_send__(
            s, ofperr_encode_hello(OFPERR_OFPHFC_INCOMPATIBLE, OFP15_VERSION,
                                   "OpenFlow 1.5 or 1.3 is needed"));
        session_fail__(s, mem_printf("speaks OpenFlow wire version 0x%02x at "
                                     "most, but OpenFlow 1.5 (0x06) or 1.3 "
                                     "(0x04) is needed (ovs-vsctl set bridge "
                                     "BRIDGE protocols=OpenFlow15)",
                                     highest_version__(versions)));
        return;
    }
    session_ask__(s, SESSION_FEATURES,
                  ofpraw_alloc(OFPRAW_OFPT_FEATURES_REQUEST, s->version, 0));
}

void
session_receive_features__(struct session *s, struct ofpbuf *msg)
{
    struct ofputil_switch_features features;
    char *error = NULL;
    const char *name;

    if (ofputil_pull_switch_features(msg, &features)) {
        session_fail__(s, mem_strdup("sent malformed features"));
        return;
    }
    s->datapath_id = features.datapath_id;
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
        ofputil_encode_port_desc_stats_request(s->version, OFPP_ANY));
}

/* Asks what the switch holds of ours, in place of what was known of it. */
void
session_ask_groups__(struct session *s)
{
    rule_set_unref(s->installed);
    s->installed = NULL;
    readback_destroy(s->readback);
    s->readback = readback_create(s->slot_flows);
    session_ask__(s, SESSION_GROUPS,
                  ofputil_encode_group_desc_request(s->version, OFPG_ALL));
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
                  ofputil_encode_flow_stats_request(
                      &fsr, ofputil_protocol_from_ofp_version(s->version)));
}

void
session_receive_ports__(struct session *s, struct ofpbuf *msg, bool more)
{
    struct ofputil_phy_port pp;
    int retval;

    ofpraw_pull_assert(msg);
    while (!(retval = ofputil_pull_phy_port(s->version, msg, &pp))) {
        ovs_ports_set(&s->ports, &pp);
    }
    if (retval != EOF) {
        session_fail__(s, mem_strdup("sent a malformed list of ports"));
    } else if (!more) {
        session_start_trial__(s);
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

void
session_receive_groups__(struct session *s, struct ofpbuf *msg, bool more)
{
    struct ofputil_group_desc gd;
    int retval = 0;

    while (!readback_is_full__(s)) {
        retval = ofputil_decode_group_desc_reply(&gd, msg, s->version);
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

void
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
        session_stats_found__(s, s->readback->flows.n);
        VLOG_INFO("%s: has %zu ports, and %zu flows and groups of ours",
                  s->name, s->ports.n, s->readback->flows.n);
        if (s->handlers->held) {
            s->handlers->held(s->aux, s, s->readback);
        }
        s->state = SESSION_READY;
        session_check_meters__(s);
        s->dirty = true;
        session_sync__(s);
    }
}
