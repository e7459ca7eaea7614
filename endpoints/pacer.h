/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_PACER_H
#define ENDPOINTS_PACER_H 1

/* When a sender may send its next packet.
 *
 * Two schedules, either of which may be absent: so many events a second, and
 * so many bits a second.  A packet is due when both allow it; the first
 * schedule binds only the first packet of an event.  What oversleeping delayed
 * is caught up with, but no more than PACER_MAX_LAG of it, so that a sender
 * that was held up does not answer with a long burst.
 *
 * No I/O and no clock: times are nanoseconds that the caller gives. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACER_MAX_LAG INT64_C(100000000) /* ns. */

/* One schedule. */
struct pacer_line {
    double interval; /* ns for each unit, 0 for no limit. */
    double due;      /* When the next unit may go, from 'start'. */
};

struct pacer {
    int64_t start;            /* When pacing began. */
    struct pacer_line events; /* A unit is an event. */
    struct pacer_line bytes;  /* A unit is a byte. */
};

void pacer_init(struct pacer *, double events_per_s, double gbps, int64_t now);
int64_t pacer_due(const struct pacer *, bool starts_event);
void pacer_sent(struct pacer *, bool starts_event, size_t bytes, int64_t now);

#endif /* endpoints/pacer.h */
