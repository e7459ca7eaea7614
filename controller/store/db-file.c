/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/db-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* Bytes that FILE-wal keeps after a checkpoint. */
#define WAL_KEPT "4194304"

/* Returns what to do about the last error of 'db'. */
static const char *
advice__(const struct db_file *db)
{
    switch (sqlite3_errcode(db->sqlite) & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return db->format->advice;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "is another evlbd using it?";
    case SQLITE_FULL:
        return "make room there, and the next change will be stored";
    case SQLITE_IOERR:
        return "the kernel's log says what is wrong with the device";
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return "evlbd must be allowed to write it and its directory";
    case SQLITE_CANTOPEN:
        return "its directory must exist, and evlbd must be allowed to write "
               "there";
    default:
        return NULL;
    }
}

/* Returns an error about 'db', which the caller must free. */
static char *
fail__(const struct db_file *db, const char *reason, const char *advice)
{
    return mem_printf("%s: %s: %s%s%s", db->format->setting, db->name, reason,
                      advice ? "; " : "", advice ? advice : "");
}

/* Returns the last error of 'db', which the caller must free. */
char *
db_file_error(const struct db_file *db)
{
    return db->sqlite ? fail__(db, sqlite3_errmsg(db->sqlite), advice__(db))
                      : fail__(db, "there is no memory for it", NULL);
}

static char *
exec__(struct db_file *db, const char *sql)
{
    return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) ? db_file_error(db)
                                                           : NULL;
}

/* Compiles 'sql' into '*stmt'. */
char *
db_file_prepare(struct db_file *db, const char *sql, sqlite3_stmt **stmt)
{
    return sqlite3_prepare_v2(db->sqlite, sql, -1, stmt, NULL)
               ? db_file_error(db)
               : NULL;
}

/* Runs 'sql', which yields one number, and stores that in '*value'. */
char *
db_file_number(struct db_file *db, const char *sql, sqlite3_int64 *value)
{
    sqlite3_stmt *stmt;
    char *error = db_file_prepare(db, sql, &stmt);

    if (!error) {
        if (sqlite3_step(stmt) == SQLITE_ROW) {
            *value = sqlite3_column_int64(stmt, 0);
        } else {
            error = db_file_error(db);
        }
        sqlite3_finalize(stmt);
    }
    return error;
}

/* Runs 'stmt', which yields nothing, and resets it. */
char *
db_file_run(struct db_file *db, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);
    char *error = rc == SQLITE_DONE ? NULL : db_file_error(db);

    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return error;
}

/* Opening. */

/* Checks that the file is whole, all of it. */
static char *
check_whole__(struct db_file *db)
{
    sqlite3_stmt *stmt;
    char *error = db_file_prepare(db, "PRAGMA quick_check(1)", &stmt);

    if (error) {
        return error;
    }
    if (sqlite3_step(stmt) != SQLITE_ROW) {
        error = db_file_error(db);
    } else {
        const char *result = (const char *) sqlite3_column_text(stmt, 0);

        if (!result || strcmp(result, "ok")) {
            error = fail__(db, "is damaged", db->format->advice);
        }
    }
    sqlite3_finalize(stmt);
    return error;
}

/* Makes format 'version' of the one before. */
static char *
step__(struct db_file *db, int version)
{
    char *sql = mem_printf("BEGIN IMMEDIATE;"
                           "PRAGMA application_id = %d;"
                           "PRAGMA user_version = %d;"
                           "%s;"
                           "COMMIT",
                           db->format->application_id, version,
                           db->format->steps[version - 1]);
    char *error = exec__(db, sql);

    free(sql);
    if (error) {
        char *reason = error;

        error = mem_printf("%s (it stays in format %d)", reason, version - 1);
        free(reason);
        db_file_rollback(db);
    }
    return error;
}

/* Brings the file, which is in format 'version', to the newest one. */
static char *
migrate__(struct db_file *db, int version)
{
    char *error = NULL;

    while (!error && version < db->format->n_steps) {
        error = step__(db, ++version);
    }
    return error;
}

/* Makes an empty file ours, and checks that another one is. */
static char *
check_owner__(struct db_file *db)
{
    const struct db_format *format = db->format;
    sqlite3_int64 id = 0, version = 0, n = 0;
    char *error = db_file_number(db, "PRAGMA application_id", &id);

    error =
        error ? error : db_file_number(db, "PRAGMA user_version", &version);
    error = error
                ? error
                : db_file_number(db, "SELECT count(*) FROM sqlite_master", &n);
    if (error) {
        return error;
    }
    if (id != format->application_id && (id || version || n)) {
        return fail__(db, "is a database of something else", format->advice);
    }
    if (version < 0 || version > format->n_steps) {
        char *reason = mem_printf("was written by a newer evlbd, in format "
                                  "%lld; this one knows formats up to %d",
                                  version, format->n_steps);

        error = fail__(db, reason, format->advice);
        free(reason);
        return error;
    }
    return migrate__(db, (int) version);
}

