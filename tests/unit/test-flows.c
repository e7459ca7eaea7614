/* SPDX-License-Identifier: Apache-2.0 */

#include "flows/flows.h"

#include <inttypes.h>

#include <config.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofp-print.h>
#include <openvswitch/ofpbuf.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "flows/cookie.h"
#include "flows/probe.h"
#include "tests/unit/random-state.h"
#include "tests/unit/unit.h"

static struct in6_addr
addr(const char *s)
{
    struct in6_addr a;

    assert_true(addr_from_string(s, &a));
    return a;
}

/* Returns all that 'rule' adds to a switch, one line each, which the caller
 * must free. */
static char *
encode(const struct rule *rule)
{
    char *all = mem_strdup("");
    struct flows flows;

    flows_init(&flows);
    flows_encode(rule, &flows);
    for (size_t i = 0; i < flows.n; i++) {
        const struct ofpbuf *add = flows.entries[i].add;
        char *s = ofp_to_string(add->data, add->size, NULL, NULL, 2);
        char *longer = mem_printf("%s%s", all, strstr(s, "ADD "));

        free(all);
        free(s);
        all = longer;
    }
    flows_destroy(&flows);
    return all;
}

static void
check(const struct rule *rule, const char *expected)
{
    char *s = encode(rule);

    assert_string_equal(s, expected);
    free(s);
}

static void
test_l2_iface(void **state)
{
    struct rule rule = { .kind = RULE_L2_IFACE };

    (void) state;
    rule.l2_iface.port.type = PORT_ANY;
    check(&rule, "ADD priority=10,vlan_tci=0x0000/0x1fff "
                 "cookie:0x4c421000f0000000 "
                 "actions=set_field:0->reg0,goto_table:1\n");
    rule.l2_iface.port = (struct port){ .type = PORT_NUMBER, .number = 3 };
    rule.l2_iface.vlan = 7;
    rule.l2_iface.iface = 2;
    check(&rule, "ADD table:2 priority=22,ip,in_port=3,dl_vlan=7,"
                 "nw_src=0.0.0.0,nw_dst=0.0.0.0 "
                 "cookie:0x4c421011f0020003 send_flow_rem actions=drop\n"
                 "ADD table:2 priority=22,ipv6,in_port=3,dl_vlan=7,nw_proto=0 "
                 "cookie:0x4c421011f0020003 send_flow_rem actions=drop\n"
                 "ADD table:2 priority=22,arp,in_port=3,dl_vlan=7,"
                 "arp_spa=0.0.0.0,arp_tpa=0.0.0.0,arp_op=0 "
                 "cookie:0x4c421011f0020003 send_flow_rem actions=drop\n"
                 "ADD priority=20,in_port=3,dl_vlan=7 "
                 "cookie:0x4c421000f0020000 "
                 "actions=set_field:0x2->reg0,goto_table:1\n");
}

static void
test_probe(void **state)
{
    struct rule rule = { .kind = RULE_PROBE };
    struct mac mac;

    (void) state;
    rule.probe.port = (struct port){ .type = PORT_NUMBER, .number = 3 };
    rule.probe.change = 0x102;
    check(&rule,
          "ADD table:10 priority=101,lb_tick=0/0x8000000000000000,in_port=3 "
          "cookie:0x4c420300ffff0000 "
          "actions=set_field:02:4c:42:00:00:00->eth_src,IN_PORT\n"
          "ADD table:10 priority=100,in_port=3 cookie:0x4c420300ffff0102 "
          "actions=set_field:02:4c:42:00:01:02->eth_src,IN_PORT\n"
          "ADD priority=40,in_port=3 cookie:0x4c420300ffff0000 "
          "actions=lb_parse(table=10)\n");

    for (uint32_t change = 0; change <= UINT16_MAX; change++) {
        probe_mac_from_change((uint16_t) change, &mac);
        assert_true(probe_is_mark(&mac));
        assert_int_equal(probe_change_from_mac(&mac), change);
    }
    mac.ea[3] = 1;
    assert_false(probe_is_mark(&mac));
}

