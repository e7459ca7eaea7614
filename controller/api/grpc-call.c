/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "controller/api/grpc-private.h"
#include "controller/core/mem.h"

/* Life and death. */

/* Returns a new call on 'stream'. */
struct grpc_call *
grpc_call_create__(struct grpc_session *session, int32_t stream)
{
    struct grpc_call *call = mem_zalloc(sizeof *call);

    call->session = session;
    call->stream = stream;
    call->open = true;
    call->peer = mem_strdup(session->peer);
    call->deadline = INT64_MAX;
    call->request_deadline = session->now + GRPC_REQUEST_MS;
    call->output = evbuffer_new();
    grpc_decoder_init(&call->decoder, session->host->settings->max_message);
    LIST_INSERT_HEAD(&session->calls, call, node);
    session->n_calls++;
    grpc_peer_begin(session->host);
    session->idle_since = session->now;
    return call;
}

static void
free_request__(struct grpc_call *call)
{
    if (call->request) {
        protobuf_c_message_free_unpacked(call->request, NULL);
        call->request = NULL;
    }
    grpc_decoder_destroy(&call->decoder);
}

/* Takes 'call' off its session. */
static void
detach__(struct grpc_call *call)
{
    LIST_REMOVE(call, node);
    grpc_peer_end(call->session->host);
    call->session->n_calls--;
    call->session->idle_since = call->session->now;
    call->session = NULL;
}

/* Lets 'call' go if neither a stream nor a handler has it. */
static void
unref__(struct grpc_call *call)
{
    if (call->open || call->handed) {
        return;
    }
    if (call->session) {
        detach__(call);
    }
    for (size_t i = 0; i < call->n_headers; i++) {
        free(call->headers[i].name);
        free(call->headers[i].value);
    }
    free(call->headers);
    free_request__(call);
    evbuffer_free(call->output);
    free(call->message);
    free(call->peer);
    free(call);
}

static void
drop_output__(struct grpc_call *call)
{
    size_t n = evbuffer_get_length(call->output);

    evbuffer_drain(call->output, n);
    call->session->unsent -= n;
}

/* Tells 'call''s handler, if it has not finished, that nobody waits. */
static void
cancel__(struct grpc_call *call)
{
    grpc_cancel_cb *cancel = call->cancel;

    if (call->handed && !call->cancelled) {
        call->cancelled = true;
        if (cancel) {
            cancel(call->cancel_aux, call);
        }
    }
}

/* Takes note that 'call''s stream is closed. */
void
grpc_call_close__(struct grpc_call *call)
{
    drop_output__(call);
    cancel__(call);
    call->open = false;
    unref__(call);
}

/* Lets 'call' go on without its session, as far as its handler has it. */
void
grpc_call_orphan__(struct grpc_call *call)
{
    drop_output__(call);
    cancel__(call);
    detach__(call);
    call->open = false;
    unref__(call);
}

/* The request. */

/* Keeps a header of the request.  Returns false if they are too many. */
bool
grpc_call_add_header__(struct grpc_call *call, const uint8_t *name,
                       size_t name_len, const uint8_t *value, size_t value_len)
{
    struct grpc_header *h;

    call->header_size += name_len + value_len + 32;
    if (call->header_size > GRPC_HEADER_LIST_MAX) {
        return false;
    }
    if (call->n_headers == call->allocated_headers) {
        call->headers = mem_grow(call->headers, &call->allocated_headers,
                                 sizeof *call->headers);
    }
    h = &call->headers[call->n_headers++];
    h->name = mem_zalloc(name_len + 1);
    memcpy(h->name, name, name_len);
    h->value = mem_zalloc(value_len + 1);
    memcpy(h->value, value, value_len);
    return true;
}

/* Has the handler of 'call''s method answer it. */
void
grpc_call_run__(struct grpc_call *call)
{
    const struct grpc_service *service = call->service;
    ProtobufCMessage *request = call->request;

    call->request = NULL;
    call->handed = true;
    service->handlers[call->method](service->aux, call, request);
    protobuf_c_message_free_unpacked(request, NULL);
}

const ProtobufCMethodDescriptor *
grpc_call_get_method(const struct grpc_call *call)
{
    return &call->service->descriptor->methods[call->method];
}

/* Returns the value of 'call''s first header 'name', which is in lower case,
 * or NULL if there is none. */
const char *
grpc_call_get_header(const struct grpc_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_headers; i++) {
        if (!strcmp(call->headers[i].name, name)) {
            return call->headers[i].value;
        }
    }
    return NULL;
}

/* Returns the name of the peer that calls. */
const char *
grpc_call_get_peer(const struct grpc_call *call)
{
    return call->peer;
}

/* Has 'cancel' be called, once, when nobody waits for 'call' any more. */
void
grpc_call_on_cancel(struct grpc_call *call, grpc_cancel_cb *cancel, void *aux)
{
    call->cancel = cancel;
    call->cancel_aux = aux;
}

bool
grpc_call_is_cancelled(const struct grpc_call *call)
{
    return call->cancelled;
}

/* Returns how many bytes were sent to 'call' and are not with the peer yet;
 * who has much to send does it when there are few. */
