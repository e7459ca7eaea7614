/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/calendar.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* A member on the way to its slots. */
struct quota {
    uint16_t member;
    uint32_t weight;
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

/* Divides 'n_slots' among the 'n' quotas by largest remainder (Hamilton's
 * method): each gets the integer part of its proportion, and what is left
 * over goes one by one to the largest fractions. */
static void
quota_apportion__(struct quota *quotas, size_t n, uint32_t n_slots,
                  uint64_t sum)
{
    uint32_t left = n_slots;

    assert(sum);
    for (size_t i = 0; i < n; i++) {
        uint64_t product = (uint64_t) quotas[i].weight * n_slots;

        quotas[i].n_slots = (uint32_t) (product / sum);
        quotas[i].remainder = product % sum;
        left -= quotas[i].n_slots;
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

/* Copies 'shares' into 'quotas', sorted by member, and stores the sum of the
 * weights in '*sum'.  Returns NULL if they can make a calendar, otherwise the
 * reason why not, which the caller must free. */
static char *
quota_init__(struct quota *quotas, const struct calendar_share *shares,
             size_t n, uint64_t *sum)
{
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (shares[i].member == CALENDAR_NO_MEMBER) {
            return mem_printf("member %u is reserved", CALENDAR_NO_MEMBER);
        }
        quotas[i] = (struct quota){ .member = shares[i].member,
                                    .weight = shares[i].weight };
        *sum += shares[i].weight;
    }
    if (!*sum) {
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
    uint64_t sum;
    char *error;

    *calendar = NULL;
    if (bits > CALENDAR_BITS_MAX) {
        return mem_printf("%u slot bits are more than %u", bits,
                          CALENDAR_BITS_MAX);
    }

    quotas = mem_alloc(n * sizeof *quotas);
    error = quota_init__(quotas, shares, n, &sum);
    if (!error) {
        struct calendar *c = calendar_alloc__(shares, n, bits);

        quota_apportion__(quotas, n, UINT32_C(1) << bits, sum);
        calendar_place__(c, quotas, n);
        *calendar = c;
    }
    free(quotas);
    return error;
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
