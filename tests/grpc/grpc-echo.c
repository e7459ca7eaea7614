/* SPDX-License-Identifier: Apache-2.0 */

/* usage: grpc-echo ADDRESS
 *
 * Serves echo.proto at ADDRESS ("unix:PATH" or "tcp:ADDRESS:PORT") until its
 * standard input ends. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/api/grpc-server.h"
#include "controller/log.h"
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

int
main(int argc, char *argv[])
{
    struct event_base *base = event_base_new();
    struct grpc_server *server;
    struct event *input;
    struct echo echo;
    char *error;

    if (argc != 2) {
        fprintf(stderr, "usage: grpc-echo ADDRESS\n");
        return 2;
    }
    log_init();
    signal(SIGPIPE, SIG_IGN);
    echo_init(&echo, base);
    server = grpc_server_create(base, &echo.services);
    error = grpc_server_listen(server, argv[1], GRPC_NO_GROUP);
    if (error) {
        fprintf(stderr, "grpc-echo: %s\n", error);
        return 1;
    }
    input =
        event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, input_cb, base);
    event_add(input, NULL);
    printf("ready\n");
    fflush(stdout);
    event_base_dispatch(base);

    grpc_server_destroy(server);
    echo_destroy(&echo);
    event_free(input);
    event_base_free(base);
    return 0;
}
