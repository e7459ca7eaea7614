/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/random-book.h"

#include <stdio.h>

#include "controller/core/chain.h"
#include "controller/core/mem.h"
#include "controller/core/token.h"
#include "tests/unit/unit.h"

#define N_INSTANCES 8

/* Returns a name of all kinds of characters, which the caller must free. */
static char *
random_name(uint64_t *seed)
{
    size_t n = unit_random_below(seed, 4)
                   ? unit_random_below(seed, 20)
                   : unit_random_below(seed, BOOK_NAME_MAX + 1);
    char *name = mem_zalloc(n + 1);

    for (size_t i = 0; i < n; i++) {
        name[i] = (char) (1 + unit_random_below(seed, 255));
    }
    return name;
}

static void
random_addr(uint64_t *seed, struct in6_addr *addr)
{
    uint64_t halves[2] = { unit_random(seed), unit_random(seed) };

    if (unit_random_below(seed, 2)) {
        halves[0] = 0;
        memcpy(&halves[1], "\0\0\xff\xff", 4);
    }
    memcpy(addr, halves, sizeof halves);
}

/* Returns a number with all its digits, or a short one. */
static double
random_factor(uint64_t *seed)
{
    return unit_random_below(seed, 2) ? (double) unit_random(seed) / 3e15
                                      : unit_random_below(seed, 3);
}

static uint32_t
add_token(uint64_t *seed, struct book *book, enum token_resource resource,
          uint64_t id)
{
    struct token_permission permissions[3] = {
        { resource, id, TOKEN_UPDATE },
        { TOKEN_ALL, 0, TOKEN_READ_ONLY },
        { TOKEN_LOAD_BALANCER, 3, TOKEN_RESERVE },
    };
    size_t parent = unit_random_below(seed, (unsigned int) book->tokens->n);
    struct token token = {
        .parent = token_tree_get(book->tokens, parent)->id,
        .name = random_name(seed),
        .created = (int64_t) (unit_random(seed) >> 1),
        .permissions = permissions,
        .n_permissions = 1 + unit_random_below(seed, 3),
    };
    uint32_t added;

    for (size_t i = 0; i < TOKEN_DIGEST_LEN; i++) {
        token.digest[i] = (uint8_t) unit_random(seed);
    }
    unit_assert_error(token_tree_add(book->tokens, &token, &added), NULL);
    free(token.name);
    return added;
}

static void
add_senders(uint64_t *seed, struct reservation *r)
{
    size_t n = unit_random_below(seed, 5);

    r->senders =
        realloc(r->senders, (r->n_senders + n + 1) * sizeof *r->senders);
    while (n--) {
        random_addr(seed, &r->senders[r->n_senders++]);
    }
}

/* Reserves an instance in 'book', unless the one that was chosen is
 * reserved. */
void
random_book_reserve(uint64_t *seed, struct book *book)
{
    uint16_t instance = (uint16_t) unit_random_below(seed, N_INSTANCES);
    struct reservation *r;

    if (book_find_reservation_of(book, instance)) {
        return;
    }
    r = mem_zalloc(sizeof *r);
    r->entry.n_refs = 1;
    r->entry.id = book->reservations.last + 1 + unit_random_below(seed, 3);
    r->instance = instance;
    r->name = random_name(seed);
    r->expires = (int64_t) (unit_random(seed) >> 1);
    r->family = (enum ip_family) unit_random_below(seed, 3);
    r->strategy = (enum strategy) unit_random_below(seed, 3);
    r->token = add_token(seed, book, TOKEN_RESERVATION, r->entry.id);
    add_senders(seed, r);
    book_put_reservation(book, r);
}

static void
demand(uint64_t *seed, struct session *s)
{
    free(s->demands);
    s->n_demands = unit_random_below(seed, 4);
    s->demands = mem_alloc(s->n_demands * sizeof *s->demands);
    for (size_t i = 0; i < s->n_demands; i++) {
        s->demands[i].index = unit_random_below(seed, 3)
                                  ? (int32_t) unit_random_below(seed, 512)
                                  : SLOT_RANGE_ANYWHERE;
        s->demands[i].length = unit_random_below(seed, 513);
    }
}

