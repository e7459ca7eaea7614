/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/book-record.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar.h"
#include "controller/core/chain.h"
#include "controller/core/instance.h"
#include "controller/core/mem.h"
#include "controller/core/token.h"
#include "controller/store/chain-record.h"
#include "controller/store/demand-record.h"
#include "controller/store/record-text.h"
#include "controller/store/store.h"

#define BOOK_KEY "book"

/* Reservations. */

static void
format_reservation__(FILE *stream, const void *reservation)
{
    const struct reservation *r = reservation;

    fprintf(stream, "instance %" PRIu16 "\n", r->instance);
    record_write_text(stream, "name", r->name);
    fprintf(stream, "expires %" PRId64 "\n", r->expires);
    fprintf(stream, "family %d\n", (int) r->family);
    fprintf(stream, "strategy %s\n", strategy_to_string(r->strategy));
    fprintf(stream, "token %" PRIu32 "\n", r->token);
    for (size_t i = 0; i < r->n_senders; i++) {
        record_write_addr(stream, "sender", &r->senders[i]);
    }
}

static enum strategy
read_strategy__(struct record_reader *r)
{
    enum strategy strategy = STRATEGY_DYNAMIC;
    const char *word;

    record_reader_field(r, "strategy");
    word = record_reader_word(r);
    if (!strategy_from_string(word, &strategy)) {
        record_reader_fail(r, "\"%s\" is no strategy", word);
    }
    return strategy;
}

static uint64_t
read_uint__(struct record_reader *r, const char *field, uint64_t max)
{
    record_reader_field(r, field);
    return record_reader_uint(r, max);
}

static char *
read_text__(struct record_reader *r, const char *field, size_t max)
{
    record_reader_field(r, field);
    return record_reader_text(r, max);
}

static void
read_senders__(struct record_reader *reader, struct reservation *r)
{
    size_t allocated = 0;

    while (record_reader_more(reader, "sender")) {
        if (r->n_senders >= BOOK_SENDERS_MAX) {
            record_reader_fail(reader, "is one of more than %d",
                               BOOK_SENDERS_MAX);
            return;
        }
        if (r->n_senders >= allocated) {
            r->senders = mem_grow(r->senders, &allocated, sizeof *r->senders);
        }
        record_reader_addr(reader, &r->senders[r->n_senders++]);
    }
}

static char *
parse_reservation__(struct book *book, int64_t now, uint64_t id,
                    struct record_reader *reader)
{
    struct reservation *r = mem_zalloc(sizeof *r);
    char *error;

    (void) now;
    r->entry.n_refs = 1;
    r->entry.id = id;
    r->instance = (uint16_t) read_uint__(reader, "instance", INSTANCE_ID_MAX);
    r->name = read_text__(reader, "name", BOOK_NAME_MAX);
    r->expires = (int64_t) read_uint__(reader, "expires", INT64_MAX);
    r->family = (enum ip_family) read_uint__(reader, "family", IP_FAMILY_IPV6);
    r->strategy = read_strategy__(reader);
    r->token = (uint32_t) read_uint__(reader, "token", UINT32_MAX);
    read_senders__(reader, r);
    error = record_reader_finish(reader);
    if (error) {
        reservation_unref(r);
    } else {
        book_put_reservation(book, r);
    }
    return error;
}

/* Sessions. */

static void
format_session__(FILE *stream, const void *session)
{
    const struct session *s = session;

    fprintf(stream, "reservation %" PRIu64 "\n", s->reservation);
    fprintf(stream, "member %" PRIu16 "\n", s->member);
    record_write_text(stream, "name", s->name);
    fprintf(stream, "weight %.17g\n", s->weight);
    record_write_addr(stream, "ip", &s->ip);
    fprintf(stream, "ports %" PRIu16 " %" PRIu8 "\n", s->base, s->bits);
    fprintf(stream, "keep %d\n", s->keep);
    fprintf(stream, "factors %.17g %.17g\n", s->min_factor, s->max_factor);
    fprintf(stream, "token %" PRIu32 "\n", s->token);
    fprintf(stream, "registered %" PRId64 "\n", s->registered);
    demand_record_format(stream, s->demands, s->n_demands);
}

