/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_SENDER_H
#define ENDPOINTS_SENDER_H 1

/* Sends segments as UDP datagrams, in batches, and logs those that were sent.
 *
 * The log has one line for each packet that the kernel took, with the columns
 * that its first line names, separated by tabs.  Packets are never fragmented:
 * one that does not fit the interface is an error. */

#include <stdint.h>

#include "endpoints/plan.h"
#include "endpoints/send-config.h"

struct sender;

struct sender_stats {
    uint64_t events;     /* Events sent whole. */
    uint64_t bundles;    /* Bundles sent whole. */
    uint64_t packets;    /* Packets that the kernel took. */
    uint64_t data_bytes; /* Event data in them. */
    uint64_t ip_bytes;   /* With all headers from IP on. */
    uint64_t retries;    /* Times that the kernel had no room. */
    uint64_t first_tick; /* Of the first packet. */
    uint64_t last_tick;  /* Of the latest packet. */
};

char *sender_create(const struct send_config *, struct sender **);
char *sender_destroy(struct sender *);

void sender_put(struct sender *, const struct plan_segment *);
bool sender_is_full(const struct sender *);
char *sender_flush(struct sender *);

uint16_t sender_source_port(const struct sender *, unsigned int socket);
const struct sender_stats *sender_stats(const struct sender *);

#endif /* endpoints/sender.h */
