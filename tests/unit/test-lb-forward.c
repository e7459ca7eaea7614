/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the rewrite of event packets byte for byte: what lb_forward makes of
 * a frame must be the frame that the rewritten description gives, in which
 * each checksum is summed up from scratch. */

#include <config.h>
#include "lb-forward.h"

#include "dp-packet.h"
#include "flow.h"
#include "lb-header.h"
#include "packets.h"
#include "tests/unit/lb-frame.h"
#include "tests/unit/unit.h"

static const bool families[] = { false, true };

#define FOR_EACH_FAMILY(I) for (size_t I = 0; (I) < 2; (I)++)

/* Where a test sends packets to. */
struct target {
    uint8_t eth_src[6];
    uint8_t eth_dst[6];
    uint8_t ip_src[16]; /* IPv4: the first 4 bytes. */
    uint8_t ip_dst[16];
    uint16_t base;
    uint8_t bits;
    bool keep;
};

static void
target_init(struct target *t, bool ipv6)
{
    memset(t, 0, sizeof *t);
    memcpy(t->eth_src, "\x02\x00\x00\x00\xff\x01", 6);
    memcpy(t->eth_dst, "\x0e\x10\x20\x30\x40\x50", 6);
    memcpy(t->ip_src, ipv6 ? "\x20\x01\x0d\xb8" : "\xc0\x00\x02\x63", 4);
    memcpy(t->ip_dst, ipv6 ? "\xfd\x00\xff\xff" : "\x0a\x01\x02\x03", 4);
    if (ipv6) {
        t->ip_src[15] = 0x99;
        t->ip_dst[15] = 3;
    }
    t->base = 19524;
    t->bits = 4;
}

static void
target_randomize(struct target *t, uint64_t *seed)
{
    for (size_t i = 0; i < 16; i++) {
        t->ip_src[i] = (uint8_t) unit_random(seed);
        t->ip_dst[i] = (uint8_t) unit_random(seed);
        t->eth_src[i % 6] = (uint8_t) unit_random(seed);
        t->eth_dst[i % 6] = (uint8_t) unit_random(seed);
    }
    t->base = (uint16_t) unit_random(seed);
    t->bits = (uint8_t) unit_random_below(seed, 17);
    t->keep = unit_random(seed) & 1;
}

static struct ovs_action_lb_forward
target_to_action(const struct target *t, bool ipv6)
{
    struct ovs_action_lb_forward a = {
        .base = t->base,
        .bits = t->bits,
        .flags = (uint8_t) ((t->keep ? LB_FORWARD_KEEP : 0)
                            | (ipv6 ? LB_FORWARD_IPV6 : 0)),
    };

    memcpy(&a.eth_src, t->eth_src, 6);
    memcpy(&a.eth_dst, t->eth_dst, 6);
    if (ipv6) {
        memcpy(&a.ip_src, t->ip_src, 16);
        memcpy(&a.ip_dst, t->ip_dst, 16);
    } else {
        a.ip_src.s6_addr[10] = a.ip_src.s6_addr[11] = 0xff;
        a.ip_dst.s6_addr[10] = a.ip_dst.s6_addr[11] = 0xff;
        memcpy(&a.ip_src.s6_addr[12], t->ip_src, 4);
        memcpy(&a.ip_dst.s6_addr[12], t->ip_dst, 4);
    }
    return a;
}

/* Turns the description 'f' into that of the rewritten packet. */
static void
rewrite(struct lb_frame *f, const struct target *t)
{
    memcpy(f->eth_src, t->eth_src, 6);
    memcpy(f->eth_dst, t->eth_dst, 6);
    memcpy(f->ip_src, t->ip_src, f->ipv6 ? 16 : 4);
    memcpy(f->ip_dst, t->ip_dst, f->ipv6 ? 16 : 4);
    f->ttl--;
    f->udp_dst =
        (uint16_t) (t->base + f->port_select % (UINT32_C(1) << t->bits));
    f->no_header = !t->keep;
    lb_frame_build(f);
}

