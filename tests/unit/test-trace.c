/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/trace.h"

#include <stdio.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/trace-switch.h"
#include "tests/unit/random-state.h"
#include "tests/unit/unit.h"

#define N_EPOCHS 4
#define XOR 0x5a

/* One instance with both families and N_EPOCHS epochs of random length. */
struct fixture {
    struct interface iface;
    struct state state;
    struct instance *instance;
    const struct rule_set *rules;
    uint64_t first[N_EPOCHS]; /* Ticks of the epochs with ids from 1 on. */
    const struct calendar *calendars[N_EPOCHS];
};

static void
add_epochs(struct fixture *f, uint64_t *seed)
{
    uint64_t tick = 1000;

    for (unsigned int i = 0; i < N_EPOCHS; i++) {
        f->first[i] = tick;
        f->calendars[i] = random_calendar(i);
        unit_assert_error(epochs_connect(&f->instance->epochs,
                                         (uint16_t) (i + 1), tick, XOR,
                                         f->calendars[i]),
                          NULL);
        tick += 1 + unit_random_below(seed, 5000);
    }
}

static void
setup(struct fixture *f, uint64_t *seed)
{
    const struct bridge bridge = { .n_ports = 0 };
    struct instance *in = mem_zalloc(sizeof *in);

    memset(f, 0, sizeof *f);
    f->iface =
        (struct interface){ .vlan = 7, .mac = { { 2, 0, 0, 0, 0, 1 } } };
    f->instance = in;
    in->id = 3;
    in->interfaces = mem_zalloc(sizeof(void *));
    in->interfaces[0] = &f->iface;
    in->n_interfaces = 1;
    in->addresses = mem_zalloc(2 * sizeof *in->addresses);
    in->n_addresses = 2;
    assert_true(addr_from_string("10.0.0.1", &in->addresses[0]));
    assert_true(addr_from_string("fd00::1", &in->addresses[1]));
    in->sources = mem_zalloc(2 * sizeof *in->sources);
    in->n_sources = 2;
    assert_true(addr_block_from_string("192.168.0.0/24", &in->sources[0]));
    assert_true(addr_block_from_string("fd01::7", &in->sources[1]));
    in->first_port = 16384;
    in->last_port = 32767;
    random_members(seed, in);
    for (size_t i = 0; i < in->n_members; i++) {
        in->members[i].egress =
            (struct port){ .type = PORT_NUMBER,
                           .number = 100 + in->members[i].id };
    }
    add_epochs(f, seed);
    f->state = (struct state){ .interfaces = &f->iface,
                               .n_interfaces = 1,
                               .instances = in,
                               .n_instances = 1 };
    f->rules = rule_set_build(&f->state, &bridge,
                              &(struct rule_inputs){ .change = 0 });
}

static void
teardown(struct fixture *f)
{
    for (unsigned int i = 0; i < N_EPOCHS; i++) {
        calendar_unref(f->calendars[i]);
    }
    rule_set_unref(f->rules);
    f->state.interfaces = NULL;
    f->state.n_interfaces = 0;
    state_destroy(&f->state);
}

/* Returns the index of the epoch that 'tick' belongs to; ticks before the
 * first one go by the newest. */
static unsigned int
epoch_of(const struct fixture *f, uint64_t tick)
{
    unsigned int epoch = N_EPOCHS - 1;

    for (unsigned int i = 0; i < N_EPOCHS; i++) {
        if (tick >= f->first[i]) {
            epoch = i;
        }
    }
    return epoch;
}

static void
trace(const struct fixture *f, const struct trace_event *e,
      struct trace_result *r)
{
    struct trace_packet *p = mem_alloc(sizeof *p);

    unit_assert_error(trace_make_event(e, p), NULL);
    trace_run(f->rules, 5, p, r);
    free(p);
}

