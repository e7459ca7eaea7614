/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/receiver.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "endpoints/util.h"

#define MAX_DATAGRAM 65536 /* Bytes; no UDP payload is as long. */
#define MAX_READY 64       /* Sockets to learn of at once. */
#define SPARE_FDS 32       /* Files beside the sockets. */

/* A socket that listens at one port. */
struct inlet {
    int fd;           /* Socket. */
    uint16_t port;    /* Its port. */
    uint64_t packets; /* Datagrams received. */
};

/* Room for one datagram and what the kernel tells with it. */
struct room {
    union address from; /* Its source. */
    struct iovec iov;   /* Its bytes. */
    union {
        struct cmsghdr align; /* For alignment only. */
        uint8_t bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control; /* Its time. */
};

struct receiver {
    int epoll;            /* Watches all inlets. */
    struct inlet *inlets; /* Sockets, by port. */
    size_t n_inlets;      /* Number of 'inlets'. */
    uint64_t rcvbuf;      /* Least buffer that a socket got, bytes. */

    struct room *rooms;       /* For a batch. */
    struct mmsghdr *messages; /* The same, as the kernel wants it. */
    uint8_t *buffer;          /* Bytes of all rooms. */
    size_t batch;             /* Number of 'rooms'. */
};

/* Lets the process open 'n' files, as far as the system lets us. */
static void
allow_files(size_t n)
{
    struct rlimit limit;

    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < n) {
        limit.rlim_cur = n;
        limit.rlim_max = limit.rlim_max < n ? n : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Makes the receive buffer of 'fd' as large as it was asked for, beyond the
 * system's limit where we may, and notes what came of it. */
static void
set_rcvbuf(struct receiver *r, int fd, uint64_t bytes)
{
    int value = bytes;
    socklen_t len = sizeof value;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof value)) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof value);
    }

    /* The kernel tells twice what it was asked for, as it counts overhead. */
    if (!getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &len)
        && (uint64_t) value / 2 < r->rcvbuf) {
        r->rcvbuf = value / 2;
    }
}

static int
set_options(const union address *a, int fd)
{
    int on = 1;

    return (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on)
            || (a->sa.sa_family == AF_INET6
                && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on)));
}

/* Returns the error for 'what' failing at 'a', from errno. */
static char *
inlet_error(const union address *a, const char *what)
{
    int err = errno;
    char *text = address_format(a);
    char *error = xasprintf("cannot %s %s: %s", what, text, strerror(err));

    free(text);
    return error;
}

/* Opens inlet number 'i'. */
static char *
open_inlet(struct receiver *r, const struct recv_config *config, size_t i)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };
    struct inlet *inlet = &r->inlets[i];
    union address a = config->listen;

    inlet->port = config->port + i;
    address_set_port(&a, inlet->port);
    inlet->fd =
        socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (inlet->fd < 0) {
        return inlet_error(&a, "open a socket for");
    } else if (set_options(&a, inlet->fd)) {
        return inlet_error(&a, "set options of the socket for");
    }
    set_rcvbuf(r, inlet->fd, config->rcvbuf);
    if (bind(inlet->fd, &a.sa, address_len(&a))) {
        return inlet_error(&a, "listen at");
    } else if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, inlet->fd, &event)) {
        return inlet_error(&a, "watch");
    }
    return NULL;
}

static void
create_batch(struct receiver *r, size_t batch)
{
    r->batch = batch;
    r->rooms = xcalloc(batch, sizeof *r->rooms);
    r->messages = xcalloc(batch, sizeof *r->messages);
    r->buffer = xcalloc(batch, MAX_DATAGRAM);
    for (size_t i = 0; i < batch; i++) {
        struct room *room = &r->rooms[i];
        struct msghdr *hdr = &r->messages[i].msg_hdr;

        room->iov.iov_base = r->buffer + i * MAX_DATAGRAM;
        room->iov.iov_len = MAX_DATAGRAM;
        hdr->msg_name = &room->from;
        hdr->msg_iov = &room->iov;
        hdr->msg_iovlen = 1;
        hdr->msg_control = &room->control;
    }
}

/* Opens the ports that 'config' asks for.  '*rp' is set, also on errors, and
 * is to be freed with receiver_destroy().  Returns NULL or an error, which the
 * caller frees. */
char *
receiver_create(const struct recv_config *config, struct receiver **rp)
{
    struct receiver *r = *rp = xcalloc(1, sizeof *r);
    char *error = NULL;

    create_batch(r, config->batch);
    r->rcvbuf = config->rcvbuf;
    r->inlets = xcalloc(config->n_ports, sizeof *r->inlets);
    allow_files(config->n_ports + SPARE_FDS);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll < 0) {
        return xasprintf("epoll_create1: %s", strerror(errno));
    }
    while (!error && r->n_inlets < config->n_ports) {
        size_t i = r->n_inlets++;

        error = open_inlet(r, config, i);
    }
    return error;
}

void
receiver_destroy(struct receiver *r)
{
    if (!r) {
        return;
    }
    for (size_t i = 0; i < r->n_inlets; i++) {
        if (r->inlets[i].fd >= 0) {
            close(r->inlets[i].fd);
        }
    }
    if (r->epoll >= 0) {
        close(r->epoll);
    }
    free(r->inlets);
    free(r->rooms);
    free(r->messages);
    free(r->buffer);
    free(r);
}

