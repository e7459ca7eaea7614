/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the lb_* actions and the lb key of the datapath as text and as Netlink
 * attributes. */

#include <config.h>
#include "odp-lb.h"

#include <errno.h>

#include "byte-order.h"
#include "dp-packet.h"
#include "flow.h"
#include "lb-flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "simap.h"
#include "tests/unit/unit.h"
#include "util.h"

#define FORWARD_V4                                                    \
    "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50," \
    "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=19524,bits=4)"
#define FORWARD_V6                                                    \
    "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50," \
    "ip_src=2001:db8::99,ip_dst=fd00::3,base=65535,bits=16,keep)"

/* Text of actions. */

/* Appends to 'actions' those in 'text', which must be right. */
static void
put_actions(const char *text, struct ofpbuf *actions)
{
    if (odp_actions_from_string(text, NULL, actions)) {
        fail_msg("refused: %s", text);
    }
}

static char *
actions_to_string(const struct ofpbuf *actions)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    format_odp_actions(&ds, actions->data, actions->size, NULL);
    return ds_steal_cstr(&ds);
}

/* Checks that 'text' is read and written as it is, and returns its bytes. */
static struct ofpbuf *
check_action_text(const char *text)
{
    struct ofpbuf *actions = ofpbuf_new(64);
    char *again;

    put_actions(text, actions);
    again = actions_to_string(actions);
    assert_string_equal(again, text);
    free(again);
    return actions;
}

static void
action_text(void **state)
{
    static const char *const texts[] = {
        "lb_parse,2",
        "lb_calendar(bits=0,xor=0,members=65535),2",
        "lb_calendar(bits=0,xor=0xffff,members=-)",
        "lb_calendar(bits=1,xor=0x1,members=0/65535)",
        "lb_calendar(bits=3,xor=0xbeef,members=1*4/-*2/2/3)",
        "lb_calendar(bits=9,xor=0,members=7*512)",
        "lb_calendar(bits=9,xor=0,members=-*511/65535)",
        FORWARD_V4 ",2",
        FORWARD_V6 ",2",
        "clone(" FORWARD_V4 ",2),3",
        "set(lb(status=1,version=2,member=3,tick=0x4,slot_select=0x5,"
        "port_select=0x6))",
        "set(lb(member=9/0xf))",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        ofpbuf_delete(check_action_text(texts[i]));
    }
}

/* What the text says stands in the attribute. */
static void
forward_attribute(void **state)
{
    struct ofpbuf *actions = check_action_text(FORWARD_V4);
    const struct nlattr *a = actions->data;
    const struct ovs_action_lb_forward *f = nl_attr_get(a);

    (void) state;
    assert_int_equal(nl_attr_type(a), OVS_ACTION_ATTR_LB_FORWARD);
    assert_int_equal(nl_attr_get_size(a), sizeof *f);
    assert_memory_equal(&f->eth_src, "\x02\0\0\0\xff\x01", 6);
    assert_memory_equal(&f->eth_dst, "\x0e\x10\x20\x30\x40\x50", 6);
    assert_memory_equal(&f->ip_src, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\x63",
                        16);
    assert_memory_equal(&f->ip_dst, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\1\2\3",
                        16);
    assert_int_equal(f->base, 19524);
    assert_int_equal(f->bits, 4);
    assert_int_equal(f->flags, 0);
    ofpbuf_delete(actions);

    actions = check_action_text(FORWARD_V6);
    f = nl_attr_get(actions->data);
    assert_int_equal(f->base, 65535);
    assert_int_equal(f->bits, 16);
    assert_int_equal(f->flags, LB_FORWARD_KEEP | LB_FORWARD_IPV6);
    ofpbuf_delete(actions);
}

/* Appends any calendar to 'actions'. */
static void
put_random_calendar(struct ofpbuf *actions, uint64_t *seed)
{
    unsigned int bits = unit_random_below(seed, LB_CALENDAR_MAX_BITS + 1);
    unsigned int variety = 1 + unit_random_below(seed, 40);
    uint32_t members[LB_CALENDAR_MAX_SLOTS];
    union lb_calendar_buf buf;

    for (size_t i = 0; i < 1u << bits; i++) {
        unsigned int pick = unit_random_below(seed, variety);

        members[i] = (pick == 0                              ? LB_CALENDAR_NONE
                      : i && unit_random_below(seed, 3) == 0 ? members[i - 1]
                                                             : 65536 - pick);
    }
    lb_calendar_init(&buf.calendar, bits, (uint16_t) unit_random(seed),
                     members);
    nl_msg_put_unspec(actions, OVS_ACTION_ATTR_LB_CALENDAR, &buf,
                      lb_calendar_size(bits));
}