static int
wal_cb__(void *db_, sqlite3 *sqlite, const char *schema, int n_pages)
{
    struct db_file *db = db_;

    (void) sqlite;
    (void) schema;
    db->n_wal = n_pages;
    return SQLITE_OK;
}

static char *
set_up__(struct db_file *db)
{
    char *error;

    if (sqlite3_open_v2(db->name, &db->sqlite,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                            | SQLITE_OPEN_NOMUTEX,
                        NULL)) {
        return db_file_error(db);
    }
    if (sqlite3_db_readonly(db->sqlite, "main") == 1) {
        return fail__(db, "cannot be written",
                      "evlbd must be allowed to write it and its directory");
    }
    sqlite3_extended_result_codes(db->sqlite, 1);
    sqlite3_wal_hook(db->sqlite, wal_cb__, db);
    error = exec__(db, "PRAGMA locking_mode = EXCLUSIVE;"
                       "PRAGMA journal_mode = WAL;"
                       "PRAGMA journal_size_limit = " WAL_KEPT);
    error = error ? error
                  : exec__(db, db->format->durable
                                   ? "PRAGMA synchronous = FULL"
                                   : "PRAGMA synchronous = NORMAL");
    error = error || !db->format->check ? error : check_whole__(db);
    error = error ? error : check_owner__(db);
    if (!error && stat(db->name, &db->name_was)) {
        error = fail__(db, strerror(errno), NULL);
    }
    return error;
}

/* Opens the file 'name', which is made if it is not there, as 'db'. */
char *
db_file_open(struct db_file *db, const char *name,
             const struct db_format *format)
{
    char *error;

    memset(db, 0, sizeof *db);
    db->format = format;
    db->name = mem_strdup(name);
    db->wal = mem_printf("%s-wal", name);
    error = set_up__(db);
    if (error) {
        db_file_close(db);
    }
    return error;
}

/* Closes 'db'; all its statements must be finalized. */
void
db_file_close(struct db_file *db)
{
    sqlite3_close(db->sqlite);
    free(db->name);
    free(db->wal);
    db->sqlite = NULL;
    db->name = NULL;
    db->wal = NULL;
}

/* Transactions. */

/* Is the file 'name' still the one that it 'was'? */
static bool
is_same_file__(const char *name, const struct stat *was)
{
    struct stat is;

    return !stat(name, &is) && is.st_dev == was->st_dev
           && is.st_ino == was->st_ino;
}

/* Checks that what is written can be found again: that nobody has removed the
 * files, or put others in their places. */
static char *
check_place__(const struct db_file *db)
{
    if (is_same_file__(db->name, &db->name_was)
        && (!db->wal_was.st_ino || is_same_file__(db->wal, &db->wal_was))) {
        return NULL;
    }
    return fail__(db, "somebody has removed or replaced it or its \"-wal\"",
                  "put them back, or restart evlbd");
}

/* Writes all of 'db' through, again. */
static char *
write_through__(struct db_file *db)
{
    if (sqlite3_wal_checkpoint_v2(db->sqlite, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                  NULL, NULL)) {
        return db_file_error(db);
    }
    db->suspect = false;
    return NULL;
}

char *
db_file_begin(struct db_file *db)
{
    char *error = check_place__(db);

    error = error || !db->suspect ? error : write_through__(db);
    return error ? error : exec__(db, "BEGIN IMMEDIATE");
}

char *
db_file_commit(struct db_file *db)
{
    char *error = exec__(db, "COMMIT");

    if (!error && !db->wal_was.st_ino && stat(db->wal, &db->wal_was)) {
        memset(&db->wal_was, 0, sizeof db->wal_was);
    }
    return error;
}

/* Undoes what was done since db_file_begin(), which perhaps failed.  To be
 * called right after an error. */
void
db_file_rollback(struct db_file *db)
{
    if ((sqlite3_errcode(db->sqlite) & 0xff) == SQLITE_IOERR) {
        db->suspect = true;
    }
    sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

/* Moves what is in FILE-wal, if that are 'min_pages' or more.  If it fails, all
 * is still there, and the next one moves it. */
void
db_file_checkpoint(struct db_file *db, int min_pages)
{
    if (db->n_wal >= min_pages
        && !sqlite3_wal_checkpoint_v2(db->sqlite, NULL,
                                      SQLITE_CHECKPOINT_PASSIVE, NULL, NULL)) {
        db->n_wal = 0;
    }
}
