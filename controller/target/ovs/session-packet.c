/* SPDX-License-Identifier: Apache-2.0 */

/* Packets that a session sends out of ports of the switch, packets that its
 * flows send to us, and the meters that bound these. */

#include "controller/target/ovs/session-private.h"

#include <string.h>

#include <flow.h>
#include <openvswitch/match.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-meter.h>
#include <openvswitch/ofp-packet.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "flows/cookie.h"

VLOG_DEFINE_THIS_MODULE(evlb_packet);

/* Transaction ids that no other request has: session.c counts from 1. */
#define XID_PACKET UINT32_C(0xffffff00)
#define XID_METER_READ UINT32_C(0xffffff10)  /* + index into 'meters'. */
#define XID_METER_WRITE UINT32_C(0xffffff20) /* + index into 'meters'. */

/* The meters of the switch as a whole (Open vSwitch has the first one for what
 * its fast path cannot do by itself). */
static const struct {
    uint32_t id;
    const char *name;
} meters[] = { { OFPM13_SLOWPATH, "slow-path" },
               { OFPM13_CONTROLLER, "controller" } };
#define N_METERS (sizeof meters / sizeof meters[0])

/* Sends the frame of 'size' bytes at 'data' out of 'port', which may be one of
 * OpenFlow's reserved ports, unless that is up to another controller. */
void
session_send_packet(struct session *s, uint32_t port, const void *data,
                    size_t size)
{
    struct ofputil_packet_out po;
    struct ofpbuf actions;
    struct ofpbuf *msg;

    if (s->state < SESSION_READY || s->secondary) {
        return;
    }
    ofpbuf_init(&actions, 0);
    ofpact_put_OUTPUT(&actions)->port = u16_to_ofp((uint16_t) port);
    memset(&po, 0, sizeof po);
    po.packet = data;
    po.packet_len = size;
    po.buffer_id = UINT32_MAX;
    match_init_catchall(&po.flow_metadata);
    match_set_in_port(&po.flow_metadata, OFPP_CONTROLLER);
    po.ofpacts = actions.data;
    po.ofpacts_len = actions.size;

    msg = ofputil_encode_packet_out(
        &po, ofputil_protocol_from_ofp_version(s->version));
    ((struct ofp_header *) msg->data)->xid = htonl(XID_PACKET);
    session_send__(s, msg);
    ofpbuf_uninit(&actions);
}

/* Returns true if there is room for one more packet at 's->now': the switch's
 * meter should see to that, but a switch is not trusted. */
static bool
take_credit__(struct session *s)
{
    int64_t passed = s->now - s->packet_time;
    int64_t credit = s->packet_credit + passed * SESSION_PACKETS_S / 1000;

    if (passed > 0) {
        s->packet_credit =
            credit > SESSION_PACKETS_S ? SESSION_PACKETS_S : credit;
        s->packet_time = s->now;
    }
    return s->packet_credit > 0 && s->packet_credit--;
}

/* Processes the packet in 'oh'. */
void
session_receive_packet__(struct session *s, const struct ofp_header *oh)
{
    struct ofputil_packet_in pin;
    struct session_packet packet;
    struct cookie cookie;
    uint32_t buffer_id;
    size_t total_len;

    if (ofputil_decode_packet_in(oh, true, NULL, NULL, &pin, &total_len,
                                 &buffer_id, NULL)) {
        session_fail__(s, mem_strdup("sent a malformed packet-in"));
    } else if (s->handlers->packet
               && cookie_decode(ntohll(pin.cookie), &cookie)
               && take_credit__(s)) {
        packet.port = ofp_to_u16(pin.flow_metadata.flow.in_port.ofp_port);
        packet.data = pin.packet;
        packet.size = pin.packet_len;
        s->handlers->packet(s->aux, s, &packet);
    } else {
        VLOG_DBG("%s: ignored a packet-in", s->name);
    }
}

/* Meters. */

static unsigned int
rate__(const struct session *s, size_t i)
{
    return i ? s->limits.controller : s->limits.slow_path;
}

static void
write_meter__(struct session *s, size_t i, uint16_t command)
{
    struct ofputil_meter_band band = { .type = OFPMBT13_DROP,
                                       .rate = rate__(s, i),
                                       .burst_size = rate__(s, i) };
    const struct ofputil_meter_mod mm = { .command = command,
                                          .meter = { .meter_id = meters[i].id,
                                                     .flags = OFPMF13_PKTPS
                                                              | OFPMF13_BURST,
                                                     .n_bands = 1,
                                                     .bands = &band } };
    struct ofpbuf *msg;

    if (s->secondary) {
        return;
    }
    msg = ofputil_encode_meter_mod(s->version, &mm);
    ((struct ofp_header *) msg->data)->xid =
        htonl(XID_METER_WRITE + (uint32_t) i);
    session_send__(s, msg);
    VLOG_INFO("%s: %s meter set to %u packets/s", s->name, meters[i].name,
              rate__(s, i));
}

/* Asks for the meters that have a limit, to compare them with it. */
void
session_check_meters__(struct session *s)
{
    for (size_t i = 0; i < N_METERS; i++) {
        struct ofpbuf *msg;

        if (!rate__(s, i)) {
            continue;
        }
        msg = ofputil_encode_meter_request(s->version, OFPUTIL_METER_CONFIG,
                                           meters[i].id);
        ((struct ofp_header *) msg->data)->xid =
            htonl(XID_METER_READ + (uint32_t) i);
        session_send__(s, msg);
    }
}

static bool
meter_is__(const struct ofputil_meter_config *mc, unsigned int rate)
{
    return mc->flags == (OFPMF13_PKTPS | OFPMF13_BURST) && mc->n_bands == 1
           && mc->bands[0].type == OFPMBT13_DROP && mc->bands[0].rate == rate
           && mc->bands[0].burst_size == rate;
}

/* Processes 'oh' if it is what session_check_meters__() asked for. */
bool
session_receive_meter__(struct session *s, const struct ofp_header *oh)
{
    struct ofpbuf msg = ofpbuf_const_initializer(oh, ntohs(oh->length));
    size_t i = ntohl(oh->xid) - XID_METER_READ;
    struct ofputil_meter_config mc;
    struct ofpbuf bands;

    if (i >= N_METERS) {
        return false;
    }
    ofpbuf_init(&bands, 0);
    if (ofputil_decode_meter_config(&msg, &mc, &bands)) {
        session_fail__(s, mem_strdup("sent a malformed meter"));
    } else if (!meter_is__(&mc, rate__(s, i))) {
        write_meter__(s, i, OFPMC13_MODIFY);
    }
    ofpbuf_uninit(&bands);
    return true;
}

/* Processes the error about request 'xid' if that is one of this file's. */
bool
session_receive_packet_error__(struct session *s, uint32_t xid,
                               enum ofperr error)
{
    if (xid == XID_PACKET) {
        VLOG_WARN("%s: does not send our packets: %s", s->name,
                  ofperr_to_string(error));
        return true;
    }
    if (xid - XID_METER_READ < N_METERS) {
        write_meter__(s, xid - XID_METER_READ, OFPMC13_ADD);
        return true;
    }
    if (xid - XID_METER_WRITE < N_METERS) {
        VLOG_WARN("%s: has no %s meter: %s", s->name,
                  meters[xid - XID_METER_WRITE].name, ofperr_to_string(error));
        return true;
    }
    return false;
}

/* Sets the limits of the switch's meters. */
void
session_set_limits(struct session *s, const struct session_limits *limits)
{
    s->limits = *limits;
    if (s->state >= SESSION_READY) {
        session_check_meters__(s);
    }
}
