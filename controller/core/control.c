/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/control.h"

#include <math.h>
#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/epoch.h"
#include "controller/core/mem.h"

#define SHARE_MEAN 1000.0 /* Of workers that are ready. */
#define SHARE_SCALE 4096  /* From a share to a calendar's weight. */

static int64_t
silence__(const struct session *s, int64_t now)
{
    const struct report *r = s->report;

    return now - (r->received >= 0 ? r->received : r->since);
}

/* Returns true if 'session' is to get events at 'now'. */
bool
control_is_ready(const struct control_settings *settings,
                 const struct session *session, int64_t now)
{
    const struct report *r = session->report;

    return r->admitted && silence__(session, now) <= settings->silent
           && (r->received >= 0 ? r->ready : settings->ready_on_register);
}

/* Takes in what 's' reported since the last period. */
static void
update_share__(const struct control_inputs *in, const struct session *s)
{
    struct report *r = s->report;

    if (!r->weighted) {
        r->share = SHARE_MEAN * s->weight;
        r->weighted = true;
    }
    if (r->news && in->reservation->strategy == STRATEGY_DYNAMIC) {
        r->share += r->control;
    }
    r->news = false;
    r->share = isfinite(r->share) && r->share > 0 ? r->share : 0;
}

/* Stores in 'shares' what those are to get that are ready; returns how many. */
static size_t
get_shares__(const struct control_inputs *in, struct calendar_share *shares)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < in->n_sessions; i++) {
        update_share__(in, in->sessions[i]);
        if (control_is_ready(in->settings, in->sessions[i], in->now)) {
            sum += in->sessions[i]->report->share;
            n++;
        }
    }
    n = sum > 0 ? n : 0;
    for (size_t i = 0, j = 0; n && i < in->n_sessions; i++) {
        const struct session *s = in->sessions[i];

        if (control_is_ready(in->settings, s, in->now)) {
            s->report->share *= SHARE_MEAN * (double) n / sum;
            shares[j++] = (struct calendar_share){
                s->member, (uint32_t) (s->report->share * SHARE_SCALE),
                s->min_factor, s->max_factor
            };
        }
    }
    return n;
}

static bool
same_counts__(const struct calendar *a, const struct calendar *b)
{
    for (size_t i = 0; i < a->n_shares; i++) {
        uint16_t member = a->shares[i].member;

        if (calendar_count(a, member) != calendar_count(b, member)) {
            return false;
        }
    }
    return a->n_shares == b->n_shares;
}

/* Decides with which epoch 'calendar' begins. */
static void
choose__(const struct control_inputs *in, const struct calendar *calendar,
         struct control_outcome *out)
{
    const struct epoch *newest = epochs_newest(in->epochs);

    if (newest && same_counts__(newest->calendar, calendar)) {
        return;
    }
    if (newest && !in->untouched && in->no_boundary) {
        issues_add(&out->issues, "no_boundary", ISSUE_ERROR, 0, "%s",
                   in->no_boundary);
        return;
    }
    out->replace = newest && in->untouched;
    out->boundary = newest && !in->untouched ? in->boundary : 0;
    out->calendar = calendar_ref(calendar);
}

/* Makes in '*out' what becomes of an instance in this period. */
void
control_step(const struct control_inputs *in, struct control_outcome *out)
{
    struct calendar_share *shares =
        mem_zalloc(in->n_sessions * sizeof *shares);
    const struct calendar *calendar;
    size_t n = get_shares__(in, shares);

    *out = (struct control_outcome){ .n_gone = 0 };
    out->gone = mem_alloc(in->n_sessions * sizeof *out->gone);
    issues_init(&out->issues);
    for (size_t i = 0; i < in->n_sessions; i++) {
        if (silence__(in->sessions[i], in->now) > in->settings->gone) {
            out->gone[out->n_gone++] = in->sessions[i]->entry.id;
        }
    }
    if (n) {
        char *error = calendar_create(shares, n, CALENDAR_BITS_MAX, &calendar);

        if (error) {
            issues_add(&out->issues, "no_calendar", ISSUE_ERROR, 0, "%s",
                       error);
            free(error);
        } else {
            choose__(in, calendar, out);
            calendar_unref(calendar);
        }
    }
    free(shares);
}

/* Frees what 'out' holds, but not 'out' itself. */
void
control_outcome_destroy(struct control_outcome *out)
{
    calendar_unref(out->calendar);
    free(out->gone);
    issues_destroy(&out->issues);
}