/* Checks that the bytes of 'packet' are those of 'f'. */
static void
check_bytes(const struct dp_packet *packet, const struct lb_frame *f)
{
    const uint8_t *data = dp_packet_data(packet);

    assert_int_equal(dp_packet_size(packet), f->size);
    for (size_t i = 0; i < f->size; i++) {
        if (data[i] != f->bytes[i]) {
            fail_msg("byte %zu (L3 at %zu, L4 at %zu) is %02x, not %02x; %s, "
                     "%u tags, %u bytes of payload",
                     i, f->l3, f->l4, data[i], f->bytes[i],
                     f->ipv6 ? "IPv6" : "IPv4", f->n_vlans, f->payload);
        }
    }
}

/* Checks that 'packet' has its layers where 'f' has them, and that flow
 * extraction finds what the rewrite wrote. */
static void
check_layers(struct dp_packet *packet, const struct lb_frame *f)
{
    struct flow flow;
    const char *data = dp_packet_data(packet);

    assert_ptr_equal(dp_packet_l3(packet), data + f->l3);
    assert_ptr_equal(dp_packet_l4(packet), data + f->l4);
    assert_int_equal(dp_packet_l2_pad_size(packet), f->padding);

    flow_extract(packet, &flow);
    assert_ptr_equal(dp_packet_l3(packet), data + f->l3);
    assert_ptr_equal(dp_packet_l4(packet), data + f->l4);
    assert_int_equal(dp_packet_l2_pad_size(packet), f->padding);
    assert_memory_equal(&flow.dl_dst, f->eth_dst, 6);
    assert_memory_equal(&flow.dl_src, f->eth_src, 6);
    assert_int_equal(flow.nw_ttl, f->ttl);
    assert_int_equal(ntohs(flow.tp_dst), f->udp_dst);
    assert_true(flow_lb_is_zero(&flow));
}

/* Sends 'f' to 't', checks all of it, and leaves in 'f' what came out. */
static void
forward(struct lb_frame *f, const struct target *t, size_t headroom)
{
    struct ovs_action_lb_forward a = target_to_action(t, f->ipv6);
    struct dp_packet *packet;
    const char *base;

    lb_frame_build(f);
    packet = lb_frame_packet(f->bytes, f->size, headroom);
    base = dp_packet_base(packet);
    packet->md.lb_valid = true;
    packet->md.lb.member = htons(5);
    assert_true(lb_forward_packet(packet, &a));
    assert_ptr_equal(dp_packet_data(packet),
                     base + headroom + (t->keep ? 0 : 16));
    rewrite(f, t);
    check_bytes(packet, f);
    check_layers(packet, f);
    dp_packet_delete(packet);
}

/* Checks that 'f' is refused and left as it is. */
static void
check_refused(const struct lb_frame *f, const struct ovs_action_lb_forward *a)
{
    struct dp_packet *packet = lb_frame_packet(f->bytes, f->size, 0);
    struct dp_packet *copy = dp_packet_clone(packet);

    packet->md.lb_valid = true;
    assert_false(lb_forward_packet(packet, a));
    assert_int_equal(dp_packet_size(packet), f->size);
    assert_memory_equal(dp_packet_data(packet), f->bytes, f->size);
    assert_int_equal(packet->l3_ofs, copy->l3_ofs);
    assert_int_equal(packet->l4_ofs, copy->l4_ofs);
    assert_true(packet->md.lb_valid);
    dp_packet_delete(copy);
    dp_packet_delete(packet);
}

