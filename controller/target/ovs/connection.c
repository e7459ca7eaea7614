/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/server-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofpbuf.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/listener.h"
#include "controller/target/ovs/session-stats.h"
#include "controller/tls.h"

VLOG_DEFINE_THIS_MODULE(evlb_connection);

/* No more is taken from a peer than one message of the longest kind, and no
 * more is put into the output before it has read some. */
#define INPUT_MAX (2 * 65536)
#define OUTPUT_MAX (1024 * 1024)

/* How long a connection that is over may take for its last words. */
#define CLOSE_MS 1000

static void
end_session__(struct connection *c)
{
    if (c->sw) {
        session_add_counters(c->session, &c->sw->counters);
        c->sw->connection = NULL;
        c->sw = NULL;
    }
    session_destroy(c->session);
    c->session = NULL;
}

/* Ends 'c', and frees it. */
void
connection_destroy__(struct connection *c)
{
    end_session__(c);
    event_free(c->timer);
    bufferevent_free(c->bev);
    ovs_list_remove(&c->node);
    c->server->n_connections--;
    free(c->peer);
    free(c);
}

static void
set_timer__(struct connection *c, int64_t ms)
{
    struct timeval tv;

    ms = ms > 0 ? ms : 0;
    tv.tv_sec = ms / 1000;
    tv.tv_usec = ms % 1000 * 1000;
    event_add(c->timer, &tv);
}

/* Has the session of 'c' run, but from the event loop. */
void
connection_wake__(struct connection *c)
{
    set_timer__(c, 0);
}

/* Moves what 'c''s session has to say to the output, as far as the peer reads
 * it. */
static void
send_requests__(struct connection *c)
{
    struct evbuffer *output = bufferevent_get_output(c->bev);
    struct ofpbuf *msg;

    while (evbuffer_get_length(output) < OUTPUT_MAX
           && (msg = session_pop_request(c->session))) {
        evbuffer_add(output, msg->data, msg->size);
        ofpbuf_delete(msg);
    }
}

/* Ends the session of 'c' and lets the peer read its last words. */
void
connection_close__(struct connection *c, const char *reason)
{
    VLOG_WARN("%s: connection of %s closed: %s", c->peer,
              c->sw ? c->sw->name : "no known switch", reason);
    if (c->sw) {
        free(c->sw->last_error);
        c->sw->last_error = mem_strdup(reason);
    }
    end_session__(c);
    bufferevent_disable(c->bev, EV_READ);
    if (evbuffer_get_length(bufferevent_get_output(c->bev))) {
        set_timer__(c, CLOSE_MS);
    } else {
        set_timer__(c, 0);
    }
}

/* Sends, sets the timer, or closes, after 'c''s session was called. */
void
connection_update__(struct connection *c)
{
    const char *error;

    send_requests__(c);
    error = session_get_error(c->session);
    if (error) {
        connection_close__(c, error);
    } else {
        set_timer__(c, session_wakeup(c->session) - ovs_server_now__());
    }
}

/* Takes the next whole message out of 'input'.  Returns NULL if it is not
 * there yet, or stores an error in '*error'. */
static struct ofp_header *
take_message__(struct evbuffer *input, const char **error)
{
    struct ofp_header header;
    struct ofp_header *msg;
    size_t length;

    if (evbuffer_copyout(input, &header, sizeof header) != sizeof header) {
        return NULL;
    }
    length = ntohs(header.length);
    if (length < sizeof header) {
        *error = "sent a message that is shorter than its header";
        return NULL;
    }
    if (evbuffer_get_length(input) < length) {
        return NULL;
    }
    msg = mem_alloc(length);
    evbuffer_remove(input, msg, length);
    return msg;
}

static void
read_cb__(struct bufferevent *bev, void *c_)
{
    struct connection *c = c_;
    struct evbuffer *input = bufferevent_get_input(bev);
    const char *error = NULL;
    struct ofp_header *msg;

    while (c->session && !session_get_error(c->session)
           && (msg = take_message__(input, &error))) {
        session_receive(c->session, msg, ovs_server_now__());
        send_requests__(c);
        free(msg);
    }
    if (error) {
        connection_close__(c, error);
    } else if (c->session) {
        connection_update__(c);
    }
}

/* The output is empty. */
static void
write_cb__(struct bufferevent *bev, void *c_)
{
    struct connection *c = c_;

    (void) bev;
    if (c->session) {
        send_requests__(c);
    } else {
        set_timer__(c, 0);
    }
}

