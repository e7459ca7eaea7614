/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/config-numbers.h"

#include "tests/unit/unit.h"

/* Checks that the first number of 'text' that would be cut off is on 'line',
 * and that the message has 'words'; or that there is none if 'words' is
 * NULL. */
static void
check(const char *text, int expected_line, const char *words)
{
    int line = 0;
    char *error = config_numbers_check_text(text, &line);

    if (!words) {
        assert_null(error);
        return;
    }
    assert_non_null(error);
    assert_non_null(strstr(error, words));
    assert_int_equal(line, expected_line);
    free(error);
}

static void
test_good(void **state)
{
    static const char *const texts[] = { "",
                                         "a = 0;",
                                         "a = 2147483647;",
                                         "a = -2147483648;",
                                         "a = 0xffffffff;",
                                         "a = 2147483648L;",
                                         "a = 9223372036854775807L;",
                                         "a = 1796088787LL;",
                                         "a = 0xffffffffffffffffL;",
                                         "a = 99999999999.5;",
                                         "a = 1e99;",
                                         "a = \"18446744073709551615\";",
                                         "a = \"x\\\"99999999999\";",
                                         "# 99999999999\na = 1;",
                                         "// 99999999999",
                                         "/* 99999999999 */ a = 1;",
                                         "a99999999999 = 1;",
                                         "a-99999999999 = 1;",
                                         "a = \"unfinished 99999999999",
                                         "/* unfinished 99999999999",
                                         "a = -",
                                         "a = +;" };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check(texts[i], 0, NULL);
    }
}

static void
test_cut_off(void **state)
{
    (void) state;
    check("a = 2147483648;", 1, "write an L behind it: 2147483648L");
    check("a = 4294967296;", 1, "4294967296L");
    check("a = -2147483649;", 1, "-2147483649L");
    check("a = +2147483648;", 1, "+2147483648L");
    check("a = 0x100000000;", 1, "0x100000000L");
    check("a = 9223372036854775808;", 1, "in quotes");
    check("a = 9223372036854775808L;", 1, "in quotes");
    check("a = 0x10000000000000000L;", 1, "in quotes");
    check("a = 99999999999999999999;", 1, "in quotes");
    check("b = 1;\n# c\n/* d\n */ a = ( 3,\n [ 5000000000 ] );", 5,
          "5000000000L");
    check("b = \"two\nlines\"; a=5000000000;", 2, "5000000000L");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
