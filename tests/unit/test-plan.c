/* SPDX-License-Identifier: Apache-2.0 */

/* The sequence of segments that a sender sends, and when. */

#include "endpoints/plan.h"

#include "endpoints/pacer.h"
#include "tests/unit/unit.h"

static const struct plan_config default_config = {
    .n_events = 3,
    .data_ids = { 1, 1 },
    .event_size = { 250, 250 },
    .ports = { 19522, 19522 },
    .n_sockets = 1,
    .tick_start = 1000,
    .tick_step = 10,
    .lb_version = 3,
    .entropy = { PLAN_SELECT_DATA_ID, 0 },
    .slot = { PLAN_SELECT_TICK, 0 },
    .max_segment = 100,
};

/* Takes the next segment, which must be there. */
static struct plan_segment
next(struct plan *plan, uint64_t now_us)
{
    struct plan_segment s;

    assert_true(plan_next(plan, now_us, &s));
    return s;
}

static void
expect_end(struct plan *plan)
{
    struct plan_segment s;

    assert_false(plan_next(plan, 0, &s));
    assert_false(plan_next(plan, 0, &s));
}

static void
expect_segment(struct plan *plan, uint64_t tick, uint32_t offset,
               uint16_t size)
{
    struct plan_segment s = next(plan, 0);

    assert_int_equal(s.lb.tick, tick);
    assert_int_equal(s.re.offset, offset);
    assert_int_equal(s.size, size);
}

static void
test_segments(void **state)
{
    struct plan plan;

    (void) state;
    plan_init(&plan, &default_config);
    for (uint64_t tick = 1000; tick < 1030; tick += 10) {
        assert_true(plan_at_event_start(&plan));
        expect_segment(&plan, tick, 0, 100);
        assert_false(plan_at_event_start(&plan));
        expect_segment(&plan, tick, 100, 100);
        expect_segment(&plan, tick, 200, 50);
    }
    expect_end(&plan);
}

static void
test_headers(void **state)
{
    struct plan_segment s;
    struct plan plan;

    (void) state;
    plan_init(&plan, &default_config);
    s = next(&plan, 0);
    assert_int_equal(s.lb.version, 3);
    assert_int_equal(s.lb.proto, WIRE_LB_PROTO_RE);
    assert_int_equal(s.lb.slot_select, 1000);
    assert_int_equal(s.lb.port_select, 1);
    assert_int_equal(s.re.data_id, 1);
    assert_int_equal(s.re.length, 250);
    assert_int_equal(s.re.event_num, 1000);
    assert_int_equal(s.port, 19522);
    assert_int_equal(s.socket, 0);
}

/* Where events, bundles and segments start and end, with three sources. */
static void
test_marks(void **state)
{
    struct plan_config config = default_config;
    struct plan plan;

    (void) state;
    config.n_events = 2;
    config.data_ids = (struct options_range){ 5, 7 };
    config.event_size = (struct options_range){ 200, 200 };
    plan_init(&plan, &config);
    for (int event = 0; event < 2; event++) {
        for (int id = 5; id <= 7; id++) {
            for (int part = 0; part < 2; part++) {
                struct plan_segment s = next(&plan, 0);

                assert_int_equal(s.lb.tick, 1000 + 10 * event);
                assert_int_equal(s.re.data_id, id);
                assert_int_equal(s.re.offset, 100 * part);
                assert_int_equal(s.starts_event, id == 5 && !part);
                assert_int_equal(s.ends_bundle, part);
                assert_int_equal(s.ends_event, id == 7 && part);
            }
        }
    }
    expect_end(&plan);
}

/* An event without data still takes a packet, one that fills packets exactly
 * no packet too many. */
static void
test_sizes(void **state)
{
    static const struct {
        uint32_t size;
        int packets;
    } cases[] = {
        { 0, 1 }, { 1, 1 }, { 99, 1 }, { 100, 1 }, { 101, 2 }, { 300, 3 },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_config config = default_config;
        struct plan_segment s;
        struct plan plan;
        uint32_t sum = 0;

        config.n_events = 1;
        config.event_size =
            (struct options_range){ cases[i].size, cases[i].size };
        plan_init(&plan, &config);
        for (int packet = 1; packet <= cases[i].packets; packet++) {
            s = next(&plan, 0);
            assert_int_equal(s.re.offset, sum);
            assert_int_equal(s.ends_event, packet == cases[i].packets);
            sum += s.size;
        }
        assert_int_equal(sum, cases[i].size);
        expect_end(&plan);
    }
}

