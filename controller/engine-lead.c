/* SPDX-License-Identifier: Apache-2.0 */

/* How the engine learns how long a change takes to reach the packets.
 *
 * A bridge that has a port to measure through has a scratch boundary
 * (flows/probe.c), which is moved with each change that the bridge is given,
 * and now and then for its own sake. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/lead-probe.h"

VLOG_DEFINE_THIS_MODULE(evlb_lead);

/* Without a change, so long from one measurement to the next. */
#define PERIOD_S 60

/* How a bridge is measured. */
struct engine_probe {
    struct engine *engine;
    uint64_t datapath_id;
    char interface[IFNAMSIZ];
    struct lead_probe *probe;
    uint16_t change; /* The number of the last change, 1 or more. */
    bool measure;    /* Is a change about to be made that is measured? */
};

static void
measured_cb__(void *probe_, int64_t us, const char *error)
{
    struct engine_probe *probe = probe_;
    struct engine_bridge *b =
        engine_find_bridge__(probe->engine, probe->datapath_id);

    if (error) {
        VLOG_WARN("datapath %016" PRIx64 ": lead not measured: %s",
                  probe->datapath_id, error);
    } else if (b) {
        VLOG_DBG("datapath %016" PRIx64 ": a change took %" PRId64 " us",
                 probe->datapath_id, us);
        lead_add_sample(&b->lead, (uint32_t) ((us + 999) / 1000));
    }
}

static void
probe_create__(struct engine *engine, struct engine_bridge *b,
               const struct bridge *bridge)
{
    struct engine_probe *probe = mem_zalloc(sizeof *probe);
    char *error;

    probe->engine = engine;
    probe->datapath_id = bridge->datapath_id;
    probe->change = 1;
    memcpy(probe->interface, bridge->probe_interface, sizeof probe->interface);
    error = lead_probe_create(engine->base, probe->interface, measured_cb__,
                              probe, &probe->probe);
    if (error) {
        VLOG_ERR("bridge %s: lead cannot be measured: %s", bridge->name,
                 error);
        free(error);
        free(probe);
        probe = NULL;
    }
    b->probe = probe;
}

/* Destroys 'probe', which may be NULL. */
void
engine_probe_destroy__(struct engine_probe *probe)
{
    if (probe) {
        lead_probe_destroy(probe->probe);
        free(probe);
    }
}

/* Measures 'b' by what the configuration of 'bridge' says. */
static void
update_bridge__(struct engine *engine, struct engine_bridge *b,
                const struct bridge *bridge)
{
    if (b->probe && !strcmp(b->probe->interface, bridge->probe_interface)) {
        return;
    }
    engine_probe_destroy__(b->probe);
    b->probe = NULL;
    lead_init(&b->lead);
    if (*bridge->probe_interface) {
        probe_create__(engine, b, bridge);
    }
}

/* Measures those bridges that the state in service says. */
void
engine_leads_update__(struct engine *engine)
{
    static const struct timeval period = { .tv_sec = PERIOD_S };
    bool any = false;

    for (size_t i = 0; i < engine->n_bridges; i++) {
        update_bridge__(engine, &engine->bridges[i],
                        &engine->state->bridges[i]);
        any = any || engine->bridges[i].probe;
    }
    if (any) {
        event_add(engine->lead_timer, &period);
    } else {
        event_del(engine->lead_timer);
    }
}

/* Returns the number of the change that 'b' is about to be given, or 0 if its
 * packets are not measured. */
uint16_t
engine_lead_begin__(struct engine_bridge *b)
{
    struct engine_probe *probe = b->probe;

    if (!probe) {
        return 0;
    }
    /* One that is not connected, or behind, would measure something else. */
    probe->measure = !lead_probe_is_busy(probe->probe) && b->committed
                     && b->committed == b->version;
    if (probe->measure && !++probe->change) {
        probe->change = 1;
    }
    return probe->change;
}

/* 'b' has been given the change that engine_lead_begin__() numbered. */
void
engine_lead_end__(struct engine_bridge *b)
{
    if (b->probe && b->probe->measure) {
        lead_probe_measure(b->probe->probe, b->probe->change);
    }
}

static void
timer_cb__(evutil_socket_t fd, short events, void *engine_)
{
    (void) fd;
    (void) events;
    engine_apply(engine_);
}

void
engine_leads_init__(struct engine *engine)
{
    engine->lead_timer =
        event_new(engine->base, -1, EV_PERSIST, timer_cb__, engine);
}

void
engine_leads_destroy__(struct engine *engine)
{
    event_free(engine->lead_timer);
}
