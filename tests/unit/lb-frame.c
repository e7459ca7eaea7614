/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tests/unit/lb-frame.h"

#include <netinet/in.h>

#include "dp-packet.h"
#include "flow.h"
#include "tests/unit/unit.h"

/* Makes 'f' a plain, valid event packet of version 2. */
void
lb_frame_init(struct lb_frame *f, bool ipv6)
{
    static const uint8_t ip4[2][4] = { { 10, 0, 0, 1 }, { 192, 0, 2, 99 } };
    static const uint8_t ip6[2][16] = {
        { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
        { 0x20, 0x01, 0x0d, 0xb8, [14] = 0x12, [15] = 0x34 },
    };

    memset(f, 0, sizeof *f);
    memcpy(f->eth_src, "\x02\x11\x22\x33\x44\x55", 6);
    memcpy(f->eth_dst, "\x02\xaa\xbb\xcc\xdd\xee", 6);
    f->ipv6 = ipv6;
    memcpy(f->ip_src, ipv6 ? ip6[0] : ip4[0], ipv6 ? 16 : 4);
    memcpy(f->ip_dst, ipv6 ? ip6[1] : ip4[1], ipv6 ? 16 : 4);
    f->ttl = 64;
    f->proto = IPPROTO_UDP;
    f->udp_src = 40001;
    f->udp_dst = 19522;
    f->magic = 0x4c42;
    f->version = 2;
    f->next = 1;
    f->port_select = 7;
    f->tick = 1001;
    f->payload = 40;
}

/* Makes 'f' any valid event packet. */
void
lb_frame_randomize(struct lb_frame *f, uint64_t *seed)
{
    static const uint8_t ext[] = { LB_EXT_HOP, LB_EXT_ROUTING, LB_EXT_AH,
                                   LB_EXT_DST };

    lb_frame_init(f, unit_random(seed) & 1);
    for (size_t i = 0; i < 6; i++) {
        f->eth_src[i] = (uint8_t) unit_random(seed);
        f->eth_dst[i] = (uint8_t) unit_random(seed);
    }
    for (size_t i = 0; i < (f->ipv6 ? 16 : 4); i++) {
        f->ip_src[i] = (uint8_t) unit_random(seed);
        f->ip_dst[i] = (uint8_t) unit_random(seed);
    }
    f->n_vlans = unit_random_below(seed, 3);
    f->padding = unit_random_below(seed, 4) ? 0 : unit_random_below(seed, 47);
    f->ttl = (uint8_t) (2 + unit_random_below(seed, 254));
    f->tos = (uint8_t) unit_random(seed);
    f->frag = unit_random(seed) & 0x4000;
    f->options = 4 * unit_random_below(seed, 11);
    f->n_ext = unit_random_below(seed, LB_EXT_MAX + 1);
    for (size_t i = 0; i < f->n_ext; i++) {
        f->ext[i] = ext[unit_random_below(seed, 4)];
        f->ext_len[i] =
            (uint8_t) (f->ext[i] == LB_EXT_AH ? 2 * unit_random_below(seed, 8)
                                              : unit_random_below(seed, 8));
    }
    f->udp_src = (uint16_t) unit_random(seed);
    f->udp_dst = (uint16_t) unit_random(seed);
    f->csum = unit_random_below(seed, 4) ? LB_CSUM_RIGHT : LB_CSUM_NONE;
    f->trailer = unit_random_below(seed, 4) ? 0 : unit_random_below(seed, 20);
    f->version = (uint8_t) (2 + unit_random_below(seed, 2));
    f->next = (uint8_t) unit_random(seed);
    f->slot_select = (uint16_t) unit_random(seed);
    f->port_select = (uint16_t) unit_random(seed);
    f->tick = unit_random(seed);
    f->payload = unit_random_below(seed, 300);
    f->fill = (uint8_t) unit_random(seed);
}

uint16_t
lb_frame_get16(const uint8_t *p)
{
    return (uint16_t) (p[0] << 8 | p[1]);
}

void
lb_frame_put16(uint8_t *p, uint16_t value)
{
    p[0] = (uint8_t) (value >> 8);
    p[1] = (uint8_t) value;
}

/* Returns the one's complement sum of 'a' and 'b'. */
uint16_t
lb_frame_add(uint16_t a, uint16_t b)
{
    uint32_t sum = (uint32_t) a + b;

    return (uint16_t) (sum + (sum >> 16));
}

/* Adds the 'n' bytes at 'p' to 'sum', an odd last one with a 0 behind it. */
static uint16_t
add_bytes(uint16_t sum, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum = lb_frame_add(sum, (uint16_t) (i % 2 ? p[i] : p[i] << 8));
    }
    return sum;
}