static void
randomize_ip(struct in6_addr *ip, bool ipv6, uint64_t *seed)
{
    memset(ip, 0, sizeof *ip);
    for (size_t i = ipv6 ? 0 : 12; i < 16; i++) {
        ip->s6_addr[i] =
            (uint8_t) (unit_random_below(seed, 3) ? unit_random(seed) : 0);
    }
    if (!ipv6) {
        ip->s6_addr[10] = ip->s6_addr[11] = 0xff;
    }
}

/* Appends any lb_forward to 'actions'. */
static void
put_random_forward(struct ofpbuf *actions, uint64_t *seed)
{
    bool ipv6 = unit_random(seed) & 1;
    struct ovs_action_lb_forward f;

    memset(&f, 0, sizeof f);
    for (size_t i = 0; i < 6; i++) {
        f.eth_src.ea[i] = (uint8_t) unit_random(seed);
        f.eth_dst.ea[i] = (uint8_t) unit_random(seed);
    }
    randomize_ip(&f.ip_src, ipv6, seed);
    randomize_ip(&f.ip_dst, ipv6, seed);
    f.base = (uint16_t) unit_random(seed);
    f.bits = (uint8_t) unit_random_below(seed, 17);
    f.flags = (uint8_t) ((unit_random(seed) & 1 ? LB_FORWARD_KEEP : 0)
                         | (ipv6 ? LB_FORWARD_IPV6 : 0));
    nl_msg_put_unspec(actions, OVS_ACTION_ATTR_LB_FORWARD, &f, sizeof f);
}

/* Any actions, written and read, are the same bytes. */
static void
action_round_trip(void **state)
{
    uint64_t seed = 31;

    (void) state;
    for (int i = 0; i < 2000; i++) {
        struct ofpbuf actions, again;
        char *text;

        ofpbuf_init(&actions, 0);
        ofpbuf_init(&again, 0);
        for (int n = 1 + unit_random_below(&seed, 4); n; n--) {
            switch (unit_random_below(&seed, 3)) {
            case 0:
                nl_msg_put_flag(&actions, OVS_ACTION_ATTR_LB_PARSE);
                break;
            case 1:
                put_random_calendar(&actions, &seed);
                break;
            default:
                put_random_forward(&actions, &seed);
                break;
            }
        }
        text = actions_to_string(&actions);
        put_actions(text, &again);
        assert_int_equal(again.size, actions.size);
        assert_memory_equal(again.data, actions.data, actions.size);
        free(text);
        ofpbuf_uninit(&again);
        ofpbuf_uninit(&actions);
    }
}

