/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "endpoints/payload.h"
#include "endpoints/util.h"

#define HEADERS_LEN (WIRE_LB_LEN + WIRE_RE_LEN)
#define SNDBUF_BYTES (8 * 1024 * 1024)
#define LOG_BUFFER_BYTES (1024 * 1024)

/* How often and how long to wait where the kernel has no room. */
#define RETRY_NS NS_PER_MS
#define MAX_RETRIES 5000

/* A socket that packets leave from. */
struct outlet {
    int fd;        /* Socket. */
    uint16_t port; /* Its port. */
};

/* A packet in the batch. */
struct packet {
    struct plan_segment segment; /* What it carries. */
    union address dest;          /* Where to. */
    struct iovec iov;            /* Its bytes, in 'buffer' of the sender. */
    uint32_t crc;                /* CRC-32C of the data, if there is a log. */
};

struct sender {
    union address dest;     /* Where to, but for the port. */
    size_t overhead;        /* Bytes of an IP packet that are not data. */
    struct outlet *outlets; /* Sockets. */
    size_t n_outlets;       /* Number of 'outlets'. */

    struct packet *packets;   /* The batch. */
    struct mmsghdr *messages; /* The same, as the kernel wants it. */
    uint8_t *buffer;          /* Bytes of all packets. */
    size_t n;                 /* Packets in the batch. */
    size_t max;               /* Packets that fit into the batch. */

    FILE *log;                 /* Or NULL. */
    const char *log_name;      /* For errors. */
    struct sender_stats stats; /* Shown to the caller. */
};

static int
set_int(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value);
}

/* Sets the options of socket 'fd' that concern IP.  With "probe" the kernel
 * neither fragments nor believes path MTUs that it was told. */
static int
set_ip_options(int fd, const struct send_config *config)
{
    int ttl = config->ttl;
    int tos = config->dscp << 2;
    int err;

    if (config->dest.sa.sa_family == AF_INET6) {
        err = set_int(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl);
        err = err ? err : set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
        return err ? err
                   : set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
                             IPV6_PMTUDISC_PROBE);
    }
    err = set_int(fd, IPPROTO_IP, IP_TTL, ttl);
    err = err ? err : set_int(fd, IPPROTO_IP, IP_TOS, tos);
    return err ? err
               : set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
}

/* Binds 'outlet', number 'i', to the configured source address and port, or to
 * any, and learns the port that it got. */
static char *
bind_outlet(struct outlet *outlet, const struct send_config *config, size_t i)
{
    union address local = config->source;
    socklen_t len = sizeof local;
    char *text, *error;

    local.sa.sa_family = config->dest.sa.sa_family;
    if (config->source_port) {
        address_set_port(&local, config->source_port + i);
    }
    if (bind(outlet->fd, &local.sa, address_len(&local))) {
        text = address_format(&local);
        error = xasprintf("cannot send from %s: %s", text, strerror(errno));
        free(text);
        return error;
    }
    if (getsockname(outlet->fd, &local.sa, &len)) {
        return xasprintf("getsockname: %s", strerror(errno));
    }
    outlet->port = address_port(&local);
    return NULL;
}

