/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_HTTP_SERVER_H
#define EVLB_HTTP_SERVER_H 1

/* HTTP/1.1, plain or over TLS, on a libevent loop: libevent's evhttp, with
 * bounds on what strangers may take of us.
 *
 * The owner handles each request, once it is complete, and ends it exactly
 * once, at once or later from the event loop, with http_call_reply(), after
 * which it is gone.  The peer may be gone earlier; then the reply is
 * discarded.
 *
 * A connection has 'timeout' seconds for a whole request, from the moment when
 * it was made or the reply before was sent, and likewise to take a reply.
 *
 * Settings are changed in two steps, so that several servers change together
 * or not at all: http_server_prepare() opens the addresses that are new and
 * reads the certificate, http_server_commit() closes the others.  Connections
 * through the others end with them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct http_call;
struct http_change;
struct http_server;
struct http_settings;

enum http_method {
    HTTP_GET, /* HEAD, too. */
    HTTP_POST
};

typedef void http_handler(void *aux, struct http_call *);

struct http_server *
http_server_create(struct event_base *, http_handler *, void *aux);
void http_server_destroy(struct http_server *);

char *http_server_prepare(struct http_server *, const struct http_settings *,
                          struct http_change **);
void http_server_commit(struct http_server *, struct http_change *);
void http_server_abandon(struct http_change *);

/* What has come of the doors so far. */
struct http_server_counters {
    size_t n_connections; /* That there are. */
    uint64_t n_accepted;
    uint64_t n_refused;   /* Because there were too many. */
    uint64_t n_timed_out; /* Too slow. */
    uint64_t n_requests;
};

void http_server_get_counters(const struct http_server *,
                              struct http_server_counters *);

/* The request. */
enum http_method http_call_method(const struct http_call *);
const char *http_call_path(const struct http_call *);
const char *http_call_query(const struct http_call *);
const char *http_call_header(const struct http_call *, const char *name);
const char *http_call_peer(const struct http_call *);
bool http_call_is_local(const struct http_call *);
const char *http_call_body(struct http_call *, size_t *size);

/* The reply. */
void
http_call_set_header(struct http_call *, const char *name, const char *value);
void http_call_reply(struct http_call *, int status, const char *type,
                     const void *body, size_t size);

#endif /* http-server.h */
