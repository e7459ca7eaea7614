/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* A member on the way to its slots. */
struct quota {
    uint16_t member;
    uint32_t weight;
    uint64_t min_ppm; /* Its factors, in millionths. */
    uint64_t max_ppm;
    uint32_t min; /* Bounds of 'n_slots'. */
    uint32_t max;
    bool fixed;         /* Is 'n_slots' final? */
    uint32_t n_slots;   /* Slots that it is to have. */
    uint32_t n_placed;  /* Slots that it has already. */
    uint64_t remainder; /* Of the division that gave 'n_slots'. */
};

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

#define PPM UINT64_C(1000000)

/* Makes the bounds of the 'n' quotas, 'n_weighted' of which have a weight,
 * whole numbers: rounded inwards, or outwards with 'relaxed'.  Returns true if
 * 'n_slots' can be divided so that each is within its own. */
static bool
quota_set_bounds__(struct quota *quotas, size_t n, uint64_t n_weighted,
                   uint32_t n_slots, bool relaxed)
{
    uint64_t unit = PPM * n_weighted;
    uint64_t sum_min = 0;
    uint64_t sum_max = 0;
    bool ordered = true;

    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];
        uint64_t min =
            (q->min_ppm * n_slots + (relaxed ? 0 : unit - 1)) / unit;
        uint64_t max =
            (q->max_ppm * n_slots + (relaxed ? unit - 1 : 0)) / unit;

        q->min = (uint32_t) (min < n_slots ? min : n_slots);
        q->max = (uint32_t) (max < n_slots ? max : n_slots);
        q->max = q->weight ? q->max : 0;
        ordered = ordered && q->min <= q->max;
        sum_min += min;
        sum_max += q->max;
    }
    return ordered && sum_min <= n_slots && n_slots <= sum_max;
}

static char *
quota_bound__(struct quota *quotas, size_t n, uint32_t n_slots)
{
    uint64_t n_weighted = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        n_weighted += quotas[i].weight > 0;
        sum += quotas[i].min_ppm;
    }
    if (!n_weighted) {
        return mem_strdup("no member has a weight");
    }
    if (quota_set_bounds__(quotas, n, n_weighted, n_slots, false)
        || quota_set_bounds__(quotas, n, n_weighted, n_slots, true)) {
        return NULL;
    }
    if (sum > PPM * n_weighted) {
        return mem_printf("the minimum factors ask for more than all %" PRIu32
                          " slots: their mean is %.3f and must not be above 1",
                          n_slots, (double) sum / (double) (PPM * n_weighted));
    }
    return mem_printf("the maximum factors leave some of the %" PRIu32
                      " slots to nobody: their mean must not be below 1",
                      n_slots);
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

/* Divides 'n_slots' among the 'n' quotas within their bounds: those that would
 * be beyond one get it, the others by largest remainder (Hamilton's method):
 * each gets the integer part of its proportion, and what is left over goes one
 * by one to the largest fractions. */
static void
quota_apportion__(struct quota *quotas, size_t n, uint32_t n_slots)
{
    uint64_t left, sum;

    do {
        quota_sum__(quotas, n, n_slots, &left, &sum);
    } while (quota_fix__(quotas, n, left, sum));

    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];

        if (!q->fixed && q->weight) {
            q->n_slots = (uint32_t) (q->weight * left / sum);
            q->remainder = q->weight * left % sum;
        }
    }
    for (size_t i = 0; i < n; i++) {
        left -= quotas[i].fixed ? 0 : quotas[i].n_slots;
    }

    /* 'left' is below the number of nonzero remainders, so that a member of
     * weight 0 never gets one. */
    qsort(quotas, n, sizeof *quotas, quota_compare_remainder__);
    for (size_t i = 0; i < left; i++) {
        quotas[i].n_slots++;
    }
    qsort(quotas, n, sizeof *quotas, quota_compare_member__);
}

/* Returns the first slot that the next of 'q''s slots may be placed in. */
static uint32_t
quota_release__(const struct quota *q, uint32_t n_slots)
{
    return q->n_placed * n_slots / q->n_slots;
}

/* Returns the slot before which the next of 'q''s slots must be placed. */
static uint32_t
quota_deadline__(const struct quota *q, uint32_t n_slots)
{
    return ((q->n_placed + 1) * n_slots + q->n_slots - 1) / q->n_slots;
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
quota_pick__(struct quota *quotas, size_t n, uint32_t slot, uint32_t n_slots)
{
    struct quota *best = NULL;
    uint32_t best_deadline = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        struct quota *q = &quotas[i];

        if (q->n_placed < q->n_slots && quota_release__(q, n_slots) <= slot) {
            uint32_t deadline = quota_deadline__(q, n_slots);

            if (deadline < best_deadline) {
                best = q;
                best_deadline = deadline;
            }
        }
    }
    return best;
}

static int
share_compare__(const void *a_, const void *b_)
{
    const struct calendar_share *a = a_;
    const struct calendar_share *b = b_;

    return (a->member > b->member) - (a->member < b->member);
}

/* Returns a calendar whose slots are not set yet. */
static struct calendar *
calendar_alloc__(const struct calendar_share *shares, size_t n, uint8_t bits)
{
    struct calendar *calendar;

    calendar =
        mem_alloc(sizeof *calendar + (sizeof calendar->members[0] << bits));
    calendar->n_refs = 1;
    calendar->bits = bits;
    calendar->shares = mem_dup(shares, n * sizeof *shares);
    calendar->n_shares = n;
    qsort(calendar->shares, n, sizeof *shares, share_compare__);
    return calendar;
}

