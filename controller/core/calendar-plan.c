/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/calendar-plan.h"

#include <stdlib.h>

#include "controller/core/apportion.h"
#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/core/shuffle.h"

/* A calendar that is being made. */
struct plan {
    const struct calendar_member *members;
    size_t n;
    struct calendar_options options;
    uint32_t n_slots;
    uint16_t slots[CALENDAR_SLOTS_MAX]; /* Members. */
    uint16_t pins[CALENDAR_SLOTS_MAX];  /* Indexes of 'members'. */
    struct quota *quotas;               /* Of who gets slots by weight. */
    size_t n_quotas;
    bool bounded;
};

/* Stores in 'plan->pins' who demanded what. */
static char *
plan_pin__(struct plan *plan)
{
    struct slot_demand *demands = mem_alloc(plan->n * sizeof *demands);
    char *error;

    for (size_t i = 0; i < plan->n; i++) {
        const struct calendar_member *m = &plan->members[i];
        bool any = plan->options.strategy != STRATEGY_DYNAMIC;

        demands[i] = (struct slot_demand){ m->session, m->demands,
                                           any ? m->n_demands : 0 };
    }
    error = slots_resolve(demands, plan->n, plan->pins, plan->n_slots);
    free(demands);
    return error;
}

/* Makes a quota of each member, in the order of the members. */
static char *
plan_init_quotas__(struct plan *plan)
{
    char *error = NULL;

    for (size_t i = 0; !error && i < plan->n; i++) {
        const struct calendar_member *m = &plan->members[i];

        error = quota_init(&plan->quotas[i], m->member, m->weight,
                           m->min_factor, m->max_factor);
    }
    plan->n_quotas = plan->n;
    return error;
}

/* Writes the pins down.  Returns how many slots nobody has demanded. */
static uint32_t
plan_write_pins__(struct plan *plan)
{
    uint32_t n_free = 0;

    for (uint32_t slot = 0; slot < plan->n_slots; slot++) {
        uint16_t pin = plan->pins[slot];

        plan->slots[slot] = CALENDAR_NO_MEMBER;
        if (pin == SLOT_FREE) {
            n_free++;
        } else {
            plan->slots[slot] = plan->members[pin].member;
            plan->quotas[pin].n_pinned++;
        }
    }
    return n_free;
}

/* Leaves to 'plan' the quotas of those who have nothing pinned, if there are
 * any. */
static void
plan_choose_quotas__(struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n; i++) {
        n += !plan->quotas[i].n_pinned;
    }
    if (!n) {
        return;
    }
    plan->n_quotas = 0;
    for (size_t i = 0; i < plan->n; i++) {
        if (!plan->quotas[i].n_pinned) {
            plan->quotas[plan->n_quotas++] = plan->quotas[i];
        }
    }
}

/* Gives a small weight to those that have none, if 'all' or if nobody has
 * one. */
static void
plan_weigh__(struct plan *plan, bool all)
{
    bool any = false;

    for (size_t i = 0; i < plan->n_quotas; i++) {
        any = any || plan->quotas[i].weight;
    }
    for (size_t i = 0; (all || !any) && i < plan->n_quotas; i++) {
        struct quota *q = &plan->quotas[i];

        q->weight = q->weight ? q->weight : 1;
    }
}

/* The factors leave no way to give 'n_free' slots away: weights take the place
 * of whichever bound is in the way, and there are no bounds any more. */
static void
plan_unbind__(struct plan *plan, uint32_t n_free)
{
    uint64_t sum_min = 0;
    uint64_t sum_max = 0;

    for (size_t i = 0; i < plan->n_quotas; i++) {
        sum_min += plan->quotas[i].min;
        sum_max += plan->quotas[i].max;
    }
    for (size_t i = 0; i < plan->n_quotas; i++) {
        struct quota *q = &plan->quotas[i];

        if (sum_min > n_free) {
            q->weight = q->min;
        } else if (sum_max > 0) {
            q->weight = q->max;
        }
        q->min = 0;
        q->max = n_free;
    }
}

