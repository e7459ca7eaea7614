/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/worker.h"

#include "endpoints/util.h"

#include "tests/unit/unit.h"

#define MS NS_PER_MS

static const struct worker_config config = {
    .interval = 100 * MS,
    .backoff_min = 200 * MS,
    .backoff_max = 1000 * MS,
    .quiet = 2000 * MS,
    .grace = 10000 * MS,
    .farewell = 3000 * MS,
};

/* A worker and its clock, in ms. */
struct script {
    struct worker w;
    int64_t now;
    int64_t last_packet;
};

static struct script
start(void)
{
    struct script s = { .now = 1000 };

    worker_init(&s.w, &config, s.now * MS);
    return s;
}

/* Lets 'ms' pass and checks that 'request' is made then. */
static void
expect(struct script *s, int64_t ms, enum worker_request request)
{
    s->now += ms;
    assert_int_equal(worker_run(&s->w, s->now * MS, s->last_packet * MS),
                     request);
}

static void
answer(struct script *s, enum worker_answer a)
{
    worker_answered(&s->w, a, s->now * MS);
}

static void
expect_state(const struct script *s, enum worker_state state)
{
    assert_string_equal(worker_state_to_string(s->w.state),
                        worker_state_to_string(state));
}

/* Registers the worker and has it report once. */
static struct script
start_registered(void)
{
    struct script s = start();

    expect(&s, 0, WORKER_REQUEST_REGISTER);
    answer(&s, WORKER_OK);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_OK);
    return s;
}

/* The first report goes out at once, then one each interval. */
static void
test_reports(void **state)
{
    struct script s = start_registered();

    (void) state;
    expect_state(&s, WORKER_REPORTING);
    assert_true(worker_is_ready(&s.w));
    assert_int_equal(worker_wakeup(&s.w), 1100 * MS);
    expect(&s, 99, WORKER_REQUEST_NONE);
    expect(&s, 1, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_OK);
    expect(&s, 130, WORKER_REQUEST_REPORT); /* Late, */
    answer(&s, WORKER_OK);
    expect(&s, 69, WORKER_REQUEST_NONE);
    expect(&s, 1, WORKER_REQUEST_REPORT); /* and in step again. */
    assert_int_equal(s.w.n_reports, 3);
}

/* There is one request at a time; what was missed is not made up for. */
static void
test_slow_answer(void **state)
{
    struct script s = start_registered();

    (void) state;
    expect(&s, 100, WORKER_REQUEST_REPORT);
    expect(&s, 100, WORKER_REQUEST_NONE);
    assert_int_equal(worker_wakeup(&s.w), INT64_MAX);
    expect(&s, 900, WORKER_REQUEST_NONE);
    answer(&s, WORKER_OK);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_OK);
    expect(&s, 99, WORKER_REQUEST_NONE);
    expect(&s, 1, WORKER_REQUEST_REPORT);
}

/* A control plane that is away is asked less and less often, and as before
 * once it has answered for a while. */
static void
test_back_off(void **state)
{
    static const int64_t waits[] = { 200, 400, 800, 1000, 1000 };
    struct script s = start();

    (void) state;
    expect(&s, 0, WORKER_REQUEST_REGISTER);
    for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
        answer(&s, WORKER_LOST);
        assert_int_equal(worker_wakeup(&s.w), (s.now + waits[i]) * MS);
        expect(&s, waits[i] - 1, WORKER_REQUEST_NONE);
        expect(&s, 1, WORKER_REQUEST_REGISTER);
    }
    answer(&s, WORKER_OK);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_LOST); /* The session stays. */
    expect_state(&s, WORKER_REPORTING);
    expect(&s, 999, WORKER_REQUEST_NONE);
    expect(&s, 1, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_OK);
    expect(&s, 100, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_LOST);
    expect(&s, 199, WORKER_REQUEST_NONE);
    expect(&s, 1, WORKER_REQUEST_REPORT);
    assert_int_equal(s.w.n_failed, 7);
}

/* Two workers with one address put each other out: less and less often. */
static void
test_replaced(void **state)
{
    static const int64_t waits[] = { 200, 400, 800, 1000, 1000 };
    struct script s = start_registered();

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
        expect(&s, 100, WORKER_REQUEST_REPORT);
        answer(&s, WORKER_UNKNOWN);
        expect(&s, waits[i] - 1, WORKER_REQUEST_NONE);
        expect(&s, 1, WORKER_REQUEST_REGISTER);
        answer(&s, WORKER_OK);
        expect(&s, 0, WORKER_REQUEST_REPORT);
        answer(&s, WORKER_OK);
    }
}

/* A server that came back without its state knows no session. */
static void
test_unknown_session(void **state)
{
    struct script s = start_registered();

    (void) state;
    expect(&s, 100, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_UNKNOWN);
    expect_state(&s, WORKER_UNREGISTERED);
    expect(&s, 199, WORKER_REQUEST_NONE);
    expect(&s, 1, WORKER_REQUEST_REGISTER);
    answer(&s, WORKER_REFUSED); /* The reservation is not there yet. */
    expect_state(&s, WORKER_UNREGISTERED);
    assert_false(s.w.failed);
    expect(&s, 400, WORKER_REQUEST_REGISTER);
    answer(&s, WORKER_OK);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    assert_int_equal(s.w.n_registered, 2);
}

