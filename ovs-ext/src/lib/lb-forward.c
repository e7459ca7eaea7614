/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "lb-forward.h"

#include <string.h>

#include "csum.h"
#include "dp-packet.h"
#include "lb-header.h"
#include "packets.h"
#include "unaligned.h"

/* Parses 's', an IPv4 or IPv6 address, into '*ip', IPv4 as v4-mapped.  A
 * v4-mapped address itself is no address of an event packet.  Returns false if
 * 's' is neither. */
bool
lb_forward_ip_parse(const char *s, struct in6_addr *ip)
{
    ovs_be32 ip4;

    if (ip_parse(s, &ip4)) {
        in6_addr_set_mapped_ipv4(ip, ip4);
        return true;
    }
    return ipv6_parse(s, ip) && !IN6_IS_ADDR_V4MAPPED(ip);
}

/* Checksums are updated as RFC 1624, equation 3, says: with ~HC as a running
 * sum, each removed 16-bit word is added complemented and each new one as it
 * is.  'lb_sum' holds such a running sum, not yet folded. */
typedef uint64_t lb_sum;

static lb_sum
sum_words(const void *data, size_t n_bytes)
{
    const ovs_be16 *p = data;
    lb_sum sum = 0;

    for (size_t i = 0; i < n_bytes / 2; i++) {
        sum += (OVS_FORCE uint16_t) p[i];
    }
    return sum;
}

/* Returns the sum of the complements of the words that sum_words() adds. */
static lb_sum
sum_removed(const void *data, size_t n_bytes)
{
    return UINT64_C(0xffff) * (n_bytes / 2) - sum_words(data, n_bytes);
}

static lb_sum
sum_change(ovs_be16 old, ovs_be16 new)
{
    return (OVS_FORCE uint16_t) ~old + (lb_sum) (OVS_FORCE uint16_t) new;
}

/* Folds 'sum' to 16 bits without complementing it. */
static ovs_be16
sum_fold(lb_sum sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (OVS_FORCE ovs_be16) sum;
}

/* Returns checksum 'csum' after the change 'delta'. */
static ovs_be16
csum_update(ovs_be16 csum, lb_sum delta)
{
    return ~sum_fold((OVS_FORCE uint16_t) ~csum + delta);
}

/* Returns the change that new addresses make to a sum, and writes them. */
static lb_sum
write_ipv4_addrs(struct ip_header *ip, const struct ovs_action_lb_forward *a)
{
    lb_sum delta = sum_removed(&ip->ip_src, 8);

    memcpy(&ip->ip_src, &a->ip_src.s6_addr[12], 4);
    memcpy(&ip->ip_dst, &a->ip_dst.s6_addr[12], 4);
    return delta + sum_words(&ip->ip_src, 8);
}

static lb_sum
write_ipv6_addrs(struct ovs_16aligned_ip6_hdr *ip6,
                 const struct ovs_action_lb_forward *a)
{
    lb_sum delta = sum_removed(&ip6->ip6_src, 32);

    memcpy(&ip6->ip6_src, &a->ip_src, 16);
    memcpy(&ip6->ip6_dst, &a->ip_dst, 16);
    return delta + sum_words(&ip6->ip6_src, 32);
}

/* Rewrites the IPv4 header for a datagram that loses 'strip' bytes.  Returns
 * the change to the pseudo header's addresses. */
static lb_sum
rewrite_ipv4(struct ip_header *ip, const struct ovs_action_lb_forward *a,
             uint16_t strip)
{
    lb_sum addrs = write_ipv4_addrs(ip, a);
    ovs_be16 *ttl_proto = (ovs_be16 *) (void *) &ip->ip_ttl;
    ovs_be16 old_ttl_proto = *ttl_proto;
    ovs_be16 old_len = ip->ip_tot_len;

    ip->ip_ttl--;
    ip->ip_tot_len = htons(ntohs(old_len) - strip);
    ip->ip_csum = csum_update(ip->ip_csum,
                              addrs + sum_change(old_ttl_proto, *ttl_proto)
                              + sum_change(old_len, ip->ip_tot_len));
    return addrs;
}

