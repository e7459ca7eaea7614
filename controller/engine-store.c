/* SPDX-License-Identifier: Apache-2.0 */

/* What was changed at run time, in the store. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <openvswitch/vlog.h>

#include "controller/api/now.h"
#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/store/book-record.h"
#include "controller/store/neighbour-record.h"
#include "controller/store/overlay-record.h"
#include "controller/store/series.h"
#include "controller/store/store.h"

VLOG_DEFINE_THIS_MODULE(evlb_state);

#define DEFAULT_NAME "evlb.db"

static char *
record_cb__(void *overlay, const char *key, const char *value)
{
    return overlay_record_parse(overlay, key, value);
}

/* Returns the file that state is kept in, or NULL for none: the one that the
 * configuration says; or one in the directory that it or the environment says,
 * which is made if it is not there; or in the one that systemd made for us. */
static char *
get_file__(const struct evlb_config *config)
{
    const char *directory =
        config->state_dir ? config->state_dir : getenv("STATE_DIRECTORY");

    if (config->state_file) {
        return *config->state_file ? mem_strdup(config->state_file) : NULL;
    }
    if (config->state_dir) {
        mkdir(config->state_dir, 0750); /* Opening the file tells the rest. */
    }
    return directory ? mem_printf("%s/" DEFAULT_NAME, directory) : NULL;
}

/* What was found of stations. */

static void
neighbour_stored_cb__(void *aux, const char *error)
{
    (void) aux;
    if (error) {
        VLOG_WARN("where a station is will be asked after a restart: %s",
                  error);
    }
}

/* Stores what is known of 'n', or that it is not 'known' any more. */
void
engine_store_neighbour__(struct engine *engine, const struct neighbour *n,
                         bool known)
{
    struct store_txn *txn;
    char *key, *value;

    if (!engine->store) {
        return;
    }
    txn = store_txn_create();
    key = neighbour_record_key(&n->key);
    if (known) {
        value = neighbour_record_format(n);
        store_txn_put(txn, key, value);
        free(value);
    } else {
        store_txn_delete(txn, key);
    }
    free(key);
    store_commit(engine->store, txn, neighbour_stored_cb__, NULL);
}

static char *
neighbour_cb__(void *engine_, const char *key, const char *value)
{
    struct engine *engine = engine_;

    return neighbour_record_parse(&engine->neighbours, now_ms(), key, value);
}

/* Returns the file that 'engine''s state is kept in, which the caller must free;
 * or NULL if it is kept nowhere. */
char *
engine_get_state_file(const struct engine *engine)
{
    return engine->store ? get_file__(engine->config) : NULL;
}

/* Makes 'engine->overlay' and 'engine->book' what is in the store. */
static char *
load__(struct engine *engine)
{
    struct book *book;
    char *error = store_load(engine->store, OVERLAY_RECORD_PREFIX, record_cb__,
                             engine->overlay);

    error = error ? error
                  : store_load(engine->store, NEIGHBOUR_RECORD_PREFIX,
                               neighbour_cb__, engine);
    error = error ? error : book_record_load(engine->store, now_ms(), &book);
    if (!error) {
        book_destroy(engine->book);
        engine->book = book;
    }
    return error;
}

/* Opens the store and takes over what is in it. */
char *
engine_store_open__(struct engine *engine)
{
    char *file = get_file__(engine->config);
    char *error;

    if (!file) {
        return NULL;
    }
    error = store_open(engine->base, file, &engine->store);
    error = error ? error : load__(engine);
    if (!error) {
        VLOG_INFO("%s: state of %zu instances, %zu reservations, %zu sessions",
                  file, engine->overlay->n, engine->book->reservations.n,
                  engine->book->sessions.n);
        engine_history_open__(engine, file);
    }
    free(file);
    return error;
}

/* Adds to 'issues' why changes are refused, or why there is no history, if that
 * is so. */
void
engine_store_add_issues__(struct engine *engine, struct issues *issues)
{
    char *error = engine->store ? store_get_error(engine->store) : NULL;

    if (error) {
        issues_add(issues, "not_stored", ISSUE_ERROR, 0,
                   "changes are refused, for they cannot be stored: %s",
                   error);
    }
    free(error);
    error = series_get_error(engine_get_series(engine));
    if (error) {
        issues_add(issues, "no_history", ISSUE_WARNING, 0,
                   "what happens is not recorded: %s", error);
    }
    free(error);
}