static void
test_refused_at_first(void **state)
{
    struct script s = start();

    (void) state;
    expect(&s, 0, WORKER_REQUEST_REGISTER);
    answer(&s, WORKER_REFUSED);
    expect_state(&s, WORKER_GONE);
    assert_true(s.w.failed);
    expect(&s, 100000, WORKER_REQUEST_NONE);
    assert_int_equal(worker_wakeup(&s.w), INT64_MAX);
}

/* It leaves when no packets have come for a while after the control plane knew
 * that it is not ready. */
static void
test_leave(void **state)
{
    struct script s = start_registered();

    (void) state;
    expect(&s, 50, WORKER_REQUEST_NONE);
    worker_stop(&s.w, s.now * MS);
    worker_stop(&s.w, s.now * MS);
    assert_false(worker_is_ready(&s.w));
    expect(&s, 0, WORKER_REQUEST_REPORT); /* At once. */
    answer(&s, WORKER_OK);
    s.last_packet = s.now + 1500;
    for (int i = 0; i < 34; i++) {
        expect(&s, 100, WORKER_REQUEST_REPORT);
        answer(&s, WORKER_OK);
    }
    expect_state(&s, WORKER_LEAVING);
    expect(&s, 100, WORKER_REQUEST_DEREGISTER);
    answer(&s, WORKER_OK);
    expect_state(&s, WORKER_GONE);
    assert_false(s.w.failed);
}

/* Packets that do not stop are not waited for without end. */
static void
test_grace(void **state)
{
    struct script s = start_registered();

    (void) state;
    worker_stop(&s.w, s.now * MS);
    for (int i = 0; i < 100; i++) {
        s.last_packet = s.now;
        expect(&s, i ? 100 : 0, WORKER_REQUEST_REPORT);
        answer(&s, WORKER_OK);
    }
    s.last_packet = s.now;
    expect(&s, 100, WORKER_REQUEST_DEREGISTER);
}

/* That no packets come tells nothing before the control plane knows. */
static void
test_leave_unheard(void **state)
{
    struct script s = start_registered();
    int64_t end;

    (void) state;
    worker_stop(&s.w, s.now * MS);
    end = s.now + 10000;
    expect(&s, 0, WORKER_REQUEST_REPORT);
    while (s.now < end - 1000) {
        answer(&s, WORKER_LOST);
        expect_state(&s, WORKER_LEAVING);
        expect(&s, 1000, WORKER_REQUEST_REPORT);
    }
    answer(&s, WORKER_LOST);
    expect(&s, 1000, WORKER_REQUEST_DEREGISTER);
    answer(&s, WORKER_LOST);
    expect(&s, 1000, WORKER_REQUEST_DEREGISTER);
    answer(&s, WORKER_LOST);
    expect(&s, 2000, WORKER_REQUEST_NONE); /* The farewell is over. */
    expect_state(&s, WORKER_GONE);
}

/* A report of readiness that is under way when the worker is stopped does not
 * count as news of its end. */
static void
test_stop_during_report(void **state)
{
    struct script s = start_registered();

    (void) state;
    expect(&s, 100, WORKER_REQUEST_REPORT);
    worker_stop(&s.w, s.now * MS);
    answer(&s, WORKER_OK);
    assert_int_equal(s.w.unready_since, INT64_MAX);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_OK);
    assert_int_equal(s.w.unready_since, s.now * MS);
}

static void
test_stop_early(void **state)
{
    struct script s = start();

    (void) state;
    worker_stop(&s.w, s.now * MS);
    expect_state(&s, WORKER_GONE);

    /* A session that was asked for is given back. */
    s = start();
    expect(&s, 0, WORKER_REQUEST_REGISTER);
    worker_stop(&s.w, s.now * MS);
    expect_state(&s, WORKER_UNREGISTERED);
    answer(&s, WORKER_OK);
    expect_state(&s, WORKER_LEAVING);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    assert_false(s.w.request_ready);

    s = start();
    expect(&s, 0, WORKER_REQUEST_REGISTER);
    worker_stop(&s.w, s.now * MS);
    answer(&s, WORKER_LOST);
    expect_state(&s, WORKER_GONE);
}

/* Nothing is left to give back where the session is unknown. */
static void
test_unknown_while_leaving(void **state)
{
    struct script s = start_registered();

    (void) state;
    worker_stop(&s.w, s.now * MS);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_UNKNOWN);
    expect_state(&s, WORKER_GONE);

    s = start_registered();
    worker_stop(&s.w, s.now * MS);
    expect(&s, 0, WORKER_REQUEST_REPORT);
    answer(&s, WORKER_OK);
    expect(&s, 2000, WORKER_REQUEST_DEREGISTER);
    answer(&s, WORKER_UNKNOWN);
    expect_state(&s, WORKER_GONE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_slow_answer),
        cmocka_unit_test(test_back_off),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_unknown_session),
        cmocka_unit_test(test_refused_at_first),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_grace),
        cmocka_unit_test(test_leave_unheard),
        cmocka_unit_test(test_stop_during_report),
        cmocka_unit_test(test_stop_early),
        cmocka_unit_test(test_unknown_while_leaving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
