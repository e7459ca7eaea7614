/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_LISTENER_H
#define EVLB_OVS_LISTENER_H 1

/* A socket that switches connect to, on a libevent loop. */

#include <stdbool.h>

#include <openvswitch/list.h>

struct event;
struct event_base;
struct listener;

/* Takes the connected socket 'fd'.  'peer' is the name of the other end. */
typedef void listener_accept_cb(void *aux, int fd, const char *peer);

struct listener {
    struct ovs_list node; /* For the owner. */
    listener_accept_cb *accept;
    void *aux;
    struct evconnlistener *evl;
    struct event *pause; /* Ends it when there were too many files. */
    char *address;
    char *path; /* Of a Unix socket, or NULL. */
    bool tls;   /* What the address asks for; it is up to 'accept'. */
};

char *listener_create(struct event_base *, const char *address,
                      listener_accept_cb *, void *aux, struct listener **);
void listener_destroy(struct listener *);

#endif /* listener.h */