/* Sizes between limits: both limits are met, they depend on event and source,
 * and a second run is the same. */
static void
test_variable_sizes(void **state)
{
    struct plan_config config = default_config;
    struct plan first, second;
    bool met[11] = { false };

    (void) state;
    config.n_events = 500;
    config.data_ids = (struct options_range){ 1, 2 };
    config.event_size = (struct options_range){ 50, 60 };
    plan_init(&first, &config);
    plan_init(&second, &config);
    for (int i = 0; i < 1000; i++) {
        struct plan_segment s = next(&first, 0);

        assert_in_range(s.re.length, 50, 60);
        assert_int_equal(next(&second, 0).re.length, s.re.length);
        met[s.re.length - 50] = true;
    }
    for (int i = 0; i <= 10; i++) {
        assert_true(met[i]);
    }
}

static void
test_largest_size(void **state)
{
    struct plan_config config = default_config;
    struct plan plan;

    (void) state;
    config.n_events = 1;
    config.event_size = (struct options_range){ UINT32_MAX, UINT32_MAX };
    config.max_segment = 9000;
    plan_init(&plan, &config);
    for (uint64_t offset = 0; offset < UINT32_MAX; offset += 9000) {
        struct plan_segment s = next(&plan, 0);

        assert_int_equal(s.re.offset, offset);
        assert_int_equal(s.ends_event, offset + 9000 >= UINT32_MAX);
    }
    expect_end(&plan);
}

static void
test_no_end(void **state)
{
    struct plan_config config = default_config;
    struct plan plan;

    (void) state;
    config.n_events = 0;
    config.event_size = (struct options_range){ 1, 1 };
    config.tick_start = UINT64_MAX - 10;
    plan_init(&plan, &config);
    expect_segment(&plan, UINT64_MAX - 10, 0, 1);
    expect_segment(&plan, UINT64_MAX, 0, 1);
    expect_segment(&plan, 9, 0, 1); /* Ticks go around. */
    for (int i = 0; i < 10000; i++) {
        next(&plan, 0);
    }
}

/* Ticks of the clock: what it shows when the event starts, never the same
 * twice, also when it stands still or goes back. */
static void
test_tick_clock(void **state)
{
    struct plan_config config = default_config;
    struct plan plan;

    (void) state;
    config.n_events = 0;
    config.tick_clock = true;
    config.event_size = (struct options_range){ 150, 150 };
    plan_init(&plan, &config);
    assert_int_equal(plan_coming_tick(&plan, 5000), 5000);
    assert_int_equal(next(&plan, 5000).lb.tick, 5000);
    assert_int_equal(next(&plan, 5001).lb.tick, 5000); /* Same event. */
    assert_int_equal(next(&plan, 5001).lb.tick, 5001);
    assert_int_equal(next(&plan, 9999).lb.tick, 5001);
    assert_int_equal(next(&plan, 5001).lb.tick, 5002);
    assert_int_equal(next(&plan, 0).lb.tick, 5002);
    assert_int_equal(next(&plan, 4000).lb.tick, 5003);
    assert_int_equal(next(&plan, 0).lb.tick, 5003);
    assert_int_equal(plan_coming_tick(&plan, 6000), 6000);
    assert_int_equal(next(&plan, 6000).lb.tick, 6000);
}

static void
test_event_numbers(void **state)
{
    struct plan_config config = default_config;
    struct plan plan;

    (void) state;
    config.event_size = (struct options_range){ 1, 1 };
    config.tick_step = 0;
    config.own_event_nums = true;
    config.event_start = 70;
    plan_init(&plan, &config);
    for (uint64_t event_num = 70; event_num < 73; event_num++) {
        struct plan_segment s = next(&plan, 0);

        assert_int_equal(s.lb.tick, 1000);
        assert_int_equal(s.re.event_num, event_num);
    }
    expect_end(&plan);
}

/* Version 2 has the slot that its tick asks for, whatever was configured. */
static void
test_slot_selectors(void **state)
{
    struct plan_config config = default_config;
    struct plan plan;

    (void) state;
    config.tick_start = 0x123456789a;
    plan_init(&plan, &config);
    assert_int_equal(next(&plan, 0).lb.slot_select, 0x789a);

    config.slot = (struct plan_selector){ PLAN_SELECT_FIXED, 77 };
    plan_init(&plan, &config);
    assert_int_equal(next(&plan, 0).lb.slot_select, 77);

    config.lb_version = 2;
    plan_init(&plan, &config);
    assert_int_equal(next(&plan, 0).lb.slot_select, 0x789a);
}

