/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-server.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <openssl/ssl.h>

#include <config.h>
#include <openvswitch/list.h>
#include <openvswitch/vlog.h>

#include "controller/api/grpc-limits.h"
#include "controller/api/grpc-peer.h"
#include "controller/api/grpc-peers.h"
#include "controller/api/grpc-session.h"
#include "controller/api/now.h"
#include "controller/api/peer.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/listener.h"
#include "controller/tls.h"

VLOG_DEFINE_THIS_MODULE(evlb_grpc);

/* Where peers connect. */
struct door {
    struct ovs_list node; /* In struct grpc_server's 'doors'. */
    struct grpc_server *server;
    struct listener *listener;
    gid_t group; /* Of a Unix socket. */
};

struct connection {
    struct ovs_list node; /* In struct grpc_server's 'connections'. */
    struct grpc_server *server;
    struct grpc_session *session;
    struct bufferevent *bev;
    struct event *timer; /* Made active by hand when there is output. */
    char *peer;
    struct grpc_peer *host; /* Where it is. */
    bool tls;
};

struct grpc_server {
    struct event_base *base;
    const struct grpc_services *services;
    SSL_CTX *tls; /* Or NULL. */
    struct ovs_list doors;
    struct ovs_list connections;
    struct grpc_peers *peers;
    struct grpc_settings settings;
    struct grpc_server_counters counters;
};

/* Connections. */

/* Counts how 'c' ends, and logs it if that is for a bad reason. */
static void
count_end__(struct connection *c)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(10, 20);
    struct grpc_server_counters *counters = &c->server->counters;
    const char *error = grpc_session_get_error(c->session);

    if (grpc_session_is_http1(c->session)) {
        counters->n_http1++;
        VLOG_INFO_RL(&rl, "%s: speaks HTTP/1 where gRPC is", c->peer);
    } else if (error) {
        counters->n_misspoken++;
        VLOG_WARN_RL(&rl, "%s: connection closed: the peer %s", c->peer,
                     error);
    } else {
        VLOG_DBG("%s: connection closed", c->peer);
    }
}

static void
connection_destroy__(struct connection *c)
{
    count_end__(c);
    ovs_list_remove(&c->node);
    grpc_session_destroy(c->session);
    grpc_peers_remove(c->server->peers, c->host, now_ms());
    event_free(c->timer);
    bufferevent_free(c->bev);
    free(c->peer);
    free(c);
}

/* Sends as far as the peer reads, sets the timer, or destroys 'c' at its
 * end. */
static void
connection_update__(struct connection *c)
{
    struct evbuffer *output = bufferevent_get_output(c->bev);
    const uint8_t *data;
    int64_t wakeup;
    size_t n;

    while (evbuffer_get_length(output) < GRPC_OUTPUT_MAX
           && (n = grpc_session_send(c->session, &data))) {
        evbuffer_add(output, data, n);
    }
    if (grpc_session_is_over(c->session) && !evbuffer_get_length(output)) {
        connection_destroy__(c);
        return;
    }
    wakeup = grpc_session_wakeup(c->session);
    if (wakeup != INT64_MAX) {
        struct timeval tv;

        now_until(wakeup, &tv);
        event_add(c->timer, &tv);
    }
}

static void
wake_cb__(void *c_)
{
    struct connection *c = c_;

    event_active(c->timer, EV_TIMEOUT, 0);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *c_)
{
    struct connection *c = c_;

    (void) fd;
    (void) events;
    grpc_session_run(c->session, now_ms());
    connection_update__(c);
}

static void
read_cb__(struct bufferevent *bev, void *c_)
{
    struct connection *c = c_;
    struct evbuffer *input = bufferevent_get_input(bev);
    size_t n;

    while ((n = evbuffer_get_contiguous_space(input))) {
        grpc_session_receive(c->session, evbuffer_pullup(input, (ssize_t) n),
                             n, now_ms());
        evbuffer_drain(input, n);
    }
    connection_update__(c);
}

