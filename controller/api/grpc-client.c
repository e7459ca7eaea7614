/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-client.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/util.h>

#include "controller/api/dial.h"
#include "controller/api/grpc-limits.h"
#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/tls-client.h"
#include "controller/tls.h"

struct grpc_client {
    struct event_base *base;
    struct grpc_client_session *session;
    struct dial *dial;       /* NULL once the socket is connected, or not. */
    struct bufferevent *bev; /* NULL until then. */
    struct event *timer;     /* Made active by hand when there is output. */
    char *host;              /* What its certificate is for; NULL for no
                              * TLS. */
    char *ca;                /* Or NULL. */
    bool insecure;
    bool connected; /* May calls be sent? */
    int error;      /* Why there is no socket, a positive errno value. */
};

static void
send__(struct grpc_client *client)
{
    struct evbuffer *output = bufferevent_get_output(client->bev);
    const uint8_t *data;
    size_t n;

    while (evbuffer_get_length(output) < GRPC_OUTPUT_MAX
           && (n = grpc_client_session_send(client->session, &data))) {
        evbuffer_add(output, data, n);
    }
}

/* Sends as far as the server reads, and sets the timer. */
static void
update__(struct grpc_client *client)
{
    int64_t wakeup;

    if (client->connected) {
        send__(client);
    }
    wakeup = grpc_client_session_wakeup(client->session);
    if (wakeup != INT64_MAX) {
        struct timeval tv;

        now_until(wakeup, &tv);
        event_add(client->timer, &tv);
    }
}

static void
wake_cb__(void *client_)
{
    struct grpc_client *client = client_;

    event_active(client->timer, EV_TIMEOUT, 0);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *client_)
{
    struct grpc_client *client = client_;

    (void) fd;
    (void) events;
    grpc_client_session_run(client->session, now_ms());
    update__(client);
}

static void
read_cb__(struct bufferevent *bev, void *client_)
{
    struct grpc_client *client = client_;
    struct evbuffer *input = bufferevent_get_input(bev);
    size_t n;

    while ((n = evbuffer_get_contiguous_space(input))) {
        grpc_client_session_receive(client->session,
                                    evbuffer_pullup(input, (ssize_t) n), n);
        evbuffer_drain(input, n);
    }
    update__(client);
}

static void
write_cb__(struct bufferevent *bev, void *client_)
{
    (void) bev;
    update__(client_);
}

/* Ends 'client', whose connection is gone for 'reason'. */
static void
end__(struct grpc_client *client, const char *reason)
{
    client->connected = false;
    grpc_client_session_end(client->session, reason);
}

static void
event_cb__(struct bufferevent *bev, short events, void *client_)
{
    struct grpc_client *client = client_;

    if (events & BEV_EVENT_CONNECTED) {
        if (!tls_is_http2(bev)) {
            end__(client, "the server does not offer HTTP/2");
        } else {
            client->connected = true;
            update__(client);
        }
    } else if (events & BEV_EVENT_EOF) {
        end__(client, "the server closed the connection");
    } else if (events & BEV_EVENT_ERROR) {
        char *error = client->host ? tls_get_error(bev)
                                   : mem_strdup(evutil_socket_error_to_string(
                                       EVUTIL_SOCKET_ERROR()));

        end__(client, error);
        free(error);
    }
}

/* Goes on with the connected socket 'fd'. */
static void
open__(struct grpc_client *client, int fd)
{
    char *error = NULL;

    if (client->host) {
        error = tls_connect(client->base, fd, client->host, client->ca,
                            client->insecure, &client->bev);
    } else {
        client->bev =
            bufferevent_socket_new(client->base, fd, BEV_OPT_CLOSE_ON_FREE);
        client->connected = true;
    }
    if (error) {
        close(fd);
        grpc_client_session_end(client->session, error);
        free(error);
        return;
    }
    bufferevent_setcb(client->bev, read_cb__, write_cb__, event_cb__, client);
    bufferevent_enable(client->bev, EV_READ | EV_WRITE);
    update__(client);
}

