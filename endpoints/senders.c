/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/senders.h"

#include <stdlib.h>

#include <event2/event.h>

#include "controller/api/api-client.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "endpoints/util.h"

#define TIMEOUT_MS 10000

/* Makes the call 'method'.  Returns NULL or an error, which the caller
 * frees. */
static char *
call(const struct api_options *options, const char *method,
     const ProtobufCMessage *request)
{
    const struct api_client_config config = {
        .uri = &options->uri,
        .ca = options->ca,
        .insecure = options->insecure,
    };
    struct event_base *base = event_base_new();
    struct api_client *client = api_client_create(base, &config);
    ProtobufCMessage *reply;
    char *message, *error = NULL;

    if (api_client_wait(client, method, request, NULL, TIMEOUT_MS, &reply,
                        &message)) {
        error = xasprintf("%s: %s: %s", api_client_get_peer(client), method,
                          message);
    }
    if (reply) {
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    free(message);
    api_client_destroy(client);
    event_base_free(base);
    return error;
}

/* Adds 'own' to the senders of the reservation.  Returns NULL or an error,
 * which the caller frees. */
char *
senders_add(const struct api_options *options, const union address *own)
{
    Loadbalancer__AddSendersRequest request =
        LOADBALANCER__ADD_SENDERS_REQUEST__INIT;
    char *address = address_format_host(own);
    char *error;

    request.lbid = (char *) options->uri.lb_id;
    request.senderaddresses = &address;
    request.n_senderaddresses = 1;
    error = call(options, "AddSenders", &request.base);
    free(address);
    return error;
}

/* The reverse. */
char *
senders_remove(const struct api_options *options, const union address *own)
{
    Loadbalancer__RemoveSendersRequest request =
        LOADBALANCER__REMOVE_SENDERS_REQUEST__INIT;
    char *address = address_format_host(own);
    char *error;

    request.lbid = (char *) options->uri.lb_id;
    request.senderaddresses = &address;
    request.n_senderaddresses = 1;
    error = call(options, "RemoveSenders", &request.base);
    free(address);
    return error;
}
