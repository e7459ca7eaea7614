/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/slots.h"

#include <stdio.h>

#include "tests/unit/unit.h"

#define N_SLOTS 16

/* Resolves 'demands' and compares with 'expected', a digit for who has the slot
 * and a point for nobody. */
static void
check(const struct slot_demand *demands, size_t n, const char *expected)
{
    uint16_t owners[N_SLOTS];
    char actual[N_SLOTS + 1] = "";

    unit_assert_error(slots_resolve(demands, n, owners, N_SLOTS), NULL);
    for (int i = 0; i < N_SLOTS; i++) {
        actual[i] = owners[i] == SLOT_FREE ? '.' : (char) ('0' + owners[i]);
    }
    assert_string_equal(actual, expected);
}

static void
check_refused(const struct slot_demand *demands, size_t n, const char *reason)
{
    uint16_t owners[N_SLOTS];

    unit_assert_error(slots_resolve(demands, n, owners, N_SLOTS), reason);
}

static void
test_fixed(void **state)
{
    const struct slot_range a[] = { { 2, 3 }, { 15, 1 } };
    const struct slot_range b[] = { { 0, 2 }, { 5, 1 } };
    const struct slot_demand demands[] = { { 12, a, 2 },
                                           { 13, NULL, 0 },
                                           { 14, b, 2 } };

    (void) state;
    check(NULL, 0, "................");
    check(demands, 2, "..000..........0");
    check(demands, 3, "220002.........0");
}

/* Gaps are looked for when all others have their places. */
static void
test_gaps(void **state)
{
    const struct slot_range a[] = { { -1, 3 }, { -1, 1 } };
    const struct slot_range b[] = { { 2, 2 }, { -1, 2 } };
    struct slot_range c[] = { { 7, 1 }, { -1, 6 } };
    const struct slot_demand demands[] = { { 1, a, 2 },
                                           { 2, b, 2 },
                                           { 3, c, 2 } };

    (void) state;
    check(demands, 1, "0000............");
    check(demands, 2, "0.1100011.......");
    check(demands, 3, "0.11000211222222");
    c[1].length = 7;
    check_refused(demands, 3, "session 3: nowhere are 7 free slots in a row");
}

static void
test_conflicts(void **state)
{
    const struct slot_range a[] = { { 2, 3 } };
    const struct slot_range b[] = { { 0, 1 }, { 4, 4 } };
    const struct slot_range self[] = { { 8, 2 }, { 7, 2 } };
    const struct slot_demand demands[] = { { 12, a, 1 }, { 14, b, 2 } };

    (void) state;
    check_refused(demands, 2,
                  "session 14: slots 4 to 7 are not free: session 12 has "
                  "slot 4");
    check_refused(
        &(struct slot_demand){ 9, self, 2 }, 1,
        "session 9: slots 7 to 8 are not free: session 9 has slot 8");
}

static void
test_refused(void **state)
{
    const struct slot_range zero = { 3, 0 };
    const struct slot_range negative = { -2, 1 };
    const struct slot_range lowest = { INT32_MIN, 1 };
    const struct slot_range beyond = { 15, 2 };
    const struct slot_range far = { INT32_MAX, 1 };
    const struct slot_range longest = { 0, UINT32_MAX };
    const struct slot_range wide = { -1, 17 };

    (void) state;
    check_refused(&(struct slot_demand){ 7, &zero, 1 }, 1,
                  "session 7: a range of slots has length 0");
    check_refused(&(struct slot_demand){ 7, &negative, 1 }, 1,
                  "session 7: index -2 of a range");
    check_refused(&(struct slot_demand){ 7, &lowest, 1 }, 1,
                  "session 7: index -2147483648 of a range");
    check_refused(
        &(struct slot_demand){ 7, &beyond, 1 }, 1,
        "session 7: 2 slots from index 15 on do not fit into the 16");
    check_refused(&(struct slot_demand){ 7, &far, 1 }, 1,
                  "1 slots from index 2147483647 on do not fit");
    check_refused(&(struct slot_demand){ 7, &longest, 1 }, 1,
                  "4294967295 slots from index 0 on do not fit");
    check_refused(&(struct slot_demand){ 7, &wide, 1 }, 1,
                  "17 slots from index -1 on do not fit");
}

/* Whatever is asked for, each gets exactly that, or there is an error with
 * reason. */
static void
test_random(void **state)
{
    uint64_t seed = 8;
    unsigned int n_good = 0;

    (void) state;
    for (int round = 0; round < 20000; round++) {
        struct slot_range ranges[4][3];
        struct slot_demand demands[4];
        uint16_t owners[N_SLOTS];
        unsigned int wanted[4] = { 0 };
        unsigned int total = 0;
        char *error;

        for (size_t i = 0; i < 4; i++) {
            demands[i] = (struct slot_demand){ i + 1, ranges[i],
                                               unit_random_below(&seed, 4) };
            for (size_t j = 0; j < demands[i].n; j++) {
                ranges[i][j].index =
                    (int32_t) unit_random_below(&seed, 17) - 1;
                ranges[i][j].index *= unit_random_below(&seed, 2) ? 1 : -1;
                ranges[i][j].index =
                    ranges[i][j].index < -1 ? -1 : ranges[i][j].index;
                ranges[i][j].length = 1 + unit_random_below(&seed, 4);
                wanted[i] += ranges[i][j].length;
            }
            total += wanted[i];
        }
        error = slots_resolve(demands, 4, owners, N_SLOTS);
        if (error) {
            assert_non_null(strstr(error, "session "));
            free(error);
            continue;
        }
        n_good++;
        assert_true(total <= N_SLOTS);
        for (uint16_t i = 0; i < 4; i++) {
            unsigned int n = 0;

            for (int slot = 0; slot < N_SLOTS; slot++) {
                n += owners[slot] == i;
            }
            assert_int_equal(n, wanted[i]);
            for (size_t j = 0; j < demands[i].n; j++) {
                for (uint32_t k = 0;
                     ranges[i][j].index >= 0 && k < ranges[i][j].length; k++) {
                    assert_int_equal(owners[(uint32_t) ranges[i][j].index + k],
                                     i);
                }
            }
        }
    }
    assert_in_range(n_good, 1000, 19000);
}

static void
check_ranges(const uint16_t *owners, uint16_t owner, const char *expected)
{
    struct slot_range *ranges;
    size_t n = slots_find_ranges(owners, 10, owner, &ranges);
    char actual[128] = "";

    for (size_t i = 0; i < n; i++) {
        snprintf(actual + strlen(actual), sizeof actual - strlen(actual),
                 "%d+%u ", ranges[i].index, ranges[i].length);
    }
    assert_string_equal(actual, expected);
    free(ranges);
}

static void
test_find_ranges(void **state)
{
    const uint16_t owners[10] = { 1, 1, 2, 1, 2, 2, 2, SLOT_FREE, 3, 3 };

    (void) state;
    check_ranges(owners, 1, "0+2 3+1 ");
    check_ranges(owners, 2, "2+1 4+3 ");
    check_ranges(owners, 3, "8+2 ");
    check_ranges(owners, 4, "");
    check_ranges(owners, SLOT_FREE, "7+1 ");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),     cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_conflicts), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_random),    cmocka_unit_test(test_find_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
