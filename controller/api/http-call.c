/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/http-private.h"

#include <stdlib.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include "controller/core/mem.h"

struct http_call {
    struct http_connection *connection;
    struct evhttp_request *req; /* NULL once the peer is gone. */
    bool local;
    char *peer;
};

/* The connection closes while its call is unanswered. */
static void
closed_cb__(struct evhttp_connection *evcon, void *c_)
{
    struct http_connection *c = c_;
    struct http_call *call = c->call;

    (void) evcon;
    http_connections_look(c->server);
    if (!call) {
        return;
    }
    /* A request that has a connection goes with it. */
    if (!evhttp_request_get_connection(call->req)) {
        evhttp_request_free(call->req);
    }
    call->req = NULL;
    call->connection = NULL;
    c->call = NULL;
}

/* A reply was sent. */
static void
completed_cb__(struct evhttp_request *req, void *c)
{
    (void) req;
    http_connection_wait(c);
}

/* Hands 'req', which has come to 'server', to its owner. */
void
http_call_start(struct http_server *server, struct evhttp_request *req)
{
    struct evhttp_connection *evcon = evhttp_request_get_connection(req);
    struct http_connection *c =
        http_connection_find(server, evhttp_connection_get_bufferevent(evcon));
    struct http_call *call = mem_zalloc(sizeof *call);

    call->connection = c;
    call->req = req;
    call->local = c->local;
    call->peer = mem_strdup(c->peer ? c->peer : "?");
    c->call = call;
    server->counters.n_requests++;
    evhttp_connection_set_closecb(evcon, closed_cb__, c);
    evhttp_request_set_on_complete_cb(req, completed_cb__, c);
    server->handler(server->aux, call);
}

/* The request.  These are for before the first return to the event loop. */

enum http_method
http_call_method(const struct http_call *call)
{
    return (evhttp_request_get_command(call->req) == EVHTTP_REQ_POST
                ? HTTP_POST
                : HTTP_GET);
}

/* Returns the path that is asked for, as it came, without the query. */
const char *
http_call_path(const struct http_call *call)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(call->req);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

    return path ? path : "";
}

/* Returns what is behind the "?", as it came, or NULL. */
const char *
http_call_query(const struct http_call *call)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(call->req);

    return uri ? evhttp_uri_get_query(uri) : NULL;
}

/* Returns the value of the header 'name', or NULL if there is none or several,
 * which nobody can tell apart. */
const char *
http_call_header(const struct http_call *call, const char *name)
{
    struct evkeyvalq *headers = evhttp_request_get_input_headers(call->req);
    const char *value = NULL;

    for (const struct evkeyval *h = TAILQ_FIRST(headers); h;
         h = TAILQ_NEXT(h, next)) {
        if (!evutil_ascii_strcasecmp(h->key, name)) {
            if (value) {
                return NULL;
            }
            value = h->value;
        }
    }
    return value;
}

/* Returns where the request comes from, for messages. */
const char *
http_call_peer(const struct http_call *call)
{
    return call->peer;
}

/* Does the request come from this host? */
bool
http_call_is_local(const struct http_call *call)
{
    return call->local;
}

/* Returns what came with the request, '*size' bytes, perhaps none. */
const char *
http_call_body(struct http_call *call, size_t *size)
{
    struct evbuffer *in = evhttp_request_get_input_buffer(call->req);

    *size = evbuffer_get_length(in);
    return *size ? (const char *) evbuffer_pullup(in, -1) : "";
}

/* Adds a header to the reply. */
void
http_call_set_header(struct http_call *call, const char *name,
                     const char *value)
{
    if (call->req) {
        evhttp_add_header(evhttp_request_get_output_headers(call->req), name,
                          value);
    }
}

/* Ends 'call' with 'status' and the 'size' bytes of the media type 'type' at
 * 'body'. */
void
http_call_reply(struct http_call *call, int status, const char *type,
                const void *body, size_t size)
{
    if (call->req) {
        struct evbuffer *out = evhttp_request_get_output_buffer(call->req);

        http_call_set_header(call, "Content-Type", type);
        http_call_set_header(call, "Cache-Control", "no-store");
        http_call_set_header(call, "X-Content-Type-Options", "nosniff");
        http_call_set_header(call, "Cross-Origin-Resource-Policy",
                             "same-origin");
        evbuffer_add(out, body, size);
        call->connection->call = NULL;
        http_connection_wait(call->connection);
        evhttp_send_reply(call->req, status, NULL, NULL);
    }
    free(call->peer);
    free(call);
}
