/* SPDX-License-Identifier: Apache-2.0 */

/* Segments that leave in another order than they came in. */

#include "endpoints/reorder.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#define N 2000

/* Puts N segments, which their offsets tell apart, through a window of
 * 'window', and stores in 'out' the order that they leave in. */
static void
run(size_t window, uint64_t seed, uint32_t out[N], uint64_t *n_overtaken)
{
    struct reorder r;
    struct plan_segment s = { .size = 1 }, left;
    size_t n = 0;

    assert_true(reorder_init(&r, window, seed));
    for (uint32_t i = 0; i < N; i++) {
        s.re.offset = i;
        if (reorder_put(&r, &s, &left)) {
            out[n++] = left.re.offset;
        }
        assert_int_equal(n, i < window ? 0 : i + 1 - window);
    }
    while (reorder_drain(&r, &left)) {
        assert_in_range(n, 0, N - 1);
        out[n++] = left.re.offset;
    }
    assert_int_equal(n, N);
    *n_overtaken = r.n_overtaken;
    reorder_destroy(&r);
}

/* Without a window each segment leaves at once. */
static void
test_no_window(void **state)
{
    uint64_t n_overtaken;
    uint32_t out[N];

    (void) state;
    run(0, 1, out, &n_overtaken);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(out[i], i);
    }
    assert_int_equal(n_overtaken, 0);
}

/* Each segment leaves once, and none is overtaken by more than the window. */
static void
test_bound(void **state)
{
    static const size_t windows[] = { 1, 2, 7, 16, 100 };

    (void) state;
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        uint64_t n_overtaken, overtaken = 0;
        uint32_t out[N], top = 0;
        bool seen[N] = { false };

        run(windows[w], 5, out, &n_overtaken);
        for (size_t i = 0; i < N; i++) {
            size_t later = 0;

            assert_false(seen[out[i]]);
            seen[out[i]] = true;
            for (size_t j = 0; j < i; j++) {
                later += out[j] > out[i];
            }
            assert_in_range(later, 0, windows[w]);
            overtaken += out[i] < top;
            top = out[i] > top ? out[i] : top;
        }
        assert_int_equal(overtaken, n_overtaken);
        assert_in_range(overtaken, N / 10, N);
    }
}

/* The order depends on the seed, and on nothing else. */
static void
test_seed(void **state)
{
    uint32_t a[N], b[N], c[N];
    uint64_t n;

    (void) state;
    run(10, 1, a, &n);
    run(10, 1, b, &n);
    run(10, 2, c, &n);
    assert_memory_equal(a, b, sizeof a);
    assert_true(memcmp(a, c, sizeof a) != 0);
}

/* Where the plan ends early, the pool still gives all that it has. */
static void
test_drain_early(void **state)
{
    struct plan_segment s = { .re.offset = 42 }, left;
    struct reorder r;

    (void) state;
    assert_true(reorder_init(&r, 8, 0));
    assert_false(reorder_drain(&r, &left));
    assert_false(reorder_put(&r, &s, &left));
    assert_true(reorder_drain(&r, &left));
    assert_int_equal(left.re.offset, 42);
    assert_false(reorder_drain(&r, &left));
    reorder_destroy(&r);
    reorder_destroy(NULL);
}

static void
test_no_memory(void **state)
{
    struct reorder r;

    (void) state;
    alloc_fail_after(0);
    assert_false(reorder_init(&r, 8, 0));
    alloc_fail_after(-1);
    reorder_destroy(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_window), cmocka_unit_test(test_bound),
        cmocka_unit_test(test_seed),      cmocka_unit_test(test_drain_early),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
