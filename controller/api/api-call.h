/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_API_CALL_H
#define EVLB_API_CALL_H 1

/* One call of the control API, in whatever way it came: gRPC or REST.
 *
 * The carrier embeds a struct api_call in what it keeps of the call, fills it,
 * and hands it to the service (lb.h), which ends it exactly once, at once or
 * later, from the same event loop:
 *
 *     api_call_reply(call, reply);                         or
 *     api_call_fail(call, GRPC_NOT_FOUND, "there is no ...");
 *
 * After that 'call' may be gone.  When the caller gives up meanwhile, the
 * carrier keeps 'call' until then. */

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "controller/api/grpc-status.h"

struct api_call;

struct api_carrier {
    void (*reply)(struct api_call *, const ProtobufCMessage *);
    void (*fail)(struct api_call *, enum grpc_status, const char *message);
};

struct api_call {
    const struct api_carrier *carrier;

    /* Of the caller; they stay as long as the call does. */
    const char *authorization; /* The header "authorization", or NULL. */
    const char *authority;     /* As whom it addresses us, HOST:PORT; or NULL.
                                * It may be anything. */
    const char *peer;          /* Where it comes from, for messages. */
    bool trusted; /* Came through a door that only operators have, so that it
                   * needs no token? */
};

void api_call_reply(struct api_call *, const ProtobufCMessage *);
void api_call_fail(struct api_call *, enum grpc_status, const char *format,
                   ...) __attribute__((__format__(printf, 3, 4)));

#endif /* api-call.h */
