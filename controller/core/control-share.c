/* SPDX-License-Identifier: Apache-2.0 */

/* Shares: the part of the events that a worker is to get. */

#include "controller/core/control-private.h"

#include <math.h>
#include <stdlib.h>

#include "controller/core/epoch.h"

#define SHARE_MEAN 1000.0 /* Of workers that get slots. */
#define SHARE_MAX 1e9     /* Before they are scaled to that. */
#define SHARE_SCALE 4096  /* From a share to a calendar's weight. */

/* Above what the mean loses when shares become weights. */
#define SHARE_PRECISION 1e-6

static int
compare_share__(const void *member_, const void *share_)
{
    const uint16_t *member = member_;
    const struct calendar_share *share = share_;

    return (*member > share->member) - (*member < share->member);
}

/* Returns what the newest calendar was made from for 's', or NULL. */
const struct calendar_share *
control_find_share__(const struct step *step, const struct session *s)
{
    const struct calendar *calendar =
        step->newest ? step->newest->calendar : NULL;

    return calendar ? bsearch(&s->member, calendar->shares, calendar->n_shares,
                              sizeof *calendar->shares, compare_share__)
                    : NULL;
}

/* Returns what 's' begins with: after a restart, what it had. */
static double
get_first_share__(const struct step *step, const struct session *s)
{
    const struct calendar_share *had = control_find_share__(step, s);

    return had ? (double) had->weight / SHARE_SCALE : SHARE_MEAN * s->weight;
}

/* Takes in what 's' reported since the last period, unless nothing is to change
 * but for workers that leave. */
static void
update_share__(const struct step *step, const struct session *s)
{
    struct report *r = s->report;

    if (step->in->reservation->strategy != STRATEGY_DYNAMIC) {
        r->share = SHARE_MEAN * s->weight;
        r->news = false;
    } else if (!r->weighted) {
        r->share = get_first_share__(step, s);
        r->weighted = true;
    }
    if (r->news && !control_is_majority_silent__(step)) {
        r->share += r->control;
        r->news = false;
    }
    r->share = r->share > 0 ? r->share : 0; /* No NaN. */
    r->share = r->share < SHARE_MAX ? r->share : SHARE_MAX;
}

/* Scales the shares of those who get slots.  What is near enough stays as it is,
 * so that rounding does not move slots. */
static void
scale_shares__(struct step *step)
{
    double target = SHARE_MEAN * (double) step->n_chosen;
    double sum = 0;

    for (size_t i = 0; i < step->n_chosen; i++) {
        sum += step->chosen[i]->report->share;
    }
    if (fabs(sum - target) <= target * SHARE_PRECISION) {
        return;
    }
    for (size_t i = 0; i < step->n_chosen; i++) {
        struct report *r = step->chosen[i]->report;

        r->share = sum > 0 ? r->share * (target / sum) : SHARE_MEAN;
    }
}

/* Brings the shares of all workers up to date. */
void
control_update_shares__(struct step *step)
{
    for (size_t i = 0; i < step->in->n_sessions; i++) {
        update_share__(step, step->in->sessions[i]);
    }
    scale_shares__(step);
}

/* Returns the weight that 's' has in a calendar. */
uint32_t
control_get_weight__(const struct session *s)
{
    return (uint32_t) (s->report->share * SHARE_SCALE);
}