/* Reads where 's' receives. */
static void
read_place__(struct record_reader *reader, struct session *s)
{
    record_reader_field(reader, "ip");
    record_reader_addr(reader, &s->ip);
    record_reader_field(reader, "ports");
    s->base = (uint16_t) record_reader_uint(reader, UINT16_MAX);
    s->bits = (uint8_t) record_reader_uint(reader, MEMBER_BITS_MAX);
    if (s->base + (1u << s->bits) > UINT16_MAX + 1u) {
        record_reader_fail(reader, "exceed 65535");
    }
    s->keep = read_uint__(reader, "keep", 1);
}

static char *
parse_session__(struct book *book, int64_t now, uint64_t id,
                struct record_reader *reader)
{
    struct session *s = mem_zalloc(sizeof *s);
    char *error;

    s->entry.n_refs = 1;
    s->entry.id = id;
    s->report = report_create(now);
    s->reservation = read_uint__(reader, "reservation", UINT64_MAX);
    s->member =
        (uint16_t) read_uint__(reader, "member", CALENDAR_NO_MEMBER - 1);
    s->name = read_text__(reader, "name", BOOK_NAME_MAX);
    record_reader_field(reader, "weight");
    s->weight = record_reader_factor(reader, DBL_MAX);
    read_place__(reader, s);
    record_reader_field(reader, "factors");
    s->min_factor = record_reader_factor(reader, DBL_MAX);
    s->max_factor = record_reader_factor(reader, DBL_MAX);
    s->token = (uint32_t) read_uint__(reader, "token", UINT32_MAX);
    s->registered = (int64_t) read_uint__(reader, "registered", INT64_MAX);
    s->demands = demand_record_parse(reader, &s->n_demands);
    error = record_reader_finish(reader);
    if (error) {
        session_unref(s);
    } else {
        book_put_session(book, s);
    }
    return error;
}

/* Tokens. */

static const char *const resources[] = {
    [TOKEN_ALL] = "all",
    [TOKEN_LOAD_BALANCER] = "instance",
    [TOKEN_RESERVATION] = "reservation",
    [TOKEN_SESSION] = "session",
};

static const char *const rights[] = {
    [TOKEN_READ_ONLY] = "read",
    [TOKEN_REGISTER] = "register",
    [TOKEN_RESERVE] = "reserve",
    [TOKEN_UPDATE] = "update",
};

static void
format_token__(FILE *stream, const void *token)
{
    const struct token *t = token;

    fprintf(stream, "parent %" PRIu32 "\n", t->parent);
    record_write_text(stream, "name", t->name);
    fprintf(stream, "created %" PRId64 "\n", t->created);
    fputs("digest ", stream);
    for (size_t i = 0; i < TOKEN_DIGEST_LEN; i++) {
        fprintf(stream, "%02x", t->digest[i]);
    }
    putc('\n', stream);
    for (size_t i = 0; i < t->n_permissions; i++) {
        const struct token_permission *p = &t->permissions[i];

        fprintf(stream, "permission %s %" PRIu64 " %s\n",
                resources[p->resource], p->id, rights[p->right]);
    }
}

static void
read_digest__(struct record_reader *reader, uint8_t digest[TOKEN_DIGEST_LEN])
{
    const char *word;

    record_reader_field(reader, "digest");
    word = record_reader_word(reader);
    if (strlen(word) != 2 * TOKEN_DIGEST_LEN
        || strspn(word, "0123456789abcdef") != 2 * TOKEN_DIGEST_LEN) {
        record_reader_fail(reader, "\"%s\" is no SHA-256 digest", word);
        return;
    }
    for (size_t i = 0; i < TOKEN_DIGEST_LEN; i++) {
        char digits[3] = { word[2 * i], word[2 * i + 1], '\0' };

        digest[i] = (uint8_t) strtoul(digits, NULL, 16);
    }
}

