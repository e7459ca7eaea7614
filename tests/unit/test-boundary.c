/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/boundary.h"

#include <inttypes.h>

#include "controller/core/epoch.h"

#include "tests/unit/unit.h"

#define LOOK_AHEAD 800
#define NOW 10000

static const struct predictor_settings predictor_settings = { .look_ahead =
                                                                  LOOK_AHEAD,
                                                              .skew = 5000 };

static const struct boundary_settings settings = { .instance = "demo",
                                                   .sync = "udp:0.0.0.0:19531",
                                                   .look_ahead = LOOK_AHEAD,
                                                   .lead = 300,
                                                   .lead_measured = true };

static const struct epoch newest = { .id = 4, .first = 1000 };

static struct predictor *
setup(void)
{
    return predictor_create(&predictor_settings);
}

static void
add(struct predictor *p, uint32_t sender, uint64_t tick, uint32_t rate,
    int64_t now)
{
    assert_int_equal(predictor_add(p, sender, tick, rate, now),
                     PREDICTOR_TAKEN);
}

static uint64_t
choose(const struct boundary_settings *s, const struct predictor *p)
{
    uint64_t first;

    unit_assert_error(boundary_choose(s, p, &newest, NOW, &first), NULL);
    return first;
}

static void
check_refused(const struct boundary_settings *s, const struct predictor *p,
              const char *reason)
{
    uint64_t first;

    unit_assert_error(boundary_choose(s, p, &newest, NOW, &first), reason);
}

/* 800 ms ahead and at least two ticks, then to a multiple of the greatest power
 * of two within a quarter of the look-ahead. */
static void
test_choose(void **state)
{
    struct predictor *p = setup();
    struct boundary_settings slow = settings;

    (void) state;
    add(p, 7, 100000, 1000, NOW);
    assert_true(choose(&settings, p) == 100864); /* 100802, by 128. */

    /* A change that takes longer than the look-ahead. */
    slow.lead = 1700;
    assert_true(choose(&slow, p) == 101760); /* 101702, by 128. */
    predictor_destroy(p);

    /* So few ticks that none can be left out. */
    p = setup();
    add(p, 7, 100000, 5, NOW);
    assert_true(choose(&settings, p) == 100006);
    predictor_destroy(p);

    /* Ticks that stand still, as far as is known. */
    p = setup();
    add(p, 7, 100000, 0, NOW - 1000);
    add(p, 7, 100000, 0, NOW);
    assert_true(choose(&settings, p) == 100002);
    predictor_destroy(p);
}

static void
test_coarse(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, UINT64_C(1700000000000000), 1000000, NOW);
    assert_int_equal(choose(&settings, p) % (1u << 17), 0);
    predictor_destroy(p);
}

static void
test_unknown(void **state)
{
    struct predictor *p = setup();

    (void) state;
    check_refused(&settings, p,
                  "instance demo: no Sync came at udp:0.0.0.0:19531, so");
    add(p, 7, 5000, 100, NOW - 6000);
    check_refused(&settings, p, "(the last Sync came 6000 ms ago)");
    add(p, 1, 100000, 1000, NOW);
    add(p, 2, 200000, 1000, NOW);
    check_refused(&settings, p,
                  "1 of 2 senders (1) are somewhere else than the others");
    for (uint32_t i = 3; i < 15; i++) {
        add(p, i, i * 100000, 1000, NOW);
    }
    check_refused(&settings, p,
                  "13 of 14 senders (1, 2, 3, 4 and 9 more) are somewhere");
    predictor_destroy(p);
}

static void
test_not_beyond(void **state)
{
    struct predictor *p = setup();
    uint64_t first;

    (void) state;
    add(p, 7, 100, 100, NOW);
    check_refused(&settings, p,
                  "an epoch from tick 192 on, which is as far as one may look "
                  "ahead, would not be beyond epoch 4 from tick 1000");

    /* The same tick is not beyond. */
    unit_assert_error(boundary_choose(&settings, p,
                                      &(struct epoch){ .first = 192 }, NOW,
                                      &first),
                      "would not be beyond");
    unit_assert_error(boundary_choose(&settings, p,
                                      &(struct epoch){ .first = 191 }, NOW,
                                      &first),
                      NULL);
    predictor_destroy(p);
}

