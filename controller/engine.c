/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <openvswitch/vlog.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/counters.h"
#include "controller/epoch-log.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/server.h"
#include "controller/target/ovs/session.h"

VLOG_DEFINE_THIS_MODULE(evlb_engine);

/* What switches hold. */

/* Returns what is known of the bridge 'datapath_id', or NULL. */
struct engine_bridge *
engine_find_bridge__(struct engine *engine, uint64_t datapath_id)
{
    for (size_t i = 0; i < engine->n_bridges; i++) {
        if (engine->bridges[i].datapath_id == datapath_id) {
            return &engine->bridges[i];
        }
    }
    return NULL;
}

/* Records that 'bridge' holds the epoch of 'calendar', if it is new. */
static void
record_epoch__(struct engine *engine, const struct bridge *bridge,
               const struct rule_calendar *calendar)
{
    const struct instance *instance =
        state_find_instance(engine->state, calendar->instance);
    const struct epoch *epoch =
        instance ? epochs_find_id(&instance->epochs, calendar->epoch) : NULL;

    if (epoch
        && epoch_log_committed(engine->epoch_log, bridge->name, instance,
                               epoch)) {
        VLOG_INFO("ready: switch %s instance %s epoch %" PRIu16 " from tick "
                  "%" PRIu64 " committed",
                  bridge->name, instance->name, epoch->id, epoch->first);
    }
}

static void
committed_cb__(void *engine_, uint64_t datapath_id,
               const struct rule_set *rules)
{
    struct engine *engine = engine_;
    struct engine_bridge *b = engine_find_bridge__(engine, datapath_id);
    const struct bridge *bridge =
        state_find_bridge(engine->state, datapath_id);

    if (!b || !bridge) {
        return;
    }
    VLOG_DBG("switch %s holds all %zu rules", bridge->name, rules->n);
    if (rules == b->rules) {
        b->committed = b->version;
    }
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->rules[i].kind == RULE_CALENDAR) {
            record_epoch__(engine, bridge, &rules->rules[i].calendar);
        }
    }
    engine_operations_wake__(engine);
}

/* Makes 'engine->bridges' those of the state.  The ones that stay keep what is
 * known about them; the server lets the others go. */
static void
update_bridges__(struct engine *engine)
{
    const struct state *state = engine->state;
    struct engine_bridge *bridges;

    bridges = mem_zalloc(state->n_bridges * sizeof *bridges);
    for (size_t i = 0; i < state->n_bridges; i++) {
        uint64_t datapath_id = state->bridges[i].datapath_id;
        struct engine_bridge *old = engine_find_bridge__(engine, datapath_id);

        bridges[i].datapath_id = datapath_id;
        if (old) {
            bridges[i] = *old;
            old->rules = NULL;
            old->probe = NULL;
        }
    }
    for (size_t i = 0; i < engine->n_bridges; i++) {
        struct engine_bridge *b = &engine->bridges[i];

        rule_set_unref(b->rules);
        engine_probe_destroy__(b->probe);
        if (!state_find_bridge(state, b->datapath_id)) {
            ovs_server_remove(engine->server, b->datapath_id);
        }
    }
    free(engine->bridges);
    engine->bridges = bridges;
    engine->n_bridges = state->n_bridges;
}

/* Computes again what each switch should hold, and has it brought there. */
void
engine_apply(struct engine *engine)
{
    struct rule_inputs inputs = { .neighbours = &engine->neighbours };

    engine->version++;
    for (size_t i = 0; i < engine->n_bridges; i++) {
        const struct bridge *bridge = &engine->state->bridges[i];
        struct engine_bridge *b = &engine->bridges[i];

        inputs.change = engine_lead_begin__(b);
        rule_set_unref(b->rules);
        b->rules = rule_set_build(engine->state, bridge, &inputs);
        b->version = engine->version;
        ovs_server_set_rules(engine->server, bridge->datapath_id, bridge->name,
                             b->rules);
        ovs_server_set_calendar_mode(engine->server, bridge->datapath_id,
                                     bridge->calendar);
        engine_lead_end__(b);
    }
}

