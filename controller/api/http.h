/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_HTTP_H
#define EVLB_HTTP_H 1

/* What evlbd serves by HTTP, as the setting "http" says: metrics for
 * Prometheus, the control API by REST, and a page for people.  docs/http.md
 * describes it.
 *
 * A change of settings is prepared and then committed or abandoned: see
 * http-server.h. */

struct engine;
struct event_base;
struct http;
struct http_change;
struct http_settings;
struct lb;

struct http *http_create(struct event_base *, struct engine *, struct lb *);
void http_destroy(struct http *);

char *http_prepare(struct http *, const struct http_settings *,
                   struct http_change **);
void
http_commit(struct http *, const struct http_settings *, struct http_change *);
void http_abandon(struct http_change *);

#endif /* http.h */
