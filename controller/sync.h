/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_SYNC_H
#define EVLB_SYNC_H 1

/* Sync: where senders tell how far they are, one UDP socket an instance.
 *
 * Datagrams come from the network.  One that is not a Sync datagram, or not
 * from whom the instance believes, is counted and changes nothing.
 *
 * A struct syncs holds those of all instances of a state.  For another state,
 * another one is created, which takes over the sockets that stay where they
 * are, with what was heard there; until syncs_serve() the old one goes on. */

#include <stddef.h>
#include <stdint.h>

#include "controller/core/addr.h"
#include "controller/core/predictor.h"

struct event_base;
struct instance;
struct state;
struct syncs;

/* Datagrams, by what became of them. */
struct sync_counters {
    uint64_t n_taken;
    uint64_t n_malformed;    /* Of another length, magic or version. */
    uint64_t n_foreign;      /* From whom the instance does not believe. */
    uint64_t n_backwards;    /* With a tick before the sender's last one. */
    uint64_t n_too_many;     /* From one sender more than there may be. */
    struct in6_addr foreign; /* The last such source. */
};

char *syncs_create(struct event_base *, const struct state *,
                   const struct syncs *old, struct syncs **);
void syncs_destroy(struct syncs *);
void syncs_serve(struct syncs *, const struct state *);
void syncs_reset(struct syncs *, const struct instance *);

const struct predictor *syncs_get(const struct syncs *, uint16_t instance,
                                  const struct sync_counters **);

#endif /* sync.h */
