/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/rest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/api-call.h"
#include "controller/api/http-server.h"
#include "controller/api/lb.h"
#include "controller/core/mem.h"
#include "lib/arena.h"
#include "lib/json.h"
#include "lib/pb-json.h"

#define TYPE "application/json"

/* One call while it lasts. */
struct rest_call {
    struct api_call api; /* First. */
    struct http_call *http;
    char *authorization;
    char *authority;
    char *peer;
    rest_admitted_cb *admitted; /* Who goes on, if it is about the token. */
    void *aux;                  /* For 'admitted'. */
};

/* Returns what HTTP calls 'status'. */
static int
http_status__(enum grpc_status status)
{
    switch (status) {
    case GRPC_OK:
        return 200;
    case GRPC_INVALID_ARGUMENT:
    case GRPC_FAILED_PRECONDITION:
    case GRPC_OUT_OF_RANGE:
        return 400;
    case GRPC_UNAUTHENTICATED:
        return 401;
    case GRPC_PERMISSION_DENIED:
        return 403;
    case GRPC_NOT_FOUND:
        return 404;
    case GRPC_ALREADY_EXISTS:
    case GRPC_ABORTED:
        return 409;
    case GRPC_RESOURCE_EXHAUSTED:
        return 429;
    case GRPC_CANCELLED:
        return 499;
    case GRPC_UNKNOWN:
    case GRPC_INTERNAL:
    case GRPC_DATA_LOSS:
        return 500;
    case GRPC_UNIMPLEMENTED:
        return 501;
    case GRPC_UNAVAILABLE:
        return 503;
    case GRPC_DEADLINE_EXCEEDED:
        return 504;
    }
    abort();
}

/* Ends 'http' with an error. */
static void
fail__(struct http_call *http, int status, enum grpc_status code,
       const char *message)
{
    struct json j;
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream) {
        abort();
    }
    json_init(&j, stream);
    json_open_object(&j, NULL);
    json_put_integer(&j, "code", (int) code);
    json_put_string(&j, "message", message);
    json_close_object(&j);
    fclose(stream);
    if (status == 401) {
        http_call_set_header(http, "WWW-Authenticate", "Bearer");
    }
    http_call_reply(http, status, TYPE, text, size);
    free(text);
}

/* The carrier. */

static void
destroy__(struct rest_call *c)
{
    free(c->authorization);
    free(c->authority);
    free(c->peer);
    free(c);
}

static void
reply_cb__(struct api_call *call, const ProtobufCMessage *reply)
{
    struct rest_call *c = (struct rest_call *) call;
    struct json j;
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream) {
        abort();
    }
    json_init(&j, stream);
    pb_json_write_proto3(&j, NULL, reply);
    fclose(stream);
    http_call_reply(c->http, 200, TYPE, text, size);
    free(text);
    destroy__(c);
}

static void
fail_cb__(struct api_call *call, enum grpc_status status, const char *message)
{
    struct rest_call *c = (struct rest_call *) call;

    fail__(c->http, http_status__(status), status, message);
    destroy__(c);
}

/* Returns as whom those address our gRPC at 'port' who address our HTTP as
 * 'host'; NULL if 'host' is NULL, or 'port' is 0. */
static char *
make_authority__(const char *host, uint16_t port)
{
    const char *end;

    if (!host || !port) {
        return NULL;
    }
    end = *host == '[' ? strchr(host, ']') : host + strcspn(host, ":");
    end = end && *end == ']' ? end + 1 : end;
    return end ? mem_printf("%.*s:%d", (int) (end - host), host, port) : NULL;
}

/* Returns a call that 'carrier' carries, for 'http'. */
static struct rest_call *
create__(const struct api_carrier *carrier, struct http_call *http)
{
    struct rest_call *c = mem_zalloc(sizeof *c);

    c->http = http;
    c->authorization = mem_strdup(http_call_header(http, "Authorization"));
    c->peer = mem_strdup(http_call_peer(http));
    c->api.carrier = carrier;
    c->api.authorization = c->authorization;
    c->api.peer = c->peer;
    return c;
}

/* Requests. */

/* Is 'http' not from a page of another origin? */
bool
rest_check_origin(const struct http_call *http)
{
    const char *origin = http_call_header(http, "Origin");

    return !origin
           || rest_is_same_origin(origin, http_call_header(http, "Host"));
}