static void
test_mac_filter(void **state)
{
    struct rule rule = { .kind = RULE_MAC_FILTER };

    (void) state;
    rule.mac_filter.iface = 5;
    rule.mac_filter.mac = (struct mac){ { 2, 0, 0, 0, 0, 1 } };
    check(&rule, "ADD table:1 priority=10,reg0=0x5,dl_dst=02:00:00:00:00:01 "
                 "cookie:0x4c421100f0050000 actions=goto_table:2\n");
}

static void
test_source(void **state)
{
    struct rule rule = { .kind = RULE_SOURCE };

    (void) state;
    rule.source.instance = 4;
    assert_true(addr_block_from_string("10.1.0.0/16", &rule.source.block));
    check(&rule, "ADD table:4 priority=30,ip,reg1=0x4,nw_src=10.1.0.0/16 "
                 "cookie:0x4c42140000040000 actions=goto_table:5\n");
    assert_true(addr_block_from_string("0.0.0.0/0", &rule.source.block));
    check(&rule, "ADD table:4 priority=30,ip,reg1=0x4 "
                 "cookie:0x4c42140000040000 actions=goto_table:5\n");
    assert_true(addr_block_from_string("fd00::7", &rule.source.block));
    check(&rule, "ADD table:4 priority=30,ipv6,reg1=0x4,ipv6_src=fd00::7 "
                 "cookie:0x4c42140000040000 actions=goto_table:5\n");
}

static void
test_ports(void **state)
{
    struct rule rule = { .kind = RULE_PORTS };

    (void) state;
    rule.ports.instance = 3;
    rule.ports.port = 0x4000;
    rule.ports.mask = 0xc000;
    check(&rule, "ADD table:5 priority=20,udp,reg1=0x3,tp_dst=0x4000/0xc000 "
                 "cookie:0x4c42150000030000 actions=set_field:0->reg0,"
                 "lb_parse(table=6,epoch_table=35)\n"
                 "ADD table:5 priority=20,udp6,reg1=0x3,tp_dst=0x4000/0xc000 "
                 "cookie:0x4c42150000030000 actions=set_field:0->reg0,"
                 "lb_parse(table=6,epoch_table=35)\n");
}

static void
test_epoch(void **state)
{
    struct rule rule = { .kind = RULE_EPOCH };

    (void) state;
    rule.epoch.instance = 221;
    rule.epoch.epoch = 0x1234;
    check(&rule, "ADD table:253 priority=100 cookie:0x4c42200000dd1234 "
                 "actions=group:3772584500\n");
    rule.epoch.prefix = (struct prefix){ 0x1000, 52 };
    check(&rule, "ADD table:253 "
                 "priority=152,lb_tick=0x1000/0xfffffffffffff000 "
                 "cookie:0x4c42200000dd1234 actions=group:3772584500\n");
    rule.epoch.late = true;
    check(
        &rule,
        "ADD table:253 "
        "priority=152,lb_tick=0x1000/0xfffffffffffff000 "
        "cookie:0x4c42200800dd1234 send_flow_rem actions=group:3772584500\n");
    rule.epoch.drop = true;
    rule.epoch.epoch = 0;
    rule.epoch.prefix.len = 64;
    check(&rule, "ADD table:253 priority=164,lb_tick=0x1000 "
                 "cookie:0x4c42203100dd0000 send_flow_rem actions=drop\n");
}

static void
test_calendar(void **state)
{
    const struct calendar_share shares[] = { { 9, 1, 0, 0 },
                                             { 300, 1, 0, 0 } };
    struct rule rule = { .kind = RULE_CALENDAR };

    (void) state;
    unit_assert_error(calendar_create(shares, 2, 1, &rule.calendar.calendar),
                      NULL);
    rule.calendar.instance = 1;
    rule.calendar.epoch = 2;
    rule.calendar.xor = 0xbeef;
    check(&rule, "ADD group_id=3758161922,type=select,"
                 "selection_method=lb_calendar,"
                 "selection_method_param=0x801beef,"
                 "bucket=bucket_id:0,actions=set_field:9->lb_member,"
                 "bucket=bucket_id:1,actions=set_field:300->lb_member\n");
    calendar_unref(rule.calendar.calendar);
}

