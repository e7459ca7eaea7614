/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_STORE_DB_H
#define EVLB_STORE_DB_H 1

/* Within the store: the SQLite file, for one thread at a time.  All functions
 * that can fail return an error, which the caller must free, or NULL. */

#include "controller/store/store.h"

struct store_db;

char *store_db_open(const char *file, struct store_db **);
void store_db_close(struct store_db *);

char *store_db_load(struct store_db *, const char *prefix, store_record_cb *,
                    void *aux);
char *store_db_begin(struct store_db *);
char *store_db_put(struct store_db *, const char *key, const char *value);
char *store_db_commit(struct store_db *);
void store_db_rollback(struct store_db *);

#endif /* store-db.h */
