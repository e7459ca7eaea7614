/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/store-db.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* A step is never changed after it was released: files are in its format. */
static const char *const steps[] = {
    /* 1. */
    "CREATE TABLE record (key TEXT PRIMARY KEY, value TEXT NOT NULL) "
    "WITHOUT ROWID",

    /* 2: nothing but texts; and evlbd of format 1 would not know the records
     * of reservations. */
    "CREATE TABLE record2 (key TEXT PRIMARY KEY NOT NULL, "
    "value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO record2 SELECT key, value FROM record;"
    "DROP TABLE record;"
    "ALTER TABLE record2 RENAME TO record",
};

static const struct db_format format = {
    .setting = "state_file",
    .advice = "put a copy of it back, or move it away to start without what "
              "was changed at run time",
    .application_id = 0x65766c62, /* "evlb" */
    .steps = steps,
    .n_steps = sizeof steps / sizeof steps[0],
    .durable = true,
    .check = true,
};

/* Opens 'file', which is made if it is not there, as 'db'. */
char *
store_db_open(struct store_db *db, const char *file)
{
    char *error;

    memset(db, 0, sizeof *db);
    error = db_file_open(&db->file, file, &format);
    if (error) {
        return error;
    }
    error = db_file_prepare(
        &db->file, "INSERT OR REPLACE INTO record VALUES (?, ?)", &db->put);
    error =
        error ? error
              : db_file_prepare(&db->file, "DELETE FROM record WHERE key = ?",
                                &db->delete);
    if (error) {
        store_db_close(db);
    }
    return error;
}

void
store_db_close(struct store_db *db)
{
    sqlite3_finalize(db->put);
    sqlite3_finalize(db->delete);
    db_file_close(&db->file);
}

/* Returns the text in a column of the row that 'stmt' is at, or NULL if that is
 * something else. */
static const char *
get_text__(sqlite3_stmt *stmt, int column)
{
    const char *text = NULL;

    if (sqlite3_column_type(stmt, column) == SQLITE_TEXT) {
        text = (const char *) sqlite3_column_text(stmt, column);
    }
    return text && strlen(text) == (size_t) sqlite3_column_bytes(stmt, column)
               ? text
               : NULL;
}

static char *
load_row__(const struct store_db *db, sqlite3_stmt *stmt, store_record_cb *cb,
           void *aux)
{
    const char *key = get_text__(stmt, 0);
    const char *value = get_text__(stmt, 1);
    char *reason, *error;

    reason = key && value ? cb(aux, key, value)
                          : mem_printf("record %s: is no text",
                                       key ? key : "without a key");
    error = reason ? mem_printf("%s: %s: %s", format.setting, db->file.name,
                                reason)
                   : NULL;
    free(reason);
    return error;
}

/* Calls 'cb' with each record whose key begins with 'prefix', shorter keys
 * first, so that numbers behind it ascend. */
char *
store_db_load(struct store_db *db, const char *prefix, store_record_cb *cb,
              void *aux)
{
    int rc = SQLITE_DONE;
    sqlite3_stmt *stmt;
    char *error = db_file_prepare(&db->file,
                                  "SELECT key, value FROM record "
                                  "WHERE substr(key, 1, length(?1)) = ?1 "
                                  "ORDER BY length(key), key",
                                  &stmt);

    if (error) {
        return error;
    }
    sqlite3_bind_text(stmt, 1, prefix, -1, SQLITE_STATIC);
    while (!error && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        error = load_row__(db, stmt, cb, aux);
    }
    if (!error && rc != SQLITE_DONE) {
        error = db_file_error(&db->file);
    }
    sqlite3_finalize(stmt);
    return error;
}

/* Stores 'value' under 'key', or with a 'value' of NULL removes what is there,
 * in the transaction that was begun. */
char *
store_db_put(struct store_db *db, const char *key, const char *value)
{
    sqlite3_stmt *stmt = value ? db->put : db->delete;

    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    if (value) {
        sqlite3_bind_text(stmt, 2, value, -1, SQLITE_STATIC);
    }
    return db_file_run(&db->file, stmt);
}