/* Checks that 'r', of 'e', is what the model of a balancer says. */
static void
check(const struct fixture *f, const struct trace_event *e,
      const struct trace_result *r)
{
    unsigned int epoch = epoch_of(f, e->tick);
    const struct calendar *c = f->calendars[epoch];
    uint16_t select =
        e->version == 3 ? e->slot_select : (uint16_t) (e->tick & 0xffff);
    unsigned int slot =
        (select ^ XOR) & ((unsigned int) calendar_n_slots(c) - 1);
    const struct member *m =
        instance_find_member(f->instance, c->members[slot]);
    char text[ADDR_STRLEN];

    assert_int_equal(r->instance, 3);
    assert_string_equal(r->lb_status, "ok");
    assert_int_equal(r->lb_tick, e->tick);
    assert_int_equal(r->epoch, epoch + 1);
    assert_int_equal(r->slot, slot);
    if (!m) {
        assert_true(r->dropped);
        assert_string_equal(r->verdict, c->members[slot] == CALENDAR_NO_MEMBER
                                            ? "lb_calendar_miss"
                                            : "mbr_info_miss");
        return;
    }
    assert_int_equal(r->member, m->id);
    if (addr_is_ipv4(&m->ip) != addr_is_ipv4(&e->dst)) {
        assert_string_equal(r->verdict, "mbr_info_miss");
        assert_true(r->dropped);
        return;
    }
    assert_false(r->dropped);
    assert_int_equal(strtol(r->egress, NULL, 10), 100 + m->id);
    addr_to_string(&m->ip, text);
    assert_string_equal(r->ip_dst, text);
    mac_to_string(&m->mac, text);
    assert_string_equal(r->eth_dst, text);
    assert_int_equal(
        r->udp_dst,
        (uint16_t) (m->base + (e->entropy & ((1u << m->bits) - 1))));
    assert_int_equal(r->ttl, e->ttl - 1);
    assert_int_equal(r->vlan, 7);
    assert_int_equal(r->out.len,
                     (addr_is_ipv4(&m->ip) ? 62 : 82) - (m->keep ? 0 : 16));
}

/* Random events go where a model sends them. */
static void
test_events(void **state)
{
    uint64_t seed = 7;

    (void) state;
    for (int i = 0; i < 10; i++) {
        struct fixture f;

        setup(&f, &seed);
        for (int j = 0; j < 60; j++) {
            struct trace_result *r = mem_alloc(sizeof *r);
            struct trace_event e;

            trace_event_init(&e, f.instance, j % 2);
            e.version = (uint8_t) (2 + unit_random_below(&seed, 2));
            e.tick = unit_random_below(&seed, 20000);
            e.slot_select = (uint16_t) unit_random(&seed);
            e.entropy = (uint16_t) unit_random(&seed);
            trace(&f, &e, r);
            check(&f, &e, r);
            trace_result_uninit(r);
            free(r);
        }
        teardown(&f);
    }
}

/* An event's packet at the boundaries goes by the right epoch, and each stage
 * is told. */
static void
test_stages(void **state)
{
    static const char *const stages[] = { "classify", "l2",     "l3",
                                          "local",    "source", "parse",
                                          "header",   "epoch",  "member" };
    struct trace_result *r = mem_alloc(sizeof *r);
    struct trace_event e;
    struct fixture f;
    uint64_t seed = 9;

    (void) state;
    setup(&f, &seed);
    trace_event_init(&e, f.instance, true);
    for (unsigned int i = 1; i < N_EPOCHS; i++) {
        for (uint64_t tick = f.first[i] - 1; tick <= f.first[i]; tick++) {
            e.tick = tick;
            trace(&f, &e, r);
            assert_int_equal(r->epoch, tick < f.first[i] ? i : i + 1);
            assert_int_equal(r->n_steps, 9);
            for (size_t j = 0; j < r->n_steps; j++) {
                assert_string_equal(r->steps[j].words.stage, stages[j]);
            }
            assert_true(r->steps[7].words.first_tick <= tick);
            assert_true(r->steps[7].words.last_tick >= tick);
            trace_result_uninit(r);
        }
    }
    free(r);
    teardown(&f);
}

