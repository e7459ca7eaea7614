/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CALENDAR_PLAN_H
#define EVLB_CALENDAR_PLAN_H 1

/* Calendars of the workers of a reservation, by its strategy.
 *
 *                  demanded slots      all others
 *     dynamic      (not looked at)     by weight, then all are shuffled
 *     static       for who demands     by weight, among those who demand none;
 *                                      among all if everybody does
 *     explicit     for who demands     for nobody
 *
 * Slots by weight are within the factors of each member, of an even share that
 * is the number of slots divided by that of members; slots that it demanded
 * count.  All slots are given away in any case, so that no event is lost: where
 * that cannot be within the factors, they are left aside, and slots are in
 * proportion to the maximum factors if these are too low, and to the minimum
 * factors if these are too high.
 *
 * A calendar is a function of what it is made from, seed included, and can be
 * made again. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/book.h"

struct calendar;

struct calendar_member {
    uint16_t member;
    uint64_t session; /* For messages about demands. */
    uint32_t weight;  /* If all have 0, all have the same. */
    double min_factor;
    double max_factor; /* 0 for none. */
    const struct slot_range *demands;
    size_t n_demands;
};

struct calendar_options {
    enum strategy strategy;
    uint64_t seed; /* Of the shuffle: see core/shuffle.h. */
};

char *calendar_plan(const struct calendar_member *, size_t n,
                    const struct calendar_options *, uint8_t bits,
                    const struct calendar **, bool *bounded);

#endif /* calendar-plan.h */
