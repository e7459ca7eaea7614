/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "ofproto-dpif-lb.h"

#include "dp-packet.h"
#include "dpif.h"
#include "lb-calendar.h"
#include "lb-flow.h"
#include "lb-forward.h"
#include "lb-header.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "ofp-lb.h"
#include "ofproto-provider.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/vlog.h"
#include "packets.h"

VLOG_DEFINE_THIS_MODULE(ofproto_dpif_lb);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Returns true if the datapath takes a flow that matches on the lb_* fields
 * and has each of the lb_* actions. */
bool
ofproto_lb_probe(struct dpif *dpif)
{
    static const uint32_t members[1] = { LB_CALENDAR_NONE };
    static const struct ovs_action_lb_forward forward;
    struct odputil_keybuf keybuf;
    union lb_calendar_buf calendar;
    struct ofpbuf actions, key;
    struct flow flow;
    struct odp_flow_key_parms odp_parms = {
        .flow = &flow,
        .probe = true,
        .support = { .lb = true },
    };
    bool supported;

    memset(&flow, 0, sizeof flow);
    flow.lb_member = htons(1);
    ofpbuf_use_stack(&key, &keybuf, sizeof keybuf);
    odp_flow_key_from_flow(&odp_parms, &key);

    ofpbuf_init(&actions, 128);
    lb_calendar_init(&calendar.calendar, 0, 0, members);
    nl_msg_put_flag(&actions, OVS_ACTION_ATTR_LB_PARSE);
    ofproto_lb_put_calendar(&calendar.calendar, &actions);
    nl_msg_put_unspec(&actions, OVS_ACTION_ATTR_LB_FORWARD, &forward,
                      sizeof forward);
    supported = dpif_probe_feature(dpif, "event load balancing", &key,
                                   &actions, NULL);
    ofpbuf_uninit(&actions);

    VLOG_INFO("%s: Datapath %s event load balancing", dpif_name(dpif),
              supported ? "supports" : "does not support");
    return supported;
}

/* Checks 'group' for a datapath that cannot do event load balancing. */
static enum ofperr
check_unsupported_group(const struct ofgroup *group)
{
    const struct ofputil_bucket *bucket;

    if (ofp_lb_is_calendar(&group->props)) {
        VLOG_WARN_RL(&rl, "group %"PRIu32": datapath does not support "
                     LB_CALENDAR_METHOD, group->group_id);
        return OFPERR_OFPGMFC_INVALID_GROUP;
    }
    LIST_FOR_EACH (bucket, list_node, &group->buckets) {
        if (ofproto_lb_check_actions(bucket->ofpacts, bucket->ofpacts_len)) {
            return OFPERR_OFPGMFC_INVALID_GROUP;
        }
    }
    return 0;
}

/* Checks 'group' and, if it is an lb_calendar group, compiles its buckets into
 * '*calendar', which the caller must free; otherwise sets that to NULL.
 * 'supported' says whether the datapath can do event load balancing.  Returns
 * 0 or an OpenFlow error. */
enum ofperr
ofproto_lb_group_construct(const struct ofgroup *group, bool supported,
                           struct ovs_action_lb_calendar **calendar)
{
    uint32_t members[LB_CALENDAR_MAX_SLOTS];
    struct lb_calendar_param param;
    enum ofperr error;
    char *message;

    *calendar = NULL;
    if (!supported) {
        return check_unsupported_group(group);
    } else if (!ofp_lb_is_calendar(&group->props)) {
        return 0;
    }
    error = ofp_lb_calendar_check(&group->buckets, &group->props, members,
                                  &message);
    if (error) {
        VLOG_WARN_RL(&rl, "group %"PRIu32": %s", group->group_id, message);
        free(message);
        return error;
    }

    lb_calendar_param_decode(group->props.selection_method_param, &param);
    *calendar = xmalloc(lb_calendar_size(param.bits));
    lb_calendar_init(*calendar, param.bits, param.xor_value, members);
    return 0;
}

/* Returns the table that packets go on in after lb_calendar group 'group'. */
uint8_t
ofproto_lb_group_table(const struct ofgroup *group)
{
    struct lb_calendar_param param;

    lb_calendar_param_decode(group->props.selection_method_param, &param);
    return param.table;
}

void
ofproto_lb_put_calendar(const struct ovs_action_lb_calendar *calendar,
                        struct ofpbuf *odp_actions)
{
    nl_msg_put_unspec(odp_actions, OVS_ACTION_ATTR_LB_CALENDAR, calendar,
                      lb_calendar_size(calendar->bits));
}

void
ofproto_lb_put_forward(const struct ofpact_lb_forward *a,
                       struct ofpbuf *odp_actions)
{
    struct ovs_action_lb_forward forward = {
        .eth_src = a->eth_src,
        .eth_dst = a->eth_dst,
        .ip_src = a->ip_src,
        .ip_dst = a->ip_dst,
        .base = a->base,
        .bits = a->bits,
        .flags = (a->keep ? LB_FORWARD_KEEP : 0)
                 | (IN6_IS_ADDR_V4MAPPED(&a->ip_dst) ? 0 : LB_FORWARD_IPV6),
    };

