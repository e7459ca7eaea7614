/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "controller/api/grpc-limits.h"
#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"

struct grpc_client {
    struct event_base *base;
    struct grpc_client_session *session;
    struct bufferevent *bev;
    struct event *timer; /* Made active by hand when there is output. */
    bool connected;
};

/* Sends as far as the server reads, and sets the timer. */
static void
update__(struct grpc_client *client)
{
    struct evbuffer *output = bufferevent_get_output(client->bev);
    const uint8_t *data;
    int64_t wakeup;
    size_t n;

    while (client->connected && evbuffer_get_length(output) < GRPC_OUTPUT_MAX
           && (n = grpc_client_session_send(client->session, &data))) {
        evbuffer_add(output, data, n);
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

static void
event_cb__(struct bufferevent *bev, short events, void *client_)
{
    struct grpc_client *client = client_;

    (void) bev;
    if (events & BEV_EVENT_CONNECTED) {
        client->connected = true;
        update__(client);
    } else if (events & BEV_EVENT_EOF) {
        grpc_client_session_end(client->session,
                                "the server closed the connection");
    } else if (events & BEV_EVENT_ERROR) {
        grpc_client_session_end(client->session, strerror(errno));
    }
}

/* Starts to connect a socket to 'la'.  Returns it and stores in '*connected'
 * whether it is connected already, or returns a negative errno. */
static int
connect__(const struct listen_address *la, bool *connected)
{
    int fd = socket(la->sa.ss_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error;

    *connected = false;
    if (fd < 0) {
        return -errno;
    }
    *connected = !connect(fd, (const struct sockaddr *) &la->sa, la->len);
    if (!*connected && errno != EINPROGRESS) {
        error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

/* Connects a client to the server at 'la'.  Returns 0 and stores the client in
 * '*clientp', which the caller must destroy, or a positive errno value. */
int
grpc_client_create(struct event_base *base, const struct listen_address *la,
                   struct grpc_client **clientp)
{
    struct grpc_client *client;
    bool connected;
    int fd = connect__(la, &connected);

    *clientp = NULL;
    if (fd < 0) {
        return -fd;
    }
    client = mem_zalloc(sizeof *client);
    client->base = base;
    client->connected = connected;
    client->timer = evtimer_new(base, timer_cb__, client);
    client->bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    client->session =
        grpc_client_session_create("localhost", "http", wake_cb__, client);
    bufferevent_setcb(client->bev, read_cb__, write_cb__, event_cb__, client);
    bufferevent_enable(client->bev, EV_READ | EV_WRITE);
    if (!connected) {
        bufferevent_socket_connect(client->bev, NULL, 0);
    }
    *clientp = client;
    return 0;
}

/* Destroys 'client', which may be NULL.  Calls under way are ended. */
void
grpc_client_destroy(struct grpc_client *client)
{
    if (client) {
        grpc_client_session_destroy(client->session);
        bufferevent_free(client->bev);
        event_free(client->timer);
        free(client);
    }
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
