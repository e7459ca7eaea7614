/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/work.h"

#include "endpoints/util.h"

/* Prepares a queue for 'size' events, of which 'events_per_s' are taken each
 * second, or all at once if that is 0. */
void
work_init(struct work *w, uint64_t size, double events_per_s)
{
    *w = (struct work){
        .size = size,
        .each = events_per_s > 0 ? NS_PER_S / events_per_s : 0,
    };
}

/* Takes the events out of 'w' whose time has come at 'now'. */
void
work_run(struct work *w, int64_t now)
{
    uint64_t n;

    if (!w->queued || now < w->taken_at) {
        return;
    }
    n = 1 + (now - w->taken_at) / w->each;
    n = n < w->queued ? n : w->queued;
    w->queued -= n;
    w->n_taken += n;
    w->taken_at += n * w->each;
}

/* Puts an event into 'w' at 'now'. */
void
work_put(struct work *w, int64_t now)
{
    work_run(w, now);
    if (!w->each) {
        w->n_taken++;
    } else if (w->queued >= w->size) {
        w->n_lost++;
    } else if (!w->queued++) {
        w->taken_at = now + w->each;
    }
}

/* Returns how full 'w' is, 0 to 1. */
double
work_fill(const struct work *w)
{
    return w->size ? w->queued / (double) w->size : 0;
}
