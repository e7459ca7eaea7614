/* SPDX-License-Identifier: Apache-2.0 */

/* A gRPC client with a hostile server, which answers two calls: the input is
 * what it sends, behind empty settings, in pieces of 64 bytes. */

#include <stdint.h>
#include <stdlib.h>

#include "controller/api/grpc-client-session.h"
#include "tests/grpc/echo.pb-c.h"

#define PIECE 64

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
wake_cb(void *aux)
{
    (void) aux;
}

static void
reply_cb(void *aux, const ProtobufCMessage *reply)
{
    (void) aux;
    if (!reply) {
        abort();
    }
}

/* Each call ends exactly once. */
static void
done_cb(void *n_, enum grpc_status status, const char *message)
{
    int *n = n_;

    (void) status;
    (void) message;
    --*n;
}

static void
drain(struct grpc_client_session *session)
{
    const uint8_t *data;
    size_t n;

    do {
        n = grpc_client_session_send(session, &data);
    } while (n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t settings[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 };
    Evlb__Test__RepeatRequest message = EVLB__TEST__REPEAT_REQUEST__INIT;
    struct grpc_client_session *session =
        grpc_client_session_create("fuzzer", "http", wake_cb, NULL);
    int n_calls = 2;
    const struct grpc_client_request request = {
        .service = &evlb__test__echo__descriptor,
        .method = "Repeat",
        .message = &message.base,
        .timeout_ms = 1000,
        .reply = reply_cb,
        .done = done_cb,
        .aux = &n_calls,
    };

    grpc_client_session_call(session, &request, 0);
    grpc_client_session_call(session, &request, 10);
    drain(session);
    grpc_client_session_receive(session, settings, sizeof settings);
    while (size) {
        size_t n = size < PIECE ? size : PIECE;

        grpc_client_session_receive(session, data, n);
        drain(session);
        data += n;
        size -= n;
    }
    grpc_client_session_run(session, 1005);
    grpc_client_session_destroy(session);
    if (n_calls) {
        abort();
    }
    return 0;
}
