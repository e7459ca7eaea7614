/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_HTTP_METRICS_H
#define EVLB_HTTP_METRICS_H 1

/* Answers those who ask for metrics.
 *
 * The switches are read first, so that the counters are new, but not more often
 * than once a second, and nobody waits for a switch longer than two seconds:
 * then the counters are those of before, and their age says so. */

#include <stdbool.h>

#include "controller/api/metrics.h"

struct event_base;
struct http_call;
struct http_metrics;

struct http_metrics *
http_metrics_create(struct event_base *, const struct metrics_sources *);
void http_metrics_destroy(struct http_metrics *);

void http_metrics_serve(struct http_metrics *, struct http_call *);

#endif /* http-metrics.h */
