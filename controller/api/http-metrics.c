/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/http-metrics.h"

#include <stdlib.h>

#include <event2/event.h>

#include "controller/api/http-server.h"
#include "controller/api/metrics-text.h"
#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/engine.h"
#include "controller/target/ovs/server.h"
#include "controller/target/ovs/snapshot.h"

#define FRESH_MS 1000
#define PATIENCE_S 2
#define WAITING_MAX 64 /* More get what there is. */

/* One reading of all switches. */
struct reading {
    struct http_metrics *owner; /* NULL once it does not wait any more. */
    size_t n_pending;
};

struct http_metrics {
    struct metrics_sources sources;
    struct event *timer;
    struct reading *reading; /* That is under way, or NULL. */
    int64_t last;            /* When the last one began. */
    struct http_call *waiting[WAITING_MAX];
    size_t n_waiting;
};

static void
reply__(const struct http_metrics *m, struct http_call *call)
{
    size_t size;
    char *text = metrics_render(&m->sources, &size);

    http_call_reply(call, 200, METRICS_TYPE, text, size);
    free(text);
}

/* Answers all who wait. */
static void
finish__(struct http_metrics *m)
{
    if (m->reading) {
        m->reading->owner = NULL;
        m->reading = NULL;
    }
    evtimer_del(m->timer);
    for (size_t i = 0; i < m->n_waiting; i++) {
        reply__(m, m->waiting[i]);
    }
    m->n_waiting = 0;
}

/* Takes note that one of the things that 'r' waits for is there. */
static void
arrived__(struct reading *r)
{
    if (--r->n_pending) {
        return;
    }
    if (r->owner) {
        finish__(r->owner);
    }
    free(r);
}

static void
snapshot_cb__(void *r, const char *error, const struct snapshot *snapshot)
{
    (void) error;
    (void) snapshot; /* The counters have it. */
    arrived__(r);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *m)
{
    (void) fd;
    (void) events;
    finish__(m);
}

/* Begins to read the switches that are connected. */
static void
read__(struct http_metrics *m)
{
    static const struct timeval patience = { PATIENCE_S, 0 };
    const struct state *state = engine_get_state(m->sources.engine);
    struct ovs_server *server = engine_get_server(m->sources.engine);
    struct reading *r = mem_zalloc(sizeof *r);

    r->owner = m;
    r->n_pending = 1;
    m->reading = r;
    m->last = now_ms();
    evtimer_add(m->timer, &patience);
    for (size_t i = 0; i < state->n_bridges; i++) {
        uint64_t id = state->bridges[i].datapath_id;

        if (ovs_server_is_connected(server, id)) {
            r->n_pending++;
            ovs_server_snapshot(server, id, SNAPSHOT_FLOWS | SNAPSHOT_PORTS,
                                snapshot_cb__, r);
        }
    }
    arrived__(r);
}

/* Answers 'call'. */
void
http_metrics_serve(struct http_metrics *m, struct http_call *call)
{
    bool fresh = m->last && now_ms() - m->last < FRESH_MS;

    if ((fresh && !m->reading) || m->n_waiting == WAITING_MAX) {
        reply__(m, call);
        return;
    }
    m->waiting[m->n_waiting++] = call;
    if (!m->reading) {
        read__(m);
    }
}

struct http_metrics *
http_metrics_create(struct event_base *base,
                    const struct metrics_sources *sources)
{
    struct http_metrics *m = mem_zalloc(sizeof *m);

    m->sources = *sources;
    m->timer = evtimer_new(base, timer_cb__, m);
    return m;
}

/* Destroys 'm', which may be NULL; those who wait get what there is. */
void
http_metrics_destroy(struct http_metrics *m)
{
    if (m) {
        finish__(m);
        event_free(m->timer);
        free(m);
    }
}
