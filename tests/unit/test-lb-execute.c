/* SPDX-License-Identifier: Apache-2.0 */

/* Checks what the lb_* actions of the datapath do to batches of packets, and
 * who is left with which packet. */

#include <config.h>
#include "odp-lb.h"

#include "byte-order.h"
#include "dp-packet.h"
#include "flow.h"
#include "odp-execute.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "tests/unit/lb-frame.h"
#include "tests/unit/unit.h"
#include "util.h"

#define FORWARD_V4                                                    \
    "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50," \
    "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=19524,bits=4)"
#define FORWARD_V6                                                    \
    "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50," \
    "ip_src=2001:db8::99,ip_dst=fd00::3,base=65535,bits=16,keep)"

/* Appends to 'actions' those in 'text', which must be right. */
static void
put_actions(const char *text, struct ofpbuf *actions)
{
    if (odp_actions_from_string(text, NULL, actions)) {
        fail_msg("refused: %s", text);
    }
}

/* Returns packet number 'i' of a stream: one of three is valid IPv4, one valid
 * IPv6, one has a bad magic. */
static struct dp_packet *
stream_packet(int i)
{
    struct lb_frame f;

    lb_frame_init(&f, i % 3 == 1);
    f.version = 3;
    f.magic = i % 3 == 2 ? 0x4c43 : 0x4c42;
    f.slot_select = (uint16_t) i;
    f.port_select = (uint16_t) i;
    f.tick = 1000 + i;
    lb_frame_build(&f);
    return lb_frame_packet(f.bytes, f.size, 0);
}

static void
stream_batch(struct dp_packet_batch *batch)
{
    dp_packet_batch_init(batch);
    for (int i = 0; i < NETDEV_MAX_BURST; i++) {
        dp_packet_batch_add(batch, stream_packet(i));
    }
}

/* What the datapath was asked to do itself, that is, output. */
struct outputs {
    int n_calls;
    int n_packets;
    int n_stolen;
    uint16_t udp_dst[NETDEV_MAX_BURST];
};

static void
output_cb(void *outputs_, struct dp_packet_batch *batch,
          const struct nlattr *action OVS_UNUSED, bool should_steal)
{
    struct outputs *outputs = outputs_;
    struct dp_packet *packet;

    outputs->n_calls++;
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        const struct udp_header *udp = dp_packet_l4(packet);

        outputs->udp_dst[outputs->n_packets++] = ntohs(udp->udp_dst);
        outputs->n_stolen += should_steal;
    }
    dp_packet_delete_batch(batch, should_steal);
}

/* Runs the actions in 'text' on 'batch'. */
static void
execute(struct dp_packet_batch *batch, bool steal, const char *text,
        struct outputs *outputs)
{
    struct ofpbuf actions;

    memset(outputs, 0, sizeof *outputs);
    ofpbuf_init(&actions, 0);
    put_actions(text, &actions);
    odp_execute_actions(outputs, batch, steal, actions.data, actions.size,
                        output_cb);
    ofpbuf_uninit(&actions);
}

/* Each packet of a batch gets its own fields. */
static void
execute_parse(void **state)
{
    struct dp_packet_batch batch;
    struct dp_packet *packet;
    struct outputs outputs;

    (void) state;
    stream_batch(&batch);
    execute(&batch, false, "lb_parse", &outputs);
    assert_int_equal(dp_packet_batch_size(&batch), NETDEV_MAX_BURST);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        const struct ovs_key_lb *lb = &packet->md.lb;
        struct flow flow;

        assert_true(packet->md.lb_valid);
        assert_int_equal(lb->status, i % 3 == 2 ? LB_BAD_MAGIC : LB_OK);
        assert_int_equal(ntohll(lb->tick), i % 3 == 2 ? 0 : 1000 + i);
        assert_int_equal(ntohs(lb->slot_select), i % 3 == 2 ? 0 : i);

        flow_extract(packet, &flow);
        assert_int_equal(flow.lb_status, lb->status);
        assert_int_equal(flow.lb_version, lb->version);
        assert_true(flow.lb_tick == lb->tick);
        assert_int_equal(flow.lb_slot_select, lb->slot_select);
        assert_int_equal(flow.lb_port_select, lb->port_select);
    }
    dp_packet_delete_batch(&batch, true);
}