/* Registers a worker with 'reservation' of 'book'. */
void
random_book_register(uint64_t *seed, struct book *book, uint64_t reservation)
{
    struct session *s = mem_zalloc(sizeof *s);

    s->entry.n_refs = 1;
    s->entry.id = book->sessions.last + 1;
    s->reservation = reservation;
    s->member = (uint16_t) book->sessions.last; /* None twice, then. */
    s->name = random_name(seed);
    s->weight = random_factor(seed);
    random_addr(seed, &s->ip);
    s->bits = (uint8_t) unit_random_below(seed, 15);
    s->base =
        (uint16_t) (65536 - (1u << s->bits) - unit_random_below(seed, 40000));
    s->keep = unit_random_below(seed, 2);
    s->min_factor = random_factor(seed);
    s->max_factor = random_factor(seed);
    s->token = add_token(seed, book, TOKEN_SESSION, s->entry.id);
    s->registered = (int64_t) (unit_random(seed) >> 1);
    s->report = report_create(0);
    demand(seed, s);
    book_put_session(book, s);
}

/* Makes 'reservation' of 'book' somebody's worker. */
static void
chain(uint64_t *seed, struct book *book, uint64_t reservation)
{
    struct session worker = { .demands = NULL };
    struct chain *c = mem_zalloc(sizeof *c);

    demand(seed, &worker);
    c->entry.n_refs = 1;
    c->entry.id = book->chains.last + 1;
    c->reservation = reservation;
    c->name = random_name(seed);
    c->upstream = random_name(seed);
    c->secret = random_name(seed);
    c->family = (enum ip_family)(1 + unit_random_below(seed, 2));
    c->weight = random_factor(seed);
    c->min_factor = random_factor(seed);
    c->max_factor = random_factor(seed);
    c->demands = worker.demands;
    c->n_demands = worker.n_demands;
    c->n_sources = unit_random_below(seed, 3);
    for (size_t i = 0; i < c->n_sources; i++) {
        random_addr(seed, &c->sources[i]);
    }
    book_put_chain(book, c);
}

static void
change_reservation(uint64_t *seed, struct book *book,
                   const struct reservation *old)
{
    struct reservation *r;

    switch (unit_random_below(seed, 16)) {
    case 0:
        book_remove_reservation(book, old->entry.id);
        break;
    case 2:
        chain(seed, book, old->entry.id);
        break;
    case 3:
        book_remove_chain(book,
                          1 + unit_random(seed) % (book->chains.last + 1));
        break;
    case 1:
        r = reservation_clone(old);
        add_senders(seed, r);
        book_put_reservation(book, r);
        break;
    default:
        random_book_register(seed, book, old->entry.id);
        break;
    }
}

static void
change_session(uint64_t *seed, struct book *book, const struct session *old)
{
    struct session *s;

    if (!unit_random_below(seed, 3)) {
        book_remove_session(book, old->entry.id);
    } else {
        s = session_clone(old);
        demand(seed, s);
        book_put_session(book, s);
    }
}

/* Returns a copy of 'old' with up to four changes. */
struct book *
random_book_next(uint64_t *seed, const struct book *old)
{
    struct book *book = book_clone(old);

    for (unsigned int i = unit_random_below(seed, 5); i; i--) {
        size_t n_reservations = book->reservations.n;
        size_t n_sessions = book->sessions.n;
        unsigned int kind = unit_random_below(seed, 4);

        if (kind == 0) {
            random_book_reserve(seed, book);
        } else if (kind == 1) {
            token_tree_remove(
                book->tokens,
                2 + unit_random_below(seed, 2 * book->tokens->last));
        } else if (kind == 2 && n_sessions) {
            change_session(
                seed, book,
                book_get_session(book, unit_random(seed) % n_sessions));
        } else if (n_reservations) {
            change_reservation(seed, book,
                               book_get_reservation(
                                   book, unit_random(seed) % n_reservations));
        }
    }
    return book;
}
