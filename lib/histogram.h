/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_HISTOGRAM_H
#define LIB_HISTOGRAM_H 1

/* A distribution of durations. */

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 12

struct histogram {
    /* By what they did not exceed; the last is of all that is longer. */
    uint64_t counts[HISTOGRAM_BUCKETS + 1];
    double sum; /* Seconds. */
};

void histogram_add(struct histogram *, double seconds);
double histogram_bound(size_t bucket);

#endif /* lib/histogram.h */
