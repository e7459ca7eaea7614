/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/core/mem.h"
#include "controller/store/store-db.h"
#include "controller/store/worker.h"

/* Pages in FILE-wal that are moved when nothing waits, and in any case. */
#define CHECKPOINT_IDLE 1000
#define CHECKPOINT_BUSY 10000

/* One change; 'value' is NULL to remove. */
struct change {
    char *key;
    char *value;
};

struct store_txn {
    struct worker_job job;
    struct change *changes;
    size_t n;
    size_t allocated;
    store_done_cb *done;
    void *aux;
    char *error;
};

struct store {
    struct store_db db; /* The worker's, while it runs. */
    struct worker *worker;

    pthread_mutex_t mutex; /* For all below. */
    struct store_stats stats;
    char *error; /* Of the last commit, or NULL. */
};

/* Transactions. */

/* Creates a transaction that changes nothing.  store_commit() takes it over. */
struct store_txn *
store_txn_create(void)
{
    return mem_zalloc(sizeof(struct store_txn));
}

/* Destroys 'txn', which may be NULL and was not committed. */
void
store_txn_destroy(struct store_txn *txn)
{
    if (txn) {
        for (size_t i = 0; i < txn->n; i++) {
            free(txn->changes[i].key);
            free(txn->changes[i].value);
        }
        free(txn->changes);
        free(txn->error);
        free(txn);
    }
}

/* Refuses what the file shall not hold, and what is in its way. */
static void
txn_check__(struct store_txn *txn, const char *key, const char *value)
{
    size_t n = value ? strlen(value) : 0;

    if (!txn->error && strlen(key) > STORE_KEY_MAX) {
        txn->error = mem_printf("state_file: the key %.32s... has more than "
                                "%d bytes",
                                key, STORE_KEY_MAX);
    } else if (!txn->error && n > STORE_VALUE_MAX) {
        txn->error = mem_printf("state_file: record %s would have %zu bytes, "
                                "more than %d",
                                key, n, STORE_VALUE_MAX);
    }
}

static void
txn_add__(struct store_txn *txn, const char *key, const char *value)
{
    txn_check__(txn, key, value);
    if (txn->n >= txn->allocated) {
        txn->changes =
            mem_grow(txn->changes, &txn->allocated, sizeof *txn->changes);
    }
    txn->changes[txn->n++] =
        (struct change){ mem_strdup(key), value ? mem_strdup(value) : NULL };
}

/* Has 'txn' store 'value' under 'key', whatever was there. */
void
store_txn_put(struct store_txn *txn, const char *key, const char *value)
{
    txn_add__(txn, key, value);
}

/* Has 'txn' remove what is under 'key', if anything is. */
void
store_txn_delete(struct store_txn *txn, const char *key)
{
    txn_add__(txn, key, NULL);
}

/* Returns how many changes 'txn' consists of. */
size_t
store_txn_count(const struct store_txn *txn)
{
    return txn->n;
}

/* Returns the key of the change at 'index', and stores in '*value' what is put
 * there, or NULL if it is removed. */
const char *
store_txn_get(const struct store_txn *txn, size_t index, const char **value)
{
    *value = txn->changes[index].value;
    return txn->changes[index].key;
}

/* The worker's part. */

