/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>
#include <event2/util.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/core/addr.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"

/* Connections that wait to be accepted.  One that finds no place there is tried
 * again a second later only, and many workers may begin at once. */
VLOG_DEFINE_THIS_MODULE(evlb_listener);

/* How long nobody is let in after that could not be done. */
#define PAUSE_MS 200

#define BACKLOG 1024

/* Returns the name of the peer at 'sa', which the caller must free. */
static char *
peer_to_string__(const struct listener *l, const struct sockaddr *sa)
{
    char s[ADDR_STRLEN];

    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *sin = (const struct sockaddr_in *) sa;

        evutil_inet_ntop(AF_INET, &sin->sin_addr, s, sizeof s);
        return mem_printf("%s:%s:%u", l->tls ? "ssl" : "tcp", s,
                          ntohs(sin->sin_port));
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *) sa;

        evutil_inet_ntop(AF_INET6, &sin6->sin6_addr, s, sizeof s);
        return mem_printf("%s:[%s]:%u", l->tls ? "ssl" : "tcp", s,
                          ntohs(sin6->sin6_port));
    } else {
        return mem_strdup(l->address);
    }
}

static void
accept_cb__(struct evconnlistener *evl, evutil_socket_t fd,
            struct sockaddr *sa, int len, void *l_)
{
    struct listener *l = l_;
    char *peer = peer_to_string__(l, sa);

    (void) evl;
    (void) len;
    l->accept(l->aux, fd, peer);
    free(peer);
}

/* Lets peers in again. */
static void
pause_cb__(evutil_socket_t fd, short events, void *l_)
{
    struct listener *l = l_;

    (void) fd;
    (void) events;
    evconnlistener_enable(l->evl);
}

/* A peer cannot be let in, most likely because no more files may be open.  It
 * stays in the queue, which would keep us busy; so nobody is let in for a
 * while. */
static void
error_cb__(struct evconnlistener *evl, void *l_)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    static const struct timeval pause = { 0, PAUSE_MS * 1000 };
    struct listener *l = l_;

    VLOG_WARN_RL(&rl, "%s: cannot accept a connection: %s", l->address,
                 evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
    evconnlistener_disable(evl);
    event_add(l->pause, &pause);
}

/* Makes way for a Unix socket at 'path': removes one that nobody listens on
 * any more.  Anything else stays. */
static void
remove_stale_socket__(const struct listen_address *address, const char *path)
{
    struct stat st;
    int fd;

    if (lstat(path, &st) || !S_ISSOCK(st.st_mode)) {
        return;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return;
    }
    if (connect(fd, (const struct sockaddr *) &address->sa, address->len)
        && errno == ECONNREFUSED) {
        unlink(path);
    }
    close(fd);
}

/* Opens 'l''s socket at 'la'.  A Unix socket is for its owner's group, too, and
 * for nobody else, from the first moment on. */
static char *
open__(struct listener *l, struct event_base *base,
       const struct listen_address *la)
{
    mode_t mask = umask(0117);

    l->evl = evconnlistener_new_bind(
        base, accept_cb__, l,
        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
        BACKLOG, (const struct sockaddr *) &la->sa, (int) la->len);
    umask(mask);
    if (!l->evl) {
        return mem_printf("%s: cannot listen: %s", l->address,
                          strerror(errno));
    }
    evconnlistener_set_error_cb(l->evl, error_cb__);
    l->pause = evtimer_new(base, pause_cb__, l);
    return NULL;
}

/* Listens on 'address', as listen_address_parse() takes it.  Returns NULL and
 * stores the listener in '*lp', which the caller must destroy, or returns an
 * error, which the caller must free.  'accept' is passed 'aux'. */
char *
listener_create(struct event_base *base, const char *address,
                listener_accept_cb *accept, void *aux, struct listener **lp)
{
    struct listen_address la;
    struct listener *l;
    char *error = listen_address_parse(address, &la);

    *lp = NULL;
    if (error) {
        return error;
    }

    l = mem_zalloc(sizeof *l);
    l->accept = accept;
    l->aux = aux;
    l->address = mem_strdup(address);
    l->tls = la.tls;
    if (la.sa.ss_family == AF_UNIX) {
        const struct sockaddr_un *sun = (const struct sockaddr_un *) &la.sa;

        remove_stale_socket__(&la, sun->sun_path);
        error = open__(l, base, &la);
        l->path = error ? NULL : mem_strdup(sun->sun_path);
    } else {
        error = open__(l, base, &la);
    }
    if (error) {
        listener_destroy(l);
        return error;
    }
    *lp = l;
    return NULL;
}

/* Destroys 'l', which may be NULL, and removes its Unix socket. */
void
listener_destroy(struct listener *l)
{
    if (l) {
        if (l->evl) {
            evconnlistener_free(l->evl);
            event_free(l->pause);
        }
        if (l->path) {
            unlink(l->path);
        }
        free(l->path);
        free(l->address);
        free(l);
    }
}
