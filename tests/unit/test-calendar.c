/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/calendar.h"

#include "tests/unit/unit.h"

#define N_MEMBERS_MAX 64

static const struct calendar *
make(const struct calendar_share *shares, size_t n, uint8_t bits)
{
    const struct calendar *calendar;

    unit_assert_error(calendar_create(shares, n, bits, &calendar), NULL);
    assert_non_null(calendar);
    assert_int_equal(calendar->bits, bits);
    return calendar;
}

static void
check_refused(const struct calendar_share *shares, size_t n, uint8_t bits,
              const char *reason)
{
    const struct calendar *calendar;

    unit_assert_error(calendar_create(shares, n, bits, &calendar), reason);
    assert_null(calendar);
}

static void
test_refused(void **state)
{
    const struct calendar_share zero[] = { { 1, 0, 0, 0 }, { 2, 0, 0, 0 } };
    const struct calendar_share twice[] = { { 3, 1, 0, 0 },
                                            { 2, 1, 0, 0 },
                                            { 3, 1, 0, 0 } };
    const struct calendar_share reserved[] = { { 65535, 1, 0, 0 } };
    const struct calendar_share good[] = { { 1, 1, 0, 0 } };

    (void) state;
    check_refused(NULL, 0, 9, "no member has a weight above 0");
    check_refused(zero, 2, 9, "no member has a weight above 0");
    check_refused(twice, 3, 9, "member 3 is listed twice");
    check_refused(reserved, 1, 9, "member 65535 is reserved");
    check_refused(good, 1, 10, "10 slot bits are more than 9");
}

/* Four equal members take turns. */
static void
test_equal_weights(void **state)
{
    const struct calendar_share shares[] = {
        { 10, 7, 0, 0 }, { 11, 7, 0, 0 }, { 12, 7, 0, 0 }, { 13, 7, 0, 0 }
    };
    const struct calendar *calendar = make(shares, 4, 9);

    (void) state;
    for (unsigned int slot = 0; slot < 512; slot++) {
        assert_int_equal(calendar->members[slot], 10 + slot % 4);
    }
    calendar_unref(calendar);
}

/* Largest remainder: 512 * 1/3 = 170 2/3, so two of three get one more; the
 * tie goes to the lower ids. */
static void
test_remainders(void **state)
{
    const struct calendar_share shares[] = { { 5, 9, 0, 0 },
                                             { 3, 9, 0, 0 },
                                             { 4, 9, 0, 0 } };
    const struct calendar *calendar = make(shares, 3, 9);

    (void) state;
    assert_int_equal(calendar_count(calendar, 3), 171);
    assert_int_equal(calendar_count(calendar, 4), 171);
    assert_int_equal(calendar_count(calendar, 5), 170);
    calendar_unref(calendar);
}

/* 8 slots for weights 5, 2, 1 of 16 and 8 of 16: 2.5, 1, 0.5, 4. */
static void
test_small(void **state)
{
    const struct calendar_share shares[] = {
        { 0, 5, 0, 0 }, { 1, 2, 0, 0 }, { 2, 1, 0, 0 }, { 3, 8, 0, 0 }
    };
    const struct calendar *calendar = make(shares, 4, 3);

    (void) state;
    assert_int_equal(calendar_count(calendar, 0), 3);
    assert_int_equal(calendar_count(calendar, 1), 1);
    assert_int_equal(calendar_count(calendar, 2), 0);
    assert_int_equal(calendar_count(calendar, 3), 4);
    calendar_unref(calendar);
}

static void
test_one_slot(void **state)
{
    const struct calendar_share shares[] = { { 7, 1, 0, 0 }, { 6, 3, 0, 0 } };
    const struct calendar *calendar = make(shares, 2, 0);

    (void) state;
    assert_int_equal(calendar_n_slots(calendar), 1);
    assert_int_equal(calendar->members[0], 6);
    calendar_unref(calendar);
}

/* Weights as large as they get do not overflow. */
static void
test_large_weights(void **state)
{
    struct calendar_share shares[N_MEMBERS_MAX] = { { .weight = 0 } };
    const struct calendar *calendar;

    (void) state;
    for (uint16_t i = 0; i < N_MEMBERS_MAX; i++) {
        shares[i] = (struct calendar_share){ i, UINT32_MAX, 0, 0 };
    }
    calendar = make(shares, N_MEMBERS_MAX, 9);
    for (uint16_t i = 0; i < N_MEMBERS_MAX; i++) {
        assert_int_equal(calendar_count(calendar, i), 512 / N_MEMBERS_MAX);
    }
    calendar_unref(calendar);
}

static size_t
random_shares(uint64_t *seed, struct calendar_share *shares)
{
    size_t n = 1 + unit_random_below(seed, N_MEMBERS_MAX);
    unsigned int max = 1u << (1 + unit_random_below(seed, 20));

    for (size_t i = 0; i < n; i++) {
        shares[i].member = (uint16_t) (i * 17);
        shares[i].weight = unit_random_below(seed, max);
    }
    shares[0].weight++;
    return n;
}

