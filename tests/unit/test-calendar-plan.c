/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/calendar-plan.h"

#include "controller/core/calendar.h"
#include "controller/core/shuffle.h"

#include "tests/unit/unit.h"

static const struct calendar_options dynamic = { STRATEGY_DYNAMIC, 1 };
static const struct calendar_options static_ = { STRATEGY_STATIC, 1 };
static const struct calendar_options explicit = { STRATEGY_EXPLICIT, 1 };

/* Returns the calendar of 2^'bits' slots of 'members'; checks whether it is
 * within the factors. */
static const struct calendar *
make(const struct calendar_member *members, size_t n,
     const struct calendar_options *options, uint8_t bits, bool expect_bounded)
{
    const struct calendar *calendar;
    bool bounded;

    unit_assert_error(
        calendar_plan(members, n, options, bits, &calendar, &bounded), NULL);
    assert_non_null(calendar);
    assert_int_equal(calendar->bits, bits);
    assert_int_equal(bounded, expect_bounded);
    return calendar;
}

static void
check_refused(const struct calendar_member *members, size_t n,
              const struct calendar_options *options, uint8_t bits,
              const char *reason)
{
    const struct calendar *calendar;
    bool bounded;

    unit_assert_error(
        calendar_plan(members, n, options, bits, &calendar, &bounded), reason);
    assert_null(calendar);
}

/* Checks the 16 slots of 'members': a digit for the member, or a point. */
static void
check_slots(const struct calendar_member *members, size_t n,
            const struct calendar_options *options, const char *expected)
{
    const struct calendar *calendar = make(members, n, options, 4, true);
    char actual[17] = "";

    for (int i = 0; i < 16; i++) {
        actual[i] = calendar->members[i] == CALENDAR_NO_MEMBER
                        ? '.'
                        : (char) ('0' + calendar->members[i]);
    }
    assert_string_equal(actual, expected);
    calendar_unref(calendar);
}

static void
check_counts(const struct calendar_member *members, size_t n,
             const struct calendar_options *options, bool bounded,
             const size_t *expected)
{
    const struct calendar *calendar = make(members, n, options, 9, bounded);

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(calendar_count(calendar, members[i].member),
                         expected[i]);
    }
    calendar_unref(calendar);
}

static void
test_refused(void **state)
{
    const struct calendar_member twice[] = { { .member = 3, .weight = 1 },
                                             { .member = 3, .weight = 1 } };
    const struct calendar_member reserved = { .member = 65535, .weight = 1 };
    const struct calendar_member crossed = {
        .member = 1, .weight = 1, .min_factor = 2, .max_factor = 1
    };
    const struct slot_range range = { 510, 3 };
    const struct calendar_member demanding = {
        .member = 1, .session = 12, .demands = &range, .n_demands = 1
    };

    (void) state;
    check_refused(NULL, 0, &dynamic, 9, "there is no worker");
    check_refused(twice, 2, &dynamic, 9, "member 3 is listed twice");
    check_refused(&reserved, 1, &dynamic, 9, "member 65535 is reserved");
    check_refused(&crossed, 1, &dynamic, 9, "the minimum not above");
    check_refused(twice, 1, &dynamic, 10, "10 slot bits are more than 9");
    check_refused(&demanding, 1, &static_, 9,
                  "session 12: 3 slots from index 510 on do not fit");
    check_refused(&demanding, 1, &explicit, 9, "session 12: 3 slots");
    check_refused(twice, 1, &explicit, 9, "no worker demands a slot");
}

static void
test_explicit(void **state)
{
    const struct slot_range a[] = { { 0, 2 }, { 8, 1 } };
    const struct slot_range b[] = { { -1, 4 } };
    const struct calendar_member members[] = {
        { .member = 5, .weight = 9, .demands = a, .n_demands = 2 },
        { .member = 6, .weight = 9 },
        { .member = 7, .demands = b, .n_demands = 1 }
    };

    (void) state;
    check_slots(members, 3, &explicit, "557777..5.......");
}

/* What is left over goes to those who demanded nothing, and among them by
 * weight. */