static void
test_member(void **state)
{
    struct rule rule = { .kind = RULE_MEMBER };
    struct rule_member *m = &rule.member;

    (void) state;
    m->instance = 1;
    m->member = 0x77;
    m->address = addr("10.0.0.1");
    m->src_mac = (struct mac){ { 2, 0, 0, 0, 0, 1 } };
    m->mac = (struct mac){ { 2, 0, 0, 0, 0, 9 } };
    m->ip = addr("10.0.0.9");
    m->base = 20000;
    m->bits = 3;
    m->egress = (struct port){ .type = PORT_NUMBER, .number = 9 };
    check(&rule, "ADD table:8 priority=20,lb_member=119,ip,reg1=0x1,"
                 "vlan_tci=0x0000/0x1fff,nw_dst=10.0.0.1 "
                 "cookie:0x4c42220d00010077 send_flow_rem "
                 "actions=set_field:0->in_port,lb_forward("
                 "eth_src=02:00:00:00:00:01,eth_dst=02:00:00:00:00:09,"
                 "ip_src=10.0.0.1,ip_dst=10.0.0.9,base=20000,bits=3),"
                 "output:9\n");

    m->address = addr("fd00::1");
    m->ip = addr("fd00::9");
    m->keep = true;
    m->vlan = 7;
    m->egress.type = PORT_IN;
    check(&rule, "ADD table:8 priority=20,lb_member=119,ipv6,reg1=0x1,"
                 "dl_vlan=7,ipv6_dst=fd00::1 "
                 "cookie:0x4c42220d00010077 send_flow_rem actions=lb_forward("
                 "eth_src=02:00:00:00:00:01,eth_dst=02:00:00:00:00:09,"
                 "ip_src=fd00::1,ip_dst=fd00::9,base=20000,bits=3,keep),"
                 "IN_PORT\n");

    /* No port, no way: counted by its own name. */
    m->egress.type = PORT_NONE;
    check(&rule, "ADD table:8 priority=20,lb_member=119,ipv6,reg1=0x1,"
                 "dl_vlan=7,ipv6_dst=fd00::1 "
                 "cookie:0x4c42223400010077 send_flow_rem actions=drop\n");
}

/* A member may be there to be dropped for, and counted. */
static void
test_member_actions(void **state)
{
    static const struct {
        enum rule_member_action action;
        const char *words;
    } drops[] = { { RULE_MEMBER_SOFT_EVICTED, "cookie:0x4c42223500030009 " },
                  { RULE_MEMBER_DEREGISTERED, "cookie:0x4c42223600030009 " },
                  { RULE_MEMBER_UNRESOLVED, "cookie:0x4c42223700030009 " } };
    struct rule rule = { .kind = RULE_MEMBER };

    (void) state;
    rule.member.instance = 3;
    rule.member.member = 9;
    rule.member.address = rule.member.ip = addr("10.0.0.1");
    rule.member.egress = (struct port){ .type = PORT_NUMBER, .number = 9 };
    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++) {
        char *words;

        rule.member.action = drops[i].action;
        words = mem_printf("ADD table:8 priority=20,lb_member=9,ip,reg1=0x3,"
                           "vlan_tci=0x0000/0x1fff,nw_dst=10.0.0.1 "
                           "%ssend_flow_rem actions=drop\n",
                           drops[i].words);
        check(&rule, words);
        free(words);
    }
}

/* Checks that 's' has 'words'. */
static void
check_has(const char *s, const char *words)
{
    if (!strstr(s, words)) {
        fail_msg("\"%s\" is not in\n%s", words, s);
    }
}

