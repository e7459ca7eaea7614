/* SPDX-License-Identifier: Apache-2.0 */

/* Checks what lb_parse makes of packets: the fields of valid ones, and each
 * status of the others.  Packets are in heap buffers of just their size. */

#include <config.h>
#include "lb-header.h"

#include "dp-packet.h"
#include "openvswitch/lb.h"
#include "packets.h"
#include "tests/unit/lb-frame.h"
#include "tests/unit/unit.h"

static const bool families[] = { false, true };

#define FOR_EACH_FAMILY(I) for (size_t I = 0; (I) < 2; (I)++)

/* Reads the header of the first 'size' bytes at 'data', which begin 'headroom'
 * bytes after an aligned address. */
static struct ovs_key_lb
parse_bytes(const void *data, size_t size, size_t headroom)
{
    struct dp_packet *packet = lb_frame_packet(data, size, headroom);
    struct ovs_key_lb key;

    memset(&key, 0xcc, sizeof key);
    lb_header_extract(packet, &key);
    assert_int_equal(dp_packet_size(packet), size);
    assert_memory_equal(dp_packet_data(packet), data, size);
    dp_packet_delete(packet);
    return key;
}

static struct ovs_key_lb
parse(const struct lb_frame *f)
{
    return parse_bytes(f->bytes, f->size, 0);
}

/* Checks that 'key' says 'status' and 'version', and nothing else. */
static void
check_fault(struct ovs_key_lb key, enum lb_status status, uint8_t version,
            const char *what, unsigned int n)
{
    struct ovs_key_lb expected = { .status = status, .version = version };

    if (memcmp(&key, &expected, sizeof key)) {
        fail_msg("%s %u: status %s version %u tick %#llx, not %s version %u",
                 what, n, lb_status_to_string(key.status), key.version,
                 (unsigned long long int) ntohll(key.tick),
                 lb_status_to_string(status), version);
    }
}

static void
check_valid(struct ovs_key_lb key, const struct lb_frame *f)
{
    assert_int_equal(key.status, LB_OK);
    assert_int_equal(key.version, f->version);
    assert_true(ntohll(key.tick) == f->tick);
    assert_int_equal(ntohs(key.port_select), f->port_select);
    assert_int_equal(ntohs(key.slot_select),
                     f->version == 3 ? f->slot_select : f->tick & 0xffff);
    assert_int_equal(key.member, 0);
}

/* The two examples of the wire format's description. */
static void
examples(void **state)
{
    (void) state;
    FOR_EACH_FAMILY(i)
    {
        struct lb_frame f;
        struct ovs_key_lb key;

        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        memcpy(f.bytes + f.lb,
               "\x4c\x42\x02\x01\x00\x00\x00\x07\0\0\0\0\0\0\x03\xe9", 16);
        key = parse(&f);
        assert_int_equal(key.status, LB_OK);
        assert_int_equal(key.version, 2);
        assert_int_equal(ntohll(key.tick), 1001);
        assert_int_equal(ntohs(key.port_select), 7);
        assert_int_equal(ntohs(key.slot_select) & 511, 489);

        memcpy(f.bytes + f.lb,
               "\x4c\x42\x03\x01\x01\xe9\x00\x07\0\0\0\0\0\0\0\0", 16);
        key = parse(&f);
        assert_int_equal(key.status, LB_OK);
        assert_int_equal(key.version, 3);
        assert_int_equal(key.tick, 0);
        assert_int_equal(ntohs(key.slot_select), 489);
    }
}

/* Whatever stands before a valid header, it is found, and its fields are those
 * that the sender wrote. */
static void
random_valid(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 2;

    (void) state;
    for (int i = 0; i < 20000; i++) {
        lb_frame_randomize(&f, &seed);
        lb_frame_build(&f);
        check_valid(parse_bytes(f.bytes, f.size, 2 * (i % 16)), &f);
    }
}

/* Each size of IPv4 options, each number of tags, each start that is a
 * multiple of 2 (the device's, or what tunnels and tags leave). */
static void
ipv4_options_and_starts(void **state)
{
    struct lb_frame f;

    (void) state;
    lb_frame_init(&f, false);
    for (f.n_vlans = 0; f.n_vlans <= 2; f.n_vlans++) {
        for (f.options = 0; f.options <= 40; f.options += 4) {
            lb_frame_build(&f);
            for (size_t start = 0; start <= 64; start += 2) {
                check_valid(parse_bytes(f.bytes, f.size, start), &f);
            }
        }
    }
}

