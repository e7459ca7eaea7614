/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/control-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar-plan.h"
#include "controller/core/calendar.h"
#include "controller/core/epoch.h"
#include "controller/core/mem.h"

/* Workers. */

/* Returns how long nothing was heard of 's'. */
int64_t
control_get_silence__(const struct session *s, int64_t now)
{
    const struct report *r = s->report;

    return now - (r->received >= 0 ? r->received : r->since);
}

/* Returns how things are with 's' at 'now'.  Whom the newest calendar was made
 * for was ready before, perhaps before a restart, and is so until it says
 * otherwise. */
static enum standing
get_standing__(const struct control_settings *settings,
               const struct session *s, int64_t now)
{
    const struct report *r = s->report;
    int64_t silence = control_get_silence__(s, now);
    bool ready =
        r->received >= 0 ? r->ready : settings->ready_on_register || r->served;

    if (silence > settings->gone) {
        return STANDING_GONE;
    }
    if (!ready) {
        return STANDING_UNREADY;
    }
    if (!r->admitted && !r->served) {
        return STANDING_UNRESOLVED;
    }
    return silence > settings->silent ? STANDING_SILENT : STANDING_READY;
}

/* Returns true if 'session' is to get events at 'now', as far as that is up to
 * itself. */
bool
control_is_ready(const struct control_settings *settings,
                 const struct session *session, int64_t now)
{
    return get_standing__(settings, session, now) == STANDING_READY;
}

enum standing
control_get_standing__(const struct step *step, const struct session *s)
{
    return get_standing__(step->in->settings, s, step->in->now);
}

/* The pool: who has slots now. */

static int
compare_members__(const void *a_, const void *b_)
{
    uint16_t a = *(const uint16_t *) a_;
    uint16_t b = *(const uint16_t *) b_;

    return (a > b) - (a < b);
}

/* Stores in 'slots' the members of 'calendar''s slots, sorted.  Returns how many
 * slots there are. */
static size_t
sort_slots__(const struct calendar *calendar,
             uint16_t slots[CALENDAR_SLOTS_MAX])
{
    size_t n = calendar_n_slots(calendar);

    memcpy(slots, calendar->members, n * sizeof *slots);
    qsort(slots, n, sizeof *slots, compare_members__);
    return n;
}

static void
find_pool__(struct step *step)
{
    if (step->newest) {
        step->n_slots = sort_slots__(step->newest->calendar, step->slots);
    }
    for (size_t i = 0; i < step->n_slots; i++) {
        bool same = i > 0 && step->slots[i] == step->slots[i - 1];

        step->n_pool += !same && step->slots[i] != CALENDAR_NO_MEMBER;
    }
}

static bool
is_in_pool__(const struct step *step, const struct session *s)
{
    return bsearch(&s->member, step->slots, step->n_slots, sizeof s->member,
                   compare_members__)
           != NULL;
}

/* Looks at each worker. */
static void
look__(struct step *step)
{
    for (size_t i = 0; i < step->in->n_sessions; i++) {
        const struct session *s = step->in->sessions[i];
        bool pool = is_in_pool__(step, s);
        enum standing standing;

        s->report->served = control_find_share__(step, s) != NULL;
        standing = control_get_standing__(step, s);
        step->n_lost += pool && standing == STANDING_SILENT;
        step->n_stays += pool && standing == STANDING_READY;
        if (standing == STANDING_GONE) {
            step->out->gone[step->out->n_gone++] = s->entry.id;
        }
    }
}

/* Returns true if so many fell silent that this is believed of nobody. */
bool
control_is_majority_silent__(const struct step *step)
{
    return step->n_lost * 2 > step->n_pool;
}

/* Returns true if 's' is to get slots: if it is ready; while silence is not
 * believed, if it was already. */
static bool
is_chosen__(const struct step *step, const struct session *s)
{
    enum standing standing = control_get_standing__(step, s);

    if (control_is_majority_silent__(step)) {
        return s->report->served
               && (standing == STANDING_READY || standing == STANDING_SILENT);
    }
    return standing == STANDING_READY;
}

