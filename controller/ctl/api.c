/* SPDX-License-Identifier: Apache-2.0 */

/* Calls of the control API, and what to say when they fail. */

#include "controller/ctl/api.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "controller/api/api-client.h"
#include "controller/core/mem.h"
#include "lib/ejfat-uri.h"
#include "lib/pb-field.h"

/* A reservation is there when each connected switch has it. */
#define TIMEOUT_MS 30000

struct ctl_api {
    bool has_uri;
    struct ejfat_uri uri;
    struct event_base *base;
    struct api_client *client;
};

/* Finds the URI that was given, or that the environment has.  Returns an exit
 * code. */
static int
find_uri__(const struct ctl *ctl, struct ctl_api *api)
{
    const char *text = ctl_get(ctl, CTL_OPT_URI);
    char *error;

    text = text ? text : getenv(EJFAT_URI_VARIABLE);
    if (!text || !*text) {
        return CTL_OK;
    }
    error = ejfat_uri_parse(text, &api->uri);
    if (error) {
        fprintf(stderr, "evlbctl: %s\n", error);
        free(error);
        return CTL_USAGE;
    }
    api->has_uri = true;
    return CTL_OK;
}

/* Makes what calls need, if it is not there yet.  Returns an exit code. */
int
ctl_api_connect(struct ctl *ctl)
{
    bool insecure = ctl_has(ctl, CTL_OPT_INSECURE);
    struct api_client_config config = {
        .socket = ctl->socket,
        .ca = ctl_get(ctl, CTL_OPT_CA),
        .insecure = insecure,
    };
    struct ctl_api *api;

    if (ctl->api) {
        return CTL_OK;
    }
    api = ctl->api = mem_zalloc(sizeof *api);
    if (find_uri__(ctl, api) != CTL_OK) {
        return CTL_USAGE;
    }
    if (api->has_uri && !ctl_has(ctl, CTL_OPT_SOCKET)) {
        config.uri = &api->uri;
    }
    if ((config.ca || insecure) && !(config.uri && api->uri.tls)) {
        return ctl_usage_error("--%s is of use with a URI of ejfats: only",
                               insecure ? "insecure" : "ca");
    }
    api->base = event_base_new();
    api->client = api_client_create(api->base, &config);
    return CTL_OK;
}

void
ctl_api_destroy(struct ctl *ctl)
{
    if (ctl->api) {
        api_client_destroy(ctl->api->client);
        if (ctl->api->base) {
            event_base_free(ctl->api->base);
        }
        free(ctl->api);
        ctl->api = NULL;
    }
}

/* Does a call go where the URI says? */
static bool
goes_by_uri__(const struct ctl *ctl)
{
    return ctl->api->has_uri && !ctl_has(ctl, CTL_OPT_SOCKET);
}

static void
advise_unavailable__(const struct ctl *ctl)
{
    if (goes_by_uri__(ctl)) {
        fprintf(stderr, "evlbctl: that is where EJFAT_URI says; does evlbd "
                        "run there, and listen at that port?\n");
    } else {
        fprintf(stderr,
                "evlbctl: evlbd is not running, or its setting admin.socket "
                "names another file; see \"systemctl status evlbd\", or use "
                "--socket or --uri\n");
    }
}

/* Says what may help. */
static void
advise__(const struct ctl *ctl, enum grpc_status status)
{
    switch (status) {
    case GRPC_UNAVAILABLE:
        advise_unavailable__(ctl);
        break;
    case GRPC_PERMISSION_DENIED:
    case GRPC_UNAUTHENTICATED:
        if (goes_by_uri__(ctl)) {
            fprintf(stderr,
                    "evlbctl: the token was %s; another one may do: "
                    "--token, --uri, or no token at all with "
                    "--socket\n",
                    ctl_has(ctl, CTL_OPT_TOKEN) ? "that of --token"
                    : ctl_has(ctl, CTL_OPT_URI) ? "that of --uri"
                                                : "that of EJFAT_URI");
        }
        break;
    case GRPC_UNIMPLEMENTED:
        fprintf(stderr, "evlbctl: the server there does not have this call; "
                        "see \"evlbctl version\"\n");
        break;
    case GRPC_DEADLINE_EXCEEDED:
        fprintf(stderr, "evlbctl: what was asked for may still happen; see "
                        "\"evlbctl overview\"\n");
        break;
    case GRPC_OK:
    case GRPC_CANCELLED:
    case GRPC_UNKNOWN:
    case GRPC_INVALID_ARGUMENT:
    case GRPC_NOT_FOUND:
    case GRPC_ALREADY_EXISTS:
    case GRPC_RESOURCE_EXHAUSTED:
    case GRPC_FAILED_PRECONDITION:
    case GRPC_ABORTED:
    case GRPC_OUT_OF_RANGE:
    case GRPC_INTERNAL:
    case GRPC_DATA_LOSS:
        break;
    }
}