static lb_sum
rewrite_ipv6(struct ovs_16aligned_ip6_hdr *ip6,
             const struct ovs_action_lb_forward *a, uint16_t strip)
{
    ip6->ip6_hlim--;
    ip6->ip6_plen = htons(ntohs(ip6->ip6_plen) - strip);
    return write_ipv6_addrs(ip6, a);
}

/* Updates the UDP checksum: 'pseudo' is the change to the pseudo header,
 * 'datagram' the change to what the datagram itself holds.
 *
 * Where the checksum is left to an offload ('partial'), the field holds the
 * plain sum of the pseudo header, and the device will add the rest. */
static void
update_udp_csum(struct udp_header *udp, lb_sum pseudo, lb_sum datagram,
                bool partial)
{
    if (partial) {
        udp->udp_csum = sum_fold((OVS_FORCE uint16_t) udp->udp_csum + pseudo);
    } else if (udp->udp_csum) {
        udp->udp_csum = csum_update(udp->udp_csum, pseudo + datagram);
        if (!udp->udp_csum) {
            udp->udp_csum = htons(0xffff);
        }
    }
}

/* Returns the UDP port of the member for 'port_select', modulo 2^16. */
static ovs_be16
member_port(const struct ovs_action_lb_forward *a, ovs_be16 port_select)
{
    return htons(a->base + (ntohs(port_select) & ((1u << a->bits) - 1)));
}

static void
rewrite_udp(const struct lb_packet *p, const struct ovs_action_lb_forward *a,
            uint16_t strip, lb_sum addrs, bool partial)
{
    struct udp_header *udp = p->udp;
    ovs_be16 old_dst = udp->udp_dst;
    ovs_be16 old_len = udp->udp_len;
    lb_sum len;

    udp->udp_dst = member_port(a, p->lb->port_select);
    udp->udp_len = htons(ntohs(old_len) - strip);
    len = sum_change(old_len, udp->udp_len);
    update_udp_csum(udp, addrs + len,
                    len + sum_change(old_dst, udp->udp_dst)
                    + sum_removed(p->lb, strip), partial);
}

/* Takes the load-balancer header out by moving what is before it. */
static void
strip_header(struct dp_packet *packet)
{
    uint32_t send_len = dp_packet_get_send_len(packet);
    char *data = dp_packet_data(packet);

    memmove(data + LB_HEADER_LEN, data, packet->l4_ofs + UDP_HEADER_LEN);
    dp_packet_pull(packet, LB_HEADER_LEN);
    if (OVS_UNLIKELY(dp_packet_get_cutlen(packet))) {
        /* An earlier trunc() may want to cut off more than is left. */
        dp_packet_set_cutlen(packet, MAX(ETH_HEADER_LEN, send_len));
    }
}

/* Rewrites 'packet', whose layer offsets must be set, as 'a' says.  Returns
 * false, with the packet as it was, if it is no valid event packet of 'a''s
 * address family; then it must not be sent on. */
bool
lb_forward_packet(struct dp_packet *packet,
                  const struct ovs_action_lb_forward *a)
{
    uint16_t strip = a->flags & LB_FORWARD_KEEP ? 0 : LB_HEADER_LEN;
    struct eth_header *eth;
    struct lb_packet where;
    uint8_t version;
    lb_sum addrs;

    if (lb_packet_find(packet, &where, &version) != LB_OK
        || where.ipv6 != !!(a->flags & LB_FORWARD_IPV6)) {
        return false;
    }

    eth = dp_packet_eth(packet);
    eth->eth_src = a->eth_src;
    eth->eth_dst = a->eth_dst;
    addrs = where.ipv6 ? rewrite_ipv6(where.l3, a, strip)
                       : rewrite_ipv4(where.l3, a, strip);
    rewrite_udp(&where, a, strip, addrs, dp_packet_hwol_l4_is_udp(packet));
    if (strip) {
        strip_header(packet);
    }
    packet->md.lb_valid = false;
    return true;
}
