/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_LEAD_RUN_H
#define EVLB_LEAD_RUN_H 1

/* One measurement of how long a change takes to reach the packets.
 *
 * From the moment at which a change is handed over, packets are sent that come
 * back with the number of the change that decided them:
 *
 *      hand-over         first by the new     last by the old     settled
 *         |----- old ----------|-- old and new ------|----- new -----|
 *         `------------------ the lead --------------'
 *
 * A boundary has to lie further ahead than this.  What the replies say may come
 * from several threads of the data plane, so new ones and old ones can be
 * mixed; the measurement ends when no old one came for a while.
 *
 * This does no I/O; all times are in microseconds of a monotonic clock. */

#include <stdbool.h>
#include <stdint.h>

#define LEAD_RUN_GAP_US 1000        /* Between packets. */
#define LEAD_RUN_SETTLE_US 200000   /* Without old replies, until the end. */
#define LEAD_RUN_TIMEOUT_US 5000000 /* Until a change is given up. */

enum lead_run_state {
    LEAD_RUN_WAITING, /* Send more packets. */
    LEAD_RUN_DONE,    /* The lead is known. */
    LEAD_RUN_FAILED   /* The change did not reach the packets in time. */
};

struct lead_run {
    uint16_t change;   /* The number of the change that is measured. */
    int64_t began;     /* When it was handed over. */
    int64_t first_new; /* The first reply by it, or 0. */
    int64_t last_old;  /* The last reply by another one, or 0. */
    unsigned int n_replies;
};

void lead_run_start(struct lead_run *, uint16_t change, int64_t now);
void lead_run_reply(struct lead_run *, uint16_t change, int64_t now);
enum lead_run_state lead_run_check(const struct lead_run *, int64_t now);
int64_t lead_run_get_lead(const struct lead_run *);

#endif /* lead-run.h */
