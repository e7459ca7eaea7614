/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/epoch.h"

#include "controller/core/calendar.h"
#include "tests/unit/unit.h"

static const struct calendar *
make_calendar(uint16_t member)
{
    const struct calendar_share share = { member, 1, 0, 0 };
    const struct calendar *calendar;

    unit_assert_error(calendar_create(&share, 1, 2, &calendar), NULL);
    return calendar;
}

/* Connects an epoch of the one member 'id'. */
static void
connect_ok(struct epochs *epochs, uint16_t id, uint64_t first)
{
    const struct calendar *calendar = make_calendar(id);

    unit_assert_error(epochs_connect(epochs, id, first, 0, calendar), NULL);
    calendar_unref(calendar);
}

static void
connect_refused(struct epochs *epochs, uint16_t id, uint64_t first,
                const char *reason)
{
    const struct calendar *calendar = make_calendar(id);
    size_t n = epochs->n;

    unit_assert_error(epochs_connect(epochs, id, first, 0, calendar), reason);
    assert_int_equal(epochs->n, n);
    calendar_unref(calendar);
}

static void
test_connect(void **state)
{
    struct epochs epochs;

    (void) state;
    epochs_init(&epochs);
    connect_ok(&epochs, 1, 0);
    connect_ok(&epochs, 2, 1000);
    connect_refused(&epochs, 2, 2000, "epoch 2 is connected already");
    connect_refused(&epochs, 3, 1000, "not beyond epoch 2 from tick 1000");
    connect_refused(&epochs, 3, 999, "not beyond epoch 2 from tick 1000");
    connect_ok(&epochs, 3, UINT64_MAX);
    connect_refused(&epochs, 4, 0, "not beyond epoch 3");

    assert_int_equal(epochs_find_id(&epochs, 2)->first, 1000);
    assert_null(epochs_find_id(&epochs, 9));
    epochs_destroy(&epochs);
}

/* What is connected does not change when the next one is. */
static void
test_immutable(void **state)
{
    struct epochs epochs;
    const struct epoch *epoch;
    struct epoch copy;

    (void) state;
    epochs_init(&epochs);
    connect_ok(&epochs, 1, 0);
    epoch = epochs.epochs[0];
    copy = *epoch;
    for (uint16_t id = 2; id < 50; id++) {
        connect_ok(&epochs, id, id * 1000);
    }
    assert_ptr_equal(epochs.epochs[0], epoch);
    assert_true(epoch_equal(epoch, &copy));
    assert_ptr_equal(epoch->calendar, copy.calendar);
    epochs_destroy(&epochs);
}

/* Returns the id of the epoch that the longest of all prefixes of 'epochs'
 * gives to 'tick', or 0 if one of the late ones does. */
static uint16_t
lookup(const struct epochs *epochs, uint64_t tick)
{
    struct prefix_list list;
    uint16_t id = UINT16_MAX;
    int best = -1;

    for (size_t i = 0; i <= epochs->n; i++) {
        if (i < epochs->n) {
            epochs_get_prefixes(epochs, i, &list);
        } else {
            epochs_get_late_prefixes(epochs, &list);
        }
        for (size_t j = 0; j < list.n; j++) {
            const struct prefix *p = &list.prefixes[j];

            assert_true(p->len != best || !prefix_contains(p, tick));
            if (p->len > best && prefix_contains(p, tick)) {
                best = p->len;
                id = i < epochs->n ? epochs->epochs[i]->id : 0;
            }
        }
    }
    return id;
}

static void
check_lookup(const struct epochs *epochs, uint64_t tick)
{
    const struct epoch *epoch = epochs_find_tick(epochs, tick);

    assert_int_equal(lookup(epochs, tick), epoch ? epoch->id : 0);
}

/* Longest prefix gives each tick to the epoch whose range it is in. */
static void
test_prefixes(void **state)
{
    uint64_t seed = 3;

    (void) state;
    for (int round = 0; round < 200; round++) {
        uint64_t first = unit_random(&seed) >> unit_random_below(&seed, 64);
        struct epochs epochs;

        if (round % 2) {
            first = 0;
        }
        epochs_init(&epochs);
        for (uint16_t id = 1; id <= 5; id++) {
            uint64_t step =
                unit_random(&seed) >> (1 + unit_random_below(&seed, 63));

            connect_ok(&epochs, id, first);
            if (first + step <= first) {
                break;
            }
            first += step;
        }
        for (size_t i = 0; i < epochs.n; i++) {
            check_lookup(&epochs, epochs.epochs[i]->first);
            check_lookup(&epochs, epochs.epochs[i]->first - 1);
            check_lookup(&epochs, epochs.epochs[i]->first + 1);
        }
        for (int i = 0; i < 100; i++) {
            check_lookup(&epochs,
                         unit_random(&seed) >> unit_random_below(&seed, 64));
        }
        check_lookup(&epochs, 0);
        check_lookup(&epochs, UINT64_MAX);
        epochs_destroy(&epochs);
    }
}

static void
test_equal(void **state)
{
    const struct calendar *a = make_calendar(1);
    const struct calendar *b = make_calendar(1);
    const struct calendar *c = make_calendar(2);
    const struct epoch epoch = { 1, 100, 0, a };
    const struct epoch same = { 1, 100, 0, b };
    const struct epoch other[] = {
        { 2, 100, 0, a }, { 1, 101, 0, a }, { 1, 100, 1, a }, { 1, 100, 0, c }
    };

    (void) state;
    assert_true(epoch_equal(&epoch, &same));
    for (size_t i = 0; i < 4; i++) {
        assert_false(epoch_equal(&epoch, &other[i]));
    }
    calendar_unref(a);
    calendar_unref(b);
    calendar_unref(c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_immutable),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