/* Returns the index of the next word among the four 'words'. */
static unsigned int
read_choice__(struct record_reader *reader, const char *const words[4])
{
    const char *word = record_reader_word(reader);

    for (unsigned int i = 0; i < 4; i++) {
        if (!strcmp(word, words[i])) {
            return i;
        }
    }
    record_reader_fail(reader, "\"%s\" is none that evlbd knows", word);
    return 0;
}

static void
read_permissions__(struct record_reader *reader, struct token *t)
{
    size_t allocated = 0;

    while (record_reader_more(reader, "permission")) {
        struct token_permission *p;

        if (t->n_permissions >= TOKEN_PERMISSIONS_MAX) {
            record_reader_fail(reader, "is one of more than %d",
                               TOKEN_PERMISSIONS_MAX);
            return;
        }
        if (t->n_permissions >= allocated) {
            t->permissions =
                mem_grow(t->permissions, &allocated, sizeof *t->permissions);
        }
        p = &t->permissions[t->n_permissions++];
        p->resource = (enum token_resource) read_choice__(reader, resources);
        p->id = record_reader_uint(reader, UINT64_MAX);
        p->right = (enum token_right) read_choice__(reader, rights);
    }
}

static char *
parse_token__(struct book *book, int64_t now, uint64_t id,
              struct record_reader *reader)
{
    struct token t = { .id = (uint32_t) id };
    char *error;
    uint32_t added;

    (void) now;
    t.parent = (uint32_t) read_uint__(reader, "parent", UINT32_MAX);
    t.name = read_text__(reader, "name", TOKEN_NAME_MAX);
    t.created = (int64_t) read_uint__(reader, "created", INT64_MAX);
    read_digest__(reader, t.digest);
    read_permissions__(reader, &t);
    error = record_reader_finish(reader);
    if (!error) {
        char *reason = token_tree_add(book->tokens, &t, &added);

        error =
            reason ? mem_printf("record %s: %s", reader->key, reason) : NULL;
        free(reason);
    }
    free(t.name);
    free(t.permissions);
    return error;
}

/* Kinds of records. */

struct item {
    uint64_t id; /* 0 behind the last one. */
    const void *p;
};

static struct item
get_entry__(const struct book_list *list, size_t i)
{
    return i < list->n
               ? (struct item){ list->entries[i]->id, list->entries[i] }
               : (struct item){ .id = 0 };
}

static struct item
get_reservation__(const struct book *book, size_t i)
{
    return get_entry__(&book->reservations, i);
}

static struct item
get_session__(const struct book *book, size_t i)
{
    return get_entry__(&book->sessions, i);
}

/* The root comes first, and is left out. */
static struct item
get_token__(const struct book *book, size_t i)
{
    const struct token *token =
        i + 1 < book->tokens->n ? token_tree_get(book->tokens, i + 1) : NULL;

    return token ? (struct item){ token->id, token }
                 : (struct item){ .id = 0 };
}

static struct item
get_chain__(const struct book *book, size_t index)
{
    const struct chain *chain =
        index < book->chains.n ? book_get_chain(book, index) : NULL;

    return chain ? (struct item){ book->chains.entries[index]->id, chain }
                 : (struct item){ .id = 0 };
}

static char *
parse_chain__(struct book *book, int64_t now, uint64_t id,
              struct record_reader *reader)
{
    (void) now;
    return chain_record_parse(book, id, reader);
}

static const struct kind {
    const char *prefix;
    uint64_t min; /* Of ids. */
    uint64_t max;
    struct item (*get)(const struct book *, size_t index);
    void (*format)(FILE *, const void *);
    char *(*parse)(struct book *, int64_t now, uint64_t id,
                   struct record_reader *);
} kinds[] = {
    { "reservation/", 1, UINT64_MAX, get_reservation__, format_reservation__,
      parse_reservation__ },
    { "session/", 1, UINT64_MAX, get_session__, format_session__,
      parse_session__ },
    { "token/", TOKEN_ROOT + 1, UINT32_MAX, get_token__, format_token__,
      parse_token__ },
    { "chain/", 1, UINT64_MAX, get_chain__, chain_record_format,
      parse_chain__ },
};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* Writing. */

