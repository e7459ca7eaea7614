/* SPDX-License-Identifier: Apache-2.0 */

/* usage: grpc-echo ADDRESS [CERTIFICATE KEY [CA]]
 *
 * Serves echo.proto at ADDRESS ("unix:PATH", "tcp:ADDRESS:PORT", or
 * "ssl:ADDRESS:PORT" with the certificate and key) until its standard input
 * ends. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/api/grpc-server.h"
#include "controller/log.h"
#include "controller/tls.h"
#include "tests/grpc/echo.h"

static void
input_cb(evutil_socket_t fd, short events, void *base)
{
    char c;

    (void) events;
    if (read(fd, &c, 1) <= 0) {
        event_base_loopbreak(base);
    }
}

/* Serves until standard input ends. */
static void
serve(struct event_base *base)
{
    struct event *input =
        event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, input_cb, base);

    event_add(input, NULL);
    printf("ready\n");
    fflush(stdout);
    event_base_dispatch(base);
    event_free(input);
}

/* Has 'server' use the certificate, key and perhaps authority 'files'. */
static void
set_tls(struct grpc_server *server, char *files[])
{
    const struct tls_files tls = { files[0], files[1], files[2] };
    struct ssl_ctx_st *context;
    const char *setting;
    char *error = tls_context_create(&tls, &context, &setting);

    if (error) {
        fprintf(stderr, "grpc-echo: %s: %s\n", setting, error);
        exit(1);
    }
    grpc_server_set_tls(server, context);
}

int
main(int argc, char *argv[])
{
    struct event_base *base = event_base_new();
    struct grpc_server *server;
    struct echo echo;
    char *error;

    if (argc != 2 && argc != 4 && argc != 5) {
        fprintf(stderr, "usage: grpc-echo ADDRESS [CERTIFICATE KEY [CA]]\n");
        return 2;
    }
    log_init();
    signal(SIGPIPE, SIG_IGN);
    echo_init(&echo, base);
    server = grpc_server_create(base, &echo.services);
    if (argc > 2) {
        set_tls(server, argv + 2);
    }
    error = grpc_server_listen(server, argv[1], GRPC_NO_GROUP);
    if (error) {
        fprintf(stderr, "grpc-echo: %s\n", error);
    } else {
        serve(base);
    }

    grpc_server_destroy(server);
    echo_destroy(&echo);
    event_base_free(base);
    if (error) {
        free(error);
        return 1;
    }
    return 0;
}
