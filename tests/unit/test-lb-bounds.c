/* SPDX-License-Identifier: Apache-2.0 */

/* Checks that lb_parse believes no length: frames, IP packets and datagrams
 * that end early, length fields of each value, and arbitrary bytes.  Packets
 * are in heap buffers of just their size, so that AddressSanitizer sees each
 * byte that is read beyond. */

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

/* A frame that ends early, its headers saying what they said before. */
static void
truncated(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        f.options = 8;
        f.ext[0] = LB_EXT_DST;
        f.n_ext = 1;
        for (f.n_vlans = 0; f.n_vlans <= 2; f.n_vlans++) {
            lb_frame_build(&f);
            for (size_t size = 0; size < f.size; size++) {
                struct ovs_key_lb key = parse_bytes(f.bytes, size, 0);

                /* Until the Ethertype is whole, there is no IP. */
                check_fault(key, size < f.l3 ? LB_NOT_UDP : LB_BAD_LENGTH, 0,
                            "frame size", (unsigned int) size);
            }
            check_valid(parse(&f), &f);
        }
    }
}

/* An IP packet that ends early, the datagram saying what it said before, with
 * and without Ethernet padding. */
static void
truncated_ip(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        for (size_t ip_size = 0; ip_size < f.size - f.l3; ip_size++) {
            size_t ofs = f.ipv6 ? 4 : 2;
            size_t length = f.ipv6 && ip_size >= 40 ? ip_size - 40 : ip_size;

            lb_frame_put16(f.bytes + f.l3 + ofs, (uint16_t) length);
            if (!f.ipv6 || ip_size >= 40) {
                check_fault(parse(&f), LB_BAD_LENGTH, 0, "IP size, padded",
                            (unsigned int) ip_size);
            }
            check_fault(parse_bytes(f.bytes, f.l3 + ip_size, 0), LB_BAD_LENGTH,
                        0, "IP size", (unsigned int) ip_size);
        }
    }
}

/* A datagram of each size from 0 in an IP packet that fits it. */
static void
udp_sizes(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        for (unsigned int n = 0; n <= f.size - f.l4; n++) {
            size_t size = f.l4 + n;
            struct ovs_key_lb key;

            lb_frame_put16(
                f.bytes + f.l3 + (f.ipv6 ? 4 : 2),
                (uint16_t) (f.ipv6 ? size - f.l3 - 40 : size - f.l3));
            lb_frame_put16(f.bytes + f.l4 + 4, (uint16_t) n);
            key = parse_bytes(f.bytes, size, 0);
            if (n < 8) {
                check_fault(key, LB_BAD_LENGTH, 0, "UDP size", n);
            } else if (n < 24) {
                check_fault(key, LB_SHORT, 0, "UDP size", n);
            } else {
                check_valid(key, &f);
            }
        }
    }
}

/* Each value of the UDP length in one packet. */
static void
udp_lengths(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        f.padding = 9;
        lb_frame_build(&f);
        for (unsigned int n = 0; n <= UINT16_MAX; n++) {
            size_t l4_size = f.size - f.padding - f.l4;
            struct ovs_key_lb key;

            lb_frame_put16(f.bytes + f.l4 + 4, (uint16_t) n);
            key = parse(&f);
            if (n < 8 || n > l4_size) {
                check_fault(key, LB_BAD_LENGTH, 0, "UDP length", n);
            } else if (n < 24) {
                check_fault(key, LB_SHORT, 0, "UDP length", n);
            } else {
                check_valid(key, &f);
            }
        }
    }
}

/* Each value of the IP length in one packet. */
static void
ip_lengths(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        size_t ip_size, fixed;

        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        ip_size = f.size - f.l3;
        fixed = f.ipv6 ? 40 : 0;
        for (unsigned int n = 0; n <= UINT16_MAX; n++) {
            struct ovs_key_lb key;

            lb_frame_put16(f.bytes + f.l3 + (f.ipv6 ? 4 : 2), (uint16_t) n);
            key = parse(&f);
            if (n == ip_size - fixed) {
                check_valid(key, &f);
            } else {
                check_fault(key, LB_BAD_LENGTH, 0, "IP length", n);
            }
        }
    }
}

/* Each IPv4 header length in one packet: what then stands at the place of the
 * UDP header is never read beyond the packet. */