static void
calendar_place__(struct calendar *calendar, struct quota *quotas, size_t n)
{
    uint32_t n_slots = UINT32_C(1) << calendar->bits;

    for (uint32_t slot = 0; slot < n_slots; slot++) {
        struct quota *q = quota_pick__(quotas, n, slot, n_slots);

        calendar->members[slot] = q->member;
        q->n_placed++;
    }
}

/* Initializes 'q' from 'share'.  Returns NULL if it is a possible one, otherwise
 * the reason why not. */
static char *
quota_init__(struct quota *q, const struct calendar_share *share)
{
    double min = share->min_factor;
    double max = share->max_factor ? share->max_factor : CALENDAR_FACTOR_MAX;

    if (share->member == CALENDAR_NO_MEMBER) {
        return mem_printf("member %u is reserved", CALENDAR_NO_MEMBER);
    }
    if (!(min >= 0 && max >= min && max <= CALENDAR_FACTOR_MAX)) {
        return mem_printf("member %u: the factors must be from 0 to %d, the "
                          "minimum not above the maximum",
                          share->member, CALENDAR_FACTOR_MAX);
    }
    if (!share->weight && min > 0) {
        return mem_printf("member %u has a minimum factor, but weight 0",
                          share->member);
    }
    *q = (struct quota){ .member = share->member,
                         .weight = share->weight,
                         .min_ppm = (uint64_t) (min * PPM + .5),
                         .max_ppm = (uint64_t) (max * PPM + .5) };
    return NULL;
}

/* Fills 'quotas' from 'shares', sorted by member.  Returns NULL if they can make
 * a calendar, otherwise the reason why not, which the caller must free. */
static char *
quotas_init__(struct quota *quotas, const struct calendar_share *shares,
              size_t n)
{
    char *error = NULL;
    uint64_t sum = 0;

    for (size_t i = 0; !error && i < n; i++) {
        error = quota_init__(&quotas[i], &shares[i]);
        sum += shares[i].weight;
    }
    if (error) {
        return error;
    }
    if (!sum) {
        return mem_strdup("no member has a weight above 0");
    }

    qsort(quotas, n, sizeof *quotas, quota_compare_member__);
    for (size_t i = 1; i < n; i++) {
        if (quotas[i].member == quotas[i - 1].member) {
            return mem_printf("member %u is listed twice", quotas[i].member);
        }
    }
    return NULL;
}

/* Makes a calendar of 2^'bits' slots from the 'n' 'shares'.
 *
 * Returns NULL and stores in '*calendar' a reference that the caller must
 * release with calendar_unref(), or returns the reason why there is none,
 * which the caller must free.  Where there are more members than slots, the
 * lightest get none. */
char *
calendar_create(const struct calendar_share *shares, size_t n, uint8_t bits,
                const struct calendar **calendar)
{
    struct quota *quotas;
    char *error;

    *calendar = NULL;
    if (bits > CALENDAR_BITS_MAX) {
        return mem_printf("%u slot bits are more than %u", bits,
                          CALENDAR_BITS_MAX);
    }

    quotas = mem_zalloc(n * sizeof *quotas);
    error = quotas_init__(quotas, shares, n);
    if (!error) {
        error = quota_bound__(quotas, n, UINT32_C(1) << bits);
    }
    if (!error) {
        struct calendar *c = calendar_alloc__(shares, n, bits);

        quota_apportion__(quotas, n, UINT32_C(1) << bits);
        calendar_place__(c, quotas, n);
        *calendar = c;
    }
    free(quotas);
    return error;
}

/* Returns the calendar that has the given 'members' in its 2^'bits' slots, and
 * that was made from the 'n' 'shares', which is remembered only. */
const struct calendar *
calendar_restore(const struct calendar_share *shares, size_t n, uint8_t bits,
                 const uint16_t *members)
{
    struct calendar *calendar = calendar_alloc__(shares, n, bits);

    memcpy(calendar->members, members, sizeof *members << bits);
    return calendar;
}

/* Returns another reference to 'calendar'. */
const struct calendar *
calendar_ref(const struct calendar *calendar)
{
    ((struct calendar *) calendar)->n_refs++;
    return calendar;
}

/* Releases a reference to 'calendar', which may be NULL. */
void
calendar_unref(const struct calendar *calendar_)
{
    struct calendar *calendar = (struct calendar *) calendar_;

    if (calendar && !--calendar->n_refs) {
        free(calendar->shares);
        free(calendar);
    }
}

/* Returns the number of slots in 'calendar'. */
size_t
calendar_n_slots(const struct calendar *calendar)
{
    return (size_t) 1 << calendar->bits;
}

/* Returns the number of slots that 'member' holds in 'calendar'. */
size_t
calendar_count(const struct calendar *calendar, uint16_t member)
{
    size_t count = 0;

    for (size_t i = 0; i < calendar_n_slots(calendar); i++) {
        count += calendar->members[i] == member;
    }
    return count;
}

/* Returns true if 'a' and 'b' have the same members in the same slots. */
bool
calendar_equal(const struct calendar *a, const struct calendar *b)
{
    return a == b
           || (a->bits == b->bits
               && !memcmp(a->members, b->members,
                          calendar_n_slots(a) * sizeof a->members[0]));
}