/* Turns the factors into bounds of 'n_free' slots.  Those without a weight get
 * more than their minimum only if it does not work otherwise. */
static void
plan_bind__(struct plan *plan, uint32_t n_free)
{
    for (int all = 0; all < 2; all++) {
        plan_weigh__(plan, all);
        if (quotas_bound(plan->quotas, plan->n_quotas, plan->n, plan->n_slots,
                         n_free)) {
            return;
        }
    }
    plan_unbind__(plan, n_free);
    plan->bounded = false;
}

/* Gives the 'n_free' slots that nobody has away. */
static void
plan_fill__(struct plan *plan, uint32_t n_free)
{
    uint16_t fill[CALENDAR_SLOTS_MAX];
    uint32_t n = 0;

    plan_choose_quotas__(plan);
    plan_bind__(plan, n_free);
    quotas_apportion(plan->quotas, plan->n_quotas, n_free);
    quotas_interleave(plan->quotas, plan->n_quotas, fill, n_free);
    for (uint32_t slot = 0; slot < plan->n_slots; slot++) {
        if (plan->slots[slot] == CALENDAR_NO_MEMBER) {
            plan->slots[slot] = fill[n++];
        }
    }
}

/* Decides about all slots. */
static char *
plan_slots__(struct plan *plan)
{
    uint32_t n_free = plan_write_pins__(plan);
    char *error = quotas_sort(plan->quotas, plan->n);

    if (error) {
        return error;
    }
    switch (plan->options.strategy) {
    case STRATEGY_EXPLICIT:
        return n_free < plan->n_slots
                   ? NULL
                   : mem_strdup("no worker demands a slot, and with the "
                                "strategy explicit none gets another");
    case STRATEGY_STATIC:
        if (n_free) {
            plan_fill__(plan, n_free);
        }
        return NULL;
    case STRATEGY_DYNAMIC:
        plan_fill__(plan, n_free);
        shuffle(plan->slots, plan->n_slots, plan->options.seed);
        return NULL;
    }
    return NULL;
}

/* Returns the calendar that 'plan' has decided about. */
static const struct calendar *
plan_finish__(const struct plan *plan, uint8_t bits)
{
    struct calendar_share *shares = mem_alloc(plan->n * sizeof *shares);
    const struct calendar *calendar;

    for (size_t i = 0; i < plan->n; i++) {
        const struct calendar_member *m = &plan->members[i];

        shares[i] = (struct calendar_share){ m->member, m->weight,
                                             m->min_factor, m->max_factor };
    }
    calendar = calendar_restore(shares, plan->n, bits, plan->slots,
                                plan->options.strategy == STRATEGY_DYNAMIC
                                    ? &plan->options.seed
                                    : NULL);
    free(shares);
    return calendar;
}

/* Makes a calendar of 2^'bits' slots for the 'n' 'members', of whom those that
 * come first choose first among gaps.
 *
 * Returns NULL and stores in '*calendar' a reference that the caller must
 * release with calendar_unref(), and in '*bounded' whether each member's slots
 * are within its factors; or returns the reason why there is none, which the
 * caller must free.  Where there are more members than slots, the lightest get
 * none. */
char *
calendar_plan(const struct calendar_member *members, size_t n,
              const struct calendar_options *options, uint8_t bits,
              const struct calendar **calendar, bool *bounded)
{
    struct plan plan = {
        .members = members, .n = n, .options = *options, .bounded = true
    };
    char *error;

    *calendar = NULL;
    if (bits > CALENDAR_BITS_MAX) {
        return mem_printf("%u slot bits are more than %u", bits,
                          CALENDAR_BITS_MAX);
    }
    if (!n) {
        return mem_strdup("there is no worker");
    }
    plan.n_slots = UINT32_C(1) << bits;
    plan.quotas = mem_zalloc(n * sizeof *plan.quotas);
    error = plan_init_quotas__(&plan);
    error = error ? error : plan_pin__(&plan);
    error = error ? error : plan_slots__(&plan);
    if (!error) {
        *calendar = plan_finish__(&plan, bits);
        *bounded = plan.bounded;
    }
    free(plan.quotas);
    return error;
}
