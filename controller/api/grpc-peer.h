/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_PEER_H
#define EVLB_GRPC_PEER_H 1

/* What a gRPC server may be set to, and how much of it one peer has taken.
 *
 * A peer is what calls come from: an address, with all its connections.  It may
 * make so many calls a second, as many at once, and have so many under way; it
 * is asked for each call, and told when the call is over. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grpc_settings {
    uint32_t max_connections;      /* In all. */
    uint32_t max_peer_connections; /* Of one peer. */
    uint32_t max_peer_calls;       /* Of one peer, under way. */
    uint32_t max_peer_rate;        /* Of one peer, calls a second. */
    uint32_t max_message;          /* Bytes of a request. */
    uint32_t idle;                 /* Milliseconds of a connection without a
                                    * call. */
    uint16_t http_port;            /* Where HTTP/1 is spoken, 0 for nowhere. */
    bool http_tls;                 /* Over TLS? */
};

/* For a thousand workers behind one address that report ten times a second. */
#define GRPC_SETTINGS_DEFAULT                                  \
    {                                                          \
        .max_connections = 8192, .max_peer_connections = 4096, \
        .max_peer_calls = 8192, .max_peer_rate = 50000,        \
        .max_message = 262144, .idle = 300000,                 \
    }

struct grpc_peer {
    const struct grpc_settings *settings;
    size_t n_calls; /* Under way. */
    double credit;  /* Calls that it may make at once. */
    int64_t since;  /* When that was so, in ms. */
};

void
grpc_peer_init(struct grpc_peer *, const struct grpc_settings *, int64_t now);
void grpc_peer_begin(struct grpc_peer *);
void grpc_peer_end(struct grpc_peer *);
char *grpc_peer_admit(struct grpc_peer *, int64_t now);
bool grpc_peer_is_rested(struct grpc_peer *, int64_t now);

#endif /* grpc-peer.h */
