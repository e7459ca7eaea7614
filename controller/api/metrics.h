/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_METRICS_H
#define EVLB_METRICS_H 1

/* What evlbd tells Prometheus about itself, its instances and its switches;
 * docs/http.md lists it.
 *
 * Labels are names of the configuration, words of ours, and what there is at
 * the moment: members and workers that are gone are not told of, so that there
 * are never more series than things. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct engine;
struct http_server;
struct metrics;

/* Where the figures come from. */
struct metrics_sources {
    struct engine *engine;
    const struct http_server *http;
    int64_t started; /* When evlbd was, in seconds since 1970. */
};

char *metrics_render(const struct metrics_sources *, size_t *size);

/* Parts, by subject. */
void metrics_process(struct metrics *, int64_t started);
void metrics_http(struct metrics *, const struct http_server *);
void metrics_switches(struct metrics *, struct engine *);
void metrics_instances(struct metrics *, struct engine *);
void metrics_senders(struct metrics *, struct engine *);
void metrics_traffic(struct metrics *, struct engine *);
void metrics_control(struct metrics *, struct engine *);
void metrics_calls(struct metrics *);
void metrics_store(struct metrics *, struct engine *);

#endif /* metrics.h */
