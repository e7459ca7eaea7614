/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/book.h"

#include "controller/core/instance.h"
#include "controller/core/mem.h"
#include "controller/core/token.h"
#include "tests/unit/random-book.h"
#include "tests/unit/unit.h"

/* Puts a reservation of 'instance' into 'book', with a token of its own. */
static void
reserve(struct book *book, uint64_t id, uint16_t instance)
{
    struct token_permission permission = { TOKEN_RESERVATION, id,
                                           TOKEN_UPDATE };
    struct token token = { .parent = TOKEN_ROOT,
                           .name = (char *) "token",
                           .permissions = &permission,
                           .n_permissions = 1,
                           .digest = { 1, (uint8_t) id } };
    struct reservation *r = mem_zalloc(sizeof *r);

    r->entry = (struct book_entry){ 1, id };
    r->instance = instance;
    r->name = mem_strdup("a reservation");
    r->senders = mem_zalloc(sizeof *r->senders);
    r->n_senders = 1;
    unit_assert_error(token_tree_add(book->tokens, &token, &r->token), NULL);
    book_put_reservation(book, r);
}

/* Registers a worker in 'reservation', at 10.0.0.<id>. */
static void
enroll(struct book *book, uint64_t id, uint64_t reservation)
{
    struct token_permission permission = { TOKEN_SESSION, id, TOKEN_UPDATE };
    struct token token = { .parent =
                               book_find_reservation(book, reservation)->token,
                           .name = (char *) "token",
                           .permissions = &permission,
                           .n_permissions = 1,
                           .digest = { 2, (uint8_t) id } };
    struct session *s = mem_zalloc(sizeof *s);
    char *ip = mem_printf("10.0.0.%u", (unsigned int) id);

    s->entry = (struct book_entry){ 1, id };
    s->reservation = reservation;
    s->name = mem_strdup("a worker");
    assert_true(addr_from_string(ip, &s->ip));
    free(ip);
    s->base = 10000;
    s->demands = mem_zalloc(sizeof *s->demands);
    s->n_demands = 1;
    s->report = report_create(5);
    unit_assert_error(token_tree_add(book->tokens, &token, &s->token), NULL);
    book_put_session(book, s);
}

/* Reservation 3 of instance 0 with workers 4 and 9, and 5 of instance 1 with
 * worker 7. */
static struct book *
make_book(void)
{
    struct book *book = book_create();

    reserve(book, 5, 1);
    reserve(book, 3, 0);
    enroll(book, 9, 3);
    enroll(book, 7, 5);
    enroll(book, 4, 3);
    return book;
}

static void
test_find(void **state)
{
    struct book *book = make_book();
    const struct session **sessions;
    struct in6_addr ip;
    size_t n;

    (void) state;
    assert_int_equal(book->reservations.n, 2);
    assert_int_equal(book_get_reservation(book, 0)->entry.id, 3);
    assert_int_equal(book_get_reservation(book, 1)->entry.id, 5);
    assert_int_equal(book_find_reservation(book, 5)->instance, 1);
    assert_null(book_find_reservation(book, 4));
    assert_null(book_find_reservation(book, 6));
    assert_int_equal(book_find_reservation_of(book, 0)->entry.id, 3);
    assert_null(book_find_reservation_of(book, 2));

    assert_int_equal(book->sessions.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct session *s = book_get_session(book, i);

        assert_ptr_equal(book_find_session(book, s->entry.id), s);
        assert_true(i == 0
                    || s->entry.id > book_get_session(book, i - 1)->entry.id);
    }
    assert_null(book_find_session(book, 5));

    sessions = book_find_sessions(book, 3, &n);
    assert_int_equal(n, 2);
    assert_int_equal(sessions[0]->entry.id, 4);
    assert_int_equal(sessions[1]->entry.id, 9);
    free(sessions);
    sessions = book_find_sessions(book, 4, &n);
    assert_int_equal(n, 0);
    free(sessions);

    assert_true(addr_from_string("10.0.0.9", &ip));
    assert_int_equal(book_find_worker(book, 3, &ip, 10000)->entry.id, 9);
    assert_null(book_find_worker(book, 3, &ip, 10001));
    assert_null(book_find_worker(book, 5, &ip, 10000));
    book_destroy(book);
}

/* What happens to a clone does not happen to what it was made from, and the
 * other way round. */
