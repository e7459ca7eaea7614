/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/sync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/api/now.h"
#include "controller/core/instance.h"
#include "controller/core/mem.h"
#include "controller/sync-address.h"
#include "endpoints/wire.h"

VLOG_DEFINE_THIS_MODULE(evlb_sync);

/* Datagrams that are taken at once, before others have their turn. */
#define MAX_BURST 64

/* The socket of one instance.  Successive states may share it. */
struct sync {
    unsigned int n_refs;
    uint16_t instance; /* Its id. */
    char *address;
    int fd;
    struct event *event;
    const struct state *state; /* In service, or NULL. */
    uint64_t generation;       /* Of the ticks that 'predictor' knows. */
    struct predictor *predictor;
    struct sync_counters counters;
};

struct syncs {
    struct sync **syncs;
    size_t n;
};

static void
count_foreign__(struct sync *sync, const struct instance *instance,
                const struct in6_addr *source)
{
    char s[ADDR_STRLEN];

    if (!sync->counters.n_foreign++
        || !addr_equal(&sync->counters.foreign, source)) {
        addr_to_string(source, s);
        VLOG_WARN("instance %s: Sync from %s is not believed (see "
                  "\"sync_from\")",
                  instance->name, s);
    }
    sync->counters.foreign = *source;
}

/* Takes in the datagram of 'n' bytes at 'data', from 'source'. */
static void
receive__(struct sync *sync, const void *data, size_t n,
          const struct in6_addr *source)
{
    const struct instance *instance =
        state_find_instance(sync->state, sync->instance);
    struct wire_sync header;

    if (wire_sync_unpack(&header, data, n) != WIRE_OK) {
        sync->counters.n_malformed++;
        return;
    }
    if (!instance_believes_sync(instance, source)) {
        count_foreign__(sync, instance, source);
        return;
    }
    switch (predictor_add(sync->predictor, header.source_id, header.tick,
                          header.rate_hz, now_ms())) {
    case PREDICTOR_TAKEN:
        sync->counters.n_taken++;
        break;
    case PREDICTOR_BACKWARDS:
        if (!sync->counters.n_backwards++) {
            VLOG_WARN("instance %s: the ticks of source %" PRIu32
                      " run backwards",
                      instance->name, header.source_id);
        }
        break;
    case PREDICTOR_TOO_MANY:
        sync->counters.n_too_many++;
        break;
    }
}

/* What one call to recvmmsg() takes. */
struct burst {
    struct mmsghdr messages[MAX_BURST];
    struct iovec iovs[MAX_BURST];
    struct sockaddr_storage sources[MAX_BURST];
    uint8_t data[MAX_BURST][WIRE_SYNC_LEN + 1]; /* To tell longer ones. */
};

static void
burst_init__(struct burst *burst)
{
    memset(burst, 0, sizeof *burst);
    for (int i = 0; i < MAX_BURST; i++) {
        struct msghdr *header = &burst->messages[i].msg_hdr;

        burst->iovs[i].iov_base = burst->data[i];
        burst->iovs[i].iov_len = sizeof burst->data[i];
        header->msg_name = &burst->sources[i];
        header->msg_namelen = sizeof burst->sources[i];
        header->msg_iov = &burst->iovs[i];
        header->msg_iovlen = 1;
    }
}

static void
read_cb__(evutil_socket_t fd, short events, void *sync_)
{
    struct sync *sync = sync_;
    struct burst burst;
    int n;

    (void) events;
    burst_init__(&burst);
    n = recvmmsg(fd, burst.messages, MAX_BURST, MSG_DONTWAIT, NULL);
    for (int i = 0; sync->state && i < n; i++) {
        struct in6_addr source;

        sync_address_get_ip(&burst.sources[i], &source);
        receive__(sync, burst.data[i], burst.messages[i].msg_len, &source);
    }
}

static void
sync_unref__(struct sync *sync)
{
    if (!--sync->n_refs) {
        if (sync->event) {
            event_free(sync->event);
        }
        if (sync->fd >= 0) {
            close(sync->fd);
        }
        predictor_destroy(sync->predictor);
        free(sync->address);
        free(sync);
    }
}

static struct predictor_settings
get_settings__(const struct instance *instance)
{
    return (struct predictor_settings){ instance->sync.look_ahead,
                                        instance->sync.skew };
}

/* Forgets what was heard. */
static void
reset__(struct sync *sync)
{
    predictor_reset(sync->predictor);
    sync->counters = (struct sync_counters){ .n_taken = 0 };
}