/* There is no tick after the last. */
static void
test_saturated(void **state)
{
    struct predictor *p = setup();
    struct predictor *near = setup();

    (void) state;
    add(p, 7, UINT64_MAX, 1, NOW);
    check_refused(&settings, p, "the senders are at the last of all ticks");
    add(near, 7, PREDICTOR_TICK_MAX - 2000, 1000, NOW);
    assert_true(choose(&settings, near) < PREDICTOR_TICK_MAX);
    predictor_destroy(p);
    predictor_destroy(near);
}

static void
test_slow_change(void **state)
{
    struct predictor *p = setup();
    struct boundary_settings slow = settings;

    (void) state;
    add(p, 7, 100000, 1000, NOW);
    slow.lead = 7999;
    assert_true(choose(&slow, p) > 107999);
    slow.lead = 8000;
    check_refused(&slow, p,
                  "a change takes 8000 ms (measured), which is 10 times the "
                  "look-ahead of 800 ms or more");
    slow.lead_measured = false;
    slow.look_ahead = 0;
    check_refused(&slow, p, "(the setting min_lead)");
    predictor_destroy(p);
}

/* Who claims a huge rate moves a boundary, but to the limit only, and not by
 * making it coarse either. */
static void
test_liar(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 1, 100000, 1000, NOW);
    add(p, 2, 100000, 1000, NOW);
    add(p, 3, 100000, UINT32_MAX, NOW);
    assert_in_range(choose(&settings, p), 108000, 108001);
    predictor_destroy(p);

    p = setup();
    add(p, 1, 100000, 1000, NOW);
    add(p, 2, 100000, 1000, NOW);
    add(p, 3, 100000, 3000, NOW);
    assert_int_equal(choose(&settings, p), 102528); /* 102401, by 128. */
    predictor_destroy(p);
}

static void
test_check(void **state)
{
    struct predictor *p = setup();
    bool known = true;

    (void) state;
    unit_assert_error(boundary_check(&settings, p, 5, NOW, &known),
                      "no Sync came");
    assert_false(known);
    add(p, 7, 1000000, 1000, NOW);
    unit_assert_error(
        boundary_check(&settings, p, 1000300, NOW, &known),
        "tick 1000300 is too near: the senders are at 1000000 now "
        "and make 1000 a second; a change takes 300 ms "
        "(measured), so it must be beyond 1000300");
    assert_true(known);
    unit_assert_error(boundary_check(&settings, p, 1000301, NOW, &known),
                      NULL);
    predictor_destroy(p);
}

#define N_HONEST 5
#define N_LIARS 4

/* A sender that tells whatever suits it. */
static void
lie(struct predictor *p, uint32_t id, uint64_t truth, int64_t now,
    uint64_t *seed)
{
    uint64_t tick = truth;
    uint32_t rate = 1000000;

    switch (unit_random_below(seed, 7)) {
    case 0: /* A jump ahead or back. */
        tick = truth + unit_random(seed) % (UINT64_C(1) << 40);
        break;
    case 1:
        tick = truth - unit_random(seed) % (truth + 1);
        break;
    case 2: /* Anything. */
        tick = unit_random(seed);
        rate = (uint32_t) unit_random(seed);
        break;
    case 3: /* The truth, and a rate that is none. */
        rate = UINT32_MAX;
        break;
    case 4:
        rate = unit_random_below(seed, 2);
        break;
    case 5: /* As far away as one may be. */
        tick = truth + 4900000;
        break;
    case 6: /* The end of all ticks. */
        tick = UINT64_MAX - unit_random_below(seed, 3);
        break;
    }
    predictor_add(p, id, tick, rate, now);
}