static void
format_ids__(FILE *stream, const void *book_)
{
    const struct book *book = book_;

    fprintf(stream,
            "reservations %" PRIu64 "\nsessions %" PRIu64 "\ntokens %" PRIu32
            "\n",
            book->reservations.last, book->sessions.last, book->tokens->last);
    if (book->chains.last) {
        fprintf(stream, "chains %" PRIu64 "\n", book->chains.last);
    }
}

static void
put__(struct store_txn *txn, const char *key,
      void (*format)(FILE *, const void *), const void *p)
{
    char *value;
    size_t size;
    FILE *stream = open_memstream(&value, &size);

    if (!stream) {
        abort();
    }
    format(stream, p);
    fclose(stream);
    store_txn_put(txn, key, value);
    free(value);
}

static void
put_item__(struct store_txn *txn, const struct kind *kind, uint64_t id,
           const void *p)
{
    char *key = mem_printf("%s%" PRIu64, kind->prefix, id);

    if (p) {
        put__(txn, key, kind->format, p);
    } else {
        store_txn_delete(txn, key);
    }
    free(key);
}

/* Entries do not change, so those that are the same in both books are at the
 * same place. */
static void
put_changes__(struct store_txn *txn, const struct kind *kind,
              const struct book *old, const struct book *new)
{
    size_t i = 0;
    size_t j = 0;

    for (;;) {
        struct item a = kind->get(old, i);
        struct item b = kind->get(new, j);

        if (!a.id && !b.id) {
            return;
        } else if (b.id && (!a.id || b.id < a.id)) {
            put_item__(txn, kind, b.id, b.p);
            j++;
        } else if (!b.id || a.id < b.id) {
            put_item__(txn, kind, a.id, NULL);
            i++;
        } else {
            if (a.p != b.p) {
                put_item__(txn, kind, b.id, b.p);
            }
            i++;
            j++;
        }
    }
}

/* Adds to 'txn' what makes records that say what 'old' does say what 'new'
 * does. */
void
book_record_put_changes(struct store_txn *txn, const struct book *old,
                        const struct book *new)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        put_changes__(txn, &kinds[i], old, new);
    }
    if (old->reservations.last != new->reservations.last
        || old->sessions.last != new->sessions.last
        || old->tokens->last != new->tokens->last
        || old->chains.last != new->chains.last) {
        put__(txn, BOOK_KEY, format_ids__, new);
    }
}

/* Reading. */

static const struct kind *
find_kind__(const char *key)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (!strncmp(key, kinds[i].prefix, strlen(kinds[i].prefix))) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Returns the id in 'key', which is one of 'kind', or 0 if there is none. */
static uint64_t
parse_id__(const struct kind *kind, const char *key)
{
    uint64_t id = strtoull(key + strlen(kind->prefix), NULL, 10);
    char *again = mem_printf("%s%" PRIu64, kind->prefix, id);
    bool ok = !strcmp(key, again) && id >= kind->min && id <= kind->max;

    free(again);
    return ok ? id : 0;
}