/* Adds to 'txn' what makes the record of 'instance' say what 'overlay' does. */
static void
put__(struct store_txn *txn, const struct overlay *overlay, uint16_t instance)
{
    const struct overlay_instance *o = overlay_find(overlay, instance);
    char *key = overlay_record_key(instance);

    if (o) {
        char *value = overlay_record_format(o);

        store_txn_put(txn, key, value);
        free(value);
    } else {
        store_txn_delete(txn, key);
    }
    free(key);
}

/* Adds to 'txn' what makes the records of the instances that were changed in
 * 'changed' say what 'overlay' does. */
static void
put_changed__(struct store_txn *txn, const struct overlay *changed,
              const struct overlay *overlay)
{
    for (size_t i = 0; changed && i < changed->n; i++) {
        if (changed->instances[i].changed) {
            put__(txn, overlay, changed->instances[i].id);
        }
    }
}

/* Stores what differs in 'draft' from what is in service, and calls 'done' after
 * that. */
void
engine_store_draft__(struct engine *engine, const struct engine_draft *draft,
                     store_done_cb *done, void *aux)
{
    struct store_txn *txn = store_txn_create();

    put_changed__(txn, draft->overlay, draft->overlay);
    if (draft->book) {
        book_record_put_changes(txn, engine->book, draft->book);
    }
    store_commit(engine->store, txn, done, aux);
}

static void
undone_cb__(void *aux, const char *error)
{
    (void) aux;
    if (error) {
        VLOG_ERR("a change that was not put in service is still stored: %s",
                 error);
    }
}

/* Stores what is in service, where 'draft', which was stored, differs. */
void
engine_store_undo__(struct engine *engine, const struct engine_draft *draft)
{
    struct store_txn *txn = store_txn_create();

    put_changed__(txn, draft->overlay, engine->overlay);
    if (draft->book) {
        book_record_put_changes(txn, draft->book, engine->book);
    }
    store_commit(engine->store, txn, undone_cb__, NULL);
}

/* Stores what 'overlay' says of the instances that were changed in 'changed'. */
void
engine_store_changed__(struct engine *engine, const struct overlay *changed,
                       const struct overlay *overlay, store_done_cb *done)
{
    struct store_txn *txn;

    if (engine->store) {
        txn = store_txn_create();
        put_changed__(txn, changed, overlay);
        store_commit(engine->store, txn, done, NULL);
    }
}

static void
forgotten_cb__(void *aux, const char *error)
{
    (void) aux;
    if (error) {
        VLOG_ERR("what operators changed at instances that are gone is still "
                 "stored: %s",
                 error);
    }
}

/* Takes reservations out of the book whose instances are not the control API's
 * in the configuration. */
void
engine_store_forget_reservations__(struct engine *engine)
{
    struct book *book = book_clone(engine->book);
    struct store_txn *txn;

    for (size_t i = 0; i < engine->book->reservations.n; i++) {
        const struct reservation *r = book_get_reservation(engine->book, i);
        const struct instance *instance =
            state_find_instance(&engine->config->state, r->instance);

        if (!instance || !instance->reservable) {
            VLOG_WARN("%s lacks instance %" PRIu16 " as one that is "
                      "reservable; its reservation %" PRIu64
                      " (\"%s\") is forgotten",
                      engine->config->file, r->instance, r->entry.id, r->name);
            book_remove_reservation(book, r->entry.id);
        }
    }
    if (engine->store
        && book->reservations.n != engine->book->reservations.n) {
        txn = store_txn_create();
        book_record_put_changes(txn, engine->book, book);
        store_commit(engine->store, txn, forgotten_cb__, NULL);
    }
    book_destroy(engine->book);
    engine->book = book;
}

/* Removes from the store what 'old' says about instances that 'new' does not
 * have. */
void
engine_store_forget__(struct engine *engine, const struct overlay *old,
                      const struct overlay *new)
{
    struct store_txn *txn;

    if (!engine->store) {
        return;
    }
    txn = store_txn_create();
    for (size_t i = 0; i < old->n; i++) {
        if (!overlay_find(new, old->instances[i].id)) {
            put__(txn, new, old->instances[i].id);
        }
    }
    store_commit(engine->store, txn, forgotten_cb__, NULL);
}
