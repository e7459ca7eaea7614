/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_RECEIVER_H
#define ENDPOINTS_RECEIVER_H 1

/* Receives datagrams at a row of UDP ports, in batches, each with the time at
 * which the kernel got it. */

#include <stddef.h>
#include <stdint.h>

#include "endpoints/address.h"
#include "endpoints/recv-config.h"

struct receiver;

/* A datagram.  Valid during the callback only. */
struct datagram {
    uint16_t port;             /* Port that it came to. */
    const union address *from; /* Where it came from. */
    int64_t time;              /* When, ns since the UNIX epoch. */
    const void *data;          /* UDP payload. */
    size_t size;               /* Bytes at 'data'. */
};

typedef void receiver_cb(const struct datagram *, void *aux);

char *receiver_create(const struct recv_config *, struct receiver **);
void receiver_destroy(struct receiver *);

char *receiver_poll(struct receiver *, int timeout_ms, size_t max,
                    receiver_cb *, void *aux, size_t *n);

uint64_t receiver_drops(const struct receiver *);
uint64_t receiver_port_packets(const struct receiver *, size_t i);
uint64_t receiver_port_drops(const struct receiver *, size_t i);
uint64_t receiver_rcvbuf(const struct receiver *);
double receiver_fill(const struct receiver *);

#endif /* endpoints/receiver.h */