/* Each member gets its quota rounded down or up, and a larger fraction never
 * loses against a smaller one. */
static void
check_apportionment(const struct calendar *calendar,
                    const struct calendar_share *shares, size_t n)
{
    uint64_t n_slots = calendar_n_slots(calendar);
    uint64_t sum = 0, total = 0;
    uint64_t largest_down = 0, smallest_up = UINT64_MAX;

    for (size_t i = 0; i < n; i++) {
        sum += shares[i].weight;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t count = calendar_count(calendar, shares[i].member);
        uint64_t product = shares[i].weight * n_slots;
        uint64_t fraction = product % sum;

        total += count;
        if (count == product / sum) {
            largest_down = fraction > largest_down ? fraction : largest_down;
        } else {
            assert_int_equal(count, product / sum + 1);
            smallest_up = fraction < smallest_up ? fraction : smallest_up;
        }
    }
    assert_int_equal(total, n_slots);
    assert_true(smallest_up >= largest_down);
}

/* Among the first t slots, a member with s of n has t * s / n of them, give or
 * take less than one. */
static void
check_spread(const struct calendar *calendar,
             const struct calendar_share *shares, size_t n)
{
    int64_t n_slots = (int64_t) calendar_n_slots(calendar);

    for (size_t i = 0; i < n; i++) {
        int64_t s = (int64_t) calendar_count(calendar, shares[i].member);
        int64_t placed = 0;

        for (int64_t t = 1; t <= n_slots; t++) {
            int64_t lag;

            placed += calendar->members[t - 1] == shares[i].member;
            lag = t * s - placed * n_slots;
            assert_true(lag > -n_slots && lag < n_slots);
        }
    }
}

static void
shuffle(uint64_t *seed, struct calendar_share *shares, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = unit_random_below(seed, (unsigned int) i);
        struct calendar_share tmp = shares[i - 1];

        shares[i - 1] = shares[j];
        shares[j] = tmp;
    }
}

static void
test_properties(void **state)
{
    uint64_t seed = 2;

    (void) state;
    for (int i = 0; i < 300; i++) {
        struct calendar_share shares[N_MEMBERS_MAX] = { { .weight = 0 } };
        size_t n = random_shares(&seed, shares);
        uint8_t bits = (uint8_t) unit_random_below(&seed, 10);
        const struct calendar *calendar = make(shares, n, bits);
        const struct calendar *again;

        check_apportionment(calendar, shares, n);
        check_spread(calendar, shares, n);

        shuffle(&seed, shares, n);
        again = make(shares, n, bits);
        assert_true(calendar_equal(calendar, again));
        calendar_unref(again);
        calendar_unref(calendar);
    }
}

static void
test_equal_and_refs(void **state)
{
    const struct calendar_share a[] = { { 1, 1, 0, 0 }, { 2, 1, 0, 0 } };
    const struct calendar_share b[] = { { 1, 1, 0, 0 }, { 3, 1, 0, 0 } };
    const struct calendar *ca = make(a, 2, 4);
    const struct calendar *cb = make(b, 2, 4);
    const struct calendar *longer = make(a, 2, 5);

    (void) state;
    assert_true(calendar_equal(ca, ca));
    assert_false(calendar_equal(ca, cb));
    assert_false(calendar_equal(ca, longer));

    assert_ptr_equal(calendar_ref(ca), ca);
    calendar_unref(ca);
    assert_int_equal(calendar_count(ca, 1), 8);
    calendar_unref(ca);
    calendar_unref(cb);
    calendar_unref(longer);
    calendar_unref(NULL);
}

/* Returns what 'member' gets among 'n' shares in 512 slots. */
static size_t
count_of(const struct calendar_share *shares, size_t n, uint16_t member)
{
    const struct calendar *calendar = make(shares, n, 9);
    size_t count = calendar_count(calendar, member);

    calendar_unref(calendar);
    return count;
}

static void
test_factors(void **state)
{
    const struct calendar_share heavy[] = {
        { 1, 100, 0, 2 }, { 2, 1, 0, 0 }, { 3, 1, 0, 0 }, { 4, 2, 0, 0 }
    };
    const struct calendar_share light[] = { { 1, 0, 0, 0 },
                                            { 2, 1, 0.5, 2 },
                                            { 3, 1000, 0.5, 0 } };
    struct calendar_share even[10];

    (void) state;
    /* Twice the even share of 128, and the rest in proportion. */
    assert_int_equal(count_of(heavy, 4, 1), 256);
    assert_int_equal(count_of(heavy, 4, 2), 64);
    assert_int_equal(count_of(heavy, 4, 3), 64);
    assert_int_equal(count_of(heavy, 4, 4), 128);

    /* A member without weight is none of those that share. */
    assert_int_equal(count_of(light, 3, 1), 0);
    assert_int_equal(count_of(light, 3, 2), 128);
    assert_int_equal(count_of(light, 3, 3), 384);

    /* Exactly 51.2 slots each cannot be: 51 or 52 are. */
    for (uint16_t i = 0; i < 10; i++) {
        even[i] = (struct calendar_share){ i, 1u + i * 100u, 1, 1 };
    }
    for (uint16_t i = 0; i < 10; i++) {
        assert_in_range(count_of(even, 10, i), 51, 52);
    }
}

