/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_PEERS_H
#define EVLB_GRPC_PEERS_H 1

/* Who is connected to a gRPC server: the peers (grpc-peer.h) by their address,
 * whichever protocol and port they come by.  All that come through Unix
 * sockets are one.
 *
 * One whose last connection has ended is remembered until a new one would be no
 * better off. */

#include <stddef.h>
#include <stdint.h>

struct grpc_peer;
struct grpc_peers;
struct grpc_settings;

struct grpc_peers *grpc_peers_create(const struct grpc_settings *);
void grpc_peers_destroy(struct grpc_peers *);

char *grpc_peers_add(struct grpc_peers *, const char *name, int64_t now,
                     struct grpc_peer **);
void grpc_peers_remove(struct grpc_peers *, struct grpc_peer *, int64_t now);
size_t grpc_peers_count(const struct grpc_peers *);

#endif /* grpc-peers.h */
