/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/control-check.h"

#include <math.h>
#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/core/prefix.h"
#include "tests/unit/unit.h"

#define SHARE_MEAN 1000

void
check_init(struct check *c)
{
    *c = (struct check){ .n_epochs = 0 };
}

void
check_destroy(struct check *c)
{
    free(c->epochs);
    free(c->gone);
}

/* The epochs that were are none any more, for ticks begin anew. */
void
check_forget(struct check *c)
{
    c->n_epochs = 0;
    c->untouched = false;
}

/* Epochs. */

/* Checks that 'epoch' is what was connected as 'was'. */
static void
check_same__(const struct check_epoch *was, const struct epoch *epoch)
{
    assert_int_equal(was->id, epoch->id);
    assert_int_equal(was->first, epoch->first);
    assert_int_equal(epoch->xor, 0);
    assert_memory_equal(was->members, epoch->calendar->members,
                        sizeof was->members);
}

/* Drops what 'epochs' does not have any more: only the oldest may be missing,
 * or the only one if it was replaced. */
static void
forget_retired__(struct check *c, const struct world *w)
{
    size_t n = 0;

    while (n < c->n_epochs && !epochs_find_id(w->epochs, c->epochs[n].id)) {
        n++;
    }
    if (!n) {
        return;
    }
    if (n == c->n_epochs) {
        assert_int_equal(n, 1);
        assert_true(c->untouched);
        assert_true(w->outcome.replace);
        assert_int_equal(w->epochs->n, 1);
        assert_int_equal(w->epochs->epochs[0]->first, 0);
    }
    memmove(c->epochs, &c->epochs[n], (c->n_epochs - n) * sizeof *c->epochs);
    c->n_epochs -= n;
}

static void
remember__(struct check *c, const struct epoch *epoch)
{
    struct check_epoch *new;

    if (c->n_epochs >= c->allocated_epochs) {
        c->epochs =
            mem_grow(c->epochs, &c->allocated_epochs, sizeof *c->epochs);
    }
    new = &c->epochs[c->n_epochs++];
    new->id = epoch->id;
    new->first = epoch->first;
    assert_int_equal(epoch->calendar->bits, CALENDAR_BITS_MAX);
    memcpy(new->members, epoch->calendar->members, sizeof new->members);
}

/* Checks that no connected epoch changed, that each begins beyond the one
 * before, and that their members are there. */
void
check_epochs(struct check *c, const struct world *w)
{
    const struct epochs *epochs = w->epochs;

    forget_retired__(c, w);
    for (size_t i = 0; i < epochs->n; i++) {
        const struct epoch *epoch = epochs->epochs[i];

        if (i < c->n_epochs) {
            check_same__(&c->epochs[i], epoch);
        } else {
            assert_int_equal(i, epochs->n - 1);
            remember__(c, epoch);
        }
        assert_true(i == 0 || epoch->first > epochs->epochs[i - 1]->first);
        for (size_t j = 0; j < CALENDAR_SLOTS_MAX; j++) {
            uint16_t member = epoch->calendar->members[j];

            assert_true(
                member == CALENDAR_NO_MEMBER
                || instance_find_member(&w->state->instances[0], member));
        }
    }
    c->untouched = w->state->instances[0].untouched;
}

/* Ticks. */

/* What a switch finds for a tick: the longest prefix. */
struct owner {
    int epoch; /* Its index, -1 for ticks that are late, -2 for none. */
    uint8_t len;
    bool twice; /* Are there several that are as long? */
};

static void
look_up__(struct owner *owner, uint64_t tick, int epoch,
          const struct prefix_list *prefixes)
{
    for (size_t i = 0; i < prefixes->n; i++) {
        const struct prefix *p = &prefixes->prefixes[i];

        if ((tick & prefix_mask(p->len)) != p->value) {
            continue;
        }
        if (owner->epoch == -2 || p->len > owner->len) {
            *owner = (struct owner){ epoch, p->len, false };
        } else if (p->len == owner->len) {
            owner->twice = true;
        }
    }
}

static void
check_tick__(const struct epochs *epochs, uint64_t tick)
{
    struct owner owner = { .epoch = -2 };
    struct prefix_list prefixes;
    int expected = -1;

    for (size_t i = 0; i < epochs->n; i++) {
        epochs_get_prefixes(epochs, i, &prefixes);
        look_up__(&owner, tick, (int) i, &prefixes);
        expected = tick >= epochs->epochs[i]->first ? (int) i : expected;
    }
    epochs_get_late_prefixes(epochs, &prefixes);
    look_up__(&owner, tick, -1, &prefixes);
    assert_false(owner.twice);
    assert_int_equal(owner.epoch, expected);
}

