/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "odp-lb.h"

#include <errno.h>
#include <string.h>

#include "byte-order.h"
#include "coverage.h"
#include "dp-packet.h"
#include "flow.h"
#include "hash.h"
#include "lb-header.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "util.h"

COVERAGE_DEFINE(datapath_drop_lb_forward);

/* Reads the load-balancer header of each packet into its metadata. */
void
odp_execute_lb_parse(struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        lb_header_extract(packet, &packet->md.lb);
        packet->md.lb_valid = true;
    }
}

/* Makes the RSS hash, which indexes the exact match cache, tell members
 * apart: one sender's packets go to all of them. */
static void
mix_member_into_hash(struct dp_packet *packet)
{
    if (dp_packet_rss_valid(packet)) {
        uint32_t hash = dp_packet_get_rss_hash(packet);
        uint32_t member = (OVS_FORCE uint32_t) packet->md.lb.member;

        dp_packet_set_rss_hash(packet, hash_int(member, hash));
    }
}

/* Gives each packet the member that calendar 'a' has for it. */
void
odp_execute_lb_calendar(struct dp_packet_batch *batch, const struct nlattr *a)
{
    const struct ovs_action_lb_calendar *calendar = nl_attr_get(a);
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        struct pkt_metadata *md = &packet->md;

        if (OVS_UNLIKELY(!md->lb_valid)) {
            memset(&md->lb, 0, sizeof md->lb);
            md->lb_valid = true;
        }
        lb_calendar_apply(calendar, &md->lb);
        mix_member_into_hash(packet);
    }
}

/* Rewrites each packet for its member as 'a' says.  Packets that are no event
 * packets of the right family are dropped and counted. */
void
odp_execute_lb_forward(struct dp_packet_batch *batch, const struct nlattr *a)
{
    const struct ovs_action_lb_forward *forward = nl_attr_get(a);
    const size_t num = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, num, packet, batch) {
        if (OVS_LIKELY(lb_forward_packet(packet, forward))) {
            dp_packet_batch_refill(batch, packet, i);
        } else {
            COVERAGE_INC(datapath_drop_lb_forward);
            dp_packet_delete(packet);
        }
    }
}

/* Sets the bits of 'packet''s lb_* fields that are 1 in 'mask', all of them if
 * 'mask' is NULL, to those in 'key'.  Both may be unaligned. */
void
odp_execute_set_lb(struct dp_packet *packet, const struct ovs_key_lb *key,
                   const struct ovs_key_lb *mask)
{
    struct pkt_metadata *md = &packet->md;
    uint8_t *dst = (uint8_t *) &md->lb;
    const uint8_t *k = (const uint8_t *) key;
    const uint8_t *m = (const uint8_t *) mask;

    if (!md->lb_valid) {
        memset(&md->lb, 0, sizeof md->lb);
        md->lb_valid = true;
    }
    for (size_t i = 0; i < sizeof md->lb; i++) {
        uint8_t bits = m ? m[i] : UINT8_MAX;

        dst[i] = (k[i] & bits) | (dst[i] & ~bits);
    }
}

/* Lets the datapath know the 'lb_member' that OpenFlow actions set, so that it
 * is there after recirculation.  Writes no bits but those that 'wc' has, that
 * is, that were written or matched: the others differ from packet to packet of
 * the datapath flow. */
void
odp_lb_commit_member(const struct flow *flow, struct flow *base,
                     struct ofpbuf *odp_actions,
                     const struct flow_wildcards *wc)
{
    ovs_be16 mask = wc->masks.lb_member;
    struct {
        struct ovs_key_lb key;
        struct ovs_key_lb mask;
    } set = { .key = { .member = flow->lb_member & mask },
              .mask = { .member = mask } };
    size_t offset;

    if (flow->lb_member != base->lb_member) {
        offset = nl_msg_start_nested(odp_actions, OVS_ACTION_ATTR_SET_MASKED);
        nl_msg_put_unspec(odp_actions, OVS_KEY_ATTR_LB, &set, sizeof set);
        nl_msg_end_nested(odp_actions, offset);
        base->lb_member = flow->lb_member;
    }
}

/* Text. */

/* Formats the slots of 'c' in order, runs as 'MEMBER*COUNT', '-' for a slot
 * without a bucket. */
