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
#include "controller/sync.h"
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
    rule_set_unref(b->held);
    b->held = rule_set_ref(rules);
    if (rules == b->rules) {
        b->committed = b->version;
    }
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->rules[i].kind == RULE_CALENDAR) {
            record_epoch__(engine, bridge, &rules->rules[i].calendar);
        }
    }
    engine_carry__(engine, b);
    engine_control_committed__(engine);
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
            old->held = NULL;
            old->probe = NULL;
        }
    }
    for (size_t i = 0; i < engine->n_bridges; i++) {
        struct engine_bridge *b = &engine->bridges[i];

        rule_set_unref(b->rules);
        rule_set_unref(b->held);
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
void
engine_state_free__(struct state *state)
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
        engine_state_free__(*statep);
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
    engine_state_free__(engine->state);
    engine->state = state;
    syncs_serve(engine->syncs, state);
    engine_cleanup_update__(engine);
    engine_control_update__(engine);
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

/* What a reload is about to put in service. */
struct reload {
    struct evlb_config *config;
    struct overlay *overlay;
    struct state *state;
    struct syncs *syncs;

    /* The same with the changes that are being stored, or NULL. */
    struct overlay *storing_overlay;
    struct state *storing_state;
};

static void
reload_destroy__(struct reload *r)
{
    evlb_config_destroy(r->config);
    overlay_destroy(r->overlay);
    engine_state_free__(r->state);
    syncs_destroy(r->syncs);
    overlay_destroy(r->storing_overlay);
    engine_state_free__(r->storing_state);
}

/* Makes in '*overlayp' and '*statep' what 'config' makes of 'overlay', and checks
 * that it may take the place of 'old'. */
static char *
rebase__(const struct evlb_config *config, const struct overlay *overlay,
         const struct state *old, struct overlay **overlayp,
         struct state **statep, int *line)
{
    char *error;

    *overlayp = overlay_clone(overlay);
    overlay_forget_missing(*overlayp, &config->state);
    error = overlay_apply(*overlayp, &config->state, statep, line);
    return error ? error : state_check_successor(old, *statep, line);
}

/* Returns the overlay that is being stored, or NULL. */
static const struct overlay *
get_storing__(const struct engine *engine)
{
    return engine->batch ? engine->batch->draft.overlay : NULL;
}

/* Checks that 'config' has what is reserved, or is being reserved. */
static char *
check_reserved__(const struct engine *engine, const struct evlb_config *config,
                 int *line)
{
    const struct state *old = &engine->config->state;
    const struct state *new = &config->state;
    const struct book *storing =
        engine->batch ? engine->batch->draft.book : NULL;
    char *error = book_check_successor(engine->book, old, new, line);

    return error || !storing ? error
                             : book_check_successor(storing, old, new, line);
}

/* Fills 'r', which has its configuration, and checks all of it. */
static char *
reload_check__(const struct engine *engine, struct reload *r)
{
    const struct overlay *storing = get_storing__(engine);
    int line = 0;
    char *reason = rebase__(r->config, engine->overlay, engine->state,
                            &r->overlay, &r->state, &line);
    char *error;

    if (!reason && storing) {
        reason = rebase__(r->config, storing, engine->batch->draft.state,
                          &r->storing_overlay, &r->storing_state, &line);
    }
    reason = reason ? reason : check_reserved__(engine, r->config, &line);
    if (!reason) {
        reason = engine_check_boundaries__(engine, r->state, &line);
    }
    if (!reason) {
        line = 0;
        reason =
            syncs_create(engine->base, r->state, engine->syncs, &r->syncs);
    }
    if (!reason) {
        return engine->handlers.accept(engine->handlers.aux, r->config);
    }
    error = line ? mem_printf("%s:%d: %s", r->config->file, line, reason)
                 : mem_printf("%s: %s", r->config->file, reason);
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

/* Returns true if 'a' and 'b', which may be NULL, are different settings. */
static bool
differ__(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

static void
warn_next_start__(const struct evlb_config *old, const struct evlb_config *new)
{
    if (!same_listeners__(old, new)) {
        VLOG_WARN("%s: openflow.listen takes effect at the next start",
                  new->file);
    }
    if (differ__(old->state_file, new->state_file)) {
        VLOG_WARN("%s: state_file takes effect at the next start", new->file);
    }
    if (differ__(old->state_dir, new->state_dir)) {
        VLOG_WARN("%s: state_dir takes effect at the next start", new->file);
    }
}

/* Puts 'r' in the place of what is in service. */
static void
reload_serve__(struct engine *engine, struct reload *r)
{
    const struct overlay *storing = get_storing__(engine);

    warn_next_start__(engine->config, r->config);
    engine_store_forget__(engine, storing ? storing : engine->overlay,
                          storing ? r->storing_overlay : r->overlay);
    if (storing) {
        engine_draft_rebase__(&engine->batch->draft, r->storing_overlay,
                              r->storing_state);
    }
    syncs_destroy(engine->syncs);
    engine->syncs = r->syncs;
    evlb_config_destroy(engine->config);
    engine->config = r->config;
    engine_history_update__(engine);
    set_limits__(engine);
    engine_serve__(engine, r->overlay, r->state);
    engine_control_start__(engine);
}

/* Reads the configuration again and puts it in service, if it may take the
 * place of the one that is.  Returns NULL, or an error, which the caller must
 * free, and nothing is changed then. */
char *
engine_reload(struct engine *engine)
{
    struct reload r = { .config = NULL };
    char *error = evlb_config_load(engine->config->file, &r.config);

    error = error ? error : reload_check__(engine, &r);
    if (error) {
        reload_destroy__(&r);
    } else {
        reload_serve__(engine, &r);
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

/* Makes 'engine->state' of the configuration and of what was stored. */
static char *
restore__(struct engine *engine)
{
    const struct evlb_config *config = engine->config;
    struct overlay *stored;
    char *reason, *error;
    int line;

    error = engine_store_open__(engine);
    if (error) {
        return error;
    }
    stored = overlay_clone(engine->overlay);
    if (overlay_forget_missing(engine->overlay, &config->state)) {
        VLOG_WARN("%s lacks instances that operators changed; that is "
                  "forgotten",
                  config->file);
        engine_store_forget__(engine, stored, engine->overlay);
    }
    overlay_destroy(stored);
    engine_store_forget_reservations__(engine);
    reason =
        overlay_apply(engine->overlay, &config->state, &engine->state, &line);
    if (!reason) {
        return NULL;
    }
    error = mem_printf("%s:%d: %s", config->file, line, reason);
    free(reason);
    return error;
}

/* Puts 'engine''s configuration in service. */
static char *
start__(struct engine *engine)
{
    char *error = restore__(engine);

    error = error ? error
                  : syncs_create(engine->base, engine->state, NULL,
                                 &engine->syncs);
    error = error ? error : listen_all__(engine);
    if (error) {
        return error;
    }
    syncs_serve(engine->syncs, engine->state);
    engine_cleanup_update__(engine);
    engine_control_update__(engine);
    engine_history_start__(engine);
    engine_control_start__(engine);
    update_bridges__(engine);
    set_limits__(engine);
    engine_leads_update__(engine);
    engine_neighbours_update__(engine);
    engine_apply(engine);
    return NULL;
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

    engine->base = base;
    engine->epoch_log = epoch_log;
    engine->handlers = *handlers;
    engine->config = config;
    engine->overlay = overlay_create();
    engine->book = book_create();
    engine->server = ovs_server_create(base, committed_cb__, engine);
    engine->counters = counters_create();
    ovs_server_set_observer(engine->server, &observer, engine->counters);
    engine_changes_init__(engine);
    engine_operations_init__(engine);
    engine_neighbours_init__(engine);
    engine_leads_init__(engine);
    engine_cleanup_init__(engine);
    engine_control_init__(engine);
    engine_history_init__(engine);
    engine_held_init__(engine);

    error = start__(engine);
    if (error) {
        engine_destroy(engine);
        engine = NULL;
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
    engine->ending = true;
    store_close(engine->store);
    engine_changes_destroy__(engine);
    engine_operations_destroy__(engine);
    engine_control_destroy__(engine);
    engine_history_destroy__(engine);
    engine_cleanup_destroy__(engine);
    syncs_destroy(engine->syncs);
    engine_neighbours_destroy__(engine);
    engine_leads_destroy__(engine);
    ovs_server_destroy(engine->server);
    counters_destroy(engine->counters);
    for (size_t i = 0; i < engine->n_bridges; i++) {
        rule_set_unref(engine->bridges[i].rules);
        rule_set_unref(engine->bridges[i].held);
        engine_probe_destroy__(engine->bridges[i].probe);
    }
    free(engine->bridges);
    engine_state_free__(engine->state);
    overlay_destroy(engine->overlay);
    book_destroy(engine->book);
    evlb_config_destroy(engine->config);
    free(engine);
}

/* Returns the configuration in service. */
const struct evlb_config *
engine_get_config(const struct engine *engine)
{
    return engine->config;
}

/* Returns the book in service. */
const struct book *
engine_get_book(const struct engine *engine)
{
    return engine->book;
}

/* Returns the store, or NULL if nothing survives. */
struct store *
engine_get_store(struct engine *engine)
{
    return engine->store;
}

/* Returns the event loop that 'engine' lives in. */
struct event_base *
engine_get_base(const struct engine *engine)
{
    return engine->base;
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
