/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/series.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/store/series-db.h"
#include "controller/store/worker.h"

/* Rows that are deleted at once. */
#define TRIM_ROWS 2000

/* Seconds after which rows may be too old, though none come. */
#define TRIM_INTERVAL 60

/* Pages in FILE-wal that are moved at once. */
#define CHECKPOINT_PAGES 1000

enum job_type {
    JOB_SAMPLES,
    JOB_EPOCHS,
    JOB_QUERY,
    JOB_TRIM
};

struct series_job {
    struct worker_job node;
    enum job_type type;
    struct series_limits limits; /* Not of a query. */
    void *rows;                  /* To be appended, */
    size_t n;                    /* and their number. */
};

struct series_request {
    struct series_job job;
    struct series_query query;
    series_cb *cb;
    void *aux;
    atomic_bool cancelled;
    struct series_rows rows;
    char *error;
};

struct series {
    struct series_db db; /* The worker's, while it runs. */
    struct worker *worker;
    struct event *timer;
    struct series_limits limits;
    size_t n_queued; /* Rows. */

    pthread_mutex_t mutex; /* For all below. */
    struct series_stats stats;
    char *error; /* Of the last time that something was written, or NULL. */
};

/* The worker's part. */

static char *
put_rows__(struct series_db *db, const struct series_job *job)
{
    const struct series_sample *samples = job->rows;
    const struct series_epoch *epochs = job->rows;
    char *error = NULL;

    for (size_t i = 0; !error && i < job->n; i++) {
        error = job->type == JOB_SAMPLES
                    ? series_db_put_sample(db, &samples[i])
                    : series_db_put_epoch(db, &epochs[i]);
    }
    return error;
}

/* Deletes what is beyond 'limits', a little of it, and then writes the rows of
 * 'job'.  Stores in '*deleted' how many rows went. */
static char *
write_rows__(struct series_db *db, const struct series_job *job,
             size_t *deleted)
{
    char *error = job->n ? series_db_check_room(db) : NULL;

    *deleted = 0;
    error = error ? error : db_file_begin(&db->file);
    error = error ? error
                  : series_db_trim(db, &job->limits, now_wall_ms(),
                                   job->n + TRIM_ROWS, deleted);
    error = error ? error : put_rows__(db, job);
    error = error ? error : db_file_commit(&db->file);
    if (error) {
        db_file_rollback(&db->file);
        *deleted = 0;
    }
    return error;
}

/* Records how 'n' rows were written. */
static void
count__(struct series *series, char *error, size_t n, size_t deleted)
{
    uint64_t size;
    char *size_error = series_db_size(&series->db, &size);

    pthread_mutex_lock(&series->mutex);
    if (error) {
        series->stats.dropped += n;
    } else {
        series->stats.written += n;
        series->stats.deleted += deleted;
    }
    if (!size_error) {
        series->stats.size = size;
    }
    free(series->error);
    series->error = error;
    pthread_mutex_unlock(&series->mutex);
    free(size_error);
}

/* Deletes what is beyond the limits, as long as nobody waits. */
static void
trim_all__(struct series *series, const struct series_job *job)
{
    size_t deleted;

    do {
        char *error = write_rows__(&series->db, job, &deleted);

        count__(series, error, 0, deleted);
    } while (deleted && !worker_has_more(series->worker));
}

static bool
is_cancelled__(void *request_)
{
    struct series_request *request = request_;

    return atomic_load(&request->cancelled);
}

static void
run_job__(struct series *series, struct series_job *job)
{
    struct series_request *request = (struct series_request *) job;
    size_t deleted;
    char *error;

    switch (job->type) {
    case JOB_SAMPLES:
    case JOB_EPOCHS:
        error = write_rows__(&series->db, job, &deleted);
        count__(series, error, job->n, deleted);
        break;
    case JOB_QUERY:
        request->error =
            series_db_query(&series->db, &request->query, is_cancelled__,
                            request, &request->rows);
        break;
    case JOB_TRIM:
        trim_all__(series, job);
        break;
    }
}

static void
work__(void *series_, struct worker_job *jobs)
{
    struct series *series = series_;

    for (; jobs; jobs = jobs->next) {
        run_job__(series, (struct series_job *) jobs);
    }
    db_file_checkpoint(&series->db.file, CHECKPOINT_PAGES);
}

/* The event loop's part. */

static void
request_report__(struct series_request *request)
{
    const struct series_rows *rows = &request->rows;
    const struct series_result result = {
        .samples = rows->samples,
        .n_samples = rows->n_samples,
        .epochs = rows->epochs,
        .n_epochs = rows->n_epochs,
        .truncated = rows->truncated,
    };

    if (!atomic_load(&request->cancelled)) {
        request->cb(request->aux, request->error,
                    request->error ? NULL : &result);
    }
    free(request->rows.samples);
    free(request->rows.epochs);
    free(request->error);
    free(request);
}

