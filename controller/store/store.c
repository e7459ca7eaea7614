/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/store.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/core/mem.h"
#include "controller/store/store-db.h"

/* One change; 'value' is NULL to remove. */
struct change {
    char *key;
    char *value;
};

struct store_txn {
    struct store_txn *next;
    struct change *changes;
    size_t n;
    size_t allocated;
    store_done_cb *done;
    void *aux;
    char *error;
};

struct txn_list {
    struct store_txn *head;
    struct store_txn **tail; /* Where the next one goes. */
};

struct store {
    struct store_db *db; /* The writer's, while it runs. */
    pthread_t writer;
    struct event *event;
    int fd; /* Tells the event loop of 'done'. */

    pthread_mutex_t mutex; /* For all below. */
    pthread_cond_t wanted;
    struct txn_list queue; /* To be written. */
    struct txn_list done;  /* To be reported. */
    bool closing;
};

static void
txn_list_init__(struct txn_list *list)
{
    list->head = NULL;
    list->tail = &list->head;
}

/* Moves all of 'from' to the end of 'to'. */
static void
txn_list_move__(struct txn_list *to, struct txn_list *from)
{
    if (from->head) {
        *to->tail = from->head;
        to->tail = from->tail;
        txn_list_init__(from);
    }
}

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
    for (size_t i = 0; txn && i < txn->n; i++) {
        free(txn->changes[i].key);
        free(txn->changes[i].value);
    }
    if (txn) {
        free(txn->changes);
        free(txn->error);
        free(txn);
    }
}

static void
txn_add__(struct store_txn *txn, const char *key, const char *value)
{
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

/* The writer. */

static char *
write_all__(struct store_db *db, const struct txn_list *list)
{
    char *error = store_db_begin(db);

    for (struct store_txn *txn = list->head; txn; txn = txn->next) {
        for (size_t i = 0; !error && i < txn->n; i++) {
            error =
                store_db_put(db, txn->changes[i].key, txn->changes[i].value);
        }
    }
    error = error ? error : store_db_commit(db);
    if (error) {
        store_db_rollback(db);
    }
    return error;
}

/* Writes those of 'list', as one, and stores in each what came of it. */
static void
write__(struct store_db *db, const struct txn_list *list)
{
    char *error = write_all__(db, list);

    for (struct store_txn *txn = list->head; error && txn; txn = txn->next) {
        txn->error = mem_strdup(error);
    }
    free(error);
}

static void
wake_loop__(const struct store *store)
{
    const uint64_t one = 1;

    /* It cannot fail: the counter is read before it overflows. */
    if (write(store->fd, &one, sizeof one) != sizeof one) {
        abort();
    }
}

static void *
writer_main__(void *store_)
{
    struct store *store = store_;

    pthread_mutex_lock(&store->mutex);
    for (;;) {
        struct txn_list list;

        while (!store->queue.head && !store->closing) {
            pthread_cond_wait(&store->wanted, &store->mutex);
        }
        if (!store->queue.head) {
            break;
        }
        txn_list_init__(&list);
        txn_list_move__(&list, &store->queue);
        pthread_mutex_unlock(&store->mutex);
        write__(store->db, &list);
        pthread_mutex_lock(&store->mutex);
        txn_list_move__(&store->done, &list);
        wake_loop__(store);
    }
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}

/* The event loop. */

static void
report__(struct store *store)
{
    struct txn_list list;
    struct store_txn *next;

    txn_list_init__(&list);
    pthread_mutex_lock(&store->mutex);
    txn_list_move__(&list, &store->done);
    pthread_mutex_unlock(&store->mutex);
    for (struct store_txn *txn = list.head; txn; txn = next) {
        next = txn->next;
        txn->done(txn->aux, txn->error);
        store_txn_destroy(txn);
    }
}

static void
done_cb__(evutil_socket_t fd, short events, void *store)
{
    uint64_t n;

    (void) events;
    if (read(fd, &n, sizeof n) == sizeof n) {
        report__(store);
    }
}

/* Starts the writer with all signals blocked, which are the event loop's. */
static int
start_writer__(struct store *store)
{
    sigset_t all, old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&store->writer, NULL, writer_main__, store);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

/* Opens 'file', which is made if it is not there, as a store that reports to the
 * loop of 'base'.  Returns NULL and stores it in '*storep', or returns an error,
 * which the caller must free. */
char *
store_open(struct event_base *base, const char *file, struct store **storep)
{
    struct store *store = mem_zalloc(sizeof *store);
    char *error = store_db_open(file, &store->db);

    *storep = NULL;
    if (error) {
        free(store);
        return error;
    }
    pthread_mutex_init(&store->mutex, NULL);
    pthread_cond_init(&store->wanted, NULL);
    txn_list_init__(&store->queue);
    txn_list_init__(&store->done);
    store->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (store->fd < 0 || start_writer__(store)) {
        error = mem_printf("state_file: no writer: %s", strerror(errno));
        if (store->fd >= 0) {
            close(store->fd);
        }
        store_db_close(store->db);
        free(store);
        return error;
    }
    store->event =
        event_new(base, store->fd, EV_READ | EV_PERSIST, done_cb__, store);
    event_add(store->event, NULL);
    *storep = store;
    return NULL;
}

/* Closes 'store', which may be NULL, when everything is written and reported. */
void
store_close(struct store *store)
{
    if (store) {
        pthread_mutex_lock(&store->mutex);
        store->closing = true;
        pthread_cond_signal(&store->wanted);
        pthread_mutex_unlock(&store->mutex);
        pthread_join(store->writer, NULL);
        report__(store);

        event_free(store->event);
        close(store->fd);
        store_db_close(store->db);
        pthread_cond_destroy(&store->wanted);
        pthread_mutex_destroy(&store->mutex);
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
    char *error;

    pthread_mutex_lock(&store->mutex);
    error = store_db_load(store->db, prefix, cb, aux);
    pthread_mutex_unlock(&store->mutex);
    return error;
}

/* Has 'txn', which is taken over, written, and calls 'done' after that. */
void
store_commit(struct store *store, struct store_txn *txn, store_done_cb *done,
             void *aux)
{
    txn->done = done;
    txn->aux = aux;
    pthread_mutex_lock(&store->mutex);
    *store->queue.tail = txn;
    store->queue.tail = &txn->next;
    pthread_cond_signal(&store->wanted);
    pthread_mutex_unlock(&store->mutex);
}
