/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_CALL_H
#define EVLB_GRPC_CALL_H 1

/* A service, and one call of one of its methods, on the side of the server.
 *
 * A service is what protobuf-c makes of a .proto, and a handler for each
 * method.  A handler is given the request, which is there only until it
 * returns, and the call, which is its own until it calls grpc_call_finish():
 *
 *     grpc_call_send(call, reply);               any number of times
 *     grpc_call_finish(call, GRPC_OK, NULL);     exactly once
 *
 * It may do so before it returns, or at any time later, from the same event
 * loop.  A method with one reply calls grpc_call_reply(), which does both.
 *
 * When the caller gives up, its deadline passes, or the connection ends, the
 * function that grpc_call_on_cancel() was given is called.  The call still
 * has to be finished; what is sent to it goes nowhere. */

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "controller/api/grpc-status.h"

struct grpc_call;

typedef void
grpc_handler(void *aux, struct grpc_call *, const ProtobufCMessage *request);
typedef void grpc_cancel_cb(void *aux, struct grpc_call *);

struct grpc_service {
    const ProtobufCServiceDescriptor *descriptor;
    grpc_handler *const *handlers; /* Parallel to the descriptor's methods;
                                    * NULL for those that are not there. */
    void *aux;                     /* For the handlers. */
};

/* The services of one server. */
struct grpc_services {
    const struct grpc_service *services;
    size_t n;
};

void grpc_call_send(struct grpc_call *, const ProtobufCMessage *);
void
grpc_call_finish(struct grpc_call *, enum grpc_status, const char *message);
void grpc_call_reply(struct grpc_call *, const ProtobufCMessage *);
void grpc_call_on_cancel(struct grpc_call *, grpc_cancel_cb *, void *aux);

bool grpc_call_is_cancelled(const struct grpc_call *);
size_t grpc_call_get_unsent(const struct grpc_call *);
const char *grpc_call_get_header(const struct grpc_call *, const char *name);
const ProtobufCMethodDescriptor *
grpc_call_get_method(const struct grpc_call *);
const char *grpc_call_get_peer(const struct grpc_call *);

#endif /* grpc-call.h */