/* Calls 'method' with 'request'; ctl_api_connect() came before.  Stores the
 * reply and the text, which the caller frees. */
enum grpc_status
ctl_api_try(struct ctl *ctl, const char *method,
            const ProtobufCMessage *request, ProtobufCMessage **reply,
            char **message)
{
    return api_client_wait(ctl->api->client, method, request,
                           ctl_get(ctl, CTL_OPT_TOKEN), TIMEOUT_MS, reply,
                           message);
}

/* Calls 'method' with 'request'.  Returns CTL_OK and stores the reply, which
 * the caller frees, in '*reply', or says what is wrong and returns another
 * exit code. */
int
ctl_api_call(struct ctl *ctl, const char *method,
             const ProtobufCMessage *request, ProtobufCMessage **reply)
{
    int code = ctl_api_connect(ctl);
    enum grpc_status status;
    char *message;

    *reply = NULL;
    if (code != CTL_OK) {
        return code;
    }
    status = ctl_api_try(ctl, method, request, reply, &message);
    if (status != GRPC_OK) {
        fprintf(stderr, "evlbctl: %s%s%s\n",
                status == GRPC_UNAVAILABLE
                    ? api_client_get_peer(ctl->api->client)
                    : "",
                status == GRPC_UNAVAILABLE ? ": " : "", message);
        advise__(ctl, status);
        code = CTL_FAILED;
    }
    free(message);
    return code;
}

/* Calls 'method' with 'request', and prints the reply with 'print', or as
 * JSON.  Returns an exit code. */
int
ctl_api_run(struct ctl *ctl, const char *method,
            const ProtobufCMessage *request, void (*print)(const void *reply))
{
    ProtobufCMessage *reply;
    int code = ctl_api_call(ctl, method, request, &reply);

    if (code == CTL_OK) {
        ctl_print_reply(ctl, reply, print);
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    return code;
}

/* For replies that say nothing. */
void
ctl_print_nothing(const void *reply)
{
    (void) reply;
}

/* Finds the reservation that is meant: the first of the 'argc' arguments
 * 'argv', that of --lb, or that of the URI.  Returns an exit code. */
int
ctl_find_lb(struct ctl *ctl, int argc, char *argv[], char **id)
{
    int code = ctl_api_connect(ctl);

    if (code != CTL_OK) {
        return code;
    }
    if (argc) {
        *id = argv[0];
    } else if (ctl_has(ctl, CTL_OPT_LB)) {
        *id = (char *) ctl_get(ctl, CTL_OPT_LB);
    } else if (ctl->api->has_uri && ctl->api->uri.lb_id[0]) {
        *id = ctl->api->uri.lb_id;
    } else {
        return ctl_usage_error("which reservation? --lb names it by its "
                               "number, which \"evlbctl overview\" shows, or "
                               "an EJFAT_URI does");
    }
    return CTL_OK;
}

/* Runs a command whose only argument, if any, is a reservation. */
int
ctl_run_api(struct ctl *ctl, const struct ctl_command *command, int argc,
            char *argv[])
{
    const ProtobufCMessageDescriptor *type =
        protobuf_c_service_descriptor_get_method_by_name(
            &loadbalancer__load_balancer__descriptor, command->method)
            ->input;
    const ProtobufCFieldDescriptor *lb =
        protobuf_c_message_descriptor_get_field_by_name(type, "lbId");
    ProtobufCMessage *request = mem_zalloc(type->sizeof_message);
    int code = CTL_OK;

    protobuf_c_message_init(type, request);
    if (lb) {
        code = ctl_find_lb(ctl, argc, argv, pb_field_value(request, lb));
    }
    if (code == CTL_OK) {
        code = ctl_api_run(ctl, command->method, request, command->print);
    }
    free(request);
    return code;
}
