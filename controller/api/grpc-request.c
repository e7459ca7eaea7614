/* SPDX-License-Identifier: Apache-2.0 */

/* The request of a call, from its headers to the handler. */

#include <stdlib.h>
#include <string.h>

#include "controller/api/grpc-private.h"
#include "controller/core/mem.h"

/* Returns how many bytes of requests that are not whole 'session' holds. */
static size_t
request_bytes__(const struct grpc_session *session)
{
    const struct grpc_call *call;
    size_t n = 0;

    LIST_FOREACH(call, &session->calls, node)
    {
        n += call->decoder.n_body;
    }
    return n;
}

/* Methods. */

/* Finds the method that 'path', "/PACKAGE.SERVICE/METHOD", names, for
 * 'call'. */
static bool
find_method__(struct grpc_call *call, const char *path)
{
    const struct grpc_services *services = call->session->services;
    const char *method = *path == '/' ? strchr(path + 1, '/') : NULL;

    if (!method) {
        return false;
    }
    for (size_t i = 0; i < services->n; i++) {
        const struct grpc_service *s = &services->services[i];
        const ProtobufCServiceDescriptor *d = s->descriptor;
        size_t n = strlen(d->name);

        if (n != (size_t) (method - path - 1)
            || memcmp(path + 1, d->name, n)) {
            continue;
        }
        for (unsigned int j = 0; j < d->n_methods; j++) {
            if (!strcmp(d->methods[j].name, method + 1) && s->handlers[j]) {
                call->service = s;
                call->method = j;
                return true;
            }
        }
    }
    return false;
}

static const ProtobufCMessageDescriptor *
request_type__(const struct grpc_call *call)
{
    return call->service->descriptor->methods[call->method].input;
}

static bool
is_grpc__(const char *content_type)
{
    static const char type[] = "application/grpc";
    const char *rest;

    if (!content_type || strncmp(content_type, type, sizeof type - 1)) {
        return false;
    }
    rest = content_type + sizeof type - 1;
    return !*rest || *rest == ';' || !strcmp(rest, "+proto");
}

/* Looks at the headers of 'call', which are complete. */
void
grpc_call_begin__(struct grpc_call *call)
{
    const char *method = grpc_call_get_header(call, ":method");
    const char *path = grpc_call_get_header(call, ":path");
    const char *timeout = grpc_call_get_header(call, "grpc-timeout");
    char *refusal = grpc_peer_admit(call->session->host, call->session->now);
    int64_t ms;

    if (refusal) {
        grpc_call_fail__(call, GRPC_RESOURCE_EXHAUSTED, refusal);
        free(refusal);
    } else if (call->header_size > GRPC_HEADER_LIST_MAX) {
        grpc_call_fail__(call, GRPC_RESOURCE_EXHAUSTED,
                         "the headers are too long");
    } else if (!method || strcmp(method, "POST")) {
        grpc_call_fail_http__(call, "405");
    } else if (!is_grpc__(grpc_call_get_header(call, "content-type"))) {
        grpc_call_fail_http__(call, "415");
    } else if (!path || !find_method__(call, path)) {
        char *s = mem_printf("there is no method %s", path ? path : "");

        grpc_call_fail__(call, GRPC_UNIMPLEMENTED, s);
        free(s);
    } else if (call->session->n_calls > GRPC_UNFINISHED_MAX) {
        grpc_call_fail__(call, GRPC_RESOURCE_EXHAUSTED,
                         "too many calls are not finished");
    } else if (timeout && !grpc_timeout_parse(timeout, &ms)) {
        grpc_call_fail__(call, GRPC_INTERNAL, "bad grpc-timeout");
    } else if (timeout) {
        call->deadline = call->session->now + ms;
    }
}

/* Takes a whole message out of 'call''s decoder. */
static void
take_request__(struct grpc_call *call)
{
    if (call->request) {
        grpc_call_fail__(call, GRPC_UNIMPLEMENTED,
                         "the method takes one request, not several");
        return;
    }
    call->request = grpc_decoder_take(&call->decoder, request_type__(call));
    if (!call->request) {
        grpc_call_fail__(call, GRPC_INTERNAL, "the request is malformed");
    }
}

/* Takes a piece of 'call''s data. */
void
grpc_call_receive__(struct grpc_call *call, const uint8_t *data, size_t n)
{
    while (n && !call->finished) {
        const char *error = NULL;
        size_t used;
        enum grpc_status status =
            grpc_decoder_push(&call->decoder, data, n, &used, &error);

        data += used;
        n -= used;
        if (status == GRPC_UNIMPLEMENTED
            && !grpc_call_get_header(call, "grpc-encoding")) {
            grpc_call_fail__(call, GRPC_INTERNAL,
                             "the message is compressed, without a "
                             "grpc-encoding");
        } else if (status != GRPC_OK) {
            grpc_call_fail__(call, status, error);
        } else if (request_bytes__(call->session)
                   > GRPC_REQUESTS_MAX
                         * (size_t)
                               call->session->host->settings->max_message) {
            grpc_call_fail__(call, GRPC_RESOURCE_EXHAUSTED,
                             "too many requests are not whole");
        } else if (grpc_decoder_is_whole(&call->decoder)) {
            take_request__(call);
        }
    }
}

/* The caller has said all. */
void
grpc_call_end_request__(struct grpc_call *call)
{
    call->whole = true;
    if (call->finished) {
        return;
    }
    if (!grpc_decoder_is_empty(&call->decoder)) {
        grpc_call_fail__(call, GRPC_INTERNAL, "the request is cut short");
    } else if (!call->request) {
        grpc_call_fail__(call, GRPC_UNIMPLEMENTED, "there is no request");
    } else {
        grpc_call_run__(call);
    }
}