/* Checks that ticks, those around each beginning among them, have exactly one
 * owner, which is the right one. */
void
check_ticks(const struct epochs *epochs, uint64_t *random)
{
    if (!epochs->n) {
        return;
    }
    check_tick__(epochs, 0);
    check_tick__(epochs, UINT64_MAX);
    check_tick__(epochs, unit_random(random));
    for (size_t i = 0; i < epochs->n; i++) {
        uint64_t first = epochs->epochs[i]->first;

        check_tick__(epochs, first);
        check_tick__(epochs, first - 1);
        check_tick__(epochs, first + 1);
        check_tick__(epochs, first + (unit_random(random) >> 40));
    }
}

/* The step. */

bool
check_is_majority_silent(const struct check *c)
{
    return 2 * c->n_lost > c->n_pool;
}

static size_t
count_pool__(const struct epochs *epochs)
{
    const struct epoch *newest = epochs_newest(epochs);
    bool seen[UINT16_MAX + 1] = { false };
    size_t n = 0;

    for (size_t i = 0; newest && i < CALENDAR_SLOTS_MAX; i++) {
        uint16_t member = newest->calendar->members[i];

        n += member != CALENDAR_NO_MEMBER && !seen[member];
        seen[member] = true;
    }
    return n;
}

/* Takes in how things are before a step.  'workers' is looked at once more after
 * it. */
void
check_before(struct check *c, const struct world *w,
             const struct check_worker *workers, size_t n, bool quiet)
{
    size_t n_stays = 0;

    c->workers = workers;
    c->n_workers = n;
    c->quiet = quiet;
    c->n_lost = 0;
    c->n_ready = 0;
    c->n_gone = 0;
    free(c->gone);
    c->gone = mem_alloc(n * sizeof *c->gone);
    for (size_t i = 0; i < n; i++) {
        enum check_standing standing = workers[i].standing;

        c->n_ready += standing == CHECK_READY;
        c->n_lost += workers[i].pool && standing == CHECK_SILENT;
        n_stays += workers[i].pool && standing == CHECK_READY;
        if (standing == CHECK_GONE) {
            c->gone[c->n_gone++] = workers[i].session->entry.id;
        }
    }
    c->n_pool = count_pool__(w->epochs);
    c->n_left = c->n_pool - c->n_lost - n_stays;
    c->before = w->epochs->n ? epochs_newest(w->epochs)->first : 0;
}

static const struct check_worker *
find_worker__(const struct check *c, uint16_t member)
{
    for (size_t i = 0; i < c->n_workers; i++) {
        if (c->workers[i].standing != CHECK_GONE
            && c->workers[i].session->member == member) {
            return &c->workers[i];
        }
    }
    return NULL;
}

/* Returns true if 'member' may have slots of a new epoch: while silence is not
 * believed, if it was named already. */
static bool
may_serve__(const struct check *c, uint16_t member)
{
    const struct check_worker *worker = find_worker__(c, member);

    if (worker && check_is_majority_silent(c)) {
        return worker->named && worker->standing != CHECK_UNREADY;
    }
    return worker && worker->standing == CHECK_READY;
}

/* Checks that members of 'calendar' have as many slots as their factors allow,
 * if whole numbers of slots can be within all of them; who has no weight gets
 * no more than it has to. */
static void
check_factors__(const struct calendar *calendar)
{
    double even = (double) CALENDAR_SLOTS_MAX / (double) calendar->n_shares;
    double sum_min = 0;
    double sum_max = 0;
    bool feasible = true;

    for (size_t i = 0; i < calendar->n_shares; i++) {
        const struct calendar_share *s = &calendar->shares[i];
        double min = ceil(s->min_factor * even - 1e-3);
        double max = s->max_factor > 0 ? floor(s->max_factor * even + 1e-3)
                                       : CALENDAR_SLOTS_MAX;

        max = s->weight ? max : min;
        sum_min += min;
        sum_max += fmin(max, CALENDAR_SLOTS_MAX);
        feasible = feasible && min <= max;
    }
    if (!feasible || sum_min > CALENDAR_SLOTS_MAX
        || sum_max < CALENDAR_SLOTS_MAX) {
        return;
    }
    for (size_t i = 0; i < calendar->n_shares; i++) {
        const struct calendar_share *s = &calendar->shares[i];
        double count = (double) calendar_count(calendar, s->member);

        assert_true(count >= s->min_factor * even - 1e-3);
        assert_true(s->max_factor <= 0
                    || count <= s->max_factor * even + 1e-3);
    }
}