/* A frame and its rewrite, both written down by hand. */
static void
by_hand(void **state)
{
    static const uint8_t in[] = {
        0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, /* Ethernet destination */
        0x02, 0x11, 0x22, 0x33, 0x44, 0x55, /* and source. */
        0x08, 0x00, 0x45, 0xb8, 0x00, 0x2e, /* 46 bytes of IPv4, */
        0x12, 0x34, 0x40, 0x00, 0x40, 0x11, /* TTL 64, */
        0x5b, 0x6f, 0x0a, 0x00, 0x00, 0x01, /* from 10.0.0.1 */
        0xc0, 0x00, 0x02, 0x63,             /* to 192.0.2.99. */
        0x9c, 0x41, 0x4c, 0x42, 0x00, 0x1a, /* Port 19522, 26 bytes, */
        0x19, 0xe1,                         /* checksum. */
        0x4c, 0x42, 0x02, 0x01, 0x00, 0x00, /* Header, */
        0x00, 0x17, 0x00, 0x00, 0x00, 0x00, /* port select 0x17, */
        0x00, 0x00, 0x03, 0xe9,             /* tick 1001. */
        0xde, 0xad,
    };
    static const uint8_t out[] = {
        0x0e, 0x10, 0x20, 0x30, 0x40, 0x50, /* Ethernet destination */
        0x02, 0x00, 0x00, 0x00, 0xff, 0x01, /* and source. */
        0x08, 0x00, 0x45, 0xb8, 0x00, 0x1e, /* 30 bytes of IPv4, */
        0x12, 0x34, 0x40, 0x00, 0x3f, 0x11, /* TTL 63, */
        0x5a, 0x7c, 0xc0, 0x00, 0x02, 0x63, /* from 192.0.2.99 */
        0x0a, 0x01, 0x02, 0x03,             /* to 10.1.2.3. */
        0x9c, 0x41, 0x4c, 0x4b, 0x00, 0x0a, /* Port 19524 + 7, 10 bytes, */
        0x6a, 0x38,                         /* checksum. */
        0xde, 0xad,
    };
    struct dp_packet *packet = lb_frame_packet(in, sizeof in, 2);
    struct ovs_action_lb_forward a;
    struct target t;

    (void) state;
    target_init(&t, false);
    a = target_to_action(&t, false);
    assert_true(lb_forward_packet(packet, &a));
    assert_int_equal(dp_packet_size(packet), sizeof out);
    assert_memory_equal(dp_packet_data(packet), out, sizeof out);
    dp_packet_delete(packet);
}

/* Each form of packet with each kind of checksum. */
static void
all_forms(void **state)
{
    static const enum lb_frame_csum csums[] = { LB_CSUM_RIGHT, LB_CSUM_NONE };
    static const unsigned int payloads[] = { 0, 1, 2, 3, 999, 1432 };
    static struct lb_frame f, in;

    (void) state;
    for (unsigned int form = 0; form < 2 * 2 * 2 * 3 * 6 * 11; form++) {
        struct target t;
        unsigned int rest = form;

        target_init(&t, rest & 1);
        lb_frame_init(&in, rest & 1);
        rest /= 2;
        t.keep = rest & 1;
        rest /= 2;
        in.csum = csums[rest & 1];
        rest /= 2;
        in.n_vlans = rest % 3;
        rest /= 3;
        in.payload = payloads[rest % 6];
        rest /= 6;
        in.options = 4 * rest;
        in.n_ext = rest % 5;
        memset(in.ext, LB_EXT_DST, sizeof in.ext);

        f = in;
        forward(&f, &t, 0);
    }
}

static void
random_packets(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 11;

    (void) state;
    for (int i = 0; i < 30000; i++) {
        struct target t;

        lb_frame_randomize(&f, &seed);
        target_randomize(&t, &seed);
        forward(&f, &t, 2 * (i % 32));
    }
}

/* The largest packets, over each path of the sum over a long payload. */
static void
jumbo(void **state)
{
    static struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        for (unsigned int size = 8990; size <= 9100; size++) {
            struct target t;

            target_init(&t, families[i]);
            t.keep = size % 2;
            lb_frame_init(&f, families[i]);
            f.fill = (uint8_t) size;
            f.payload = size - (f.ipv6 ? 40 : 20) - 8 - 16;
            forward(&f, &t, 128);
        }
    }
}