static char *
open__(struct event_base *base, struct sync *sync)
{
    struct sync_address address;
    char *error = sync_address_parse(sync->address, &address);

    if (error) {
        return error;
    }
    sync->fd = socket(address.sa.ss_family,
                      SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sync->fd < 0
        || bind(sync->fd, (struct sockaddr *) &address.sa, address.len)) {
        return mem_printf("cannot listen for Sync on %s: %s", sync->address,
                          strerror(errno));
    }
    sync->event =
        event_new(base, sync->fd, EV_READ | EV_PERSIST, read_cb__, sync);
    event_add(sync->event, NULL);
    return NULL;
}

static struct sync *
find__(const struct syncs *syncs, uint16_t instance)
{
    for (size_t i = 0; syncs && i < syncs->n; i++) {
        if (syncs->syncs[i]->instance == instance) {
            return syncs->syncs[i];
        }
    }
    return NULL;
}

/* Adds the socket of 'instance' to 'syncs', one of 'old' if that is the same. */
static char *
add__(struct event_base *base, const struct instance *instance,
      const struct syncs *old, struct syncs *syncs)
{
    const struct predictor_settings settings = get_settings__(instance);
    struct sync *sync = find__(old, instance->id);
    struct sync **slot = &syncs->syncs[syncs->n++];
    char *reason, *error;

    if (sync && !strcmp(sync->address, instance->sync.address)) {
        sync->n_refs++;
        *slot = sync;
        return NULL;
    }
    *slot = sync = mem_zalloc(sizeof *sync);
    sync->n_refs = 1;
    sync->instance = instance->id;
    sync->address = mem_strdup(instance->sync.address);
    sync->generation = instance->generation;
    sync->fd = -1;
    sync->predictor = predictor_create(&settings);
    reason = open__(base, sync);
    if (!reason) {
        return NULL;
    }
    error = mem_printf("instance %s: %s", instance->name, reason);
    free(reason);
    return error;
}

/* Creates the sockets of 'state', which takes the place of the one that 'old',
 * perhaps NULL, is for.  Returns NULL and stores them in '*syncsp', or an error,
 * which the caller must free. */
char *
syncs_create(struct event_base *base, const struct state *state,
             const struct syncs *old, struct syncs **syncsp)
{
    struct syncs *syncs = mem_zalloc(sizeof *syncs);
    char *error = NULL;

    syncs->syncs = mem_zalloc(state->n_instances * sizeof(struct sync *));
    for (size_t i = 0; !error && i < state->n_instances; i++) {
        if (state->instances[i].sync.address) {
            error = add__(base, &state->instances[i], old, syncs);
        }
    }
    if (error) {
        syncs_destroy(syncs);
        syncs = NULL;
    }
    *syncsp = syncs;
    return error;
}

/* Destroys 'syncs', which may be NULL. */
void
syncs_destroy(struct syncs *syncs)
{
    if (syncs) {
        for (size_t i = 0; i < syncs->n; i++) {
            sync_unref__(syncs->syncs[i]);
        }
        free(syncs->syncs);
        free(syncs);
    }
}

/* Has 'syncs' go by 'state', which has the instances that it was created with,
 * and which must stay until this is called again. */
void
syncs_serve(struct syncs *syncs, const struct state *state)
{
    for (size_t i = 0; i < syncs->n; i++) {
        struct sync *sync = syncs->syncs[i];
        const struct instance *instance =
            state_find_instance(state, sync->instance);
        const struct predictor_settings settings = get_settings__(instance);

        if (sync->generation != instance->generation) {
            sync->generation = instance->generation;
            reset__(sync);
        }
        sync->state = state;
        predictor_set(sync->predictor, &settings);
    }
}

/* Forgets what was heard about 'instance', whose ticks begin anew. */
void
syncs_reset(struct syncs *syncs, const struct instance *instance)
{
    struct sync *sync = find__(syncs, instance->id);

    if (sync) {
        reset__(sync);
    }
}

/* Returns what foresees the ticks of 'instance', and stores what was counted
 * in '*counters'; or returns NULL if the instance has no Sync. */
const struct predictor *
syncs_get(const struct syncs *syncs, uint16_t instance,
          const struct sync_counters **counters)
{
    const struct sync *sync = find__(syncs, instance);

    if (!sync) {
        return NULL;
    }
    if (counters) {
        *counters = &sync->counters;
    }
    return sync->predictor;
}
