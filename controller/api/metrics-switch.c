/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics of switches, and of what goes between them and us. */

#include "controller/api/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "controller/api/metrics-text.h"
#include "controller/api/now.h"
#include "controller/core/mem.h"
#include "controller/engine.h"
#include "controller/target/ovs/server.h"

/* All of them, copied, because each family goes over them. */
struct switches {
    struct ovs_switch_status *all;
    size_t n;
    size_t allocated;
};

static void
switch_cb__(void *s_, const struct ovs_switch_status *status)
{
    struct switches *s = s_;

    if (s->n == s->allocated) {
        s->all = mem_grow(s->all, &s->allocated, sizeof *s->all);
    }
    s->all[s->n++] = *status;
}

typedef uint64_t count_of__(const struct ovs_switch_status *);

static uint64_t
connected__(const struct ovs_switch_status *s)
{
    return s->peer != NULL;
}

static uint64_t
secondary__(const struct ovs_switch_status *s)
{
    return s->secondary;
}

static uint64_t
ready__(const struct ovs_switch_status *s)
{
    return !strcmp(s->state, "ready");
}

static uint64_t
rules__(const struct ovs_switch_status *s)
{
    return s->n_rules;
}

static uint64_t
connections__(const struct ovs_switch_status *s)
{
    return s->n_connections;
}

static uint64_t
sent__(const struct ovs_switch_status *s)
{
    return s->counters.sent;
}

static uint64_t
received__(const struct ovs_switch_status *s)
{
    return s->counters.received;
}

static uint64_t
errors__(const struct ovs_switch_status *s)
{
    return s->counters.errors;
}

static uint64_t
packets__(const struct ovs_switch_status *s)
{
    return s->counters.packets;
}

static uint64_t
probes__(const struct ovs_switch_status *s)
{
    return s->counters.probes;
}

static uint64_t
changes__(const struct ovs_switch_status *s)
{
    return s->counters.changes;
}

/* What is said of each switch, in a family of its own. */
static const struct {
    const char *name;
    const char *help;
    count_of__ *get;
    enum metrics_type type;
} figures[] = {
    { "evlb_switch_connected", "Is the switch connected?", connected__,
      METRICS_GAUGE },
    { "evlb_switch_secondary", "Does another controller decide?", secondary__,
      METRICS_GAUGE },
    { "evlb_switch_ready", "Does the switch hold all rules that it should?",
      ready__, METRICS_GAUGE },
    { "evlb_switch_rules", "Rules that the switch should hold.", rules__,
      METRICS_GAUGE },
    { "evlb_switch_connections_total", "Connections of the switch.",
      connections__, METRICS_COUNTER },
    { "evlb_switch_messages_sent_total", "OpenFlow messages to the switch.",
      sent__, METRICS_COUNTER },
    { "evlb_switch_messages_received_total",
      "OpenFlow messages from the switch.", received__, METRICS_COUNTER },
    { "evlb_switch_errors_total", "Of these, errors.", errors__,
      METRICS_COUNTER },
    { "evlb_switch_packets_total", "Of these, packets for us.", packets__,
      METRICS_COUNTER },
    { "evlb_switch_probes_total",
      "Echo requests, because the switch was silent.", probes__,
      METRICS_COUNTER },
    { "evlb_switch_changes_total", "Changes that the switch committed.",
      changes__, METRICS_COUNTER },
};

/* Writes how long ago 'since' was of each switch that is connected. */
static void
write_ages__(struct metrics *m, const struct switches *s, bool heard)
{
    for (size_t i = 0; i < s->n; i++) {
        int64_t since =
            heard ? s->all[i].last_received : s->all[i].connected_since;

        if (s->all[i].peer && since) {
            metrics_value(m, (double) (now_ms() - since) / 1000, "switch",
                          s->all[i].name, NULL);
        }
    }
}

void
metrics_switches(struct metrics *m, struct engine *engine)
{
    struct switches s = { NULL, 0, 0 };

    ovs_server_for_each_switch(engine_get_server(engine), switch_cb__, &s);
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        metrics_family(m, figures[k].name, figures[k].type, figures[k].help);
        for (size_t i = 0; i < s.n; i++) {
            metrics_count(m, figures[k].get(&s.all[i]), "switch",
                          s.all[i].name, NULL);
        }
    }
    metrics_family(m, "evlb_switch_connected_seconds", METRICS_GAUGE,
                   "For how long the switch is connected.");
    write_ages__(m, &s, false);
    metrics_family(m, "evlb_switch_silent_seconds", METRICS_GAUGE,
                   "For how long nothing came from the switch.");
    write_ages__(m, &s, true);
    free(s.all);
}
