/* SPDX-License-Identifier: Apache-2.0 */

/* The book in a real store: what is read is what was written, a change writes
 * what it changed and no more, and no text that somebody put there does any
 * harm. */

#include "controller/store/book-record.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "controller/core/chain.h"
#include "controller/core/mem.h"
#include "controller/core/token.h"
#include "controller/store/store.h"
#include "tests/unit/random-book.h"
#include "tests/unit/unit.h"

#define NOW 77

struct fixture {
    char directory[32];
    char *file;
    struct event_base *base;
    struct store *store;
};

static void
setup(struct fixture *f)
{
    memcpy(f->directory, "/tmp/test-book-XXXXXX", 22);
    assert_non_null(mkdtemp(f->directory));
    f->file = mem_printf("%s/evlb.db", f->directory);
    f->base = event_base_new();
    unit_assert_error(store_open(f->base, f->file, &f->store), NULL);
}

static void
reopen(struct fixture *f)
{
    store_close(f->store);
    unit_assert_error(store_open(f->base, f->file, &f->store), NULL);
}

static void
teardown(struct fixture *f)
{
    store_close(f->store);
    event_base_free(f->base);
    unlink(f->file);
    assert_int_equal(rmdir(f->directory), 0);
    free(f->file);
}

static void
done_cb(void *aux, const char *error)
{
    (void) aux;
    assert_null(error);
}

static void
store_changes(struct fixture *f, const struct book *old,
              const struct book *new)
{
    struct store_txn *txn = store_txn_create();

    book_record_put_changes(txn, old, new);
    store_commit(f->store, txn, done_cb, NULL);
}

static void
assert_same_tokens(const struct token_tree *a, const struct token_tree *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->last, b->last);
    for (size_t i = 1; i < a->n; i++) {
        const struct token *s = token_tree_get(a, i);
        const struct token *t = token_tree_get(b, i);

        assert_int_equal(s->id, t->id);
        assert_int_equal(s->parent, t->parent);
        assert_int_equal(s->created, t->created);
        assert_string_equal(s->name, t->name);
        assert_memory_equal(s->digest, t->digest, sizeof s->digest);
        assert_int_equal(s->n_permissions, t->n_permissions);
        for (size_t j = 0; j < s->n_permissions; j++) {
            assert_int_equal(s->permissions[j].resource,
                             t->permissions[j].resource);
            assert_int_equal(s->permissions[j].id, t->permissions[j].id);
            assert_int_equal(s->permissions[j].right, t->permissions[j].right);
        }
    }
}

static void
assert_same_reservation(const struct reservation *a,
                        const struct reservation *b)
{
    assert_int_equal(a->entry.id, b->entry.id);
    assert_int_equal(a->instance, b->instance);
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->expires, b->expires);
    assert_int_equal(a->family, b->family);
    assert_int_equal(a->strategy, b->strategy);
    assert_int_equal(a->token, b->token);
    assert_int_equal(a->n_senders, b->n_senders);
    if (a->n_senders) {
        assert_memory_equal(a->senders, b->senders,
                            a->n_senders * sizeof *a->senders);
    }
}

static void
assert_same_session(const struct session *a, const struct session *b)
{
    assert_int_equal(a->entry.id, b->entry.id);
    assert_int_equal(a->reservation, b->reservation);
    assert_int_equal(a->member, b->member);
    assert_string_equal(a->name, b->name);
    assert_memory_equal(&a->weight, &b->weight, sizeof a->weight);
    assert_true(addr_equal(&a->ip, &b->ip));
    assert_int_equal(a->base, b->base);
    assert_int_equal(a->bits, b->bits);
    assert_int_equal(a->keep, b->keep);
    assert_memory_equal(&a->min_factor, &b->min_factor, sizeof a->min_factor);
    assert_memory_equal(&a->max_factor, &b->max_factor, sizeof a->max_factor);
    assert_int_equal(a->token, b->token);
    assert_int_equal(a->registered, b->registered);
    assert_int_equal(a->n_demands, b->n_demands);
    for (size_t i = 0; i < a->n_demands; i++) {
        assert_int_equal(a->demands[i].index, b->demands[i].index);
        assert_int_equal(a->demands[i].length, b->demands[i].length);
    }
}

