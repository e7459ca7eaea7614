/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/store-db.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "controller/core/mem.h"

/* Says whose a file is, in its header, and what is in it. */
#define APPLICATION_ID 0x65766c62 /* "evlb" */
#define VERSION 1

#define MOVE_ADVICE "; move it away to start without what operators changed"

struct store_db {
    char *file;
    sqlite3 *sqlite;
    sqlite3_stmt *put;
    sqlite3_stmt *delete;
};

static char *
error__(const struct store_db *db)
{
    return mem_printf("%s: %s", db->file, sqlite3_errmsg(db->sqlite));
}

static char *
exec__(struct store_db *db, const char *sql)
{
    return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) ? error__(db)
                                                           : NULL;
}

/* Runs 'sql', which yields one number, and stores that in '*value'. */
static char *
get_number__(struct store_db *db, const char *sql, int *value)
{
    sqlite3_stmt *stmt;
    char *error = NULL;

    if (sqlite3_prepare_v2(db->sqlite, sql, -1, &stmt, NULL)) {
        return error__(db);
    }
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        *value = sqlite3_column_int(stmt, 0);
    } else {
        error = error__(db);
    }
    sqlite3_finalize(stmt);
    return error;
}

/* Checks that the file is whole, all of it. */
static char *
check_whole__(struct store_db *db)
{
    sqlite3_stmt *stmt;
    char *error = NULL;

    if (sqlite3_prepare_v2(db->sqlite, "PRAGMA quick_check(1)", -1, &stmt,
                           NULL)) {
        return error__(db);
    }
    if (sqlite3_step(stmt) != SQLITE_ROW) {
        error = error__(db);
    } else {
        const char *result = (const char *) sqlite3_column_text(stmt, 0);

        if (!result || strcmp(result, "ok")) {
            error = mem_printf("%s: is damaged" MOVE_ADVICE, db->file);
        }
    }
    sqlite3_finalize(stmt);
    return error;
}

/* Makes an empty file ours, and checks that another one is. */
static char *
check_owner__(struct store_db *db)
{
    int id = 0, version = 0, n = 0;
    char *error = get_number__(db, "PRAGMA application_id", &id);

    error = error ? error : get_number__(db, "PRAGMA user_version", &version);
    error = error ? error
                  : get_number__(db, "SELECT count(*) FROM sqlite_master", &n);
    if (error) {
        return error;
    }
    if (!id && !version && !n) {
        char *sql = mem_printf("BEGIN IMMEDIATE;"
                               "PRAGMA application_id = %d;"
                               "PRAGMA user_version = %d;"
                               "CREATE TABLE record (key TEXT PRIMARY KEY, "
                               "value TEXT NOT NULL) WITHOUT ROWID;"
                               "COMMIT",
                               APPLICATION_ID, VERSION);

        error = exec__(db, sql);
        free(sql);
        return error;
    }
    if (id != APPLICATION_ID) {
        return mem_printf("%s: is a database of another program", db->file);
    }
    if (version != VERSION) {
        return mem_printf("%s: was written by another version of evlbd, in "
                          "format %d; this one knows %d",
                          db->file, version, VERSION);
    }
    return NULL;
}

static char *
prepare__(struct store_db *db)
{
    if (sqlite3_prepare_v2(db->sqlite,
                           "INSERT OR REPLACE INTO record VALUES (?, ?)", -1,
                           &db->put, NULL)
        || sqlite3_prepare_v2(db->sqlite, "DELETE FROM record WHERE key = ?",
                              -1, &db->delete, NULL)) {
        return error__(db);
    }
    return NULL;
}

static char *
set_up__(struct store_db *db)
{
    char *error;

    if (sqlite3_open_v2(db->file, &db->sqlite,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                            | SQLITE_OPEN_NOMUTEX,
                        NULL)) {
        return error__(db);
    }
    sqlite3_extended_result_codes(db->sqlite, 1);
    error = exec__(db, "PRAGMA locking_mode = EXCLUSIVE;"
                       "PRAGMA journal_mode = WAL;"
                       "PRAGMA synchronous = FULL");
    error = error ? error : check_whole__(db);
    error = error ? error : check_owner__(db);
    return error ? error : prepare__(db);
}

