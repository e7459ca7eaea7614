/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_PEERS_H
#define EVLB_GRPC_PEERS_H 1

/* Who is connected to a gRPC server, by address, and how many calls a second
 * each of them makes.
 *
 * A peer may make 'max_rate' calls a second, and as many at once.  It is
 * forgotten when its last connection ends. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grpc_peer;
struct grpc_peers;

struct grpc_peers *grpc_peers_create(void);
void grpc_peers_destroy(struct grpc_peers *);

struct grpc_peer *
grpc_peers_add(struct grpc_peers *, const char *address, int64_t now);
void grpc_peers_remove(struct grpc_peers *, struct grpc_peer *);
size_t grpc_peer_count(const struct grpc_peers *, const char *address);
bool grpc_peer_admit(struct grpc_peer *, uint32_t max_rate, int64_t now);

#endif /* grpc-peers.h */