static void
format_slots(const struct ovs_action_lb_calendar *c, struct ds *ds)
{
    size_t n = (size_t) 1 << c->bits;
    size_t run;

    for (size_t i = 0; i < n; i += run) {
        for (run = 1; i + run < n && c->member[i + run] == c->member[i]; ) {
            run++;
        }
        if (i) {
            ds_put_char(ds, '/');
        }
        if (c->member[i] == c->none) {
            ds_put_char(ds, '-');
        } else {
            ds_put_format(ds, "%"PRIu16, ntohs(c->member[i]));
        }
        if (run > 1) {
            ds_put_format(ds, "*%"PRIuSIZE, run);
        }
    }
}

/* Appends to 'ds' the OVS_ACTION_ATTR_LB_CALENDAR action 'a'. */
void
odp_lb_calendar_format(const struct nlattr *a, struct ds *ds)
{
    const struct ovs_action_lb_calendar *c = nl_attr_get(a);

    if (!lb_calendar_is_valid(c, nl_attr_get_size(a))) {
        ds_put_cstr(ds, "lb_calendar(invalid)");
        return;
    }
    ds_put_format(ds, "lb_calendar(bits=%"PRIu8",xor=%#"PRIx16",members=",
                  c->bits, ntohs(c->xor));
    format_slots(c, ds);
    ds_put_char(ds, ')');
}

/* Appends to 'ds' the OVS_ACTION_ATTR_LB_FORWARD action 'a'. */
void
odp_lb_forward_format(const struct nlattr *a, struct ds *ds)
{
    const struct ovs_action_lb_forward *f = nl_attr_get(a);

    ds_put_format(ds, "lb_forward(eth_src="ETH_ADDR_FMT",eth_dst="ETH_ADDR_FMT
                  ",ip_src=", ETH_ADDR_ARGS(f->eth_src),
                  ETH_ADDR_ARGS(f->eth_dst));
    ipv6_format_mapped(&f->ip_src, ds);
    ds_put_cstr(ds, ",ip_dst=");
    ipv6_format_mapped(&f->ip_dst, ds);
    ds_put_format(ds, ",base=%"PRIu16",bits=%"PRIu8"%s)", f->base, f->bits,
                  f->flags & LB_FORWARD_KEEP ? ",keep" : "");
}

/* Appends 'name', its value and its mask, unless 'mask' is 0. */
static void
format_key_field(struct ds *ds, const char *name, uint64_t value,
                 uint64_t mask, uint64_t exact, bool hex, bool verbose)
{
    if (mask || verbose) {
        ds_put_format(ds, hex ? "%s=%#"PRIx64 : "%s=%"PRIu64, name, value);
        if (mask != exact) {
            ds_put_format(ds, "/%#"PRIx64, mask);
        }
        ds_put_char(ds, ',');
    }
}

/* Appends to 'ds' the fields of OVS_KEY_ATTR_LB 'a' that its mask 'ma', which
 * may be NULL, or 'verbose' asks for. */
void
odp_lb_key_format(const struct nlattr *a, const struct nlattr *ma,
                  bool verbose, struct ds *ds)
{
    struct ovs_key_lb k, m;

    memcpy(&k, nl_attr_get(a), sizeof k);
    memset(&m, 0xff, sizeof m);
    if (ma) {
        memcpy(&m, nl_attr_get(ma), sizeof m);
    }
#define FIELD(NAME, NTOH, EXACT, HEX)                           \
    format_key_field(ds, #NAME, NTOH(k.NAME), NTOH(m.NAME), EXACT, HEX, \
                     verbose)
    FIELD(status, (uint8_t), UINT8_MAX, false);
    FIELD(version, (uint8_t), UINT8_MAX, false);
    FIELD(member, ntohs, UINT16_MAX, false);
    FIELD(tick, ntohll, UINT64_MAX, true);
    FIELD(slot_select, ntohs, UINT16_MAX, true);
    FIELD(port_select, ntohs, UINT16_MAX, true);
#undef FIELD
    ds_chomp(ds, ',');
}

/* Parses one 'MEMBER*COUNT' or '-*COUNT' at 's' into 'members' from '*n' on.
 * Returns the number of bytes used, 0 on error. */
