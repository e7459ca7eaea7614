/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_BOOK_H
#define EVLB_BOOK_H 1

/* The book: who may do what, who has reserved which instance, and which
 * workers are registered there.
 *
 *     instance 1 <--- reservation 7 <-+- session 12 (a worker)  = member 3
 *                     token 4         |  token 6
 *                     senders         `- session 15 (a worker)  = member 4
 *                                        token 9
 *
 * A book is changed as everything in service is: it is cloned, the clone is
 * changed, stored, and takes the place of the other.  Cloning is cheap, because
 * reservations and sessions never change and are shared by counting
 * references; to change one, put another with the same id in its place.
 *
 * What a worker reports, many times a second, is not part of that: a struct
 * report changes in place, is not stored, and is shared by all versions of its
 * session.
 *
 * Ids are not used again, tokens' neither. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/addr.h"
#include "controller/core/slots.h"

struct state;
struct chain;
struct token_tree;

#define BOOK_NAME_MAX 253
#define BOOK_SENDERS_MAX 4096 /* Of a reservation. */

/* No more workers than slots can have some. */
#define BOOK_WORKERS_MAX 512 /* Of a reservation. */

/* Numbers as in the control API. */
enum ip_family {
    IP_FAMILY_DUAL = 0,
    IP_FAMILY_IPV4 = 1,
    IP_FAMILY_IPV6 = 2
};

/* How slots are distributed: see core/control.h. */
#define STRATEGIES               \
    STRATEGY(DYNAMIC, "dynamic") \
    STRATEGY(STATIC, "static")   \
    STRATEGY(EXPLICIT, "explicit")

enum strategy {
#define STRATEGY(STRATEGY, WORD) STRATEGY_##STRATEGY,
    STRATEGIES
#undef STRATEGY
};

/* How each entry of a book begins. */
struct book_entry {
    unsigned int n_refs;
    uint64_t id; /* Not 0. */
};

/* Entries of one kind, by ascending id. */
struct book_list {
    struct book_entry **entries;
    size_t n;
    size_t allocated;
    uint64_t last; /* The greatest id that was ever given. */
};

struct reservation {
    struct book_entry entry;
    uint16_t instance;
    char *name;
    int64_t expires; /* In ms since 1970. */
    enum ip_family family;
    enum strategy strategy;
    uint32_t token;
    struct in6_addr *senders; /* As they were added. */
    size_t n_senders;
};

/* What a worker told at last, and what became of it. */
struct report {
    unsigned int n_refs;

    int64_t since;    /* Since when it is registered, in ms, monotonic. */
    int64_t received; /* When it came, likewise; or -1 if none has yet. */
    int64_t wall;     /* The same in ms since 1970. */
    bool ready;
    double fill;    /* 0...1 */
    double control; /* Added to the weight. */

    /* As it counts them. */
    int64_t events_received;
    int64_t events_reassembled;
    int64_t events_reassembly_errors;
    int64_t events_dequeued;
    int64_t event_enqueue_errors;
    int64_t bytes_received;
    int64_t packets_received;

    /* The control loop's. */
    bool news;     /* Has one come since the last period? */
    bool admitted; /* Was its station found once? */
    bool served;   /* Was the newest calendar made for it, too? */
    bool weighted; /* Is 'share' set? */
    double share;  /* Its weight, on an average of 1000. */
};

struct session {
    struct book_entry entry;
    uint64_t reservation; /* Its id. */
    uint16_t member;      /* Its id in the data plane. */
    char *name;
    double weight; /* At the beginning. */
    struct in6_addr ip;
    uint16_t base; /* First UDP port. */
    uint8_t bits;  /* It receives on 2^bits ports. */
    bool keep;     /* Leave the load-balancer header? */
    double min_factor;
    double max_factor; /* 0 for none. */
    struct slot_range *demands;
    size_t n_demands;
    uint32_t token;
    int64_t registered; /* In ms since 1970. */
    struct report *report;
};

struct book {
    struct token_tree *tokens;
    struct book_list reservations;
    struct book_list sessions;
    struct book_list chains; /* See core/chain.h. */
};

struct book *book_create(void);
struct book *book_clone(const struct book *);
void book_destroy(struct book *);

struct reservation *reservation_clone(const struct reservation *);
void reservation_unref(const struct reservation *);
struct session *session_clone(const struct session *);
void session_unref(const struct session *);
struct report *report_create(int64_t now);

/* The book takes over the reference. */
void book_put_reservation(struct book *, struct reservation *);
void book_put_session(struct book *, struct session *);
void book_put_chain(struct book *, struct chain *);
void book_remove_session(struct book *, uint64_t id);
void book_remove_chain(struct book *, uint64_t id);
void book_remove_reservation(struct book *, uint64_t id);

const struct reservation *
book_get_reservation(const struct book *, size_t index);
const struct session *book_get_session(const struct book *, size_t index);
const struct chain *book_get_chain(const struct book *, size_t index);
const struct reservation *
book_find_reservation(const struct book *, uint64_t id);
const struct reservation *
book_find_reservation_of(const struct book *, uint16_t instance);
const struct session *book_find_session(const struct book *, uint64_t id);
const struct session *
book_find_worker(const struct book *, uint64_t reservation,
                 const struct in6_addr *ip, uint16_t base);
const struct session **
book_find_sessions(const struct book *, uint64_t reservation, size_t *n);

const struct chain *book_find_chain(const struct book *, uint64_t id);

char *book_check_successor(const struct book *, const struct state *old,
                           const struct state *new, int *line);

const char *strategy_to_string(enum strategy);
bool strategy_from_string(const char *, enum strategy *);

#endif /* book.h */
