/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: what was, over time.
 *
 * Series have names, which a selector with "*" in it may match several of:
 *
 *     /lb/RESERVATION/session/SESSION/METRIC
 *     /lb/RESERVATION/epoch/boundary_event
 *
 * One reservation after the other is asked for, its workers and its epochs, and
 * what the token may not read is left out. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/series.h"

#define SELECTORS_MAX 64
#define SELECTOR_MAX 255 /* Bytes; each is tried on thousands of names. */
#define ROWS_MAX 20000   /* Of all reservations together. */

/* A job that waits for rows. */
struct reading {
    struct lb_job *job;
    uint64_t *reservations; /* In the job's arena. */
    size_t n;
    size_t next;           /* Index of the one that is read, */
    enum series_kind kind; /* and what of it. */
    int64_t since;
    size_t n_rows; /* That are left to read. */
    Loadbalancer__TimeseriesResponse *reply;
};

/* Selectors. */

/* Does 'name' match 'selector', in which "*" stands for any text? */
static bool
matches__(const char *selector, const char *name)
{
    const char *star = NULL;
    const char *resume = NULL;

    while (*name) {
        if (*selector == '*') {
            star = ++selector;
            resume = name;
        } else if (*selector == *name) {
            selector++;
            name++;
        } else if (star) {
            selector = star;
            name = ++resume;
        } else {
            return false;
        }
    }
    return !selector[strspn(selector, "*")];
}

static bool
is_selected__(const struct lb_job *job, const char *name)
{
    const Loadbalancer__TimeseriesRequest *m = (const void *) job->request;

    for (size_t i = 0; i < m->n_seriesselector; i++) {
        if (matches__(m->seriesselector[i], name)) {
            return true;
        }
    }
    return false;
}

/* Can 'selector' match a name that begins with 'prefix'? */
static bool
may_match__(const char *selector, const char *prefix)
{
    size_t n = strcspn(selector, "*");
    size_t m = strlen(prefix);

    return !strncmp(selector, prefix, n < m ? n : m)
           && (selector[n] == '*' || n > m);
}

static bool
is_wanted__(const struct lb_job *job, const char *prefix)
{
    const Loadbalancer__TimeseriesRequest *m = (const void *) job->request;

    for (size_t i = 0; i < m->n_seriesselector; i++) {
        if (may_match__(m->seriesselector[i], prefix)) {
            return true;
        }
    }
    return false;
}

/* May whoever calls read of 'session', or if that is 0, of the whole
 * 'reservation'? */
static bool
may_read__(const struct lb_job *job, uint64_t reservation, uint64_t session)
{
    const struct book *book = engine_get_book(job->lb->engine);
    const struct token *token = token_tree_find(book->tokens, job->caller);
    const struct reservation *r = book_find_reservation(book, reservation);
    struct token_scope scope;

    if (!token || !r) {
        return false;
    }
    scope = lb_reservation_scope(r);
    scope.session = session;
    return token_allows(token, TOKEN_READ_ONLY, &scope);
}

/* Metrics. */

/* What there is of each worker.  'offset' is in struct series_sample.
 *
 *      name                        type   member */
#define METRICS                                                           \
    METRIC("fillPercent", "", REAL, fill)                                 \
    METRIC("controlSignal", "", REAL, control)                            \
    METRIC("isReady", "", FLAG, ready)                                    \
    METRIC("totalEventsRecv", "events", COUNT, events_received)           \
    METRIC("totalEventsReassembled", "events", COUNT, events_reassembled) \
    METRIC("totalEventsReassemblyErr", "events", COUNT,                   \
           events_reassembly_errors)                                      \
    METRIC("totalEventsDequeued", "events", COUNT, events_dequeued)       \
    METRIC("totalEventEnqueueErr", "events", COUNT, event_enqueue_errors) \
    METRIC("totalBytesRecv", "bytes", COUNT, bytes_received)              \
    METRIC("totalPacketsRecv", "packets", COUNT, packets_received)        \
    METRIC("slots", "slots", SLOTS, slots)

enum metric_type {
    METRIC_REAL,  /* double */
    METRIC_FLAG,  /* bool */
    METRIC_COUNT, /* int64_t */
    METRIC_SLOTS  /* uint32_t */
};