/* All sources of an event choose the same random slot, or the event would be
 * split; events choose different ones. */
static void
test_random_slots(void **state)
{
    struct plan_config config = default_config;
    unsigned int changes = 0;
    struct plan one, other;
    uint16_t last = 0;

    (void) state;
    config.n_events = 100;
    config.event_size = (struct options_range){ 1, 1 };
    config.slot.how = PLAN_SELECT_RANDOM;
    plan_init(&one, &config);
    config.data_ids = (struct options_range){ 9, 9 };
    plan_init(&other, &config);
    for (int i = 0; i < 100; i++) {
        uint16_t slot = next(&one, 0).lb.slot_select;

        assert_int_equal(next(&other, 0).lb.slot_select, slot);
        changes += slot != last;
        last = slot;
    }
    assert_true(changes > 90);
}

static void
test_entropy(void **state)
{
    struct plan_config config = default_config;
    struct plan_segment a, b;
    struct plan plan;
    unsigned int same = 0;

    (void) state;
    config.n_events = 100;
    config.data_ids = (struct options_range){ 3, 4 };
    config.event_size = (struct options_range){ 1, 1 };
    plan_init(&plan, &config);
    assert_int_equal(next(&plan, 0).lb.port_select, 3);
    assert_int_equal(next(&plan, 0).lb.port_select, 4);

    config.entropy = (struct plan_selector){ PLAN_SELECT_FIXED, 500 };
    plan_init(&plan, &config);
    assert_int_equal(next(&plan, 0).lb.port_select, 500);
    assert_int_equal(next(&plan, 0).lb.port_select, 500);

    /* Random: one for each bundle. */
    config.event_size = (struct options_range){ 200, 200 };
    config.entropy.how = PLAN_SELECT_RANDOM;
    plan_init(&plan, &config);
    for (int i = 0; i < 100; i++) {
        a = next(&plan, 0);
        assert_int_equal(next(&plan, 0).lb.port_select, a.lb.port_select);
        b = next(&plan, 0);
        assert_int_equal(next(&plan, 0).lb.port_select, b.lb.port_select);
        same += a.lb.port_select == b.lb.port_select;
    }
    assert_true(same < 5);
}

static void
test_seed(void **state)
{
    struct plan_config config = default_config;
    unsigned int same = 0;
    struct plan one, other;

    (void) state;
    config.n_events = 100;
    config.event_size = (struct options_range){ 1, 1 };
    config.entropy.how = PLAN_SELECT_RANDOM;
    plan_init(&one, &config);
    config.seed = 1;
    plan_init(&other, &config);
    for (int i = 0; i < 100; i++) {
        same +=
            (next(&one, 0).lb.port_select == next(&other, 0).lb.port_select);
    }
    assert_true(same < 5);
}

/* Bundles go around all ports and sockets, in every combination. */
static void
test_spread(void **state)
{
    struct plan_config config = default_config;
    unsigned int met[4][2] = { { 0 } };
    struct plan plan;

    (void) state;
    config.n_events = 40;
    config.data_ids = (struct options_range){ 1, 2 };
    config.ports = (struct options_range){ 20000, 20003 };
    config.n_sockets = 2;
    config.event_size = (struct options_range){ 200, 200 };
    plan_init(&plan, &config);
    for (int i = 0; i < 80; i++) {
        struct plan_segment a = next(&plan, 0);
        struct plan_segment b = next(&plan, 0);

        assert_in_range(a.port, 20000, 20003);
        assert_in_range(a.socket, 0, 1);
        assert_int_equal(a.port, b.port); /* A bundle stays whole. */
        assert_int_equal(a.socket, b.socket);
        met[a.port - 20000][a.socket]++;
    }
    for (int port = 0; port < 4; port++) {
        assert_int_equal(met[port][0], 10);
        assert_int_equal(met[port][1], 10);
    }
}

/* Pacing. */

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)

static void
test_pacer_unlimited(void **state)
{
    struct pacer p;

    (void) state;
    pacer_init(&p, 0, 0, 77);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(pacer_due(&p, true), 77);
        pacer_sent(&p, true, 9000, 77 + i);
    }
}

/* Ten events a second; only the first packet of each has to wait. */
static void
test_pacer_events(void **state)
{
    struct pacer p;

    (void) state;
    pacer_init(&p, 10, 0, SECOND);
    for (int i = 0; i < 50; i++) {
        int64_t due = SECOND + i * SECOND / 10;

        assert_int_equal(pacer_due(&p, true), due);
        pacer_sent(&p, true, 1500, due);
        assert_int_equal(pacer_due(&p, false), SECOND);
        pacer_sent(&p, false, 1500, due);
    }
}