/* Every chain of up to three extension headers. */
static void
ipv6_extensions(void **state)
{
    static const uint8_t ext[] = { LB_EXT_HOP, LB_EXT_ROUTING, LB_EXT_AH,
                                   LB_EXT_DST };
    struct lb_frame f;

    (void) state;
    lb_frame_init(&f, true);
    for (unsigned int chain = 0; chain < 4 * 4 * 4; chain++) {
        for (f.n_ext = 1; f.n_ext <= 3; f.n_ext++) {
            for (unsigned int i = 0, c = chain; i < f.n_ext; i++, c /= 4) {
                f.ext[i] = ext[c % 4];
                f.ext_len[i] = (uint8_t) (f.ext[i] == LB_EXT_AH ? 4 : i);
            }
            lb_frame_build(&f);
            check_valid(parse(&f), &f);
        }
    }

    /* The longest one. */
    f.n_ext = 1;
    f.ext[0] = LB_EXT_DST;
    f.ext_len[0] = 255;
    lb_frame_build(&f);
    check_valid(parse(&f), &f);
}

/* Fragments, first, middle and last.  DF and the reserved bit are none. */
static void
fragments(void **state)
{
    static const struct {
        uint16_t frag;
        enum lb_status status;
    } cases[] = {
        { 0x0000, LB_OK },       { 0x4000, LB_OK },
        { 0x8000, LB_OK },       { 0x2000, LB_FRAGMENT },
        { 0x2001, LB_FRAGMENT }, { 0x0001, LB_FRAGMENT },
        { 0x1fff, LB_FRAGMENT }, { 0x6000, LB_FRAGMENT },
    };
    struct lb_frame f;

    (void) state;
    lb_frame_init(&f, false);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        f.frag = cases[i].frag;
        lb_frame_build(&f);
        if (cases[i].status == LB_OK) {
            check_valid(parse(&f), &f);
        } else {
            check_fault(parse(&f), LB_FRAGMENT, 0, "IPv4 frag", f.frag);
        }
    }

    /* In IPv6 the header alone makes a fragment, wherever it stands. */
    lb_frame_init(&f, true);
    for (f.n_ext = 1; f.n_ext <= LB_EXT_MAX; f.n_ext++) {
        for (unsigned int i = 0; i < LB_EXT_MAX; i++) {
            f.ext[i] = i + 1 == f.n_ext ? LB_EXT_FRAGMENT : LB_EXT_DST;
        }
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
            f.frag = cases[i].frag;
            lb_frame_build(&f);
            check_fault(parse(&f), LB_FRAGMENT, 0, "IPv6 frag", f.frag);
        }
    }
}

/* A fragment header that other extension headers follow. */
static void
fragment_before_extensions(void **state)
{
    struct lb_frame f;

    (void) state;
    lb_frame_init(&f, true);
    f.n_ext = 2;
    f.ext[0] = LB_EXT_FRAGMENT;
    f.ext[1] = LB_EXT_DST;
    f.frag = 1;
    lb_frame_build(&f);
    check_fault(parse(&f), LB_FRAGMENT, 0, "first", 0);
    f.frag = 0x0008;
    lb_frame_build(&f);
    check_fault(parse(&f), LB_FRAGMENT, 0, "later", 0);
}

static void
not_udp(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        for (int proto = 0; proto < 256; proto++) {
            f.proto = (uint8_t) proto;
            lb_frame_build(&f);
            if (proto == IPPROTO_UDP) {
                check_valid(parse(&f), &f);
            } else if (!f.ipv6) {
                check_fault(parse(&f), LB_NOT_UDP, 0, "protocol", f.proto);
            } else {
                /* Read as an extension header, the datagram may be one that
                 * is too long, or one with anything behind it. */
                assert_int_not_equal(parse(&f).status, LB_OK);
            }
        }
    }
}