/* Returns why 'c' is over, which the caller must free. */
static char *
get_reason__(const struct connection *c, short events)
{
    if (!(events & BEV_EVENT_ERROR)) {
        return mem_strdup("by the peer");
    } else if (c->tls) {
        return tls_get_error(c->bev);
    } else {
        return mem_strdup(
            evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
    }
}

static void
event_cb__(struct bufferevent *bev, short events, void *c_)
{
    struct connection *c = c_;
    char *reason;

    if (events & BEV_EVENT_CONNECTED) {
        char *peer = tls_get_peer(bev);

        VLOG_INFO("%s: is %s", c->peer, peer);
        free(peer);
        return;
    }
    reason = get_reason__(c, events);
    if (c->session) {
        connection_close__(c, reason);
    }
    free(reason);
    connection_destroy__(c);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *c_)
{
    struct connection *c = c_;

    (void) fd;
    (void) events;
    if (!c->session) {
        connection_destroy__(c);
        return;
    }
    session_run(c->session, ovs_server_now__());
    connection_update__(c);
}

/* What sessions ask for. */

static const char *
identify__(void *c_, struct session *session, uint64_t datapath_id,
           char **error)
{
    struct connection *c = c_;
    struct ovs_switch *sw = ovs_server_find__(c->server, datapath_id);

    if (!sw) {
        *error = mem_printf("datapath id %016" PRIx64 " is not configured",
                            datapath_id);
        return NULL;
    }
    if (sw->connection
        && !session_is_silent(sw->connection->session, ovs_server_now__())) {
        *error = mem_printf("switch %s is connected already, from %s",
                            sw->name, sw->connection->peer);
        session_challenge(sw->connection->session, ovs_server_now__());
        connection_wake__(sw->connection);
        return NULL;
    }
    if (sw->connection) {
        connection_close__(sw->connection, "silent, and the switch has "
                                           "connected anew");
    }
    sw->connection = c;
    c->sw = sw;
    sw->n_connections++;
    session_set_calendar_mode(session, sw->calendar_mode);
    session_set_generation(session, c->server->generation);
    session_set_rules(session, sw->rules, ovs_server_now__());
    return sw->name;
}

static void
committed__(void *c_, struct session *session, const struct rule_set *rules)
{
    struct connection *c = c_;

    (void) session;
    c->server->committed(c->server->aux, c->sw->datapath_id, rules);
}

static unsigned int
found__(void *c_, struct session *session, size_t n)
{
    struct connection *c = c_;

    (void) session;
    c->sw->life += !n;
    return c->sw->life;
}

static void
removed__(void *c_, struct session *session, const struct snapshot_flow *flow,
          int64_t now)
{
    struct connection *c = c_;

    (void) session;
    if (c->server->observer && c->sw) {
        c->server->observer->removed(c->server->observer_aux,
                                     c->sw->datapath_id, c->sw->life, flow,
                                     now);
    }
}

static void
read__(void *c_, struct session *session, const struct snapshot *snapshot)
{
    struct connection *c = c_;

    (void) session;
    if (c->server->observer) {
        c->server->observer->read(c->server->observer_aux, snapshot);
    }
}

static void
packet__(void *c_, struct session *session,
         const struct session_packet *packet)
{
    struct connection *c = c_;

    (void) session;
    if (c->server->packet) {
        c->server->packet(c->server->aux, c->sw->datapath_id, packet);
    }
}

static void
held__(void *c_, struct session *session, const struct readback *readback)
{
    struct connection *c = c_;

    (void) session;
    if (c->server->held) {
        c->server->held(c->server->aux, c->sw->datapath_id, readback);
    }
}

/* Takes the connected socket 'fd' of 'peer', who came through 'door_'. */
void
connection_accept__(void *door_, int fd, const char *peer)
{
    static const struct session_observer observer = { found__, removed__,
                                                      read__ };
    static const struct session_handlers handlers = { identify__, committed__,
                                                      packet__, held__ };
    struct door *door = door_;
    struct ovs_server *server = door->server;
    struct connection *c;

    if (server->n_connections >= OVS_SERVER_MAX_CONNECTIONS) {
        VLOG_WARN("%s: connection refused: there are %d already", peer,
                  OVS_SERVER_MAX_CONNECTIONS);
        evutil_closesocket(fd);
        return;
    }

    c = mem_zalloc(sizeof *c);
    c->server = server;
    c->peer = mem_strdup(peer);
    c->since = ovs_server_now__();
    c->tls = door->listener->tls;
    c->bev = (c->tls ? tls_accept(server->base, server->tls, fd)
                     : bufferevent_socket_new(server->base, fd,
                                              BEV_OPT_CLOSE_ON_FREE));
    c->timer = evtimer_new(server->base, timer_cb__, c);
    c->session = session_create(peer, &handlers, c, ovs_server_now__());
    session_set_limits(c->session, &server->limits);
    session_set_observer(c->session, &observer, c);
    ovs_list_push_back(&server->connections, &c->node);
    server->n_connections++;
    VLOG_INFO("%s: connected", peer);

    bufferevent_setcb(c->bev, read_cb__, write_cb__, event_cb__, c);
    bufferevent_setwatermark(c->bev, EV_READ, sizeof(struct ofp_header),
                             INPUT_MAX);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
    connection_update__(c);
}
