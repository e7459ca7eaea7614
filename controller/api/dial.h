/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_DIAL_H
#define EVLB_DIAL_H 1

/* Getting connected to a server, on a libevent loop: the name is resolved
 * without blocking, and its addresses of both families are tried one after the
 * other until one answers.
 *
 * dial_start() never calls back before it returns.  The callback is called
 * once, with the connected socket, which becomes its own, or with -1, a
 * positive errno value (0 if the name is what fails) and an error.  After that
 * the dial is gone; before, dial_cancel() gives it up.
 *
 * A resolver that was given up lets go of its memory when the loop runs
 * next. */

#include <stdint.h>

struct dial;
struct event_base;

typedef void dial_cb(void *aux, int fd, int error, const char *message);

struct dial *dial_start(struct event_base *, const char *host, uint16_t port,
                        dial_cb *, void *aux);
struct dial *
dial_start_unix(struct event_base *, const char *path, dial_cb *, void *aux);
void dial_cancel(struct dial *);

#endif /* dial.h */
