/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/book.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/chain.h"
#include "controller/core/mem.h"
#include "controller/core/token.h"

/* Reservations and sessions. */

/* Returns a copy of 'reservation' that may be changed, until it is put into a
 * book. */
struct reservation *
reservation_clone(const struct reservation *reservation)
{
    struct reservation *copy = mem_dup(reservation, sizeof *copy);

    copy->entry.n_refs = 1;
    copy->name = mem_strdup(reservation->name);
    copy->senders = mem_dup(reservation->senders,
                            reservation->n_senders * sizeof *copy->senders);
    return copy;
}

/* Gives up a reference to 'reservation_', which may be NULL. */
void
reservation_unref(const struct reservation *reservation_)
{
    struct reservation *reservation = (struct reservation *) reservation_;

    if (reservation && !--reservation->entry.n_refs) {
        free(reservation->name);
        free(reservation->senders);
        free(reservation);
    }
}

/* Returns a report of a worker that is registered at 'now', in monotonic ms,
 * and has told nothing yet. */
struct report *
report_create(int64_t now)
{
    struct report *report = mem_zalloc(sizeof *report);

    report->n_refs = 1;
    report->since = now;
    report->received = -1;
    return report;
}

static void
report_unref__(struct report *report)
{
    if (!--report->n_refs) {
        free(report);
    }
}

/* Returns a copy of 'session' that may be changed, until it is put into a book.
 * Both have the same report. */
struct session *
session_clone(const struct session *session)
{
    struct session *copy = mem_dup(session, sizeof *copy);

    copy->entry.n_refs = 1;
    copy->name = mem_strdup(session->name);
    copy->demands =
        mem_dup(session->demands, session->n_demands * sizeof *copy->demands);
    copy->report->n_refs++;
    return copy;
}

/* Gives up a reference to 'session_', which may be NULL. */
void
session_unref(const struct session *session_)
{
    struct session *session = (struct session *) session_;

    if (session && !--session->entry.n_refs) {
        free(session->name);
        free(session->demands);
        report_unref__(session->report);
        free(session);
    }
}

/* Lists. */

static void
list_clone__(struct book_list *copy, const struct book_list *list)
{
    *copy = *list;
    copy->entries =
        mem_dup(list->entries, list->n * sizeof(struct book_entry *));
    copy->allocated = list->n;
    for (size_t i = 0; i < list->n; i++) {
        list->entries[i]->n_refs++;
    }
}