static void
test_static(void **state)
{
    const struct slot_range a[] = { { 0, 2 }, { 8, 2 } };
    const struct calendar_member members[] = {
        { .member = 5, .weight = 100, .demands = a, .n_demands = 2 },
        { .member = 6, .weight = 1 },
        { .member = 7, .weight = 2 }
    };

    (void) state;
    check_slots(members, 3, &static_, "5576776755767767");
    check_slots(members, 1, &static_, "5555555555555555");
    check_slots(&members[1], 2, &static_, "7767767767767767");
}

/* If all demand something, the rest is for all, by weight alone. */
static void
test_static_all(void **state)
{
    const struct slot_range a[] = { { 0, 4 } };
    const struct slot_range b[] = { { 4, 4 } };
    const struct slot_range all[] = { { 0, 16 } };
    const struct calendar_member members[] = {
        { .member = 1, .weight = 3, .demands = a, .n_demands = 1 },
        { .member = 2, .weight = 1, .demands = b, .n_demands = 1 }
    };
    const struct calendar_member only[] = {
        { .member = 1, .demands = all, .n_demands = 1 },
        { .member = 2, .weight = 7 }
    };

    (void) state;
    check_slots(members, 2, &static_, "1111222211121112");
    check_slots(only, 2, &static_, "1111111111111111");
}

/* In "dynamic", demands are not looked at, not even bad ones. */
static void
test_dynamic(void **state)
{
    const struct slot_range bad[] = { { 0, 600 } };
    const struct calendar_member members[] = {
        { .member = 1, .weight = 1000, .demands = bad, .n_demands = 1 },
        { .member = 2, .weight = 2000 },
        { .member = 3, .weight = 1000 }
    };

    (void) state;
    check_counts(members, 3, &dynamic, true, (size_t[]){ 128, 256, 128 });
}

/* The shuffle is that of the spread calendar, and depends on the seed. */
static void
test_seed(void **state)
{
    const struct calendar_member members[] = { { .member = 1, .weight = 1 },
                                               { .member = 2, .weight = 1 } };
    const struct calendar_options one = { STRATEGY_DYNAMIC, 1 };
    const struct calendar_options two = { STRATEGY_DYNAMIC, 2 };
    const struct calendar *spread = make(members, 2, &static_, 9, true);
    const struct calendar *a = make(members, 2, &one, 9, true);
    const struct calendar *again = make(members, 2, &one, 9, true);
    const struct calendar *b = make(members, 2, &two, 9, true);
    uint16_t slots[512];

    (void) state;
    assert_false(spread->shuffled);
    assert_true(b->shuffled && b->seed == 2);
    assert_true(calendar_equal(a, again));
    assert_false(calendar_equal(a, b));
    memcpy(slots, spread->members, sizeof slots);
    shuffle(slots, 512, 1);
    assert_memory_equal(a->members, slots, sizeof slots);
    calendar_unref(spread);
    calendar_unref(a);
    calendar_unref(again);
    calendar_unref(b);

    /* A test vector: computed by another program. */
    check_slots(members, 2, &one, "1211221112222112");
}

static void
test_factors(void **state)
{
    const struct calendar_member heavy[] = {
        { .member = 1, .weight = 100, .max_factor = 2 },
        { .member = 2, .weight = 1 },
        { .member = 3, .weight = 1 },
        { .member = 4, .weight = 2 }
    };
    /* The maximum holds for what is left over, too. */
    const struct calendar_member few[] = {
        { .member = 1, .weight = 1, .max_factor = 0.5 },
        { .member = 2, .weight = 1, .max_factor = 0.25 },
        { .member = 3, .weight = 1, .max_factor = 0.25 }
    };
    const struct calendar_member much[] = {
        { .member = 1, .weight = 1, .min_factor = 1, .max_factor = 4 },
        { .member = 2, .weight = 9, .min_factor = 3 }
    };
    const struct calendar_member alone = {
        .member = 1, .weight = 500, .min_factor = 1, .max_factor = 1
    };

    (void) state;
    check_counts(heavy, 4, &dynamic, true, (size_t[]){ 256, 64, 64, 128 });
    check_counts(&alone, 1, &dynamic, true, (size_t[]){ 512 });

    /* Where they cannot hold, no slot stays empty. */
    check_counts(few, 3, &dynamic, false, (size_t[]){ 256, 128, 128 });
    check_counts(much, 2, &dynamic, false, (size_t[]){ 171, 341 });
}