/* Returns when the kernel got the datagram in 'hdr', or 'now' if it did not
 * say. */
static int64_t
receive_time(struct msghdr *hdr, int64_t now)
{
    struct cmsghdr *cmsg;
    struct timespec ts;

    for (cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
        if (cmsg->cmsg_level == SOL_SOCKET
            && cmsg->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&ts, CMSG_DATA(cmsg), sizeof ts);
            return ts.tv_sec * NS_PER_S + ts.tv_nsec;
        }
    }
    return now;
}

/* Hands the first 'n' datagrams of the batch, from 'inlet', to 'cb'. */
static void
hand_over(struct receiver *r, struct inlet *inlet, size_t n, receiver_cb *cb,
          void *aux)
{
    int64_t now = clock_real();

    for (size_t i = 0; i < n; i++) {
        struct datagram datagram = {
            .port = inlet->port,
            .from = &r->rooms[i].from,
            .time = receive_time(&r->messages[i].msg_hdr, now),
            .data = r->rooms[i].iov.iov_base,
            .size = r->messages[i].msg_len,
        };

        cb(&datagram, aux);
    }
    inlet->packets += n;
}

/* Receives one batch, of 'max' datagrams at most, from 'inlet'.  Adds their
 * number to '*n'.  A socket without datagrams is no error. */
static char *
receive_batch(struct receiver *r, struct inlet *inlet, size_t max,
              receiver_cb *cb, void *aux, size_t *n)
{
    size_t batch = max < r->batch ? max : r->batch;
    int received;

    for (size_t i = 0; i < batch; i++) {
        struct msghdr *hdr = &r->messages[i].msg_hdr;

        hdr->msg_namelen = sizeof r->rooms[i].from;
        hdr->msg_controllen = sizeof r->rooms[i].control;
    }
    received = recvmmsg(inlet->fd, r->messages, batch, MSG_DONTWAIT, NULL);
    if (received > 0) {
        hand_over(r, inlet, received, cb, aux);
        *n += received;
    } else if (received < 0 && errno != EAGAIN && errno != EINTR) {
        return xasprintf("cannot receive at port %u: %s", inlet->port,
                         strerror(errno));
    }
    return NULL;
}

/* Waits up to 'timeout_ms' for datagrams, then hands up to 'max' of them to
 * 'cb', with 'aux': a batch from each port that has any.  Sets '*n' to their
 * number, 0 also if a signal came.  Returns NULL or an error, which the caller
 * frees. */
char *
receiver_poll(struct receiver *r, int timeout_ms, size_t max, receiver_cb *cb,
              void *aux, size_t *n)
{
    struct epoll_event events[MAX_READY];
    int n_ready = epoll_wait(r->epoll, events, MAX_READY, timeout_ms);
    char *error = NULL;

    *n = 0;
    if (n_ready < 0 && errno != EINTR) {
        return xasprintf("epoll_wait: %s", strerror(errno));
    }
    for (int i = 0; i < n_ready && !error && *n < max; i++) {
        struct inlet *inlet = &r->inlets[events[i].data.u64];

        error = receive_batch(r, inlet, max - *n, cb, aux, n);
    }
    return error;
}

/* Fills 'info' with what the kernel says of the memory of inlet number 'i'.
 * Returns false if it says nothing. */
static bool
get_meminfo(const struct receiver *r, size_t i, uint32_t info[SK_MEMINFO_VARS])
{
    socklen_t len = sizeof *info * SK_MEMINFO_VARS;

    memset(info, 0, len);
    return !getsockopt(r->inlets[i].fd, SOL_SOCKET, SO_MEMINFO, info, &len);
}

/* Returns how full the fullest buffer of all ports is, 0 to 1. */
double
receiver_fill(const struct receiver *r)
{
    uint32_t info[SK_MEMINFO_VARS];
    double most = 0;

    for (size_t i = 0; i < r->n_inlets; i++) {
        if (get_meminfo(r, i, info) && info[SK_MEMINFO_RCVBUF]) {
            double fill =
                info[SK_MEMINFO_RMEM_ALLOC] / (double) info[SK_MEMINFO_RCVBUF];

            most = fill > most ? fill : most;
        }
    }
    return most < 1 ? most : 1;
}

/* Returns the datagrams for port number 'i' that the kernel dropped, because
 * the buffer was full or their checksum wrong.  It is the counter behind
 * SO_RXQ_OVFL, which would tell of a drop only with a later datagram. */
uint64_t
receiver_port_drops(const struct receiver *r, size_t i)
{
    uint32_t info[SK_MEMINFO_VARS];

    return get_meminfo(r, i, info) ? info[SK_MEMINFO_DROPS] : 0;
}

/* Returns the datagrams received at port number 'i'. */
uint64_t
receiver_port_packets(const struct receiver *r, size_t i)
{
    return r->inlets[i].packets;
}

/* Returns the sum of receiver_port_drops(). */
uint64_t
receiver_drops(const struct receiver *r)
{
    uint64_t drops = 0;

    for (size_t i = 0; i < r->n_inlets; i++) {
        drops += receiver_port_drops(r, i);
    }
    return drops;
}

/* Returns the least receive buffer that a port got, in bytes. */
uint64_t
receiver_rcvbuf(const struct receiver *r)
{
    return r->rcvbuf;
}
