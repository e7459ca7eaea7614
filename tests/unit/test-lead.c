/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/lead.h"

#include "tests/unit/unit.h"

static void
test_setting_until_measured(void **state)
{
    struct lead lead;

    (void) state;
    lead_init(&lead);
    assert_false(lead_is_measured(&lead));
    assert_int_equal(lead_get(&lead, 300), 300);

    lead_add_sample(&lead, 40);
    assert_true(lead_is_measured(&lead));
    assert_int_equal(lead_get(&lead, 300), 60);
}

/* The longest counts, until enough others came after it. */
static void
test_window(void **state)
{
    struct lead lead;

    (void) state;
    lead_init(&lead);
    lead_add_sample(&lead, 101);
    for (int i = 1; i < LEAD_WINDOW; i++) {
        lead_add_sample(&lead, 30);
        assert_int_equal(lead_get(&lead, 300), 152);
    }
    lead_add_sample(&lead, 30);
    assert_int_equal(lead_get(&lead, 300), 45);
}

static void
test_limits(void **state)
{
    struct lead lead;

    (void) state;
    lead_init(&lead);
    lead_add_sample(&lead, 0);
    assert_int_equal(lead_get(&lead, 300), LEAD_FLOOR_MS);
    lead_add_sample(&lead, UINT32_MAX);
    assert_int_equal(lead_get(&lead, 300), UINT32_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_setting_until_measured),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
