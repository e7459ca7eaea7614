/* SPDX-License-Identifier: Apache-2.0 */

/* Which events are a node's own, by the log of epochs. */

#include "endpoints/owned.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define LINE(FROM, XOR, SLOTS)                                            \
    "{\"time\": 1.000, \"switch\": \"br0\", \"instance\": \"demo\", "     \
    "\"instance_id\": 0, \"epoch\": 1, \"from\": " FROM ", \"bits\": 2, " \
    "\"xor\": " XOR ", \"slots\": [" SLOTS "]}\n"

static void
add(struct owned *owned, const char *line)
{
    unit_assert_error(owned_add_line(owned, line), NULL);
}

/* The epoch is the last one that begins at the tick or before; the slot is
 * that of the selector. */
static void
test_epochs(void **state)
{
    struct owned *owned = owned_create("log", "demo", 2);

    (void) state;
    assert_true(owned_has(owned, 5, 5)); /* Nothing is known. */
    add(owned, LINE("10", "0", "1, 2, 1, 1"));
    add(owned, LINE("18446744073709551615", "0", "2, 2, 2, 2"));
    add(owned, LINE("100", "3", "1, 2, 1, 1")); /* In between. */
    assert_int_equal(owned_n_epochs(owned), 3);

    assert_true(owned_has(owned, 9, 0));
    assert_false(owned_has(owned, 10, 0));
    assert_true(owned_has(owned, 10, 1));
    assert_true(owned_has(owned, 99, 0xfffd));
    assert_false(owned_has(owned, 99, 2));
    assert_false(owned_has(owned, 100, 1));
    assert_true(owned_has(owned, 100, 2));
    assert_true(owned_has(owned, UINT64_MAX, 0));
    owned_destroy(owned);
    owned_destroy(NULL);
}

/* Another epoch at the same tick takes the place of the first. */
static void
test_replaced(void **state)
{
    struct owned *owned = owned_create("log", "demo", 2);

    (void) state;
    add(owned, LINE("10", "0", "1, 2, 1, 1"));
    add(owned, LINE("10", "0", "2, 1, 1, 1"));
    assert_int_equal(owned_n_epochs(owned), 1);
    assert_true(owned_has(owned, 10, 0));
    assert_false(owned_has(owned, 10, 1));
    owned_destroy(owned);
}

/* Lines about other instances are passed over, whatever is in them. */
static void
test_other_instances(void **state)
{
    struct owned *owned = owned_create("log", "dem", 2);

    (void) state;
    add(owned, LINE("10", "0", "1, 2, 1, 1"));
    add(owned, "anything");
    assert_int_equal(owned_n_epochs(owned), 0);
    owned_destroy(owned);
}

/* A line that is not right is refused, and said which; nothing of it holds. */
static void
test_bad_lines(void **state)
{
    static const char *const lines[] = {
        LINE("", "0", "1, 2, 1, 1"),
        LINE("-1", "0", "1, 2, 1, 1"),
        LINE("18446744073709551616", "0", "1, 2, 1, 1"),
        LINE("10", "65536", "1, 2, 1, 1"),
        LINE("10", "0", "1, 2, 1"),
        LINE("10", "0", "1, 2, 1, 1, 1"),
        LINE("10", "0", "1, 2, 1, x"),
        LINE("10", "0", "1, 2, 1, 65536"),
        LINE("10", "0", ""),
        "\"instance\": \"demo\", \"from\": 1, \"bits\": 10, \"xor\": 0, "
        "\"slots\": [1]",
        "\"instance\": \"demo\", \"from\": 1, \"bits\": 0, \"xor\": 0",
        "\"instance\": \"demo\",",
    };
    struct owned *owned = owned_create("log", "demo", 2);

    (void) state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char where[32];

        snprintf(where, sizeof where, "log:%zu: ", i + 1);
        unit_assert_error(owned_add_line(owned, lines[i]), where);
    }
    assert_int_equal(owned_n_epochs(owned), 0);
    owned_destroy(owned);
}

static void
append(const char *name, const char *text)
{
    FILE *file = fopen(name, "a");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* The log is read as it grows; half a line waits for the other half. */
static void
test_growing_file(void **state)
{
    char name[] = "/tmp/test-owned.XXXXXX";
    int fd = mkstemp(name);
    struct owned *owned;

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    unlink(name);
    owned = owned_create(name, "demo", 2);
    unit_assert_error(owned_refresh(owned), NULL); /* Not there yet. */

    append(name, LINE("10", "0", "1, 2, 1, 1") "{\"time\": 1, \"inst");
    unit_assert_error(owned_refresh(owned), NULL);
    unit_assert_error(owned_refresh(owned), NULL);
    assert_int_equal(owned_n_epochs(owned), 1);
    append(name, "ance\": \"demo\", \"from\": 20, \"bits\": 0, \"xor\": 0, "
                 "\"slots\": [2]}\n");
    unit_assert_error(owned_refresh(owned), NULL);
    assert_int_equal(owned_n_epochs(owned), 2);
    assert_true(owned_has(owned, 20, 0));

    append(name, LINE("30", "0", "1"));
    unit_assert_error(owned_refresh(owned), ":3: this is no epoch");
    unlink(name);
    owned_destroy(owned);

    owned = owned_create("/dev/null/log", "demo", 2);
    unit_assert_error(owned_refresh(owned), "/dev/null/log: ");
    owned_destroy(owned);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_other_instances),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_growing_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