/* The minimum of who has no weight holds; and it gets more where the others may
 * not have it. */
static void
test_no_weight(void **state)
{
    const struct calendar_member idle[] = {
        { .member = 1, .weight = 0, .min_factor = 0.5 },
        { .member = 2, .weight = 5 },
        { .member = 3, .weight = 0 }
    };
    const struct calendar_member needed[] = {
        { .member = 1, .weight = 1000, .max_factor = 1 },
        { .member = 2, .weight = 0 }
    };
    const struct calendar_member nobody[] = { { .member = 1 },
                                              { .member = 2 } };

    (void) state;
    check_counts(idle, 3, &dynamic, true, (size_t[]){ 86, 426, 0 });
    check_counts(needed, 2, &dynamic, true, (size_t[]){ 256, 256 });
    check_counts(nobody, 2, &dynamic, true, (size_t[]){ 256, 256 });
}

/* Factors are of all slots: who has demanded its maximum gets no more. */
static void
test_static_factors(void **state)
{
    const struct slot_range a[] = { { 0, 300 } };
    const struct slot_range b[] = { { 400, 12 } };
    const struct calendar_member members[] = {
        { .member = 1,
          .weight = 5,
          .max_factor = 1,
          .demands = a,
          .n_demands = 1 },
        { .member = 2, .weight = 1, .demands = b, .n_demands = 1 }
    };
    const struct calendar_member others[] = {
        { .member = 1, .weight = 5, .demands = a, .n_demands = 1 },
        { .member = 2, .weight = 100, .max_factor = 0.75 },
        { .member = 3, .weight = 1 }
    };

    (void) state;
    check_counts(members, 2, &static_, true, (size_t[]){ 300, 212 });
    check_counts(others, 3, &static_, true, (size_t[]){ 300, 128, 84 });
}

static size_t
random_members(uint64_t *seed, struct calendar_member *members,
               struct slot_range *ranges, bool with_factors)
{
    size_t n = 1 + unit_random_below(seed, 40);
    uint32_t max = 1u << unit_random_below(seed, 22);
    uint32_t slot = 0;

    for (size_t i = 0; i < n; i++) {
        members[i] = (struct calendar_member){
            .member = (uint16_t) (i * 3),
            .session = i + 1,
            .weight = unit_random_below(seed, max + 1),
        };
        if (with_factors) {
            members[i].min_factor = unit_random_below(seed, 20) / 16.0;
            members[i].max_factor =
                members[i].min_factor + unit_random_below(seed, 20) / 16.0;
        }
        ranges[i].index = (int32_t) slot;
        ranges[i].length = 1 + unit_random_below(seed, 12);
        slot += ranges[i].length;
        members[i].demands = &ranges[i];
        members[i].n_demands = unit_random_below(seed, 3) ? 0 : 1;
    }
    return n;
}

/* Whatever members there are, all slots are given away, demanded ones to who
 * demanded them, and within the factors if the calendar says so. */
static void
test_properties(void **state)
{
    uint64_t seed = 1001;
    unsigned int n_bounded = 0;
    const unsigned int n_rounds = 6000;

    (void) state;
    for (unsigned int round = 0; round < n_rounds; round++) {
        struct calendar_member members[40];
        struct slot_range ranges[40];
        size_t n = random_members(&seed, members, ranges, round % 3);
        const struct calendar_options options = { round % 2 ? STRATEGY_DYNAMIC
                                                            : STRATEGY_STATIC,
                                                  round };
        double even = 512.0 / (double) n;
        const struct calendar *calendar;
        size_t total = 0;
        bool bounded;

        unit_assert_error(
            calendar_plan(members, n, &options, 9, &calendar, &bounded), NULL);
        n_bounded += bounded;
        for (size_t i = 0; i < n; i++) {
            const struct calendar_member *m = &members[i];
            size_t count = calendar_count(calendar, m->member);
            bool pinned = m->n_demands && options.strategy == STRATEGY_STATIC;

            total += count;
            for (uint32_t k = 0; pinned && k < ranges[i].length; k++) {
                assert_int_equal(
                    calendar->members[(uint32_t) ranges[i].index + k],
                    m->member);
            }
            if (bounded && !pinned) {
                assert_true((double) count > m->min_factor * even - 1);
            }
            if (bounded && !pinned && m->max_factor > 0) {
                assert_true((double) count < m->max_factor * even + 1);
            }
        }
        assert_int_equal(total, 512);
        calendar_unref(calendar);
    }
    assert_in_range(n_bounded, n_rounds / 4, n_rounds - n_rounds / 20);
}

