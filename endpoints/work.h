/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_WORK_H
#define ENDPOINTS_WORK_H 1

/* The queue of whole events in front of a compute node's own processing.
 *
 * A real node takes events from such a queue at the pace of its computation;
 * here that is a given number of events a second, one after the other, each of
 * which leaves the queue when it is done.  Without such a pace each event is
 * taken at once.
 * An event that finds the queue full is lost, and counted. */

#include <stdbool.h>
#include <stdint.h>

struct work {
    uint64_t size;    /* Events that fit. */
    int64_t each;     /* Time that an event takes, ns; 0 for none. */
    uint64_t queued;  /* Events in the queue. */
    int64_t taken_at; /* When the next one is taken, ns. */

    uint64_t n_taken; /* Events taken from the queue. */
    uint64_t n_lost;  /* Events that found it full. */
};

void work_init(struct work *, uint64_t size, double events_per_s);
void work_put(struct work *, int64_t now);
void work_run(struct work *, int64_t now);
double work_fill(const struct work *);

#endif /* endpoints/work.h */
