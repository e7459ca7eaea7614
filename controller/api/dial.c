/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>

#include "controller/core/mem.h"

/* More addresses of one name than these are not tried. */
#define ADDRESSES_MAX 16

/* How long one address has to answer. */
#define ATTEMPT_S 3

/* After how many milliseconds of data that nobody acknowledges the connection
 * is over. */
#define UNACKNOWLEDGED_MS 20000

struct address {
    struct sockaddr_storage sa;
    socklen_t len;
};

struct dial {
    struct event_base *base;
    dial_cb *cb; /* NULL once it is given up. */
    void *aux;
    struct event *step;   /* Does what comes next. */
    struct event *socket; /* NULL if none is being connected. */
    int fd;               /* That of 'socket', or -1. */

    struct evdns_base *dns; /* NULL for a Unix socket. */
    bool resolving;
    struct evdns_getaddrinfo_request *request; /* NULL if answered at once. */
    int dns_error;                             /* EVUTIL_EAI_*, or 0. */

    struct address addresses[ADDRESSES_MAX];
    size_t n_addresses;
    size_t next; /* Which of them to try next. */
    int error;   /* Why the last one did not answer. */
};

static void
destroy__(struct dial *dial)
{
    if (dial->dns) {
        evdns_base_free(dial->dns, 0);
    }
    event_free(dial->step);
    free(dial);
}

/* Stops connecting.  The socket is closed if it is still there. */
static void
drop_socket__(struct dial *dial)
{
    if (dial->socket) {
        event_free(dial->socket);
        dial->socket = NULL;
    }
    if (dial->fd >= 0) {
        close(dial->fd);
        dial->fd = -1;
    }
}

/* Hands the connected socket over. */
static void
succeed__(struct dial *dial)
{
    int fd = dial->fd;
    unsigned int ms = UNACKNOWLEDGED_MS;
    int on = 1;

    dial->fd = -1;
    drop_socket__(dial);
    if (dial->dns) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    }
    dial->cb(dial->aux, fd, 0, NULL);
    destroy__(dial);
}

static void
fail__(struct dial *dial)
{
    dial->cb(dial->aux, -1, dial->error,
             dial->dns_error ? evutil_gai_strerror(dial->dns_error)
             : dial->error   ? strerror(dial->error)
                             : "the name has no address");
    destroy__(dial);
}

/* The socket is connected, or is not going to be. */
static void
socket_cb__(evutil_socket_t fd, short events, void *dial_)
{
    struct dial *dial = dial_;
    int error = ETIMEDOUT;
    socklen_t size = sizeof error;

    if (events & EV_WRITE) {
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (!error) {
        succeed__(dial);
    } else {
        dial->error = error;
        drop_socket__(dial);
        event_active(dial->step, EV_TIMEOUT, 0);
    }
}

/* Starts to connect to 'address'.  Returns 0 or a positive errno value. */
static int
connect__(struct dial *dial, const struct address *address)
{
    const struct timeval timeout = { ATTEMPT_S, 0 };
    int error = 0;

    dial->fd = socket(address->sa.ss_family,
                      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (dial->fd < 0) {
        return errno;
    }
    if (connect(dial->fd, (const struct sockaddr *) &address->sa, address->len)
        && errno != EINPROGRESS) {
        error = errno;
        drop_socket__(dial);
        return error;
    }
    dial->socket =
        event_new(dial->base, dial->fd, EV_WRITE, socket_cb__, dial);
    event_add(dial->socket, &timeout);
    return 0;
}

/* Tries the next address. */
static void
step_cb__(evutil_socket_t fd, short events, void *dial_)
{
    struct dial *dial = dial_;

    (void) fd;
    (void) events;
    if (!dial->cb) {
        destroy__(dial);
        return;
    }
    while (dial->next < dial->n_addresses) {
        dial->error = connect__(dial, &dial->addresses[dial->next++]);
        if (!dial->error) {
            return;
        }
    }
    fail__(dial);
}

static void
resolved_cb__(int error, struct evutil_addrinfo *list, void *dial_)
{
    struct dial *dial = dial_;

    dial->resolving = false;
    dial->request = NULL;
    dial->dns_error = error;
    for (struct evutil_addrinfo *ai = list;
         ai && dial->n_addresses < ADDRESSES_MAX; ai = ai->ai_next) {
        struct address *address = &dial->addresses[dial->n_addresses];

        if (ai->ai_addrlen <= sizeof address->sa) {
            memcpy(&address->sa, ai->ai_addr, ai->ai_addrlen);
            address->len = (socklen_t) ai->ai_addrlen;
            dial->n_addresses++;
        }
    }
    if (list) {
        evutil_freeaddrinfo(list);
    }
    event_active(dial->step, EV_TIMEOUT, 0);
}

static struct dial *
create__(struct event_base *base, dial_cb *cb, void *aux)
{
    struct dial *dial = mem_zalloc(sizeof *dial);

    dial->base = base;
    dial->cb = cb;
    dial->aux = aux;
    dial->fd = -1;
    dial->step = evtimer_new(base, step_cb__, dial);
    return dial;
}

/* Starts to connect to 'port' of 'host', a name or an address. */
struct dial *
dial_start(struct event_base *base, const char *host, uint16_t port,
           dial_cb *cb, void *aux)
{
    struct dial *dial = create__(base, cb, aux);
    struct evutil_addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_protocol = IPPROTO_TCP,
    };
    struct evdns_getaddrinfo_request *request;
    char service[8];

    dial->dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!dial->dns) {
        abort();
    }
    evdns_base_resolv_conf_parse(dial->dns, DNS_OPTIONS_ALL,
                                 "/etc/resolv.conf");
    snprintf(service, sizeof service, "%u", port);
    dial->resolving = true;
    request = evdns_getaddrinfo(dial->dns, host, service, &hints,
                                resolved_cb__, dial);
    dial->request = dial->resolving ? request : NULL;
    return dial;
}

/* Starts to connect to the Unix socket 'path'. */
struct dial *
dial_start_unix(struct event_base *base, const char *path, dial_cb *cb,
                void *aux)
{
    struct dial *dial = create__(base, cb, aux);
    struct address *address = &dial->addresses[0];
    struct sockaddr_un *sun = (struct sockaddr_un *) &address->sa;

    if (strlen(path) < sizeof sun->sun_path) {
        sun->sun_family = AF_UNIX;
        snprintf(sun->sun_path, sizeof sun->sun_path, "%s", path);
        address->len = sizeof *sun;
        dial->n_addresses = 1;
    } else {
        dial->error = ENAMETOOLONG;
    }
    event_active(dial->step, EV_TIMEOUT, 0);
    return dial;
}

/* Gives 'dial', which may be NULL, up. */
void
dial_cancel(struct dial *dial)
{
    if (!dial) {
        return;
    }
    dial->cb = NULL;
    drop_socket__(dial);
    if (!dial->resolving) {
        destroy__(dial);
    } else if (dial->request) {
        evdns_getaddrinfo_cancel(dial->request);
    }
}
