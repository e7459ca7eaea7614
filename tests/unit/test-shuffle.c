/* SPDX-License-Identifier: Apache-2.0 */

/* The expected orders were computed by another program, from the description in
 * the header. */

#include "controller/core/shuffle.h"

#include "tests/unit/unit.h"

/* The sequence that the generator's authors give for this seed. */
static void
test_next(void **state)
{
    uint64_t seed = 1234567;

    (void) state;
    assert_true(shuffle_next(&seed) == UINT64_C(6457827717110365317));
    assert_true(shuffle_next(&seed) == UINT64_C(3203168211198807973));
    assert_true(shuffle_next(&seed) == UINT64_C(9817491932198370423));
    assert_true(shuffle_next(&seed) == UINT64_C(4593380528125082431));
    assert_true(shuffle_next(&seed) == UINT64_C(16408922859458223821));
}

static void
fill(uint16_t *elements, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        elements[i] = (uint16_t) i;
    }
}

static void
test_vectors(void **state)
{
    const uint16_t one[] = { 2,  11, 10, 6, 7, 13, 14, 0,
                             12, 5,  15, 9, 3, 8,  4,  1 };
    const uint16_t zero[] = { 2, 10, 14, 11, 6,  1, 5, 13,
                              8, 3,  4,  7,  12, 9, 0, 15 };
    const uint16_t first[] = { 3, 1, 399, 218, 289, 254, 10, 174 };
    const uint16_t last[] = { 439, 25, 358, 220, 33, 56, 38, 157 };
    uint16_t elements[512];

    (void) state;
    fill(elements, 16);
    shuffle(elements, 16, 1);
    assert_memory_equal(elements, one, sizeof one);
    fill(elements, 16);
    shuffle(elements, 16, 0);
    assert_memory_equal(elements, zero, sizeof zero);
    fill(elements, 512);
    shuffle(elements, 512, UINT64_C(0x0123456789abcdef));
    assert_memory_equal(elements, first, sizeof first);
    assert_memory_equal(&elements[504], last, sizeof last);
}

static void
test_few(void **state)
{
    uint16_t element = 7;

    (void) state;
    shuffle(NULL, 0, 1);
    shuffle(&element, 1, 1);
    assert_int_equal(element, 7);
}

static void
test_below(void **state)
{
    uint64_t seed = 5;

    (void) state;
    for (uint64_t n = 1; n < 100; n++) {
        assert_true(shuffle_below(&seed, n) < n);
    }
    assert_true(shuffle_below(&seed, UINT64_MAX) < UINT64_MAX);

    /* Of 3 * 2^62 numbers a quarter would come twice as often, if those beyond
     * the last multiple were not drawn again. */
    {
        const uint64_t n = UINT64_C(3) << 62;
        unsigned int low = 0;

        for (int i = 0; i < 30000; i++) {
            low += shuffle_below(&seed, n) < n / 3;
        }
        assert_in_range(low, 9500, 10500);
    }
}

/* Each element comes to each place about as often as to any other. */
static void
test_uniform(void **state)
{
    unsigned int count[8][8] = { { 0 } };

    (void) state;
    for (uint64_t seed = 0; seed < 40000; seed++) {
        uint16_t elements[8];

        fill(elements, 8);
        shuffle(elements, 8, seed);
        for (int i = 0; i < 8; i++) {
            count[i][elements[i]]++;
        }
    }
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            assert_in_range(count[i][j], 4700, 5300);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),    cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_few),     cmocka_unit_test(test_below),
        cmocka_unit_test(test_uniform),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