/* The state. */

/* Destroys 'state', which may be NULL, and frees it. */
static void
state_free__(struct state *state)
{
    if (state) {
        state_destroy(state);
        free(state);
    }
}

/* Makes in '*statep' the state that follows from the configuration and
 * 'overlay', and checks that it may take the place of the one in service.
 * Returns NULL, or the reason why not, which the caller must free. */
char *
engine_check__(const struct engine *engine, const struct overlay *overlay,
               struct state **statep)
{
    int line;
    char *error =
        overlay_apply(overlay, &engine->config->state, statep, &line);

    if (!error) {
        error = state_check_successor(engine->state, *statep, &line);
    }
    if (error) {
        state_free__(*statep);
        *statep = NULL;
    }
    return error;
}

/* Puts 'overlay' and 'state' in service, which become the engine's. */
void
engine_serve__(struct engine *engine, struct overlay *overlay,
               struct state *state)
{
    overlay_destroy(engine->overlay);
    engine->overlay = overlay;
    state_free__(engine->state);
    engine->state = state;
    update_bridges__(engine);
    engine_leads_update__(engine);
    engine_neighbours_update__(engine);
    engine_apply(engine);
}

static bool
same_listeners__(const struct evlb_config *a, const struct evlb_config *b)
{
    if (a->n_listen != b->n_listen) {
        return false;
    }
    for (size_t i = 0; i < a->n_listen; i++) {
        if (strcmp(a->listen[i], b->listen[i])) {
            return false;
        }
    }
    return true;
}

/* Makes in '*statep' the state of 'config' with 'overlay', and checks that it
 * may take the place of what is in service. */
static char *
check_config__(const struct engine *engine, const struct evlb_config *config,
               const struct overlay *overlay, struct state **statep)
{
    int line;
    char *reason = overlay_apply(overlay, &config->state, statep, &line);
    char *error;

    if (!reason) {
        reason = state_check_successor(engine->state, *statep, &line);
    }
    if (!reason) {
        return engine->handlers.accept(engine->handlers.aux, config);
    }
    error = line ? mem_printf("%s:%d: %s", config->file, line, reason)
                 : mem_printf("%s: %s", config->file, reason);
    free(reason);
    return error;
}

/* Has the server take what the configuration says about connections. */
static void
set_limits__(struct engine *engine)
{
    struct ssl_ctx_st *tls;
    const char *setting;
    const struct session_limits limits = { engine->config->slow_path_limit,
                                           engine->config->controller_limit };

    ovs_server_set_limits(engine->server, &limits);
    ovs_server_set_primary(engine->server, engine->config->primary);
    if (engine->config->tls.certificate) {
        char *error = tls_context_create(&engine->config->tls, &tls, &setting);

        if (error) {
            VLOG_ERR("openflow.tls.%s: %s; connections go on with what was "
                     "there",
                     setting, error);
            free(error);
        } else {
            ovs_server_set_tls(engine->server, tls);
        }
    }
}

/* Puts 'config' with 'overlay' in the place of what is in service.  Takes both
 * over if successful. */
static char *
replace__(struct engine *engine, struct evlb_config *config,
          struct overlay *overlay)
{
    struct state *state;
    char *error = check_config__(engine, config, overlay, &state);

    if (error) {
        state_free__(state);
        return error;
    }
    if (!same_listeners__(engine->config, config)) {
        VLOG_WARN("%s: openflow.listen takes effect at the next start",
                  config->file);
    }
    evlb_config_destroy(engine->config);
    engine->config = config;
    set_limits__(engine);
    engine_serve__(engine, overlay, state);
    return NULL;
}

/* Reads the configuration again and puts it in service, if it may take the
 * place of the one that is.  Returns NULL, or an error, which the caller must
 * free, and nothing is changed then. */
