/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/lead-probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/core/lead-run.h"
#include "controller/core/mem.h"
#include "flows/probe.h"

/* More replies than this are not read at a time. */
#define BATCH_MAX 64

/* What is sent: an event's packet without a payload.  Addresses are from the
 * block for documentation; nobody but the bridge sees them. */
struct probe_frame {
    struct ether_header eth;
    struct iphdr ip;
    struct udphdr udp;
    struct {
        uint8_t magic[2];
        uint8_t version;
        uint8_t protocol;
        uint16_t reserved;
        uint16_t entropy;
        uint64_t tick;
    } __attribute__((packed)) lb;
} __attribute__((packed));

_Static_assert(sizeof(struct probe_frame) == 14 + 20 + 8 + 16,
               "headers have gaps");

struct lead_probe {
    lead_probe_cb *cb;
    void *aux;
    int fd;
    struct event *readable;
    struct event *timer;
    struct probe_frame frame;
    bool busy;
    struct lead_run run; /* If 'busy'. */
};

static int64_t
now_us__(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static uint16_t
ip_checksum__(struct iphdr ip)
{
    uint16_t words[sizeof ip / 2];
    uint32_t sum = 0;

    memcpy(words, &ip, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        sum += words[i];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

static void
make_frame__(struct probe_frame *f)
{
    memset(f, 0, sizeof *f);
    memcpy(f->eth.ether_dhost, "\x02\x4c\x42\xff\xff\xff", ETH_ALEN);
    memcpy(f->eth.ether_shost, "\x02\x4c\x42\xff\xff\xfe", ETH_ALEN);
    f->eth.ether_type = htons(ETHERTYPE_IP);
    f->ip.version = IPVERSION;
    f->ip.ihl = 5;
    f->ip.ttl = IPDEFTTL;
    f->ip.protocol = IPPROTO_UDP;
    f->ip.tot_len = htons(sizeof *f - sizeof f->eth);
    f->ip.saddr = htonl(UINT32_C(0xc0000201));
    f->ip.daddr = htonl(UINT32_C(0xc0000202));
    f->ip.check = ip_checksum__(f->ip);
    f->udp.source = f->udp.dest = htons(16384);
    f->udp.len = htons(sizeof f->udp + sizeof f->lb);
    memcpy(f->lb.magic, "LB", 2);
    f->lb.version = 2;
    f->lb.protocol = 1;
    f->lb.tick = htobe64(PROBE_FIRST_TICK);
}

/* Ends the measurement and tells of it. */
static void
finish__(struct lead_probe *p, int64_t us, const char *error)
{
    p->busy = false;
    event_del(p->timer);
    event_del(p->readable);
    p->cb(p->aux, us, error);
}

/* Ends the measurement if it is over. */
static void
check__(struct lead_probe *p)
{
    switch (lead_run_check(&p->run, now_us__())) {
    case LEAD_RUN_WAITING:
        return;
    case LEAD_RUN_DONE:
        finish__(p, lead_run_get_lead(&p->run), NULL);
        return;
    case LEAD_RUN_FAILED:
        finish__(p, 0,
                 p->run.n_replies ? "the change did not reach the packets"
                                  : "no packet came back");
        return;
    }
    abort();
}

static void
timer_cb__(evutil_socket_t fd, short events, void *p_)
{
    struct lead_probe *p = p_;

    (void) fd;
    (void) events;
    if (send(p->fd, &p->frame, sizeof p->frame, 0) < 0 && errno != EAGAIN
        && errno != ENOBUFS) {
        finish__(p, 0, strerror(errno));
    } else {
        check__(p);
    }
}

static void
readable_cb__(evutil_socket_t fd, short events, void *p_)
{
    struct lead_probe *p = p_;
    struct ether_header eth;
    struct mac mac;

    (void) events;
    for (int i = 0; i < BATCH_MAX; i++) {
        ssize_t n = recv(fd, &eth, sizeof eth, MSG_TRUNC);

        if (n < 0) {
            break;
        }
        memcpy(mac.ea, eth.ether_shost, sizeof mac.ea);
        if ((size_t) n == sizeof p->frame
            && eth.ether_type == htons(ETHERTYPE_IP) && probe_is_mark(&mac)) {
            lead_run_reply(&p->run, probe_change_from_mac(&mac), now_us__());
        }
    }
    check__(p);
}

/* Binds 'fd' to 'interface'.  Returns 0 or an errno. */
static int
bind__(int fd, const char *interface)
{
    struct sockaddr_ll sll = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = (int) if_nametoindex(interface),
    };
    int on = 1;

    if (!sll.sll_ifindex) {
        return errno;
    }
    if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on)
        || bind(fd, (const struct sockaddr *) &sll, sizeof sll)) {
        return errno;
    }
    return 0;
}

/* Stores in '*probep' a probe through the network interface 'interface', whose
 * other end is a port of a bridge.  Returns NULL if successful, or an error,
 * which the caller must free. */
char *
lead_probe_create(struct event_base *base, const char *interface,
                  lead_probe_cb *cb, void *aux, struct lead_probe **probep)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? errno : bind__(fd, interface);
    struct lead_probe *p;

    if (error) {
        if (fd >= 0) {
            close(fd);
        }
        *probep = NULL;
        return mem_printf("interface %s: %s", interface, strerror(error));
    }
    p = mem_zalloc(sizeof *p);
    p->cb = cb;
    p->aux = aux;
    p->fd = fd;
    p->readable = event_new(base, fd, EV_READ | EV_PERSIST, readable_cb__, p);
    p->timer = event_new(base, -1, EV_PERSIST, timer_cb__, p);
    make_frame__(&p->frame);
    *probep = p;
    return NULL;
}

/* Destroys 'p', which may be NULL.  Its callback is not called any more. */
void
lead_probe_destroy(struct lead_probe *p)
{
    if (p) {
        event_free(p->readable);
        event_free(p->timer);
        close(p->fd);
        free(p);
    }
}

/* Returns true if 'p' is measuring. */
bool
lead_probe_is_busy(const struct lead_probe *p)
{
    return p->busy;
}

/* Measures 'change', which the bridge is being given now.  'p' must not be
 * busy. */
void
lead_probe_measure(struct lead_probe *p, uint16_t change)
{
    static const struct timeval gap = { .tv_usec = LEAD_RUN_GAP_US };
    struct ether_header old;
    ssize_t n;

    /* What came while nobody measured is nobody's. */
    do {
        n = recv(p->fd, &old, sizeof old, 0);
    } while (n >= 0);
    lead_run_start(&p->run, change, now_us__());
    p->busy = true;
    event_add(p->readable, NULL);
    event_add(p->timer, &gap);
}