static char *
open_outlet(struct outlet *outlet, const struct send_config *config, size_t i)
{
    outlet->fd =
        socket(config->dest.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (outlet->fd < 0) {
        return xasprintf("cannot open a socket: %s", strerror(errno));
    } else if (set_ip_options(outlet->fd, config)) {
        return xasprintf("cannot set socket options: %s", strerror(errno));
    }

    /* A larger buffer is good to have, but not needed. */
    if (set_int(outlet->fd, SOL_SOCKET, SO_SNDBUFFORCE, SNDBUF_BYTES)) {
        set_int(outlet->fd, SOL_SOCKET, SO_SNDBUF, SNDBUF_BYTES);
    }
    return bind_outlet(outlet, config, i);
}

static char *
open_log(struct sender *sender, const char *name)
{
    sender->log = fopen(name, "we");
    if (!sender->log) {
        return xasprintf("%s: %s", name, strerror(errno));
    }
    sender->log_name = name;
    setvbuf(sender->log, NULL, _IOFBF, LOG_BUFFER_BYTES);
    fputs("time_ns\tversion\ttick\tslot_select\tentropy\tdata_id\tevent_num\t"
          "offset\tsize\tlength\tsource_port\tport\tcrc32c\n",
          sender->log);
    return NULL;
}

/* Allocates the batch, with room for 'config->batch' packets of the largest
 * size. */
static void
create_batch(struct sender *sender, const struct send_config *config)
{
    size_t packet_len = HEADERS_LEN + config->plan.max_segment;

    sender->max = config->batch;
    sender->packets = xcalloc(sender->max, sizeof *sender->packets);
    sender->messages = xcalloc(sender->max, sizeof *sender->messages);
    sender->buffer = xcalloc(sender->max, packet_len);
    for (size_t i = 0; i < sender->max; i++) {
        struct packet *packet = &sender->packets[i];
        struct msghdr *hdr = &sender->messages[i].msg_hdr;

        packet->iov.iov_base = sender->buffer + i * packet_len;
        hdr->msg_name = &packet->dest;
        hdr->msg_iov = &packet->iov;
        hdr->msg_iovlen = 1;
    }
}

/* Opens the sockets and the log that 'config' asks for.  '*senderp' is set,
 * also on errors, and is to be freed with sender_destroy().  Returns NULL or
 * an error, which the caller frees. */
char *
sender_create(const struct send_config *config, struct sender **senderp)
{
    struct sender *sender = *senderp = xcalloc(1, sizeof *sender);
    char *error = NULL;

    sender->dest = config->dest;
    sender->overhead = send_config_overhead(config);
    create_batch(sender, config);
    sender->outlets = xcalloc(config->plan.n_sockets, sizeof *sender->outlets);
    while (!error && sender->n_outlets < config->plan.n_sockets) {
        size_t i = sender->n_outlets++;

        error = open_outlet(&sender->outlets[i], config, i);
    }
    if (!error && config->log) {
        error = open_log(sender, config->log);
    }
    return error;
}

/* Closes and frees 'sender'.  Returns NULL, or an error if the log is not
 * whole, which the caller frees. */
char *
sender_destroy(struct sender *sender)
{
    char *error = NULL;

    if (!sender) {
        return NULL;
    }
    if (sender->log) {
        bool bad = ferror(sender->log);

        if (fclose(sender->log) || bad) {
            error = xasprintf("%s: writing failed: %s", sender->log_name,
                              strerror(errno));
        }
    }
    for (size_t i = 0; i < sender->n_outlets; i++) {
        if (sender->outlets[i].fd >= 0) {
            close(sender->outlets[i].fd);
        }
    }
    free(sender->outlets);
    free(sender->packets);
    free(sender->messages);
    free(sender->buffer);
    free(sender);
    return error;
}

/* Adds the packet for 's' to the batch, which must not be full. */
void
sender_put(struct sender *sender, const struct plan_segment *s)
{
    struct packet *packet = &sender->packets[sender->n];
    struct msghdr *hdr = &sender->messages[sender->n].msg_hdr;
    uint8_t *p = packet->iov.iov_base;
    uint64_t seed = payload_seed(s->re.data_id, s->re.event_num, s->re.length);

    packet->segment = *s;
    packet->dest = sender->dest;
    address_set_port(&packet->dest, s->port);
    packet->iov.iov_len = HEADERS_LEN + s->size;
    hdr->msg_namelen = address_len(&packet->dest);

    wire_lb_pack(&s->lb, p, WIRE_LB_LEN);
    wire_re_pack(&s->re, p + WIRE_LB_LEN, WIRE_RE_LEN);
    payload_fill(seed, s->re.offset, p + HEADERS_LEN, s->size);
    if (sender->log) {
        packet->crc = payload_crc32c(p + HEADERS_LEN, s->size);
    }
    sender->n++;
}

bool
sender_is_full(const struct sender *sender)
{
    return sender->n >= sender->max;
}

static void
log_packet(const struct sender *sender, const struct packet *packet,
           int64_t now)
{
    const struct plan_segment *s = &packet->segment;

    fprintf(sender->log,
            "%" PRId64 "\t%u\t%" PRIu64 "\t%u\t%u\t%u\t%" PRIu64 "\t"
            "%" PRIu32 "\t%u\t%" PRIu32 "\t%u\t%u\t%08" PRIx32 "\n",
            now, s->lb.version, s->lb.tick, s->lb.slot_select,
            s->lb.port_select, s->re.data_id, s->re.event_num, s->re.offset,
            s->size, s->re.length, sender->outlets[s->socket].port, s->port,
            packet->crc);
}

/* Accounts for the 'n' packets from 'first' on, which were sent. */
static void
note_sent(struct sender *sender, size_t first, size_t n)
{
    struct sender_stats *stats = &sender->stats;
    int64_t now = sender->log ? clock_real() : 0;

    for (size_t i = first; i < first + n; i++) {
        const struct packet *packet = &sender->packets[i];
        const struct plan_segment *s = &packet->segment;

        if (!stats->packets++) {
            stats->first_tick = s->lb.tick;
        }
        stats->last_tick = s->lb.tick;
        stats->data_bytes += s->size;
        stats->ip_bytes += sender->overhead + s->size;
        stats->bundles += s->ends_bundle;
        stats->events += s->ends_event;
        if (sender->log) {
            log_packet(sender, packet, now);
        }
    }
}

/* Returns how many packets from 'first' on leave from the same socket. */
static size_t
run_length(const struct sender *sender, size_t first)
{
    uint16_t outlet = sender->packets[first].segment.socket;
    size_t n = 1;

    while (first + n < sender->n
           && sender->packets[first + n].segment.socket == outlet) {
        n++;
    }
    return n;
}

/* Returns the error for packet 'i', which the kernel refused with 'err'. */
static char *
send_error(const struct sender *sender, size_t i, int err)
{
    const struct packet *packet = &sender->packets[i];
    char *dest = address_format(&packet->dest);
    char *error;

    error =
        xasprintf("cannot send %zu bytes to %s: %s%s",
                  sender->overhead + packet->segment.size, dest, strerror(err),
                  err == EMSGSIZE ? " (a lower --mtu may help)" : "");
    free(dest);
    return error;
}

/* Sends the batch and empties it, waiting for room in the kernel where
 * needed.  Returns NULL or an error, which the caller frees. */
char *
sender_flush(struct sender *sender)
{
    unsigned int tries = 0;
    size_t sent = 0;

    while (sent < sender->n) {
        uint16_t outlet = sender->packets[sent].segment.socket;
        int n = sendmmsg(sender->outlets[outlet].fd, &sender->messages[sent],
                         run_length(sender, sent), 0);

        if (n > 0) {
            note_sent(sender, sent, n);
            sent += n;
            tries = 0;
        } else if ((errno == ENOBUFS || errno == EAGAIN)
                   && tries++ < MAX_RETRIES) {
            sender->stats.retries++;
            clock_sleep_until(clock_mono() + RETRY_NS);
        } else if (errno != EINTR) {
            sender->n = 0;
            return send_error(sender, sent, errno);
        }
    }
    sender->n = 0;
    return NULL;
}

/* Returns the source port of socket number 'socket'. */
uint16_t
sender_source_port(const struct sender *sender, unsigned int socket)
{
    return sender->outlets[socket].port;
}

const struct sender_stats *
sender_stats(const struct sender *sender)
{
    return &sender->stats;
}
