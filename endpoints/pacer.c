/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/pacer.h"

#define NS_PER_S 1e9

/* Starts pacing at 'now', with 'events_per_s' events a second and 'gbps' 10**9
 * bits a second, each 0 for no limit. */
void
pacer_init(struct pacer *p, double events_per_s, double gbps, int64_t now)
{
    *p = (struct pacer){
        .start = now,
        .events.interval = events_per_s > 0 ? NS_PER_S / events_per_s : 0,
        .bytes.interval = gbps > 0 ? 8 / gbps : 0,
    };
}

/* Returns when the next packet may be sent, which 'starts_event' or not.  It
 * may lie in the past. */
int64_t
pacer_due(const struct pacer *p, bool starts_event)
{
    double due = p->bytes.due;

    if (starts_event && p->events.due > due) {
        due = p->events.due;
    }
    return p->start + (int64_t) due;
}

/* Moves 'line' on by 'units' that went at 'elapsed' ns after the start. */
static void
line_advance(struct pacer_line *line, size_t units, double elapsed)
{
    double oldest = elapsed - PACER_MAX_LAG;

    if (line->interval > 0) {
        line->due = line->due < oldest ? oldest : line->due;
        line->due += units * line->interval;
    }
}

/* Notes that at 'now' a packet of 'bytes' bytes was sent, which 'starts_event'
 * or not. */
void
pacer_sent(struct pacer *p, bool starts_event, size_t bytes, int64_t now)
{
    double elapsed = now - p->start;

    line_advance(&p->bytes, bytes, elapsed);
    if (starts_event) {
        line_advance(&p->events, 1, elapsed);
    }
}
