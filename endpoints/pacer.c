/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/pacer.h"

#define NS_PER_S 1e9

/* Returns a pace of one unit each 'interval' ns, 0 for no limit. */
static struct pacer_pace
pace(double interval)
{
    return (struct pacer_pace){
        .mean.interval = interval,
        .mean.max_lag = PACER_MAX_LAG,
        .peak.interval = interval / PACER_CATCH_UP,
        .peak.max_lag = PACER_MAX_BURST,
    };
}

/* Starts pacing at 'now', with 'events_per_s' events a second and 'gbps' 10**9
 * bits a second, each 0 for no limit. */
void
pacer_init(struct pacer *p, double events_per_s, double gbps, int64_t now)
{
    *p = (struct pacer){
        .start = now,
        .events = pace(events_per_s > 0 ? NS_PER_S / events_per_s : 0),
        .bytes = pace(gbps > 0 ? 8 / gbps : 0),
    };
}

static double
pace_due(const struct pacer_pace *pace)
{
    return pace->mean.due > pace->peak.due ? pace->mean.due : pace->peak.due;
}

/* Returns when the next packet may be sent, which 'starts_event' or not.  It
 * may lie in the past. */
int64_t
pacer_due(const struct pacer *p, bool starts_event)
{
    double due = pace_due(&p->bytes);

    if (starts_event && pace_due(&p->events) > due) {
        due = pace_due(&p->events);
    }
    return p->start + (int64_t) due;
}

/* Moves 'line' on by 'units' that went at 'elapsed' ns after the start. */
static void
line_advance(struct pacer_line *line, size_t units, double elapsed)
{
    double oldest = elapsed - line->max_lag;

    if (line->interval > 0) {
        line->due = line->due < oldest ? oldest : line->due;
        line->due += units * line->interval;
    }
}

static void
pace_advance(struct pacer_pace *pace, size_t units, double elapsed)
{
    line_advance(&pace->mean, units, elapsed);
    line_advance(&pace->peak, units, elapsed);
}

/* Notes that at 'now' a packet of 'bytes' bytes was sent, which 'starts_event'
 * or not. */
void
pacer_sent(struct pacer *p, bool starts_event, size_t bytes, int64_t now)
{
    double elapsed = now - p->start;

    pace_advance(&p->bytes, bytes, elapsed);
    if (starts_event) {
        pace_advance(&p->events, 1, elapsed);
    }
}
