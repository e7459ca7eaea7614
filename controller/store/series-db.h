/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_SERIES_DB_H
#define EVLB_SERIES_DB_H 1

/* Within the series: rows in a file of SQLite's, for one thread at a time.  All
 * functions that can fail return an error, which the caller must free, or
 * NULL.
 *
 * Rows are numbered as they come, so that the oldest ones have the smallest
 * numbers, and lie together.  An index leads from a reservation and a time to
 * them, and tells the session without a look at the row. */

#include "controller/store/db-file.h"
#include "controller/store/series.h"

enum series_statement {
    SERIES_PUT_SAMPLE,
    SERIES_PUT_EPOCH,
    SERIES_FIND_SAMPLES,
    SERIES_GET_SAMPLE,
    SERIES_GET_EPOCHS,
    SERIES_TRIM_SAMPLES,
    SERIES_TRIM_EPOCHS,
    SERIES_OLDEST,
    SERIES_SIZE,
    SERIES_N_STATEMENTS
};

struct series_db {
    struct db_file file;
    sqlite3_stmt *stmts[SERIES_N_STATEMENTS];
};

/* What a query finds. */
struct series_rows {
    struct series_sample *samples;
    size_t n_samples;
    size_t allocated_samples;
    struct series_epoch *epochs;
    size_t n_epochs;
    size_t allocated_epochs;
    bool truncated;
};

char *series_db_open(struct series_db *, const char *file);
void series_db_close(struct series_db *);

char *series_db_check_room(struct series_db *);
char *series_db_put_sample(struct series_db *, const struct series_sample *);
char *series_db_put_epoch(struct series_db *, const struct series_epoch *);

typedef bool series_stop_cb(void *aux);

char *series_db_query(struct series_db *, const struct series_query *,
                      series_stop_cb *, void *aux, struct series_rows *);
char *series_db_trim(struct series_db *, const struct series_limits *,
                     int64_t now, size_t max, size_t *n);
char *series_db_size(struct series_db *, uint64_t *size);

#endif /* series-db.h */
