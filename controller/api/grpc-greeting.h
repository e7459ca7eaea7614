/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_GREETING_H
#define EVLB_GRPC_GREETING_H 1

/* What a client says first on a connection that is for gRPC: the preface of
 * HTTP/2, a request of HTTP/1, or something else.
 *
 * A browser that was sent to the wrong port is told where to go, and a client
 * that cannot speak HTTP/2 is told that it has to. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than this is no request of HTTP/1 that is answered. */
#define GRPC_GREETING_MAX 8192

enum grpc_greeting_kind {
    GRPC_GREETING_MORE,  /* More bytes are needed to tell. */
    GRPC_GREETING_HTTP2, /* The preface; what was said begins with it. */
    GRPC_GREETING_HTTP1, /* A whole request's headers. */
    GRPC_GREETING_OTHER
};

enum grpc_greeting_kind grpc_greeting_get_kind(const char *, size_t);
char *grpc_greeting_reply(const char *, size_t, uint16_t port, bool tls);

#endif /* grpc-greeting.h */