/* The port is base + masked entropy, modulo 2^16, for each number of bits. */
static void
ports(void **state)
{
    static const uint16_t values[] = {
        0, 1, 2, 0x00ff, 0x0100, 0x4c44, 0x7fff, 0x8000, 0xfffe, 0xffff
    };
    static struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(family)
    {
        for (uint8_t bits = 0; bits <= 16; bits++) {
            for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                for (size_t j = 0; j < ARRAY_SIZE(values); j++) {
                    struct target t;
                    uint16_t n = values[j];

                    target_init(&t, families[family]);
                    t.base = values[i];
                    t.bits = bits;
                    lb_frame_init(&f, families[family]);
                    f.port_select = n;
                    forward(&f, &t, 0);
                    /* Bit by bit, as well. */
                    for (uint8_t bit = bits; bit < 16; bit++) {
                        n &= (uint16_t) ~(1u << bit);
                    }
                    assert_int_equal(f.udp_dst, (uint16_t) (values[i] + n));
                }
            }
        }
    }
}

static void
ttls(void **state)
{
    static struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        for (unsigned int ttl = 0; ttl < 256; ttl++) {
            struct target t;

            target_init(&t, families[i]);
            lb_frame_init(&f, families[i]);
            f.ttl = (uint8_t) ttl;
            if (ttl > 1) {
                forward(&f, &t, 0);
                assert_int_equal(f.ttl, ttl - 1);
            } else {
                struct ovs_action_lb_forward a;

                lb_frame_build(&f);
                a = target_to_action(&t, f.ipv6);
                check_refused(&f, &a);
            }
        }
    }
}

/* Gives the payload of 'f' the two bytes with which the datagram that comes
 * out sums up to nothing. */
static void
tweak_to_zero(struct lb_frame *f, const struct target *t)
{
    static struct lb_frame out;

    f->tweak = 0;
    out = *f;
    rewrite(&out, t);
    f->tweak = lb_frame_get16(out.bytes + out.l4 + 6);
}

/* RFC 768: a checksum that comes out as 0 is sent as 0xffff. */
static void
checksum_that_becomes_0(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 12;

    (void) state;
    for (int i = 0; i < 2000; i++) {
        struct target t;

        lb_frame_randomize(&f, &seed);
        target_randomize(&t, &seed);
        f.csum = LB_CSUM_RIGHT;
        f.payload += 2;
        tweak_to_zero(&f, &t);
        forward(&f, &t, 0);
        assert_int_equal(lb_frame_get16(f.bytes + f.l4 + 6), 0xffff);
    }
}

/* ... and one that came in as 0xffff is a checksum like any other. */
static void
checksum_of_0xffff(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 13;

    (void) state;
    for (int i = 0; i < 2000; i++) {
        struct target t;

        lb_frame_randomize(&f, &seed);
        target_randomize(&t, &seed);
        f.csum = LB_CSUM_RIGHT;
        f.payload += 2;
        lb_frame_build(&f);
        f.tweak = lb_frame_get16(f.bytes + f.l4 + 6);
        lb_frame_build(&f);
        assert_int_equal(lb_frame_get16(f.bytes + f.l4 + 6), 0xffff);
        forward(&f, &t, 0);
    }
}

/* Without a checksum, none comes out, whatever the bytes sum up to. */
static void
no_checksum(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 14;

    (void) state;
    for (int i = 0; i < 2000; i++) {
        struct target t;

        lb_frame_randomize(&f, &seed);
        target_randomize(&t, &seed);
        f.csum = LB_CSUM_NONE;
        forward(&f, &t, 0);
        assert_int_equal(lb_frame_get16(f.bytes + f.l4 + 6), 0);
    }
}

/* A checksum that is wrong when the packet comes in is wrong by as much when
 * it goes out: a receiver must see that the packet was damaged. */
