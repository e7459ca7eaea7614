/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_FILTER_H
#define EVLB_GRPC_FILTER_H 1

/* What a gRPC client sends, without resets of streams that it never opened.
 *
 * HTTP/2 calls them an error of the connection, and nghttp2 insists.  Yet the
 * client library that most use sends one when a call is given up between
 * getting a stream's number and being sent, and all other calls of the
 * connection would be lost with that one.
 *
 * Frames are looked at, not checked: what is wrong is nghttp2's to find. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grpc_filter {
    uint8_t frame[13]; /* The frame that begins, as far as it is held back. */
    size_t n_frame;
    size_t n_pass;        /* Bytes that come through whatever they are. */
    uint32_t last_stream; /* The last one that the client opened. */
};

enum grpc_filter_verdict {
    GRPC_FILTER_WAIT,
    GRPC_FILTER_PASS,
    GRPC_FILTER_DROP
};

void grpc_filter_init(struct grpc_filter *);
enum grpc_filter_verdict
grpc_filter_next(struct grpc_filter *, const uint8_t **data, size_t *n,
                 const uint8_t **out, size_t *n_out);

#endif /* grpc-filter.h */