static void
assert_same_chain(const struct chain *a, const struct chain *b)
{
    assert_int_equal(a->entry.id, b->entry.id);
    assert_int_equal(a->reservation, b->reservation);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->upstream, b->upstream);
    assert_string_equal(a->secret, b->secret);
    assert_int_equal(a->family, b->family);
    assert_memory_equal(&a->weight, &b->weight, sizeof a->weight);
    assert_memory_equal(&a->min_factor, &b->min_factor, sizeof a->min_factor);
    assert_memory_equal(&a->max_factor, &b->max_factor, sizeof a->max_factor);
    assert_int_equal(a->n_sources, b->n_sources);
    assert_memory_equal(a->sources, b->sources, sizeof a->sources);
    assert_int_equal(a->n_demands, b->n_demands);
    for (size_t i = 0; i < a->n_demands; i++) {
        assert_int_equal(a->demands[i].index, b->demands[i].index);
        assert_int_equal(a->demands[i].length, b->demands[i].length);
    }
}

static void
assert_same_book(const struct book *a, const struct book *b)
{
    assert_same_tokens(a->tokens, b->tokens);
    assert_int_equal(a->reservations.n, b->reservations.n);
    assert_int_equal(a->reservations.last, b->reservations.last);
    for (size_t i = 0; i < a->reservations.n; i++) {
        assert_same_reservation(book_get_reservation(a, i),
                                book_get_reservation(b, i));
    }
    assert_int_equal(a->sessions.n, b->sessions.n);
    assert_int_equal(a->sessions.last, b->sessions.last);
    for (size_t i = 0; i < a->sessions.n; i++) {
        assert_same_session(book_get_session(a, i), book_get_session(b, i));
        assert_int_equal(book_get_session(b, i)->report->since, NOW);
        assert_int_equal(book_get_session(b, i)->report->received, -1);
    }
    assert_int_equal(a->chains.n, b->chains.n);
    assert_int_equal(a->chains.last, b->chains.last);
    for (size_t i = 0; i < a->chains.n; i++) {
        assert_same_chain(book_get_chain(a, i), book_get_chain(b, i));
    }
}

/* Whatever happens to a book, the records say the same. */
static void
test_random_lives(void **state)
{
    size_t most = 0;
    size_t most_chains = 0;
    uint64_t seed = 7;

    (void) state;
    for (int life = 0; life < 20; life++) {
        struct book *book = book_create();
        struct fixture f;

        setup(&f);
        for (int i = 0; i < 100; i++) {
            struct book *next = random_book_next(&seed, book);

            store_changes(&f, book, next);
            book_destroy(book);
            book = next;
            most = book->sessions.n > most ? book->sessions.n : most;
            most_chains =
                (book->chains.n > most_chains ? book->chains.n : most_chains);
            if (i % 20 == 19) {
                struct book *read;

                reopen(&f);
                unit_assert_error(book_record_load(f.store, NOW, &read), NULL);
                assert_same_book(book, read);
                book_destroy(read);
            }
        }
        book_destroy(book);
        teardown(&f);
    }
    assert_true(most > 10);
    assert_true(most_chains > 2);
}

/* A registration writes its two records and the ids, in a book of any size. */
static void
test_small_changes(void **state)
{
    struct book *book = book_create();
    struct store_txn *txn = store_txn_create();
    struct book *next;
    uint64_t seed = 3;
    uint64_t id;

    (void) state;
    while (!book->reservations.n) {
        random_book_reserve(&seed, book);
    }
    id = book_get_reservation(book, 0)->entry.id;
    for (int i = 0; i < 1000; i++) {
        random_book_register(&seed, book, id);
    }
    next = book_clone(book);
    book_record_put_changes(txn, book, next);
    assert_int_equal(store_txn_count(txn), 0);

    random_book_register(&seed, next, id);
    book_record_put_changes(txn, book, next);
    assert_int_equal(store_txn_count(txn), 3);
    store_txn_destroy(txn);

    /* And the way back, for a change that was stored and is not wanted. */
    txn = store_txn_create();
    book_record_put_changes(txn, next, book);
    assert_int_equal(store_txn_count(txn), 3);
    store_txn_destroy(txn);
    book_destroy(next);
    book_destroy(book);
}

