/* SPDX-License-Identifier: Apache-2.0 */

/* What a worker does with whole events, and the signal that follows. */

#include "endpoints/work.h"

#include "endpoints/control.h"
#include "endpoints/util.h"

#include "tests/unit/unit.h"

#define MS NS_PER_MS

static void
test_at_once(void **state)
{
    struct work w;

    (void) state;
    work_init(&w, 2, 0);
    for (int i = 0; i < 5; i++) {
        work_put(&w, i);
    }
    assert_int_equal(w.n_taken, 5);
    assert_int_equal(w.n_lost, 0);
    assert_true(work_fill(&w) == 0);
}

/* 100 events a second, one after the other. */
static void
test_pace(void **state)
{
    struct work w;

    (void) state;
    work_init(&w, 4, 100);
    work_put(&w, 1000 * MS);
    work_put(&w, 1001 * MS);
    work_put(&w, 1002 * MS);
    assert_true(work_fill(&w) == 0.75);
    work_run(&w, 1010 * MS - 1);
    assert_int_equal(w.n_taken, 0);
    work_run(&w, 1010 * MS);
    assert_int_equal(w.n_taken, 1);
    work_run(&w, 1029 * MS);
    assert_int_equal(w.n_taken, 2);
    work_run(&w, 5000 * MS);
    assert_int_equal(w.n_taken, 3);
    assert_true(work_fill(&w) == 0);

    /* Idle time is not saved up. */
    work_put(&w, 5000 * MS);
    work_run(&w, 5009 * MS);
    assert_int_equal(w.n_taken, 3);
    work_run(&w, 5010 * MS);
    assert_int_equal(w.n_taken, 4);
}

static void
test_full(void **state)
{
    struct work w;

    (void) state;
    work_init(&w, 2, 100);
    for (int i = 0; i < 5; i++) {
        work_put(&w, i);
    }
    assert_int_equal(w.n_lost, 3);
    assert_true(work_fill(&w) == 1);
    work_put(&w, 10 * MS); /* The first is done just then. */
    assert_int_equal(w.n_lost, 3);
    assert_int_equal(w.n_taken, 1);
    work_run(&w, 1000 * MS);
    assert_int_equal(w.n_taken, 3);
}

/* Whatever comes is queued, taken or lost. */
static void
test_random(void **state)
{
    uint64_t random = 3;
    int64_t now = 0;
    struct work w;

    (void) state;
    work_init(&w, 50, 1e6);
    for (uint64_t n = 1; n <= 20000; n++) {
        now += unit_random_below(&random, n % 2000 < 1000 ? 500 : 3000);
        work_put(&w, now);
        assert_int_equal(w.queued + w.n_taken + w.n_lost, n);
        assert_true(w.queued <= 50);
    }
    assert_true(w.n_lost > 1000);
    assert_true(w.n_taken > 10000);
}

static const struct control_config pi = {
    .set_point = 0.25,
    .kp = 100,
    .ki = 10,
};

static void
assert_near(double a, double b)
{
    if (a < b - 1e-9 || a > b + 1e-9) {
        fail_msg("%g is not %g", a, b);
    }
}

static void
test_signal(void **state)
{
    struct control c;

    (void) state;
    control_init(&c, &pi);
    assert_near(control_run(&c, 0, 1000 * MS), 25);
    assert_near(control_run(&c, 1, 1100 * MS), -75 - 0.75);
    assert_near(control_run(&c, 0.25, 1200 * MS), -0.75);

    /* A gap counts as one second. */
    assert_near(control_run(&c, 0, 90000 * MS), 25 - 0.75 + 2.5);
}

/* At its bound the signal does not wind up. */
static void
test_bound(void **state)
{
    struct control_config config = { .set_point = 0.5, .kp = 1, .ki = 900 };
    struct control c;
    int64_t now = 1000 * MS;
    double signal = 0;

    (void) state;
    control_init(&c, &config);
    for (int i = 0; i < 100; i++, now += 1000 * MS) {
        signal = control_run(&c, 1, now);
        assert_true(signal >= -CONTROL_MAX);
    }
    assert_near(signal, -CONTROL_MAX);
    for (int i = 0; i < 5; i++, now += 1000 * MS) {
        signal = control_run(&c, 0, now);
    }
    assert_true(signal > 0);
}

static void
test_fixed(void **state)
{
    struct control_config config = { .fixed = true, .value = -3, .kp = 1 };
    struct control c;

    (void) state;
    control_init(&c, &config);
    assert_near(control_run(&c, 0, 1000 * MS), -3);
    assert_near(control_run(&c, 1, 2000 * MS), -3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once), cmocka_unit_test(test_pace),
        cmocka_unit_test(test_full),    cmocka_unit_test(test_random),
        cmocka_unit_test(test_signal),  cmocka_unit_test(test_bound),
        cmocka_unit_test(test_fixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
