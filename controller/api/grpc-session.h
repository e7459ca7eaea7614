/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_SESSION_H
#define EVLB_GRPC_SESSION_H 1

/* The server's side of one HTTP/2 connection that carries gRPC calls.
 *
 * This is a state machine: it is given bytes and the time and produces bytes,
 * and does no I/O.  The owner
 *
 *     - passes in what arrives with grpc_session_receive(), and says with
 *       grpc_session_end_input() that no more will,
 *
 *     - sends what grpc_session_send() returns, whenever 'wake' was called or
 *       one of these functions was,
 *
 *     - calls grpc_session_run() at the time that grpc_session_wakeup() names,
 *
 *     - closes the connection once grpc_session_is_over(), after it has sent
 *       what there is to send.
 *
 * 'wake' may be called from within any of these functions and from those of
 * grpc-call.h; it must not call back, but have the owner do so later.
 *
 * The peer is not trusted.  What it may cost is bounded by grpc-limits.h and
 * by the settings of its struct grpc_peer, which must stay.
 *
 * A peer that speaks HTTP/1 is answered where to do so, and the session is
 * over; see grpc-greeting.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grpc_peer;
struct grpc_services;
struct grpc_session;

struct grpc_session *
grpc_session_create(const struct grpc_services *, struct grpc_peer *,
                    const char *name, void (*wake)(void *aux), void *aux,
                    int64_t now);
void grpc_session_destroy(struct grpc_session *);

void grpc_session_receive(struct grpc_session *, const uint8_t *, size_t,
                          int64_t now);
void grpc_session_end_input(struct grpc_session *, int64_t now);
size_t grpc_session_send(struct grpc_session *, const uint8_t **);
void grpc_session_run(struct grpc_session *, int64_t now);
int64_t grpc_session_wakeup(const struct grpc_session *);

bool grpc_session_is_over(const struct grpc_session *);
const char *grpc_session_get_error(const struct grpc_session *);
bool grpc_session_is_http1(const struct grpc_session *);

#endif /* grpc-session.h */