static void
test_ip_filter(void **state)
{
    struct rule rule = { .kind = RULE_IP_FILTER };
    char *s;

    (void) state;
    rule.ip_filter.iface = 1;
    rule.ip_filter.instance = 6;
    rule.ip_filter.mac = (struct mac){ { 2, 0, 0, 0, 0, 1 } };
    rule.ip_filter.address = rule.ip_filter.unicast = addr("10.0.0.1");
    s = encode(&rule);
    check_has(s, "table:2 priority=20,ip,reg0=0x1,nw_dst=10.0.0.1 "
                 "cookie:0x4c42120000060000 actions=set_field:0x6->reg1,"
                 "goto_table:3\n");
    check_has(s, "table:2 priority=30,arp,reg0=0x1,arp_tpa=10.0.0.1 ");
    check_has(
        s,
        "table:3 priority=30,arp,reg0=0x1,arp_tpa=10.0.0.1,arp_op=1 "
        "cookie:0x4c42120300060000 send_flow_rem actions=set_field:2->arp_op,"
        "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],"
        "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],"
        "set_field:02:00:00:00:00:01->arp_sha,"
        "set_field:10.0.0.1->arp_spa,"
        "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
        "set_field:02:00:00:00:00:01->eth_src,IN_PORT\n");
    check_has(s, "icmp_type=8,icmp_code=0");
    free(s);

    rule.ip_filter.address = rule.ip_filter.unicast = addr("fd00::1");
    s = encode(&rule);
    check_has(s, "table:2 priority=20,ipv6,reg0=0x1,ipv6_dst=fd00::1 ");
    check_has(s, "table:2 priority=30,icmp6,reg0=0x1,icmp_type=135,"
                 "icmp_code=0,nd_target=fd00::1 ");
    check_has(s, "table:9 priority=30,icmp6,reg0=0x1,vlan_tci=0x0000/0x1000,"
                 "nw_ttl=255,icmp_type=135,icmp_code=0,nd_target=fd00::1 "
                 "cookie:0x4c42120900060000 send_flow_rem actions="
                 "check_pkt_larger(86)->NXM_NX_REG3[0],resubmit(,12)\n");
    check_has(s, "actions=check_pkt_larger(90)->NXM_NX_REG3[0],"
                 "resubmit(,12)\n");
    check_has(s, "table:12 priority=30,icmp6,reg0=0x1,icmp_type=136,"
                 "icmp_code=0,nd_target=fd00::1 cookie:0x4c42120000060000 ");
    free(s);
}

/* An address that an instance accepts, but that is not the one that it answers
 * with. */
static void
test_other_address(void **state)
{
    struct rule rule = { .kind = RULE_IP_FILTER };
    char *s;

    (void) state;
    rule.ip_filter.instance = 6;
    rule.ip_filter.address = addr("10.0.0.2");
    rule.ip_filter.unicast = addr("10.0.0.1");
    s = encode(&rule);
    check_has(
        s, "arp_tpa=10.0.0.2,arp_op=1 cookie:0x4c42121700060000 send_flow_rem "
           "actions=drop");
    check_has(
        s, "icmp_type=8,icmp_code=0 cookie:0x4c42121800060000 send_flow_rem "
           "actions=drop");
    free(s);

    rule.ip_filter.address = addr("ff02::1:ff00:1");
    rule.ip_filter.unicast = addr("fd00::1");
    s = encode(&rule);
    check_has(
        s, "icmp_type=128,icmp_code=0 cookie:0x4c42120500060000 send_flow_rem "
           "actions=move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],"
           "set_field:fd00::1->ipv6_src,");
    assert_null(strstr(s, "nd_target=ff02::1:ff00:1 actions=resubmit"));
    free(s);

    rule.ip_filter.address = addr("fd00::2");
    s = encode(&rule);
    check_has(s, "icmp_type=135,icmp_code=0,nd_target=fd00::2 "
                 "cookie:0x4c42121900060000 send_flow_rem actions=drop");
    assert_null(strstr(s, "nd_target=fd00::2 cookie:0x4c42120900060000"));
    free(s);
}

