/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_SERIES_H
#define EVLB_SERIES_H 1

/* History: what workers told and what epochs began, over time.
 *
 *     event loop --- rows, queries ---> queue ---> thread ---> SQLite
 *                <------ results ------------------'
 *
 * It has a file and a thread of its own, so that nothing of it delays a change
 * in the store, and it is soft: rows may be lost when the machine dies, when
 * the disk is full, or when more come than can be written, and then they are
 * counted.  Rows that are older than they need be, or that the file has no room
 * for, are deleted, the oldest ones first, a few at a time.
 *
 * A result's call back comes from the event loop, exactly once, unless the
 * query is cancelled before.  All functions but series_query() accept NULL as a
 * series, which keeps nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct series;
struct series_request;

#define SERIES_LIMIT_MAX 100000 /* Rows of a result. */
#define SERIES_QUEUE_MAX 50000  /* Rows that wait to be written. */

/* A worker in a period.  Times are in ms since 1970. */
struct series_sample {
    uint64_t reservation;
    uint64_t session;
    int64_t time;
    double fill;
    double control;
    bool ready;
    int64_t events_received;
    int64_t events_reassembled;
    int64_t events_reassembly_errors;
    int64_t events_dequeued;
    int64_t event_enqueue_errors;
    int64_t bytes_received;
    int64_t packets_received;
    uint32_t slots;
};

/* An epoch that was connected. */
struct series_epoch {
    uint64_t reservation;
    int64_t time;
    uint16_t instance;
    uint16_t epoch;
    uint64_t boundary;
    uint64_t seed; /* Of its calendar. */
};

/* What is kept. */
struct series_limits {
    int64_t max_age;   /* Of rows, in ms; 0 for no rows at all. */
    uint64_t max_size; /* Of what is in the file, in bytes. */
};

char *series_open(struct event_base *, const char *file,
                  const struct series_limits *, struct series **);
void series_close(struct series *);
void series_set_limits(struct series *, const struct series_limits *);

void series_append(struct series *, const struct series_sample *, size_t n);
void
series_append_epochs(struct series *, const struct series_epoch *, size_t n);

enum series_kind {
    SERIES_SAMPLES,
    SERIES_EPOCHS
};

struct series_query {
    enum series_kind kind;
    uint64_t reservation;
    uint64_t session; /* Of SERIES_SAMPLES: only this one's, or 0 for all. */
    int64_t since;    /* No row that is older. */
    size_t limit;     /* No more rows; at most SERIES_LIMIT_MAX. */
};

/* Rows by ascending time. */
struct series_result {
    const struct series_sample *samples;
    size_t n_samples;
    const struct series_epoch *epochs;
    size_t n_epochs;
    bool truncated; /* Were there more than the limit?  They are later. */
};

/* 'error' is NULL, or says why there is no result. */
typedef void
series_cb(void *aux, const char *error, const struct series_result *result);

struct series_request *
series_query(struct series *, const struct series_query *, series_cb *,
             void *aux);
void series_cancel(struct series_request *);

struct series_stats {
    uint64_t written; /* Rows that were written, */
    uint64_t dropped; /* not, */
    uint64_t deleted; /* and not any more. */
    uint64_t queries;
    uint64_t size; /* Of what is in the file, in bytes. */
    size_t queue;  /* Rows that wait. */
};

void series_get_stats(struct series *, struct series_stats *);
char *series_get_error(struct series *);

#endif /* series.h */
