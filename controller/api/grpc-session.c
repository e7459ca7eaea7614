/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-session.h"

#include <stdlib.h>
#include <string.h>

#include "controller/api/grpc-greeting.h"
#include "controller/api/grpc-private.h"
#include "controller/core/mem.h"

/* Ends 'session'; the peer is told the HTTP/2 error 'code'.  'error' is taken
 * over; NULL if the end is an ordinary one. */
static void
end__(struct grpc_session *session, uint32_t code, char *error)
{
    if (session->over) {
        free(error);
        return;
    }
    session->over = true;
    session->error = error;
    nghttp2_session_terminate_session(session->h2, code);
    session->wake(session->aux);
}

/* Limits. */

static unsigned int
rate_max__(enum grpc_rate rate)
{
    static const unsigned int max[] = {
#define GRPC_RATE(KIND, MAX, TEXT) [GRPC_RATE_##KIND] = (MAX),
        GRPC_RATES
#undef GRPC_RATE
    };

    return max[rate];
}

static const char *
rate_to_string__(enum grpc_rate rate)
{
    static const char *const names[] = {
#define GRPC_RATE(KIND, MAX, TEXT) [GRPC_RATE_##KIND] = (TEXT),
        GRPC_RATES
#undef GRPC_RATE
    };

    return names[rate];
}

/* Counts something that costs us and carries nothing. */
static void
count__(struct grpc_session *session, enum grpc_rate rate)
{
    if (session->now - session->rates_since >= GRPC_RATE_WINDOW_MS) {
        memset(session->rates, 0, sizeof session->rates);
        session->rates_since = session->now;
    }
    if (++session->rates[rate] > rate_max__(rate)) {
        end__(session, NGHTTP2_ENHANCE_YOUR_CALM,
              mem_printf("sent more than %u %s in %d s", rate_max__(rate),
                         rate_to_string__(rate), GRPC_RATE_WINDOW_MS / 1000));
    }
}

/* Callbacks of nghttp2. */

static struct grpc_call *
find_call__(nghttp2_session *h2, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(h2, stream);
}

static int
begin_headers_cb__(nghttp2_session *h2, const nghttp2_frame *frame,
                   void *session_)
{
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        nghttp2_session_set_stream_user_data(
            h2, frame->hd.stream_id,
            grpc_call_create__(session_, frame->hd.stream_id));
    }
    return 0;
}

static int
header_cb__(nghttp2_session *h2, const nghttp2_frame *frame,
            const uint8_t *name, size_t name_len, const uint8_t *value,
            size_t value_len, uint8_t flags, void *session_)
{
    struct grpc_call *call = find_call__(h2, frame->hd.stream_id);

    (void) flags;
    if (call && !grpc_call_add_header__(call, name, name_len, value, value_len)
        && call->header_size > 8 * GRPC_HEADER_LIST_MAX) {
        end__(session_, NGHTTP2_ENHANCE_YOUR_CALM,
              mem_strdup("sent far too many headers"));
    }
    return 0;
}

static int
data_cb__(nghttp2_session *h2, uint8_t flags, int32_t stream,
          const uint8_t *data, size_t n, void *session_)
{
    struct grpc_call *call = find_call__(h2, stream);

    (void) flags;
    (void) session_;
    if (call) {
        grpc_call_receive__(call, data, n);
    }
    return 0;
}

/* Handles a whole frame of 'call'. */
static void
receive_frame__(struct grpc_session *session, struct grpc_call *call,
                const nghttp2_frame *frame)
{
    bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

    if (frame->hd.type == NGHTTP2_HEADERS
        && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        grpc_call_begin__(call);
    } else if (!last && !frame->hd.length) {
        count__(session, GRPC_RATE_EMPTY);
    }
    if (last) {
        grpc_call_end_request__(call);
    }
}

static int
frame_cb__(nghttp2_session *h2, const nghttp2_frame *frame, void *session_)
{
    struct grpc_session *session = session_;
    struct grpc_call *call;

    session->greeted = true;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        call = find_call__(h2, frame->hd.stream_id);
        if (call && !session->over) {
            receive_frame__(session, call, frame);
        }
        break;
    case NGHTTP2_RST_STREAM:
        count__(session, GRPC_RATE_RESETS);
        break;
    case NGHTTP2_SETTINGS:
        count__(session, GRPC_RATE_SETTINGS);
        break;
    case NGHTTP2_PING:
        count__(session, GRPC_RATE_PINGS);
        break;
    case NGHTTP2_PRIORITY:
        count__(session, GRPC_RATE_EMPTY);
        break;
    default:
        break;
    }
    return 0;
}

/* Once a call is answered, the rest of its request is not wanted. */
static int
frame_sent_cb__(nghttp2_session *h2, const nghttp2_frame *frame,
                void *session_)
{
    const struct grpc_call *call = find_call__(h2, frame->hd.stream_id);

    (void) session_;
    if (call && !call->whole && frame->hd.type == NGHTTP2_HEADERS
        && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, call->stream,
                                  NGHTTP2_NO_ERROR);
    }
    return 0;
}

