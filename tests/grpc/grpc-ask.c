/* SPDX-License-Identifier: Apache-2.0 */

/* usage: grpc-ask [-u PATH] [-s] [-c CA] [-k] [-t MS] [-H NAME=VALUE]
 *                 HOST PORT METHOD TEXT
 *
 * Calls METHOD of echo.proto, which takes a Text, with our client, and prints
 * the status, and the reply or the message.  "-u" takes a Unix socket instead
 * of HOST and PORT, "-s" talks TLS, "-c" names the authorities, "-k" believes
 * in any certificate, "-t" is the time allowed. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/api/grpc-client.h"
#include "tests/grpc/echo.pb-c.h"

static char *reply;

static void
reply_cb(void *aux, const ProtobufCMessage *message)
{
    const Evlb__Test__Text *text = (const Evlb__Test__Text *) message;

    (void) aux;
    free(reply);
    reply = strdup(text->text);
}

static void
parse_header(char *s, struct grpc_client_header *header)
{
    char *equals = strchr(s, '=');

    if (equals) {
        *equals = '\0';
        header->name = s;
        header->value = equals + 1;
    }
}

static void
parse_options(int argc, char *argv[], struct grpc_client_address *address,
              struct grpc_client_request *request,
              struct grpc_client_header *header)
{
    int c;

    while ((c = getopt(argc, argv, "u:sc:kt:H:")) != -1) {
        switch (c) {
        case 'u':
            address->path = optarg;
            break;
        case 's':
            address->tls = true;
            break;
        case 'c':
            address->ca = optarg;
            break;
        case 'k':
            address->insecure = true;
            break;
        case 't':
            request->timeout_ms = strtol(optarg, NULL, 10);
            break;
        case 'H':
            parse_header(optarg, header);
            request->headers = header;
            request->n_headers = 1;
            break;
        default:
            exit(2);
        }
    }
    if (argc - optind != 4) {
        exit(2);
    }
    address->host = argv[optind];
    address->port = (uint16_t) strtoul(argv[optind + 1], NULL, 10);
    request->method = argv[optind + 2];
}

int
main(int argc, char *argv[])
{
    struct event_base *base = event_base_new();
    struct grpc_client_address address = { .port = 0 };
    struct grpc_client_header header;
    Evlb__Test__Text text = EVLB__TEST__TEXT__INIT;
    struct grpc_client_request request = {
        .service = &evlb__test__echo__descriptor,
        .message = &text.base,
        .timeout_ms = 30000,
        .reply = reply_cb,
    };
    struct grpc_client *client;
    enum grpc_status status;
    char *message;

    signal(SIGPIPE, SIG_IGN);
    parse_options(argc, argv, &address, &request, &header);
    text.text = argv[argc - 1];
    client = grpc_client_create(base, &address);
    status = grpc_client_wait(client, &request, &message);
    printf("%s %s\n", grpc_status_to_string(status),
           status == GRPC_OK && reply ? reply : message);
    grpc_client_destroy(client);
    /* A resolver that was given up goes away in the loop. */
    event_base_loop(base, EVLOOP_NONBLOCK);
    event_base_free(base);
    free(message);
    free(reply);
    return 0;
}
