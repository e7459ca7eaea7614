/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_NOTIFY_H
#define EVLB_NOTIFY_H 1

/* Tells the service manager how the daemon is: ready, reloading, stopping,
 * alive (its watchdog), and a line for people, which "systemctl status" shows.
 *
 * It speaks systemd's protocol of notifications over the socket that the
 * environment variable NOTIFY_SOCKET names.  Without a service manager all of
 * this does nothing.  The watchdog is fed from the event loop, so that a loop
 * that hangs is found out. */

struct event_base;
struct notify;

/* Returns the line for people, which the caller frees. */
typedef char *notify_status_cb(void *aux);

struct notify *
notify_create(struct event_base *, notify_status_cb *, void *aux);
void notify_destroy(struct notify *);

void notify_ready(struct notify *);
void notify_reloading(struct notify *);

#endif /* notify.h */
