/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_CLIENT_H
#define EVLB_GRPC_CLIENT_H 1

/* A gRPC client on a libevent loop: one connection, and a session
 * (grpc-client-session.h) on it.
 *
 *     const struct grpc_client_address address = {
 *         .host = uri.host, .port = uri.port, .tls = uri.tls };
 *     const struct grpc_client_header headers[] = {
 *         { "authorization", "Bearer ..." } };
 *     const struct grpc_client_request request = {
 *         .service = &loadbalancer__load_balancer__descriptor,
 *         .method = "SendState", .message = &state.base,
 *         .headers = headers, .n_headers = 1, .timeout_ms = 1000,
 *         .reply = reply_cb, .done = done_cb, .aux = aux };
 *
 *     client = grpc_client_create(base, &address);
 *     grpc_client_call(client, &request);
 *
 * Calls may be made at once; they are sent when the connection is there.  What
 * 'request' points to need not stay.  When the connection fails or ends, the
 * calls under way end with GRPC_UNAVAILABLE and say why, and so does each
 * further one, at once: grpc_client_is_over() says so, and the owner makes
 * another client when it likes to, but not from within 'reply' or 'done', in
 * which the client must not be destroyed. */

#include <stdbool.h>
#include <stdint.h>

#include "controller/api/grpc-client-session.h"

struct event_base;
struct grpc_client;

/* Where a server is.  It need not stay. */
struct grpc_client_address {
    const char *path; /* A Unix socket, or NULL for the following. */
    const char *host; /* A name, or an address without brackets. */
    uint16_t port;
    bool tls;
    const char *ca; /* Authorities that its certificate may be signed by, a
                     * file; NULL for those that the system trusts. */
    bool insecure;  /* Believe in any certificate? */
};

struct grpc_client *
grpc_client_create(struct event_base *, const struct grpc_client_address *);
void grpc_client_destroy(struct grpc_client *);

bool grpc_client_is_over(const struct grpc_client *);
int grpc_client_get_errno(const struct grpc_client *);

struct grpc_client_call *
grpc_client_call(struct grpc_client *, const struct grpc_client_request *);

/* For programs that do nothing else meanwhile. */
enum grpc_status
grpc_client_wait(struct grpc_client *, const struct grpc_client_request *,
                 char **message);

#endif /* grpc-client.h */