/* Text that is none of our actions, or a wrong one. */
static void
malformed_text(void **state)
{
    static const char *const texts[] = {
        "lb_parsed",
        "lb_parse(",
        "lb_parse()",
        "lb_calendar",
        "lb_calendar(",
        "lb_calendar()",
        "lb_calendar(bits=0)",
        "lb_calendar(bits=0,xor=0)",
        "lb_calendar(bits=0,xor=0,members=)",
        "lb_calendar(bits=0,xor=0,members=1",
        "lb_calendar(bits=0,xor=0,members=1/",
        "lb_calendar(bits=0,xor=0,members=1/2)",
        "lb_calendar(bits=0,xor=0,members=1*2)",
        "lb_calendar(bits=0,xor=0,members=1*0)",
        "lb_calendar(bits=0,xor=0,members=1*0/1)",
        "lb_calendar(bits=0,xor=0,members=65536)",
        "lb_calendar(bits=0,xor=0,members=4294967295)",
        "lb_calendar(bits=0,xor=0,members=4294967297)",
        "lb_calendar(bits=0,xor=0,members=-1)",
        "lb_calendar(bits=0,xor=0,members=--)",
        "lb_calendar(bits=0,xor=0,members=1*4294967297)",
        "lb_calendar(bits=0,xor=65536,members=1)",
        "lb_calendar(bits=4294967296,xor=0,members=1)",
        "lb_calendar(bits=1,xor=0,members=1)",
        "lb_calendar(bits=1,xor=0,members=1*3)",
        "lb_calendar(bits=9,xor=0,members=1*511)",
        "lb_calendar(bits=9,xor=0,members=1*513)",
        "lb_calendar(bits=9,xor=0,members=1*512/1)",
        "lb_calendar(bits=9,xor=0,members=1*4294967295/1)",
        "lb_calendar(bits=10,xor=0,members=1*1024)",
        "lb_calendar(bits=32,xor=0,members=1)",
        "lb_calendar(bits=-1,xor=0,members=1)",
        "lb_forward",
        "lb_forward(",
        "lb_forward()",
        "lb_forward(eth_src=02:00:00:00:ff:01)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=,ip_dst=10.1.2.3,base=1,bits=4)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=fd00::3,base=1,bits=4)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=fd00::3,ip_dst=192.0.2.99,base=1,bits=4)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=::ffff:192.0.2.99,ip_dst=10.1.2.3,base=1,bits=4)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=1,bits=17)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=1,bits=256)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=65536,bits=4)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=-1,bits=4)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=1,bits=4,kept)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=1,bits=4,keep,keep)",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=1,bits=4",
        "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
        "ip_src=1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc,"
        "ip_dst=10.1.2.3,base=1,bits=4)",
        "set(lb(tick=1)",
        "set(lb(slot=1))",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct ofpbuf actions;

        ofpbuf_init(&actions, 0);
        if (!odp_actions_from_string(texts[i], NULL, &actions)) {
            char *as = actions_to_string(&actions);

            fail_msg("\"%s\" is taken as \"%s\"", texts[i], as);
        }
        assert_int_equal(actions.size, 0);
        ofpbuf_uninit(&actions);
    }
}

/* Every prefix of a right text is read without harm. */
static void
cut_text(void **state)
{
    static const char *const texts[] = {
        "lb_calendar(bits=3,xor=0xbeef,members=1*4/-*2/2/3)",
        FORWARD_V4,
        FORWARD_V6,
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        for (size_t n = 0; n < strlen(texts[i]); n++) {
            char *cut = xmemdup0(texts[i], n);
            struct ofpbuf actions;

            ofpbuf_init(&actions, 0);
            assert_int_equal(odp_actions_from_string(cut, NULL, &actions),
                             n ? EINVAL : 0);
            assert_int_equal(actions.size, 0);
            ofpbuf_uninit(&actions);
            free(cut);
        }
    }
}

/* Attributes of wrong sizes, each alone in a buffer of its size. */
static void
wrong_sizes(void **state)
{
    static const uint16_t types[] = { OVS_ACTION_ATTR_LB_PARSE,
                                      OVS_ACTION_ATTR_LB_CALENDAR,
                                      OVS_ACTION_ATTR_LB_FORWARD };
    static const size_t right[] = { 0, 8 + 2,
                                    sizeof(struct ovs_action_lb_forward) };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        for (size_t size = 0; size < 100; size++) {
            struct nlattr *a = xzalloc(NLA_HDRLEN + size);
            struct ds ds = DS_EMPTY_INITIALIZER;
            bool wrong;

            a->nla_type = types[i];
            a->nla_len = (uint16_t) (NLA_HDRLEN + size);
            format_odp_actions(&ds, a, a->nla_len, NULL);
            wrong = (strstr(ds_cstr(&ds), "bad length")
                     || strstr(ds_cstr(&ds), "invalid"));
            if (wrong != (size != right[i])) {
                fail_msg("%zu bytes: %s", size, ds_cstr(&ds));
            }
            ds_destroy(&ds);
            free(a);
        }
    }
}

/* The lb key. */

/* Checks that key 'text' is read and written as it is, in 'key' and 'mask',
 * which the caller must uninitialize. */