/* Packets that are no events end where they should. */
static void
test_drops(void **state)
{
    struct trace_event good;
    struct fixture f;
    uint64_t seed = 11;

    (void) state;
    setup(&f, &seed);
    trace_event_init(&good, f.instance, true);
    for (int i = 0; i < 7; i++) {
        static const char *const verdicts[] = {
            "l2_dst_drop", "l2_dst_drop",  "l2_iface_drop_badip",
            "blocked_src", "no_udplb_hdr", "bad_version",
            "ttl_expired"
        };
        struct trace_result *r = mem_alloc(sizeof *r);
        struct trace_event e = good;

        e.vlan = i == 0 ? 8 : e.vlan;
        e.eth_dst.ea[5] ^= i == 1;
        e.dst.s6_addr[15] ^= (uint8_t) ((i == 2) << 6);
        e.src.s6_addr[14] ^= i == 3;
        e.udp_dst = i == 4 ? 9 : e.udp_dst;
        e.version = i == 5 ? 4 : e.version;
        e.ttl = i == 6 ? 1 : e.ttl;
        trace(&f, &e, r);
        assert_string_equal(r->verdict, verdicts[i]);
        assert_true(r->dropped);
        assert_int_equal(r->epoch, -1);
        assert_int_equal(r->out.len, 0);
        trace_result_uninit(r);
        free(r);
    }
    teardown(&f);
}

static void
test_hex(void **state)
{
    struct trace_packet *p = mem_alloc(sizeof *p);
    char *s, *longer;

    (void) state;
    unit_assert_error(
        trace_parse_hex("02:00:00:00:00:01 0A0b0c0d0e0f\n0800", p), NULL);
    s = trace_format_hex(p);
    assert_string_equal(s, "0200000000010a0b0c0d0e0f0800");
    free(s);
    unit_assert_error(trace_parse_hex("020", p), "character 3");
    unit_assert_error(trace_parse_hex("02x0", p), "character 3");
    unit_assert_error(trace_parse_hex("0102", p), "shorter");
    longer = mem_alloc(2 * TRACE_PACKET_MAX + 3);
    memset(longer, '0', 2 * TRACE_PACKET_MAX + 2);
    longer[2 * TRACE_PACKET_MAX + 2] = '\0';
    unit_assert_error(trace_parse_hex(longer, p), "longer than 9216");
    free(longer);
    free(p);
}

/* Whatever the packet is, the trace comes to an end within its bounds. */
static void
test_any_packet(void **state)
{
    struct trace_packet *p = mem_alloc(sizeof *p);
    struct trace_result *r = mem_alloc(sizeof *r);
    struct trace_event e;
    struct fixture f;
    uint64_t seed = 13;

    (void) state;
    setup(&f, &seed);
    trace_event_init(&e, f.instance, true);
    for (int i = 0; i < 500; i++) {
        unit_assert_error(trace_make_event(&e, p), NULL);
        for (int j = 0; j < 3; j++) {
            p->data[unit_random_below(&seed, (unsigned int) p->len)] =
                (uint8_t) unit_random(&seed);
        }
        p->len = 14 + unit_random_below(&seed, (unsigned int) p->len - 13);
        trace_run(f.rules, 1, p, r);
        assert_non_null(r->verdict);
        assert_true(r->n_steps > 0 && r->n_steps < 12);
        trace_result_uninit(r);
    }
    free(p);
    free(r);
    teardown(&f);
}

/* What ovs-appctl prints, and what of it differs. */
static void
test_switch(void **state)
{
    static const char text[] =
        "Flow: udp,in_port=1\n\nbridge(\"br0\")\n-------------\n"
        " 0. priority 10, cookie 0x4c42\n    goto_table:1\n"
        "    group:3758555138\n"
        "     >> slot 2: lb_status=ok, member 6\n"
        "     >> resumed at table 8\n"
        "    lb_forward(eth_src=02:00:00:00:00:01)\n    output:3\n"
        "\nFinal flow: udp\nMegaflow: recirc\nDatapath actions: 2\n";
    struct switch_trace_expected same = { UINT32_C(3758555138), 2, 6, "3" };
    struct switch_trace_expected other = { 0, 2, 5, "in_port" };
    struct switch_trace t;
    char *s;

    (void) state;
    switch_trace_parse(mem_strdup(text), &t);
    s = switch_trace_compare(&t, &same);
    assert_string_equal(s, "");
    free(s);
    s = switch_trace_compare(&t, &other);
    assert_string_equal(s,
                        "group: the switch says 3758555138, evlbd wants none; "
                        "member: the switch says 6, evlbd wants 5; "
                        "egress: the switch says 3, evlbd wants in_port");
    free(s);
    switch_trace_uninit(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events), cmocka_unit_test(test_stages),
        cmocka_unit_test(test_drops),  cmocka_unit_test(test_hex),
        cmocka_unit_test(test_switch), cmocka_unit_test(test_any_packet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