static void
wrong_in_wrong_out(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 15;

    (void) state;
    for (int i = 0; i < 5000; i++) {
        uint16_t udp_error = (uint16_t) (1 + unit_random_below(&seed, 65534));
        uint16_t ip_error = (uint16_t) (1 + unit_random_below(&seed, 65534));
        struct target t;

        lb_frame_randomize(&f, &seed);
        target_randomize(&t, &seed);
        f.csum = LB_CSUM_WRONG;
        f.csum_error = udp_error;
        f.ip_csum_error = f.ipv6 ? 0 : ip_error;
        lb_frame_build(&f);
        if (lb_frame_get16(f.bytes + f.l4 + 6) == 0xffff
            || lb_frame_get16(f.bytes + f.l3 + 10) == 0xffff) {
            continue; /* Has a second form, 0; see below. */
        }
        forward(&f, &t, 0);
        assert_int_not_equal(
            lb_frame_udp_sum(&f, f.bytes + f.l4,
                             lb_frame_get16(f.bytes + f.l4 + 4)),
            0xffff);
    }
}

/* Each value that the IPv4 checksum and the UDP checksum can have. */
static void
every_checksum(void **state)
{
    static struct lb_frame in, out;
    struct ovs_action_lb_forward a;
    struct target t;

    (void) state;
    target_init(&t, false);
    a = target_to_action(&t, false);
    lb_frame_init(&in, false);
    out = in;
    lb_frame_build(&in);
    rewrite(&out, &t);
    for (unsigned int csum = 1; csum <= UINT16_MAX; csum++) {
        struct dp_packet *packet;
        const uint8_t *data;
        uint16_t right_in, right_out, ip_in, ip_out;

        right_in = lb_frame_get16(in.bytes + in.l4 + 6);
        right_out = lb_frame_get16(out.bytes + out.l4 + 6);
        ip_in = lb_frame_get16(in.bytes + in.l3 + 10);
        ip_out = lb_frame_get16(out.bytes + out.l3 + 10);

        packet = lb_frame_packet(in.bytes, in.size, 0);
        lb_frame_put16((uint8_t *) dp_packet_l4(packet) + 6, (uint16_t) csum);
        lb_frame_put16((uint8_t *) dp_packet_l3(packet) + 10, (uint16_t) csum);
        assert_true(lb_forward_packet(packet, &a));

        /* out - right_out = in - right_in, modulo 0xffff. */
        data = dp_packet_l4(packet);
        assert_int_equal((lb_frame_get16(data + 6) + right_in) % 0xffff,
                         (csum + right_out) % 0xffff);
        assert_int_not_equal(lb_frame_get16(data + 6), 0);
        data = dp_packet_l3(packet);
        assert_int_equal((lb_frame_get16(data + 10) + ip_in) % 0xffff,
                         (csum + ip_out) % 0xffff);
        dp_packet_delete(packet);
    }
}

/* Does to the bytes of 'f' what a device does to which the checksum was
 * left: it adds up the datagram, the field included, behind the IP header. */
static void
complete_checksum(const struct lb_frame *f, struct dp_packet *packet)
{
    uint8_t *udp = dp_packet_l4(packet);
    uint16_t udp_len = lb_frame_get16(udp + 4);
    uint16_t sum = 0;

    assert_int_equal(udp_len, dp_packet_l4_size(packet) - f->trailer);
    for (uint16_t i = 0; i < udp_len; i++) {
        sum = lb_frame_add(sum, (uint16_t) (i % 2 ? udp[i] : udp[i] << 8));
    }
    sum = (uint16_t) ~sum;
    lb_frame_put16(udp + 6, sum ? sum : 0xffff);
}

/* A packet whose checksum a device is to complete comes out such that the
 * completed packet is right. */