/* Returns the index of the first entry whose id is not below 'id'. */
static size_t
list_seek__(const struct book_list *list, uint64_t id)
{
    size_t lo = 0;
    size_t hi = list->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (list->entries[mid]->id < id) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static struct book_entry *
list_find__(const struct book_list *list, uint64_t id)
{
    size_t i = list_seek__(list, id);

    return i < list->n && list->entries[i]->id == id ? list->entries[i] : NULL;
}

/* Takes the entry 'id' out of 'list' and returns it, or NULL. */
static struct book_entry *
list_remove__(struct book_list *list, uint64_t id)
{
    struct book_entry *found = list_find__(list, id);

    if (found) {
        size_t i = list_seek__(list, id);

        memmove(&list->entries[i], &list->entries[i + 1],
                (--list->n - i) * sizeof(struct book_entry *));
    }
    return found;
}

/* Puts 'entry' into 'list', and returns the one whose place it takes, or
 * NULL. */
static struct book_entry *
list_put__(struct book_list *list, struct book_entry *entry)
{
    struct book_entry *old = list_remove__(list, entry->id);
    size_t i = list_seek__(list, entry->id);

    if (list->n >= list->allocated) {
        list->entries = mem_grow(list->entries, &list->allocated,
                                 sizeof(struct book_entry *));
    }
    memmove(&list->entries[i + 1], &list->entries[i],
            (list->n++ - i) * sizeof(struct book_entry *));
    list->entries[i] = entry;
    if (entry->id > list->last) {
        list->last = entry->id;
    }
    return old;
}

/* Books. */

/* Returns a book without anything in it but the root token. */
struct book *
book_create(void)
{
    struct book *book = mem_zalloc(sizeof *book);

    book->tokens = token_tree_create();
    return book;
}

/* Returns a copy of 'book', which the caller must destroy. */
struct book *
book_clone(const struct book *book)
{
    struct book *copy = mem_alloc(sizeof *copy);

    copy->tokens = token_tree_clone(book->tokens);
    list_clone__(&copy->reservations, &book->reservations);
    list_clone__(&copy->sessions, &book->sessions);
    list_clone__(&copy->chains, &book->chains);
    return copy;
}

/* Destroys 'book', which may be NULL. */
void
book_destroy(struct book *book)
{
    if (!book) {
        return;
    }
    for (size_t i = 0; i < book->reservations.n; i++) {
        reservation_unref(book_get_reservation(book, i));
    }
    for (size_t i = 0; i < book->sessions.n; i++) {
        session_unref(book_get_session(book, i));
    }
    for (size_t i = 0; i < book->chains.n; i++) {
        chain_unref(book_get_chain(book, i));
    }
    token_tree_destroy(book->tokens);
    free(book->reservations.entries);
    free(book->sessions.entries);
    free(book->chains.entries);
    free(book);
}

/* Returns the reservation at 'index', which is below 'book->reservations.n'. */
const struct reservation *
book_get_reservation(const struct book *book, size_t index)
{
    return (const struct reservation *) book->reservations.entries[index];
}

/* Returns the session at 'index', which is below 'book->sessions.n'. */
const struct session *
book_get_session(const struct book *book, size_t index)
{
    return (const struct session *) book->sessions.entries[index];
}

/* Returns the chain at 'index', which is below 'book->chains.n'. */
const struct chain *
book_get_chain(const struct book *book, size_t index)
{
    return (const struct chain *) book->chains.entries[index];
}

/* Returns the reservation 'id', or NULL. */
const struct reservation *
book_find_reservation(const struct book *book, uint64_t id)
{
    return (const struct reservation *) list_find__(&book->reservations, id);
}

/* Returns the reservation of 'instance', or NULL if it is free. */
const struct reservation *
book_find_reservation_of(const struct book *book, uint16_t instance)
{
    for (size_t i = 0; i < book->reservations.n; i++) {
        const struct reservation *r = book_get_reservation(book, i);

        if (r->instance == instance) {
            return r;
        }
    }
    return NULL;
}

/* Returns the session 'id', or NULL. */
const struct session *
book_find_session(const struct book *book, uint64_t id)
{
    return (const struct session *) list_find__(&book->sessions, id);
}

/* Returns the session of 'reservation' that receives at the given address and
 * port, or NULL. */
const struct session *
book_find_worker(const struct book *book, uint64_t reservation,
                 const struct in6_addr *ip, uint16_t base)
{
    for (size_t i = 0; i < book->sessions.n; i++) {
        const struct session *s = book_get_session(book, i);

        if (s->reservation == reservation && s->base == base
            && addr_equal(&s->ip, ip)) {
            return s;
        }
    }
    return NULL;
}

/* Returns the sessions of 'reservation', by ascending id, and stores their
 * number in '*n'.  The caller must free the array; the sessions are the
 * book's. */
const struct session **
book_find_sessions(const struct book *book, uint64_t reservation, size_t *n)
{
    const struct session **sessions =
        mem_alloc(book->sessions.n * sizeof(const struct session *));

    *n = 0;
    for (size_t i = 0; i < book->sessions.n; i++) {
        const struct session *s = book_get_session(book, i);

        if (s->reservation == reservation) {
            sessions[(*n)++] = s;
        }
    }
    return sessions;
}

/* Returns the chain 'id', or NULL. */
const struct chain *
book_find_chain(const struct book *book, uint64_t id)
{
    return (const struct chain *) list_find__(&book->chains, id);
}

/* Puts 'reservation' into 'book', in the place of one with the same id. */
void
book_put_reservation(struct book *book, struct reservation *reservation)
{
    reservation_unref((const struct reservation *) list_put__(
        &book->reservations, &reservation->entry));
}

/* Puts 'session' into 'book', in the place of one with the same id. */
void
book_put_session(struct book *book, struct session *session)
{
    session_unref(
        (const struct session *) list_put__(&book->sessions, &session->entry));
}

/* Puts 'chain' into 'book', in the place of one with the same id. */
void
book_put_chain(struct book *book, struct chain *chain)
{
    chain_unref(
        (const struct chain *) list_put__(&book->chains, &chain->entry));
}

/* Removes the chain 'id', if it is there. */
void
book_remove_chain(struct book *book, uint64_t id)
{
    chain_unref((const struct chain *) list_remove__(&book->chains, id));
}

/* Removes the chains of the reservation 'id'. */
static void
remove_chains__(struct book *book, uint64_t id)
{
    for (size_t i = book->chains.n; i-- > 0;) {
        const struct chain *chain = book_get_chain(book, i);

        if (chain->reservation == id) {
            book_remove_chain(book, chain->entry.id);
        }
    }
}

/* Removes the session 'id' and its token, if it is there. */
void
book_remove_session(struct book *book, uint64_t id)
{
    const struct session *session =
        (const struct session *) list_remove__(&book->sessions, id);

    if (session) {
        token_tree_end(book->tokens, TOKEN_SESSION, &id, 1);
        session_unref(session);
    }
}

/* Removes the reservation 'id', its sessions, the tokens of all of them, and its
 * chains, if it is there. */
void
book_remove_reservation(struct book *book, uint64_t id)
{
    const struct reservation *reservation =
        (const struct reservation *) list_remove__(&book->reservations, id);
    const struct session **sessions;
    uint64_t *ids;
    size_t n;

    if (!reservation) {
        return;
    }
    sessions = book_find_sessions(book, id, &n);
    ids = mem_alloc(n * sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        ids[i] = sessions[i]->entry.id;
        session_unref(
            (const struct session *) list_remove__(&book->sessions, ids[i]));
    }
    remove_chains__(book, id);
    token_tree_end(book->tokens, TOKEN_SESSION, ids, n);
    token_tree_end(book->tokens, TOKEN_RESERVATION, &id, 1);
    free(ids);
    free(sessions);
    reservation_unref(reservation);
}

/* Words. */

static const char *const strategies[] = {
#define STRATEGY(STRATEGY, WORD) [STRATEGY_##STRATEGY] = (WORD),
    STRATEGIES
#undef STRATEGY
};

const char *
strategy_to_string(enum strategy strategy)
{
    return strategies[strategy];
}

/* Stores in '*strategy' what 'word' stands for; returns false if it is none. */
bool
strategy_from_string(const char *word, enum strategy *strategy)
{
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        if (!strcmp(word, strategies[i])) {
            *strategy = (enum strategy) i;
            return true;
        }
    }
    return false;
}
