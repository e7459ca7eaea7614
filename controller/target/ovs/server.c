/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/server.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include <config.h>
#include <openvswitch/list.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofpbuf.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/listener.h"
#include "controller/target/ovs/session-stats.h"
#include "controller/target/ovs/session.h"
#include "controller/tls.h"

VLOG_DEFINE_THIS_MODULE(evlb_server);

/* No more is taken from a peer than one message of the longest kind, and no
 * more is put into the output before it has read some. */
#define INPUT_MAX (2 * 65536)
#define OUTPUT_MAX (1024 * 1024)

/* How long a connection that is over may take for its last words. */
#define CLOSE_MS 1000

struct ovs_switch {
    struct ovs_list node; /* In struct ovs_server's 'switches'. */
    uint64_t datapath_id;
    char *name;
    const struct rule_set *rules; /* What it should hold. */
    enum calendar_mode calendar_mode;
    struct connection *connection; /* Or NULL. */
    char *last_error;  /* Why its last connection ended, or NULL. */
    unsigned int life; /* How often it held nothing when it connected. */
};

/* Where switches knock. */
struct door {
    struct ovs_list node; /* In struct ovs_server's 'doors'. */
    struct ovs_server *server;
    struct listener *listener;
};

struct connection {
    struct ovs_list node; /* In struct ovs_server's 'connections'. */
    struct ovs_server *server;
    struct ovs_switch *sw; /* Once it is known, or NULL. */
    struct bufferevent *bev;
    struct event *timer;
    char *peer;
    bool tls;
    struct session *session; /* NULL if only last words are left. */
    int64_t since;           /* When it was accepted. */
};

struct ovs_server {
    struct event_base *base;
    ovs_server_committed_cb *committed;
    void *aux;
    const struct ovs_server_observer *observer; /* Or NULL. */
    void *observer_aux;
    ovs_server_packet_cb *packet; /* Or NULL. */
    struct session_limits limits;
    uint64_t generation; /* As the primary controller, or 0. */
    struct ovs_list doors;
    struct ssl_ctx_st *tls; /* Or NULL. */
    struct ovs_list connections;
    size_t n_connections;
    struct ovs_list switches;
};