/* Without demands, without a shuffle, and with factors that leave a way: the
 * calendar is the one that the same shares have in a configuration. */
static void
test_as_configured(void **state)
{
    uint64_t seed = 4;
    unsigned int n_same = 0;

    (void) state;
    for (int round = 0; round < 2000; round++) {
        struct calendar_member members[40];
        struct slot_range ranges[40];
        struct calendar_share shares[40];
        size_t n = random_members(&seed, members, ranges, round % 3);
        const struct calendar *configured, *calendar;
        bool bounded;
        char *error;

        for (size_t i = 0; i < n; i++) {
            members[i].weight++;
            members[i].n_demands = 0;
            shares[i] =
                (struct calendar_share){ members[i].member, members[i].weight,
                                         members[i].min_factor,
                                         members[i].max_factor };
        }
        error = calendar_create(shares, n, 9, &configured);
        unit_assert_error(
            calendar_plan(members, n, &static_, 9, &calendar, &bounded), NULL);
        assert_int_equal(bounded, !error);
        if (!error) {
            assert_true(calendar_equal(configured, calendar));
            n_same++;
        }
        calendar_unref(configured);
        calendar_unref(calendar);
        free(error);
    }
    assert_in_range(n_same, 500, 1900);
}

/* "Bounded" is true exactly if there is a way, which is easy to tell if nobody
 * has anything pinned: the sums of bounds, rounded outwards, say so. */
static void
test_feasible(void **state)
{
    uint64_t seed = 5;
    unsigned int n_not = 0;

    (void) state;
    for (int round = 0; round < 5000; round++) {
        size_t n = 1 + unit_random_below(&seed, 10);
        struct calendar_member members[10];
        const struct calendar *calendar;
        uint64_t min = 0;
        uint64_t max = 0;
        bool bounded;

        for (size_t i = 0; i < n; i++) {
            unsigned int lo = unit_random_below(&seed, 24);
            unsigned int hi = 1 + lo + unit_random_below(&seed, 12);

            members[i] = (struct calendar_member){ .member = (uint16_t) i,
                                                   .weight = unit_random_below(
                                                       &seed, 3),
                                                   .min_factor = lo / 16.0,
                                                   .max_factor = hi / 16.0 };
            min += lo * 512 / (16 * n);
            max += (hi * 512 + 16 * n - 1) / (16 * n);
        }
        unit_assert_error(
            calendar_plan(members, n, &dynamic, 9, &calendar, &bounded), NULL);
        assert_int_equal(bounded, min <= 512 && 512 <= max);
        n_not += !bounded;
        calendar_unref(calendar);
    }
    assert_in_range(n_not, 500, 4500);
}

/* Five hundred workers, and more than there are slots. */
static void
test_many(void **state)
{
    static struct calendar_member members[700];
    const struct calendar *calendar;
    size_t total = 0;

    (void) state;
    for (uint16_t i = 0; i < 700; i++) {
        members[i] =
            (struct calendar_member){ .member = i, .weight = 1000u + i };
    }
    calendar = make(members, 500, &dynamic, 9, true);
    for (uint16_t i = 0; i < 500; i++) {
        size_t count = calendar_count(calendar, i);

        assert_in_range(count, 0, 2);
        total += count;
    }
    assert_int_equal(total, 512);
    calendar_unref(calendar);

    calendar = make(members, 700, &dynamic, 9, true);
    assert_int_equal(calendar_count(calendar, 0), 0);
    assert_int_equal(calendar_count(calendar, 699), 1);
    calendar_unref(calendar);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_explicit),
        cmocka_unit_test(test_static),
        cmocka_unit_test(test_static_all),
        cmocka_unit_test(test_dynamic),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_no_weight),
        cmocka_unit_test(test_static_factors),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_feasible),
        cmocka_unit_test(test_as_configured),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
