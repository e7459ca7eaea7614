/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_STORE_H
#define EVLB_STORE_H 1

/* What survives a restart: records, each a text under a key.
 *
 *     event loop --- transactions ---> queue ---> writer thread ---> SQLite
 *                <------ done --------------------'
 *
 * A transaction is all done or not at all.  Its call back comes from the event
 * loop, once it is on the disk: a process that dies after that finds it there,
 * and so does one whose machine does.  Transactions that wait while another one
 * is written are written together.
 *
 * If the disk is full or fails, nothing of what was to be written together is
 * done, and the call backs say why.  The next transaction tries again.
 *
 * The file is locked as long as the store is open. */

#include <stddef.h>
#include <stdint.h>

struct event_base;
struct store;
struct store_txn;

/* A transaction with more than that, in bytes, fails. */
#define STORE_KEY_MAX 255
#define STORE_VALUE_MAX (16 * 1024 * 1024)

/* 'error' is NULL if the transaction is on the disk.  Otherwise it says why
 * nothing of it is. */
typedef void store_done_cb(void *aux, const char *error);

/* Called with each record.  Returns NULL, or an error that ends the loading. */
typedef char *store_record_cb(void *aux, const char *key, const char *value);

char *store_open(struct event_base *, const char *file, struct store **);
void store_close(struct store *);

char *
store_load(struct store *, const char *prefix, store_record_cb *, void *aux);

struct store_txn *store_txn_create(void);
void store_txn_destroy(struct store_txn *);
void store_txn_put(struct store_txn *, const char *key, const char *value);
void store_txn_delete(struct store_txn *, const char *key);
size_t store_txn_count(const struct store_txn *);
const char *
store_txn_get(const struct store_txn *, size_t index, const char **value);
void
store_commit(struct store *, struct store_txn *, store_done_cb *, void *aux);

struct store_stats {
    uint64_t transactions; /* That are on the disk. */
    uint64_t failures;     /* Ones that are not. */
    uint64_t commits;      /* Of transactions that were written together. */
    uint64_t commit_us;    /* How long all of them took, in microseconds, */
    uint64_t last_us;      /* the last one, */
    uint64_t max_us;       /* and the longest one. */
    size_t queue;          /* Transactions that wait. */
};

void store_get_stats(struct store *, struct store_stats *);
char *store_get_error(struct store *);

#endif /* store.h */
