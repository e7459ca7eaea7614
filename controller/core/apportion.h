/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_APPORTION_H
#define EVLB_APPORTION_H 1

/* Divides slots among members, and spreads what each gets.
 *
 *     quota_init()        weight and factors of each
 *     quotas_sort()       each once
 *     quotas_bound()      factors become bounds, in slots
 *     quotas_apportion()  how many slots each gets
 *     quotas_interleave() which
 *
 * Slots are apportioned by largest remainder (Hamilton's method), within the
 * bounds.  All arithmetic is of whole numbers, and the result does not depend
 * on the order of the quotas. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUOTA_FACTOR_MAX 65536
#define QUOTA_PPM UINT64_C(1000000)

/* A member on the way to its slots. */
struct quota {
    uint16_t member;
    uint32_t weight;
    uint64_t min_ppm; /* Its factors, in millionths. */
    uint64_t max_ppm;
    uint32_t n_pinned; /* Slots that it has beside those that are divided. */
    uint32_t min;      /* Bounds of 'n_slots'. */
    uint32_t max;
    uint32_t n_slots; /* Slots that it is to have. */

    /* While they are divided. */
    bool fixed;         /* Is 'n_slots' final? */
    uint64_t remainder; /* Of the division that gave 'n_slots'. */
    uint32_t n_placed;  /* Slots that it has already; */
    uint32_t release;   /* the first that the next may be, */
    uint32_t deadline;  /* and the one before which it must be. */
};

char *quota_init(struct quota *, uint16_t member, uint32_t weight,
                 double min_factor, double max_factor);
char *quotas_sort(struct quota *, size_t n);
bool quotas_bound(struct quota *, size_t n, uint64_t n_even, uint32_t n_total,
                  uint32_t n_slots);
void quotas_apportion(struct quota *, size_t n, uint32_t n_slots);
void quotas_interleave(struct quota *, size_t n, uint16_t *members,
                       uint32_t n_slots);

#endif /* apportion.h */