char *
engine_reload(struct engine *engine)
{
    struct evlb_config *config;
    struct overlay *overlay;
    char *error = evlb_config_load(engine->config->file, &config);

    if (error) {
        return error;
    }
    overlay = overlay_clone(engine->overlay);
    overlay_forget_missing(overlay, &config->state);
    error = replace__(engine, config, overlay);
    if (error) {
        overlay_destroy(overlay);
        evlb_config_destroy(config);
    }
    return error;
}

static char *
listen_all__(struct engine *engine)
{
    char *error = NULL;

    for (size_t i = 0; !error && i < engine->config->n_listen; i++) {
        error = ovs_server_listen(engine->server, engine->config->listen[i]);
    }
    return error;
}

static void
removed_cb__(void *counters, uint64_t datapath_id, unsigned int life,
             const struct snapshot_flow *flow, int64_t now)
{
    counters_flow_removed(counters, datapath_id, life, flow, now);
}

static void
read_cb__(void *counters, const struct snapshot *snapshot)
{
    counters_update(counters, snapshot);
}

/* Creates an engine that serves 'config', which becomes its own, and that
 * reports epochs to 'epoch_log'.  Returns NULL and stores it in '*enginep', or
 * returns an error, which the caller must free. */
char *
engine_create(struct event_base *base, struct evlb_config *config,
              struct epoch_log *epoch_log,
              const struct engine_handlers *handlers, struct engine **enginep)
{
    struct engine *engine = mem_zalloc(sizeof *engine);
    static const struct ovs_server_observer observer = { removed_cb__,
                                                         read_cb__ };
    char *error;
    int line;

    engine->base = base;
    engine->epoch_log = epoch_log;
    engine->handlers = *handlers;
    engine->config = config;
    engine->overlay = overlay_create();
    engine->server = ovs_server_create(base, committed_cb__, engine);
    engine->counters = counters_create();
    ovs_server_set_observer(engine->server, &observer, engine->counters);
    engine_operations_init__(engine);
    engine_neighbours_init__(engine);
    engine_leads_init__(engine);

    error =
        overlay_apply(engine->overlay, &config->state, &engine->state, &line);
    if (!error) {
        error = listen_all__(engine);
    }
    if (error) {
        engine_destroy(engine);
        engine = NULL;
    } else {
        update_bridges__(engine);
        set_limits__(engine);
        engine_leads_update__(engine);
        engine_neighbours_update__(engine);
        engine_apply(engine);
    }
    *enginep = engine;
    return error;
}

/* Destroys 'engine', which may be NULL.  Switches keep what they hold.
 * Operations that are not done end with an error. */
void
engine_destroy(struct engine *engine)
{
    if (!engine) {
        return;
    }
    engine_operations_destroy__(engine);
    engine_neighbours_destroy__(engine);
    engine_leads_destroy__(engine);
    ovs_server_destroy(engine->server);
    counters_destroy(engine->counters);
    for (size_t i = 0; i < engine->n_bridges; i++) {
        rule_set_unref(engine->bridges[i].rules);
        engine_probe_destroy__(engine->bridges[i].probe);
    }
    free(engine->bridges);
    state_free__(engine->state);
    overlay_destroy(engine->overlay);
    evlb_config_destroy(engine->config);
    free(engine);
}

/* Returns the configuration in service. */
const struct evlb_config *
engine_get_config(const struct engine *engine)
{
    return engine->config;
}

/* Returns the state in service, with what operators changed. */
const struct state *
engine_get_state(const struct engine *engine)
{
    return engine->state;
}

/* Returns the rules that the switch 'datapath_id' should hold, or NULL if it
 * is none of ours. */
const struct rule_set *
engine_get_rules(const struct engine *engine, uint64_t datapath_id)
{
    for (size_t i = 0; i < engine->n_bridges; i++) {
        if (engine->bridges[i].datapath_id == datapath_id) {
            return engine->bridges[i].rules;
        }
    }
    return NULL;
}

/* Returns the counters.  They are as new as the last snapshot of each
 * switch. */
const struct counters *
engine_get_counters(const struct engine *engine)
{
    return engine->counters;
}

/* Returns the server that switches are connected to. */
struct ovs_server *
engine_get_server(struct engine *engine)
{
    return engine->server;
}