static void
test_clone(void **state)
{
    struct book *book = make_book();
    struct book *copy = book_clone(book);
    const struct session *s = book_find_session(book, 7);

    (void) state;
    assert_ptr_equal(book_find_session(copy, 7), s);
    assert_int_equal(s->entry.n_refs, 2);
    book_remove_reservation(copy, 5);
    assert_int_equal(copy->reservations.n, 1);
    assert_int_equal(copy->sessions.n, 2);
    assert_int_equal(copy->tokens->n, 4);
    enroll(copy, 11, 3);
    book_remove_session(book, 4);

    assert_int_equal(book->reservations.n, 2);
    assert_int_equal(book->sessions.n, 2);
    assert_int_equal(book->tokens->n, 5);
    assert_ptr_equal(book_find_session(book, 7), s);
    assert_int_equal(s->entry.n_refs, 1);
    assert_null(book_find_session(book, 11));
    assert_non_null(book_find_session(copy, 4));
    book_destroy(book);
    assert_int_equal(book_find_session(copy, 4)->base, 10000);
    book_destroy(copy);
}

/* A session that takes the place of another has its report. */
static void
test_put_session(void **state)
{
    struct book *book = make_book();
    struct book *copy = book_clone(book);
    const struct session *old = book_find_session(book, 7);
    struct session *new = session_clone(old);

    (void) state;
    assert_ptr_equal(new->report, old->report);
    assert_int_equal(old->report->n_refs, 2);
    new->weight = 5;
    new->demands[0].length = 77;
    book_put_session(copy, new);
    assert_int_equal(copy->sessions.n, 3);
    assert_ptr_equal(book_find_session(copy, 7), new);
    assert_ptr_equal(book_find_session(book, 7), old);
    assert_int_equal(old->demands[0].length, 0);
    assert_true(old->weight < 5);

    /* Whoever reports reports to both. */
    book_find_session(book, 7)->report->fill = .5;
    assert_true(book_find_session(copy, 7)->report->fill > .4);
    assert_int_equal(new->report->since, 5);
    assert_int_equal(new->report->received, -1);
    book_destroy(book);
    assert_int_equal(new->report->n_refs, 1);
    book_destroy(copy);
}

static void
test_put_reservation(void **state)
{
    struct book *book = make_book();
    struct book *copy = book_clone(book);
    const struct reservation *old = book_find_reservation(book, 3);
    struct reservation *new = reservation_clone(old);

    (void) state;
    new->strategy = STRATEGY_STATIC;
    memset(&new->senders[0], 255, sizeof new->senders[0]);
    book_put_reservation(copy, new);
    assert_int_equal(copy->reservations.n, 2);
    assert_ptr_equal(book_find_reservation(copy, 3), new);
    assert_int_equal(book_find_reservation(book, 3)->strategy,
                     STRATEGY_DYNAMIC);
    assert_false(addr_equal(&old->senders[0], &new->senders[0]));
    assert_string_equal(new->name, "a reservation");
    book_destroy(copy);
    book_destroy(book);
}

/* With a session goes its token, and with a reservation all that it has. */
static void
test_remove(void **state)
{
    struct book *book = make_book();
    uint32_t token = book_find_session(book, 4)->token;
    uint32_t other = book_find_session(book, 7)->token;

    (void) state;
    assert_int_equal(book->tokens->n, 6);
    book_remove_session(book, 4);
    assert_null(book_find_session(book, 4));
    assert_null(token_tree_find(book->tokens, token));
    assert_int_equal(book->tokens->n, 5);
    book_remove_session(book, 4);
    book_remove_session(book, 1000);
    assert_int_equal(book->sessions.n, 2);

    book_remove_reservation(book, 3);
    book_remove_reservation(book, 3);
    assert_int_equal(book->reservations.n, 1);
    assert_int_equal(book->sessions.n, 1);
    assert_int_equal(book->tokens->n, 3);
    assert_non_null(token_tree_find(book->tokens, other));

    /* Ids are not given again. */
    assert_int_equal(book->reservations.last, 5);
    assert_int_equal(book->sessions.last, 9);
    book_destroy(book);
}

/* Checks that entries are sorted, that none is there twice, and that each
 * session is in a reservation. */
static void
check_book(const struct book *book)
{
    for (size_t i = 0; i < book->reservations.n; i++) {
        const struct reservation *r = book_get_reservation(book, i);

        assert_true(r->entry.id <= book->reservations.last);
        assert_ptr_equal(book_find_reservation(book, r->entry.id), r);
        assert_ptr_equal(book_find_reservation_of(book, r->instance), r);
    }
    for (size_t i = 0; i < book->sessions.n; i++) {
        const struct session *s = book_get_session(book, i);

        assert_true(s->entry.id <= book->sessions.last);
        assert_ptr_equal(book_find_session(book, s->entry.id), s);
        assert_non_null(book_find_reservation(book, s->reservation));
    }
}