static void
test_factors_refused(void **state)
{
    const struct calendar_share crossed[] = { { 1, 1, 2, 1 } };
    const struct calendar_share negative[] = { { 1, 1, -1, 0 } };
    const struct calendar_share nan_[] = { { 1, 1, strtod("nan", NULL), 0 } };
    const struct calendar_share idle[] = { { 1, 0, 1, 0 }, { 2, 1, 0, 0 } };
    const struct calendar_share much[] = { { 1, 1, 1.5, 0 }, { 2, 1, 1, 0 } };
    const struct calendar_share few[] = { { 1, 1, 0, 0.5 }, { 2, 1, 0, 1 } };

    (void) state;
    check_refused(crossed, 1, 9, "member 1: the factors must be from 0");
    check_refused(negative, 1, 9, "member 1: the factors must be from 0");
    check_refused(nan_, 1, 9, "member 1: the factors must be from 0");
    check_refused(idle, 2, 9, "member 1 has a minimum factor, but weight 0");
    check_refused(much, 2, 9, "their mean is 1.250 and must not be above 1");
    check_refused(few, 2, 9, "the maximum factors leave some of the 512");
}

/* Whatever the factors are that leave a choice: the slots are all given away,
 * each within its bounds, and of two that meet no bound, the one of more weight
 * has no fewer. */
static void
test_factors_properties(void **state)
{
    uint64_t seed = 77;
    unsigned int n_good = 0;

    (void) state;
    for (int round = 0; round < 3000; round++) {
        size_t n = 1 + unit_random_below(&seed, 20);
        uint8_t bits = (uint8_t) unit_random_below(&seed, 10);
        size_t slots = (size_t) 1 << bits;
        struct calendar_share shares[20] = { { .weight = 0 } };
        const struct calendar *calendar;
        size_t total = 0;

        for (uint16_t i = 0; i < (uint16_t) n; i++) {
            shares[i] = (struct calendar_share){
                i, 1 + unit_random_below(&seed, 1000),
                unit_random_below(&seed, 16) / 16.0,
                1 + unit_random_below(&seed, 32) / 16.0
            };
        }
        unit_assert_error(calendar_create(shares, n, bits, &calendar), NULL);
        for (uint16_t i = 0; i < (uint16_t) n; i++) {
            double even = (double) slots / (double) n;
            size_t count = calendar_count(calendar, i);

            assert_true((double) count > shares[i].min_factor * even - 1);
            assert_true((double) count < shares[i].max_factor * even + 1);
            total += count;
            n_good += count > shares[i].min_factor * even + 1
                      && count < shares[i].max_factor * even - 1;
        }
        for (uint16_t i = 0; i < (uint16_t) n; i++) {
            for (uint16_t j = 0; j < (uint16_t) n; j++) {
                if (shares[i].weight > shares[j].weight
                    && shares[i].min_factor >= shares[j].min_factor
                    && shares[i].max_factor >= shares[j].max_factor) {
                    assert_true(calendar_count(calendar, i)
                                >= calendar_count(calendar, j));
                }
            }
        }
        assert_int_equal(total, slots);
        calendar_unref(calendar);
    }
    assert_true(n_good > 1000);
}

static void
test_restore(void **state)
{
    const struct calendar_share shares[] = { { 2, 1, 0.5, 3 },
                                             { 1, 3, 0, 0 } };
    const struct calendar *a = make(shares, 2, 3);
    const struct calendar *b =
        calendar_restore(a->shares, a->n_shares, 3, a->members, NULL);

    (void) state;
    assert_true(calendar_equal(a, b));
    assert_int_equal(b->n_shares, 2);
    assert_int_equal(b->shares[0].member, 1);
    assert_true(b->shares[1].min_factor == 0.5);
    assert_ptr_equal(calendar_find_share(b, 1), &b->shares[0]);
    assert_ptr_equal(calendar_find_share(b, 2), &b->shares[1]);
    assert_null(calendar_find_share(b, 3));
    calendar_unref(a);
    calendar_unref(b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_equal_weights),
        cmocka_unit_test(test_remainders),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_one_slot),
        cmocka_unit_test(test_large_weights),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_equal_and_refs),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_factors_refused),
        cmocka_unit_test(test_factors_properties),
        cmocka_unit_test(test_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