static uint64_t
max_u64__(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static char *
parse_ids__(struct book *book, struct record_reader *reader)
{
    uint64_t reservations = read_uint__(reader, "reservations", UINT64_MAX);
    uint64_t sessions = read_uint__(reader, "sessions", UINT64_MAX);
    uint64_t tokens = read_uint__(reader, "tokens", UINT32_MAX);
    uint64_t chains = (record_reader_more(reader, "chains")
                           ? record_reader_uint(reader, UINT64_MAX)
                           : 0);
    char *error = record_reader_finish(reader);

    if (!error) {
        book->reservations.last =
            max_u64__(book->reservations.last, reservations);
        book->sessions.last = max_u64__(book->sessions.last, sessions);
        book->tokens->last = (uint32_t) max_u64__(book->tokens->last, tokens);
        book->chains.last = max_u64__(book->chains.last, chains);
    }
    return error;
}

/* Puts into 'book' what the record of 'key' and 'value' says, as of 'now',
 * monotonic, in ms.  Tokens have to come by ascending id, and the ids that were
 * given after them.  Returns NULL, or an error, which the caller must free, and
 * then 'book' is as before. */
char *
book_record_parse(struct book *book, int64_t now, const char *key,
                  const char *value)
{
    const struct kind *kind = find_kind__(key);
    uint64_t id = kind ? parse_id__(kind, key) : 0;
    struct record_reader reader;

    if (kind ? !id : strcmp(key, BOOK_KEY) != 0) {
        return mem_printf("record \"%s\" is none of evlbd's", key);
    }
    record_reader_init(&reader, key, value);
    return kind ? kind->parse(book, now, id, &reader)
                : parse_ids__(book, &reader);
}

/* Returns what contradicts 'session' in 'book', or NULL. */
static char *
check_session__(const struct book *book, size_t index)
{
    const struct session *session = book_get_session(book, index);

    if (!book_find_reservation(book, session->reservation)) {
        return mem_printf("record session/%" PRIu64
                          ": reservation: there is no reservation %" PRIu64,
                          session->entry.id, session->reservation);
    }
    for (size_t i = 0; i < index; i++) {
        const struct session *other = book_get_session(book, i);

        if (other->reservation == session->reservation
            && other->member == session->member) {
            return mem_printf("record session/%" PRIu64 ": member: %" PRIu16
                              " is that of session %" PRIu64,
                              session->entry.id, session->member,
                              other->entry.id);
        }
    }
    return NULL;
}

/* Returns what contradicts the reservation at 'index' in 'book', or NULL. */
static char *
check_reservation__(const struct book *book, size_t index)
{
    const struct reservation *r = book_get_reservation(book, index);

    return book_find_reservation_of(book, r->instance) == r
               ? NULL
               : mem_printf("record reservation/%" PRIu64
                            ": instance: %" PRIu16
                            " is reserved by another one",
                            r->entry.id, r->instance);
}

/* Returns what contradicts the chain at 'index' in 'book', or NULL. */
static char *
check_chain__(const struct book *book, size_t index)
{
    const struct chain *chain = book_get_chain(book, index);

    return book_find_reservation(book, chain->reservation)
               ? NULL
               : mem_printf("record chain/%" PRIu64
                            ": reservation: there is no reservation %" PRIu64,
                            chain->entry.id, chain->reservation);
}

/* Checks that all that is in 'book' can be true at once.  Returns NULL or an
 * error, which the caller must free. */
char *
book_record_check(const struct book *book)
{
    char *error = NULL;

    for (size_t i = 0; !error && i < book->reservations.n; i++) {
        error = check_reservation__(book, i);
    }
    for (size_t i = 0; !error && i < book->sessions.n; i++) {
        error = check_session__(book, i);
    }
    for (size_t i = 0; !error && i < book->chains.n; i++) {
        error = check_chain__(book, i);
    }
    return error;
}

struct loading {
    struct book *book;
    int64_t now;
};

static char *
load_cb__(void *loading_, const char *key, const char *value)
{
    const struct loading *loading = loading_;

    return book_record_parse(loading->book, loading->now, key, value);
}

/* Makes a book of the records in 'store', as of 'now', monotonic, in ms.
 * Returns NULL and stores it in '*bookp', or returns an error, which the caller
 * must free. */
char *
book_record_load(struct store *store, int64_t now, struct book **bookp)
{
    struct loading loading = { book_create(), now };
    char *error = NULL;

    for (size_t i = 0; !error && i < N_KINDS; i++) {
        error = store_load(store, kinds[i].prefix, load_cb__, &loading);
    }
    error = error ? error : store_load(store, BOOK_KEY, load_cb__, &loading);
    error = error ? error : book_record_check(loading.book);
    if (error) {
        book_destroy(loading.book);
        loading.book = NULL;
    }
    *bookp = loading.book;
    return error;
}