/* Returns the sum of the pseudo header. */
uint16_t
lb_frame_pseudo_sum(const struct lb_frame *f, uint16_t udp_len)
{
    size_t n = f->ipv6 ? 16 : 4;
    uint16_t sum = add_bytes(0, f->ip_src, n);

    sum = add_bytes(sum, f->ip_dst, n);
    return lb_frame_add(lb_frame_add(sum, IPPROTO_UDP), udp_len);
}

/* Returns the sum of the pseudo header and the datagram at 'udp', its checksum
 * field included. */
uint16_t
lb_frame_udp_sum(const struct lb_frame *f, const uint8_t *udp,
                 uint16_t udp_len)
{
    return add_bytes(lb_frame_pseudo_sum(f, udp_len), udp, udp_len);
}

static uint8_t *
put_ethernet(struct lb_frame *f, uint8_t *p)
{
    memcpy(p, f->eth_dst, 6);
    memcpy(p + 6, f->eth_src, 6);
    p += 12;
    for (unsigned int i = 0; i < f->n_vlans; i++) {
        lb_frame_put16(p, f->n_vlans - i == 2 ? 0x88a8 : 0x8100);
        lb_frame_put16(p + 2, (uint16_t) (0x2000 | (100 + i)));
        p += 4;
    }
    lb_frame_put16(p, f->ipv6 ? 0x86dd : 0x0800);
    return p + 2;
}

/* Writes the IPv4 header but for its length and checksum. */
static uint8_t *
put_ipv4(struct lb_frame *f, uint8_t *p)
{
    p[0] = (uint8_t) (0x40 | (5 + f->options / 4));
    p[1] = f->tos;
    lb_frame_put16(p + 4, 0x1234);
    lb_frame_put16(p + 6, f->frag);
    p[8] = f->ttl;
    p[9] = f->proto;
    memcpy(p + 12, f->ip_src, 4);
    memcpy(p + 16, f->ip_dst, 4);
    for (unsigned int i = 0; i < f->options; i++) {
        p[20 + i] = (uint8_t) (i % 2 ? 0x5a : 1);
    }
    return p + 20 + f->options;
}

static size_t
ext_size(const struct lb_frame *f, unsigned int i)
{
    return (f->ext[i] == LB_EXT_FRAGMENT ? 8
            : f->ext[i] == LB_EXT_AH     ? (f->ext_len[i] + 2u) * 4
                                         : (f->ext_len[i] + 1u) * 8);
}

/* Writes the IPv6 header, but for its length, and the extension headers. */
static uint8_t *
put_ipv6(struct lb_frame *f, uint8_t *p)
{
    p[0] = (uint8_t) (0x60 | f->tos >> 4);
    p[1] = (uint8_t) (f->tos << 4 | 0xa);
    p[2] = 0xbc;
    p[3] = 0xde;
    p[6] = f->n_ext ? f->ext[0] : f->proto;
    p[7] = f->ttl;
    memcpy(p + 8, f->ip_src, 16);
    memcpy(p + 24, f->ip_dst, 16);
    p += 40;
    for (unsigned int i = 0; i < f->n_ext; i++) {
        size_t size = ext_size(f, i);

        memset(p, 0x5a, size);
        p[0] = i + 1 < f->n_ext ? f->ext[i + 1] : f->proto;
        p[1] = f->ext_len[i];
        if (f->ext[i] == LB_EXT_FRAGMENT) {
            lb_frame_put16(p + 2, f->frag);
        }
        p += size;
    }
    return p;
}