static int
stream_close_cb__(nghttp2_session *h2, int32_t stream, uint32_t code,
                  void *session_)
{
    struct grpc_call *call = find_call__(h2, stream);

    (void) code;
    (void) session_;
    if (call) {
        nghttp2_session_set_stream_user_data(h2, stream, NULL);
        grpc_call_close__(call);
    }
    return 0;
}

/* The session. */

static void
create_h2__(struct grpc_session *session)
{
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_STREAMS_MAX },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEADER_LIST_MAX },
    };
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;

    if (nghttp2_session_callbacks_new(&callbacks)
        || nghttp2_option_new(&option)) {
        abort();
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(
        callbacks, begin_headers_cb__);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header_cb__);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              data_cb__);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
                                                         frame_cb__);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks,
                                                         frame_sent_cb__);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
                                                           stream_close_cb__);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, 100);
    /* Who sends "Bearer " and no token is told so. */
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option,
                                                                     1);
    if (nghttp2_session_server_new2(&session->h2, callbacks, session,
                                    option)) {
        abort();
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session->h2, NGHTTP2_FLAG_NONE, settings, 2);
}

/* Returns a session with a connection of 'host', of the name 'peer', which may
 * call 'services'.  'wake' is called with 'aux' when there is something to send. */
struct grpc_session *
grpc_session_create(const struct grpc_services *services,
                    struct grpc_peer *host, const char *peer,
                    void (*wake)(void *aux), void *aux, int64_t now)
{
    struct grpc_session *session = mem_zalloc(sizeof *session);

    session->services = services;
    session->host = host;
    session->peer = mem_strdup(peer);
    session->wake = wake;
    session->aux = aux;
    session->now = now;
    session->idle_since = now;
    session->rates_since = now;
    session->input_ended = INT64_MAX;
    LIST_INIT(&session->calls);
    grpc_filter_init(&session->filter);
    create_h2__(session);
    return session;
}

/* Destroys 'session', which may be NULL.  Calls that handlers have are
 * cancelled. */
void
grpc_session_destroy(struct grpc_session *session)
{
    if (session) {
        session->over = true;
        while (!LIST_EMPTY(&session->calls)) {
            grpc_call_orphan__(LIST_FIRST(&session->calls));
        }
        nghttp2_session_del(session->h2);
        free(session->greeting);
        free(session->farewell);
        free(session->peer);
        free(session->error);
        free(session);
    }
}

/* Has nghttp2 take the 'n' bytes at 'data'. */
static void
take__(struct grpc_session *session, const uint8_t *data, size_t n)
{
    ssize_t retval = nghttp2_session_mem_recv(session->h2, data, n);

    if (retval < 0) {
        end__(session, NGHTTP2_PROTOCOL_ERROR,
              mem_strdup(nghttp2_strerror((int) retval)));
    } else if (!nghttp2_session_want_read(session->h2)
               && !nghttp2_session_want_write(session->h2)) {
        session->over = true;
    }
}

/* Takes the 'n' bytes at 'data', which are HTTP/2. */
static void
receive_h2__(struct grpc_session *session, const uint8_t *data, size_t n)
{
    while (n && !session->over) {
        const uint8_t *out;
        size_t n_out;

        switch (grpc_filter_next(&session->filter, &data, &n, &out, &n_out)) {
        case GRPC_FILTER_WAIT:
            break;
        case GRPC_FILTER_PASS:
            take__(session, out, n_out);
            break;
        case GRPC_FILTER_DROP:
            count__(session, GRPC_RATE_RESETS);
            break;
        }
    }
}

/* Answers the request of HTTP/1 that came first. */
static void
answer_http1__(struct grpc_session *session)
{
    const struct grpc_settings *s = session->host->settings;

    session->farewell =
        grpc_greeting_reply((const char *) session->greeting,
                            session->n_greeting, s->http_port, s->http_tls);
    session->n_farewell = strlen(session->farewell);
    session->over = true;
    session->wake(session->aux);
}

/* Takes the 'n' bytes at 'data', which belong to what the peer says first. */
static void
receive_greeting__(struct grpc_session *session, const uint8_t *data, size_t n)
{
    while (session->n_greeting + n > session->allocated_greeting) {
        session->greeting =
            mem_grow(session->greeting, &session->allocated_greeting, 1);
    }
    memcpy(session->greeting + session->n_greeting, data, n);
    session->n_greeting += n;
    switch (grpc_greeting_get_kind((const char *) session->greeting,
                                   session->n_greeting)) {
    case GRPC_GREETING_MORE:
        break;
    case GRPC_GREETING_HTTP2:
        session->introduced = true;
        receive_h2__(session, session->greeting, session->n_greeting);
        free(session->greeting);
        session->greeting = NULL;
        break;
    case GRPC_GREETING_HTTP1:
        answer_http1__(session);
        break;
    case GRPC_GREETING_OTHER:
        session->over = true;
        session->error = mem_strdup("does not speak HTTP/2");
        session->wake(session->aux);
        break;
    }
}

