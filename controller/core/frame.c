/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/frame.h"

#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <string.h>

#define ARP_SIZE 28
#define ARP_REQUEST 1
#define ARP_REPLY 2
#define IPV6_SIZE 40
#define ND_SIZE \
    24 /* Of a solicitation or an advertisement, without options. */
#define HOP_LIMIT 255
#define VLAN_ID_MASK 0xfff

/* What is before and behind the Ethernet addresses of an ARP packet of
 * Ethernet and IPv4. */
static const uint8_t arp_start[] = { 0, 1, 0x08, 0, 6, 4 };

/* Bytes that are still to be read. */
struct bytes {
    const uint8_t *p;
    size_t n;
};

static uint16_t
get16__(const uint8_t *p)
{
    return (uint16_t) (p[0] << 8 | p[1]);
}

static void
put16__(uint8_t *p, uint16_t x)
{
    p[0] = (uint8_t) (x >> 8);
    p[1] = (uint8_t) x;
}

static void
skip__(struct bytes *b, size_t n)
{
    b->p += n;
    b->n -= n;
}

/* The IPv4 address at 'p'. */
static struct in6_addr
get_ipv4__(const uint8_t *p)
{
    struct in6_addr addr = { { { [10] = 0xff, [11] = 0xff } } };

    memcpy(&addr.s6_addr[12], p, 4);
    return addr;
}

static uint32_t
sum__(const uint8_t *p, size_t n)
{
    uint32_t sum = 0;

    for (size_t i = 0; i + 1 < n; i += 2) {
        sum += get16__(p + i);
    }
    return n % 2 ? sum + (uint32_t) (p[n - 1] << 8) : sum;
}

/* Returns the checksum of the ICMPv6 message of 'n' bytes behind the IPv6
 * header 'ip6' (RFC 4443, section 2.3): 0 if the one in it is right. */
static uint16_t
checksum__(const uint8_t *ip6, size_t n)
{
    uint32_t sum = sum__(ip6 + 8, 32) + (uint32_t) n + IPPROTO_ICMPV6
                   + sum__(ip6 + IPV6_SIZE, n);

    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t) ~sum;
}

/* Reads the Ethernet header and one VLAN tag.  Returns the type of what
 * follows, or 0. */
static uint16_t
decode_ethernet__(struct bytes *b, struct frame *f)
{
    uint16_t type;

    if (b->n < ETH_HLEN) {
        return 0;
    }
    memcpy(f->eth_src.ea, b->p + ETH_ALEN, ETH_ALEN);
    type = get16__(b->p + 12);
    skip__(b, ETH_HLEN);
    if (type == ETHERTYPE_VLAN && b->n >= 4) {
        f->vlan = get16__(b->p) & VLAN_ID_MASK;
        type = get16__(b->p + 2);
        skip__(b, 4);
    }
    return type;
}

static void
decode_arp__(const struct bytes *b, struct frame *f)
{
    if (b->n >= ARP_SIZE && !memcmp(b->p, arp_start, sizeof arp_start)
        && get16__(b->p + 6) == ARP_REPLY) {
        memcpy(f->mac.ea, b->p + 8, ETH_ALEN);
        f->ip = get_ipv4__(b->p + 14);
        f->type = FRAME_ANSWER;
    }
}

/* Stores in 'mac' the first link-layer address of the given 'type' in the
 * options 'b'.  Returns false if the options are malformed. */
static bool
decode_options__(struct bytes b, uint8_t type, struct mac *mac, bool *found)
{
    *found = false;
    while (b.n) {
        size_t size = b.n >= 2 ? b.p[1] * 8u : 0;

        if (!size || size > b.n) {
            return false;
        }
        if (b.p[0] == type && !*found) {
            memcpy(mac->ea, b.p + 2, ETH_ALEN);
            *found = true;
        }
        skip__(&b, size);
    }
    return true;
}

/* Reads the solicitation or advertisement of 'n' bytes behind 'ip6'. */
static void
decode_nd__(const uint8_t *ip6, size_t n, struct frame *f)
{
    const uint8_t *nd = ip6 + IPV6_SIZE;
    bool advert = nd[0] == ND_NEIGHBOR_ADVERT;
    bool found;

    memcpy(&f->src, ip6 + 8, sizeof f->src);
    memcpy(&f->ip, nd + 8, sizeof f->ip);
    f->mac = f->eth_src;
    if (addr_is_unicast(&f->ip)
        && decode_options__((struct bytes){ nd + ND_SIZE, n - ND_SIZE },
                            advert ? ND_OPT_TARGET_LINKADDR
                                   : ND_OPT_SOURCE_LINKADDR,
                            &f->mac, &found)) {
        f->type = advert ? FRAME_ANSWER : FRAME_QUESTION;
    }
}

static void
decode_ipv6__(const struct bytes *b, struct frame *f)
{
    size_t n;

    if (b->n < IPV6_SIZE + ND_SIZE) {
        return;
    }
    n = get16__(b->p + 4);
    if (b->p[0] >> 4 == 6 && b->p[6] == IPPROTO_ICMPV6 && b->p[7] == HOP_LIMIT
        && n >= ND_SIZE && n <= b->n - IPV6_SIZE
        && (b->p[IPV6_SIZE] == ND_NEIGHBOR_SOLICIT
            || b->p[IPV6_SIZE] == ND_NEIGHBOR_ADVERT)
        && !b->p[IPV6_SIZE + 1] && !checksum__(b->p, n)) {
        decode_nd__(b->p, n, f);
    }
}

