/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-message.h"

#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "controller/core/mem.h"

/* Prepares 'd' for messages of up to 'max' bytes. */
void
grpc_decoder_init(struct grpc_decoder *d, size_t max)
{
    memset(d, 0, sizeof *d);
    d->max = max;
}

/* Frees what 'd' holds. */
void
grpc_decoder_destroy(struct grpc_decoder *d)
{
    free(d->body);
    d->body = NULL;
}

/* Returns the length that the message under way announces. */
static size_t
length__(const struct grpc_decoder *d)
{
    const uint8_t *h = d->header;

    return ((size_t) h[1] << 24 | (size_t) h[2] << 16 | (size_t) h[3] << 8
            | h[4]);
}

/* Is a whole message there? */
bool
grpc_decoder_is_whole(const struct grpc_decoder *d)
{
    return d->n_header == sizeof d->header && d->n_body == length__(d);
}

/* Is nothing of a message there? */
bool
grpc_decoder_is_empty(const struct grpc_decoder *d)
{
    return !d->n_header;
}

static size_t
min__(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum grpc_status
check_header__(const struct grpc_decoder *d, const char **error)
{
    if (d->header[0]) {
        *error = "compressed messages are not supported";
        return GRPC_UNIMPLEMENTED;
    } else if (length__(d) > d->max) {
        *error = "the message is too long";
        return GRPC_RESOURCE_EXHAUSTED;
    } else {
        return GRPC_OK;
    }
}

static void
append__(struct grpc_decoder *d, const uint8_t *data, size_t n)
{
    while (d->n_body + n > d->allocated) {
        d->body = mem_grow(d->body, &d->allocated, 1);
    }
    if (n) {
        memcpy(d->body + d->n_body, data, n);
    }
    d->n_body += n;
}

/* Takes bytes of the 'n' at 'data' up to the end of a message; a message that
 * is whole already must have been taken.  Stores how many in '*used'.
 *
 * Returns GRPC_OK, or another status and stores the reason in '*error'; then
 * the stream is of no use any more. */
enum grpc_status
grpc_decoder_push(struct grpc_decoder *d, const uint8_t *data, size_t n,
                  size_t *used, const char **error)
{
    size_t n_header = min__(n, sizeof d->header - d->n_header);
    size_t n_body;

    memcpy(d->header + d->n_header, data, n_header);
    d->n_header += n_header;
    *used = n_header;
    if (n_header && d->n_header == sizeof d->header) {
        enum grpc_status status = check_header__(d, error);

        if (status != GRPC_OK) {
            return status;
        }
    }
    if (d->n_header == sizeof d->header) {
        n_body = min__(n - n_header, length__(d) - d->n_body);
        append__(d, data + n_header, n_body);
        *used += n_body;
    }
    return GRPC_OK;
}

/* Takes the message, which is whole, out of 'd'.  Returns it as one of 'type',
 * which the caller must free with protobuf_c_message_free_unpacked(), or NULL
 * if it is none. */
ProtobufCMessage *
grpc_decoder_take(struct grpc_decoder *d,
                  const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *msg = protobuf_c_message_unpack(
        type, NULL, d->n_body, d->body ? d->body : (const uint8_t *) "");
    size_t max = d->max;

    grpc_decoder_destroy(d);
    grpc_decoder_init(d, max);
    return msg;
}

/* Appends 'msg' to 'buffer'.  Returns the number of bytes. */
size_t
grpc_encode(struct evbuffer *buffer, const ProtobufCMessage *msg)
{
    size_t length = protobuf_c_message_get_packed_size(msg);
    uint8_t *data = mem_alloc(GRPC_MESSAGE_HEADER_LEN + length);

    data[0] = 0;
    data[1] = (uint8_t) (length >> 24);
    data[2] = (uint8_t) (length >> 16);
    data[3] = (uint8_t) (length >> 8);
    data[4] = (uint8_t) length;
    protobuf_c_message_pack(msg, data + GRPC_MESSAGE_HEADER_LEN);
    evbuffer_add(buffer, data, GRPC_MESSAGE_HEADER_LEN + length);
    free(data);
    return GRPC_MESSAGE_HEADER_LEN + length;
}
