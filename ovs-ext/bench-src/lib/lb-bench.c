/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "lb-bench.h"

#include <errno.h>
#include <string.h>

#include "byte-order.h"
#include "dp-packet.h"
#include "lb-header.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "timeval.h"
#include "unaligned.h"
#include "unixctl.h"
#include "util.h"

enum lb_bench_mode {
    LB_BENCH_COUNT,
    LB_BENCH_CLOCK
};

/* Where the ticks come from.  The receiving thread alone changes the second
 * half; a new one replaces it when the settings change. */
struct lb_bench {
    enum lb_bench_mode mode;
    uint64_t start;             /* First tick. */
    uint64_t step;              /* What the tick grows by. */
    uint64_t every;             /* Number of packets that have one tick. */
    uint64_t period;            /* Ticks after which to start again, or 0. */

    uint64_t offset;            /* Tick of the next packet, less 'start'. */
    uint64_t left;              /* Number of packets that still get it. */
};

/* NULL if packets are left alone. */
static OVSRCU_TYPE(struct lb_bench *) lb_bench = OVSRCU_INITIALIZER(NULL);

/* Returns the offset of the UDP header in the Ethernet frame of 'size' bytes
 * at 'data', or 0 if it is no untagged UDP over IPv4 or IPv6. */
static size_t
udp_offset(const char *data, size_t size)
{
    const struct eth_header *eth = (const void *) data;
    const struct ip_header *ip = (const void *) (eth + 1);
    const struct ovs_16aligned_ip6_hdr *ip6 = (const void *) (eth + 1);

    if (size < sizeof *eth + sizeof *ip) {
        return 0;
    } else if (eth->eth_type == htons(ETH_TYPE_IP)) {
        return (ip->ip_proto == IPPROTO_UDP
                ? sizeof *eth + IP_IHL(ip->ip_ihl_ver) * 4 : 0);
    } else if (eth->eth_type == htons(ETH_TYPE_IPV6)
               && size >= sizeof *eth + sizeof *ip6) {
        return ip6->ip6_nxt == IPPROTO_UDP ? sizeof *eth + sizeof *ip6 : 0;
    }
    return 0;
}

/* Returns the load-balancer header of 'packet', NULL if it has none. */
static struct lb_hdr *
find_header(struct dp_packet *packet)
{
    char *data = dp_packet_data(packet);
    size_t size = dp_packet_size(packet);
    size_t offset = udp_offset(data, size);
    struct lb_hdr *lb = (void *) (data + offset + UDP_HEADER_LEN);

    return (offset && offset + UDP_HEADER_LEN + sizeof *lb <= size
            && lb->magic == htons(LB_MAGIC) ? lb : NULL);
}

/* Returns the tick of the next packet and counts it. */
static uint64_t
next_tick(struct lb_bench *b)
{
    uint64_t tick = b->start + b->offset;

    if (!--b->left) {
        b->left = b->every;
        b->offset += b->step;
        if (b->offset >= b->period && b->period) {
            b->offset = 0;
        }
    }
    return tick;
}

/* Writes the next ticks into the event packets of 'batch'. */
void
lb_bench_stamp(struct dp_packet_batch *batch)
{
    struct lb_bench *b = ovsrcu_get(struct lb_bench *, &lb_bench);
    struct dp_packet *packet;
    uint64_t now;

    if (!b) {
        return;
    }
    now = b->mode == LB_BENCH_CLOCK ? time_wall_usec() : 0;
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        struct lb_hdr *lb = find_header(packet);

        if (lb) {
            ovs_be64 tick = htonll(now ? now : next_tick(b));

            memcpy(&lb->tick_hi, &tick, sizeof tick);
        }
    }
}

/* Parses the 'argc' words after the command in 'argv' into '*b'.  Returns
 * false if they are none of the forms in lb-bench.h; "off" gives NULL. */
static bool
parse_ticks(int argc, const char *argv[], struct lb_bench **b)
{
    unsigned long long start, step, every, period;

    *b = NULL;
    if (argc == 2 && !strcmp(argv[1], "off")) {
        return true;
    } else if (argc == 2 && !strcmp(argv[1], "clock")) {
        *b = xzalloc(sizeof **b);
        (*b)->mode = LB_BENCH_CLOCK;
        return true;
    } else if (argc == 6 && !strcmp(argv[1], "count")
               && str_to_ullong(argv[2], 0, &start)
               && str_to_ullong(argv[3], 0, &step)
               && str_to_ullong(argv[4], 0, &every) && every
               && str_to_ullong(argv[5], 0, &period)) {
        *b = xmalloc(sizeof **b);
        **b = (struct lb_bench) {
            .mode = LB_BENCH_COUNT, .start = start, .step = step,
            .every = every, .period = period, .left = every,
        };
        return true;
    }
    return false;
}

static void
lb_bench_ticks(struct unixctl_conn *conn, int argc, const char *argv[],
               void *aux OVS_UNUSED)
{
    struct lb_bench *new, *old;

    if (!parse_ticks(argc, argv, &new)) {
        unixctl_command_reply_error(conn, "usage: lb-bench/ticks off | clock "
                                    "| count START STEP EVERY PERIOD");
        return;
    }
    old = ovsrcu_get_protected(struct lb_bench *, &lb_bench);
    ovsrcu_set(&lb_bench, new);
    if (old) {
        ovsrcu_postpone(free, old);
    }
    unixctl_command_reply(conn, NULL);
}

/* Registers the command.  Called once, by the main thread. */
void
lb_bench_init(void)
{
    unixctl_command_register("lb-bench/ticks", "off | clock | count START "
                             "STEP EVERY PERIOD", 1, 5, lb_bench_ticks, NULL);
}