/* Each way to be dropped has its own cookie. */
static void
test_instance_drops(void **state)
{
    static const uint8_t verdicts[] = {
        VERDICT_ARP_OTHER,        VERDICT_ICMPV4_OTHER,
        VERDICT_ICMPV6_OTHER,     VERDICT_NOT_UDP,
        VERDICT_BLOCKED_SRC,      VERDICT_FRAGMENT,
        VERDICT_NO_UDPLB_HDR,     VERDICT_EPOCH_ASSIGN_MISS,
        VERDICT_LB_CALENDAR_MISS, VERDICT_MBR_INFO_MISS,
        VERDICT_HEADER + 1,       VERDICT_HEADER + 2,
        VERDICT_HEADER + 3,       VERDICT_HEADER + 4,
        VERDICT_HEADER + 5,       VERDICT_HEADER + 6,
        VERDICT_HEADER + 7,       VERDICT_HEADER + 9,
        VERDICT_ND_TARGET,        VERDICT_UNREACH4_NET,
        VERDICT_UNREACH4_PORT,    VERDICT_UNREACH4_OTHER,
        VERDICT_UNREACH6_PORT,    VERDICT_UNREACH6_OTHER
    };
    struct rule rule = { .kind = RULE_INSTANCE };
    char *s;

    (void) state;
    rule.instance.instance = 7;
    s = encode(&rule);
    for (size_t i = 0; i < sizeof verdicts; i++) {
        char *words = mem_printf(
            " cookie:0x4c4202%02x00070000 send_flow_rem actions=drop\n",
            verdicts[i]);

        check_has(s, words);
        free(words);
    }
    check_has(
        s, "table:6 priority=10,lb_status=0,lb_version=2,reg1=0x7 "
           "cookie:0x4c42020600070000 send_flow_rem actions=goto_table:39\n");
    check_has(
        s, "table:6 priority=10,lb_status=0,lb_version=3,reg1=0x7 "
           "cookie:0x4c42020700070000 send_flow_rem actions=goto_table:39\n");
    check_has(
        s, "table:6 priority=10,lb_status=7,lb_version=2,reg1=0x7 "
           "cookie:0x4c42020600070000 send_flow_rem actions=goto_table:11\n");
    check_has(s, "table:11 priority=10,reg1=0x7 cookie:0x4c42024700070000 ");
    check_has(s, "table:8 priority=30,lb_status=8,reg1=0x7 ");
    free(s);
}

static void
test_pipeline(void **state)
{
    struct rule rule = { .kind = RULE_PIPELINE };
    char *s = encode(&rule);

    (void) state;
    check_has(
        s,
        "ADD priority=1 cookie:0x4c420110ffff0000 send_flow_rem actions=drop");
    check_has(s, "dl_dst=01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0,dl_type=0x8809 "
                 "cookie:0x4c42010affff0000 send_flow_rem actions=LOCAL");
    check_has(s, "dl_dst=01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0,dl_type=0x88cc "
                 "cookie:0x4c42010bffff0000 send_flow_rem actions=LOCAL");
    check_has(s, "dl_dst=01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0 "
                 "cookie:0x4c420101ffff0000 send_flow_rem actions=LOCAL");
    assert_null(strstr(s, "NORMAL"));
    free(s);

    rule.pipeline.l2_normal = true;
    s = encode(&rule);
    check_has(s, "ADD priority=1 cookie:0x4c420102ffff0000 send_flow_rem "
                 "actions=NORMAL");
    free(s);
}

