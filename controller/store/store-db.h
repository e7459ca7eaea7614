/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_STORE_DB_H
#define EVLB_STORE_DB_H 1

/* Within the store: records in a file of SQLite's, for one thread at a time.
 * All functions that can fail return an error, which the caller must free, or
 * NULL. */

#include "controller/store/db-file.h"
#include "controller/store/store.h"

struct store_db {
    struct db_file file;
    sqlite3_stmt *put;
    sqlite3_stmt *delete;
};

char *store_db_open(struct store_db *, const char *file);
void store_db_close(struct store_db *);

char *store_db_load(struct store_db *, const char *prefix, store_record_cb *,
                    void *aux);
char *store_db_put(struct store_db *, const char *key, const char *value);

#endif /* store-db.h */
