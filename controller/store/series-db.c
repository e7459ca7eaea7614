/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/series-db.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "controller/core/mem.h"

/* A step is never changed after it was released: files are in its format. */
static const char *const steps[] = {
    "CREATE TABLE sample (id INTEGER PRIMARY KEY, "
    "reservation INTEGER NOT NULL, session INTEGER NOT NULL, "
    "time INTEGER NOT NULL, fill REAL NOT NULL, control REAL NOT NULL, "
    "ready INTEGER NOT NULL, events_received INTEGER NOT NULL, "
    "events_reassembled INTEGER NOT NULL, "
    "events_reassembly_errors INTEGER NOT NULL, "
    "events_dequeued INTEGER NOT NULL, event_enqueue_errors INTEGER NOT NULL, "
    "bytes_received INTEGER NOT NULL, packets_received INTEGER NOT NULL, "
    "slots INTEGER NOT NULL) STRICT;"
    "CREATE INDEX sample_time ON sample (reservation, time, session);"
    "CREATE TABLE epoch (id INTEGER PRIMARY KEY, "
    "reservation INTEGER NOT NULL, time INTEGER NOT NULL, "
    "instance INTEGER NOT NULL, epoch INTEGER NOT NULL, "
    "boundary INTEGER NOT NULL, seed INTEGER NOT NULL) STRICT;"
    "CREATE INDEX epoch_time ON epoch (reservation, time)",
};

static const struct db_format format = {
    .setting = "history",
    .advice = "move it away to start with an empty one",
    .application_id = 0x65766c68, /* "evlh" */
    .steps = steps,
    .n_steps = sizeof steps / sizeof steps[0],
    .durable = false,
    .check = false, /* It may be large, and nothing depends on it. */
};

/* What is left to others on the device: that much, in bytes, and no more than
 * one part of so many. */
#define ROOM_MAX (64 << 20)
#define ROOM_PART 16

/* The first 'max' rows of a table that are older than a time. */
#define TRIM(TABLE)                                                         \
    "DELETE FROM " TABLE " WHERE time < ?1 AND id <= (SELECT max(id) FROM " \
    "(SELECT id FROM " TABLE " ORDER BY id LIMIT ?2))"

static const char *const sqls[SERIES_N_STATEMENTS] = {
    [SERIES_PUT_SAMPLE] = "INSERT INTO sample VALUES (NULL, ?, ?, ?, ?, ?, ?, "
                          "?, ?, ?, ?, ?, ?, ?, ?)",
    [SERIES_PUT_EPOCH] = "INSERT INTO epoch VALUES (NULL, ?, ?, ?, ?, ?, ?)",
    [SERIES_FIND_SAMPLES] =
        "SELECT session, id FROM sample WHERE reservation = ? AND time >= ? "
        "ORDER BY time, session",
    [SERIES_GET_SAMPLE] = "SELECT * FROM sample WHERE id = ?",
    [SERIES_GET_EPOCHS] =
        "SELECT * FROM epoch WHERE reservation = ? AND time >= ? "
        "ORDER BY time",
    [SERIES_TRIM_SAMPLES] = TRIM("sample"),
    [SERIES_TRIM_EPOCHS] = TRIM("epoch"),
    [SERIES_OLDEST] = "SELECT time FROM sample ORDER BY id LIMIT 1",
    [SERIES_SIZE] =
        "SELECT (page_count - freelist_count) * page_size "
        "FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
};

/* Opens 'file', which is made if it is not there, as 'db'. */
char *
series_db_open(struct series_db *db, const char *file)
{
    char *error;

    memset(db, 0, sizeof *db);
    error = db_file_open(&db->file, file, &format);
    if (error) {
        return error;
    }
    for (size_t i = 0; !error && i < SERIES_N_STATEMENTS; i++) {
        error = db_file_prepare(&db->file, sqls[i], &db->stmts[i]);
    }
    if (error) {
        series_db_close(db);
    }
    return error;
}

void
series_db_close(struct series_db *db)
{
    for (size_t i = 0; i < SERIES_N_STATEMENTS; i++) {
        sqlite3_finalize(db->stmts[i]);
    }
    db_file_close(&db->file);
}

/* Checks that rows take no room that changes of the state may need. */
char *
series_db_check_room(struct series_db *db)
{
    uint64_t room, total;
    struct statvfs fs;

    if (statvfs(db->file.name, &fs)) {
        return NULL; /* Writing will say why. */
    }
    room = (uint64_t) fs.f_bavail * fs.f_frsize;
    total = (uint64_t) fs.f_blocks * fs.f_frsize;
    return room >= ROOM_MAX || room >= total / ROOM_PART
               ? NULL
               : mem_printf("%s: %s: no more is written while the device is "
                            "nearly full; make room there",
                            format.setting, db->file.name);
}

