/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "lb-header.h"

#include "dp-packet.h"
#include "packets.h"
#include "unaligned.h"
#include "util.h"

/* Returns the name of 'status', "unknown" for a number that is none. */
const char *
lb_status_to_string(uint8_t status)
{
    switch (status) {
#define X(ENUM, VALUE, NAME, MEANING) case ENUM: return NAME;
    LB_STATUSES
#undef X
    }
    return "unknown";
}

/* Takes 'raw' apart into '*param'.  Returns false if it is no valid parameter
 * of a calendar group. */
bool
lb_calendar_param_decode(uint64_t raw, struct lb_calendar_param *param)
{
    param->table = raw >> 24;
    param->bits = raw >> 16;
    param->xor_value = raw;
    return raw >> 32 == 0 && param->bits <= LB_CALENDAR_MAX_BITS
           && param->table != 255;
}

/* Returns the number of bytes from the start of 'packet' that may be read
 * through one pointer. */
static size_t
contiguous_len(const struct dp_packet *packet)
{
#ifdef DPDK_NETDEV
    if (packet->source == DPBUF_DPDK) {
        return packet->mbuf.data_len;
    }
#endif
    return dp_packet_size(packet);
}

/* Returns true if not all of the headers that check_l3() and check_udp() read
 * lie in the first buffer of 'packet'. */
static bool
headers_are_segmented(const struct dp_packet *packet)
{
    size_t len = contiguous_len(packet);

    return len < dp_packet_size(packet)
           && len < (packet->l4_ofs == UINT16_MAX ? packet->l3_ofs
                     : packet->l4_ofs + UDP_HEADER_LEN);
}

/* Checks that the IPv4 header at 'ip', whose lengths OVS has checked, carries
 * a whole UDP datagram. */
static enum lb_status
check_ipv4(const struct ip_header *ip)
{
    if (IP_VER(ip->ip_ihl_ver) != 4 || ip->ip_proto != IPPROTO_UDP) {
        return LB_NOT_UDP;
    }
    return IP_IS_FRAGMENT(ip->ip_frag_off) ? LB_FRAGMENT : LB_OK;
}

/* Walks the extension headers from the IPv6 header at 'l3' to 'l4'.  OVS found
 * 'l4' by the same walk, so that each of them lies inside the packet. */
static enum lb_status
check_ipv6(const char *l3, const char *l4)
{
    const struct ovs_16aligned_ip6_hdr *ip6 = (const void *) l3;
    uint8_t next = ip6->ip6_nxt;

    if (*l3 >> 4 != 6) {
        return LB_NOT_UDP;
    }
    for (const char *p = l3 + sizeof *ip6; p < l4; ) {
        const struct ip6_ext *ext = (const void *) p;

        if (l4 - p < 8) {
            return LB_BAD_LENGTH;
        } else if (next == IPPROTO_FRAGMENT) {
            return LB_FRAGMENT;
        }
        p += next == IPPROTO_AH ? (ext->ip6e_len + 2) * 4
                                : (ext->ip6e_len + 1) * 8;
        next = ext->ip6e_nxt;
    }
    return next == IPPROTO_UDP ? LB_OK : LB_NOT_UDP;
}

/* Returns true if LLC and SNAP headers are between 'l3' and a length field in
 * the place of the Ethernet type. */
static bool
is_snap(const struct dp_packet *packet, const char *l3)
{
    static const uint8_t snap[] = { LLC_DSAP_SNAP, LLC_SSAP_SNAP,
                                    LLC_CNTL_SNAP, 0 };

    return packet->l3_ofs >= ETH_HEADER_LEN + LLC_SNAP_HEADER_LEN
           && !memcmp(l3 - LLC_SNAP_HEADER_LEN, snap, sizeof snap);
}

static enum lb_status
check_l3(const struct dp_packet *packet, const char *l3, bool *ipv6)
{
    ovs_be16 eth_type = get_unaligned_be16((const void *) (l3 - 2));
    const char *l4 = dp_packet_l4(packet);

    *ipv6 = eth_type == htons(ETH_TYPE_IPV6);
    if ((!*ipv6 && eth_type != htons(ETH_TYPE_IP)) || is_snap(packet, l3)) {
        return LB_NOT_UDP;
    } else if (!l4) {
        /* OVS stops before L4 where the IP header contradicts the packet. */
        return LB_BAD_LENGTH;
    }
    return *ipv6 ? check_ipv6(l3, l4)
                 : check_ipv4((const void *) l3);
}

/* Checks that the UDP datagram at 'packet''s L4 fits and holds a header. */
static enum lb_status
check_udp(const struct dp_packet *packet, const struct udp_header *udp)
{
    size_t l4_size = dp_packet_l4_size(packet);
    size_t udp_len;

    if (l4_size < UDP_HEADER_LEN) {
        return LB_BAD_LENGTH;
    }
    udp_len = ntohs(udp->udp_len);
    if (udp_len < UDP_HEADER_LEN || udp_len > l4_size) {
        return LB_BAD_LENGTH;
    }
    if (udp_len < UDP_HEADER_LEN + LB_HEADER_LEN) {
        return LB_SHORT;
    }
    return packet->l4_ofs + UDP_HEADER_LEN + LB_HEADER_LEN
           <= contiguous_len(packet) ? LB_OK : LB_SEGMENTED;
}

/* Finds the load-balancer header of 'packet', whose layer offsets must be set
 * (as flow extraction does), and checks all that comes before it.
 *
 * Returns LB_OK and fills in '*where', or returns the first fault, in which
 * case '*where' must not be used.  Sets '*version' to the header's version
 * wherever there is a header with the right magic, otherwise to 0. */
enum lb_status
lb_packet_find(struct dp_packet *packet, struct lb_packet *where,
               uint8_t *version)
{
    enum lb_status status;
    uint8_t ttl;

    *version = 0;
    where->l3 = dp_packet_is_eth(packet) ? dp_packet_l3(packet) : NULL;
    if (!where->l3) {
        return LB_NOT_UDP;
    }
    if (OVS_UNLIKELY(headers_are_segmented(packet))) {
        return LB_SEGMENTED;
    }
    status = check_l3(packet, where->l3, &where->ipv6);
    if (status) {
        return status;
    }
    where->udp = dp_packet_l4(packet);
    status = check_udp(packet, where->udp);
    if (status) {
        return status;
    }

    where->lb = (void *) (where->udp + 1);
    if (where->lb->magic != htons(LB_MAGIC)) {
        return LB_BAD_MAGIC;
    }
    *version = where->lb->version;
    if (*version != 2 && *version != 3) {
        return LB_BAD_VERSION;
    }

    ttl = where->ipv6 ? ((struct ovs_16aligned_ip6_hdr *) where->l3)->ip6_hlim
                      : ((struct ip_header *) where->l3)->ip_ttl;
    return ttl <= 1 ? LB_TTL_EXPIRED : LB_OK;
}

/* Reads the header of 'packet' into '*key'. */
void
lb_header_extract(struct dp_packet *packet, struct ovs_key_lb *key)
{
    struct lb_packet where;

    memset(key, 0, sizeof *key);
    key->status = lb_packet_find(packet, &where, &key->version);
    if (key->status == LB_OK) {
        const struct lb_hdr *lb = where.lb;

        memcpy(&key->tick, &lb->tick_hi, sizeof key->tick);
        key->port_select = lb->port_select;
        key->slot_select = (key->version == 3
                            ? lb->slot_select
                            : htons(ntohl(get_16aligned_be32(&lb->tick_lo))));
    }
}