/* Reads the frame of 'size' bytes at 'data', which may be anything. */
void
frame_decode(const uint8_t *data, size_t size, struct frame *f)
{
    struct bytes b = { data, size };

    *f = (struct frame){ .type = FRAME_OTHER };
    switch (decode_ethernet__(&b, f)) {
    case ETHERTYPE_ARP:
        decode_arp__(&b, f);
        break;
    case ETHERTYPE_IPV6:
        decode_ipv6__(&b, f);
        break;
    default:
        break;
    }
    if (f->type == FRAME_ANSWER
        && (mac_is_multicast(&f->mac) || mac_is_zero(&f->mac))) {
        f->type = FRAME_OTHER;
    }
}

/* Writes an Ethernet header from 'sender', and returns its size. */
static size_t
encode_ethernet__(uint8_t *data, const struct mac *dst,
                  const struct frame_sender *sender, uint16_t type)
{
    size_t n = 12;

    memcpy(data, dst->ea, ETH_ALEN);
    memcpy(data + ETH_ALEN, sender->mac.ea, ETH_ALEN);
    if (sender->vlan) {
        put16__(data + n, ETHERTYPE_VLAN);
        put16__(data + n + 2, sender->vlan);
        n += 4;
    }
    put16__(data + n, type);
    return n + 2;
}

static size_t
encode_arp__(uint8_t *data, const struct frame_sender *sender,
             const struct in6_addr *target, const struct mac *dst)
{
    static const struct mac broadcast = { { 255, 255, 255, 255, 255, 255 } };
    size_t n =
        encode_ethernet__(data, dst ? dst : &broadcast, sender, ETHERTYPE_ARP);
    uint8_t *p = data + n;

    memset(p, 0, ARP_SIZE);
    memcpy(p, arp_start, sizeof arp_start);
    put16__(p + 6, ARP_REQUEST);
    memcpy(p + 8, sender->mac.ea, ETH_ALEN);
    memcpy(p + 14, &sender->ip.s6_addr[12], 4);
    memcpy(p + 24, &target->s6_addr[12], 4);
    return n + ARP_SIZE;
}

/* Writes a solicitation or advertisement of 'target' with the link-layer
 * address of 'sender', and returns its size. */
static size_t
encode_nd__(uint8_t *ip6, const struct frame_sender *sender, uint8_t type,
            const struct in6_addr *dst, const struct in6_addr *target)
{
    const size_t n = ND_SIZE + 8;
    uint8_t *nd = ip6 + IPV6_SIZE;

    memset(ip6, 0, IPV6_SIZE + n);
    ip6[0] = 6 << 4;
    put16__(ip6 + 4, (uint16_t) n);
    ip6[6] = IPPROTO_ICMPV6;
    ip6[7] = HOP_LIMIT;
    memcpy(ip6 + 8, &sender->ip, sizeof sender->ip);
    memcpy(ip6 + 24, dst, sizeof *dst);
    nd[0] = type;
    memcpy(nd + 8, target, sizeof *target);
    nd[24] = (type == ND_NEIGHBOR_ADVERT ? ND_OPT_TARGET_LINKADDR
                                         : ND_OPT_SOURCE_LINKADDR);
    nd[25] = 1;
    memcpy(nd + 26, sender->mac.ea, ETH_ALEN);
    return IPV6_SIZE + n;
}

/* Fills in the checksum of the message behind 'ip6'. */
static void
finish_nd__(uint8_t *ip6)
{
    put16__(ip6 + IPV6_SIZE + 2, checksum__(ip6, get16__(ip6 + 4)));
}

static size_t
encode_solicitation__(uint8_t *data, const struct frame_sender *sender,
                      const struct in6_addr *target, const struct mac *unicast)
{
    struct in6_addr dst = *target;
    struct mac mac;
    size_t n, size;

    if (unicast) {
        mac = *unicast;
    } else {
        addr_solicited_node(target, &dst);
        addr_solicited_node_mac(target, &mac);
    }
    n = encode_ethernet__(data, &mac, sender, ETHERTYPE_IPV6);
    size = encode_nd__(data + n, sender, ND_NEIGHBOR_SOLICIT, &dst, target);
    finish_nd__(data + n);
    return n + size;
}

/* Writes to 'data' the question who has 'target', which is of the family of the
 * sender's address: to 'unicast', or to everybody if it is NULL.  Returns the
 * size of the frame. */
size_t
frame_encode_question(uint8_t data[FRAME_MAX],
                      const struct frame_sender *sender,
                      const struct in6_addr *target, const struct mac *unicast)
{
    return (addr_is_ipv4(target)
                ? encode_arp__(data, sender, target, unicast)
                : encode_solicitation__(data, sender, target, unicast));
}

/* Writes to 'data' the answer to the neighbour solicitation 'question' that
 * asks for the address of 'sender'.  Returns the size of the frame. */
size_t
frame_encode_advertisement(uint8_t data[FRAME_MAX],
                           const struct frame_sender *sender,
                           const struct frame *question)
{
    static const struct in6_addr all_nodes = { { { 0xff, 2, [15] = 1 } } };
    static const struct mac all_nodes_mac = { { 0x33, 0x33, 0, 0, 0, 1 } };
    bool solicited = !IN6_IS_ADDR_UNSPECIFIED(&question->src);
    size_t n, size;

    n = encode_ethernet__(data, solicited ? &question->mac : &all_nodes_mac,
                          sender, ETHERTYPE_IPV6);
    size = encode_nd__(data + n, sender, ND_NEIGHBOR_ADVERT,
                       solicited ? &question->src : &all_nodes, &sender->ip);
    data[n + IPV6_SIZE + 4] = solicited ? 0x40 : 0;
    finish_nd__(data + n);
    return n + size;
}