/* A history of versions, of which any may go before any other. */
static void
test_random(void **state)
{
    uint64_t seed = 4711;
    struct book *versions[8] = { NULL };

    (void) state;
    versions[0] = book_create();
    for (int i = 0; i < 2000; i++) {
        unsigned int from = unit_random_below(&seed, 8);
        unsigned int to = unit_random_below(&seed, 8);

        if (versions[from] && from != to) {
            book_destroy(versions[to]);
            versions[to] = random_book_next(&seed, versions[from]);
            check_book(versions[from]);
            check_book(versions[to]);
        }
    }
    for (int i = 0; i < 8; i++) {
        book_destroy(versions[i]);
    }
}

static void
test_strategies(void **state)
{
    static const char *const words[] = { "dynamic", "static", "explicit" };
    enum strategy strategy;

    (void) state;
    for (int i = 0; i < 3; i++) {
        assert_string_equal(strategy_to_string((enum strategy) i), words[i]);
        assert_true(strategy_from_string(words[i], &strategy));
        assert_int_equal(strategy, i);
    }
    assert_false(strategy_from_string("", &strategy));
    assert_false(strategy_from_string("Dynamic", &strategy));
    assert_false(strategy_from_string("dynamic ", &strategy));
}

/* Reloads. */

/* Fills 'state' with instances 0 and 1, both with both families. */
static void
make_state(struct state *s)
{
    state_init(s);
    s->n_instances = 2;
    s->instances = mem_zalloc(2 * sizeof *s->instances);
    for (uint16_t i = 0; i < 2; i++) {
        struct instance *instance = &s->instances[i];

        epochs_init(&instance->epochs);
        instance->name = mem_printf("name%u", (unsigned int) i);
        instance->id = i;
        instance->line = 10 + i;
        instance->reservable = true;
        instance->n_addresses = 2;
        instance->addresses = mem_zalloc(2 * sizeof *instance->addresses);
        assert_true(addr_from_string("192.0.2.1", &instance->addresses[0]));
        assert_true(addr_from_string("2001:db8::1", &instance->addresses[1]));
    }
}

/* Checks that the reload from 'old' to 'new' is refused with 'words', on
 * 'line'; or that it is not if 'words' is NULL. */
static void
check_reload(const struct book *book, const struct state *old,
             const struct state *new, const char *words, int line)
{
    int found = -1;
    char *error = book_check_successor(book, old, new, &found);

    unit_assert_error(error, words);
    if (words) {
        assert_int_equal(found, line);
    }
}

static void
test_reload_reservable(void **state)
{
    struct book *book = book_create();
    struct state old, new;

    (void) state;
    make_state(&old);
    make_state(&new);
    reserve(book, 3, 1);
    check_reload(book, &old, &new, NULL, 0);
    new.instances[0].reservable = false;
    check_reload(book, &old, &new, NULL, 0);
    new.instances[1].reservable = false;
    check_reload(book, &old, &new,
                 "instance 1 has reservation 3 (\"a reservation\")", 11);
    new.instances[1].id = 2;
    check_reload(book, &old, &new, "must stay", 0);
    book_remove_reservation(book, 3);
    check_reload(book, &old, &new, NULL, 0);
    state_destroy(&old);
    state_destroy(&new);
    book_destroy(book);
}

static void
set_family(struct book *book, enum ip_family family)
{
    struct reservation *r = reservation_clone(book_find_reservation(book, 3));

    r->family = family;
    book_put_reservation(book, r);
}

static void
test_reload_family(void **state)
{
    struct book *book = book_create();
    struct state old, new;

    (void) state;
    make_state(&old);
    make_state(&new);
    reserve(book, 3, 1);
    new.instances[1].n_addresses = 1;
    check_reload(book, &old, &new, "name1 has reservation 3", 11);
    check_reload(book, &old, &new, "must keep an IPv6 address", 11);
    check_reload(book, &new, &new, NULL, 0); /* It never had one. */
    set_family(book, IP_FAMILY_IPV4);
    check_reload(book, &old, &new, NULL, 0);
    set_family(book, IP_FAMILY_IPV6);
    check_reload(book, &old, &new, "must keep an IPv6 address", 11);
    new.instances[1].addresses[0] = new.instances[1].addresses[1];
    check_reload(book, &old, &new, NULL, 0);
    set_family(book, IP_FAMILY_DUAL);
    check_reload(book, &old, &new, "must keep an IPv4 address", 11);
    state_destroy(&old);
    state_destroy(&new);
    book_destroy(book);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_clone),
        cmocka_unit_test(test_put_session),
        cmocka_unit_test(test_put_reservation),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_reload_reservable),
        cmocka_unit_test(test_reload_family),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