/* Takes the 'n' bytes at 'data' from the peer. */
void
grpc_session_receive(struct grpc_session *session, const uint8_t *data,
                     size_t n, int64_t now)
{
    session->now = now;
    if (session->over || !n) {
        return;
    }
    if (session->introduced) {
        receive_h2__(session, data, n);
    } else {
        receive_greeting__(session, data, n);
    }
}

/* Takes note that the peer will send nothing any more.  Calls that are whole
 * are still answered. */
void
grpc_session_end_input(struct grpc_session *session, int64_t now)
{
    session->now = now;
    session->input_ended = now;
    grpc_session_run(session, now);
}

/* Returns how many bytes there are to send to the peer, and stores where in
 * '*data', until the next call of a function of 'session'. */
size_t
grpc_session_send(struct grpc_session *session, const uint8_t **data)
{
    ssize_t n;

    if (session->farewell) {
        n = (ssize_t) session->n_farewell;
        *data = (const uint8_t *) session->farewell;
        session->n_farewell = 0;
        return (size_t) n;
    }
    if (!session->introduced) {
        return 0; /* It may be HTTP/1 that the peer expects. */
    }
    n = nghttp2_session_mem_send(session->h2, data);
    if (n < 0) {
        end__(session, NGHTTP2_INTERNAL_ERROR,
              mem_strdup(nghttp2_strerror((int) n)));
        return 0;
    }
    if (!n && !nghttp2_session_want_read(session->h2)
        && !nghttp2_session_want_write(session->h2)) {
        session->over = true;
    }
    return (size_t) n;
}

static int64_t
min__(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
call_wakeup__(const struct grpc_call *call)
{
    return (!call->open      ? INT64_MAX
            : call->finished ? call->reply_deadline
            : call->whole    ? call->deadline
                             : min__(call->deadline, call->request_deadline));
}

/* Returns a call that has something to do by the time 'now', or NULL. */
static struct grpc_call *
find_expired__(const struct grpc_session *session, int64_t now)
{
    struct grpc_call *call;

    LIST_FOREACH(call, &session->calls, node)
    {
        if (now >= call_wakeup__(call)) {
            break;
        }
    }
    return call;
}

static void
run_call__(struct grpc_call *call, int64_t now)
{
    if (call->finished && now >= call->reply_deadline) {
        call->reply_deadline = INT64_MAX;
        nghttp2_submit_rst_stream(call->session->h2, NGHTTP2_FLAG_NONE,
                                  call->stream, NGHTTP2_CANCEL);
        call->session->wake(call->session->aux);
    } else if (now >= call->deadline) {
        grpc_call_fail__(call, GRPC_DEADLINE_EXCEEDED,
                         "the call's deadline has passed");
    } else if (!call->whole && now >= call->request_deadline) {
        grpc_call_fail__(call, GRPC_DEADLINE_EXCEEDED,
                         "the request did not come in time");
    }
}

/* Does what has to be done by the time 'now'. */
void
grpc_session_run(struct grpc_session *session, int64_t now)
{
    struct grpc_call *call;

    session->now = now;
    while ((call = find_expired__(session, now))) {
        run_call__(call, now);
    }
    if (session->input_ended != INT64_MAX
        && (!session->n_calls
            || now - session->input_ended >= GRPC_LINGER_MS)) {
        end__(session, NGHTTP2_NO_ERROR, NULL);
    } else if (!session->greeted
               && now - session->idle_since >= GRPC_PREFACE_MS) {
        end__(session, NGHTTP2_NO_ERROR,
              mem_strdup("did not speak HTTP/2 in time"));
    } else if (!session->n_calls
               && now - session->idle_since >= session->host->settings->idle) {
        end__(session, NGHTTP2_NO_ERROR, NULL);
    }
}

/* Returns when grpc_session_run() has to be called at the latest. */
int64_t
grpc_session_wakeup(const struct grpc_session *session)
{
    const struct grpc_call *call;
    int64_t when = INT64_MAX;

    if (session->over) {
        return INT64_MAX;
    }
    LIST_FOREACH(call, &session->calls, node)
    {
        when = min__(when, call_wakeup__(call));
    }
    if (session->input_ended != INT64_MAX) {
        when = min__(when, session->input_ended + GRPC_LINGER_MS);
    } else if (!session->n_calls) {
        when =
            min__(when, session->idle_since
                            + (session->greeted ? session->host->settings->idle
                                                : GRPC_PREFACE_MS));
    }
    return when;
}

/* Was 'session' ended by a request of HTTP/1? */
bool
grpc_session_is_http1(const struct grpc_session *session)
{
    return session->farewell != NULL;
}

/* Is the connection of no use any more, once what there is to send is
 * sent? */
bool
grpc_session_is_over(const struct grpc_session *session)
{
    return session->over
           || (session->input_ended != INT64_MAX && !session->n_calls
               && !nghttp2_session_want_write(session->h2));
}

/* Returns why 'session' ended early, or NULL. */
const char *
grpc_session_get_error(const struct grpc_session *session)
{
    return session->error;
}