/* Ids of what is gone are not given again after a restart, either. */
static void
test_ids(void **state)
{
    struct book *book = book_create();
    struct book *empty = book_create();
    struct book *read;
    struct fixture f;
    uint64_t seed = 4;
    uint64_t id;

    (void) state;
    setup(&f);
    random_book_reserve(&seed, book);
    id = book->reservations.last;
    random_book_register(&seed, book, id);
    store_changes(&f, empty, book);
    book_destroy(empty);
    empty = book_clone(book);
    book_remove_reservation(empty, id);
    token_tree_remove(empty->tokens, 2);
    token_tree_remove(empty->tokens, 3);
    store_changes(&f, book, empty);
    reopen(&f);
    unit_assert_error(book_record_load(f.store, NOW, &read), NULL);
    assert_int_equal(read->reservations.n, 0);
    assert_int_equal(read->reservations.last, id);
    assert_int_equal(read->sessions.last, 1);
    assert_int_equal(read->tokens->n, 1);
    assert_int_equal(read->tokens->last, 3);
    book_destroy(read);
    book_destroy(empty);
    book_destroy(book);
    teardown(&f);
}

/* Records with mistakes. */

#define RESERVATION                                               \
    "instance 1\nname lb\nexpires 9\nfamily 0\nstrategy static\n" \
    "token 2\nsender 10.0.0.1\nsender 2001:db8::1\n"
#define SESSION_END                                             \
    "name cn 1\nweight 1\nip 10.0.0.7\nports 20000 2\nkeep 0\n" \
    "factors 0.5 2\ntoken 3\nregistered 9\ndemand 0 4\n"        \
    "demand any 1\n"
#define SESSION "reservation 7\nmember 3\n" SESSION_END
#define CHAIN                                                           \
    "reservation 7\nname n\nupstream u\nsecret s\nfamily 1\nweight 1\n" \
    "factors 0 0\nsource ::1\nsource ::2\ndemand any 5\n"
#define DIGEST "00112233445566778899aabbccddeeff"
#define TOKEN                                            \
    "parent 1\nname t\ncreated 9\ndigest " DIGEST DIGEST \
    "\npermission reservation 7 update\n"
#define IDS "reservations 7\nsessions 12\ntokens 2\n"

/* Reads 'value' with the first 'old' in it replaced by 'new'. */
static void
check_mistake(const char *key, const char *value, const char *old,
              const char *new, const char *expected)
{
    const char *at = strstr(value, old);
    struct book *book = book_create();
    char *changed;

    assert_non_null(at);
    changed = mem_printf("%.*s%s%s", (int) (at - value), value, new,
                         at + strlen(old));
    unit_assert_error(book_record_parse(book, NOW, key, changed), expected);
    assert_int_equal(book->reservations.n + book->sessions.n + book->tokens->n,
                     expected || !strcmp(key, "book") ? 1 : 2);
    free(changed);
    book_destroy(book);
}

static void
test_keys(void **state)
{
    (void) state;
    check_mistake("reservation/7", RESERVATION, "", "", NULL);
    check_mistake("reservation/", RESERVATION, "", "", "is none of evlbd's");
    check_mistake("reservation/0", RESERVATION, "", "", "is none of evlbd's");
    check_mistake("reservation/07", RESERVATION, "", "", "none of evlbd's");
    check_mistake("reservation/-7", RESERVATION, "", "", "none of evlbd's");
    check_mistake("reservation/7x", RESERVATION, "", "", "none of evlbd's");
    check_mistake("reservation/18446744073709551616", RESERVATION, "", "",
                  "is none of evlbd's");
    check_mistake("session/12", SESSION, "", "", NULL);
    check_mistake("token/2", TOKEN, "", "", NULL);
    check_mistake("token/1", TOKEN, "", "", "is none of evlbd's");
    check_mistake("token/4294967296", TOKEN, "", "", "is none of evlbd's");
    check_mistake("book", IDS, "", "", NULL);
    check_mistake("books", IDS, "", "", "is none of evlbd's");
    check_mistake("", IDS, "", "", "is none of evlbd's");
}

