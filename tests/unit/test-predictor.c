/* SPDX-License-Identifier: Apache-2.0 */

/* Scripts with a clock: who tells what when, and what is foreseen then. */

#include "controller/core/predictor.h"

#include "tests/unit/unit.h"

static const struct predictor_settings settings = { .look_ahead = 800,
                                                    .skew = 5000 };

static struct predictor *
setup(void)
{
    return predictor_create(&settings);
}

static void
add(struct predictor *p, uint32_t sender, uint64_t tick, uint32_t rate,
    int64_t now)
{
    assert_int_equal(predictor_add(p, sender, tick, rate, now),
                     PREDICTOR_TAKEN);
}

static struct prediction
predict(const struct predictor *p, int64_t now, uint32_t ahead)
{
    struct prediction prediction;

    predictor_predict(p, now, ahead, &prediction);
    return prediction;
}

static void
check(const struct predictor *p, int64_t now, uint32_t ahead, uint64_t tick)
{
    struct prediction prediction = predict(p, now, ahead);

    assert_true(prediction.known);
    assert_int_equal(prediction.tick, tick);
}

static void
test_nobody(void **state)
{
    struct predictor *p = setup();
    struct prediction prediction = predict(p, 1000, 800);

    (void) state;
    assert_false(prediction.known);
    assert_int_equal(prediction.n_senders, 0);
    assert_int_equal(prediction.age, -1);
    predictor_destroy(p);
    predictor_destroy(NULL);
}

static void
test_told_rate(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, 1000000, 500, 10000);
    check(p, 10000, 0, 1000000);
    check(p, 10000, 800, 1000400);
    check(p, 11000, 800, 1000900);

    /* The newest one with a rate counts, even if another came after it. */
    add(p, 7, 1000600, 1000, 11000);
    add(p, 7, 1000900, 0, 11500);
    check(p, 12000, 500, 1002100);
    predictor_destroy(p);
}

/* Who does not know its rate is watched. */
static void
test_fitted_rate(void **state)
{
    struct predictor *p = setup();
    const uint64_t base = UINT64_C(1) << 62;

    (void) state;
    add(p, 7, base, 0, 10000);
    assert_false(predict(p, 10000, 0).known);
    assert_int_equal(predict(p, 10000, 0).n_senders, 1);
    add(p, 7, base + 200, 0, 11000);
    check(p, 11000, 0, base + 200);
    check(p, 11500, 500, base + 400);

    /* 30 too many and 30 too few leave the line where it was. */
    add(p, 7, base + 430, 0, 12000);
    add(p, 7, base + 570, 0, 13000);
    add(p, 7, base + 800, 0, 14000);
    assert_true(predict(p, 14000, 0).rate > 190);
    assert_true(predict(p, 14000, 0).rate < 210);
    predictor_destroy(p);
}

static void
test_same_time(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, 100, 0, 10000);
    add(p, 7, 200, 0, 10000);
    assert_false(predict(p, 10000, 0).known);
    predictor_destroy(p);
}

static void
test_standstill(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, 100, 0, 10000);
    add(p, 7, 100, 0, 11000);
    check(p, 14000, 800, 100);
    predictor_destroy(p);
}

/* The furthest sender decides. */
static void
test_furthest(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 1, 1000, 1000, 10000);
    add(p, 2, 1500, 1000, 10000);
    add(p, 3, 1200, 1100, 10000);
    check(p, 10000, 1000, 2500);
    predictor_destroy(p);
}

/* One sender's clock or counter is far off: the others go on without it. */
static void
test_quarantine(void **state)
{
    struct predictor *p = setup();
    struct prediction prediction;

    (void) state;
    add(p, 1, 100000, 1000, 10000);
    add(p, 2, 100500, 1000, 10000);
    add(p, 3, 105501, 1000, 10000);
    prediction = predict(p, 10000, 0);
    assert_true(prediction.known);
    assert_int_equal(prediction.n_senders, 3);
    assert_int_equal(prediction.n_quarantined, 1);
    assert_int_equal(prediction.quarantined[0], 3);
    assert_int_equal(prediction.tick, 100500);

    /* Of two that disagree nobody knows which one is right. */
    predictor_destroy(p);
    p = setup();
    add(p, 1, 100000, 1000, 10000);
    add(p, 2, 105001, 1000, 10000);
    prediction = predict(p, 10000, 0);
    assert_false(prediction.known);
    assert_int_equal(prediction.n_quarantined, 1);
    predictor_destroy(p);
}

/* Only some are named, but all are counted. */
static void
test_many_quarantined(void **state)
{
    struct predictor *p = setup();
    struct prediction prediction;

    (void) state;
    for (uint32_t i = 0; i < 20; i++) {
        add(p, i, 1000000 + i, 1000, 10000);
    }
    for (uint32_t i = 100; i < 110; i++) {
        add(p, i, i, 1000, 10000);
    }
    prediction = predict(p, 10000, 0);
    assert_true(prediction.known);
    assert_int_equal(prediction.tick, 1000019);
    assert_int_equal(prediction.n_quarantined, 10);
    for (uint32_t i = 0; i < PREDICTOR_NAMED; i++) {
        assert_int_equal(prediction.quarantined[i], 100 + i);
    }
    predictor_destroy(p);
}