static void
ipv4_header_lengths(void **state)
{
    struct lb_frame f;

    (void) state;
    lb_frame_init(&f, false);
    for (f.payload = 0; f.payload <= 40; f.payload++) {
        lb_frame_build(&f);
        for (uint8_t ihl = 0; ihl < 16; ihl++) {
            f.bytes[f.l3] = 0x40 | ihl;
            assert_int_equal(parse(&f).status == LB_OK, ihl == 5);
        }
    }
}

/* Each length field of an extension header in one packet. */
static void
extension_lengths(void **state)
{
    static const uint8_t ext[] = { LB_EXT_HOP, LB_EXT_ROUTING, LB_EXT_AH,
                                   LB_EXT_DST, LB_EXT_FRAGMENT };
    struct lb_frame f;

    (void) state;
    lb_frame_init(&f, true);
    f.n_ext = 2;
    for (size_t i = 0; i < ARRAY_SIZE(ext); i++) {
        for (unsigned int len = 0; len < 256; len++) {
            f.ext[0] = LB_EXT_DST;
            f.ext[1] = ext[i];
            f.ext_len[1] = ext[i] == LB_EXT_AH ? 4 : 0;
            lb_frame_build(&f);
            f.bytes[f.l3 + 40 + 8 + 1] = (uint8_t) len;
            if (ext[i] == LB_EXT_FRAGMENT) {
                check_fault(parse(&f), LB_FRAGMENT, 0, "extension", len);
            } else {
                assert_int_equal(parse(&f).status == LB_OK,
                                 len == f.ext_len[1]);
            }
        }
    }
}

/* Any bytes give an answer. */
static void
any_bytes(void **state)
{
    uint8_t bytes[128];
    uint64_t seed = 4;

    (void) state;
    for (int i = 0; i < 50000; i++) {
        size_t size = unit_random_below(&seed, sizeof bytes + 1);

        for (size_t j = 0; j < sizeof bytes; j++) {
            bytes[j] = (uint8_t) unit_random(&seed);
        }
        lb_frame_put16(bytes + 12, i % 2 ? 0x0800 : 0x86dd);
        bytes[14] = i % 2 ? 0x45 : 0x60;
        parse_bytes(bytes, size, 0);
    }
}

/* A valid frame of which some bytes were changed. */
static void
mutated(void **state)
{
    static struct lb_frame f;
    uint64_t seed = 5;

    (void) state;
    for (int i = 0; i < 50000; i++) {
        lb_frame_randomize(&f, &seed);
        lb_frame_build(&f);
        for (int n = 1 + unit_random_below(&seed, 3); n; n--) {
            f.bytes[12 + unit_random_below(&seed, (unsigned int) f.lb)] =
                (uint8_t) unit_random(&seed);
        }
        parse_bytes(f.bytes, 1 + unit_random_below(&seed, f.size), 0);
        parse(&f);
    }
}

#ifdef DPDK_NETDEV
/* A packet in several buffers: what is not in the first one is not read. */
static void
segmented(void **state)
{
    struct lb_frame f;

    (void) state;
    FOR_EACH_FAMILY(i)
    {
        lb_frame_init(&f, families[i]);
        lb_frame_build(&f);
        for (size_t size = f.l3; size < f.size; size++) {
            struct dp_packet *packet = lb_frame_packet(f.bytes, f.size, 0);
            struct ovs_key_lb key;
            char *first = xmemdup(f.bytes, size);

            free(dp_packet_base(packet));
            dp_packet_set_base(packet, first);
            dp_packet_set_data(packet, first);
            packet->mbuf.data_len = (uint16_t) size;
            packet->source = DPBUF_DPDK;
            assert_int_equal(dp_packet_size(packet), f.size);

            lb_header_extract(packet, &key);
            if (size < f.lb + LB_FRAME_LB_LEN) {
                check_fault(key, LB_SEGMENTED, 0, "first segment",
                            (unsigned int) size);
            } else {
                check_valid(key, &f);
            }
            packet->source = DPBUF_MALLOC;
            dp_packet_delete(packet);
        }
    }
}
#endif

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated),
        cmocka_unit_test(truncated_ip),
        cmocka_unit_test(udp_sizes),
        cmocka_unit_test(udp_lengths),
        cmocka_unit_test(ip_lengths),
        cmocka_unit_test(ipv4_header_lengths),
        cmocka_unit_test(extension_lengths),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(mutated),
#ifdef DPDK_NETDEV
        cmocka_unit_test(segmented),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
