/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics of traffic: what the switches accepted and dropped. */

#include "controller/api/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/api/metrics-text.h"
#include "controller/core/instance.h"
#include "controller/counters.h"
#include "controller/engine.h"

/* Two families for each scope. */
static const struct {
    enum counter_scope scope;
    const char *packets;
    const char *bytes;
} scopes[] = {
    { COUNTER_ALL, "evlb_packets_total", "evlb_bytes_total" },
    { COUNTER_INTERFACE, "evlb_interface_packets_total",
      "evlb_interface_bytes_total" },
    { COUNTER_INSTANCE, "evlb_instance_packets_total",
      "evlb_instance_bytes_total" },
    { COUNTER_MEMBER, "evlb_member_packets_total", "evlb_member_bytes_total" },
    { COUNTER_PORT, "evlb_port_packets_total", "evlb_port_bytes_total" },
};

static const char *
find_interface__(const struct state *state, int id)
{
    for (size_t i = 0; i < state->n_interfaces; i++) {
        if (state->interfaces[i].id == id) {
            return state->interfaces[i].name;
        }
    }
    return NULL;
}

/* Writes 'value', which is of 'c', if that is of something that there is. */
static void
write__(struct metrics *m, const struct state *state, const struct counter *c,
        uint64_t value)
{
    const char *result = c->dropped ? "dropped" : "accepted";
    const struct instance *in =
        c->instance < 0 ? NULL
                        : state_find_instance(state, (uint16_t) c->instance);
    const char *iface = find_interface__(state, c->iface);
    const struct bridge *bridge = state_find_bridge(state, c->datapath_id);
    char member[8];

    switch (c->scope) {
    case COUNTER_ALL:
        metrics_count(m, value, "result", result, "reason", c->name, NULL);
        break;
    case COUNTER_INTERFACE:
        if (iface) {
            metrics_count(m, value, "interface", iface, "result", result,
                          "reason", c->name, NULL);
        }
        break;
    case COUNTER_INSTANCE:
        if (in) {
            metrics_count(m, value, "instance", in->name, "result", result,
                          "reason", c->name, NULL);
        }
        break;
    case COUNTER_MEMBER:
        if (in && instance_find_member(in, (uint16_t) c->member)) {
            snprintf(member, sizeof member, "%d", c->member);
            metrics_count(m, value, "instance", in->name, "member", member,
                          "result", result, "reason", c->name, NULL);
        }
        break;
    case COUNTER_PORT:
        if (bridge) {
            metrics_count(m, value, "switch", bridge->name, "port", c->port,
                          "result", result, "reason", c->name, NULL);
        }
        break;
    }
}

void
metrics_traffic(struct metrics *m, struct engine *engine)
{
    const struct state *state = engine_get_state(engine);
    size_t n;
    const struct counter **counters =
        counters_get(engine_get_counters(engine), &n);

    for (size_t k = 0; k < 2 * sizeof scopes / sizeof *scopes; k++) {
        bool bytes = k % 2;

        metrics_family(m, bytes ? scopes[k / 2].bytes : scopes[k / 2].packets,
                       METRICS_COUNTER,
                       bytes ? "Bytes of these packets."
                             : "Packets, by what became of them.");
        for (size_t i = 0; i < n; i++) {
            const struct counter *c = counters[i];

            if (c->scope == scopes[k / 2].scope) {
                write__(m, state, c, bytes ? c->bytes : c->packets);
            }
        }
    }
    free(counters);
}
