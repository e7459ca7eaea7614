/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/api-client.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "controller/api/grpc-client.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "controller/core/mem.h"
#include "lib/ejfat-uri.h"

struct api_client {
    struct event_base *base;
    struct api_client_config config;
    char *peer;               /* For people. */
    struct grpc_client *grpc; /* NULL if not connected. */
};

struct call {
    ProtobufCMessage *reply; /* A copy, or NULL. */
    api_client_done *done;
    void *aux;
};

/* Returns a client for 'base', which is to be destroyed before that.  It does
 * not connect yet. */
struct api_client *
api_client_create(struct event_base *base,
                  const struct api_client_config *config)
{
    struct api_client *client = mem_zalloc(sizeof *client);
    const struct ejfat_uri *uri = config->uri;

    client->base = base;
    client->config = *config;
    client->peer =
        !uri ? mem_strdup(config->socket)
             : mem_printf(strchr(uri->host, ':') ? "[%s]:%u" : "%s:%u",
                          uri->host, (unsigned int) uri->port);
    return client;
}

/* Destroys 'client', which may be NULL.  Calls under way are ended. */
void
api_client_destroy(struct api_client *client)
{
    if (client) {
        grpc_client_destroy(client->grpc);
        free(client->peer);
        free(client);
    }
}

const char *
api_client_get_peer(const struct api_client *client)
{
    return client->peer;
}

/* Connects 'client' if it is not. */
static void
connect__(struct api_client *client)
{
    const struct ejfat_uri *uri = client->config.uri;
    const struct grpc_client_address address = {
        .path = uri ? NULL : client->config.socket,
        .host = uri ? uri->host : NULL,
        .port = uri ? uri->port : 0,
        .tls = uri && uri->tls,
        .ca = client->config.ca,
        .insecure = client->config.insecure,
    };

    if (client->grpc && grpc_client_is_over(client->grpc)) {
        grpc_client_destroy(client->grpc);
        client->grpc = NULL;
    }
    if (!client->grpc) {
        client->grpc = grpc_client_create(client->base, &address);
    }
}

/* Returns a copy of 'msg'. */
static ProtobufCMessage *
copy__(const ProtobufCMessage *msg)
{
    size_t n = protobuf_c_message_get_packed_size(msg);
    uint8_t *data = mem_alloc(n);
    ProtobufCMessage *copy;

    protobuf_c_message_pack(msg, data);
    copy = protobuf_c_message_unpack(msg->descriptor, NULL, n, data);
    free(data);
    return copy;
}

static void
reply_cb__(void *call_, const ProtobufCMessage *reply)
{
    struct call *call = call_;

    if (!call->reply) {
        call->reply = copy__(reply);
    }
}

static void
done_cb__(void *call_, enum grpc_status status, const char *message)
{
    struct call *call = call_;

    if (status == GRPC_OK && !call->reply) {
        status = GRPC_INTERNAL;
        message = "the reply holds no message";
    }
    call->done(call->aux, status,
               *message ? message : grpc_status_to_string(status),
               status == GRPC_OK ? call->reply : NULL);
    if (call->reply) {
        protobuf_c_message_free_unpacked(call->reply, NULL);
    }
    free(call);
}

/* Returns the header of 'token', which the caller frees, or NULL. */
static char *
bearer__(const struct api_client *client, const char *token)
{
    if (!token && client->config.uri) {
        token = client->config.uri->token;
    }
    return token && *token ? mem_printf("Bearer %s", token) : NULL;
}

void
api_client_call(struct api_client *client, const char *method,
                const ProtobufCMessage *request, const char *token,
                int64_t timeout_ms, api_client_done *done, void *aux)
{
    char *bearer = bearer__(client, token);
    const struct grpc_client_header header = { "authorization", bearer };
    struct call *call = mem_zalloc(sizeof *call);

    call->done = done;
    call->aux = aux;
    connect__(client);
    grpc_client_call(client->grpc,
                     &(struct grpc_client_request){
                         .service = &loadbalancer__load_balancer__descriptor,
                         .method = method,
                         .message = request,
                         .headers = &header,
                         .n_headers = bearer != NULL,
                         .timeout_ms = timeout_ms,
                         .reply = reply_cb__,
                         .done = done_cb__,
                         .aux = call,
                     });
    free(bearer);
}

/* A call that is waited for. */
struct waited {
    struct event_base *base;
    bool done;
    enum grpc_status status;
    char *message;
    ProtobufCMessage *reply;
};

static void
waited_cb__(void *waited_, enum grpc_status status, const char *message,
            const ProtobufCMessage *reply)
{
    struct waited *waited = waited_;

    waited->done = true;
    waited->status = status;
    waited->message = mem_strdup(message);
    waited->reply = reply ? copy__(reply) : NULL;
    event_base_loopbreak(waited->base);
}

enum grpc_status
api_client_wait(struct api_client *client, const char *method,
                const ProtobufCMessage *request, const char *token,
                int64_t timeout_ms, ProtobufCMessage **reply, char **message)
{
    struct waited waited = { .base = client->base };

    api_client_call(client, method, request, token, timeout_ms, waited_cb__,
                    &waited);
    while (!waited.done) {
        event_base_loop(client->base, EVLOOP_ONCE);
    }
    *reply = waited.reply;
    *message = waited.message;
    return waited.status;
}