static void
dial_cb__(void *client_, int fd, int error, const char *message)
{
    struct grpc_client *client = client_;

    client->dial = NULL;
    client->error = error;
    if (fd < 0) {
        grpc_client_session_end(client->session, message);
    } else {
        open__(client, fd);
    }
}

/* Returns how HTTP names the server at 'address'. */
static char *
authority__(const struct grpc_client_address *address)
{
    if (address->path) {
        return mem_strdup("localhost");
    }
    return mem_printf(strchr(address->host, ':') ? "[%s]:%u" : "%s:%u",
                      address->host, address->port);
}

/* Returns a client of the server at 'address', which the caller must
 * destroy. */
struct grpc_client *
grpc_client_create(struct event_base *base,
                   const struct grpc_client_address *address)
{
    struct grpc_client *client = mem_zalloc(sizeof *client);
    bool tls = !address->path && address->tls;
    char *authority = authority__(address);

    client->base = base;
    client->timer = evtimer_new(base, timer_cb__, client);
    client->session = grpc_client_session_create(
        authority, tls ? "https" : "http", wake_cb__, client);
    client->host = tls ? mem_strdup(address->host) : NULL;
    client->ca = tls && address->ca ? mem_strdup(address->ca) : NULL;
    client->insecure = address->insecure;
    if (address->path) {
        client->dial = dial_start_unix(base, address->path, dial_cb__, client);
    } else {
        client->dial =
            dial_start(base, address->host, address->port, dial_cb__, client);
    }
    free(authority);
    return client;
}

/* Destroys 'client', which may be NULL.  Calls under way are ended. */
void
grpc_client_destroy(struct grpc_client *client)
{
    if (client) {
        dial_cancel(client->dial);
        grpc_client_session_destroy(client->session);
        if (client->bev) {
            bufferevent_free(client->bev);
        }
        event_free(client->timer);
        free(client->host);
        free(client->ca);
        free(client);
    }
}

/* Is 'client' of no use any more? */
bool
grpc_client_is_over(const struct grpc_client *client)
{
    return grpc_client_session_is_over(client->session);
}

/* Returns why 'client' could not connect a socket, a positive errno value; 0
 * if it could, tries to, or does not know the host. */
int
grpc_client_get_errno(const struct grpc_client *client)
{
    return client->error;
}

/* Makes a call; see grpc_client_session_call(). */
struct grpc_client_call *
grpc_client_call(struct grpc_client *client,
                 const struct grpc_client_request *request)
{
    return grpc_client_session_call(client->session, request, now_ms());
}

/* A call that is waited for. */
struct waited {
    const struct grpc_client_request *request;
    struct event_base *base;
    bool done;
    enum grpc_status status;
    char *message;
};

static void
waited_reply_cb__(void *waited_, const ProtobufCMessage *reply)
{
    struct waited *waited = waited_;

    waited->request->reply(waited->request->aux, reply);
}

static void
waited_done_cb__(void *waited_, enum grpc_status status, const char *message)
{
    struct waited *waited = waited_;

    waited->done = true;
    waited->status = status;
    waited->message = mem_strdup(message);
    event_base_loopbreak(waited->base);
}

/* Makes the call 'request', whose 'done' is ignored, and waits for its end.
 * Returns its status and stores the text, which the caller must free, in
 * '*message'. */
enum grpc_status
grpc_client_wait(struct grpc_client *client,
                 const struct grpc_client_request *request, char **message)
{
    struct waited waited = { .request = request, .base = client->base };
    struct grpc_client_request r = *request;

    r.reply = waited_reply_cb__;
    r.done = waited_done_cb__;
    r.aux = &waited;
    grpc_client_call(client, &r);
    while (!waited.done) {
        event_base_loop(client->base, EVLOOP_ONCE);
    }
    *message = waited.message;
    return waited.status;
}