static uint8_t *
put_header(const struct lb_frame *f, uint8_t *p)
{
    lb_frame_put16(p, f->magic);
    p[2] = f->version;
    p[3] = f->next;
    lb_frame_put16(p + 4, f->slot_select);
    lb_frame_put16(p + 6, f->port_select);
    for (int i = 0; i < 8; i++) {
        p[8 + i] = (uint8_t) (f->tick >> (56 - 8 * i));
    }
    return p + LB_FRAME_LB_LEN;
}

static uint8_t *
put_payload(const struct lb_frame *f, uint8_t *p)
{
    for (unsigned int i = 0; i < f->payload; i++) {
        p[i] = (uint8_t) (f->fill + 31 * i + i / 256);
    }
    if (f->payload >= 2) {
        lb_frame_put16(p, lb_frame_add(lb_frame_get16(p), f->tweak));
    }
    return p + f->payload;
}

static uint16_t
udp_csum(const struct lb_frame *f, const uint8_t *udp, uint16_t udp_len)
{
    uint16_t csum = (uint16_t) ~lb_frame_udp_sum(f, udp, udp_len);

    switch (f->csum) {
    case LB_CSUM_NONE:
        return 0;
    case LB_CSUM_PARTIAL:
        return lb_frame_pseudo_sum(f, udp_len);
    case LB_CSUM_WRONG:
        csum = lb_frame_add(csum, f->csum_error);
        break;
    case LB_CSUM_RIGHT:
        break;
    }
    return csum ? csum : 0xffff;
}

/* Writes the lengths, and then the checksums, of the headers of 'f'. */
static void
finish_headers(struct lb_frame *f, size_t udp_len, size_t ip_end)
{
    uint8_t *ip = f->bytes + f->l3;
    uint8_t *udp = f->bytes + f->l4;

    lb_frame_put16(udp + 4, (uint16_t) udp_len);
    lb_frame_put16(udp + 6, udp_csum(f, udp, (uint16_t) udp_len));
    if (f->ipv6) {
        lb_frame_put16(ip + 4, (uint16_t) (ip_end - f->l3 - 40));
    } else {
        uint16_t csum;

        lb_frame_put16(ip + 2, (uint16_t) (ip_end - f->l3));
        csum = (uint16_t) ~add_bytes(0, ip, 20 + f->options);
        lb_frame_put16(ip + 10, lb_frame_add(csum, f->ip_csum_error));
    }
}

/* Writes the frame that 'f' describes into 'f->bytes'. */
void
lb_frame_build(struct lb_frame *f)
{
    size_t udp_len, ip_end;
    uint8_t *p;

    memset(f->bytes, 0, sizeof f->bytes);
    p = put_ethernet(f, f->bytes);
    f->l3 = (size_t) (p - f->bytes);
    p = f->ipv6 ? put_ipv6(f, p) : put_ipv4(f, p);
    f->l4 = (size_t) (p - f->bytes);
    lb_frame_put16(p, f->udp_src);
    lb_frame_put16(p + 2, f->udp_dst);
    p += 8;
    f->lb = (size_t) (p - f->bytes);
    if (!f->no_header) {
        p = put_header(f, p);
    }
    p = put_payload(f, p);
    udp_len = (size_t) (p - f->bytes) - f->l4;

    memset(p, 0xee, f->trailer + f->padding);
    ip_end = f->l4 + udp_len + f->trailer;
    f->size = ip_end + f->padding;
    assert_true(f->size <= sizeof f->bytes);
    finish_headers(f, udp_len, ip_end);
}

/* Returns a packet with the 'size' bytes at 'data', 'headroom' bytes after the
 * start of a heap buffer that ends where the packet does, so that
 * AddressSanitizer sees each byte too many.  Its layer offsets are those that
 * flow extraction finds.  The caller must dp_packet_delete() it. */
struct dp_packet *
lb_frame_packet(const void *data, size_t size, size_t headroom)
{
    struct dp_packet *packet = xmalloc(sizeof *packet);
    char *base = xmalloc(headroom + size ? headroom + size : 1);
    struct flow flow;

    dp_packet_use(packet, base, headroom + size);
    dp_packet_set_data(packet, base + headroom);
    dp_packet_set_size(packet, (uint32_t) size);
    memset(base, 0xa5, headroom);
    memcpy(base + headroom, data, size);
    pkt_metadata_init(&packet->md, u32_to_odp(1));
    flow_extract(packet, &flow);
    return packet;
}
