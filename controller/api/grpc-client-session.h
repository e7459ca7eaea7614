/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_CLIENT_SESSION_H
#define EVLB_GRPC_CLIENT_SESSION_H 1

/* The client's side of one HTTP/2 connection that carries gRPC calls: a state
 * machine without I/O, which is driven as grpc-session.h describes.
 *
 * A call is made with one request.  'message' is called with each reply, which
 * is there only until it returns; then 'done' is called, exactly once, with
 * the status of the call.  'done' of calls that are under way is called with
 * GRPC_UNAVAILABLE when the session ends.  Neither may destroy the session. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "controller/api/grpc-status.h"

struct grpc_client_call;
struct grpc_client_session;

/* A header that a call is sent with, its name in lower case. */
struct grpc_client_header {
    const char *name;
    const char *value;
};

struct grpc_client_request {
    const ProtobufCServiceDescriptor *service;
    const char *method;
    const ProtobufCMessage *message;
    const struct grpc_client_header *headers;
    size_t n_headers;
    int64_t timeout_ms; /* 0 for none. */

    void (*reply)(void *aux, const ProtobufCMessage *);
    void (*done)(void *aux, enum grpc_status, const char *message);
    void *aux;
};

struct grpc_client_session *
grpc_client_session_create(const char *authority, const char *scheme,
                           void (*wake)(void *aux), void *aux);
void grpc_client_session_destroy(struct grpc_client_session *);

struct grpc_client_call *
grpc_client_session_call(struct grpc_client_session *,
                         const struct grpc_client_request *, int64_t now);
void grpc_client_call_cancel(struct grpc_client_call *);

void grpc_client_session_receive(struct grpc_client_session *, const uint8_t *,
                                 size_t);
void grpc_client_session_end(struct grpc_client_session *, const char *reason);
size_t
grpc_client_session_send(struct grpc_client_session *, const uint8_t **);
void grpc_client_session_run(struct grpc_client_session *, int64_t now);
int64_t grpc_client_session_wakeup(const struct grpc_client_session *);
bool grpc_client_session_is_over(const struct grpc_client_session *);

#endif /* grpc-client-session.h */