static void
check_key_text(const char *text, struct ofpbuf *key, struct ofpbuf *mask)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    char *error;

    ofpbuf_init(key, 0);
    ofpbuf_init(mask, 0);
    if (odp_flow_from_string(text, NULL, key, mask, &error)) {
        fail_msg("%s: %s", text, error);
    }
    odp_flow_format(key->data, key->size, mask->data, mask->size, NULL, &ds,
                    false);
    assert_string_equal(ds_cstr(&ds), text);
    ds_destroy(&ds);
}

static void
key_text(void **state)
{
    static const char *const texts[] = {
        "lb(status=0)",
        "lb(status=255)",
        "lb(version=2,member=65535)",
        "lb(tick=0xffffffffffffffff)",
        "lb(tick=0x1234567800000000/0xffffffff00000000)",
        "lb(status=1/0x1,version=2/0xfe,member=3/0xff00,tick=0x4/0xc)",
        "lb(slot_select=0x5/0xfff,port_select=0x6/0xf)",
        "lb(slot_select=0x1ff,port_select=0xffff)",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct ofpbuf key, mask;

        check_key_text(texts[i], &key, &mask);
        ofpbuf_uninit(&key);
        ofpbuf_uninit(&mask);
    }
}

/* What the text says stands in the attribute, and in the flow. */
static void
key_attribute(void **state)
{
    static const char text[] =
        "recirc_id(0x1),lb(status=1,version=2,member=3/0xff,tick=0x4,"
        "slot_select=0x5,port_select=0x6),in_port(1),"
        "packet_type(ns=0,id=0),eth(),eth_type(0x1234)";
    struct flow_wildcards wc;
    struct ofpbuf key, mask;
    struct flow flow;
    char *error = NULL;

    (void) state;
    ofpbuf_init(&key, 0);
    ofpbuf_init(&mask, 0);
    assert_int_equal(odp_flow_from_string(text, NULL, &key, &mask, &error), 0);
    assert_int_equal(odp_flow_key_to_flow(key.data, key.size, &flow, &error),
                     ODP_FIT_PERFECT);
    assert_int_equal(flow.lb_status, 1);
    assert_int_equal(flow.lb_version, 2);
    assert_int_equal(ntohs(flow.lb_member), 3);
    assert_int_equal(ntohll(flow.lb_tick), 4);
    assert_int_equal(ntohs(flow.lb_slot_select), 5);
    assert_int_equal(ntohs(flow.lb_port_select), 6);

    assert_int_not_equal(
        odp_flow_key_to_mask(mask.data, mask.size, &wc, &flow, &error),
        ODP_FIT_ERROR);
    assert_int_equal(wc.masks.lb_status, 0xff);
    assert_int_equal(ntohs(wc.masks.lb_member), 0xff);
    assert_true(wc.masks.lb_tick == OVS_BE64_MAX);
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
}

/* A key attribute of a wrong size is an error, and read by nobody. */
static void
key_of_wrong_size(void **state)
{
    (void) state;
    for (size_t size = 0; size < 40; size++) {
        struct nlattr *a = xzalloc(NLA_HDRLEN + size);
        struct ds ds = DS_EMPTY_INITIALIZER;
        struct dp_packet packet;
        struct flow flow;
        char *error = NULL;

        a->nla_type = OVS_KEY_ATTR_LB;
        a->nla_len = (uint16_t) (NLA_HDRLEN + size);
        memset(a + 1, 0xff, size);

        odp_flow_format(a, a->nla_len, a, a->nla_len, NULL, &ds, false);
        assert_int_equal(strstr(ds_cstr(&ds), "bad") == NULL, size == 16);
        ds_destroy(&ds);

        odp_flow_key_to_flow(a, a->nla_len, &flow, &error);
        assert_int_equal(flow.lb_status, size == 16 ? 0xff : 0);
        free(error);

        dp_packet_init(&packet, 0);
        odp_key_to_dp_packet(a, a->nla_len, &packet);
        assert_int_equal(packet.md.lb_valid, size == 16);
        dp_packet_uninit(&packet);
        free(a);
    }
}

