/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_CLIENT_H
#define EVLB_GRPC_CLIENT_H 1

/* A gRPC client on a libevent loop: one connection, and a session
 * (grpc-client-session.h) on it.
 *
 * Calls may be made at once; they are sent when the connection is there.  When
 * it fails, they end with GRPC_UNAVAILABLE, and the client is of no use any
 * more. */

#include <stdint.h>

#include "controller/api/grpc-client-session.h"

struct event_base;
struct grpc_client;
struct listen_address;

int grpc_client_create(struct event_base *, const struct listen_address *,
                       struct grpc_client **);
void grpc_client_destroy(struct grpc_client *);

struct grpc_client_call *
grpc_client_call(struct grpc_client *, const struct grpc_client_request *);

/* For programs that do nothing else meanwhile. */
enum grpc_status
grpc_client_wait(struct grpc_client *, const struct grpc_client_request *,
                 char **message);

#endif /* grpc-client.h */