static void
report__(void *series_, struct worker_job *job_)
{
    struct series_job *job = (struct series_job *) job_;
    struct series *series = series_;

    if (job->type == JOB_QUERY) {
        request_report__((struct series_request *) job);
    } else {
        series->n_queued -= job->n;
        free(job->rows);
        free(job);
    }
}

/* Has the worker write 'n' rows of 'size' bytes each, which are copied. */
static void
submit__(struct series *series, enum job_type type, const void *rows, size_t n,
         size_t size)
{
    struct series_job *job = mem_zalloc(sizeof *job);

    job->type = type;
    job->limits = series->limits;
    job->rows = n ? mem_dup(rows, n * size) : NULL;
    job->n = n;
    series->n_queued += n;
    worker_submit(series->worker, &job->node);
}

static void
append__(struct series *series, enum job_type type, const void *rows, size_t n,
         size_t size)
{
    if (!series || !n || !series->limits.max_age) {
        return;
    }
    if (n > SERIES_QUEUE_MAX - series->n_queued) {
        pthread_mutex_lock(&series->mutex);
        series->stats.dropped += n;
        pthread_mutex_unlock(&series->mutex);
        return;
    }
    submit__(series, type, rows, n, size);
}

/* Has the 'n' 'samples' written.  If too many wait already, drops them. */
void
series_append(struct series *series, const struct series_sample *samples,
              size_t n)
{
    append__(series, JOB_SAMPLES, samples, n, sizeof *samples);
}

/* As series_append(), for epochs. */
void
series_append_epochs(struct series *series, const struct series_epoch *epochs,
                     size_t n)
{
    append__(series, JOB_EPOCHS, epochs, n, sizeof *epochs);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *series)
{
    (void) fd;
    (void) events;
    submit__(series, JOB_TRIM, NULL, 0, 0);
}

/* Has rows that are there and will come kept as 'limits' says. */
void
series_set_limits(struct series *series, const struct series_limits *limits)
{
    if (series) {
        series->limits = *limits;
        submit__(series, JOB_TRIM, NULL, 0, 0);
    }
}

/* Opens 'file', which is made if it is not there, as a series that reports to
 * the loop of 'base'.  Returns NULL and stores it in '*seriesp', or returns an
 * error, which the caller must free. */
char *
series_open(struct event_base *base, const char *file,
            const struct series_limits *limits, struct series **seriesp)
{
    static const struct worker_ops ops = { work__, NULL, report__ };
    static const struct timeval interval = { TRIM_INTERVAL, 0 };
    struct series *series = mem_zalloc(sizeof *series);
    char *error = series_db_open(&series->db, file);
    int err;

    *seriesp = NULL;
    if (error) {
        free(series);
        return error;
    }
    pthread_mutex_init(&series->mutex, NULL);
    series->timer = event_new(base, -1, EV_PERSIST, timer_cb__, series);
    event_add(series->timer, &interval);
    err = worker_create(base, &ops, series, &series->worker);
    if (err) {
        series_close(series);
        return mem_printf("history: no writer: %s", strerror(err));
    }
    series_set_limits(series, limits);
    *seriesp = series;
    return NULL;
}

/* Closes 'series' when everything is written and reported. */
void
series_close(struct series *series)
{
    if (series) {
        worker_destroy(series->worker);
        event_free(series->timer);
        series_db_close(&series->db);
        pthread_mutex_destroy(&series->mutex);
        free(series->error);
        free(series);
    }
}

/* Queries. */

/* Looks for what 'query' asks for, and calls 'cb' with that.  Returns what
 * series_cancel() takes until then. */
struct series_request *
series_query(struct series *series, const struct series_query *query,
             series_cb *cb, void *aux)
{
    struct series_request *request = mem_zalloc(sizeof *request);

    request->job.type = JOB_QUERY;
    request->query = *query;
    if (query->limit > SERIES_LIMIT_MAX) {
        request->query.limit = SERIES_LIMIT_MAX;
    }
    request->cb = cb;
    request->aux = aux;
    atomic_init(&request->cancelled, false);
    pthread_mutex_lock(&series->mutex);
    series->stats.queries++;
    pthread_mutex_unlock(&series->mutex);
    worker_submit(series->worker, &request->job.node);
    return request;
}

/* Gives up 'request', which may be NULL: its call back will not come. */
void
series_cancel(struct series_request *request)
{
    if (request) {
        atomic_store(&request->cancelled, true);
    }
}

/* Stores in '*stats' what became of rows so far. */
void
series_get_stats(struct series *series, struct series_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    if (series) {
        pthread_mutex_lock(&series->mutex);
        *stats = series->stats;
        pthread_mutex_unlock(&series->mutex);
        stats->queue = series->n_queued;
    }
}

/* Returns why nothing could be written the last time, which the caller must
 * free, or NULL. */
char *
series_get_error(struct series *series)
{
    char *error = NULL;

    if (series) {
        pthread_mutex_lock(&series->mutex);
        error = series->error ? mem_strdup(series->error) : NULL;
        pthread_mutex_unlock(&series->mutex);
    }
    return error;
}
