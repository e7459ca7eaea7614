/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/apportion.h"

#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

static int
quota_compare_member__(const void *a_, const void *b_)
{
    const struct quota *a = a_;
    const struct quota *b = b_;

    return (a->member > b->member) - (a->member < b->member);
}

/* Orders by falling remainder; equal ones by member. */
static int
quota_compare_remainder__(const void *a_, const void *b_)
{
    const struct quota *a = a_;
    const struct quota *b = b_;

    if (a->remainder != b->remainder) {
        return a->remainder < b->remainder ? 1 : -1;
    }
    return quota_compare_member__(a, b);
}

/* Initializes 'q' as that of 'member'.  A 'max_factor' of 0 is none.  Returns
 * NULL if it is a possible one, otherwise the reason why not, which the caller
 * must free. */
char *
quota_init(struct quota *q, uint16_t member, uint32_t weight,
           double min_factor, double max_factor)
{
    double max = max_factor ? max_factor : QUOTA_FACTOR_MAX;

    if (member == CALENDAR_NO_MEMBER) {
        return mem_printf("member %u is reserved", CALENDAR_NO_MEMBER);
    }
    if (!(min_factor >= 0 && max >= min_factor && max <= QUOTA_FACTOR_MAX)) {
        return mem_printf("member %u: the factors must be from 0 to %d, the "
                          "minimum not above the maximum",
                          member, QUOTA_FACTOR_MAX);
    }
    *q = (struct quota){ .member = member,
                         .weight = weight,
                         .min_ppm =
                             (uint64_t) (min_factor * (double) QUOTA_PPM + .5),
                         .max_ppm =
                             (uint64_t) (max * (double) QUOTA_PPM + .5) };
    return NULL;
}

/* Sorts the 'n' 'quotas' by member.  Returns an error, which the caller must
 * free, if two are of the same one. */
char *
quotas_sort(struct quota *quotas, size_t n)
{
    qsort(quotas, n, sizeof *quotas, quota_compare_member__);
    for (size_t i = 1; i < n; i++) {
        if (quotas[i].member == quotas[i - 1].member) {
            return mem_printf("member %u is listed twice", quotas[i].member);
        }
    }
    return NULL;
}

/* Returns 'bound' slots without those that are pinned, at most 'n_slots'. */
static uint32_t
unpinned__(uint64_t bound, uint32_t n_pinned, uint32_t n_slots)
{
    bound = bound > n_pinned ? bound - n_pinned : 0;
    return bound < n_slots ? (uint32_t) bound : n_slots;
}

/* As quotas_bound(), with bounds rounded inwards, or 'outwards'. */
static bool
quotas_round__(struct quota *quotas, size_t n, uint64_t n_even,
               uint32_t n_total, uint32_t n_slots, bool outwards)
{
    uint64_t unit = QUOTA_PPM * n_even;
    uint64_t sum_min = 0;
    uint64_t sum_max = 0;
    bool ordered = true;

    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];
        uint64_t min =
            (q->min_ppm * n_total + (outwards ? 0 : unit - 1)) / unit;
        uint64_t max =
            (q->max_ppm * n_total + (outwards ? unit - 1 : 0)) / unit;

        q->min = unpinned__(min, q->n_pinned, n_slots);
        q->max = unpinned__(max, q->n_pinned, n_slots);
        q->max = q->weight ? q->max : q->min;
        ordered = ordered && min <= max;
        sum_min += min > q->n_pinned ? min - q->n_pinned : 0;
        sum_max += q->max;
    }
    return ordered && sum_min <= n_slots && n_slots <= sum_max;
}

/* Turns the factors of the 'n' 'quotas' into bounds of 'n_slots' that are to be
 * divided among them.  Factors are of the even share of 'n_even' members in
 * 'n_total' slots, and what a member has pinned counts.  Who has no weight is
 * to have its minimum.
 *
 * Where whole slots cannot be within all bounds, these are taken as rounded
 * down and up.  Returns false if there is no way even so. */
bool
quotas_bound(struct quota *quotas, size_t n, uint64_t n_even, uint32_t n_total,
             uint32_t n_slots)
{
    return quotas_round__(quotas, n, n_even, n_total, n_slots, false)
           || quotas_round__(quotas, n, n_even, n_total, n_slots, true);
}

/* Fixes those of the quotas that are not whose proportion of 'left' slots, by
 * weights that sum up to 'sum', is beyond a bound; of the two sides, the one
 * that is further off, for it decides which way all others are moved.  Returns
 * true if there were any. */
