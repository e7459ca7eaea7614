/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/chain.h"

#include "controller/core/mem.h"
#include "tests/unit/unit.h"

#define NOW 10000

static const struct control_settings settings = { .ready_on_register = false,
                                                  .silent = 2000,
                                                  .gone = 60000 };

/* Workers that reported at NOW; the tests change what. */
struct fixture {
    struct report reports[3];
    struct session sessions[3];
    const struct session *list[3];
};

static void
init(struct fixture *f)
{
    *f = (struct fixture){ .list = { NULL } };
    for (size_t i = 0; i < 3; i++) {
        f->reports[i] = (struct report){
            .received = NOW, .ready = true, .admitted = true, .weighted = true
        };
        f->sessions[i] =
            (struct session){ .weight = 1, .report = &f->reports[i] };
        f->list[i] = &f->sessions[i];
    }
}

static struct chain_report
sum_up(const struct fixture *f, size_t n)
{
    struct chain_report sum;

    chain_sum_up(f->list, n, &settings, NOW, &sum);
    return sum;
}

/* How full it is counts by share, the control signal by head. */
static void
test_means(void **state)
{
    struct chain_report sum;
    struct fixture f;

    (void) state;
    init(&f);
    f.reports[0].share = 3000;
    f.reports[0].fill = 0.25;
    f.reports[0].control = 2;
    f.reports[1].share = 1000;
    f.reports[1].fill = 0.75;
    f.reports[1].control = -1;
    sum = sum_up(&f, 2);
    assert_true(sum.ready);
    assert_true(sum.fill == 0.375);
    assert_true(sum.control == 0.5);
}

/* Those that are not ready, or silent, count for nothing but what they have
 * counted. */
static void
test_not_ready(void **state)
{
    struct chain_report sum;
    struct fixture f;

    (void) state;
    init(&f);
    for (size_t i = 0; i < 3; i++) {
        f.reports[i].share = 1000;
        f.reports[i].fill = 0.5 + 0.25 * (double) i;
        f.reports[i].control = 1;
        f.reports[i].events_received = 100;
    }
    f.reports[1].ready = false;
    f.reports[2].received = NOW - 2001;
    sum = sum_up(&f, 3);
    assert_true(sum.ready);
    assert_true(sum.fill == 0.5);
    assert_true(sum.control == 1);
    assert_int_equal(sum.events_received, 300);

    f.reports[0].ready = false;
    sum = sum_up(&f, 3);
    assert_false(sum.ready);
    assert_true(sum.fill == 0);
    assert_true(sum.control == 0);
    assert_int_equal(sum.events_received, 300);
}

static void
test_nobody(void **state)
{
    struct chain_report sum;
    struct fixture f;

    (void) state;
    init(&f);
    sum = sum_up(&f, 0);
    assert_false(sum.ready);
    assert_true(sum.fill == 0);

    /* Nor does one count whose share is 0, which divides by nothing. */
    f.reports[0].share = 0;
    f.reports[0].fill = 1;
    sum = sum_up(&f, 1);
    assert_true(sum.ready);
    assert_true(sum.fill == 0);
}

/* Before the control loop has given a share, the weight is one. */
static void
test_weights(void **state)
{
    struct chain_report sum;
    struct fixture f;

    (void) state;
    init(&f);
    f.reports[0].weighted = f.reports[1].weighted = false;
    f.sessions[0].weight = 3;
    f.reports[0].fill = 1;
    sum = sum_up(&f, 2);
    assert_true(sum.fill == 0.75);
}

/* Each counter is summed up, as far as numbers go. */
static void
test_counters(void **state)
{
    struct chain_report sum;
    struct fixture f;

    (void) state;
    init(&f);
    for (int64_t i = 0; i < 2; i++) {
        f.reports[i].events_received = 1 + i;
        f.reports[i].events_reassembled = 10 + i;
        f.reports[i].events_reassembly_errors = 20 + i;
        f.reports[i].events_dequeued = 30 + i;
        f.reports[i].event_enqueue_errors = 40 + i;
        f.reports[i].bytes_received = INT64_MAX - i;
        f.reports[i].packets_received = INT64_MIN + i;
    }
    sum = sum_up(&f, 2);
    assert_int_equal(sum.events_received, 3);
    assert_int_equal(sum.events_reassembled, 21);
    assert_int_equal(sum.events_reassembly_errors, 41);
    assert_int_equal(sum.events_dequeued, 61);
    assert_int_equal(sum.event_enqueue_errors, 81);
    assert_int_equal(sum.bytes_received, INT64_MAX);
    assert_int_equal(sum.packets_received, INT64_MIN);
}

/* Books. */

static void
put(struct book *book, uint64_t id, uint64_t reservation)
{
    struct slot_range demand = { 1, 2 };
    struct chain chain = { .entry = { .id = id },
                           .reservation = reservation,
                           .name = (char *) "name",
                           .upstream = (char *) "host:19523/7",
                           .secret = (char *) "secret",
                           .demands = &demand,
                           .n_demands = 1 };

    book_put_chain(book, chain_clone(&chain));
}

static void
reserve(struct book *book, uint64_t id)
{
    struct reservation r = { .entry = { .id = id },
                             .instance = (uint16_t) id,
                             .name = (char *) "" };

    book_put_reservation(book, reservation_clone(&r));
}

/* Chains go with their reservation, from one version of a book only; ids are not
 * given again. */
static void
test_book(void **state)
{
    struct book *book = book_create();
    const struct chain *kept;
    struct book *next;

    (void) state;
    reserve(book, 1);
    reserve(book, 2);
    put(book, 1, 1);
    put(book, 2, 2);
    put(book, 3, 1);
    next = book_clone(book);
    assert_ptr_equal(book_find_chain(next, 2), book_find_chain(book, 2));
    book_remove_reservation(next, 1);
    assert_int_equal(next->chains.n, 1);
    assert_int_equal(book_get_chain(next, 0)->entry.id, 2);
    assert_int_equal(next->chains.last, 3);
    assert_null(book_find_chain(next, 3));
    assert_int_equal(book->chains.n, 3);
    assert_string_equal(book_find_chain(book, 3)->upstream, "host:19523/7");

    kept = chain_ref(book_find_chain(next, 2));
    book_remove_chain(next, 2);
    book_remove_chain(next, 2);
    assert_int_equal(next->chains.n, 0);
    book_destroy(next);
    book_destroy(book);
    assert_int_equal(kept->demands[0].length, 2);
    chain_unref(kept);
    chain_unref(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),    cmocka_unit_test(test_not_ready),
        cmocka_unit_test(test_nobody),   cmocka_unit_test(test_weights),
        cmocka_unit_test(test_counters), cmocka_unit_test(test_book),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