static void
write_cb__(struct bufferevent *bev, void *c_)
{
    (void) bev;
    connection_update__(c_);
}

/* Says why the connection of 'c' fails, if a peer can do something about it. */
static void
log_failure__(const struct connection *c)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(10, 20);

    if (c->tls) {
        char *error = tls_get_error(c->bev);

        VLOG_INFO_RL(&rl, "%s: connection failed: %s", c->peer, error);
        free(error);
    }
}

/* The handshake of TLS is over: ends 'c' unless HTTP/2 was agreed on. */
static void
check_protocol__(struct connection *c)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(10, 20);

    if (!tls_is_http2(c->bev)) {
        VLOG_INFO_RL(&rl,
                     "%s: connection closed: the peer does not ask for "
                     "HTTP/2 (ALPN \"h2\")",
                     c->peer);
        c->server->counters.n_misspoken++;
        connection_destroy__(c);
    }
}

static void
event_cb__(struct bufferevent *bev, short events, void *c_)
{
    struct connection *c = c_;

    (void) bev;
    if (events & BEV_EVENT_CONNECTED) {
        check_protocol__(c);
    } else if (events & (BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) {
        log_failure__(c);
        connection_destroy__(c);
    } else if (events & BEV_EVENT_EOF) {
        grpc_session_end_input(c->session, now_ms());
        connection_update__(c);
    }
}

static void
connection_create__(struct grpc_server *server, struct grpc_peer *host,
                    struct bufferevent *bev, const char *peer, bool tls)
{
    struct connection *c = mem_zalloc(sizeof *c);
    struct timeval write_timeout = { GRPC_WRITE_MS / 1000, 0 };

    c->server = server;
    c->host = host;
    c->peer = mem_strdup(peer);
    c->bev = bev;
    c->tls = tls;
    c->timer = evtimer_new(server->base, timer_cb__, c);
    c->session = grpc_session_create(server->services, host, peer, wake_cb__,
                                     c, now_ms());
    ovs_list_push_back(&server->connections, &c->node);
    server->counters.n_accepted++;
    VLOG_DBG("%s: connected", peer);

    bufferevent_setcb(bev, read_cb__, write_cb__, event_cb__, c);
    bufferevent_setwatermark(bev, EV_READ, 0, GRPC_OUTPUT_MAX);
    bufferevent_set_timeouts(bev, NULL, &write_timeout);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    connection_update__(c);
}

/* Doors. */

/* Returns what talks to the peer on 'fd', who came through 'door'. */
static struct bufferevent *
open__(const struct door *door, int fd)
{
    struct grpc_server *server = door->server;

    return (door->listener->tls ? tls_accept(server->base, server->tls, fd)
                                : bufferevent_socket_new(
                                    server->base, fd, BEV_OPT_CLOSE_ON_FREE));
}

/* Does not let the peer on 'fd' in, for 'reason', which is taken over. */
static void
refuse__(struct grpc_server *server, int fd, const char *peer, char *reason)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(10, 20);

    server->counters.n_refused++;
    VLOG_WARN_RL(&rl, "%s: connection refused: %s", peer, reason);
    free(reason);
    close(fd);
}

/* Has the kernel send what we write at once, and find out when nobody is at the
 * other end any more. */
static void
set_tcp_options__(int fd)
{
    int on = 1, idle = GRPC_PROBE_S, interval = GRPC_PROBE_S / 4, n = 4;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n, sizeof n);
}

static void
accept_cb__(void *door_, int fd, const char *peer)
{
    const struct door *door = door_;
    struct grpc_server *server = door->server;
    bool local = door->listener->path;
    char *error = local ? peer_check(fd, door->group) : NULL;
    struct grpc_peer *host = NULL;
    char *name;

    error =
        error ? error : grpc_peers_add(server->peers, peer, now_ms(), &host);
    if (error) {
        refuse__(server, fd, peer, error);
        return;
    }
    name = local ? peer_to_string(fd, peer) : mem_strdup(peer);
    if (!local) {
        set_tcp_options__(fd);
    }
    connection_create__(server, host, open__(door, fd), name,
                        door->listener->tls);
    free(name);
}