static void
execute_calendar(void **state)
{
    struct dp_packet_batch batch;
    struct dp_packet *packet;
    struct outputs outputs;

    (void) state;
    stream_batch(&batch);
    execute(&batch, false,
            "lb_parse,lb_calendar(bits=2,xor=0x1,members=10/11/-/13)",
            &outputs);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        const struct ovs_key_lb *lb = &packet->md.lb;
        unsigned int slot = ((unsigned int) i ^ 1) & 3;

        assert_int_equal(lb->tick, 0);
        assert_int_equal(lb->slot_select, 0);
        assert_int_equal(lb->port_select, 0);
        if (i % 3 == 2) {
            assert_int_equal(lb->status, LB_BAD_MAGIC);
            assert_int_equal(lb->member, 0);
        } else {
            assert_int_equal(lb->status, slot == 2 ? LB_NO_SLOT : LB_OK);
            assert_int_equal(ntohs(lb->member), slot == 2 ? 0 : 10 + slot);
            assert_int_equal(lb->version, 3);
        }
    }
    dp_packet_delete_batch(&batch, true);
}

/* A calendar without lb_parse before it sees zeros, not what the last user of
 * the packet's memory left. */
static void
calendar_without_parse(void **state)
{
    struct dp_packet_batch batch;
    struct dp_packet *packet;
    struct outputs outputs;

    (void) state;
    stream_batch(&batch);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        memset(&packet->md.lb, 0xee, sizeof packet->md.lb);
    }
    execute(&batch, false, "lb_calendar(bits=0,xor=0,members=5)", &outputs);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        struct ovs_key_lb expected = { .member = htons(5) };

        assert_true(packet->md.lb_valid);
        assert_memory_equal(&packet->md.lb, &expected, sizeof expected);
    }
    dp_packet_delete_batch(&batch, true);
}

/* The hash that finds a packet's place in the caches differs by member. */
static void
calendar_mixes_hash(void **state)
{
    uint32_t hashes[2] = { 0, 0 };

    (void) state;
    for (int i = 0; i < 4; i++) {
        struct dp_packet *packet = stream_packet(0);
        struct dp_packet_batch batch;
        struct outputs outputs;

        packet->md.lb_valid = true;
        memset(&packet->md.lb, 0, sizeof packet->md.lb);
        packet->md.lb.slot_select = htons(i % 2);
        if (i < 2) {
            dp_packet_set_rss_hash(packet, 0x12345678);
        } else {
            dp_packet_reset_offload(packet);
        }
        dp_packet_batch_init_packet(&batch, packet);
        execute(&batch, false, "lb_calendar(bits=1,xor=0,members=1/2)",
                &outputs);
        assert_int_equal(dp_packet_rss_valid(packet), i < 2);
        if (i < 2) {
            hashes[i] = dp_packet_get_rss_hash(packet);
        }
        dp_packet_delete(packet);
    }
    assert_int_not_equal(hashes[0], hashes[1]);
    assert_int_not_equal(hashes[0], 0x12345678);
}

/* In a mixed batch the packets of the action's family go on, in their order;
 * the others are dropped, whoever owns the batch. */
static void
execute_forward(void **state)
{
    (void) state;
    for (int steal = 0; steal < 2; steal++) {
        struct dp_packet_batch batch;
        struct outputs outputs;

        stream_batch(&batch);
        execute(&batch, steal, "lb_parse," FORWARD_V4 ",7", &outputs);
        assert_int_equal(outputs.n_calls, 1);
        assert_int_equal(outputs.n_packets, 11);
        assert_int_equal(outputs.n_stolen, steal ? 11 : 0);
        for (int i = 0; i < 11; i++) {
            assert_int_equal(outputs.udp_dst[i], 19524 + (3 * i & 15));
        }
        if (!steal) {
            assert_int_equal(dp_packet_batch_size(&batch), 11);
            dp_packet_delete_batch(&batch, true);
        }
    }
}