/* Checks the calendar of an epoch that begins. */
static void
check_calendar__(const struct check *c, const struct world *w)
{
    const struct calendar *calendar = w->outcome.calendar;
    size_t n_chosen = 0;
    size_t n_given = 0;

    for (size_t i = 0; i < CALENDAR_SLOTS_MAX; i++) {
        uint16_t member = calendar->members[i];

        n_given += member != CALENDAR_NO_MEMBER;
        assert_true(member == CALENDAR_NO_MEMBER || may_serve__(c, member));
    }
    assert_true(w->reservation.strategy == STRATEGY_EXPLICIT
                || n_given == CALENDAR_SLOTS_MAX);
    for (size_t i = 0; i < c->n_workers; i++) {
        n_chosen += c->workers[i].standing != CHECK_GONE
                    && may_serve__(c, c->workers[i].session->member);
    }
    assert_int_equal(calendar->n_shares, n_chosen);
    if (w->reservation.strategy == STRATEGY_DYNAMIC) {
        check_factors__(calendar);
    }
}

/* Checks the beginning of an epoch, and that there was to be one. */
static void
check_begin__(const struct check *c, const struct world *w)
{
    const struct epoch *newest = epochs_newest(w->epochs);

    assert_false(c->quiet);
    assert_false(check_is_majority_silent(c) && !c->n_left);
    assert_true(c->n_ready || check_is_majority_silent(c));
    assert_int_equal(newest->first, w->outcome.boundary);
    if (w->epochs->n == 1 && c->n_epochs == 0) {
        assert_int_equal(newest->first, 0);
    } else if (!w->outcome.replace) {
        assert_null(w->no_boundary);
        assert_true(newest->first > c->before);
    }
    check_calendar__(c, w);
}

/* Checks that 'worker' has the slots in 'calendar' that it demands. */
static void
check_demands__(const struct check_worker *worker,
                const struct calendar *calendar)
{
    const struct session *s = worker->session;

    for (size_t i = 0; i < s->n_demands; i++) {
        const struct slot_range *range = &s->demands[i];

        for (uint32_t j = 0; range->index >= 0 && j < range->length; j++) {
            assert_int_equal(calendar->members[(uint32_t) range->index + j],
                             s->member);
        }
    }
}

/* Checks that only those have slots that may, and those that they demand, since
 * the change could be made. */
static void
check_honoured__(const struct check *c, const struct world *w)
{
    const struct epoch *newest = epochs_newest(w->epochs);

    if (!newest || world_has_issue(w, "no_boundary", 0)
        || world_has_issue(w, "no_calendar", 0)
        || (!c->n_ready && !check_is_majority_silent(c))) {
        return;
    }
    for (size_t i = 0; i < CALENDAR_SLOTS_MAX; i++) {
        uint16_t member = newest->calendar->members[i];

        assert_true(member == CALENDAR_NO_MEMBER || may_serve__(c, member));
    }
    for (size_t i = 0; i < c->n_workers; i++) {
        if (c->workers[i].standing == CHECK_READY
            && !check_is_majority_silent(c)
            && w->reservation.strategy != STRATEGY_DYNAMIC) {
            check_demands__(&c->workers[i], newest->calendar);
        }
    }
}

static void
check_shares__(const struct world *w)
{
    for (size_t i = 0; i < w->n_sessions; i++) {
        double share = w->sessions[i]->report->share;

        assert_true(isfinite(share) && share >= 0 && share <= 1e9);
    }
}

/* Checks what became of it. */
void
check_after(struct check *c, const struct world *w)
{
    assert_int_equal(w->outcome.n_gone, c->n_gone);
    for (size_t i = 0; i < c->n_gone; i++) {
        assert_int_equal(w->outcome.gone[i], c->gone[i]);
    }
    assert_int_equal(world_has_issue(w, "majority_silent", 0),
                     check_is_majority_silent(c));
    if (w->outcome.calendar) {
        check_begin__(c, w);
    }
    check_honoured__(c, w);
    check_shares__(w);
    check_epochs(c, w);
}