size_t
grpc_call_get_unsent(const struct grpc_call *call)
{
    return evbuffer_get_length(call->output);
}

/* The reply. */

#define NV(NAME, VALUE)                                                       \
    {                                                                         \
        (uint8_t *) (NAME), (uint8_t *) (VALUE), strlen(NAME), strlen(VALUE), \
            NGHTTP2_NV_FLAG_NONE                                              \
    }

static void
submit_trailer__(struct grpc_call *call)
{
    const nghttp2_nv nvs[] = {
        NV("grpc-status", call->code),
        NV("grpc-message", call->message),
    };

    nghttp2_submit_trailer(call->session->h2, call->stream, nvs,
                           *call->message ? 2 : 1);
}

/* nghttp2_data_source_read_callback: gives nghttp2 what 'call' has to send,
 * and the trailer behind it. */
static ssize_t
read_output_cb__(nghttp2_session *h2, int32_t stream, uint8_t *buf,
                 size_t length, uint32_t *flags, nghttp2_data_source *source,
                 void *session_)
{
    struct grpc_call *call = source->ptr;
    struct grpc_session *session = session_;
    int n = evbuffer_remove(call->output, buf, length);

    (void) h2;
    (void) stream;
    n = n > 0 ? n : 0;
    session->unsent -= (size_t) n;
    if (evbuffer_get_length(call->output)) {
        return n;
    }
    if (call->finished) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailer__(call);
    } else if (!n) {
        call->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return n;
}

/* Has nghttp2 look at 'call''s output. */
static void
push__(struct grpc_call *call)
{
    const nghttp2_nv nvs[] = {
        NV(":status", "200"),
        NV("content-type", "application/grpc+proto"),
    };
    nghttp2_data_provider provider = {
        .source.ptr = call,
        .read_callback = read_output_cb__,
    };

    if (!call->replying) {
        call->replying = true;
        nghttp2_submit_response(call->session->h2, call->stream, nvs, 2,
                                &provider);
    } else if (call->deferred) {
        call->deferred = false;
        nghttp2_session_resume_data(call->session->h2, call->stream);
    }
    call->session->wake(call->session->aux);
}

/* Answers 'call', which has sent nothing, with headers alone. */
static void
submit_headers__(struct grpc_call *call, const nghttp2_nv *nvs, size_t n)
{
    call->replying = true;
    nghttp2_submit_response(call->session->h2, call->stream, nvs, n, NULL);
    call->session->wake(call->session->aux);
}

static void
submit_status__(struct grpc_call *call)
{
    const nghttp2_nv nvs[] = {
        NV(":status", "200"),
        NV("content-type", "application/grpc+proto"),
        NV("grpc-accept-encoding", "identity"),
        NV("grpc-status", call->code),
        NV("grpc-message", call->message),
    };

    submit_headers__(call, nvs, *call->message ? 5 : 4);
}

/* From now on 'call' is only read by its caller, which has a while to do so. */
static void
set_finished__(struct grpc_call *call)
{
    call->finished = true;
    call->reply_deadline = call->session->now + GRPC_REPLY_MS;
}

/* Ends 'call''s reply. */
static void
end__(struct grpc_call *call, enum grpc_status status, const char *message)
{
    set_finished__(call);
    snprintf(call->code, sizeof call->code, "%d", (int) status);
    call->message = grpc_text_encode(message ? message : "");
    if (call->replying) {
        push__(call);
    } else {
        submit_status__(call);
    }
}

/* Ends 'call' with an error, whoever has it. */
void
grpc_call_fail__(struct grpc_call *call, enum grpc_status status,
                 const char *message)
{
    if (call->open && !call->finished) {
        drop_output__(call);
        end__(call, status, message);
        free_request__(call);
        cancel__(call);
    }
}

/* Ends 'call', which is no gRPC, with the HTTP status 'status'. */
void
grpc_call_fail_http__(struct grpc_call *call, const char *status)
{
    const nghttp2_nv nvs[] = { NV(":status", status) };

    set_finished__(call);
    submit_headers__(call, nvs, 1);
}

/* Sends 'reply' to the caller.  A caller that lets too much pile up is
 * cancelled. */
void
grpc_call_send(struct grpc_call *call, const ProtobufCMessage *reply)
{
    if (!call->open || call->finished) {
        return;
    }
    call->session->unsent += grpc_encode(call->output, reply);
    if (call->session->unsent > GRPC_REPLIES_MAX) {
        grpc_call_fail__(call, GRPC_RESOURCE_EXHAUSTED,
                         "replies are not read fast enough");
    } else {
        push__(call);
    }
}

/* Ends 'call' with 'status' and, if it is not NULL, 'message', and lets it go:
 * the handler has it no more. */
void
grpc_call_finish(struct grpc_call *call, enum grpc_status status,
                 const char *message)
{
    call->handed = false;
    if (call->open && !call->finished) {
        end__(call, status, message);
    }
    unref__(call);
}

/* Sends 'reply', the only one, and finishes 'call'. */
void
grpc_call_reply(struct grpc_call *call, const ProtobufCMessage *reply)
{
    grpc_call_send(call, reply);
    grpc_call_finish(call, GRPC_OK, NULL);
}