/* Who agrees does so however far one looks ahead: a boundary that was chosen far
 * ahead must not be too near for one who was not asked then. */
static void
test_agreement_is_now(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 1, 100000, 1000, 10000);
    add(p, 2, 100000, 1000, 10000);
    add(p, 3, 104900, 1100, 10000);
    assert_int_equal(predict(p, 10000, 0).n_quarantined, 0);
    assert_int_equal(predict(p, 10000, 60000).n_quarantined, 0);
    check(p, 10000, 1000, 106000);

    /* A slower one that is ahead now and behind then does not hide it. */
    add(p, 4, 104950, 1000, 10000);
    check(p, 10000, 1000, 106000);
    predictor_destroy(p);
}

/* Ticks that begin anew are believed at once after a reset. */
/* Senders that pause do not hold back the ones that go on, be they in the
 * majority, and boundaries are beyond those that paused ahead of the others. */
static void
test_paused(void **state)
{
    struct predictor *p = setup();

    (void) state;
    for (int64_t s = 0; s < 4; s++) {
        add(p, 1, 5000, 0, 1000 * s);
        add(p, 2, 5000, 0, 1000 * s);
        add(p, 3, 4000 + 1000 * (uint64_t) s, 1000, 1000 * s);
        add(p, 4, 7500, 0, 1000 * s);
    }
    check(p, 3000, 0, 7500);
    check(p, 3000, 800, 7800);
    assert_int_equal(predict(p, 3000, 800).n_quarantined, 0);
    assert_true(predict(p, 3000, 800).limit == 15000);

    /* The others are far ahead now. */
    for (int64_t s = 4; s < 20; s++) {
        add(p, 1, 5000, 0, 1000 * s);
        add(p, 3, 4000 + 1000 * (uint64_t) s, 1000, 1000 * s);
    }
    check(p, 19000, 800, 23800);
    assert_int_equal(predict(p, 19000, 800).n_quarantined, 0);
    predictor_destroy(p);
}

static void
test_reset(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, 5000000, 100, 10000);
    add(p, 8, 5000000, 100, 10000);
    predictor_reset(p);
    assert_false(predict(p, 10001, 0).known);
    assert_int_equal(predict(p, 10001, 0).n_senders, 0);
    assert_int_equal(predict(p, 10001, 0).age, -1);
    add(p, 7, 10, 100, 10002);
    check(p, 11002, 0, 110);
    predictor_destroy(p);
}

/* How far the median one gets bounds what is foreseen, however far that is. */
static void
test_limit(void **state)
{
    struct predictor *p = setup();
    struct prediction prediction;

    (void) state;
    add(p, 1, 100000, 1000, 10000);
    prediction = predict(p, 10000, 800);
    assert_true(prediction.limit == 108000);
    assert_true(prediction.median_rate > 999 && prediction.median_rate < 1001);
    prediction = predict(p, 10000, 8000);
    assert_true(prediction.limit == 108000);

    /* One that asks for more gets more. */
    prediction = predict(p, 10000, 9000);
    assert_true(prediction.limit == 109000);
    assert_true(prediction.tick == 109000);
    predictor_destroy(p);
}

/* A sender that claims a huge rate agrees with everybody for a moment, but
 * carries nobody far away. */
static void
test_huge_rate(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 1, 100000, 1000, 10000);
    add(p, 2, 100000, 1000, 10000);
    add(p, 3, 100000, UINT32_MAX, 10000);
    check(p, 10000, 800, 100000 + 8 * 1000);
    predictor_destroy(p);
}

static void
test_age(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, 1000, 100, 10000);
    assert_int_equal(predict(p, 12000, 0).age, 2000);
    assert_true(predict(p, 10000 + PREDICTOR_FRESH_MS - 1, 0).known);
    assert_false(predict(p, 10000 + PREDICTOR_FRESH_MS, 0).known);
    assert_int_equal(predict(p, 10000 + PREDICTOR_FRESH_MS, 0).n_senders, 0);
    predictor_destroy(p);
}

/* Ticks that run backwards are not believed; if they stay there, the sender is
 * a new one once it was silent, as far as we are concerned, for a while. */
static void
test_backwards(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, 5000, 100, 10000);
    for (int64_t now = 11000; now < 10000 + PREDICTOR_FRESH_MS; now += 1000) {
        assert_int_equal(predictor_add(p, 7, 10, 100, now),
                         PREDICTOR_BACKWARDS);
    }
    add(p, 7, 10, 100, 10000 + PREDICTOR_FRESH_MS);
    check(p, 10000 + PREDICTOR_FRESH_MS, 0, 10);
    predictor_destroy(p);
}