static void
test_reservation_mistakes(void **state)
{
    static const char *const mistakes[][3] = {
        { "instance 1\n", "", "line 1: instance: is missing" },
        { "e 1", "e 222", "line 1: instance: \"222\" is no number from 0 to" },
        { "e 1", "e", "line 1: instance: \"\" is no number from 0 to 221" },
        { "e 1", "e -1", "instance: \"-1\" is no number" },
        { "e 1", "e 1 2", "instance: has more words than evlbd writes" },
        { "e 1", "e 1 ", "instance: has more words than evlbd writes" },
        { "e 1", "  1", "line 1: instance: is missing" },
        { "name lb\n", "", "line 2: name: is missing" },
        { "name lb", "name", "line 2: name: has no text" },
        { "lb", "a%4", "name: has a % that no two digits follow" },
        { "lb", "%", "name: has a % that no two digits follow" },
        { "lb", "%00", "name: has a % that no two digits follow" },
        { "lb", "%AA", "name: has a % that no two digits follow" },
        { "s 9", "s 9223372036854775808", "line 3: expires: \"92" },
        { "family 0", "family 3", "family: \"3\" is no number from 0 to 2" },
        { "static", "chaotic", "strategy: \"chaotic\" is no strategy" },
        { "token 2", "token 4294967296", "line 6: token: \"4294967296\" is" },
        { "10.0.0.1", "10.0.0", "line 7: sender: \"10.0.0\" is no IPv4" },
        { "sender 2", "sender 2 2", "line 8: sender: \"2\" is no IPv4" },
        { "::1\n", "::1", "line 8: sender: the line does not end" },
        { "::1\n", "::1\n\n", "line 9: : is not what evlbd writes there" },
        { "::1\n", "::1\nx y\n", "line 9: x: is not what evlbd writes" },
        { RESERVATION, "", "line 1: instance: is missing" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        check_mistake("reservation/7", RESERVATION, mistakes[i][0],
                      mistakes[i][1], mistakes[i][2]);
    }
    check_mistake("reservation/7", RESERVATION, "lb", "%25%0a%ff", NULL);
}

static void
test_session_mistakes(void **state)
{
    static const char *const mistakes[][3] = {
        { "member 3", "member 65535", "line 2: member: \"65535\" is no num" },
        { "weight 1", "weight -1", "weight: \"-1\" is no number from 0 to" },
        { "weight 1", "weight nan", "weight: \"nan\" is no number" },
        { "weight 1", "weight 1e999", "weight: \"1e999\" is no number" },
        { "weight 1", "weight 1x", "weight: \"1x\" is no number" },
        { "20000 2", "20000 15", "ports: \"15\" is no number from 0 to 14" },
        { "20000 2", "65533 2", "line 6: ports: exceed 65535" },
        { "keep 0", "keep 2", "keep: \"2\" is no number from 0 to 1" },
        { "0.5 2", "0.5", "factors: \"\" is no number" },
        { "0.5 2", "0.5 2 3", "factors: has more words" },
        { "demand 0", "demand 512", "demand: \"512\" is no number" },
        { "demand 0", "demand -1", "demand: \"-1\" is no number" },
        { "any 1", "any", "line 12: demand: \"\" is no number" },
        { "any 1", "anyone 1", "demand: \"anyone\" is no number" },
        { "any 1", "any 513", "demand: \"513\" is no number from 0 to 512" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        check_mistake("session/12", SESSION, mistakes[i][0], mistakes[i][1],
                      mistakes[i][2]);
    }
    check_mistake("session/12", SESSION, "20000 2", "65532 2", NULL);
}

static void
test_chain_mistakes(void **state)
{
    static const char *const mistakes[][3] = {
        { "reservation 7\n", "",
          "record chain/3, line 1: reservation: is mis" },
        { "upstream u", "upstream", "line 3: upstream: has no text" },
        { "family 1", "family 3", "family: \"3\" is no number from 0 to 2" },
        { "weight 1", "weight", "weight: \"\" is no number" },
        { "::2\n", "::2\nsource ::3\n", "source: is one of more than 2" },
        { "any 5", "5", "line 10: demand: \"\" is no number" },
        { "any 5\n", "any 5\nsource ::1\n", "line 11: source: is not what" },
    };
    struct book *book = book_create();

    (void) state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        check_mistake("chain/3", CHAIN, mistakes[i][0], mistakes[i][1],
                      mistakes[i][2]);
    }
    unit_assert_error(book_record_parse(book, NOW, "chain/3", CHAIN), NULL);
    unit_assert_error(book_record_check(book), "record chain/3: ");
    unit_assert_error(
        book_record_parse(book, NOW, "reservation/7", RESERVATION), NULL);
    unit_assert_error(book_record_check(book), NULL);
    book_destroy(book);
}

static void
test_token_mistakes(void **state)
{
    static const char *const mistakes[][3] = {
        { "parent 1", "parent 2", "record token/2: there is no token 2" },
        { "parent 1", "parent 0", "record token/2: there is no token 0" },
        { "ff\n", "f\n", "line 4: digest: \"0011" },
        { "ff\n", "fF\n", "fF\" is no SHA-256 digest" },
        { "n 7 update", "n 7 own", "permission: \"own\" is none that evlbd" },
        { "reservation 7", "world 7", "permission: \"world\" is none that" },
        { "7 update", "7", "permission: \"\" is none that evlbd knows" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        check_mistake("token/2", TOKEN, mistakes[i][0], mistakes[i][1],
                      mistakes[i][2]);
    }
    check_mistake("book", IDS, "tokens 2\n", "", "line 3: tokens: is missing");
    check_mistake("book", IDS, "s 12", "s x", "sessions: \"x\" is no number");
}

/* Reads 'value' with 'n' lines 'line' behind it. */
static void
check_many(const char *key, const char *value, const char *line, size_t n,
           const char *expected)
{
    size_t size;
    char *many;
    FILE *stream = open_memstream(&many, &size);

    assert_non_null(stream);
    fputs(value, stream);
    while (n--) {
        fputs(line, stream);
    }
    fclose(stream);
    check_mistake(key, many, "", "", expected);
    free(many);
}

static void
test_too_many(void **state)
{
    char name[TOKEN_NAME_MAX + 2];

    (void) state;
    check_many("reservation/7", RESERVATION, "sender ::1\n",
               BOOK_SENDERS_MAX - 2, NULL);
    check_many("reservation/7", RESERVATION, "sender ::1\n",
               BOOK_SENDERS_MAX - 1, "sender: is one of more than 4096");
    check_many("session/12", SESSION, "demand any 1\n", 510, NULL);
    check_many("session/12", SESSION, "demand any 1\n", 511,
               "demand: is one of more than 512");
    check_many("token/2", TOKEN, "permission all 0 read\n",
               TOKEN_PERMISSIONS_MAX - 1, NULL);
    check_many("token/2", TOKEN, "permission all 0 read\n",
               TOKEN_PERMISSIONS_MAX, "permission: is one of more than 64");

    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    check_mistake("token/2", TOKEN, "name t", name + 1, "name: is missing");
    memcpy(name, "name ", 5);
    check_mistake("token/2", TOKEN, "name t", name, NULL);
    check_many("token/2", "parent 1\nname ", "xx", 127,
               "name: the line does not end");
}

/* Records that are fine each, but not together. */
static void
test_contradictions(void **state)
{
    struct book *book = book_create();

    (void) state;
    unit_assert_error(
        book_record_parse(book, NOW, "reservation/7", RESERVATION), NULL);
    unit_assert_error(book_record_check(book), NULL);
    unit_assert_error(book_record_parse(book, NOW, "session/12", SESSION),
                      NULL);
    unit_assert_error(book_record_check(book), NULL);
    unit_assert_error(book_record_parse(book, NOW, "session/14", SESSION),
                      NULL);
    unit_assert_error(book_record_check(book),
                      "session/14: member: 3 is that of session 12");
    book_remove_session(book, 14);
    unit_assert_error(book_record_parse(book, NOW, "session/15",
                                        "reservation 8\nmember "
                                        "3\n" SESSION_END),
                      NULL);
    unit_assert_error(book_record_check(book),
                      "session/15: reservation: there is no reservation 8");
    unit_assert_error(
        book_record_parse(book, NOW, "reservation/8", RESERVATION), NULL);
    unit_assert_error(book_record_check(book),
                      "reservation/8: instance: 1 is reserved by another");
    book_destroy(book);
}

/* A store with a mistake is no book, and the error says where it is. */
static void
test_load_refused(void **state)
{
    struct store_txn *txn = store_txn_create();
    struct book *book;
    struct fixture f;

    (void) state;
    setup(&f);
    store_txn_put(txn, "reservation/7", RESERVATION);
    store_txn_put(txn, "session/12", "reservation 7\n");
    store_commit(f.store, txn, done_cb, NULL);
    reopen(&f);
    unit_assert_error(
        book_record_load(f.store, NOW, &book),
        "evlb.db: record session/12, line 2: member: is missing");
    assert_null(book);
    teardown(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lives),
        cmocka_unit_test(test_small_changes),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_reservation_mistakes),
        cmocka_unit_test(test_session_mistakes),
        cmocka_unit_test(test_token_mistakes),
        cmocka_unit_test(test_chain_mistakes),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_load_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
