/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-client-session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <nghttp2/nghttp2.h>

#include "controller/api/grpc-limits.h"
#include "controller/api/grpc-message.h"
#include "controller/core/mem.h"

struct grpc_client_call {
    LIST_ENTRY(grpc_client_call) node;
    struct grpc_client_session *session;
    int32_t stream;
    const ProtobufCMessageDescriptor *reply_type;
    struct grpc_client_request request; /* Only the handlers stay valid. */
    struct evbuffer *output;
    struct grpc_decoder decoder;
    int64_t deadline;        /* INT64_MAX if none. */
    bool grpc;               /* Did the server answer in gRPC? */
    bool answered;           /* Is 'status' there? */
    enum grpc_status status; /* The server's. */
    char *message;           /* The server's, or NULL. */
};

LIST_HEAD(grpc_client_calls, grpc_client_call);

struct grpc_client_session {
    nghttp2_session *h2;
    char *authority;
    char *scheme;
    void (*wake)(void *aux);
    void *aux;
    struct grpc_client_calls calls;
    bool over;
    char *reason; /* Why it is over. */
};

/* Calls. */

static void
call_destroy__(struct grpc_client_call *call)
{
    LIST_REMOVE(call, node);
    grpc_decoder_destroy(&call->decoder);
    evbuffer_free(call->output);
    free(call->message);
    free(call);
}

/* Ends 'call', which is gone after that. */
static void
call_done__(struct grpc_client_call *call, enum grpc_status status,
            const char *message)
{
    char *copy = mem_strdup(message ? message : "");

    nghttp2_session_set_stream_user_data(call->session->h2, call->stream,
                                         NULL);
    call->request.done(call->request.aux, status, copy);
    call_destroy__(call);
    free(copy);
}

/* Ends 'call' before the server does. */
static void
call_abort__(struct grpc_client_call *call, enum grpc_status status,
             const char *message)
{
    struct grpc_client_session *session = call->session;

    nghttp2_submit_rst_stream(session->h2, NGHTTP2_FLAG_NONE, call->stream,
                              NGHTTP2_CANCEL);
    call_done__(call, status, message);
    session->wake(session->aux);
}

/* Gives 'call' up: its 'done' is called with GRPC_CANCELLED. */
void
grpc_client_call_cancel(struct grpc_client_call *call)
{
    call_abort__(call, GRPC_CANCELLED, "cancelled");
}

static struct grpc_client_call *
find_call__(nghttp2_session *h2, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(h2, stream);
}

static bool
is__(const uint8_t *name, size_t name_len, const char *s)
{
    return strlen(s) == name_len && !memcmp(name, s, name_len);
}

static void
set_message__(struct grpc_client_call *call, const char *message)
{
    free(call->message);
    call->message = mem_strdup(message);
}

/* Callbacks of nghttp2. */

static int
header_cb__(nghttp2_session *h2, const nghttp2_frame *frame,
            const uint8_t *name, size_t name_len, const uint8_t *value_,
            size_t value_len, uint8_t flags, void *session_)
{
    struct grpc_client_call *call = find_call__(h2, frame->hd.stream_id);
    const char *value = (const char *) value_;

    (void) value_len;
    (void) flags;
    (void) session_;
    if (!call) {
        return 0;
    }
    if (is__(name, name_len, ":status")) {
        if (strcmp(value, "200")) {
            call->status = grpc_status_from_http(value);
            free(call->message);
            call->message = mem_printf("the server answered HTTP %s", value);
        }
    } else if (is__(name, name_len, "content-type")) {
        call->grpc = !strncmp(value, "application/grpc", 16);
    } else if (is__(name, name_len, "grpc-status")) {
        call->answered = true;
        call->status = grpc_status_from_header(value);
    } else if (is__(name, name_len, "grpc-message")) {
        char *message = grpc_text_decode(value);

        set_message__(call, message);
        free(message);
    }
    return 0;
}

/* Hands a whole reply over.  Returns false if it is none. */
static bool
take_reply__(struct grpc_client_call *call)
{
    ProtobufCMessage *reply =
        grpc_decoder_take(&call->decoder, call->reply_type);

    if (!reply) {
        return false;
    }
    if (call->request.reply) {
        call->request.reply(call->request.aux, reply);
    }
    protobuf_c_message_free_unpacked(reply, NULL);
    return true;
}

