/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/ranges.h"

#include <errno.h>

#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#define N 64 /* Positions in the model. */
#define NO_LIMIT SIZE_MAX

static uint64_t seed = 1;

/* Adds [start, end) to 'r' and checks that 'overlap' of it was there. */
static void
add(struct ranges *r, uint32_t start, uint32_t end, uint32_t overlap)
{
    struct range new = { start, end };
    struct ranges_span span = ranges_find(r, new);

    assert_int_equal(ranges_overlap(r, span, new), overlap);
    assert_int_equal(ranges_add(r, span, new, NO_LIMIT), 0);
}

/* Checks that 'r' has 'n' ranges, with the given starts and ends. */
static void
expect(const struct ranges *r, size_t n, const uint32_t *edges)
{
    assert_int_equal(r->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r->v[i].start, edges[2 * i]);
        assert_int_equal(r->v[i].end, edges[2 * i + 1]);
    }
}

#define EXPECT(R, ...)                                      \
    do {                                                    \
        static const uint32_t edges[] = { __VA_ARGS__ };    \
                                                            \
        expect(R, sizeof edges / sizeof *edges / 2, edges); \
    } while (0)

static void
test_in_order(void **state)
{
    struct ranges r;

    (void) state;
    ranges_init(&r);
    add(&r, 0, 10, 0);
    EXPECT(&r, 0, 10);
    add(&r, 10, 20, 0);
    EXPECT(&r, 0, 20);
    add(&r, 20, 21, 0);
    EXPECT(&r, 0, 21);
    ranges_destroy(&r);
}

static void
test_reversed(void **state)
{
    struct ranges r;

    (void) state;
    ranges_init(&r);
    add(&r, 20, 30, 0);
    add(&r, 10, 20, 0);
    add(&r, 0, 10, 0);
    EXPECT(&r, 0, 30);
    ranges_destroy(&r);
}

static void
test_apart_then_joined(void **state)
{
    struct ranges r;

    (void) state;
    ranges_init(&r);
    add(&r, 40, 50, 0);
    add(&r, 0, 10, 0);
    add(&r, 20, 30, 0);
    EXPECT(&r, 0, 10, 20, 30, 40, 50);
    add(&r, 30, 40, 0); /* Fills a gap exactly. */
    EXPECT(&r, 0, 10, 20, 50);
    add(&r, 12, 18, 0); /* Touches neither side. */
    EXPECT(&r, 0, 10, 12, 18, 20, 50);
    add(&r, 5, 45, 36); /* 5 + 6 + 25 were there. */
    EXPECT(&r, 0, 50);
    ranges_destroy(&r);
}

static void
test_overlaps(void **state)
{
    struct ranges r;

    (void) state;
    ranges_init(&r);
    add(&r, 10, 20, 0);
    add(&r, 10, 20, 10); /* The same. */
    add(&r, 12, 15, 3);  /* Inside. */
    EXPECT(&r, 10, 20);
    add(&r, 15, 25, 5); /* Off the end. */
    EXPECT(&r, 10, 25);
    add(&r, 5, 11, 1); /* Off the start. */
    EXPECT(&r, 5, 25);
    add(&r, 0, 30, 20); /* Around. */
    EXPECT(&r, 0, 30);
    ranges_destroy(&r);
}

static void
test_highest_positions(void **state)
{
    struct ranges r;

    (void) state;
    ranges_init(&r);
    add(&r, UINT32_MAX - 10, UINT32_MAX, 0);
    add(&r, 0, 1, 0);
    add(&r, 0, UINT32_MAX, 11);
    EXPECT(&r, 0, UINT32_MAX);
    ranges_destroy(&r);
}

/* What would be one range too many is refused and changes nothing, but ranges
 * can still grow and join. */
static void
test_limit(void **state)
{
    struct range new = { 40, 50 };
    struct ranges r;

    (void) state;
    ranges_init(&r);
    add(&r, 0, 10, 0);
    add(&r, 20, 30, 0);
    assert_int_equal(ranges_add(&r, ranges_find(&r, new), new, 2), ENOSPC);
    EXPECT(&r, 0, 10, 20, 30);

    new = (struct range){ 30, 50 };
    assert_int_equal(ranges_add(&r, ranges_find(&r, new), new, 2), 0);
    EXPECT(&r, 0, 10, 20, 50);
    new = (struct range){ 5, 25 };
    assert_int_equal(ranges_add(&r, ranges_find(&r, new), new, 2), 0);
    EXPECT(&r, 0, 50);
    ranges_destroy(&r);
}

static void
test_no_memory(void **state)
{
    struct range new = { 0, 1 };
    struct ranges r;

    (void) state;
    ranges_init(&r);
    alloc_fail_after(0);
    assert_int_equal(ranges_add(&r, ranges_find(&r, new), new, NO_LIMIT),
                     ENOMEM);
    assert_true(alloc_failed);
    assert_int_equal(r.n, 0);

    /* Four ranges need no more memory than one; the fifth does. */
    for (uint32_t i = 0; i < 4; i++) {
        add(&r, 10 * i, 10 * i + 1, 0);
    }
    new = (struct range){ 50, 51 };
    alloc_fail_after(0);
    assert_int_equal(ranges_add(&r, ranges_find(&r, new), new, NO_LIMIT),
                     ENOMEM);
    EXPECT(&r, 0, 1, 10, 11, 20, 21, 30, 31);
    alloc_fail_after(-1);
    assert_int_equal(ranges_add(&r, ranges_find(&r, new), new, NO_LIMIT), 0);
    assert_int_equal(r.n, 5);
    ranges_destroy(&r);
    ranges_destroy(NULL);
}

/* Checks that 'r' holds what 'model' holds, in order and never touching. */
static void
check_model(const struct ranges *r, const bool *model)
{
    bool seen[N] = { false };

    for (size_t i = 0; i < r->n; i++) {
        assert_true(r->v[i].start < r->v[i].end);
        assert_true(!i || r->v[i].start > r->v[i - 1].end);
        for (uint32_t p = r->v[i].start; p < r->v[i].end; p++) {
            seen[p] = true;
        }
    }
    assert_memory_equal(seen, model, sizeof seen);
}

/* Random ranges against an array of booleans. */
static void
test_model(void **state)
{
    (void) state;
    for (int round = 0; round < 500; round++) {
        bool model[N] = { false };
        struct ranges r;

        ranges_init(&r);
        for (int i = 0; i < 40; i++) {
            uint32_t start = unit_random_below(&seed, N);
            uint32_t size = 1 + unit_random_below(&seed, N - start);
            uint32_t end = start + (size < 9 ? size : 1 + size % 8);
            uint32_t overlap = 0;

            for (uint32_t p = start; p < end; p++) {
                overlap += model[p];
                model[p] = true;
            }
            add(&r, start, end, overlap);
            check_model(&r, model);
        }
        ranges_destroy(&r);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_reversed),
        cmocka_unit_test(test_apart_then_joined),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_highest_positions),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
