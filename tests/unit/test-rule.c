/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/rules/rule.h"
#include "controller/rules/rule-set.h"

#include <stdio.h>

#include "controller/core/calendar.h"
#include "tests/unit/unit.h"

static struct in6_addr
addr(const char *s)
{
    struct in6_addr a;

    assert_true(addr_from_string(s, &a));
    return a;
}

static void
check_string(const struct rule *rule, const char *expected)
{
    char *s = rule_to_string(rule);

    assert_string_equal(s, expected);
    free(s);
}

static void
test_to_string(void **state)
{
    const struct rule pipeline = { .kind = RULE_PIPELINE };
    const struct rule epoch = {
        .kind = RULE_EPOCH,
        .epoch = { .instance = 2, .prefix = { 64, 58 }, .epoch = 3 }
    };
    const struct rule ports = {
        .kind = RULE_PORTS,
        .ports = { .instance = 1, .port = 0x4000, .mask = 0xc000 }
    };
    const struct rule member = { .kind = RULE_MEMBER,
                                 .member = { .instance = 1,
                                             .member = 7,
                                             .address = addr("10.0.0.1"),
                                             .ip = addr("10.0.0.7"),
                                             .mac = { { 2, 0, 0, 0, 0, 7 } },
                                             .base = 20000,
                                             .bits = 2,
                                             .egress = { .type = PORT_NAME,
                                                         .name = "cn7" } } };

    (void) state;
    check_string(&pipeline, "pipeline l2_miss=drop");
    check_string(&epoch, "epoch instance=2 tick=64/58 epoch=3");
    check_string(&ports, "ports instance=1 ports=16384..32767");
    check_string(&member,
                 "member instance=1 member=7 vlan=0 address=10.0.0.1 "
                 "ip=10.0.0.7 mac=02:00:00:00:00:07 base=20000 bits=2 "
                 "keep=false egress=cn7 action=forward");
}

/* One rule of each kind, and the same with the key changed, and with what is
 * no key changed where there is such a thing. */
struct variant {
    struct rule rule;
    struct rule other_key;
    struct rule other_content;
    bool has_key;
    bool has_content;
};