static void
door_destroy__(struct door *door)
{
    listener_destroy(door->listener);
    ovs_list_remove(&door->node);
    free(door);
}

/* Lets peers connect to 'address', as listen_address_parse() takes it.  The
 * members of 'group' may use a Unix socket, too, unless it is GRPC_NO_GROUP.
 * Returns NULL if successful, or an error, which the caller must free. */
char *
grpc_server_listen(struct grpc_server *server, const char *address,
                   gid_t group)
{
    struct door *door = mem_zalloc(sizeof *door);
    char *error;

    door->server = server;
    door->group = group;
    ovs_list_push_back(&server->doors, &door->node);
    error = listener_create(server->base, address, accept_cb__, door,
                            &door->listener);
    if (!error && door->listener->tls && !server->tls) {
        error = mem_printf("%s: there is no certificate", address);
    }
    if (!error && door->listener->path && group != GRPC_NO_GROUP
        && chown(door->listener->path, (uid_t) -1, group)) {
        error = mem_printf("%s: cannot be given to group %u: %s", address,
                           (unsigned int) group, strerror(errno));
    }
    if (error) {
        door_destroy__(door);
    } else {
        VLOG_INFO("%s: listening", address);
    }
    return error;
}

/* Lets nobody connect to 'address' any more; connections go on. */
void
grpc_server_close(struct grpc_server *server, const char *address)
{
    struct door *door;

    LIST_FOR_EACH_SAFE (door, node, &server->doors) {
        if (!strcmp(door->listener->address, address)) {
            VLOG_INFO("%s: closed", address);
            door_destroy__(door);
        }
    }
}

/* From now on 'server' goes by 'settings'. */
void
grpc_server_set(struct grpc_server *server,
                const struct grpc_settings *settings)
{
    server->settings = *settings;
}

void
grpc_server_get_counters(const struct grpc_server *server,
                         struct grpc_server_counters *counters)
{
    *counters = server->counters;
    counters->n_connections = grpc_peers_count(server->peers);
}

/* The server. */

/* Returns a server of 'services', which must stay, on 'base'. */
struct grpc_server *
grpc_server_create(struct event_base *base,
                   const struct grpc_services *services)
{
    struct grpc_server *server = mem_zalloc(sizeof *server);

    server->base = base;
    server->services = services;
    ovs_list_init(&server->doors);
    ovs_list_init(&server->connections);
    server->settings = (struct grpc_settings) GRPC_SETTINGS_DEFAULT;
    server->peers = grpc_peers_create(&server->settings);
    return server;
}

/* Chooses HTTP/2 of the protocols that a client offers. */
static int
alpn_cb__(SSL *ssl, const unsigned char **out, unsigned char *out_len,
          const unsigned char *in, unsigned int in_len, void *aux)
{
    static const unsigned char h2[] = { 2, 'h', '2' };
    unsigned char *chosen;

    (void) ssl;
    (void) aux;
    if (SSL_select_next_proto(&chosen, out_len, h2, sizeof h2, in, in_len)
        != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Makes 'tls', which becomes the server's own, what connections from now on at
 * addresses of TLS are made with. */
void
grpc_server_set_tls(struct grpc_server *server, SSL_CTX *tls)
{
    SSL_CTX_set_alpn_select_cb(tls, alpn_cb__, NULL);
    tls_context_destroy(server->tls);
    server->tls = tls;
}

/* Destroys 'server', which may be NULL, and ends its connections. */
void
grpc_server_destroy(struct grpc_server *server)
{
    struct connection *c;
    struct door *door;

    if (!server) {
        return;
    }
    LIST_FOR_EACH_SAFE (door, node, &server->doors) {
        door_destroy__(door);
    }
    LIST_FOR_EACH_SAFE (c, node, &server->connections) {
        connection_destroy__(c);
    }
    grpc_peers_destroy(server->peers);
    tls_context_destroy(server->tls);
    free(server);
}
