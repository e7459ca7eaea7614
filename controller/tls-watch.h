/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_TLS_WATCH_H
#define EVLB_TLS_WATCH_H 1

/* A certificate that is renewed while we run: its files are looked at once a
 * second, and read when they have changed.  Files that are no good, because
 * only one of them is new so far, leave everything as it is and are tried
 * again when they change again. */

struct event_base;
struct ssl_ctx_st;
struct tls_files;
struct tls_watch;

/* From now on connections are to be made with 'tls', which is taken over. */
typedef void tls_watch_cb(void *aux, struct ssl_ctx_st *tls);

char *tls_watch_create(struct event_base *, const struct tls_files *,
                       tls_watch_cb *, void *aux, struct tls_watch **);
void tls_watch_destroy(struct tls_watch *);

#endif /* tls-watch.h */