/* Checks that 'http' has a token.  If not, ends it and returns false. */
static bool
check_token__(struct http_call *http)
{
    if (!http_call_header(http, "Authorization")) {
        fail__(http, 401, GRPC_UNAUTHENTICATED,
               "Authorization: is missing, or there are several: calls carry "
               "\"Bearer TOKEN\" there");
        return false;
    }
    return true;
}

/* Checks what all calls have in common.  If something is missing, ends 'http'
 * and returns false. */
static bool
check__(struct http_call *http, const ProtobufCMethodDescriptor *method)
{
    bool post = http_call_method(http) == HTTP_POST;

    if (!post && !rest_is_read_only(method->name)) {
        http_call_set_header(http, "Allow", "POST");
        fail__(http, 405, GRPC_UNIMPLEMENTED,
               "the call changes something: use POST");
    } else if (post && !rest_is_json(http_call_header(http, "Content-Type"))) {
        fail__(http, 415, GRPC_INVALID_ARGUMENT,
               "Content-Type: must be application/json");
    } else {
        return check_token__(http);
    }
    return false;
}

static void
call__(struct lb *lb, uint16_t grpc_port, struct http_call *http,
       const ProtobufCMethodDescriptor *method)
{
    static const struct api_carrier carrier = { reply_cb__, fail_cb__ };
    struct arena arena;
    ProtobufCMessage *request;
    const char *body;
    size_t size;
    char *error;

    arena_init(&arena);
    if (http_call_method(http) == HTTP_POST) {
        body = http_call_body(http, &size);
        error = rest_parse_body(body, size, method->input, &arena, &request);
    } else {
        error = rest_parse_query(http_call_query(http), method->input, &arena,
                                 &request);
    }
    if (error) {
        fail__(http, 400, GRPC_INVALID_ARGUMENT, error);
        free(error);
    } else {
        struct rest_call *c = create__(&carrier, http);

        c->authority =
            make_authority__(http_call_header(http, "Host"), grpc_port);
        c->api.authority = c->authority;
        lb_call(lb, method, &c->api, request);
    }
    arena_destroy(&arena);
}

static void
describe__(struct http_call *http)
{
    size_t size;
    char *text = rest_describe(&size);

    http_call_reply(http, 200, TYPE, text, size);
    free(text);
}

/* Answers 'http', whose path begins with REST_PATH, by what 'lb' says, which
 * is reached by gRPC at 'grpc_port' unless that is 0. */
void
rest_serve(struct lb *lb, uint16_t grpc_port, struct http_call *http)
{
    const char *name = http_call_path(http) + strlen(REST_PATH);
    const ProtobufCMethodDescriptor *method =
        *name == '/' && name[1] ? lb_find_method(name + 1) : NULL;

    if (!rest_check_origin(http)) {
        fail__(http, 403, GRPC_PERMISSION_DENIED,
               "Origin: pages of other origins have no access");
    } else if (!strcmp(name, "") || !strcmp(name, "/")) {
        describe__(http);
    } else if (!method) {
        fail__(http, 404, GRPC_NOT_FOUND,
               "there is no such call; GET " REST_PATH " lists them");
    } else if (check__(http, method)) {
        call__(lb, grpc_port, http, method);
    }
}

static void
admitted_cb__(struct api_call *call, const ProtobufCMessage *reply)
{
    struct rest_call *c = (struct rest_call *) call;

    (void) reply;
    c->admitted(c->aux, c->http);
    destroy__(c);
}

/* Goes on with 'http' by calling 'cb', with 'aux', if it has a valid token, as
 * the call that tells our version says.  If not, ends it. */
void
rest_admit(struct lb *lb, struct http_call *http, rest_admitted_cb *cb,
           void *aux)
{
    static const struct api_carrier carrier = { admitted_cb__, fail_cb__ };
    const ProtobufCMethodDescriptor *method = lb_find_method("Version");
    struct rest_call *c;
    struct arena arena;
    ProtobufCMessage *request;

    if (!check_token__(http)) {
        return;
    }
    arena_init(&arena);
    request = arena_alloc(&arena, method->input->sizeof_message);
    protobuf_c_message_init(method->input, request);
    c = create__(&carrier, http);
    c->admitted = cb;
    c->aux = aux;
    lb_call(lb, method, &c->api, request);
    arena_destroy(&arena);
}
