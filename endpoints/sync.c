/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoints/util.h"
#include "endpoints/wire.h"

#define INTERVAL NS_PER_S

/* Prepares 'sync' to send to 'dest', or to do nothing if that is unset.
 * 'known_rate' is the number of ticks a second if that is known, else 0, and
 * then it is measured.  Returns NULL or an error, which the caller frees. */
char *
sync_open(struct sync *sync, const union address *dest, uint32_t source_id,
          double known_rate)
{
    char *error, *text;

    *sync = (struct sync){
        .fd = -1,
        .source_id = source_id,
        .known_rate = known_rate,
    };
    if (!address_is_set(dest)) {
        return NULL;
    }

    sync->fd = socket(dest->sa.sa_family,
                      SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sync->fd >= 0 && !connect(sync->fd, &dest->sa, address_len(dest))) {
        return NULL;
    }
    text = address_format(dest);
    error = xasprintf("cannot send Sync to %s: %s", text, strerror(errno));
    free(text);
    return error;
}

void
sync_close(struct sync *sync)
{
    if (sync && sync->fd >= 0) {
        close(sync->fd);
        sync->fd = -1;
    }
}

/* Returns the number of ticks a second that a datagram with 'tick' at 'now'
 * shall tell, 0 if it is not known. */
static uint32_t
rate_hz(const struct sync *sync, uint64_t tick, int64_t now)
{
    double rate = sync->known_rate;

    if (!rate && sync->n_sent && now > sync->last_time) {
        double seconds = (now - sync->last_time) / (double) NS_PER_S;

        rate = (tick - sync->last_tick) / seconds;
    }
    return rate < UINT32_MAX ? rate + 0.5 : UINT32_MAX;
}

/* The first try may get nothing but the news that nobody listened to the
 * datagram before. */
static bool
send_datagram(const struct sync *sync, const void *data, size_t size)
{
    return (send(sync->fd, data, size, 0) >= 0
            || (errno == ECONNREFUSED && send(sync->fd, data, size, 0) >= 0));
}

/* Sends a datagram with 'tick', the current one, if the time has come at
 * 'now'. */
void
sync_run(struct sync *sync, uint64_t tick, int64_t now)
{
    uint8_t buffer[WIRE_SYNC_LEN];
    struct wire_sync header = {
        .source_id = sync->source_id,
        .tick = tick,
        .rate_hz = rate_hz(sync, tick, now),
        .unix_ns = clock_real(),
    };

    if (now < sync_next(sync)) {
        return;
    }
    wire_sync_pack(&header, buffer, sizeof buffer);
    if (send_datagram(sync, buffer, sizeof buffer)) {
        sync->n_sent++;
    } else {
        sync->n_errors++;
    }
    sync->last_time = now;
    sync->last_tick = tick;
    sync->next = now + INTERVAL;
}

/* Returns when sync_run() will have something to do. */
int64_t
sync_next(const struct sync *sync)
{
    return sync->fd < 0 ? INT64_MAX : sync->next;
}