/* A packet's metadata goes to the slow path and comes back. */
static void
packet_key(void **state)
{
    struct ovs_key_lb lb = {
        .tick = htonll(9), .member = htons(8), .status = 7, .version = 6
    };
    struct dp_packet packet, again;
    struct ofpbuf key;

    (void) state;
    for (int valid = 0; valid < 2; valid++) {
        ofpbuf_init(&key, 0);
        dp_packet_init(&packet, 0);
        dp_packet_init(&again, 0);
        pkt_metadata_init(&packet.md, u32_to_odp(1));
        pkt_metadata_init(&again.md, u32_to_odp(2));
        packet.md.lb = lb;
        packet.md.lb_valid = valid;
        odp_key_from_dp_packet(&key, &packet);
        odp_key_to_dp_packet(key.data, key.size, &again);
        assert_int_equal(again.md.lb_valid, valid);
        if (valid) {
            assert_memory_equal(&again.md.lb, &lb, sizeof lb);
        }
        dp_packet_uninit(&again);
        dp_packet_uninit(&packet);
        ofpbuf_uninit(&key);
    }
}

/* From a flow to a key and back, and no key where there is nothing to say. */
static void
flow_to_key(void **state)
{
    struct odp_flow_key_parms parms = { .support = { .lb = true } };
    struct flow flow, again;
    struct ofpbuf key;
    char *error = NULL;

    (void) state;
    for (int i = 0; i < 4; i++) {
        memset(&flow, 0, sizeof flow);
        flow.dl_type = htons(0x1234);
        flow.lb_tick = htonll(i == 1);
        flow.lb_member = htons(i == 2 ? 9 : 0);
        flow.lb_status = i == 3;
        parms.flow = &flow;
        ofpbuf_init(&key, 0);
        odp_flow_key_from_flow(&parms, &key);
        assert_int_equal(nl_attr_find__(key.data, key.size, OVS_KEY_ATTR_LB)
                             != NULL,
                         i != 0);
        assert_int_equal(
            odp_flow_key_to_flow(key.data, key.size, &again, &error),
            ODP_FIT_PERFECT);
        assert_memory_equal(&again, &flow, sizeof flow);
        ofpbuf_uninit(&key);

        parms.support.lb = false;
        ofpbuf_init(&key, 0);
        odp_flow_key_from_flow(&parms, &key);
        assert_null(nl_attr_find__(key.data, key.size, OVS_KEY_ATTR_LB));
        ofpbuf_uninit(&key);
        parms.support.lb = true;
    }
}

/* A set_field of lb_member reaches the datapath; what is the same does not. */
static void
commit_member(void **state)
{
    struct flow_wildcards wc;
    struct flow flow, base;
    struct ofpbuf actions;
    char *text;

    (void) state;
    flow_wildcards_init_catchall(&wc);
    wc.masks.lb_member = OVS_BE16_MAX;
    memset(&flow, 0, sizeof flow);
    memset(&base, 0, sizeof base);
    ofpbuf_init(&actions, 0);
    odp_lb_commit_member(&flow, &base, &actions, &wc);
    assert_int_equal(actions.size, 0);

    flow.lb_member = htons(258);
    odp_lb_commit_member(&flow, &base, &actions, &wc);
    text = actions_to_string(&actions);
    assert_string_equal(text, "set(lb(member=258))");
    assert_int_equal(ntohs(base.lb_member), 258);
    free(text);

    ofpbuf_clear(&actions);
    odp_lb_commit_member(&flow, &base, &actions, &wc);
    assert_int_equal(actions.size, 0);

    /* Bits that the flow neither wrote nor looked at are the packet's. */
    wc.masks.lb_member = htons(0xff);
    flow.lb_member = htons(0x0105);
    odp_lb_commit_member(&flow, &base, &actions, &wc);
    text = actions_to_string(&actions);
    assert_string_equal(text, "set(lb(member=5/0xff))");
    free(text);
    ofpbuf_uninit(&actions);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(action_text),
        cmocka_unit_test(forward_attribute),
        cmocka_unit_test(action_round_trip),
        cmocka_unit_test(malformed_text),
        cmocka_unit_test(cut_text),
        cmocka_unit_test(wrong_sizes),
        cmocka_unit_test(key_text),
        cmocka_unit_test(key_attribute),
        cmocka_unit_test(key_of_wrong_size),
        cmocka_unit_test(packet_key),
        cmocka_unit_test(flow_to_key),
        cmocka_unit_test(commit_member),
    };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
