/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CHAIN_H
#define EVLB_CHAIN_H 1

/* Chains: a reservation here is a worker of a reservation of another load
 * balancer, the upstream one, which sends it a share of its events, headers and
 * all.
 *
 *     senders --> upstream's reservation --+--> its other workers
 *                                          |
 *                                          '--> reservation --> our workers
 *
 * What our workers report is reported there as if one worker did.
 *
 * This has no I/O and no clock. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/book.h"
#include "controller/core/control.h"

/* How we receive, whatever the reservation's own ports are. */
#define CHAIN_PORT 19522
#define CHAIN_PORT_BITS 14

/* Does not change once it is made. */
struct chain {
    struct book_entry entry;
    uint64_t reservation; /* Its id. */
    char *name;           /* Of us as a worker there, HOST:PORT/ID; or "". */
    char *upstream;       /* HOST:PORT/ID of the other reservation. */
    char *secret;         /* Its EJFAT_URI, sealed: see lib/secret.h. */
    enum ip_family family;
    double weight;
    double min_factor;
    double max_factor;
    struct slot_range *demands;
    size_t n_demands;
    struct in6_addr sources[2]; /* From where it sends. */
    size_t n_sources;
};

struct chain *chain_clone(const struct chain *);
const struct chain *chain_ref(const struct chain *);
void chain_unref(const struct chain *);

/* What all workers together report. */
struct chain_report {
    bool ready;
    double fill;
    double control;
    int64_t events_received;
    int64_t events_reassembled;
    int64_t events_reassembly_errors;
    int64_t events_dequeued;
    int64_t event_enqueue_errors;
    int64_t bytes_received;
    int64_t packets_received;
};

void chain_sum_up(const struct session *const *, size_t n,
                  const struct control_settings *, int64_t now,
                  struct chain_report *);

#endif /* chain.h */