static int
data_cb__(nghttp2_session *h2, uint8_t flags, int32_t stream,
          const uint8_t *data, size_t n, void *session_)
{
    struct grpc_client_call *call = find_call__(h2, stream);

    (void) flags;
    (void) session_;
    while (call && call->grpc && n) {
        const char *error;
        size_t used;
        enum grpc_status status =
            grpc_decoder_push(&call->decoder, data, n, &used, &error);

        if (status != GRPC_OK) {
            call_abort__(call, status, error);
            return 0;
        }
        data += used;
        n -= used;
        if (grpc_decoder_is_whole(&call->decoder) && !take_reply__(call)) {
            call_abort__(call, GRPC_INTERNAL, "the reply is malformed");
            return 0;
        }
        /* Whoever was given the reply may have cancelled the call. */
        call = find_call__(h2, stream);
    }
    return 0;
}

static int
stream_close_cb__(nghttp2_session *h2, int32_t stream, uint32_t code,
                  void *session_)
{
    struct grpc_client_call *call = find_call__(h2, stream);

    (void) session_;
    if (!call) {
        return 0;
    }
    if (call->answered) {
        call_done__(call, call->status, call->message);
    } else if (code == NGHTTP2_REFUSED_STREAM) {
        call_done__(call, GRPC_UNAVAILABLE,
                    "the server takes no calls, or does not speak HTTP/2");
    } else if (call->message) {
        call_done__(call, call->status, call->message);
    } else {
        char *s = mem_printf("the server ended the call without a status: %s",
                             nghttp2_http2_strerror(code));

        call_done__(call, GRPC_UNAVAILABLE, s);
        free(s);
    }
    return 0;
}

static ssize_t
read_output_cb__(nghttp2_session *h2, int32_t stream, uint8_t *buf,
                 size_t length, uint32_t *flags, nghttp2_data_source *source,
                 void *session)
{
    struct grpc_client_call *call = find_call__(h2, stream);
    int n;

    (void) source;
    (void) session;
    if (!call) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    n = evbuffer_remove(call->output, buf, length);
    if (!evbuffer_get_length(call->output)) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return n > 0 ? n : 0;
}

/* Making a call. */

static nghttp2_nv
nv__(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *) name, (uint8_t *) value, strlen(name),
                         strlen(value), NGHTTP2_NV_FLAG_NONE };
}

/* Submits 'call', whose output is there. */
static void
submit__(struct grpc_client_call *call, const char *path)
{
    const struct grpc_client_session *session = call->session;
    const struct grpc_client_request *r = &call->request;
    nghttp2_data_provider provider = { .read_callback = read_output_cb__ };
    nghttp2_nv *nvs = mem_alloc((r->n_headers + 7) * sizeof *nvs);
    char timeout[GRPC_TIMEOUT_STRLEN];
    size_t n = 0;

    nvs[n++] = nv__(":method", "POST");
    nvs[n++] = nv__(":scheme", session->scheme);
    nvs[n++] = nv__(":path", path);
    nvs[n++] = nv__(":authority", session->authority);
    nvs[n++] = nv__("content-type", "application/grpc+proto");
    nvs[n++] = nv__("te", "trailers");
    if (r->timeout_ms) {
        grpc_timeout_format(r->timeout_ms, timeout);
        nvs[n++] = nv__("grpc-timeout", timeout);
    }
    for (size_t i = 0; i < r->n_headers; i++) {
        nvs[n++] = nv__(r->headers[i].name, r->headers[i].value);
    }
    call->stream =
        nghttp2_submit_request(session->h2, NULL, nvs, n, &provider, call);
    free(nvs);
}

/* Makes the call 'request'.  Returns it, for grpc_client_call_cancel(); it is
 * valid until its 'done' is called, which it is at once if 'session' is over;
 * then returns NULL. */
struct grpc_client_call *
grpc_client_session_call(struct grpc_client_session *session,
                         const struct grpc_client_request *request,
                         int64_t now)
{
    const ProtobufCMethodDescriptor *method =
        protobuf_c_service_descriptor_get_method_by_name(request->service,
                                                         request->method);
    struct grpc_client_call *call;
    char *path;

    if (session->over) {
        request->done(request->aux, GRPC_UNAVAILABLE, session->reason);
        return NULL;
    }
    call = mem_zalloc(sizeof *call);
    path = mem_printf("/%s/%s", request->service->name, request->method);
    call->session = session;
    call->request = *request;
    call->reply_type = method->output;
    call->output = evbuffer_new();
    call->deadline =
        request->timeout_ms ? now + request->timeout_ms : INT64_MAX;
    grpc_decoder_init(&call->decoder, GRPC_REPLY_MAX);
    grpc_encode(call->output, request->message);
    LIST_INSERT_HEAD(&session->calls, call, node);
    submit__(call, path);
    free(path);
    session->wake(session->aux);
    return call;
}