static const struct metric {
    const char *name;
    const char *unit;
    enum metric_type type;
    size_t offset;
} metrics[] = {
#define METRIC(NAME, UNIT, TYPE, MEMBER) \
    { NAME, UNIT, METRIC_##TYPE, offsetof(struct series_sample, MEMBER) },
    METRICS
#undef METRIC
};

static int64_t
get_integer__(const struct metric *metric, const struct series_sample *sample)
{
    const char *p = (const char *) sample + metric->offset;

    switch (metric->type) {
    case METRIC_REAL:
        break;
    case METRIC_FLAG:
        return *(const bool *) p;
    case METRIC_COUNT:
        return *(const int64_t *) (const void *) p;
    case METRIC_SLOTS:
        return *(const uint32_t *) (const void *) p;
    }
    return 0;
}

/* Series. */

/* Adds to 'reading''s reply a series 'name' without samples. */
static Loadbalancer__Timeseries *
add_series__(struct reading *reading, const char *name, const char *unit)
{
    struct arena *arena = &reading->job->arena;
    Loadbalancer__Timeseries *m = ARENA_NEW(arena, Loadbalancer__Timeseries,
                                            LOADBALANCER__TIMESERIES__INIT);
    Loadbalancer__TimeseriesResponse *reply = reading->reply;

    m->name = arena_strdup(arena, name);
    m->unit = arena_strdup(arena, unit);
    reply->timeseries = (Loadbalancer__Timeseries **) arena_append(
        arena, (void **) reply->timeseries, &reply->n_timeseries, m);
    return m;
}

/* Has 'm' have 'n' integers, which are all 0 at the time 0. */
static Loadbalancer__IntegerSample *
add_integers__(struct arena *arena, Loadbalancer__Timeseries *m, size_t n)
{
    static const Loadbalancer__IntegerSample zero =
        LOADBALANCER__INTEGER_SAMPLE__INIT;
    Loadbalancer__IntegerSample *samples =
        arena_alloc(arena, n * sizeof *samples);

    m->timeseries_case = LOADBALANCER__TIMESERIES__TIMESERIES_INTEGER_SAMPLES;
    m->integer_samples = ARENA_NEW(arena, Loadbalancer__IntegerTimeseries,
                                   LOADBALANCER__INTEGER_TIMESERIES__INIT);
    m->integer_samples->data = arena_pointers(arena, n);
    m->integer_samples->n_data = n;
    for (size_t i = 0; i < n; i++) {
        samples[i] = zero;
        m->integer_samples->data[i] = &samples[i];
    }
    return samples;
}

/* Likewise, real numbers. */
static Loadbalancer__FloatSample *
add_reals__(struct arena *arena, Loadbalancer__Timeseries *m, size_t n)
{
    static const Loadbalancer__FloatSample zero =
        LOADBALANCER__FLOAT_SAMPLE__INIT;
    Loadbalancer__FloatSample *samples =
        arena_alloc(arena, n * sizeof *samples);

    m->timeseries_case = LOADBALANCER__TIMESERIES__TIMESERIES_FLOAT_SAMPLES;
    m->float_samples = ARENA_NEW(arena, Loadbalancer__FloatTimeseries,
                                 LOADBALANCER__FLOAT_TIMESERIES__INIT);
    m->float_samples->data = arena_pointers(arena, n);
    m->float_samples->n_data = n;
    for (size_t i = 0; i < n; i++) {
        samples[i] = zero;
        m->float_samples->data[i] = &samples[i];
    }
    return samples;
}

/* Adds 'metric' of one worker, as the 'n' 'samples' say, if it is selected. */
static void
add_metric__(struct reading *reading, const struct metric *metric,
             const struct series_sample *const *samples, size_t n)
{
    struct arena *arena = &reading->job->arena;
    Loadbalancer__Timeseries *m;
    char name[128];

    snprintf(name, sizeof name, "/lb/%" PRIu64 "/session/%" PRIu64 "/%s",
             samples[0]->reservation, samples[0]->session, metric->name);
    if (!is_selected__(reading->job, name)) {
        return;
    }
    m = add_series__(reading, name, metric->unit);
    if (metric->type == METRIC_REAL) {
        Loadbalancer__FloatSample *reals = add_reals__(arena, m, n);

        for (size_t i = 0; i < n; i++) {
            const char *p = (const char *) samples[i] + metric->offset;

            reals[i].timestamp = samples[i]->time;
            reals[i].value = (float) *(const double *) (const void *) p;
        }
    } else {
        Loadbalancer__IntegerSample *integers = add_integers__(arena, m, n);

        for (size_t i = 0; i < n; i++) {
            integers[i].timestamp = samples[i]->time;
            integers[i].value = get_integer__(metric, samples[i]);
        }
    }
}

static int
compare__(const void *a_, const void *b_)
{
    const struct series_sample *a = *(const struct series_sample *const *) a_;
    const struct series_sample *b = *(const struct series_sample *const *) b_;

    return (a->session != b->session ? (a->session < b->session ? -1 : 1)
            : a->time != b->time     ? (a->time < b->time ? -1 : 1)
                                     : 0);
}

static void
add_samples__(struct reading *reading, const struct series_result *result)
{
    size_t n = result->n_samples;
    const struct series_sample **samples =
        arena_pointers(&reading->job->arena, n);

    for (size_t i = 0; i < n; i++) {
        samples[i] = &result->samples[i];
    }
    qsort(samples, n, sizeof(const struct series_sample *), compare__);
    for (size_t i = 0; i < n;) {
        const struct series_sample *const *first = &samples[i];
        size_t begin = i;

        while (i < n && samples[i]->session == (*first)->session) {
            i++;
        }
        if (may_read__(reading->job, (*first)->reservation,
                       (*first)->session)) {
            for (size_t j = 0; j < sizeof metrics / sizeof metrics[0]; j++) {
                add_metric__(reading, &metrics[j], first, i - begin);
            }
        }
    }
}

static void
add_epochs__(struct reading *reading, const struct series_result *result)
{
    Loadbalancer__IntegerSample *integers;
    Loadbalancer__Timeseries *m;
    uint64_t reservation = reading->reservations[reading->next];
    char name[64];

    snprintf(name, sizeof name, "/lb/%" PRIu64 "/epoch/boundary_event",
             reservation);
    if (result->n_epochs && is_selected__(reading->job, name)
        && may_read__(reading->job, reservation, 0)) {
        m = add_series__(reading, name, "events");
        integers = add_integers__(&reading->job->arena, m, result->n_epochs);
        for (size_t i = 0; i < result->n_epochs; i++) {
            integers[i].timestamp = result->epochs[i].time;
            integers[i].value = (int64_t) result->epochs[i].boundary;
        }
    }
}

/* Reading. */

static void read_next__(struct reading *);

static void
result_cb__(void *reading_, const char *error,
            const struct series_result *result)
{
    struct reading *reading = reading_;

    if (error) {
        lb_finish(reading->job,
                  lb_refuse(reading->job, GRPC_UNAVAILABLE, "%s", error));
        return;
    }
    switch (reading->kind) {
    case SERIES_SAMPLES:
        add_samples__(reading, result);
        reading->kind = SERIES_EPOCHS;
        break;
    case SERIES_EPOCHS:
        add_epochs__(reading, result);
        reading->kind = SERIES_SAMPLES;
        reading->next++;
        break;
    }
    reading->n_rows -= result->n_samples + result->n_epochs;
    read_next__(reading);
}

/* Asks for what is to be read next, or answers the call. */
static void
read_next__(struct reading *reading)
{
    struct series *series = engine_get_series(reading->job->lb->engine);

    if (reading->next < reading->n && reading->n_rows && series) {
        series_query(series,
                     &(struct series_query){
                         .kind = reading->kind,
                         .reservation = reading->reservations[reading->next],
                         .since = reading->since,
                         .limit = reading->n_rows,
                     },
                     result_cb__, reading);
    } else {
        reading->job->reply = &reading->reply->base;
        lb_finish(reading->job, NULL);
    }
}

/* Stores in 'reading' the reservations that selectors may be about. */
static void
find_reservations__(struct reading *reading)
{
    struct lb_job *job = reading->job;
    size_t n = job->book->reservations.n;

    reading->reservations =
        arena_alloc(&job->arena, n * sizeof *reading->reservations);
    for (size_t i = 0; i < n; i++) {
        uint64_t id = job->book->reservations.entries[i]->id;
        char prefix[32];

        snprintf(prefix, sizeof prefix, "/lb/%" PRIu64 "/", id);
        if (is_wanted__(job, prefix)) {
            reading->reservations[reading->n++] = id;
        }
    }
}

static char *
check_selectors__(struct lb_job *job, const Loadbalancer__TimeseriesRequest *m)
{
    if (m->n_seriesselector < 1 || m->n_seriesselector > SELECTORS_MAX) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "seriesSelector: %zu are not from 1 to %d, such as "
                         "\"/lb/1/*\"",
                         m->n_seriesselector, SELECTORS_MAX);
    }
    for (size_t i = 0; i < m->n_seriesselector; i++) {
        if (strlen(m->seriesselector[i]) > SELECTOR_MAX) {
            return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                             "seriesSelector[%zu]: has more than %d "
                             "characters",
                             i, SELECTOR_MAX);
        }
    }
    return NULL;
}

char *
lb_timeseries(struct lb_job *job)
{
    const Loadbalancer__TimeseriesRequest *m = (const void *) job->request;
    struct reading *reading = arena_alloc(&job->arena, sizeof *reading);
    int64_t since = 0;
    char *error = check_selectors__(job, m);

    if (!error && m->since) {
        error = lb_parse_time(job, "since", m->since, &since);
    }
    if (error) {
        return error;
    }
    reading->job = job;
    reading->since = since > 0 ? since : 0;
    reading->n_rows = ROWS_MAX;
    reading->reply = ARENA_NEW(&job->arena, Loadbalancer__TimeseriesResponse,
                               LOADBALANCER__TIMESERIES_RESPONSE__INIT);
    reading->reply->since = lb_make_time(&job->arena, reading->since);
    find_reservations__(reading);
    read_next__(reading);
    return NULL;
}