/* 1 Gb/s: 1250 bytes take 10 us. */
static void
test_pacer_bytes(void **state)
{
    int64_t now = 0;
    struct pacer p;

    (void) state;
    pacer_init(&p, 0, 1, 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(pacer_due(&p, i % 5 == 0), 10000 * i);
        now = pacer_due(&p, i % 5 == 0);
        pacer_sent(&p, i % 5 == 0, 1250, now);
    }
    assert_int_equal(now, 990000);
}

/* With both limits the stricter one decides. */
static void
test_pacer_both(void **state)
{
    struct pacer p;

    (void) state;
    pacer_init(&p, 1000, 1, 0);
    pacer_sent(&p, true, 1250, 0);
    assert_int_equal(pacer_due(&p, false), 10000);
    assert_int_equal(pacer_due(&p, true), 1000000);
    for (int i = 1; i < 200; i++) {
        pacer_sent(&p, false, 1250, 10000 * i);
    }
    assert_int_equal(pacer_due(&p, true), 2000000);
}

/* A short delay is caught up with, so that the rate holds, but at no more than
 * twice the pace, so that the next buffer does not overflow... */
static void
test_pacer_catches_up(void **state)
{
    int64_t now = 50 * MS; /* So late is the first event. */
    struct pacer p;
    int n = 0;

    (void) state;
    pacer_init(&p, 1000, 0, 0);
    while (pacer_due(&p, true) <= now) {
        pacer_sent(&p, true, 100, now);
        n++;
    }
    assert_int_equal(n, 3); /* At once: 1 ms, at twice the pace. */
    for (; now < 98 * MS; n++) {
        now = pacer_due(&p, true);
        assert_int_equal(now, 49 * MS + n * MS / 2);
        pacer_sent(&p, true, 100, now);
    }
    /* From here on the pace is as it was to be. */
    assert_int_equal(n, 99);
    assert_int_equal(pacer_due(&p, true), n * MS);
}

/* ... and most of a long one is not caught up with at all. */
static void
test_pacer_gives_up_lag(void **state)
{
    int64_t now = 60 * SECOND, end = now + 10 * PACER_MAX_LAG;
    struct pacer p;
    int n = 0;

    (void) state;
    pacer_init(&p, 1000, 0, 0);
    for (; now < end; n++) {
        pacer_sent(&p, true, 100, now);
        now = pacer_due(&p, true) > now ? pacer_due(&p, true) : now;
    }
    assert_in_range(n, 11 * PACER_MAX_LAG / MS, 11 * PACER_MAX_LAG / MS + 2);
}

/* The same holds for bytes: 1 Gb/s, 1250 bytes are 10 us. */
static void
test_pacer_catches_up_bytes(void **state)
{
    struct pacer p;
    int n = 0;

    (void) state;
    pacer_init(&p, 0, 1, 0);
    while (pacer_due(&p, false) <= 50 * MS) {
        pacer_sent(&p, false, 1250, 50 * MS);
        n++;
    }
    assert_int_equal(n, PACER_MAX_BURST / 5000 + 1);
    assert_int_equal(pacer_due(&p, false), 50 * MS + 5000);
}

/* A rate that does not divide a second evenly does not drift. */
static void
test_pacer_no_drift(void **state)
{
    struct pacer p;

    (void) state;
    pacer_init(&p, 300000, 0, 0);
    for (int i = 0; i < 3000000; i++) {
        pacer_sent(&p, true, 100, pacer_due(&p, true));
    }
    assert_in_range(pacer_due(&p, true), 10 * SECOND - 1000,
                    10 * SECOND + 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_variable_sizes),
        cmocka_unit_test(test_largest_size),
        cmocka_unit_test(test_no_end),
        cmocka_unit_test(test_tick_clock),
        cmocka_unit_test(test_event_numbers),
        cmocka_unit_test(test_slot_selectors),
        cmocka_unit_test(test_random_slots),
        cmocka_unit_test(test_entropy),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_pacer_unlimited),
        cmocka_unit_test(test_pacer_events),
        cmocka_unit_test(test_pacer_bytes),
        cmocka_unit_test(test_pacer_both),
        cmocka_unit_test(test_pacer_catches_up),
        cmocka_unit_test(test_pacer_gives_up_lag),
        cmocka_unit_test(test_pacer_catches_up_bytes),
        cmocka_unit_test(test_pacer_no_drift),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
