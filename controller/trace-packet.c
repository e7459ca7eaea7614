/* SPDX-License-Identifier: Apache-2.0 */

/* Packets to be traced. */

#include "controller/trace.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>

#include <csum.h>
#include <packets.h>

#include "controller/core/instance.h"
#include "controller/core/mem.h"

#define LB_LEN 16

/* Returns an address of 'instance''s senders of the same family as 'dst'. */
static struct in6_addr
any_source__(const struct instance *instance, const struct in6_addr *dst)
{
    for (size_t i = 0; i < instance->n_sources; i++) {
        const struct addr_block *block = &instance->sources[i];

        if (addr_is_ipv4(&block->addr) == addr_is_ipv4(dst)) {
            struct in6_addr addr = block->addr;

            /* The first one of a block may not be a host's. */
            addr.s6_addr[15] |= block->len < 127;
            return addr;
        }
    }
    return *dst;
}

/* Makes 'event' a packet that 'instance' accepts: to its first address of the
 * family, from one of its senders, through its first interface. */
void
trace_event_init(struct trace_event *event, const struct instance *instance,
                 bool ipv4)
{
    *event = (struct trace_event){ .eth_src = { { 2, 0, 0, 0, 0, 0x53 } },
                                   .ttl = 64,
                                   .udp_src = 40000,
                                   .udp_dst = instance->first_port,
                                   .version = 3 };
    for (size_t i = 0; i < instance->n_addresses; i++) {
        if (addr_is_ipv4(&instance->addresses[i]) == ipv4) {
            event->dst = instance->addresses[i];
            break;
        }
    }
    if (instance->n_interfaces) {
        event->eth_dst = instance->interfaces[0]->mac;
        event->vlan = instance->interfaces[0]->vlan;
    }
    event->src = any_source__(instance, &event->dst);
}

/* Appends the 'n' low bytes of 'x' to 'p', most significant first. */
static void
put__(struct trace_packet *p, size_t n, uint64_t x)
{
    for (size_t i = n; i-- > 0;) {
        p->data[p->len++] = (uint8_t) (x >> (8 * i));
    }
}

static void
put_bytes__(struct trace_packet *p, const void *data, size_t n)
{
    memcpy(&p->data[p->len], data, n);
    p->len += n;
}

static void
put_ethernet__(const struct trace_event *e, struct trace_packet *p)
{
    put_bytes__(p, e->eth_dst.ea, 6);
    put_bytes__(p, e->eth_src.ea, 6);
    if (e->vlan) {
        put__(p, 2, ETH_TYPE_VLAN_8021Q);
        put__(p, 2, e->vlan);
    }
    put__(p, 2, addr_is_ipv4(&e->dst) ? ETH_TYPE_IP : ETH_TYPE_IPV6);
}

static void
put_ipv4__(const struct trace_event *e, size_t len, struct trace_packet *p)
{
    size_t begin = p->len;
    ovs_be16 sum;

    put__(p, 2, 0x4500);
    put__(p, 2, IP_HEADER_LEN + len);
    put__(p, 4, 0);
    put__(p, 1, e->ttl);
    put__(p, 1, IPPROTO_UDP);
    put__(p, 2, 0);
    put__(p, 4, addr_get_ipv4(&e->src));
    put__(p, 4, addr_get_ipv4(&e->dst));
    sum = csum(&p->data[begin], IP_HEADER_LEN);
    memcpy(&p->data[begin + 10], &sum, sizeof sum);
}

static void
put_ipv6__(const struct trace_event *e, size_t len, struct trace_packet *p)
{
    put__(p, 4, UINT32_C(0x60000000));
    put__(p, 2, len);
    put__(p, 1, IPPROTO_UDP);
    put__(p, 1, e->ttl);
    put_bytes__(p, &e->src, 16);
    put_bytes__(p, &e->dst, 16);
}

/* Puts the datagram of 'len' bytes, with a checksum, which IPv6 asks for. */
static void
put_udp__(const struct trace_event *e, size_t len, struct trace_packet *p)
{
    bool ipv4 = addr_is_ipv4(&e->dst);
    const uint8_t *addrs = &p->data[p->len - (ipv4 ? 8 : 32)];
    size_t begin = p->len;
    uint32_t sum;
    ovs_be16 be;

    put__(p, 2, e->udp_src);
    put__(p, 2, e->udp_dst);
    put__(p, 2, len);
    put__(p, 2, 0);
    put__(p, 2, 0x4c42);
    put__(p, 1, e->version);
    put__(p, 1, 1);
    put__(p, 2, e->version == 3 ? e->slot_select : 0);
    put__(p, 2, e->entropy);
    put__(p, 8, e->tick);

    sum = csum_continue(0, addrs, ipv4 ? 8 : 32);
    sum = csum_add16(sum, htons(IPPROTO_UDP));
    sum = csum_add16(sum, htons((uint16_t) len));
    be = csum_finish(csum_continue(sum, &p->data[begin], len));
    be = be ? be : htons(0xffff);
    memcpy(&p->data[begin + 6], &be, sizeof be);
}

/* Makes in 'p' the packet that 'e' describes.  Returns NULL if successful, or
 * an error, which the caller must free. */
char *
trace_make_event(const struct trace_event *e, struct trace_packet *p)
{
    const size_t len = UDP_HEADER_LEN + LB_LEN;

    p->len = 0;
    if (addr_is_ipv4(&e->src) != addr_is_ipv4(&e->dst)) {
        return mem_strdup("source and destination are of different families");
    } else if (e->vlan > 4094) {
        return mem_printf("there is no VLAN %u", e->vlan);
    }
    put_ethernet__(e, p);
    if (addr_is_ipv4(&e->dst)) {
        put_ipv4__(e, len, p);
    } else {
        put_ipv6__(e, len, p);
    }
    put_udp__(e, len, p);
    return NULL;
}

static int
hex_digit__(char c)
{
    return (c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : -1);
}

/* Stores in 'p' the bytes that 's' names, two digits each; blanks and colons
 * between bytes do not matter.  Returns NULL if successful, or an error, which
 * the caller must free. */
char *
trace_parse_hex(const char *s, struct trace_packet *p)
{
    const char *begin = s;

    p->len = 0;
    while (*s) {
        int high = hex_digit__(s[0]);
        int low = high >= 0 ? hex_digit__(s[1]) : -1;

        if (isspace((unsigned char) *s) || *s == ':') {
            s++;
        } else if (low < 0) {
            return mem_printf("character %zu of the packet begins no byte in "
                              "hexadecimal",
                              (size_t) (s - begin) + 1);
        } else if (p->len >= sizeof p->data) {
            return mem_printf("the packet is longer than %d bytes",
                              TRACE_PACKET_MAX);
        } else {
            p->data[p->len++] = (uint8_t) (high << 4 | low);
            s += 2;
        }
    }
    return p->len >= ETH_HEADER_LEN
               ? NULL
               : mem_strdup("the packet is shorter than an Ethernet header");
}

/* Returns 'p' in hexadecimal, which the caller must free. */
char *
trace_format_hex(const struct trace_packet *p)
{
    static const char digits[] = "0123456789abcdef";
    char *s = mem_alloc(2 * p->len + 1);

    for (size_t i = 0; i < p->len; i++) {
        s[2 * i] = digits[p->data[i] >> 4];
        s[2 * i + 1] = digits[p->data[i] & 15];
    }
    s[2 * p->len] = '\0';
    return s;
}