/* As long as most senders are honest, whatever the others tell: a boundary is
 * beyond where any honest one is when the change is through, but not far
 * beyond, and after the one before. */
static void
run_world(uint64_t *seed, unsigned int *n_chosen)
{
    struct predictor *p = setup();
    struct boundary_settings s = settings;
    struct epoch last = { .id = 1, .first = 0 };
    uint64_t base = unit_random(seed) >> (2 + unit_random_below(seed, 60));
    uint64_t offsets[N_HONEST];
    int64_t now = 1000;
    uint32_t ahead;

    s.lead = unit_random_below(seed, 3000);
    ahead = s.lead > s.look_ahead ? s.lead : s.look_ahead;
    for (int i = 0; i < N_HONEST; i++) {
        offsets[i] = base + unit_random_below(seed, 1000000);
    }
    for (int round = 0; round < 60; round++) {
        uint64_t first = 0;
        char *error;

        now += 200 + unit_random_below(seed, 1600);
        for (uint32_t i = 0; i < N_HONEST; i++) {
            /* Some are lost, but never so many that one is forgotten. */
            if (round % 2 == 0 || unit_random_below(seed, 4)) {
                predictor_add(p, i, offsets[i] + (uint64_t) now * 1000,
                              1000000, now);
            }
        }
        for (uint32_t i = 0; i < N_LIARS; i++) {
            lie(p, 100 + i, base + (uint64_t) now * 1000, now, seed);
        }
        now += unit_random_below(seed, 100);
        error = boundary_choose(&s, p, &last, now, &first);
        if (error) {
            assert_non_null(strstr(error, "try again later"));
            free(error);
            continue;
        }
        (*n_chosen)++;
        assert_true(first > last.first);
        assert_true(first <= PREDICTOR_TICK_MAX);
        for (int i = 0; i < N_HONEST; i++) {
            assert_true(first > offsets[i] + (uint64_t) (now + ahead) * 1000);
        }

        /* The median one is not beyond the furthest honest one. */
        assert_true(first <= base + 1000000
                                 + (uint64_t) (now + 10 * LOOK_AHEAD) * 1000
                                 + 1);
        last.first = first;
    }
    predictor_destroy(p);
}

static void
test_honest_majority(void **state)
{
    uint64_t seed = 271828;
    unsigned int n_chosen = 0;

    (void) state;
    for (int world = 0; world < 200; world++) {
        run_world(&seed, &n_chosen);
    }
    assert_true(n_chosen > 3000);
}

/* Whatever is told by whomever: there is a boundary in range that is after the
 * one before, or a reason. */
static void
test_chaos(void **state)
{
    uint64_t seed = 31415;
    unsigned int n_chosen = 0;

    (void) state;
    for (int world = 0; world < 100; world++) {
        struct predictor *p = setup();
        struct epoch last = { .first = 0 };
        int64_t now = 0;

        for (int i = 0; i < 300; i++) {
            struct boundary_settings s = settings;
            uint64_t first;
            char *error;

            lie(p, unit_random_below(&seed, 4),
                unit_random(&seed) >> unit_random_below(&seed, 64), now,
                &seed);
            now += unit_random_below(&seed, 2000);
            s.lead = unit_random_below(&seed, 10000);
            s.look_ahead = unit_random_below(&seed, 3000);
            if (!unit_random_below(&seed, 50)) {
                predictor_reset(p);
                last.first = 0;
            }
            error = boundary_choose(&s, p, &last, now, &first);
            if (!error) {
                assert_true(first > last.first);
                assert_true(first <= PREDICTOR_TICK_MAX);
                last.first = first;
                n_chosen++;
            }
            free(error);
        }
        predictor_destroy(p);
    }
    assert_true(n_chosen > 300);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_coarse),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_not_beyond),
        cmocka_unit_test(test_saturated),
        cmocka_unit_test(test_slow_change),
        cmocka_unit_test(test_liar),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_honest_majority),
        cmocka_unit_test(test_chaos),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