/* An interface counts what is for no instance. */
static void
test_iface(void **state)
{
    struct rule rule = { .kind = RULE_IFACE, .iface = { .iface = 3 } };
    char *s = encode(&rule);

    (void) state;
    check_has(
        s,
        "table:1 priority=1,reg0=0x3 cookie:0x4c420410f0030000 send_flow_rem "
        "actions=drop");
    check_has(
        s,
        "table:2 priority=21,ip,reg0=0x3,nw_src=0.0.0.0,"
        "nw_dst=0.0.0.0 cookie:0x4c420411f0030000 send_flow_rem actions=drop");
    check_has(
        s,
        "table:2 priority=10,ip,reg0=0x3 cookie:0x4c420413f0030000 send_flow_rem "
        "actions=drop");
    check_has(
        s,
        "table:2 priority=1,reg0=0x3 cookie:0x4c420412f0030000 send_flow_rem "
        "actions=drop");
    assert_null(strstr(s, "NORMAL"));
    free(s);

    rule.iface.l2_normal = true;
    s = encode(&rule);
    check_has(
        s,
        "table:1 priority=1,reg0=0x3 cookie:0x4c420402f0030000 send_flow_rem "
        "actions=NORMAL");
    check_has(s, "table:2 priority=11,ip,reg0=0x3,dl_dst=01:00:00:00:00:00/"
                 "01:00:00:00:00:00 cookie:0x4c420402f0030000 send_flow_rem "
                 "actions=NORMAL");
    check_has(s, "table:2 priority=2,reg0=0x3,dl_dst=01:00:00:00:00:00/"
                 "01:00:00:00:00:00 cookie:0x4c420402f0030000 send_flow_rem "
                 "actions=NORMAL");
    free(s);
}

/* No event packet meets set_field on a packet's field, or dec_ttl: both would
 * make the switch cache a flow for each value of the field. */
static void
test_event_path(void **state)
{
    static const enum rule_kind kinds[] = { RULE_MEMBER,    RULE_CALENDAR,
                                            RULE_EPOCH,     RULE_PORTS,
                                            RULE_SOURCE,    RULE_INSTANCE,
                                            RULE_MAC_FILTER };
    uint64_t seed = 10;
    struct rule_set *set = random_rule_set(&seed, true);

    (void) state;
    for (size_t i = 0; i < set->n; i++) {
        char *s = encode(&set->rules[i]);

        for (size_t j = 0; j < sizeof kinds / sizeof kinds[0]; j++) {
            if (set->rules[i].kind == kinds[j]) {
                const char *at = s;

                while ((at = strstr(at, "set_field:"))) {
                    const char *to = strstr(at, "->") + 2;

                    assert_true(!strncmp(to, "reg", 3)
                                || !strncmp(to, "in_port", 7)
                                || !strncmp(to, "lb_member", 9));
                    at = to;
                }
                assert_null(strstr(s, "dec_ttl"));
                assert_null(strstr(s, "move:"));
            }
        }
        free(s);
    }
    rule_set_unref(set);
}

/* No two rules of a set have an entry in the same place. */
static void
test_places(void **state)
{
    uint64_t seed = 11;

    (void) state;
    for (int round = 0; round < 5; round++) {
        struct rule_set *set = random_rule_set(&seed, true);
        struct flows flows;

        flows_init(&flows);
        for (size_t i = 0; i < set->n; i++) {
            flows_encode(&set->rules[i], &flows);
        }
        for (size_t i = 0; i < flows.n; i++) {
            for (size_t j = 0; j < i; j++) {
                assert_false(flows_entry_same_place(&flows.entries[i],
                                                    &flows.entries[j]));
            }
        }
        flows_destroy(&flows);
        rule_set_unref(set);
    }
}

/* A place is a function of the rule's key: rules of the same row, but of other
 * content, have entries in the same places, and so the same hashes. */
static void
test_places_by_key(void **state)
{
    uint64_t seed = 12;
    int n_changed = 0;

    (void) state;
    for (int round = 0; round < 10; round++) {
        struct rule_set *a = random_rule_set(&seed, false);
        struct rule_set *b = random_rule_set(&seed, false);

        for (size_t i = 0; i < a->n; i++) {
            const struct rule *rule = rule_set_find(b, &a->rules[i]);
            struct flows fa, fb;

            if (!rule) {
                continue;
            }
            flows_init(&fa);
            flows_init(&fb);
            flows_encode(&a->rules[i], &fa);
            flows_encode(rule, &fb);
            n_changed += !rule_equal(&a->rules[i], rule);
            assert_int_equal(fa.n, fb.n);
            for (size_t j = 0; j < fa.n; j++) {
                assert_true(
                    flows_entry_same_place(&fa.entries[j], &fb.entries[j]));
                assert_int_equal(flows_entry_hash(&fa.entries[j]),
                                 flows_entry_hash(&fb.entries[j]));
            }
            flows_destroy(&fa);
            flows_destroy(&fb);
        }
        rule_set_unref(a);
        rule_set_unref(b);
    }
    assert_true(n_changed > 100);
}

