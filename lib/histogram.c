/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/histogram.h"

#include <math.h>

static const double bounds[HISTOGRAM_BUCKETS] = { 0.0005, 0.001, 0.0025, 0.005,
                                                  0.01,   0.025, 0.05,   0.1,
                                                  0.25,   0.5,   1,      2.5 };

/* Returns how long, in seconds, what is in 'bucket' may have taken. */
double
histogram_bound(size_t bucket)
{
    return bucket < HISTOGRAM_BUCKETS ? bounds[bucket] : INFINITY;
}

/* Takes note of something that took 'seconds'. */
void
histogram_add(struct histogram *h, double seconds)
{
    size_t i = 0;

    while (i < HISTOGRAM_BUCKETS && seconds > bounds[i]) {
        i++;
    }
    h->counts[i]++;
    h->sum += seconds;
}