/* Writing.  What has 64 bits is stored as if it had a sign. */

static void
bind__(sqlite3_stmt *stmt, int *column, uint64_t value)
{
    sqlite3_bind_int64(stmt, ++*column, (sqlite3_int64) value);
}

char *
series_db_put_sample(struct series_db *db, const struct series_sample *s)
{
    sqlite3_stmt *stmt = db->stmts[SERIES_PUT_SAMPLE];
    int column = 0;

    bind__(stmt, &column, s->reservation);
    bind__(stmt, &column, s->session);
    bind__(stmt, &column, (uint64_t) s->time);
    sqlite3_bind_double(stmt, ++column, s->fill);
    sqlite3_bind_double(stmt, ++column, s->control);
    bind__(stmt, &column, s->ready);
    bind__(stmt, &column, (uint64_t) s->events_received);
    bind__(stmt, &column, (uint64_t) s->events_reassembled);
    bind__(stmt, &column, (uint64_t) s->events_reassembly_errors);
    bind__(stmt, &column, (uint64_t) s->events_dequeued);
    bind__(stmt, &column, (uint64_t) s->event_enqueue_errors);
    bind__(stmt, &column, (uint64_t) s->bytes_received);
    bind__(stmt, &column, (uint64_t) s->packets_received);
    bind__(stmt, &column, s->slots);
    return db_file_run(&db->file, stmt);
}

char *
series_db_put_epoch(struct series_db *db, const struct series_epoch *e)
{
    sqlite3_stmt *stmt = db->stmts[SERIES_PUT_EPOCH];
    int column = 0;

    bind__(stmt, &column, e->reservation);
    bind__(stmt, &column, (uint64_t) e->time);
    bind__(stmt, &column, e->instance);
    bind__(stmt, &column, e->epoch);
    bind__(stmt, &column, e->boundary);
    bind__(stmt, &column, e->seed);
    return db_file_run(&db->file, stmt);
}

/* Reading. */

static uint64_t
column__(sqlite3_stmt *stmt, int *column)
{
    return (uint64_t) sqlite3_column_int64(stmt, ++*column);
}

/* Appends the row that 'stmt' is at. */
static void
add_sample__(struct series_rows *rows, sqlite3_stmt *stmt)
{
    struct series_sample *s;
    int column = 0;

    if (rows->n_samples >= rows->allocated_samples) {
        rows->samples = mem_grow(rows->samples, &rows->allocated_samples,
                                 sizeof *rows->samples);
    }
    s = &rows->samples[rows->n_samples++];
    s->reservation = column__(stmt, &column);
    s->session = column__(stmt, &column);
    s->time = (int64_t) column__(stmt, &column);
    s->fill = sqlite3_column_double(stmt, ++column);
    s->control = sqlite3_column_double(stmt, ++column);
    s->ready = column__(stmt, &column);
    s->events_received = (int64_t) column__(stmt, &column);
    s->events_reassembled = (int64_t) column__(stmt, &column);
    s->events_reassembly_errors = (int64_t) column__(stmt, &column);
    s->events_dequeued = (int64_t) column__(stmt, &column);
    s->event_enqueue_errors = (int64_t) column__(stmt, &column);
    s->bytes_received = (int64_t) column__(stmt, &column);
    s->packets_received = (int64_t) column__(stmt, &column);
    s->slots = (uint32_t) column__(stmt, &column);
}

/* Appends the row that 'stmt' is at. */
static void
add_epoch__(struct series_rows *rows, sqlite3_stmt *stmt)
{
    struct series_epoch *e;
    int column = 0;

    if (rows->n_epochs >= rows->allocated_epochs) {
        rows->epochs = mem_grow(rows->epochs, &rows->allocated_epochs,
                                sizeof *rows->epochs);
    }
    e = &rows->epochs[rows->n_epochs++];
    e->reservation = column__(stmt, &column);
    e->time = (int64_t) column__(stmt, &column);
    e->instance = (uint16_t) column__(stmt, &column);
    e->epoch = (uint16_t) column__(stmt, &column);
    e->boundary = column__(stmt, &column);
    e->seed = column__(stmt, &column);
}

