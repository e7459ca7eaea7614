/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes requests of the control API by HTTP: a body of JSON, or the query of
 * an address, for any of the calls.  What was understood is written as JSON,
 * which must be understood as the same.
 *
 * The first byte of the input says which message, and whether the rest is a query
 * or a body. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/loadbalancer.pb-c.h"
#include "controller/api/rest.h"
#include "lib/arena.h"
#include "tests/unit/pb-text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Packs 'msg' into '*p', which the caller must free.  Returns its size. */
static size_t
pack(const ProtobufCMessage *msg, uint8_t **p)
{
    size_t n = protobuf_c_message_get_packed_size(msg);

    *p = malloc(n + 1);
    if (!*p) {
        abort();
    }
    return protobuf_c_message_pack(msg, *p);
}

/* Checks that 'msg' survives being written and parsed. */
static void
check_round_trip(const ProtobufCMessage *msg)
{
    char *text = unit_write_proto3(msg);
    ProtobufCMessage *again;
    struct arena arena;
    uint8_t *a, *b;
    size_t n;
    char *error;

    arena_init(&arena);
    error =
        rest_parse_body(text, strlen(text), msg->descriptor, &arena, &again);
    if (error) {
        abort();
    }
    n = pack(msg, &a);
    if (n != pack(again, &b) || memcmp(a, b, n)) {
        abort();
    }
    free(a);
    free(b);
    free(text);
    arena_destroy(&arena);
}

/* Returns the type of a request or, for there are structs in some, a reply. */
static const ProtobufCMessageDescriptor *
get_type(unsigned int i)
{
    const ProtobufCServiceDescriptor *d =
        &loadbalancer__load_balancer__descriptor;

    return i < d->n_methods ? d->methods[i].input
                            : d->methods[i - d->n_methods].output;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ProtobufCServiceDescriptor *d =
        &loadbalancer__load_balancer__descriptor;
    const ProtobufCMessageDescriptor *input;
    struct arena arena;
    ProtobufCMessage *msg;
    char *text, *error;

    if (!size) {
        return 0;
    }
    input = get_type(data[0] / 2 % (2 * d->n_methods));
    text = malloc(size);
    if (!text) {
        abort();
    }
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';

    arena_init(&arena);
    error = data[0] % 2 ? rest_parse_query(text, input, &arena, &msg)
                        : rest_parse_body(text, size - 1, input, &arena, &msg);
    if (msg) {
        check_round_trip(msg);
    } else if (!error || !*error) {
        abort();
    }
    rest_is_json(text);
    rest_is_same_origin(text, "127.0.0.1:19524");
    free(error);
    free(text);
    arena_destroy(&arena);
    return 0;
}