static int
parse_slot_run(const char *s, uint32_t members[], size_t *n)
{
    unsigned int member = LB_CALENDAR_NONE;
    unsigned int count = 1;
    int len = 0;
    int more = 0;

    if (*s == '-') {
        len = 1;
    } else if (!ovs_scan(s, "%5u%n", &member, &len) || member > UINT16_MAX) {
        return 0;
    }
    if (ovs_scan(s + len, "*%3u%n", &count, &more)) {
        len += more;
    }
    if (!count || count > LB_CALENDAR_MAX_SLOTS - *n) {
        return 0;
    }
    while (count--) {
        members[(*n)++] = member;
    }
    return len;
}

static int
parse_calendar(const char *s, struct ofpbuf *actions)
{
    uint32_t members[LB_CALENDAR_MAX_SLOTS];
    union lb_calendar_buf buf;
    const char *start = s;
    unsigned int bits, xor;
    size_t n = 0;
    int len = 0;

    /* Widths keep numbers from wrapping, which ovs_scan() does not notice. */
    if (!ovs_scan(s, "lb_calendar(bits=%1u,xor=%6i,members=%n", &bits,
                  &xor, &len)
        || bits > LB_CALENDAR_MAX_BITS || xor > UINT16_MAX) {
        return -EINVAL;
    }
    do {
        s += len;
        len = parse_slot_run(s, members, &n);
        if (!len) {
            return -EINVAL;
        }
        s += len;
        len = 1;
    } while (*s == '/');
    if (*s != ')' || n != 1u << bits) {
        return -EINVAL;
    }

    lb_calendar_init(&buf.calendar, bits, xor, members);
    nl_msg_put_unspec(actions, OVS_ACTION_ATTR_LB_CALENDAR, &buf,
                      lb_calendar_size(bits));
    return s + 1 - start;
}

/* Parses the IPv4 or IPv6 address at 's'.  Returns its length, 0 on error. */
static int
parse_ip(const char *s, struct in6_addr *ip)
{
    int len = strcspn(s, ",)");
    char text[INET6_ADDRSTRLEN];

    if (len >= (int) sizeof text) {
        return 0;
    }
    ovs_strzcpy(text, s, len + 1);
    return lb_forward_ip_parse(text, ip) ? len : 0;
}

static int
parse_forward(const char *s, struct ofpbuf *actions)
{
    struct ovs_action_lb_forward f;
    const char *start = s;
    unsigned int base, bits;
    bool ipv6;
    int len;

    memset(&f, 0, sizeof f);
    if (!ovs_scan(s, "lb_forward(eth_src="ETH_ADDR_SCAN_FMT",eth_dst="
                  ETH_ADDR_SCAN_FMT",ip_src=%n", ETH_ADDR_SCAN_ARGS(f.eth_src),
                  ETH_ADDR_SCAN_ARGS(f.eth_dst), &len)) {
        return -EINVAL;
    }
    s += len;
    len = parse_ip(s, &f.ip_src);
    s += len;
    if (!len || strncmp(s, ",ip_dst=", 8)) {
        return -EINVAL;
    }
    s += 8;
    len = parse_ip(s, &f.ip_dst);
    s += len;
    if (!len || !ovs_scan(s, ",base=%5u,bits=%2u%n", &base, &bits, &len)
        || base > UINT16_MAX || bits > 16) {
        return -EINVAL;
    }
    f.base = base;
    f.bits = bits;
    s += len;
    if (!strncmp(s, ",keep", 5)) {
        f.flags |= LB_FORWARD_KEEP;
        s += 5;
    }
    ipv6 = !IN6_IS_ADDR_V4MAPPED(&f.ip_src);
    if (*s != ')' || ipv6 != !IN6_IS_ADDR_V4MAPPED(&f.ip_dst)) {
        return -EINVAL;
    }
    f.flags |= ipv6 ? LB_FORWARD_IPV6 : 0;
    nl_msg_put_unspec(actions, OVS_ACTION_ATTR_LB_FORWARD, &f, sizeof f);
    return s + 1 - start;
}

/* Parses the lb_* action at the start of 's' and appends it to 'actions'.
 * Returns the number of bytes used, 0 if there is none, or -EINVAL. */
int
odp_lb_action_parse(const char *s, struct ofpbuf *actions)
{
    if (!strncmp(s, "lb_parse", 8)) {
        nl_msg_put_flag(actions, OVS_ACTION_ATTR_LB_PARSE);
        return 8;
    } else if (!strncmp(s, "lb_calendar(", 12)) {
        return parse_calendar(s, actions);
    } else if (!strncmp(s, "lb_forward(", 11)) {
        return parse_forward(s, actions);
    }
    return 0;
}