/* Chooses who is to get slots. */
static void
choose__(struct step *step)
{
    for (size_t i = 0; i < step->in->n_sessions; i++) {
        const struct session *s = step->in->sessions[i];

        if (is_chosen__(step, s)) {
            step->chosen[step->n_chosen++] = s;
        }
    }
}

/* Calendars. */

/* Returns the calendar of those who are chosen, or NULL. */
static const struct calendar *
make_calendar__(struct step *step)
{
    const struct control_inputs *in = step->in;
    const struct calendar_options options = { in->reservation->strategy,
                                              in->seed };
    struct calendar_member *members =
        mem_alloc(step->n_chosen * sizeof *members);
    const struct calendar *calendar;
    bool bounded = true;
    char *error;

    for (size_t i = 0; i < step->n_chosen; i++) {
        const struct session *s = step->chosen[i];

        members[i] = (struct calendar_member){
            .member = s->member,
            .session = s->entry.id,
            .weight = control_get_weight__(s),
            .min_factor = s->min_factor,
            .max_factor = s->max_factor,
            .demands = s->demands,
            .n_demands = s->n_demands,
        };
    }
    error = calendar_plan(members, step->n_chosen, &options, CALENDAR_BITS_MAX,
                          &calendar, &bounded);
    control_warn_calendar__(step, error, bounded);
    free(error);
    free(members);
    return calendar;
}

/* Returns true if 'calendar' gives everybody what it has.  Where slots are
 * shuffled, their number counts. */
static bool
is_same__(const struct step *step, const struct calendar *calendar)
{
    uint16_t slots[CALENDAR_SLOTS_MAX];
    size_t n;

    if (!step->newest) {
        return false;
    }
    if (step->in->reservation->strategy != STRATEGY_DYNAMIC) {
        return calendar_equal(step->newest->calendar, calendar);
    }
    n = sort_slots__(calendar, slots);
    return n == step->n_slots
           && !memcmp(slots, step->slots, n * sizeof *slots);
}

/* Has 'calendar' begin where it can. */
static void
begin__(struct step *step, const struct calendar *calendar)
{
    const struct control_inputs *in = step->in;
    struct control_outcome *out = step->out;

    if (!step->newest || in->untouched) {
        out->replace = step->newest != NULL;
        out->calendar = calendar_ref(calendar);
    } else if (in->no_boundary) {
        control_warn_no_boundary__(step, in->no_boundary);
    } else if (in->boundary <= step->newest->first) {
        char *reason =
            mem_printf("tick %" PRIu64 " is not beyond the beginning of the "
                       "newest epoch, which is tick %" PRIu64
                       "; if the senders began anew, reset Sync and epochs",
                       in->boundary, step->newest->first);

        control_warn_no_boundary__(step, reason);
        free(reason);
    } else {
        out->boundary = in->boundary;
        out->calendar = calendar_ref(calendar);
    }
}

/* Makes the calendar that follows, and has it begin if it is another one. */
static void
advance__(struct step *step)
{
    const struct calendar *calendar;

    control_update_shares__(step);
    calendar = make_calendar__(step);
    if (calendar && !is_same__(step, calendar)) {
        begin__(step, calendar);
    }
    calendar_unref(calendar);
}

/* Makes in '*out' what becomes of an instance in this period. */
void
control_step(const struct control_inputs *in, struct control_outcome *out)
{
    struct step step = { .in = in,
                         .out = out,
                         .newest = epochs_newest(in->epochs) };

    *out = (struct control_outcome){ .n_gone = 0 };
    issues_init(&out->issues);
    out->gone = mem_alloc(in->n_sessions * sizeof *out->gone);
    step.chosen = mem_alloc(in->n_sessions * sizeof(const struct session *));

    find_pool__(&step);
    look__(&step);
    choose__(&step);
    control_warn__(&step);
    if (step.n_chosen
        && (!control_is_majority_silent__(&step)
            || step.n_lost + step.n_stays < step.n_pool)) {
        advance__(&step);
    }
    free(step.chosen);
}

/* Frees what 'out' holds, but not 'out' itself. */
void
control_outcome_destroy(struct control_outcome *out)
{
    calendar_unref(out->calendar);
    free(out->gone);
    issues_destroy(&out->issues);
}