static uint64_t
now_us__(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

static char *
put_all__(struct store_db *db, const struct store_txn *txn)
{
    char *error = NULL;

    for (size_t i = 0; !error && i < txn->n; i++) {
        error = store_db_put(db, txn->changes[i].key, txn->changes[i].value);
    }
    return error;
}

/* Writes all 'jobs' that are not refused, as one. */
static char *
write_all__(struct store_db *db, struct worker_job *jobs)
{
    char *error = db_file_begin(&db->file);

    for (; !error && jobs; jobs = jobs->next) {
        const struct store_txn *txn = (const struct store_txn *) jobs;

        error = txn->error ? NULL : put_all__(db, txn);
    }
    error = error ? error : db_file_commit(&db->file);
    if (error) {
        db_file_rollback(&db->file);
    }
    return error;
}

/* Stores in each of 'jobs' what came of it.  Returns how many were done. */
static size_t
spread_error__(struct worker_job *jobs, const char *error, size_t *n_failed)
{
    size_t n_done = 0;

    *n_failed = 0;
    for (; jobs; jobs = jobs->next) {
        struct store_txn *txn = (struct store_txn *) jobs;

        if (error && !txn->error) {
            txn->error = mem_strdup(error);
        }
        *n_failed += txn->error != NULL;
        n_done += !txn->error;
    }
    return n_done;
}

static void
work__(void *store_, struct worker_job *jobs)
{
    struct store *store = store_;
    uint64_t start = now_us__();
    char *error = write_all__(&store->db, jobs);
    uint64_t us = now_us__() - start;
    size_t n_done, n_failed;

    n_done = spread_error__(jobs, error, &n_failed);
    pthread_mutex_lock(&store->mutex);
    store->stats.transactions += n_done;
    store->stats.failures += n_failed;
    store->stats.commits += !error;
    store->stats.commit_us += us;
    store->stats.last_us = us;
    store->stats.max_us = us > store->stats.max_us ? us : store->stats.max_us;
    free(store->error);
    store->error = error;
    pthread_mutex_unlock(&store->mutex);
    db_file_checkpoint(&store->db.file, CHECKPOINT_BUSY);
}

static void
idle__(void *store_)
{
    struct store *store = store_;

    db_file_checkpoint(&store->db.file, CHECKPOINT_IDLE);
}

/* The event loop's part. */

static void
report__(void *store, struct worker_job *job)
{
    struct store_txn *txn = (struct store_txn *) job;

    (void) store;
    txn->done(txn->aux, txn->error);
    store_txn_destroy(txn);
}

/* Opens 'file', which is made if it is not there, as a store that reports to the
 * loop of 'base'.  Returns NULL and stores it in '*storep', or returns an error,
 * which the caller must free. */
char *
store_open(struct event_base *base, const char *file, struct store **storep)
{
    static const struct worker_ops ops = { work__, idle__, report__ };
    struct store *store = mem_zalloc(sizeof *store);
    char *error = store_db_open(&store->db, file);
    int err;

    *storep = NULL;
    if (error) {
        free(store);
        return error;
    }
    pthread_mutex_init(&store->mutex, NULL);
    err = worker_create(base, &ops, store, &store->worker);
    if (err) {
        store_close(store);
        return mem_printf("state_file: no writer: %s", strerror(err));
    }
    *storep = store;
    return NULL;
}

/* Closes 'store', which may be NULL, when everything is written and reported. */
void
store_close(struct store *store)
{
    if (store) {
        worker_destroy(store->worker);
        store_db_close(&store->db);
        pthread_mutex_destroy(&store->mutex);
        free(store->error);
        free(store);
    }
}

/* Calls 'cb' with each record whose key begins with 'prefix', by ascending
 * number behind that (shorter keys come first).  Nothing may have been
 * committed yet.  Returns NULL or an error, which the caller must free. */
char *
store_load(struct store *store, const char *prefix, store_record_cb *cb,
           void *aux)
{
    return store_db_load(&store->db, prefix, cb, aux);
}

/* Has 'txn', which is taken over, written, and calls 'done' after that. */
void
store_commit(struct store *store, struct store_txn *txn, store_done_cb *done,
             void *aux)
{
    txn->done = done;
    txn->aux = aux;
    worker_submit(store->worker, &txn->job);
}

/* Stores in '*stats' what became of the transactions so far. */
void
store_get_stats(struct store *store, struct store_stats *stats)
{
    pthread_mutex_lock(&store->mutex);
    *stats = store->stats;
    pthread_mutex_unlock(&store->mutex);
    stats->queue = worker_count(store->worker);
}

/* Returns why the last commit failed, which the caller must free, or NULL if the
 * store is healthy. */
char *
store_get_error(struct store *store)
{
    char *error;

    pthread_mutex_lock(&store->mutex);
    error = store->error ? mem_strdup(store->error) : NULL;
    pthread_mutex_unlock(&store->mutex);
    return error;
}
