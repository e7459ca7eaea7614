/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_SYNC_H
#define ENDPOINTS_SYNC_H 1

/* Sends the Sync datagrams of a data source, one each second, so that the
 * control plane can foresee its ticks.  A control plane that does not listen
 * is no error: what could not be sent is counted. */

#include <stdint.h>

#include "endpoints/address.h"

struct sync {
    int fd;             /* Connected, -1 if no Sync is wanted. */
    uint32_t source_id; /* In the datagrams. */
    double known_rate;  /* Ticks a second, 0 if it is measured. */
    int64_t next;       /* When the next one goes, monotonic ns. */
    int64_t last_time;  /* When the latest one went. */
    uint64_t last_tick; /* The tick in it. */
    uint64_t n_sent;    /* Datagrams sent. */
    uint64_t n_errors;  /* Datagrams that could not be sent. */
};

char *sync_open(struct sync *, const union address *, uint32_t source_id,
                double known_rate);
void sync_close(struct sync *);
void sync_run(struct sync *, uint64_t tick, int64_t now);
int64_t sync_next(const struct sync *);

#endif /* endpoints/sync.h */
