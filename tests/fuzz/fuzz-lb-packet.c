/* SPDX-License-Identifier: Apache-2.0 */

/* Any bytes as a frame that arrives: flow extraction, lb_parse, lb_forward.
 *
 * Input: one byte that says what lb_forward is to do (below), then the frame.
 * The frame lies in a heap buffer of just its size.  What must hold is checked
 * with sums over whole headers and datagrams, taken before and after. */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "lb-calendar.h"
#include "lb-forward.h"
#include "lb-header.h"
#include "packets.h"
#include "util.h"

/* The first byte. */
#define OTHER_FAMILY 0x01 /* The action is for the other family. */
#define KEEP 0x02         /* The header stays. */
#define PARTIAL 0x04      /* The checksum is left to a device. */
#define START_SHIFT 3     /* Two bits: half of where the frame starts. */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define CHECK(CONDITION)    \
    do {                    \
        if (!(CONDITION)) { \
            abort();        \
        }                   \
    } while (0)

/* Sums over a packet, modulo 0xffff. */
struct sums {
    uint32_t ip;       /* IPv4 header. */
    uint32_t pseudo;   /* UDP's pseudo header. */
    uint32_t datagram; /* UDP datagram. */
    uint16_t csum;     /* UDP checksum field. */
    size_t udp_len;
    size_t ip_len;
    uint8_t ttl;
};

static uint32_t
sum_bytes(uint32_t sum, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum += i % 2 ? p[i] : p[i] << 8;
        sum %= 0xffff;
    }
    return sum;
}

static size_t
get16(const uint8_t *p)
{
    return (size_t) p[0] << 8 | p[1];
}

/* Sums up 'packet', which is a valid event packet. */
static struct sums
sum_packet(const struct dp_packet *packet, bool ipv6)
{
    const uint8_t *l3 = dp_packet_l3(packet);
    const uint8_t *l4 = dp_packet_l4(packet);
    struct sums sums = {
        .csum = (uint16_t) get16(l4 + 6),
        .udp_len = get16(l4 + 4),
        .ip_len = get16(l3 + (ipv6 ? 4 : 2)),
        .ttl = l3[ipv6 ? 7 : 8],
    };

    sums.ip = ipv6 ? 0 : sum_bytes(0, l3, (l3[0] & 15u) * 4);
    sums.pseudo = sum_bytes((uint32_t) (IPPROTO_UDP + sums.udp_len),
                            l3 + (ipv6 ? 8 : 12), ipv6 ? 32 : 8);
    sums.datagram = sum_bytes(0, l4, sums.udp_len);
    return sums;
}

static void
check_forwarded(struct dp_packet *packet, const struct sums *before,
                const struct ovs_action_lb_forward *a, bool partial)
{
    bool ipv6 = a->flags & LB_FORWARD_IPV6;
    size_t strip = a->flags & LB_FORWARD_KEEP ? 0 : LB_HEADER_LEN;
    struct sums after = sum_packet(packet, ipv6);

    CHECK(after.ip_len == before->ip_len - strip);
    CHECK(after.udp_len == before->udp_len - strip);
    CHECK(after.ttl == before->ttl - 1);
    CHECK(after.ip % 0xffff == before->ip % 0xffff);
    if (partial) {
        CHECK((after.csum + before->pseudo) % 0xffff
              == (before->csum + after.pseudo) % 0xffff);
    } else if (!before->csum) {
        CHECK(!after.csum);
    } else {
        CHECK(after.csum);
        CHECK((after.pseudo + after.datagram) % 0xffff
              == (before->pseudo + before->datagram) % 0xffff);
    }
}

static void
check_key(const struct ovs_key_lb *key)
{
    struct ovs_key_lb fault = { .status = key->status,
                                .version = key->version };

    CHECK(strcmp(lb_status_to_string(key->status), "unknown"));
    CHECK(key->status == LB_OK || !memcmp(key, &fault, sizeof fault));
    CHECK(!key->member);
}

