/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_API_CLIENT_H
#define EVLB_API_CLIENT_H 1

/* The control API (loadbalancer.proto) as its clients use it: evlbctl, and the
 * programs at the ends.
 *
 * A client reaches evlbd as an EJFAT_URI says, with its token, or through
 * evlbd's Unix socket, which asks for none.  It connects when a call is made,
 * and again with the next call after a connection failed; that, too, is only
 * known from the status of a call, GRPC_UNAVAILABLE. */

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "controller/api/grpc-status.h"

struct api_client;
struct ejfat_uri;
struct event_base;

struct api_client_config {
    const struct ejfat_uri *uri; /* Borrowed; NULL for 'socket'. */
    const char *socket;          /* Borrowed. */
    const char *ca;              /* File of certificates to trust instead of
                                  * the system's, or NULL.  Borrowed. */
    bool insecure;               /* Believe any certificate? */
};

/* A call under way.  'done' is called exactly once, with the reply if 'status'
 * is GRPC_OK, else with NULL and a text that says what is wrong.  The reply and
 * the text are there only until it returns.  It may not destroy the client. */
typedef void
api_client_done(void *aux, enum grpc_status status, const char *message,
                const ProtobufCMessage *reply);

struct api_client *
api_client_create(struct event_base *, const struct api_client_config *);
void api_client_destroy(struct api_client *);

/* 'token' is another one than the URI's, or NULL. */
void api_client_call(struct api_client *, const char *method,
                     const ProtobufCMessage *request, const char *token,
                     int64_t timeout_ms, api_client_done *, void *aux);

/* For programs that do nothing else meanwhile.  Stores the reply, which the
 * caller frees with protobuf_c_message_free_unpacked(), in '*reply', and the
 * text, which the caller frees, in '*message'. */
enum grpc_status
api_client_wait(struct api_client *, const char *method,
                const ProtobufCMessage *request, const char *token,
                int64_t timeout_ms, ProtobufCMessage **reply, char **message);

/* Returns where the calls go, for messages. */
const char *api_client_get_peer(const struct api_client *);

#endif /* api-client.h */
