/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_MESSAGE_H
#define EVLB_GRPC_MESSAGE_H 1

/* Messages within the data of a gRPC stream: each has a flag for compression,
 * a length of 32 bits, and the message itself.
 *
 *     decoder: bytes as they come in, in pieces of any size -> messages
 *     encoder: message -> bytes, at the end of a libevent buffer
 *
 * A decoder takes memory as bytes arrive, not as they are announced. */

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "controller/api/grpc-status.h"

struct evbuffer;

#define GRPC_MESSAGE_HEADER_LEN 5

struct grpc_decoder {
    size_t max;                              /* Longest message accepted. */
    uint8_t header[GRPC_MESSAGE_HEADER_LEN]; /* Of the message under way. */
    size_t n_header;                         /* Bytes of it that are there. */
    uint8_t *body;                           /* The message under way. */
    size_t n_body;                           /* Bytes of it that are there. */
    size_t allocated;                        /* Bytes that fit in 'body'. */
};

void grpc_decoder_init(struct grpc_decoder *, size_t max);
void grpc_decoder_destroy(struct grpc_decoder *);
enum grpc_status grpc_decoder_push(struct grpc_decoder *, const uint8_t *data,
                                   size_t n, size_t *used, const char **error);
bool grpc_decoder_is_whole(const struct grpc_decoder *);
bool grpc_decoder_is_empty(const struct grpc_decoder *);
ProtobufCMessage *
grpc_decoder_take(struct grpc_decoder *, const ProtobufCMessageDescriptor *);

size_t grpc_encode(struct evbuffer *, const ProtobufCMessage *);

#endif /* grpc-message.h */
