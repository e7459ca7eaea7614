/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ENGINE_PRIVATE_H
#define EVLB_ENGINE_PRIVATE_H 1

/* Within the engine:
 *
 *     engine.c             life, configuration, what switches hold
 *     engine-carry.c       which bridges carry an instance that is reserved
 *     engine-change.c      changes, from the plan to what is in service
 *     engine-cleanup.c     epochs that are over
 *     engine-held.c        what a switch that comes back is not given any more
 *     engine-history.c     what happened
 *     engine-lead.c        how long changes take
 *     engine-neighbour.c   where members are
 *     engine-control.c     the control loop of instances that are reserved
 *     engine-operation.c   the operator's changes, until switches have them
 *     engine-plan.c        what each of them changes
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
struct engine_history;
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

    struct book *book;

    struct ovs_list changes;    /* That are to be planned. */
    struct engine_batch *batch; /* That are being stored, or NULL. */
    struct event *change_timer;
    bool ending;         /* Is the engine being destroyed? */
    struct store *store; /* NULL if nothing survives. */
    struct engine_history *history;
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

    struct ovs_list operations; /* That are no part of 'state' yet. */
    struct ovs_list committing; /* That are, but switches may lack them. */
    struct event *timer;        /* For these. */

    struct engine_control *control;
};

/* What is to be in service: what differs from the engine's. */
struct engine_draft {
    struct engine *engine;
    struct book *book;       /* Or NULL if it is the same. */
    struct overlay *overlay; /* Likewise. */
    struct state *state;     /* What follows from 'overlay', or NULL. */
    bool stale;              /* Was 'overlay' changed since then? */
};

/* Changes that are stored together. */
struct engine_batch {
    struct ovs_list changes;
    struct engine_draft draft;
    int64_t planned; /* When. */
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

struct operation {
    struct ovs_list node; /* In the engine's 'operations' or 'committing'. */
    struct engine *engine;
    enum operation_type type;

    /* The request. */
    char *instance;
    struct engine_boundary boundary;
    struct calendar_share *shares;
    size_t n_shares;
    struct member member; /* Only its 'id' except for ADD_MEMBER. */
    engine_done_cb *done; /* NULL if nobody asked for it. */
    void *aux;

    /* What came of it. */
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

/* engine-carry.c */
const char *
engine_find_absent__(const struct engine *, const struct instance *);
void engine_carry__(struct engine *, const struct engine_bridge *);

/* engine-change.c */
void engine_changes_init__(struct engine *);
void engine_changes_destroy__(struct engine *);
void engine_changes_wake__(struct engine *);
void
engine_draft_rebase__(struct engine_draft *, struct overlay *, struct state *);

/* engine-control.c */
void engine_control_init__(struct engine *);
void engine_control_destroy__(struct engine *);
void engine_control_start__(struct engine *);
void engine_control_committed__(struct engine *);
void engine_control_update__(struct engine *);

/* engine-cleanup.c */
void engine_cleanup_init__(struct engine *);
void engine_cleanup_destroy__(struct engine *);
void engine_cleanup_update__(struct engine *);
uint64_t
engine_cleanup_oldest__(const struct engine *, const struct instance *);

/* engine-held.c */
void engine_held_init__(struct engine *);

/* engine-history.c */
void engine_history_init__(struct engine *);
void engine_history_destroy__(struct engine *);
void engine_history_open__(struct engine *, const char *file);
void engine_history_start__(struct engine *);
void engine_history_update__(struct engine *);
void engine_history_record__(struct engine *);
void
engine_history_set_seed__(struct engine *, uint16_t instance, uint64_t seed);

/* engine-store.c */
char *engine_store_open__(struct engine *);
void engine_store_add_issues__(struct engine *, struct issues *);
void engine_store_draft__(struct engine *, const struct engine_draft *,
                          store_done_cb *, void *aux);
void engine_store_undo__(struct engine *, const struct engine_draft *);
void engine_store_changed__(struct engine *, const struct overlay *changed,
                            const struct overlay *, store_done_cb *);
void engine_store_neighbour__(struct engine *, const struct neighbour *,
                              bool known);
void engine_store_forget_reservations__(struct engine *);
void engine_store_forget__(struct engine *, const struct overlay *old,
                           const struct overlay *new);

/* engine-timing.c */
char *engine_check_boundary__(const struct engine *, const struct instance *,
                              uint64_t first, bool force, char **note);
char *engine_check_boundaries__(const struct engine *, const struct state *new,
                                int *line);
char *engine_choose_boundary__(const struct engine *, const struct instance *,
                               uint64_t *first);

char *engine_check_late__(const struct engine *, const struct state *new);

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
char *operation_plan__(struct operation *, struct engine_draft *);
uint16_t engine_next_epoch__(const struct engine *, const struct instance *);

#endif /* engine-private.h */
