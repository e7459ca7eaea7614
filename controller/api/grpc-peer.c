/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-peer.h"

#include "controller/core/mem.h"

/* Makes 'peer' one that has made no call, and is bounded by 'settings', which
 * may change. */
void
grpc_peer_init(struct grpc_peer *peer, const struct grpc_settings *settings,
               int64_t now)
{
    peer->settings = settings;
    peer->n_calls = 0;
    peer->credit = settings->max_peer_rate;
    peer->since = now;
}

/* 'peer' begins a call. */
void
grpc_peer_begin(struct grpc_peer *peer)
{
    peer->n_calls++;
}

/* A call of 'peer' is over. */
void
grpc_peer_end(struct grpc_peer *peer)
{
    peer->n_calls--;
}

/* Brings 'peer''s credit up to 'now'. */
static void
refill__(struct grpc_peer *peer, int64_t now)
{
    double max = peer->settings->max_peer_rate;

    peer->credit += (double) (now - peer->since) * max / 1000;
    peer->credit = peer->credit > max ? max : peer->credit;
    peer->since = now;
}

/* Returns NULL if the call that 'peer' has begun may go on at 'now', or the
 * reason against it, which the caller must free. */
char *
grpc_peer_admit(struct grpc_peer *peer, int64_t now)
{
    const struct grpc_settings *s = peer->settings;

    refill__(peer, now);
    if (peer->credit < 1) {
        return mem_printf("more than %u calls a second come from your "
                          "address (setting api.max_peer_rate); try again "
                          "later",
                          s->max_peer_rate);
    }
    peer->credit--;
    if (peer->n_calls > s->max_peer_calls) {
        return mem_printf("more than %u calls from your address are under "
                          "way (setting api.max_peer_calls)",
                          s->max_peer_calls);
    }
    return NULL;
}

/* Is 'peer' as one that has never made a call? */
bool
grpc_peer_is_rested(struct grpc_peer *peer, int64_t now)
{
    refill__(peer, now);
    return !peer->n_calls && peer->credit >= peer->settings->max_peer_rate;
}
