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
    const struct calendar_share zero[] = { { 1, 0 }, { 2, 0 } };
    const struct calendar_share twice[] = { { 3, 1 }, { 2, 1 }, { 3, 1 } };
    const struct calendar_share reserved[] = { { 65535, 1 } };
    const struct calendar_share good[] = { { 1, 1 } };

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
        { 10, 7 }, { 11, 7 }, { 12, 7 }, { 13, 7 }
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
    const struct calendar_share shares[] = { { 5, 9 }, { 3, 9 }, { 4, 9 } };
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
        { 0, 5 }, { 1, 2 }, { 2, 1 }, { 3, 8 }
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
    const struct calendar_share shares[] = { { 7, 1 }, { 6, 3 } };
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
    struct calendar_share shares[N_MEMBERS_MAX];
    const struct calendar *calendar;

    (void) state;
    for (uint16_t i = 0; i < N_MEMBERS_MAX; i++) {
        shares[i] = (struct calendar_share){ i, UINT32_MAX };
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
        struct calendar_share shares[N_MEMBERS_MAX];
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
    const struct calendar_share a[] = { { 1, 1 }, { 2, 1 } };
    const struct calendar_share b[] = { { 1, 1 }, { 3, 1 } };
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