static void
partial_checksum(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 16;

    (void) state;
    for (int i = 0; i < 10000; i++) {
        struct ovs_action_lb_forward a;
        struct dp_packet *packet;
        struct target t;

        lb_frame_randomize(&f, &seed);
        target_randomize(&t, &seed);
        a = target_to_action(&t, f.ipv6);
        f.csum = LB_CSUM_PARTIAL;
        if (i % 2 && f.payload > 1) {
            f.csum = LB_CSUM_RIGHT;
            tweak_to_zero(&f, &t);
            f.csum = LB_CSUM_PARTIAL;
        }
        lb_frame_build(&f);

        packet = lb_frame_packet(f.bytes, f.size, 0);
        dp_packet_hwol_set_csum_udp(packet);
        assert_true(lb_forward_packet(packet, &a));
        assert_true(dp_packet_hwol_l4_is_udp(packet));
        complete_checksum(&f, packet);
        f.csum = LB_CSUM_RIGHT;
        rewrite(&f, &t);
        check_bytes(packet, &f);
        dp_packet_delete(packet);
    }
}

/* A packet of one family never gets the addresses of the other. */
static void
other_family(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 17;

    (void) state;
    for (int i = 0; i < 2000; i++) {
        struct ovs_action_lb_forward a;
        struct target t;

        lb_frame_randomize(&f, &seed);
        lb_frame_build(&f);
        target_randomize(&t, &seed);
        a = target_to_action(&t, !f.ipv6);
        check_refused(&f, &a);
    }
}

/* What lb_parse finds fault with, lb_forward does not touch. */
static void
faults(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 18;
    int n_refused = 0;

    (void) state;
    for (int i = 0; i < 20000; i++) {
        struct ovs_action_lb_forward a;
        struct dp_packet *packet;
        struct ovs_key_lb key;
        struct target t;

        lb_frame_randomize(&f, &seed);
        lb_frame_build(&f);
        f.bytes[f.l3
                + unit_random_below(&seed,
                                    (unsigned int) (f.lb + 4 - f.l3))] ^=
            (uint8_t) (1 << unit_random_below(&seed, 8));
        target_randomize(&t, &seed);
        a = target_to_action(&t, f.ipv6);

        packet = lb_frame_packet(f.bytes, f.size, 0);
        lb_header_extract(packet, &key);
        dp_packet_delete(packet);
        if (key.status != LB_OK) {
            check_refused(&f, &a);
            n_refused++;
        }
    }
    assert_in_range(n_refused, 2000, 18000);
}

/* A packet that something else made longer at its front, as a tunnel or a tag
 * does, and one in the middle of a large buffer. */
static void
after_other_actions(void **state)
{
    static struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        struct ovs_action_lb_forward a;
        struct dp_packet *packet;
        struct target t;

        target_init(&t, families[i]);
        lb_frame_init(&f, families[i]);
        a = target_to_action(&t, f.ipv6);
        lb_frame_build(&f);
        packet = lb_frame_packet(f.bytes, f.size, 4);
        eth_push_vlan(packet, htons(ETH_TYPE_VLAN), htons(100 | VLAN_CFI));
        assert_true(lb_forward_packet(packet, &a));
        f.n_vlans = 1;
        rewrite(&f, &t);
        lb_frame_put16(f.bytes + 14, 100);
        check_bytes(packet, &f);

        eth_pop_vlan(packet);
        f.n_vlans = 0;
        lb_frame_build(&f);
        check_bytes(packet, &f);
        check_layers(packet, &f);
        dp_packet_delete(packet);
    }
}

/* The room that the header leaves serves a later push. */
static void
headroom(void **state)
{
    static struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        struct ovs_action_lb_forward a;
        struct dp_packet *packet;
        const void *base;
        struct target t;

        target_init(&t, families[i]);
        lb_frame_init(&f, families[i]);
        a = target_to_action(&t, f.ipv6);
        lb_frame_build(&f);
        packet = lb_frame_packet(f.bytes, f.size, 0);
        base = dp_packet_base(packet);
        assert_true(lb_forward_packet(packet, &a));
        assert_int_equal(dp_packet_headroom(packet), LB_HEADER_LEN);
        for (int n = 0; n < 4; n++) {
            eth_push_vlan(packet, htons(ETH_TYPE_VLAN), htons(1 | VLAN_CFI));
        }
        assert_ptr_equal(dp_packet_base(packet), base);
        assert_int_equal(dp_packet_headroom(packet), 0);
        dp_packet_delete(packet);
    }
}

