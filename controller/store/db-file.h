/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_DB_FILE_H
#define EVLB_DB_FILE_H 1

/* A SQLite file of evlbd's, for one thread at a time.
 *
 * Whoever opens it says what is in it: the n-th step makes format n of format
 * n - 1, and format 0 is an empty file.  Opening one goes all the steps that
 * its file lacks, each of them whole or not at all.  A newer format is refused.
 *
 * The file is locked while it is open, and has its changes in FILE-wal until
 * they are moved by a checkpoint.
 *
 * Functions that can fail return NULL or an error that says what to do, which
 * the caller must free.  After an error of a device nobody knows what is there
 * of that which was not yet written through, so the next transaction begins by
 * writing all of it once more, and fails if that does. */

#include <stdbool.h>
#include <sys/stat.h>

#include <sqlite3.h>

struct db_format {
    const char *setting; /* What errors begin with. */
    const char *advice;  /* What to do if the file cannot be used. */
    int application_id;  /* Says whose a file is, in its header. */
    const char *const *steps;
    int n_steps;
    bool durable; /* Does a commit wait for the device? */
    bool check;   /* Is all of the file to be checked when it is opened? */
};

struct db_file {
    const struct db_format *format;
    char *name;
    char *wal; /* Name of the file with what is not moved yet. */
    sqlite3 *sqlite;
    int n_wal;            /* Pages in it. */
    bool suspect;         /* Did the device fail? */
    struct stat name_was; /* When it was opened. */
    struct stat wal_was;  /* At the first commit; 'st_ino' 0 before. */
};

char *
db_file_open(struct db_file *, const char *name, const struct db_format *);
void db_file_close(struct db_file *);

char *db_file_error(const struct db_file *);
char *db_file_prepare(struct db_file *, const char *sql, sqlite3_stmt **);
char *db_file_number(struct db_file *, const char *sql, sqlite3_int64 *);
char *db_file_run(struct db_file *, sqlite3_stmt *);

char *db_file_begin(struct db_file *);
char *db_file_commit(struct db_file *);
void db_file_rollback(struct db_file *);
void db_file_checkpoint(struct db_file *, int min_pages);

#endif /* db-file.h */
