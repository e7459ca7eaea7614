/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_LEAD_PROBE_H
#define EVLB_LEAD_PROBE_H 1

/* Packets of evlbd's own that measure when a change takes effect.
 *
 *     evlbd -- interface ===== port -- bridge: scratch boundary (flows/probe.c)
 *
 * The bridge has a port whose other end, such as that of a veth pair, is a
 * network interface of this host.  While a change is made, packets are sent
 * there, and what comes back tells by which change it was decided.  core/
 * lead-run.h makes a number of it. */

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct lead_probe;

/* The lead is 'us' microseconds; or, if 'error' is not NULL, that is why it
 * is not known. */
typedef void lead_probe_cb(void *aux, int64_t us, const char *error);

char *lead_probe_create(struct event_base *, const char *interface,
                        lead_probe_cb *, void *aux, struct lead_probe **);
void lead_probe_destroy(struct lead_probe *);

void lead_probe_measure(struct lead_probe *, uint16_t change);
bool lead_probe_is_busy(const struct lead_probe *);

#endif /* lead-probe.h */
