/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/apportion.h"
#include "controller/core/mem.h"

/* Sets the bounds of the 'n' quotas, which divide all 'n_slots'. */
static char *
quotas_bound__(struct quota *quotas, size_t n, uint32_t n_slots)
{
    uint64_t n_weighted = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        n_weighted += quotas[i].weight > 0;
        sum += quotas[i].min_ppm;
    }
    if (quotas_bound(quotas, n, n_weighted, n_slots, n_slots)) {
        return NULL;
    }
    if (sum > QUOTA_PPM * n_weighted) {
        return mem_printf("the minimum factors ask for more than all %" PRIu32
                          " slots: their mean is %.3f and must not be above 1",
                          n_slots,
                          (double) sum / (double) (QUOTA_PPM * n_weighted));
    }
    return mem_printf("the maximum factors leave some of the %" PRIu32
                      " slots to nobody: their mean must not be below 1",
                      n_slots);
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
    *calendar = (struct calendar){ .n_refs = 1, .bits = bits };
    calendar->shares = mem_dup(shares, n * sizeof *shares);
    calendar->n_shares = n;
    qsort(calendar->shares, n, sizeof *shares, share_compare__);
    return calendar;
}

/* Fills 'quotas' from 'shares'.  Returns NULL if they can make a calendar,
 * otherwise the reason why not, which the caller must free. */
static char *
quotas_init__(struct quota *quotas, const struct calendar_share *shares,
              size_t n)
{
    char *error = NULL;
    uint64_t sum = 0;

    for (size_t i = 0; !error && i < n; i++) {
        const struct calendar_share *share = &shares[i];

        error = quota_init(&quotas[i], share->member, share->weight,
                           share->min_factor, share->max_factor);
        if (!error && !share->weight && share->min_factor > 0) {
            error = mem_printf("member %u has a minimum factor, but weight 0",
                               share->member);
        }
        sum += share->weight;
    }
    if (!error && !sum) {
        error = mem_strdup("no member has a weight above 0");
    }
    return error ? error : quotas_sort(quotas, n);
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
        error = quotas_bound__(quotas, n, UINT32_C(1) << bits);
    }
    if (!error) {
        struct calendar *c = calendar_alloc__(shares, n, bits);

        quotas_apportion(quotas, n, UINT32_C(1) << bits);
        quotas_interleave(quotas, n, c->members, UINT32_C(1) << bits);
        *calendar = c;
    }
    free(quotas);
    return error;
}

/* Returns the calendar that has the given 'members' in its 2^'bits' slots, and
 * that was made from the 'n' 'shares' and, if it was shuffled, from '*seed'.
 * These are remembered only; 'seed' is NULL if it was not. */
const struct calendar *
calendar_restore(const struct calendar_share *shares, size_t n, uint8_t bits,
                 const uint16_t *members, const uint64_t *seed)
{
    struct calendar *calendar = calendar_alloc__(shares, n, bits);

    calendar->shuffled = seed != NULL;
    calendar->seed = seed ? *seed : 0;
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

/* Returns what 'calendar' was to give to 'member', or NULL. */
const struct calendar_share *
calendar_find_share(const struct calendar *calendar, uint16_t member)
{
    const struct calendar_share key = { .member = member };

    return calendar->n_shares
               ? bsearch(&key, calendar->shares, calendar->n_shares,
                         sizeof key, share_compare__)
               : NULL;
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
