/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ENGINE_PRIVATE_H
#define EVLB_ENGINE_PRIVATE_H 1

/* Within the engine:
 *
 *     engine.c             life, configuration, what switches hold
 *     engine-cleanup.c     epochs that are over
 *     engine-lead.c        how long changes take
 *     engine-neighbour.c   where members are
 *     engine-operation.c   operations one after the other, up to the call back
 *     engine-plan.c        what an operation changes in the overlay
 *     engine-store.c       what survives a restart
 *     engine-timing.c      where boundaries may lie */

#include "controller/engine.h"

#include <config.h>
#include <openvswitch/list.h>

#include "controller/core/lead.h"
#include "controller/core/neighbour.h"
#include "controller/core/overlay.h"
#include "controller/store/store.h"

struct engine_epoch_time;
struct engine_probe;
struct event;
struct syncs;

/* What a bridge should hold, and whether it does. */
struct engine_bridge {
    uint64_t datapath_id;
    const struct rule_set *rules;
    const struct rule_set *held; /* What it held at last, or NULL. */
    uint64_t version;            /* The engine's when 'rules' were made. */
    uint64_t committed;          /* The newest version that the switch held. */
    struct lead lead;
    struct engine_probe *probe; /* What measures 'lead', or NULL. */
};

/* Questions for one instance that were answered. */
struct engine_answers {
    int64_t second; /* In which. */
    unsigned int n;
};

struct engine {
    struct event_base *base;
    struct epoch_log *epoch_log;
    struct engine_handlers handlers;
    struct ovs_server *server;
    struct counters *counters;

    struct evlb_config *config;
    struct overlay *overlay;
    struct state *state; /* What follows from these two. */
    uint64_t version;    /* Increases with each change of what is wanted. */

    struct operation *storing; /* Whose overlay is being stored, or NULL. */
    struct store *store;       /* NULL if nothing survives. */
    struct syncs *syncs;

    struct engine_bridge *bridges;
    size_t n_bridges;

    struct engine_epoch_time *epoch_times;
    size_t n_epoch_times;
    struct event *cleanup_timer;

    struct neighbours neighbours;
    bool neighbour_news; /* Was something found that is not applied yet? */
    struct event *neighbour_timer;
    struct event *lead_timer;
    struct engine_answers answers[INSTANCE_ID_MAX + 1];

    struct ovs_list operations; /* The first one is under way. */
    struct event *timer;        /* For them. */
};

#define ENGINE_OPERATIONS                   \
    ENGINE_OPERATION(SET_EPOCH, set)        \
    ENGINE_OPERATION(DRAIN, drain)          \
    ENGINE_OPERATION(ADD_MEMBER, add)       \
    ENGINE_OPERATION(REMOVE_MEMBER, remove) \
    ENGINE_OPERATION(CLEAN_UP, clean_up)

enum operation_type {
#define ENGINE_OPERATION(TYPE, NAME) OPERATION_##TYPE,
    ENGINE_OPERATIONS
#undef ENGINE_OPERATION
};

enum operation_phase {
    OPERATION_QUEUED,
    OPERATION_STORING,    /* Waiting for the store. */
    OPERATION_COMMITTING, /* Waiting for switches. */
};

struct operation {
    struct ovs_list node; /* In struct engine's 'operations'. */
    enum operation_type type;
    enum operation_phase phase;

    /* The request. */
    char *instance;
    struct engine_boundary boundary;
    struct calendar_share *shares;
    size_t n_shares;
    struct member member; /* Only its 'id' except for ADD_MEMBER. */
    engine_done_cb *done; /* NULL if nobody asked for it. */
    void *aux;

    /* What came of it. */
    struct engine *engine;
    struct overlay *overlay; /* STORING only: what is to be in service. */
    struct state *state;
    struct engine_result result;
    char *notes;
    uint64_t version; /* That the switches must commit. */
    int64_t deadline; /* For them. */
};

/* engine.c */
struct engine_bridge *
engine_find_bridge__(struct engine *, uint64_t datapath_id);
char *
engine_check__(const struct engine *, const struct overlay *, struct state **);
void engine_serve__(struct engine *, struct overlay *, struct state *);
void engine_state_free__(struct state *);

/* engine-cleanup.c */
void engine_cleanup_init__(struct engine *);
void engine_cleanup_destroy__(struct engine *);
void engine_cleanup_update__(struct engine *);
uint64_t
engine_cleanup_oldest__(const struct engine *, const struct instance *);

/* engine-store.c */
char *engine_store_open__(struct engine *);
void engine_store_put__(struct engine *, const struct overlay *,
                        uint16_t instance, store_done_cb *, void *aux);
void engine_store_forget__(struct engine *, const struct overlay *old,
                           const struct overlay *new);

/* engine-timing.c */
char *engine_check_boundary__(const struct engine *, const struct instance *,
                              uint64_t first, bool force, char **note);
char *engine_check_boundaries__(const struct engine *, const struct state *new,
                                int *line);
char *engine_choose_boundary__(const struct engine *, const struct instance *,
                               uint64_t *first);

/* engine-lead.c */
void engine_leads_init__(struct engine *);
void engine_leads_destroy__(struct engine *);
void engine_leads_update__(struct engine *);
uint16_t engine_lead_begin__(struct engine_bridge *);
void engine_lead_end__(struct engine_bridge *);
void engine_probe_destroy__(struct engine_probe *);

/* engine-neighbour.c */
void engine_neighbours_init__(struct engine *);
void engine_neighbours_destroy__(struct engine *);
void engine_neighbours_update__(struct engine *);

/* engine-operation.c */
void engine_operations_init__(struct engine *);
void engine_operations_destroy__(struct engine *);
void engine_operations_wake__(struct engine *);
void engine_clean_up__(struct engine *, const char *instance);
void operation_note__(struct operation *, const char *format, ...)
    __attribute__((__format__(printf, 2, 3)));

/* engine-plan.c */
char *operation_plan__(struct engine *, struct operation *, struct overlay *);

#endif /* engine-private.h */
