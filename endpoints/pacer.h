/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_PACER_H
#define ENDPOINTS_PACER_H 1

/* When a sender may send its next packet.
 *
 * Two schedules, either of which may be absent: so many events a second, and
 * so many bits a second.  A packet is due when both allow it; the first
 * schedule binds only the first packet of an event.
 *
 * What oversleeping delayed is caught up with, but no more than PACER_MAX_LAG
 * of it, and at no more than PACER_CATCH_UP times the pace: beside each
 * schedule there is one that is faster by that and forgets all but
 * PACER_MAX_BURST.  So a sender that was held up does not answer with a burst
 * that overflows the next buffer.
 *
 * No I/O and no clock: times are nanoseconds that the caller gives. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACER_MAX_LAG INT64_C(100000000) /* ns. */
#define PACER_MAX_BURST INT64_C(1000000) /* ns. */
#define PACER_CATCH_UP 2                 /* Times the pace. */

/* One schedule. */
struct pacer_line {
    double interval; /* ns for each unit, 0 for no limit. */
    double due;      /* When the next unit may go, from 'start'. */
    double max_lag;  /* ns of delay to make up for. */
};

/* A schedule, and the one that bounds how fast it is caught up with. */
struct pacer_pace {
    struct pacer_line mean;
    struct pacer_line peak;
};

struct pacer {
    int64_t start;            /* When pacing began. */
    struct pacer_pace events; /* A unit is an event. */
    struct pacer_pace bytes;  /* A unit is a byte. */
};

void pacer_init(struct pacer *, double events_per_s, double gbps, int64_t now);
int64_t pacer_due(const struct pacer *, bool starts_event);
void pacer_sent(struct pacer *, bool starts_event, size_t bytes, int64_t now);

#endif /* endpoints/pacer.h */
