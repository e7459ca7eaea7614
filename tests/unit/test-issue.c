/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/issue.h"

#include "tests/unit/unit.h"

static void
test_add(void **state)
{
    struct issues issues;

    (void) state;
    issues_init(&issues);
    for (unsigned int i = 0; i < 100; i++) {
        issues_add(&issues, "type", i % 2 ? ISSUE_ERROR : ISSUE_WARNING, i,
                   "worker %u of %s", i, "many");
    }
    assert_int_equal(issues.n, 100);
    assert_string_equal(issues.issues[7].type, "type");
    assert_int_equal(issues.issues[7].severity, ISSUE_ERROR);
    assert_int_equal(issues.issues[7].session, 7);
    assert_string_equal(issues.issues[7].message, "worker 7 of many");
    issues_destroy(&issues);
}

/* Each is there since it was there first, without a gap. */
static void
test_replace(void **state)
{
    struct issues issues, newer;

    (void) state;
    issues_init(&issues);
    issues_init(&newer);
    issues_add(&newer, "a", ISSUE_WARNING, 0, "first");
    issues_add(&newer, "a", ISSUE_WARNING, 5, "of 5");
    issues_replace(&issues, &newer, 1000);
    assert_int_equal(newer.n, 0);
    assert_int_equal(issues.n, 2);
    assert_int_equal(issues.issues[0].since, 1000);
    assert_int_equal(issues.issues[1].since, 1000);

    /* Another type or session is another issue; another message is not. */
    issues_add(&newer, "b", ISSUE_ERROR, 0, "another");
    issues_add(&newer, "a", ISSUE_ERROR, 5, "of 5 still");
    issues_add(&newer, "a", ISSUE_WARNING, 6, "of 6");
    issues_replace(&issues, &newer, 2000);
    assert_int_equal(issues.n, 3);
    assert_int_equal(issues.issues[0].since, 2000);
    assert_int_equal(issues.issues[1].since, 1000);
    assert_int_equal(issues.issues[1].severity, ISSUE_ERROR);
    assert_string_equal(issues.issues[1].message, "of 5 still");
    assert_int_equal(issues.issues[2].since, 2000);

    issues_replace(&issues, &newer, 3000);
    assert_int_equal(issues.n, 0);
    issues_add(&newer, "a", ISSUE_WARNING, 5, "again");
    issues_replace(&issues, &newer, 4000);
    assert_int_equal(issues.issues[0].since, 4000);
    issues_destroy(&issues);
    issues_destroy(&newer);
}

static void
test_severities(void **state)
{
    (void) state;
    assert_string_equal(issue_severity_to_string(ISSUE_WARNING), "warning");
    assert_string_equal(issue_severity_to_string(ISSUE_ERROR), "error");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_severities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
