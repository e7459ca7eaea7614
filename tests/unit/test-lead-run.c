/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/lead-run.h"

#include "tests/unit/unit.h"

#define MS 1000

static void
test_plain(void **state)
{
    struct lead_run run;

    (void) state;
    lead_run_start(&run, 7, 5000 * MS);
    assert_int_equal(lead_run_check(&run, 5000 * MS), LEAD_RUN_WAITING);
    lead_run_reply(&run, 6, 5001 * MS);
    lead_run_reply(&run, 6, 5004 * MS);
    lead_run_reply(&run, 7, 5005 * MS);
    lead_run_reply(&run, 7, 5100 * MS);
    assert_int_equal(lead_run_check(&run, 5204 * MS), LEAD_RUN_WAITING);
    assert_int_equal(lead_run_check(&run, 5205 * MS), LEAD_RUN_DONE);
    assert_int_equal(lead_run_get_lead(&run), 5 * MS);
}

/* An old reply after new ones: another thread had the old flow still.  It
 * counts, and the end waits for it. */
static void
test_straggler(void **state)
{
    struct lead_run run;

    (void) state;
    lead_run_start(&run, 7, 5000 * MS);
    lead_run_reply(&run, 7, 5010 * MS);
    lead_run_reply(&run, 6, 5150 * MS);
    lead_run_reply(&run, 7, 5151 * MS);
    assert_int_equal(lead_run_check(&run, 5300 * MS), LEAD_RUN_WAITING);
    assert_int_equal(lead_run_check(&run, 5350 * MS), LEAD_RUN_DONE);
    assert_int_equal(lead_run_get_lead(&run), 150 * MS);
}

/* A change that never arrives is no measurement. */
static void
test_never(void **state)
{
    struct lead_run run;

    (void) state;
    lead_run_start(&run, 7, 1);
    for (int64_t t = 1; t < 1 + LEAD_RUN_TIMEOUT_US; t += 100 * MS) {
        lead_run_reply(&run, 6, t);
        assert_int_equal(lead_run_check(&run, t), LEAD_RUN_WAITING);
    }
    assert_int_equal(lead_run_check(&run, 1 + LEAD_RUN_TIMEOUT_US),
                     LEAD_RUN_FAILED);
}

/* Nothing comes back in the same microsecond, but a clock may say so. */
static void
test_at_once(void **state)
{
    struct lead_run run;

    (void) state;
    lead_run_start(&run, 7, 9 * MS);
    lead_run_reply(&run, 7, 9 * MS);
    assert_int_equal(lead_run_check(&run, 9 * MS + LEAD_RUN_SETTLE_US),
                     LEAD_RUN_DONE);
    assert_int_equal(lead_run_get_lead(&run), 1);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_straggler),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