static size_t
make_variants(struct variant *v, const struct calendar *a,
              const struct calendar *b)
{
    size_t n = 0;

#define VARIANT(KIND, MEMBER, KEY, CONTENT, HAS_KEY, HAS_CONTENT) \
    do {                                                          \
        v[n].rule = (struct rule){ .kind = RULE_##KIND };         \
        v[n].other_key = v[n].other_content = v[n].rule;          \
        v[n].other_key.MEMBER.KEY++;                              \
        v[n].other_content.MEMBER.CONTENT++;                      \
        v[n].has_key = HAS_KEY;                                   \
        v[n++].has_content = HAS_CONTENT;                         \
    } while (0)

    VARIANT(PROBE, probe, port.type, change, true, true);
    VARIANT(IFACE, iface, iface, iface, true, false);
    VARIANT(INSTANCE, instance, instance, instance, true, false);
    VARIANT(MEMBER, member, member, action, true, true);
    VARIANT(MEMBER, member, instance, base, true, true);
    VARIANT(MEMBER, member, vlan, bits, true, true);
    VARIANT(MEMBER, member, member, mac.ea[5], true, true);
    VARIANT(MEMBER, member, address.s6_addr[15], ip.s6_addr[0], true, true);
    VARIANT(MEMBER, member, member, src_mac.ea[0], true, true);
    VARIANT(MEMBER, member, member, egress.type, true, true);
    VARIANT(EPOCH, epoch, instance, epoch, true, true);
    VARIANT(EPOCH, epoch, prefix.value, epoch, true, true);
    VARIANT(EPOCH, epoch, prefix.len, epoch, true, true);
    VARIANT(PORTS, ports, instance, port, true, false);
    VARIANT(PORTS, ports, port, port, true, false);
    VARIANT(PORTS, ports, mask, mask, true, false);
    VARIANT(SOURCE, source, instance, instance, true, false);
    VARIANT(SOURCE, source, block.addr.s6_addr[1], instance, true, false);
    VARIANT(SOURCE, source, block.len, instance, true, false);
    VARIANT(IP_FILTER, ip_filter, iface, instance, true, true);
    VARIANT(IP_FILTER, ip_filter, iface, unicast.s6_addr[3], true, true);
    VARIANT(IP_FILTER, ip_filter, address.s6_addr[3], mac.ea[1], true, true);
    VARIANT(MAC_FILTER, mac_filter, iface, iface, true, false);
    VARIANT(MAC_FILTER, mac_filter, mac.ea[0], iface, true, false);
    VARIANT(L2_IFACE, l2_iface, vlan, iface, true, true);
    VARIANT(L2_IFACE, l2_iface, port.type, iface, true, true);
    VARIANT(CALENDAR, calendar, instance, xor, true, true);
    VARIANT(CALENDAR, calendar, epoch, xor, true, true);
#undef VARIANT

    for (size_t i = 0; i < n; i++) {
        if (v[i].rule.kind == RULE_CALENDAR) {
            v[i].rule.calendar.calendar = a;
            v[i].other_key.calendar.calendar = a;
            v[i].other_content.calendar.calendar = i % 2 ? a : b;
        }
    }
    return n;
}

static void
test_compare(void **state)
{
    const struct calendar_share share_a = { 1, 1, 0, 0 },
                                share_b = { 2, 1, 0, 0 };
    const struct calendar *a, *b;
    struct variant variants[32] = { 0 };
    size_t n;

    (void) state;
    unit_assert_error(calendar_create(&share_a, 1, 1, &a), NULL);
    unit_assert_error(calendar_create(&share_b, 1, 1, &b), NULL);
    n = make_variants(variants, a, b);
    for (size_t i = 0; i < n; i++) {
        const struct variant *v = &variants[i];

        assert_int_equal(rule_compare(&v->rule, &v->rule), 0);
        assert_true(rule_equal(&v->rule, &v->rule));
        assert_true(rule_compare(&v->rule, &v->other_key) < 0);
        assert_true(rule_compare(&v->other_key, &v->rule) > 0);
        if (v->has_content) {
            assert_int_equal(rule_compare(&v->rule, &v->other_content), 0);
            assert_false(rule_equal(&v->rule, &v->other_content));
        }
    }
    calendar_unref(a);
    calendar_unref(b);
}

static void
test_set(void **state)
{
    struct rule_set *set = rule_set_create();
    struct rule rule = { .kind = RULE_PORTS, .ports = { .mask = 0xffff } };

    (void) state;
    for (uint16_t i = 100; i > 0; i--) {
        rule.ports.port = i;
        rule_set_add(set, &rule);
        rule_set_add(set, &rule);
    }
    unit_assert_error(rule_set_seal(set), NULL);
    assert_int_equal(set->n, 100);
    for (uint16_t i = 1; i <= 100; i++) {
        rule.ports.port = i;
        assert_ptr_equal(rule_set_find(set, &rule), &set->rules[i - 1]);
    }
    rule.ports.port = 101;
    assert_null(rule_set_find(set, &rule));
    rule_set_unref(set);

    set = rule_set_create();
    assert_null(rule_set_find(set, &rule));
    rule_set_unref(set);
    rule_set_unref(NULL);
}

/* A contradiction is found however the rules are ordered. */
static void
test_contradiction(void **state)
{
    struct rule_set *set = rule_set_create();
    struct rule rule = { .kind = RULE_EPOCH };

    (void) state;
    for (uint16_t i = 0; i < 3; i++) {
        rule.epoch.epoch = i / 2;
        rule_set_add(set, &rule);
    }
    unit_assert_error(rule_set_seal(set), "contradicts");
    assert_int_equal(set->n, 1);
    rule_set_unref(set);
}

/* Members whose station nobody looks for have a rule that drops their packets
 * and counts them, wherever they are said to be. */
static void
test_unresolved(void **state)
{
    struct interface iface = { .name = (char *) "data",
                               .mac = { { 2, 0, 0, 0, 0, 1 } } };
    const struct interface *ifaces[] = { &iface };
    struct in6_addr addresses[] = { addr("192.0.2.1"), addr("2001:db8::1") };
    struct member members[] = {
        { .id = 1, .ip = addr("10.0.0.1"), .egress = { .type = PORT_SEEN } },
        { .id = 2, .ip = addr("10.0.0.2"), .egress = { .type = PORT_IN } },
        { .id = 3, .ip = addr("fd00::3"), .egress = { .type = PORT_SEEN } },
    };
    struct instance instance = { .name = (char *) "one",
                                 .reservable = true,
                                 .addresses = addresses,
                                 .n_addresses = 2,
                                 .interfaces = ifaces,
                                 .n_interfaces = 1,
                                 .first_port = 1,
                                 .last_port = 1,
                                 .members = members,
                                 .n_members = 3 };
    struct bridge bridge = { .name = (char *) "br0", .datapath_id = 1 };
    const struct state s = { .interfaces = &iface,
                             .n_interfaces = 1,
                             .instances = &instance,
                             .n_instances = 1,
                             .bridges = &bridge,
                             .n_bridges = 1 };
    const struct rule_inputs inputs = { .neighbours = NULL };
    struct rule_set *set = rule_set_build(&s, &bridge, &inputs);
    size_t n = 0;

    (void) state;
    for (size_t i = 0; i < set->n; i++) {
        if (set->rules[i].kind == RULE_MEMBER) {
            assert_int_equal(set->rules[i].member.action,
                             RULE_MEMBER_UNRESOLVED);
            n++;
        }
    }
    assert_int_equal(n, 3);
    rule_set_unref(set);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_string),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_contradiction),
        cmocka_unit_test(test_unresolved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