static void
check_calendar(struct ovs_key_lb key)
{
    static const uint32_t members[] = { 1, 65535, LB_CALENDAR_NONE, 0 };
    uint32_t member = members[(ntohs(key.slot_select) ^ 1) & 3];
    union lb_calendar_buf buf;
    uint8_t status = key.status;

    lb_calendar_init(&buf.calendar, 2, 0xff01, members);
    CHECK(lb_calendar_is_valid(&buf.calendar, lb_calendar_size(2)));
    lb_calendar_apply(&buf.calendar, &key);
    if (status != LB_OK) {
        CHECK(key.status == status && !key.member);
    } else if (member == LB_CALENDAR_NONE) {
        CHECK(key.status == LB_NO_SLOT && !key.member);
    } else {
        CHECK(key.status == LB_OK && ntohs(key.member) == member);
    }
}

static struct dp_packet *
make_packet(const uint8_t *data, size_t size, size_t start)
{
    struct dp_packet *packet = xmalloc(sizeof *packet);
    char *base = xmalloc(start + size ? start + size : 1);

    dp_packet_use(packet, base, start + size);
    dp_packet_set_data(packet, base + start);
    dp_packet_set_size(packet, (uint32_t) size);
    memcpy(base + start, data, size);
    pkt_metadata_init(&packet->md, u32_to_odp(1));
    return packet;
}

/* Has lb_forward do 'a' to 'packet', which has 'size' bytes, those at
 * 'data'. */
static void
forward(struct dp_packet *packet, const uint8_t *data, size_t size,
        const struct ovs_key_lb *key, const struct ovs_action_lb_forward *a,
        uint8_t how)
{
    bool ipv6 = a->flags & LB_FORWARD_IPV6;
    struct sums before;
    struct flow flow;

    if (key->status != LB_OK || how & OTHER_FAMILY) {
        CHECK(!lb_forward_packet(packet, a));
        CHECK(dp_packet_size(packet) == size);
        CHECK(!memcmp(dp_packet_data(packet), data, size));
        return;
    }
    before = sum_packet(packet, ipv6);
    CHECK(lb_forward_packet(packet, a));
    CHECK(dp_packet_size(packet) == size - (how & KEEP ? 0 : LB_HEADER_LEN));
    check_forwarded(packet, &before, a, how & PARTIAL);
    flow_extract(packet, &flow);
    check_forwarded(packet, &before, a, how & PARTIAL);
    CHECK(flow.nw_proto == IPPROTO_UDP && !flow.nw_frag);
    CHECK(flow_lb_is_zero(&flow));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ovs_action_lb_forward a = {
        .ip_src = { .s6_addr = { [10] = 0xff, 0xff, 192, 0, 2, 99 } },
        .ip_dst = { .s6_addr = { [10] = 0xff, 0xff, 10, 1, 2, 3 } },
        .base = 65530,
        .bits = 5,
    };
    struct dp_packet *packet;
    struct ovs_key_lb key;
    struct flow flow;
    bool ipv6;
    uint8_t how;

    if (!size || size > 9300) {
        return 0;
    }
    how = data[0];
    packet = make_packet(data + 1, size - 1, (how >> START_SHIFT & 3) * 2);
    flow_extract(packet, &flow);
    lb_header_extract(packet, &key);
    check_key(&key);
    check_calendar(key);

    ipv6 = flow.dl_type == htons(ETH_TYPE_IPV6);
    a.flags =
        (uint8_t) ((how & KEEP ? LB_FORWARD_KEEP : 0)
                   | (ipv6 == !(how & OTHER_FAMILY) ? LB_FORWARD_IPV6 : 0));
    if (how & PARTIAL) {
        dp_packet_hwol_set_csum_udp(packet);
    }
    forward(packet, data + 1, size - 1, &key, &a, how);
    dp_packet_delete(packet);
    return 0;
}