    nl_msg_put_unspec(odp_actions, OVS_ACTION_ATTR_LB_FORWARD, &forward,
                      sizeof forward);
}

/* Makes 'flow' what a packet is after 'a', apart from the port select bits of
 * the UDP destination port, which are known per packet only. */
void
ofproto_lb_forward_flow(const struct ofpact_lb_forward *a, struct flow *flow)
{
    flow->dl_src = a->eth_src;
    flow->dl_dst = a->eth_dst;
    if (IN6_IS_ADDR_V4MAPPED(&a->ip_dst)) {
        flow->nw_src = in6_addr_get_mapped_ipv4(&a->ip_src);
        flow->nw_dst = in6_addr_get_mapped_ipv4(&a->ip_dst);
    } else {
        flow->ipv6_src = a->ip_src;
        flow->ipv6_dst = a->ip_dst;
    }
    flow->nw_ttl--;
    flow->tp_dst = htons(a->base);
    lb_key_to_flow(&(const struct ovs_key_lb) { .tick = 0 }, flow);
}

/* Puts the actions in 'odp_actions' from offset 'start' on into a clone(). */
void
ofproto_lb_wrap_in_clone(struct ofpbuf *odp_actions, size_t start)
{
    size_t len = odp_actions->size - start;
    char *actions;

    ofpbuf_put_zeros(odp_actions, NLA_HDRLEN);
    actions = ofpbuf_at_assert(odp_actions, start, len + NLA_HDRLEN);
    memmove(actions + NLA_HDRLEN, actions, len);
    *ALIGNED_CAST(struct nlattr *, actions) = (struct nlattr) {
        .nla_len = len + NLA_HDRLEN,
        .nla_type = OVS_ACTION_ATTR_CLONE,
    };
}

/* After lb_forward the flow no longer tells the packet's UDP port.  Returns
 * true if 'next' needs nothing that lb_forward made stale, so that it can go
 * on without another look at the packet.  Output must also be to a port whose
 * packets leave the switch, which this function cannot know. */
bool
ofproto_lb_forward_allows(const struct ofpact *next)
{
    switch ((int) next->type) {
    case OFPACT_OUTPUT: {
        ofp_port_t port = ofpact_get_OUTPUT(next)->port;

        return (ofp_to_u16(port) < ofp_to_u16(OFPP_MAX)
                || port == OFPP_IN_PORT || port == OFPP_LOCAL
                || port == OFPP_CONTROLLER || port == OFPP_NONE);
    }
    case OFPACT_SET_QUEUE:
    case OFPACT_POP_QUEUE:
    case OFPACT_NOTE:
        return true;
    default:
        return false;
    }
}

/* Returns the field that 'a' writes, NULL if none. */
static const struct mf_field *
written_field(const struct ofpact *a)
{
    switch ((int) a->type) {
    case OFPACT_SET_FIELD:
        return ofpact_get_SET_FIELD(a)->field;
    case OFPACT_REG_MOVE:
        return ofpact_get_REG_MOVE(a)->dst.field;
    case OFPACT_STACK_POP:
        return ofpact_get_STACK_POP(a)->subfield.field;
    case OFPACT_CHECK_PKT_LARGER:
        return ofpact_get_CHECK_PKT_LARGER(a)->dst.field;
    case OFPACT_MULTIPATH:
        return ofpact_get_MULTIPATH(a)->dst.field;
    case OFPACT_BUNDLE:
        return ofpact_get_BUNDLE(a)->dst.field;
    default:
        return NULL;
    }
}

/* Checks the 'ofpacts_len' bytes of 'ofpacts' for a datapath that cannot do
 * event load balancing.  Returns 0 or an OpenFlow error. */
enum ofperr
ofproto_lb_check_actions(const struct ofpact ofpacts[], size_t ofpacts_len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, ofpacts, ofpacts_len) {
        const struct mf_field *field = written_field(a);

        if (a->type == OFPACT_LB_PARSE || a->type == OFPACT_LB_FORWARD
            || (field && field->id == MFF_LB_MEMBER)) {
            VLOG_WARN_RL(&rl, "rejecting %s: datapath does not support event "
                         "load balancing", ofpact_name(a->type));
            return OFPERR_OFPBAC_BAD_TYPE;
        }
    }
    return 0;
}

/* Tracing. */

/* Sets the lb_* members of 'flow' as lb_parse would for 'packet'.  Without a
 * packet, takes them from 'flow' as they are: the user gave them. */
void
ofproto_lb_trace_parse(const struct dp_packet *packet, struct flow *flow)
{
    if (packet) {
        struct dp_packet *clone = dp_packet_clone(packet);
        struct ovs_key_lb key;

        lb_header_extract(clone, &key);
        lb_key_to_flow(&key, flow);
        dp_packet_delete(clone);
    }
}

/* Sets the lb_* members of 'flow' as 'calendar' would. */
void
ofproto_lb_trace_calendar(const struct ovs_action_lb_calendar *calendar,
                          struct flow *flow)
{
    struct ovs_key_lb key;

    lb_key_from_flow(flow, &key);
    lb_calendar_apply(calendar, &key);
    lb_key_to_flow(&key, flow);
}