/* An owner that keeps the batch is left with the packets that go on. */
static void
forward_last(void **state)
{
    (void) state;
    for (int steal = 0; steal < 2; steal++) {
        struct dp_packet_batch batch;
        struct outputs outputs;

        stream_batch(&batch);
        execute(&batch, steal, FORWARD_V6, &outputs);
        if (!steal) {
            struct dp_packet *packet;

            assert_int_equal(dp_packet_batch_size(&batch), 11);
            DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
                const struct udp_header *udp = dp_packet_l4(packet);

                /* 65535 + entropy, modulo 2^16. */
                assert_int_equal(ntohs(udp->udp_dst), 3 * i);
            }
            dp_packet_delete_batch(&batch, true);
        }
        assert_int_equal(outputs.n_calls, 0);
    }
}

/* Two members of one packet: what a clone does to its copy stays there. */
static void
forward_in_clone(void **state)
{
    (void) state;
    for (int steal = 0; steal < 2; steal++) {
        struct dp_packet_batch batch;
        struct outputs outputs;

        dp_packet_batch_init_packet(&batch, stream_packet(3));
        execute(&batch, steal, "clone(" FORWARD_V4 ",1)," FORWARD_V4 ",2",
                &outputs);
        assert_int_equal(outputs.n_packets, 2);
        assert_int_equal(outputs.udp_dst[0], 19527);
        assert_int_equal(outputs.udp_dst[1], 19527);
        if (!steal) {
            dp_packet_delete_batch(&batch, true);
        }
    }
}

/* A batch of which nothing is left. */
static void
forward_nothing(void **state)
{
    (void) state;
    for (int steal = 0; steal < 2; steal++) {
        struct dp_packet_batch batch;
        struct outputs outputs;

        dp_packet_batch_init_packet(&batch, stream_packet(2));
        execute(&batch, steal, FORWARD_V4 "," FORWARD_V4 ",1,2", &outputs);
        assert_int_equal(outputs.n_packets, 0);
        assert_int_equal(dp_packet_batch_size(&batch), 0);
        dp_packet_delete_batch(&batch, true);
    }
}

/* A set of the key writes what it says, over what was there or over zeros. */
static void
execute_set(void **state)
{
    (void) state;
    for (int valid = 0; valid < 2; valid++) {
        struct dp_packet *packet = stream_packet(0);
        struct ovs_key_lb expected;
        struct dp_packet_batch batch;
        struct outputs outputs;

        memset(&packet->md.lb, 0x55, sizeof packet->md.lb);
        packet->md.lb_valid = valid;
        memset(&expected, valid ? 0x55 : 0, sizeof expected);
        dp_packet_batch_init_packet(&batch, packet);
        execute(&batch, false, "set(lb(member=0xabcd/0xff00))", &outputs);
        expected.member = htons(valid ? 0xab55 : 0xab00);
        assert_true(packet->md.lb_valid);
        assert_memory_equal(&packet->md.lb, &expected, sizeof expected);

        packet->md.lb_valid = valid;
        execute(&batch, false,
                "set(lb(status=1,version=2,member=3,tick=0x4,"
                "slot_select=0x5,port_select=0x6))",
                &outputs);
        assert_int_equal(packet->md.lb.status, 1);
        assert_int_equal(ntohs(packet->md.lb.member), 3);
        assert_int_equal(ntohll(packet->md.lb.tick), 4);
        dp_packet_delete(packet);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(execute_parse),
        cmocka_unit_test(execute_calendar),
        cmocka_unit_test(calendar_without_parse),
        cmocka_unit_test(calendar_mixes_hash),
        cmocka_unit_test(execute_forward),
        cmocka_unit_test(forward_last),
        cmocka_unit_test(forward_in_clone),
        cmocka_unit_test(forward_nothing),
        cmocka_unit_test(execute_set),
    };

    odp_execute_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