/* trunc() said before how much of the packet is to be sent: as much of what is
 * left, and an Ethernet header at least. */
static void
truncated(void **state)
{
    static struct lb_frame f;

    (void) state;
    for (uint32_t max_len = ETH_HEADER_LEN; max_len < 120; max_len++) {
        struct ovs_action_lb_forward a;
        struct dp_packet *packet;
        struct target t;

        target_init(&t, false);
        lb_frame_init(&f, false);
        a = target_to_action(&t, false);
        lb_frame_build(&f);
        packet = lb_frame_packet(f.bytes, f.size, 0);
        dp_packet_set_cutlen(packet, max_len);
        assert_true(lb_forward_packet(packet, &a));
        assert_int_equal(dp_packet_get_send_len(packet),
                         MIN(max_len, f.size - LB_HEADER_LEN));
        dp_packet_delete(packet);
    }
}

/* A second lb_forward finds no header any more, or forwards again. */
static void
twice(void **state)
{
    static struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        struct ovs_action_lb_forward a;
        struct dp_packet *packet;
        struct target t;

        target_init(&t, families[i]);
        t.keep = true;
        lb_frame_init(&f, families[i]);
        forward(&f, &t, 0);
        forward(&f, &t, 0);
        assert_int_equal(f.ttl, 62);

        t.keep = false;
        a = target_to_action(&t, f.ipv6);
        packet = lb_frame_packet(f.bytes, f.size, 0);
        assert_true(lb_forward_packet(packet, &a));
        assert_false(lb_forward_packet(packet, &a));
        dp_packet_delete(packet);
    }
}

static void
addresses(void **state)
{
    static const struct {
        const char *text;
        const char *ip; /* As inet_ntop() writes it, NULL if invalid. */
    } cases[] = {
        { "192.0.2.1", "::ffff:192.0.2.1" },
        { "0.0.0.0", "::ffff:0.0.0.0" },
        { "255.255.255.255", "::ffff:255.255.255.255" },
        { "2001:db8::1", "2001:db8::1" },
        { "::", "::" },
        { "::1", "::1" },
        { "64:ff9b::192.0.2.1", "64:ff9b::c000:201" },
        { "::ffff:192.0.2.1", NULL },
        { "::ffff:c000:201", NULL },
        { "192.0.2", NULL },
        { "192.0.2.256", NULL },
        { "192.0.2.1 ", NULL },
        { "192.0.2.1/24", NULL },
        { "2001:db8::1::", NULL },
        { "2001:db8::1%lo", NULL },
        { "[2001:db8::1]", NULL },
        { "example.org", NULL },
        { "", NULL },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct in6_addr ip;
        char text[INET6_ADDRSTRLEN];

        if (lb_forward_ip_parse(cases[i].text, &ip) != !!cases[i].ip) {
            fail_msg("\"%s\" is taken for what it is not", cases[i].text);
        }
        if (cases[i].ip) {
            inet_ntop(AF_INET6, &ip, text, sizeof text);
            assert_string_equal(text, cases[i].ip);
        }
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(all_forms),
        cmocka_unit_test(random_packets),
        cmocka_unit_test(jumbo),
        cmocka_unit_test(ports),
        cmocka_unit_test(ttls),
        cmocka_unit_test(checksum_that_becomes_0),
        cmocka_unit_test(checksum_of_0xffff),
        cmocka_unit_test(no_checksum),
        cmocka_unit_test(wrong_in_wrong_out),
        cmocka_unit_test(every_checksum),
        cmocka_unit_test(partial_checksum),
        cmocka_unit_test(other_family),
        cmocka_unit_test(faults),
        cmocka_unit_test(after_other_actions),
        cmocka_unit_test(headroom),
        cmocka_unit_test(truncated),
        cmocka_unit_test(twice),
        cmocka_unit_test(addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