static void
test_too_many(void **state)
{
    struct predictor *p = setup();

    (void) state;
    for (uint32_t i = 0; i < PREDICTOR_MAX_SENDERS; i++) {
        add(p, i, 100, 100, 10000);
    }
    assert_int_equal(predictor_add(p, 1000, 100, 100, 10000),
                     PREDICTOR_TOO_MANY);
    add(p, 0, 200, 100, 11000);
    assert_int_equal(predict(p, 11000, 0).n_senders, PREDICTOR_MAX_SENDERS);

    /* One that was silent makes room. */
    add(p, 1000, 200, 100, 10000 + PREDICTOR_FRESH_MS);
    assert_int_equal(predict(p, 10000 + PREDICTOR_FRESH_MS, 0).n_senders, 2);
    predictor_destroy(p);
}

static void
test_saturation(void **state)
{
    struct predictor *p = setup();

    (void) state;
    add(p, 7, UINT64_MAX, UINT32_MAX, 10000);
    check(p, 10000, 0, PREDICTOR_TICK_MAX);
    check(p, 14000, UINT32_MAX, PREDICTOR_TICK_MAX);
    predictor_destroy(p);
}

/* Whatever is received, a prediction is one: no arithmetic goes astray (the
 * sanitizers look). */
static void
test_random(void **state)
{
    uint64_t seed = 4711;
    int64_t now = 0;
    struct predictor *p = setup();
    unsigned int n_known = 0;

    (void) state;
    for (int i = 0; i < 20000; i++) {
        uint64_t tick = unit_random(&seed) >> unit_random_below(&seed, 64);
        uint32_t rate = (uint32_t) (unit_random(&seed) >> 32);
        struct prediction prediction;

        now += unit_random_below(&seed, 3000);
        predictor_add(p, unit_random_below(&seed, 5), tick,
                      rate >> unit_random_below(&seed, 32), now);
        prediction = predict(p, now, unit_random_below(&seed, 100000));
        assert_true(prediction.tick <= PREDICTOR_TICK_MAX);
        assert_true(prediction.n_quarantined <= prediction.n_senders);
        n_known += prediction.known;
    }
    assert_true(n_known > 100);
    predictor_destroy(p);
}

static void
test_round_up(void **state)
{
    uint64_t seed = 12;

    (void) state;
    assert_int_equal(predictor_round_up(1001, 0), 1001);
    assert_int_equal(predictor_round_up(1001, 3), 1002);
    assert_int_equal(predictor_round_up(1001, 4), 1004);
    assert_int_equal(predictor_round_up(1024, 4), 1024);
    assert_int_equal(predictor_round_up(1000000, 200000), 1048576);
    assert_int_equal(predictor_round_up(PREDICTOR_TICK_MAX, 1000),
                     PREDICTOR_TICK_MAX);
    for (int i = 0; i < 1000; i++) {
        uint64_t tick = unit_random(&seed) >> 1;
        uint64_t spare = unit_random(&seed) >> unit_random_below(&seed, 63);
        uint64_t up = predictor_round_up(tick, (double) spare);

        assert_true(up >= tick && up - tick <= spare);
    }
}

/* What is known of each sender: those that are silent are not told of. */
static void
test_senders(void **state)
{
    const struct predictor_settings near = { 800, 1000 };
    struct predictor *p = predictor_create(&near);
    struct predictor_sender s[PREDICTOR_MAX_SENDERS];

    (void) state;
    assert_int_equal(predictor_get_senders(p, 0, s), 0);
    predictor_add(p, 9, 5, 1000, 0);
    for (int64_t now = 1; now <= 3; now++) {
        predictor_add(p, 7, 1000 + (uint64_t) now, 1000, 10000 + now);
        predictor_add(p, 8, 1500 + (uint64_t) now, 1000, 10000 + now);
        predictor_add(p, 5, 900000, 1000, 10000 + now);
    }
    assert_int_equal(predictor_add(p, 7, 1000, 1000, 10004),
                     PREDICTOR_BACKWARDS);
    assert_int_equal(predictor_get_senders(p, 10010, s), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s[i].n_taken, 3);
        assert_int_equal(s[i].age, 7);
        assert_int_equal(s[i].quarantined, s[i].id == 5);
        assert_int_equal(s[i].n_backwards, s[i].id == 7);
        assert_int_equal(s[i].tick, s[i].id == 5   ? 900000
                                    : s[i].id == 7 ? 1003
                                                   : 1503);
    }
    assert_int_equal(predictor_get_senders(p, 100000, s), 0);
    predictor_destroy(p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_told_rate),
        cmocka_unit_test(test_fitted_rate),
        cmocka_unit_test(test_same_time),
        cmocka_unit_test(test_standstill),
        cmocka_unit_test(test_furthest),
        cmocka_unit_test(test_quarantine),
        cmocka_unit_test(test_huge_rate),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_many_quarantined),
        cmocka_unit_test(test_paused),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_agreement_is_now),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_round_up),
        cmocka_unit_test(test_senders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