static void
test_cookie(void **state)
{
    struct cookie cookie, decoded;
    char *s;

    (void) state;
    for (int kind = 0; kind <= RULE_L2_IFACE; kind++) {
        cookie =
            (struct cookie){ (enum rule_kind) kind, 0x41, 0x1234, 0x5678 };
        assert_true(cookie_decode(cookie_encode(&cookie), &decoded));
        assert_int_equal(decoded.kind, kind);
        assert_int_equal(decoded.verdict, 0x41);
        assert_int_equal(decoded.owner, 0x1234);
        assert_int_equal(decoded.detail, 0x5678);
        assert_int_equal(cookie_encode(&cookie) & COOKIE_MASK, COOKIE_MAGIC);
    }

    assert_false(cookie_decode(0, &decoded));
    assert_false(cookie_decode(UINT64_MAX, &decoded));
    assert_false(cookie_decode(UINT64_C(0x4c42ff0000000000), &decoded));

    cookie = (struct cookie){ RULE_MEMBER, VERDICT_NO_PORT, 3, 77 };
    s = cookie_to_string(&cookie);
    assert_string_equal(s, "member instance=3 verdict=no_port member=77");
    free(s);
    cookie = (struct cookie){ RULE_INSTANCE, VERDICT_HEADER + 5, 3, 0 };
    s = cookie_to_string(&cookie);
    assert_string_equal(s, "instance instance=3 verdict=bad_magic");
    free(s);
    cookie = (struct cookie){ RULE_L2_IFACE, 0, OWNER_IFACE + 2, 0 };
    s = cookie_to_string(&cookie);
    assert_string_equal(s, "l2_iface iface=2 verdict=pass");
    free(s);
}

static void
test_group_id(void **state)
{
    uint16_t instance, epoch;

    (void) state;
    assert_int_equal(group_id_encode(221, 65535), 0xe0ddffff);
    assert_true(group_id_decode(0xe0ddffff, &instance, &epoch));
    assert_int_equal(instance, 221);
    assert_int_equal(epoch, 65535);
    assert_false(group_id_decode(0xe0de0000, &instance, &epoch));
    assert_false(group_id_decode(0xd0000001, &instance, &epoch));
    assert_false(group_id_decode(1, &instance, &epoch));
}

/* A group of 512 buckets fits a message. */
static void
test_largest_calendar(void **state)
{
    struct rule rule = { .kind = RULE_CALENDAR };
    struct calendar_share shares[512] = { { .weight = 0 } };
    struct flows flows;

    (void) state;
    for (uint16_t i = 0; i < 512; i++) {
        shares[i] = (struct calendar_share){ i, 1, 0, 0 };
    }
    unit_assert_error(calendar_create(shares, 512, 9, &rule.calendar.calendar),
                      NULL);
    flows_init(&flows);
    flows_encode(&rule, &flows);
    assert_int_equal(flows.n, 1);
    assert_true(flows.entries[0].add->size < 32768);
    flows_destroy(&flows);
    calendar_unref(rule.calendar.calendar);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_l2_iface),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_mac_filter),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_epoch),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_member),
        cmocka_unit_test(test_member_actions),
        cmocka_unit_test(test_ip_filter),
        cmocka_unit_test(test_instance_drops),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_iface),
        cmocka_unit_test(test_other_address),
        cmocka_unit_test(test_event_path),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_places_by_key),
        cmocka_unit_test(test_cookie),
        cmocka_unit_test(test_group_id),
        cmocka_unit_test(test_largest_calendar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