static bool
quota_fix__(struct quota *quotas, size_t n, uint64_t left, uint64_t sum)
{
    int64_t excess = 0;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        const struct quota *q = &quotas[i];
        int64_t share = (int64_t) (q->weight * left);

        if (!q->fixed) {
            int64_t min = (int64_t) (q->min * sum);
            int64_t max = (int64_t) (q->max * sum);

            excess += share < min ? min - share : 0;
            excess -= share > max ? share - max : 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];
        bool below = q->weight * left < q->min * sum;
        bool above = q->weight * left > q->max * sum;

        if (!q->fixed && ((below && excess >= 0) || (above && excess <= 0))) {
            q->n_slots = below ? q->min : q->max;
            q->fixed = true;
            any = true;
        }
    }
    return any;
}

/* Stores in '*left' and '*sum' the slots and the weights of the quotas that are
 * not fixed. */
static void
quota_sum__(const struct quota *quotas, size_t n, uint32_t n_slots,
            uint64_t *left, uint64_t *sum)
{
    *left = n_slots;
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (quotas[i].fixed) {
            *left -= quotas[i].n_slots;
        } else {
            *sum += quotas[i].weight;
        }
    }
}

/* Fixes those without a weight: they have their minimum. */
static void
quota_fix_idle__(struct quota *quotas, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];

        q->fixed = !q->weight;
        q->n_slots = q->fixed ? q->min : 0;
        q->remainder = 0;
    }
}

/* Divides 'n_slots' among the 'n' quotas within their bounds, which must leave
 * a way: those that would be beyond one get it, the others by largest
 * remainder: each gets the integer part of its proportion, and what is left
 * over goes one by one to the largest fractions.  Sorts the quotas by
 * member. */
void
quotas_apportion(struct quota *quotas, size_t n, uint32_t n_slots)
{
    uint64_t left, sum;

    quota_fix_idle__(quotas, n);
    do {
        quota_sum__(quotas, n, n_slots, &left, &sum);
    } while (quota_fix__(quotas, n, left, sum));

    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];

        if (!q->fixed && sum) {
            q->n_slots = (uint32_t) (q->weight * left / sum);
            q->remainder = q->weight * left % sum;
        }
    }
    for (size_t i = 0; i < n; i++) {
        left -= quotas[i].fixed ? 0 : quotas[i].n_slots;
    }

    /* 'left' is below the number of nonzero remainders. */
    qsort(quotas, n, sizeof *quotas, quota_compare_remainder__);
    for (size_t i = 0; i < left; i++) {
        quotas[i].n_slots++;
    }
    qsort(quotas, n, sizeof *quotas, quota_compare_member__);
}

/* Sets the window that the next of 'q''s slots must be in; never, if it has
 * them all. */
static void
quota_set_window__(struct quota *q, uint32_t n_slots)
{
    q->release = UINT32_MAX;
    if (q->n_placed < q->n_slots) {
        q->release = q->n_placed * n_slots / q->n_slots;
        q->deadline =
            ((q->n_placed + 1) * n_slots + q->n_slots - 1) / q->n_slots;
    }
}

/* Returns the quota that gets slot 'slot': the one with the earliest deadline
 * among those that may have it.
 *
 * With these windows there is always one, and no deadline is missed: they are
 * those of a periodic task of utilization s / n in proportionate-fair
 * scheduling (Baruah, Cohen, Plaxton, Varvel 1996), the utilizations add up to
 * one, and for unit jobs on one processor earliest deadline first is
 * optimal. */
static struct quota *
quota_pick__(struct quota *quotas, size_t n, uint32_t slot)
{
    struct quota *best = NULL;

    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];

        if (q->release <= slot && (!best || q->deadline < best->deadline)) {
            best = q;
        }
    }
    return best;
}

/* Stores in 'members' who has which of the 'n_slots' that were divided among the
 * 'n' 'quotas'.  Among the first t of them, for any t, a member has less than
 * one more or less than its proportion. */
void
quotas_interleave(struct quota *quotas, size_t n, uint16_t *members,
                  uint32_t n_slots)
{
    for (size_t i = 0; i < n; i++) {
        quotas[i].n_placed = 0;
        quota_set_window__(&quotas[i], n_slots);
    }
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        struct quota *q = quota_pick__(quotas, n, slot);

        members[slot] = q->member;
        q->n_placed++;
        quota_set_window__(q, n_slots);
    }
}
