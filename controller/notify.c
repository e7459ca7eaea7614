/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/notify.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>
#include <systemd/sd-daemon.h>

#include "controller/core/mem.h"

#define USEC_PER_SEC 1000000
#define STATUS_INTERVAL USEC_PER_SEC /* How often the status is looked at. */

struct notify {
    struct event *timer;
    notify_status_cb *status_cb;
    void *aux;
    char *status;  /* What was told last. */
    bool watchdog; /* Does the manager wait for signs of life? */
};

/* Tells the status if it has changed. */
static void
tell_status__(struct notify *n)
{
    char *status = n->status_cb(n->aux);

    if (n->status && !strcmp(n->status, status)) {
        free(status);
        return;
    }
    free(n->status);
    n->status = status;
    sd_notifyf(0, "STATUS=%s", status);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *n_)
{
    struct notify *n = n_;

    (void) fd;
    (void) events;
    if (n->watchdog) {
        sd_notify(0, "WATCHDOG=1");
    }
    tell_status__(n);
}

/* Returns a notifier that runs on 'base' and tells what 'status_cb' returns
 * when it is given 'aux'. */
struct notify *
notify_create(struct event_base *base, notify_status_cb *status_cb, void *aux)
{
    struct notify *n = mem_zalloc(sizeof *n);
    uint64_t interval = STATUS_INTERVAL;
    uint64_t patience = 0;
    struct timeval tv;

    n->status_cb = status_cb;
    n->aux = aux;
    if (!getenv("NOTIFY_SOCKET")) {
        return n;
    }
    n->watchdog = sd_watchdog_enabled(0, &patience) > 0;
    if (n->watchdog && patience / 2 < interval) {
        interval = patience / 2;
    }
    tv.tv_sec = (time_t) (interval / USEC_PER_SEC);
    tv.tv_usec = (suseconds_t) (interval % USEC_PER_SEC);
    n->timer = event_new(base, -1, EV_PERSIST, timer_cb__, n);
    event_add(n->timer, &tv);
    return n;
}

/* Tells that the daemon stops, and destroys 'n', which may be NULL. */
void
notify_destroy(struct notify *n)
{
    if (n) {
        sd_notify(0, "STOPPING=1\nSTATUS=Switches go on with what they have.");
        if (n->timer) {
            event_free(n->timer);
        }
        free(n->status);
        free(n);
    }
}

/* Tells that the daemon serves: at its start, and again after each reload. */
void
notify_ready(struct notify *n)
{
    sd_notify(0, "READY=1");
    if (n->timer) {
        free(n->status);
        n->status = NULL;
        tell_status__(n);
    }
}

/* Tells that the daemon reads its configuration again. */
void
notify_reloading(struct notify *n)
{
    struct timespec now;

    (void) n;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
               (uint64_t) now.tv_sec * USEC_PER_SEC
                   + (uint64_t) now.tv_nsec / 1000);
}