/* The session. */

static void
create_h2__(struct grpc_client_session *session)
{
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20 },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEADER_LIST_MAX },
    };
    nghttp2_session_callbacks *callbacks;

    if (nghttp2_session_callbacks_new(&callbacks)) {
        abort();
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header_cb__);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              data_cb__);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
                                                           stream_close_cb__);
    if (nghttp2_session_client_new(&session->h2, callbacks, session)) {
        abort();
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session->h2, NGHTTP2_FLAG_NONE, settings, 3);
    nghttp2_session_set_local_window_size(session->h2, NGHTTP2_FLAG_NONE, 0,
                                          1 << 20);
}

/* Returns a session with the server 'authority', in 'scheme' ("http" or
 * "https").  'wake' is called with 'aux' when there is something to send. */
struct grpc_client_session *
grpc_client_session_create(const char *authority, const char *scheme,
                           void (*wake)(void *aux), void *aux)
{
    struct grpc_client_session *session = mem_zalloc(sizeof *session);

    session->authority = mem_strdup(authority);
    session->scheme = mem_strdup(scheme);
    session->wake = wake;
    session->aux = aux;
    LIST_INIT(&session->calls);
    create_h2__(session);
    return session;
}

/* Ends 'session', whose connection is gone for 'reason', and the calls that
 * are under way. */
void
grpc_client_session_end(struct grpc_client_session *session,
                        const char *reason)
{
    if (session->over) {
        return;
    }
    session->over = true;
    session->reason = mem_strdup(reason);
    while (!LIST_EMPTY(&session->calls)) {
        call_done__(LIST_FIRST(&session->calls), GRPC_UNAVAILABLE, reason);
    }
}

/* Destroys 'session', which may be NULL. */
void
grpc_client_session_destroy(struct grpc_client_session *session)
{
    if (session) {
        grpc_client_session_end(session, "the connection was closed");
        nghttp2_session_del(session->h2);
        free(session->authority);
        free(session->scheme);
        free(session->reason);
        free(session);
    }
}

static void
check_over__(struct grpc_client_session *session)
{
    if (!nghttp2_session_want_read(session->h2)
        && !nghttp2_session_want_write(session->h2)) {
        grpc_client_session_end(session,
                                "the server ended the connection, or does "
                                "not keep to HTTP/2");
    }
}

/* Takes the 'n' bytes at 'data' from the server. */
void
grpc_client_session_receive(struct grpc_client_session *session,
                            const uint8_t *data, size_t n)
{
    ssize_t retval;

    if (session->over) {
        return;
    }
    retval = nghttp2_session_mem_recv(session->h2, data, n);
    if (retval < 0) {
        char *s = mem_printf("the server does not speak HTTP/2: %s",
                             nghttp2_strerror((int) retval));

        grpc_client_session_end(session, s);
        free(s);
    } else {
        check_over__(session);
    }
}

/* Returns how many bytes there are to send to the server, and stores where in
 * '*data', until the next call of a function of 'session'. */
size_t
grpc_client_session_send(struct grpc_client_session *session,
                         const uint8_t **data)
{
    ssize_t n = nghttp2_session_mem_send(session->h2, data);

    if (n <= 0) {
        check_over__(session);
        return 0;
    }
    return (size_t) n;
}

static struct grpc_client_call *
find_expired__(const struct grpc_client_session *session, int64_t now)
{
    struct grpc_client_call *call;

    LIST_FOREACH(call, &session->calls, node)
    {
        if (now >= call->deadline) {
            break;
        }
    }
    return call;
}

/* Does what has to be done by the time 'now'. */
void
grpc_client_session_run(struct grpc_client_session *session, int64_t now)
{
    struct grpc_client_call *call;

    while ((call = find_expired__(session, now))) {
        call_abort__(call, GRPC_DEADLINE_EXCEEDED,
                     "no answer within the time allowed");
    }
}

/* Returns when grpc_client_session_run() has to be called at the latest. */
int64_t
grpc_client_session_wakeup(const struct grpc_client_session *session)
{
    const struct grpc_client_call *call;
    int64_t when = INT64_MAX;

    LIST_FOREACH(call, &session->calls, node)
    {
        when = call->deadline < when ? call->deadline : when;
    }
    return when;
}

/* Is the connection of no use any more? */
bool
grpc_client_session_is_over(const struct grpc_client_session *session)
{
    return session->over;
}