/* Says what to do about 'error', which is freed, of opening 'db'. */
static char *
explain__(const struct store_db *db, char *error)
{
    const char *advice;
    char *message;

    switch (db->sqlite ? sqlite3_errcode(db->sqlite) : SQLITE_OK) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        advice = MOVE_ADVICE;
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        advice = "; is another evlbd using it?";
        break;
    default:
        advice = "";
        break;
    }
    message = mem_printf("state_file: %s%s", error, advice);
    free(error);
    return message;
}

/* Opens 'file', which is made if it is not there, and stores the database in
 * '*dbp'. */
char *
store_db_open(const char *file, struct store_db **dbp)
{
    struct store_db *db = mem_zalloc(sizeof *db);
    char *error;

    db->file = mem_strdup(file);
    error = set_up__(db);
    if (error) {
        error = explain__(db, error);
        store_db_close(db);
        db = NULL;
    }
    *dbp = db;
    return error;
}

/* Closes 'db', which may be NULL. */
void
store_db_close(struct store_db *db)
{
    if (db) {
        sqlite3_finalize(db->put);
        sqlite3_finalize(db->delete);
        sqlite3_close(db->sqlite);
        free(db->file);
        free(db);
    }
}

/* Returns the text in a column of the row that 'stmt' is at, or NULL if that is
 * something else. */
static const char *
get_text__(sqlite3_stmt *stmt, int column)
{
    const char *text;

    if (sqlite3_column_type(stmt, column) != SQLITE_TEXT) {
        return NULL;
    }
    text = (const char *) sqlite3_column_text(stmt, column);
    return text && strlen(text) == (size_t) sqlite3_column_bytes(stmt, column)
               ? text
               : NULL;
}

static char *
load_row__(sqlite3_stmt *stmt, store_record_cb *cb, void *aux)
{
    const char *key = get_text__(stmt, 0);
    const char *value = get_text__(stmt, 1);

    if (key && value) {
        return cb(aux, key, value);
    }
    return mem_printf("record %s: is no text", key ? key : "without a key");
}

/* Calls 'cb' with each record whose key begins with 'prefix', shorter keys
 * first, so that numbers behind it ascend. */
char *
store_db_load(struct store_db *db, const char *prefix, store_record_cb *cb,
              void *aux)
{
    sqlite3_stmt *stmt;
    char *error = NULL;
    int rc = SQLITE_DONE;

    if (sqlite3_prepare_v2(db->sqlite,
                           "SELECT key, value FROM record "
                           "WHERE substr(key, 1, length(?1)) = ?1 "
                           "ORDER BY length(key), key",
                           -1, &stmt, NULL)) {
        return error__(db);
    }
    sqlite3_bind_text(stmt, 1, prefix, -1, SQLITE_STATIC);
    while (!error && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        error = load_row__(stmt, cb, aux);
        if (error) {
            char *reason = error;

            error = mem_printf("state_file: %s: %s", db->file, reason);
            free(reason);
        }
    }
    if (!error && rc != SQLITE_DONE) {
        error = error__(db);
    }
    sqlite3_finalize(stmt);
    return error;
}

char *
store_db_begin(struct store_db *db)
{
    return exec__(db, "BEGIN IMMEDIATE");
}

/* Stores 'value' under 'key', or with a 'value' of NULL removes what is there,
 * in the transaction that store_db_begin() began. */
char *
store_db_put(struct store_db *db, const char *key, const char *value)
{
    sqlite3_stmt *stmt = value ? db->put : db->delete;
    int rc;

    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    if (value) {
        sqlite3_bind_text(stmt, 2, value, -1, SQLITE_STATIC);
    }
    rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return rc == SQLITE_DONE ? NULL : error__(db);
}

char *
store_db_commit(struct store_db *db)
{
    return exec__(db, "COMMIT");
}

/* Undoes what was done since store_db_begin(), which perhaps failed. */
void
store_db_rollback(struct store_db *db)
{
    sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
}
