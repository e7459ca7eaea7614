/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_WORKER_H
#define EVLB_WORKER_H 1

/* A thread that does for an event loop what may block.
 *
 *     event loop --- jobs ---> queue ---> work(), in the thread
 *                <-- report(), in the loop ---'
 *
 * work() gets all jobs that wait, at once.  Jobs are worked on and reported in
 * the order in which they were submitted, each exactly once. */

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct worker;

/* What jobs begin with. */
struct worker_job {
    struct worker_job *next;
};

struct worker_ops {
    /* Works on 'jobs', which are linked.  In the thread. */
    void (*work)(void *aux, struct worker_job *jobs);

    /* Nothing waits at the moment.  In the thread; may be NULL. */
    void (*idle)(void *aux);

    /* 'job' was worked on, and is given back.  In the event loop. */
    void (*report)(void *aux, struct worker_job *job);
};

int worker_create(struct event_base *, const struct worker_ops *, void *aux,
                  struct worker **);
void worker_destroy(struct worker *);

void worker_submit(struct worker *, struct worker_job *);
size_t worker_count(struct worker *);
bool worker_has_more(struct worker *);

#endif /* worker.h */