/* No Ethertype but those of IP, MPLS with what looks like them included. */
static void
other_ethertypes(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        for (unsigned int type = 0; type <= UINT16_MAX; type += 3) {
            struct ovs_key_lb key;

            if (type == (f.ipv6 ? 0x86ddu : 0x0800u)) {
                continue;
            }
            lb_frame_put16(f.bytes + 12, (uint16_t) type);
            key = parse(&f);
            assert_true(key.status == LB_NOT_UDP
                        || key.status == LB_BAD_LENGTH);
            check_fault(key, key.status, 0, "Ethertype", type);
        }
        lb_frame_put16(f.bytes + 12, 0x0806);
        check_fault(parse(&f), LB_NOT_UDP, 0, "ARP", 0);
        lb_frame_put16(f.bytes + 12, f.ipv6 ? 0x0800 : 0x86dd);
        assert_int_not_equal(parse(&f).status, LB_OK);

        /* Two labels; the second ends like an Ethertype of IP. */
        lb_frame_put16(f.bytes + 12, 0x8847);
        memcpy(f.bytes + 14, "\0\0\x10\x40\0\0\x09\0\x45\0", 10);
        check_fault(parse(&f), LB_NOT_UDP, 0, "MPLS", 0);
    }
}

/* Packets that do not begin with an Ethernet header. */
static void
other_packet_types(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        struct dp_packet *packet;
        struct ovs_key_lb key;
        struct flow flow;

        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        packet = lb_frame_packet(f.bytes + f.l3, f.size - f.l3, 0);
        packet->packet_type = htonl(f.ipv6 ? PT_IPV6 : PT_IPV4);
        flow_extract(packet, &flow);
        assert_non_null(dp_packet_l4(packet));
        lb_header_extract(packet, &key);
        check_fault(key, LB_NOT_UDP, 0, "packet type", i);
        dp_packet_delete(packet);
    }
}

/* The IP version field and the Ethertype disagree. */
static void
ip_version(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        for (unsigned int version = 0; version < 16; version++) {
            f.bytes[f.l3] = (uint8_t) (version << 4 | (f.bytes[f.l3] & 0xf));
            if (version == (f.ipv6 ? 6 : 4)) {
                check_valid(parse(&f), &f);
            } else {
                check_fault(parse(&f), LB_NOT_UDP, 0, "IP version", version);
            }
        }
    }
}

static void
magics(void **state)
{
    struct lb_frame f;

    (void) state;
    lb_frame_init(&f, false);
    lb_frame_build(&f);
    for (unsigned int magic = 0; magic <= UINT16_MAX; magic++) {
        lb_frame_put16(f.bytes + f.lb, (uint16_t) magic);
        if (magic == 0x4c42) {
            check_valid(parse(&f), &f);
        } else {
            check_fault(parse(&f), LB_BAD_MAGIC, 0, "magic", magic);
        }
    }
}

/* The version is reported even where it is a wrong one. */
static void
versions(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        for (unsigned int version = 0; version < 256; version++) {
            lb_frame_init(&f, families[i]);
            f.version = (uint8_t) version;
            lb_frame_build(&f);
            if (version == 2 || version == 3) {
                check_valid(parse(&f), &f);
            } else {
                check_fault(parse(&f), LB_BAD_VERSION, f.version, "version",
                            version);
            }
        }
    }
}

static void
ttls(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        f.version = 3;
        for (unsigned int ttl = 0; ttl < 256; ttl++) {
            f.ttl = (uint8_t) ttl;
            lb_frame_build(&f);
            if (ttl > 1) {
                check_valid(parse(&f), &f);
            } else {
                check_fault(parse(&f), LB_TTL_EXPIRED, 3, "TTL", ttl);
            }
        }
    }
}

/* Makes 'f' a packet that has fault 'status'. */
static void
add_fault(struct lb_frame *f, enum lb_status status)
{
    switch (status) {
    case LB_NOT_UDP:
        f->proto = IPPROTO_TCP;
        break;
    case LB_FRAGMENT:
        f->frag = 0x2000;
        f->n_ext = f->ipv6;
        f->ext[0] = LB_EXT_FRAGMENT;
        break;
    case LB_SHORT:
        f->no_header = true;
        f->payload = 15;
        break;
    case LB_BAD_MAGIC:
        f->magic = 0x424c;
        break;
    case LB_BAD_VERSION:
        f->version = 1;
        break;
    case LB_TTL_EXPIRED:
        f->ttl = 1;
        break;
    case LB_BAD_LENGTH: /* Done in the built frame. */
    case LB_OK:
    case LB_NO_SLOT:
    case LB_SEGMENTED:
        break;
    }
}

/* Where a packet has several faults, the first one in the order of the data
 * plane's description is the one that counts. */
