/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/lead-run.h"

static int64_t
max__(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Begins to measure 'change', which is handed over at 'now'. */
void
lead_run_start(struct lead_run *run, uint16_t change, int64_t now)
{
    *run = (struct lead_run){ .change = change, .began = now };
}

/* Takes a reply that was decided by 'change'. */
void
lead_run_reply(struct lead_run *run, uint16_t change, int64_t now)
{
    run->n_replies++;
    if (change != run->change) {
        run->last_old = now;
    } else if (!run->first_new) {
        run->first_new = now;
    }
}

/* Returns how far 'run' is at 'now'. */
enum lead_run_state
lead_run_check(const struct lead_run *run, int64_t now)
{
    int64_t unsettled = max__(run->first_new, run->last_old);

    if (run->first_new && now - unsettled >= LEAD_RUN_SETTLE_US) {
        return LEAD_RUN_DONE;
    }
    return (now - run->began >= LEAD_RUN_TIMEOUT_US ? LEAD_RUN_FAILED
                                                    : LEAD_RUN_WAITING);
}

/* Returns the lead in microseconds, at least 1, of a run that is done. */
int64_t
lead_run_get_lead(const struct lead_run *run)
{
    return max__(1, max__(run->first_new, run->last_old) - run->began);
}
