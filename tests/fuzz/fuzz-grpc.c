/* SPDX-License-Identifier: Apache-2.0 */

/* A gRPC session with a hostile peer.
 *
 * The input is what the peer sends, behind the preface and empty settings or
 * without them; a byte 0xfe ahead of a piece of 256 bytes lets a second pass before it. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/grpc-peer.h"
#include "controller/api/grpc-session.h"
#include "controller/api/health.h"
#include "tests/grpc/echo.h"

#define PIECE 256

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
wake_cb(void *aux)
{
    (void) aux;
}

static void
drain(struct grpc_session *session)
{
    const uint8_t *data;
    size_t n;

    do {
        n = grpc_session_send(session, &data);
    } while (n);
}

/* Has a session with 'settings' take the 'size' bytes at 'data', behind the
 * preface if 'polite'. */
static void
run(const struct grpc_settings *settings, bool polite, const uint8_t *data,
    size_t size)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                                  "\0\0\0\4\0\0\0\0";
    struct grpc_service all[2];
    struct grpc_services services = { all, 2 };
    struct grpc_session *session;
    struct grpc_peer host;
    struct echo echo;
    int64_t now = 0;

    echo_init(&echo, NULL);
    all[0] = echo.service;
    health_init(&all[1], &services);
    grpc_peer_init(&host, settings, 0);
    session =
        grpc_session_create(&services, &host, "fuzzer", wake_cb, NULL, 0);
    if (polite) {
        grpc_session_receive(session, (const uint8_t *) preface,
                             sizeof preface, now);
    }
    while (size) {
        size_t n = size < PIECE ? size : PIECE;

        if (*data == 0xfe) {
            now += 1000;
            grpc_session_run(session, now);
        }
        grpc_session_receive(session, data, n, now);
        drain(session);
        data += n;
        size -= n;
    }
    grpc_session_end_input(session, now);
    drain(session);
    grpc_session_destroy(session);
    if (host.n_calls) {
        abort();
    }
    echo_destroy(&echo);
}

/* Three times: as HTTP/2, the same with hardly anything allowed, and as
 * whatever it is that the peer says first. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct grpc_settings generous = GRPC_SETTINGS_DEFAULT;
    static const struct grpc_settings strict = {
        .max_peer_calls = 2,
        .max_peer_rate = 3,
        .max_message = 16,
        .idle = 1000,
        .http_port = 19524,
    };

    run(&generous, true, data, size);
    run(&strict, true, data, size);
    run(&strict, false, data, size);
    return 0;
}