static void
order_of_faults(void **state)
{
    static const enum lb_status order[] = {
        LB_NOT_UDP,   LB_FRAGMENT,    LB_BAD_LENGTH,  LB_SHORT,
        LB_BAD_MAGIC, LB_BAD_VERSION, LB_TTL_EXPIRED,
    };
    struct lb_frame f;

    (void) state;
    for (unsigned int set = 1; set < 2u << ARRAY_SIZE(order); set++) {
        enum lb_status first = LB_OK;

        lb_frame_init(&f, set & 1);
        for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
            if (set & 2u << i) {
                first = first == LB_OK ? order[i] : first;
                add_fault(&f, order[i]);
            }
        }
        if (f.ipv6 && f.n_ext) {
            /* What follows a fragment header may be anything. */
            first = LB_FRAGMENT;
        }
        lb_frame_build(&f);
        if (set & 2u << 2) {
            lb_frame_put16(f.bytes + f.l4 + 4, (uint16_t) f.size);
        }
        if (first == LB_OK) {
            check_valid(parse(&f), &f);
        } else {
            uint8_t version = first < LB_BAD_VERSION ? 0 : f.version;

            check_fault(parse(&f), first, version, "faults", set);
        }
    }
}

static void
pointers(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 3;

    (void) state;
    for (int i = 0; i < 1000; i++) {
        struct dp_packet *packet;
        struct lb_packet where;
        uint8_t version;
        char *data;

        lb_frame_randomize(&f, &seed);
        lb_frame_build(&f);
        packet = lb_frame_packet(f.bytes, f.size, 2);
        data = dp_packet_data(packet);
        assert_int_equal(lb_packet_find(packet, &where, &version), LB_OK);
        assert_int_equal(version, f.version);
        assert_ptr_equal(where.l3, data + f.l3);
        assert_ptr_equal(where.udp, data + f.l4);
        assert_ptr_equal(where.lb, data + f.lb);
        assert_int_equal(where.ipv6, f.ipv6);
        dp_packet_delete(packet);
    }
}

static void
names(void **state)
{
    (void) state;
    assert_string_equal(lb_status_to_string(LB_OK), "ok");
    assert_string_equal(lb_status_to_string(LB_TTL_EXPIRED), "ttl_expired");
    assert_string_equal(lb_status_to_string(LB_NO_SLOT), "no_slot");
    for (unsigned int i = 0; i < 256; i++) {
        bool unknown = !strcmp(lb_status_to_string((uint8_t) i), "unknown");

        assert_int_equal(unknown, i > LB_SEGMENTED);
    }
}

static void
calendar_param(void **state)
{
    struct lb_calendar_param p;

    (void) state;
    assert_true(lb_calendar_param_decode(0x08090000, &p));
    assert_int_equal(p.table, 8);
    assert_int_equal(p.bits, 9);
    assert_int_equal(p.xor_value, 0);
    for (unsigned int bits = 0; bits < 256; bits++) {
        for (unsigned int table = 0; table < 256; table++) {
            uint64_t raw =
                lb_calendar_param((uint8_t) table, (uint8_t) bits, 0xbeef);

            assert_int_equal(lb_calendar_param_decode(raw, &p),
                             bits <= 9 && table != 255);
            assert_int_equal(p.table, table);
            assert_int_equal(p.bits, bits);
            assert_int_equal(p.xor_value, 0xbeef);
            assert_int_equal(raw >> 32, 0);
        }
    }
    for (int bit = 32; bit < 64; bit++) {
        assert_false(lb_calendar_param_decode(
            lb_calendar_param(8, 9, 0) | UINT64_C(1) << bit, &p));
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(random_valid),
        cmocka_unit_test(ipv4_options_and_starts),
        cmocka_unit_test(ipv6_extensions),
        cmocka_unit_test(fragments),
        cmocka_unit_test(fragment_before_extensions),
        cmocka_unit_test(not_udp),
        cmocka_unit_test(other_ethertypes),
        cmocka_unit_test(other_packet_types),
        cmocka_unit_test(ip_version),
        cmocka_unit_test(magics),
        cmocka_unit_test(versions),
        cmocka_unit_test(ttls),
        cmocka_unit_test(order_of_faults),
        cmocka_unit_test(pointers),
        cmocka_unit_test(names),
        cmocka_unit_test(calendar_param),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