/* Appends the sample 'id'. */
static char *
get_sample__(struct series_db *db, sqlite3_int64 id, struct series_rows *rows)
{
    sqlite3_stmt *stmt = db->stmts[SERIES_GET_SAMPLE];
    char *error = NULL;

    sqlite3_bind_int64(stmt, 1, id);
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        add_sample__(rows, stmt);
    } else {
        error = db_file_error(&db->file);
    }
    sqlite3_reset(stmt);
    return error;
}

/* Appends what 'stmt', which finds 'query''s rows, is at, or leaves it out. */
static char *
take_row__(struct series_db *db, const struct series_query *query,
           sqlite3_stmt *stmt, struct series_rows *rows)
{
    bool wanted =
        query->kind == SERIES_EPOCHS || !query->session
        || (uint64_t) sqlite3_column_int64(stmt, 0) == query->session;

    if (!wanted) {
        return NULL;
    }
    if (rows->n_samples + rows->n_epochs >= query->limit) {
        rows->truncated = true;
        return NULL;
    }
    if (query->kind == SERIES_EPOCHS) {
        add_epoch__(rows, stmt);
        return NULL;
    }
    return get_sample__(db, sqlite3_column_int64(stmt, 1), rows);
}

/* Finds what 'query' asks for, until 'stop' says that it is not wanted any
 * more. */
char *
series_db_query(struct series_db *db, const struct series_query *query,
                series_stop_cb *stop, void *aux, struct series_rows *rows)
{
    sqlite3_stmt *stmt =
        db->stmts[query->kind == SERIES_EPOCHS ? SERIES_GET_EPOCHS
                                               : SERIES_FIND_SAMPLES];
    char *error = NULL;
    int rc = SQLITE_DONE;

    sqlite3_bind_int64(stmt, 1, (sqlite3_int64) query->reservation);
    sqlite3_bind_int64(stmt, 2, query->since);
    while (!error && !rows->truncated && !stop(aux)
           && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        error = take_row__(db, query, stmt, rows);
    }
    if (!error && rc != SQLITE_DONE && rc != SQLITE_ROW) {
        error = db_file_error(&db->file);
    }
    sqlite3_reset(stmt);
    return error;
}

/* Deleting. */

static char *
trim__(struct series_db *db, enum series_statement which, int64_t before,
       size_t max, size_t *n)
{
    sqlite3_stmt *stmt = db->stmts[which];
    char *error;

    sqlite3_bind_int64(stmt, 1, before);
    sqlite3_bind_int64(stmt, 2, (sqlite3_int64) max);
    error = db_file_run(&db->file, stmt);
    if (!error) {
        *n += (size_t) sqlite3_changes(db->file.sqlite);
    }
    return error;
}

/* Stores in '*value' the number that the statement 'which' yields, if any. */
static char *
get_number__(struct series_db *db, enum series_statement which, int64_t *value)
{
    sqlite3_stmt *stmt = db->stmts[which];
    int rc = sqlite3_step(stmt);
    char *error = NULL;

    if (rc == SQLITE_ROW) {
        *value = sqlite3_column_int64(stmt, 0);
    } else if (rc != SQLITE_DONE) {
        error = db_file_error(&db->file);
    }
    sqlite3_reset(stmt);
    return error;
}

/* Stores in '*size' how many bytes are used. */
char *
series_db_size(struct series_db *db, uint64_t *size)
{
    int64_t value = 0;
    char *error = get_number__(db, SERIES_SIZE, &value);

    *size = (uint64_t) value;
    return error;
}

/* Deletes samples for which there is no room, at most 'max', and the epochs that
 * were before those that are left. */
static char *
trim_to_size__(struct series_db *db, size_t max, size_t *n)
{
    char *error = trim__(db, SERIES_TRIM_SAMPLES, INT64_MAX, max, n);
    int64_t oldest = INT64_MAX;

    error = error ? error : get_number__(db, SERIES_OLDEST, &oldest);
    return error ? error : trim__(db, SERIES_TRIM_EPOCHS, oldest, max, n);
}

/* Deletes, as of 'now', what is beyond 'limits', at most 'max' rows of each
 * kind, in the transaction that was begun.  Adds to '*n' how many went. */
char *
series_db_trim(struct series_db *db, const struct series_limits *limits,
               int64_t now, size_t max, size_t *n)
{
    int64_t oldest = now - limits->max_age;
    uint64_t size = 0;
    char *error = trim__(db, SERIES_TRIM_SAMPLES, oldest, max, n);

    error = error ? error : trim__(db, SERIES_TRIM_EPOCHS, oldest, max, n);
    error = error ? error : series_db_size(db, &size);
    if (!error && size > limits->max_size) {
        error = trim_to_size__(db, max, n);
    }
    return error;
}
