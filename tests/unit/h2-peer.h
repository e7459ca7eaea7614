/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_H2_PEER_H
#define TESTS_H2_PEER_H 1

/* An HTTP/2 client at the other end of a gRPC session, without a network.  It
 * sends what a test tells it to, right or wrong, and keeps what comes back. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

struct grpc_session;

#define H2_STREAMS_MAX 512

/* What came back on one stream. */
struct h2_reply {
    char http[4];     /* ":status", or "". */
    int status;       /* "grpc-status", or -1. */
    char message[96]; /* "grpc-message". */
    char accept[16];  /* "grpc-accept-encoding". */
    uint8_t *data;
    size_t n;
    bool closed;
    uint32_t code; /* The HTTP/2 error when it was closed. */
};

struct h2_peer {
    nghttp2_session *h2;
    struct grpc_session *session; /* The other end. */
    int64_t now;
    const uint8_t *data; /* What the request under way has to say. */
    size_t n_data;
    bool open; /* Does the request stay open behind that? */
    struct h2_reply replies[H2_STREAMS_MAX]; /* By half the stream's id. */
    bool goaway;
    uint32_t goaway_code;
};

void h2_peer_init(struct h2_peer *, struct grpc_session *, int64_t now);
void h2_peer_destroy(struct h2_peer *);
void h2_peer_exchange(struct h2_peer *);

int32_t h2_peer_call(struct h2_peer *, const char *path, const void *, size_t);
int32_t h2_peer_call_open(struct h2_peer *, const char *path, const void *,
                          size_t, const char *timeout);
int32_t h2_peer_request(struct h2_peer *, const nghttp2_nv *, size_t n_nvs,
                        const void *, size_t, bool open);
struct h2_reply *h2_peer_reply(struct h2_peer *, int32_t stream);

nghttp2_nv h2_nv(const char *name, const char *value);

#endif /* h2-peer.h */