static int64_t
now_ms__(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Connections. */

static void
connection_destroy__(struct connection *c)
{
    if (c->sw) {
        c->sw->connection = NULL;
    }
    session_destroy(c->session);
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
static void
connection_close__(struct connection *c, const char *reason)
{
    VLOG_WARN("%s: connection of %s closed: %s", c->peer,
              c->sw ? c->sw->name : "no known switch", reason);
    if (c->sw) {
        free(c->sw->last_error);
        c->sw->last_error = mem_strdup(reason);
        c->sw->connection = NULL;
        c->sw = NULL;
    }
    session_destroy(c->session);
    c->session = NULL;
    bufferevent_disable(c->bev, EV_READ);
    if (evbuffer_get_length(bufferevent_get_output(c->bev))) {
        set_timer__(c, CLOSE_MS);
    } else {
        set_timer__(c, 0);
    }
}

/* Sends, sets the timer, or closes, after 'c''s session was called. */
static void
connection_update__(struct connection *c)
{
    const char *error;

    send_requests__(c);
    error = session_get_error(c->session);
    if (error) {
        connection_close__(c, error);
    } else {
        set_timer__(c, session_wakeup(c->session) - now_ms__());
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
        session_receive(c->session, msg, now_ms__());
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
    session_run(c->session, now_ms__());
    connection_update__(c);
}

/* What sessions ask for. */

static struct ovs_switch *
find_switch__(const struct ovs_server *server, uint64_t datapath_id)
{
    struct ovs_switch *sw;

    LIST_FOR_EACH (sw, node, &server->switches) {
        if (sw->datapath_id == datapath_id) {
            return sw;
        }
    }
    return NULL;
}

static const char *
identify__(void *c_, struct session *session, uint64_t datapath_id,
           char **error)
{
    struct connection *c = c_;
    struct ovs_switch *sw = find_switch__(c->server, datapath_id);

    if (!sw) {
        *error = mem_printf("datapath id %016" PRIx64 " is not configured",
                            datapath_id);
        return NULL;
    }
    if (sw->connection
        && !session_is_silent(sw->connection->session, now_ms__())) {
        *error = mem_printf("switch %s is connected already, from %s",
                            sw->name, sw->connection->peer);
        return NULL;
    }
    if (sw->connection) {
        connection_close__(sw->connection, "silent, and the switch has "
                                           "connected anew");
    }
    sw->connection = c;
    c->sw = sw;
    session_set_calendar_mode(session, sw->calendar_mode);
    session_set_generation(session, c->server->generation);
    session_set_rules(session, sw->rules, now_ms__());
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
accept__(void *door_, int fd, const char *peer)
{
    static const struct session_observer observer = { found__, removed__,
                                                      read__ };
    static const struct session_handlers handlers = { identify__, committed__,
                                                      packet__ };
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
    c->since = now_ms__();
    c->tls = door->listener->tls;
    c->bev = (c->tls ? tls_accept(server->base, server->tls, fd)
                     : bufferevent_socket_new(server->base, fd,
                                              BEV_OPT_CLOSE_ON_FREE));
    c->timer = evtimer_new(server->base, timer_cb__, c);
    c->session = session_create(peer, &handlers, c, now_ms__());
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

/* Lets switches connect to 'address', as listen_address_parse() takes it.
 * Returns NULL if successful, or an error, which the caller must free. */
char *
ovs_server_listen(struct ovs_server *server, const char *address)
{
    struct door *door = mem_zalloc(sizeof *door);
    char *error = listener_create(server->base, address, accept__, door,
                                  &door->listener);

    if (error) {
        free(door);
        return error;
    }
    door->server = server;
    ovs_list_push_back(&server->doors, &door->node);
    VLOG_INFO("%s: listening", address);
    return NULL;
}

/* The server. */

/* Returns a server without listeners and switches, on 'base'.  'committed' is
 * passed 'aux'. */
struct ovs_server *
ovs_server_create(struct event_base *base, ovs_server_committed_cb *committed,
                  void *aux)
{
    struct ovs_server *server = mem_zalloc(sizeof *server);

    server->base = base;
    server->committed = committed;
    server->aux = aux;
    ovs_list_init(&server->doors);
    ovs_list_init(&server->connections);
    ovs_list_init(&server->switches);
    return server;
}

static void
switch_destroy__(struct ovs_switch *sw)
{
    if (sw->connection) {
        connection_close__(sw->connection, "the switch is not configured "
                                           "any more");
    }
    rule_set_unref(sw->rules);
    free(sw->name);
    free(sw->last_error);
    ovs_list_remove(&sw->node);
    free(sw);
}

/* Destroys 'server', which may be NULL.  Switches keep what they hold. */
void
ovs_server_destroy(struct ovs_server *server)
{
    struct connection *c;
    struct ovs_switch *sw;
    struct door *door;

    if (!server) {
        return;
    }
    LIST_FOR_EACH_SAFE (door, node, &server->doors) {
        listener_destroy(door->listener);
        free(door);
    }
    tls_context_destroy(server->tls);
    LIST_FOR_EACH_SAFE (c, node, &server->connections) {
        connection_destroy__(c);
    }
    LIST_FOR_EACH_SAFE (sw, node, &server->switches) {
        switch_destroy__(sw);
    }
    free(server);
}

/* Makes 'rules' what the switch 'datapath_id', called 'name', should hold. */
void
ovs_server_set_rules(struct ovs_server *server, uint64_t datapath_id,
                     const char *name, const struct rule_set *rules)
{
    struct ovs_switch *sw = find_switch__(server, datapath_id);

    if (!sw) {
        sw = mem_zalloc(sizeof *sw);
        sw->datapath_id = datapath_id;
        ovs_list_push_back(&server->switches, &sw->node);
    }
    free(sw->name);
    sw->name = mem_strdup(name);
    rule_set_unref(sw->rules);
    sw->rules = rule_set_ref(rules);
    if (sw->connection) {
        session_set_rules(sw->connection->session, rules, now_ms__());
        connection_update__(sw->connection);
    }
}

/* Returns true if the switch 'datapath_id' has connected and said so. */
bool
ovs_server_is_connected(const struct ovs_server *server, uint64_t datapath_id)
{
    const struct ovs_switch *sw = find_switch__(server, datapath_id);

    return sw && sw->connection;
}

/* Has 'cb' called with 'parts' (SNAPSHOT_*) of what stands in the switch
 * 'datapath_id'. */
void
ovs_server_snapshot(struct ovs_server *server, uint64_t datapath_id,
                    unsigned int parts, ovs_server_snapshot_cb *cb, void *aux)
{
    struct ovs_switch *sw = find_switch__(server, datapath_id);
    char *error;

    if (sw && sw->connection) {
        session_snapshot(sw->connection->session, parts, cb, aux, now_ms__());
        set_timer__(sw->connection, 0);
        return;
    }
    error = (sw ? mem_printf("%s: is not connected", sw->name)
                : mem_printf("datapath id %016" PRIx64 " is not configured",
                             datapath_id));
    cb(aux, error, NULL);
    free(error);
}

/* Makes 'observer' know what 'aux' wants to know of the switches. */
void
ovs_server_set_observer(struct ovs_server *server,
                        const struct ovs_server_observer *observer, void *aux)
{
    server->observer = observer;
    server->observer_aux = aux;
}

/* Lets the switch 'datapath_id' go.  It keeps what it holds. */
void
ovs_server_remove(struct ovs_server *server, uint64_t datapath_id)
{
    struct ovs_switch *sw = find_switch__(server, datapath_id);

    if (sw) {
        switch_destroy__(sw);
    }
}

/* Returns how many of the switches that 'server' knows are connected. */
size_t
ovs_server_count_connected(const struct ovs_server *server)
{
    const struct ovs_switch *sw;
    size_t n = 0;

    LIST_FOR_EACH (sw, node, &server->switches) {
        n += sw->connection != NULL;
    }
    return n;
}

/* Has packets that come from flows of ours passed to 'cb', with what
 * ovs_server_create() was given. */
void
ovs_server_set_packet_cb(struct ovs_server *server, ovs_server_packet_cb *cb)
{
    server->packet = cb;
}

/* Sets what each switch may do for us. */
void
ovs_server_set_limits(struct ovs_server *server,
                      const struct session_limits *limits)
{
    struct connection *c;

    server->limits = *limits;
    LIST_FOR_EACH (c, node, &server->connections) {
        if (c->session) {
            session_set_limits(c->session, limits);
            connection_update__(c);
        }
    }
}

/* Sends the frame of 'size' bytes at 'data' out of 'port' of the switch
 * 'datapath_id'.  Returns false if it is not connected. */
bool
ovs_server_send_packet(struct ovs_server *server, uint64_t datapath_id,
                       uint32_t port, const void *data, size_t size)
{
    struct ovs_switch *sw = find_switch__(server, datapath_id);

    if (!sw || !sw->connection || !sw->connection->session) {
        return false;
    }
    session_send_packet(sw->connection->session, port, data, size);
    connection_update__(sw->connection);
    return true;
}

/* Makes 'tls', which becomes the server's own, what connections from now on at
 * addresses of TLS are made with. */
void
ovs_server_set_tls(struct ovs_server *server, struct ssl_ctx_st *tls)
{
    tls_context_destroy(server->tls);
    server->tls = tls;
}

/* Calls 'cb' with 'aux' and the status of each switch. */
void
ovs_server_for_each_switch(const struct ovs_server *server,
                           ovs_server_status_cb *cb, void *aux)
{
    const struct ovs_switch *sw;

    LIST_FOR_EACH (sw, node, &server->switches) {
        const struct connection *c = sw->connection;
        const struct session *session = c ? c->session : NULL;

        cb(aux, &(struct ovs_switch_status){
                    .name = sw->name,
                    .datapath_id = sw->datapath_id,
                    .peer = c ? c->peer : NULL,
                    .tls = c && c->tls,
                    .state = session ? session_state_to_string(
                                 session_get_state(session))
                                     : "",
                    .connected_since = c ? c->since : 0,
                    .n_rules = sw->rules->n,
                    .last_error = sw->last_error,
                });
    }
}

/* Sets how the switch 'datapath_id', which has been given rules, is to have
 * calendars, from its next connection on. */
void
ovs_server_set_calendar_mode(struct ovs_server *server, uint64_t datapath_id,
                             enum calendar_mode mode)
{
    find_switch__(server, datapath_id)->calendar_mode = mode;
}

/* Has us be the primary controller of switches that connect from now on and of
 * those that have another one, or an equal one among others.  The latest of
 * several primary ones is it. */
void
ovs_server_set_primary(struct ovs_server *server, bool primary)
{
    struct connection *c;
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    server->generation =
        primary ? (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000
                : 0;
    LIST_FOR_EACH (c, node, &server->connections) {
        if (c->session) {
            session_set_generation(c->session, server->generation);
            connection_update__(c);
        }
    }
}
