/* SPDX-License-Identifier: Apache-2.0 */

/* usage: grpc-echo ADDRESS [CERTIFICATE KEY [CA]]
 *
 * Serves echo.proto and health at ADDRESS ("unix:PATH", "tcp:ADDRESS:PORT", or
 * "ssl:ADDRESS:PORT" with the certificate and key) until its standard input
 * ends.  Environment variables with the names of struct grpc_settings's members
 * set these. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/api/grpc-peer.h"
#include "controller/api/grpc-server.h"
#include "controller/api/health.h"
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

/* Makes 'server''s settings what the environment says. */
static void
set_settings(struct grpc_server *server)
{
    struct grpc_settings s = GRPC_SETTINGS_DEFAULT;
    const char *http_port = getenv("http_port");
    const struct {
        const char *name;
        uint32_t *value;
    } numbers[] = {
        { "max_connections", &s.max_connections },
        { "max_peer_connections", &s.max_peer_connections },
        { "max_peer_calls", &s.max_peer_calls },
        { "max_peer_rate", &s.max_peer_rate },
        { "max_message", &s.max_message },
        { "idle", &s.idle },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = getenv(numbers[i].name);

        if (text) {
            *numbers[i].value = (uint32_t) strtoul(text, NULL, 10);
        }
    }
    if (http_port) {
        s.http_port = (uint16_t) strtoul(http_port, NULL, 10);
    }
    grpc_server_set(server, &s);
}

int
main(int argc, char *argv[])
{
    struct event_base *base = event_base_new();
    struct grpc_service all[2];
    struct grpc_services services = { all, 2 };
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
    all[0] = echo.service;
    health_init(&all[1], &services);
    server = grpc_server_create(base, &services);
    set_settings(server);
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
