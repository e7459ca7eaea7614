/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/prefix.h"

#include "tests/unit/unit.h"

/* Checks that 'list' covers exactly [begin, end), in order and without
 * overlap, with aligned prefixes of which no two neighbours make one. */
static void
check_cover(uint64_t begin, uint64_t end, const struct prefix_list *list)
{
    uint64_t next = begin;

    for (size_t i = 0; i < list->n; i++) {
        const struct prefix *p = &list->prefixes[i];

        assert_true(p->len <= 64);
        assert_int_equal(p->value & ~prefix_mask(p->len), 0);
        assert_int_equal(p->value, next);
        assert_true(prefix_contains(p, p->value));
        assert_true(prefix_contains(p, p->value | ~prefix_mask(p->len)));
        assert_false(p->len && prefix_contains(p, p->value - 1));
        if (i && list->prefixes[i - 1].len == p->len) {
            uint64_t parent = prefix_mask(p->len - 1);

            assert_int_not_equal(list->prefixes[i - 1].value & parent,
                                 p->value & parent);
        }
        next = p->value + ~prefix_mask(p->len) + 1;
    }
    assert_int_equal(next, end);
}

static void
check_n(uint64_t begin, uint64_t end, size_t n)
{
    struct prefix_list list;

    prefix_list_from_range(begin, end, &list);
    assert_int_equal(list.n, n);
    if (n) {
        check_cover(begin, end, &list);
    }
}

static void
test_edges(void **state)
{
    (void) state;
    check_n(0, 0, 1);                        /* Everything. */
    check_n(0, 1, 1);                        /* The first tick. */
    check_n(UINT64_MAX, 0, 1);               /* The last tick. */
    check_n(UINT64_C(1) << 63, 0, 1);        /* The upper half. */
    check_n(0, UINT64_C(1) << 63, 1);        /* The lower half. */
    check_n(0, UINT64_MAX, 64);              /* All but the last. */
    check_n(1, 0, 64);                       /* All but the first. */
    check_n(1, UINT64_MAX, PREFIX_LIST_MAX); /* The worst case. */
    check_n(7, 7, 0);                        /* Empty. */
    check_n(8, 7, 0);                        /* Upside down. */
}

static void
test_known(void **state)
{
    struct prefix_list list;

    (void) state;
    /* [5, 16) = 5, 6-7, 8-15. */
    prefix_list_from_range(5, 16, &list);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.prefixes[0].value, 5);
    assert_int_equal(list.prefixes[0].len, 64);
    assert_int_equal(list.prefixes[1].value, 6);
    assert_int_equal(list.prefixes[1].len, 63);
    assert_int_equal(list.prefixes[2].value, 8);
    assert_int_equal(list.prefixes[2].len, 61);
}

static void
test_mask(void **state)
{
    (void) state;
    assert_int_equal(prefix_mask(0), 0);
    assert_int_equal(prefix_mask(1), UINT64_C(1) << 63);
    assert_int_equal(prefix_mask(64), UINT64_MAX);
}

/* Returns the length of the shortest list of aligned blocks for [begin, end)
 * within 64 ticks, by trying all of them. */
static unsigned int
shortest(unsigned int begin, unsigned int end, unsigned int memo[65][65])
{
    unsigned int best = UINT32_MAX;

    if (begin >= end) {
        return 0;
    }
    if (memo[begin][end]) {
        return memo[begin][end];
    }
    for (unsigned int size = 1; begin % size == 0 && begin + size <= end;
         size *= 2) {
        unsigned int n = 1 + shortest(begin + size, end, memo);

        best = n < best ? n : best;
    }
    memo[begin][end] = best;
    return best;
}

static void
test_minimal(void **state)
{
    static unsigned int memo[65][65];

    (void) state;
    for (unsigned int begin = 0; begin < 64; begin++) {
        for (unsigned int end = begin + 1; end <= 64; end++) {
            check_n(begin, end, shortest(begin, end, memo));
        }
    }
}

static void
test_random(void **state)
{
    uint64_t seed = 1;

    (void) state;
    for (int i = 0; i < 20000; i++) {
        uint64_t begin = unit_random(&seed) >> (unit_random(&seed) & 63);
        uint64_t end = unit_random(&seed) >> (unit_random(&seed) & 63);
        struct prefix_list list;

        if (begin > end) {
            uint64_t tmp = begin;

            begin = end;
            end = tmp;
        }
        if (begin < end) {
            prefix_list_from_range(begin, end, &list);
            assert_true(list.n <= PREFIX_LIST_MAX);
            check_cover(begin, end, &list);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),  cmocka_unit_test(test_known),
        cmocka_unit_test(test_mask),   cmocka_unit_test(test_minimal),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
