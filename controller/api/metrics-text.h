/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_METRICS_TEXT_H
#define EVLB_METRICS_TEXT_H 1

/* Writes metrics for Prometheus, in its text format 0.0.4.
 *
 *     metrics_family(m, "evlb_member_slots", METRICS_GAUGE, "Slots of ...");
 *     metrics_value(m, 12, "instance", "a", "member", "3", NULL);
 *     metrics_value(m, 500, "instance", "a", "member", "7", NULL);
 *
 * All samples of a family come in one go.  Names and values of labels come in
 * pairs, and NULL ends them. */

#include <stdint.h>
#include <stdio.h>

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct histogram;

enum metrics_type {
    METRICS_COUNTER,
    METRICS_GAUGE,
    METRICS_HISTOGRAM
};

struct metrics {
    FILE *stream;     /* Where to, borrowed. */
    const char *name; /* Of the family. */
};

void metrics_family(struct metrics *, const char *name, enum metrics_type,
                    const char *help);
void
metrics_value(struct metrics *, double, ...) __attribute__((__sentinel__));
void
metrics_count(struct metrics *, uint64_t, ...) __attribute__((__sentinel__));

void metrics_histogram(struct metrics *, const struct histogram *);

#endif /* metrics-text.h */
