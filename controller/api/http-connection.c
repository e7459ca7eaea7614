/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/http-private.h"

#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/bufferevent.h>
#include <event2/event.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/api/now.h"
#include "controller/core/addr.h"
#include "controller/core/mem.h"
#include "controller/tls.h"

VLOG_DEFINE_THIS_MODULE(evlb_http);

static void
release__(struct http_connection *c)
{
    ovs_list_remove(&c->node);
    c->server->counters.n_connections--;
    bufferevent_decref(c->bev);
    free(c->peer);
    free(c);
}

/* Has evhttp let go of 'c'?  As long as it has it, it listens to it. */
static bool
is_over__(const struct http_connection *c)
{
    bufferevent_data_cb read, write;
    bufferevent_event_cb event;
    void *aux;

    bufferevent_getcb(c->bev, &read, &write, &event, &aux);
    return !event;
}

/* Forgets the connections of 'server' that are over. */
static void
reap__(struct http_server *server)
{
    struct http_connection *c;

    LIST_FOR_EACH_SAFE (c, node, &server->connections) {
        if (is_over__(c)) {
            release__(c);
        }
    }
}

/* Returns the bufferevent for a connection that 'server' is about to have, over
 * TLS if that is asked for. */
struct bufferevent *
http_connection_create(struct http_server *server, bool tls)
{
    struct http_connection *c = mem_zalloc(sizeof *c);

    c->server = server;
    c->bev =
        tls ? tls_accept(server->base, server->certificate->tls, -1)
            : bufferevent_socket_new(server->base, -1, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_incref(c->bev);
    ovs_list_push_back(&server->connections, &c->node);
    server->counters.n_connections++;
    http_connection_wait(c);
    http_connections_look(server);
    return c->bev;
}

/* Returns the connection of 'server' that has 'bev'. */
struct http_connection *
http_connection_find(struct http_server *server, const struct bufferevent *bev)
{
    struct http_connection *c;

    LIST_FOR_EACH (c, node, &server->connections) {
        if (c->bev == bev) {
            return c;
        }
    }
    abort();
}

/* Has 'server' look soon at which connections are new, and which are over. */
void
http_connections_look(struct http_server *server)
{
    event_active(server->admit, 0, 0);
}

/* From now on 'c' has its time to do the next thing. */
void
http_connection_wait(struct http_connection *c)
{
    c->deadline = now_ms() + c->server->limits.timeout;
}

/* Has evhttp see that 'c' is at its end. */
static void
end__(struct http_connection *c)
{
    shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
    c->deadline = INT64_MAX;
}

/* Stores who is at the other end of 'c'.  Returns false if nobody is. */
static bool
identify__(struct http_connection *c)
{
    struct sockaddr_storage sa;
    struct sockaddr_in *sin = (struct sockaddr_in *) &sa;
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *) &sa;
    socklen_t len = sizeof sa;
    char s[ADDR_STRLEN];
    uint16_t port;

    memset(&sa, 0, sizeof sa);
    if (getpeername(bufferevent_getfd(c->bev), (struct sockaddr *) &sa,
                    &len)) {
        return false;
    }
    if (sa.ss_family == AF_INET) {
        c->address.s6_addr[10] = c->address.s6_addr[11] = 0xff;
        memcpy(&c->address.s6_addr[12], &sin->sin_addr, sizeof sin->sin_addr);
        port = ntohs(sin->sin_port);
        c->local = c->address.s6_addr[12] == IN_LOOPBACKNET;
    } else {
        c->address = sin6->sin6_addr;
        port = ntohs(sin6->sin6_port);
        c->local = IN6_IS_ADDR_LOOPBACK(&c->address)
                   || (IN6_IS_ADDR_V4MAPPED(&c->address)
                       && c->address.s6_addr[12] == IN_LOOPBACKNET);
    }
    addr_to_string(&c->address, s);
    c->peer = mem_printf(
        addr_is_ipv4(&c->address) ? "http:%s:%u" : "http:[%s]:%u", s, port);
    return true;
}

/* Returns how many connections that were admitted have 'address' at the other
 * end. */
static unsigned int
count_from__(const struct http_server *server, const struct in6_addr *address)
{
    const struct http_connection *c;
    unsigned int n = 0;

    LIST_FOR_EACH (c, node, &server->connections) {
        n += c->peer && addr_equal(&c->address, address);
    }
    return n;
}

static void
admit__(struct http_server *server, struct http_connection *c)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    const int on = 1;

    if (!identify__(c)) {
        end__(c);
        return;
    }
    server->counters.n_accepted++;
    /* Else the last part of a long reply waits until the others are
     * acknowledged, which takes 40 ms. */
    setsockopt(bufferevent_getfd(c->bev), IPPROTO_TCP, TCP_NODELAY, &on,
               sizeof on);
    if (server->counters.n_connections > server->limits.max_connections) {
        VLOG_WARN_RL(&rl, "%s: connection refused: there are %u already",
                     c->peer, server->limits.max_connections);
    } else if (count_from__(server, &c->address)
               > server->limits.max_peer_connections) {
        VLOG_WARN_RL(&rl,
                     "%s: connection refused: there are %u from there already",
                     c->peer, server->limits.max_peer_connections);
    } else {
        return;
    }
    server->counters.n_refused++;
    end__(c);
}

static void
admit_cb__(evutil_socket_t fd, short events, void *server_)
{
    struct http_server *server = server_;
    struct http_connection *c;

    (void) fd;
    (void) events;
    reap__(server);
    LIST_FOR_EACH (c, node, &server->connections) {
        if (!c->peer && c->deadline != INT64_MAX) {
            admit__(server, c);
        }
    }
}

static void
sweep_cb__(evutil_socket_t fd, short events, void *server_)
{
    struct http_server *server = server_;
    int64_t now = now_ms();
    struct http_connection *c;

    (void) fd;
    (void) events;
    reap__(server);
    LIST_FOR_EACH (c, node, &server->connections) {
        if (now >= c->deadline && !c->call) {
            VLOG_DBG("%s: too slow", c->peer ? c->peer : "?");
            server->counters.n_timed_out++;
            end__(c);
        }
    }
}

/* Prepares 'server' for connections. */
void
http_connections_init(struct http_server *server)
{
    const struct timeval second = { 1, 0 };

    ovs_list_init(&server->connections);
    server->admit = event_new(server->base, -1, 0, admit_cb__, server);
    server->sweep =
        event_new(server->base, -1, EV_PERSIST, sweep_cb__, server);
    event_add(server->sweep, &second);
}

/* Forgets the connections of 'server', whose doors are closed. */
void
http_connections_destroy(struct http_server *server)
{
    struct http_connection *c;

    LIST_FOR_EACH_SAFE (c, node, &server->connections) {
        release__(c);
    }
    event_free(server->admit);
    event_free(server->sweep);
}
