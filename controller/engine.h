/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ENGINE_H
#define EVLB_ENGINE_H 1

/* The engine: the one owner of the state in service.
 *
 *     configuration ---.
 *                      +--> struct state --> rule sets --> switches
 *     operator's -> overlay
 *
 * The state is immutable.  Whoever changes it, a reload or an operator, has
 * another one made and checked as a whole, and it takes the place of the old
 * one.  Pointers into a state are good until control returns to the event
 * loop.
 *
 * Operations of the operator are carried out one after the other.  Each calls
 * back exactly once, always later from the event loop, never from within the
 * call that started it.  What requests point to is copied. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/book.h"
#include "controller/core/calendar.h"
#include "controller/core/instance.h"
#include "controller/core/issue.h"
#include "controller/core/predictor.h"
#include "controller/sync.h"
#include "lib/histogram.h"

struct counters;
struct engine;
struct engine_draft;
struct epoch_log;
struct event_base;
struct evlb_config;
struct neighbours;
struct overlay;
struct ovs_server;
struct rule_set;
struct series;
struct store;

/* A change is given up if a switch has not committed it after this time. */
#define ENGINE_COMMIT_MS 10000

/* What the owner of the engine has a say in. */
struct engine_handlers {
    /* A reload is about to put 'config' in service.  Returns NULL if the owner
     * follows, or the reason why nothing is to be changed. */
    char *(*accept)(void *aux, const struct evlb_config *config);
    void *aux;
};

char *
engine_create(struct event_base *, struct evlb_config *, struct epoch_log *,
              const struct engine_handlers *, struct engine **);
void engine_destroy(struct engine *);

const struct evlb_config *engine_get_config(const struct engine *);
const struct book *engine_get_book(const struct engine *);
struct store *engine_get_store(struct engine *);
struct series *engine_get_series(const struct engine *);
struct event_base *engine_get_base(const struct engine *);
char *engine_get_state_file(const struct engine *);
const struct state *engine_get_state(const struct engine *);
struct ovs_server *engine_get_server(struct engine *);
const struct neighbours *engine_get_neighbours(const struct engine *);
const struct counters *engine_get_counters(const struct engine *);
const struct rule_set *
engine_get_rules(const struct engine *, uint64_t datapath_id);

/* What is known about an instance's ticks, and about how long changes take. */
struct engine_timing {
    uint32_t lead_ms;   /* How far ahead a boundary must lie. */
    bool lead_measured; /* Else it is the setting 'min_lead'. */

    bool has_sync; /* Is there Sync?  The rest is about that. */
    struct prediction now;
    struct sync_counters counters;
};

void engine_get_timing(const struct engine *, const struct instance *,
                       struct engine_timing *);
size_t engine_get_senders(const struct engine *, const struct instance *,
                          struct predictor_sender[PREDICTOR_MAX_SENDERS]);

char *engine_reload(struct engine *);
void engine_apply(struct engine *);

/* Where a new epoch begins. */
struct engine_boundary {
    bool automatic;    /* Let the engine choose, ignoring 'at_event'? */
    uint64_t at_event; /* The first tick. */
    bool force;        /* Even if nothing tells how far the ticks are? */
};

struct engine_epoch_request {
    const char *instance; /* Its name. */
    struct engine_boundary boundary;
    const struct calendar_share *shares;
    size_t n_shares;
};

/* How an operation ended. */
struct engine_result {
    uint16_t epoch;    /* The new epoch, */
    uint64_t boundary; /* and its first tick; 0 where there is none. */
    const char *notes; /* What else to know, whole sentences, perhaps "". */
};

/* Called at the end of an operation.  'error' is NULL if the change is stored
 * and every connected switch has committed it.  Otherwise it says why not, and
 * 'result' is NULL if nothing was changed. */
typedef void engine_done_cb(void *aux, const char *error,
                            const struct engine_result *result);

void engine_set_epoch(struct engine *, const struct engine_epoch_request *,
                      engine_done_cb *, void *aux);
void engine_drain(struct engine *, const char *instance, uint16_t member,
                  const struct engine_boundary *, engine_done_cb *, void *aux);
void engine_add_member(struct engine *, const char *instance,
                       const struct member *, engine_done_cb *, void *aux);
void engine_remove_member(struct engine *, const char *instance,
                          uint16_t member, engine_done_cb *, void *aux);

/* Changes of the book, and of what follows from it.
 *
 * A plan is called from the event loop, soon, with a draft of what is to be in
 * service.  It looks at the draft, for other changes may have come first,
 * changes it, and returns NULL; or it leaves it alone and returns an error,
 * which the engine frees.  It may be called again, with another draft.  What
 * was planned is stored, several changes at once, and put in service, and
 * 'done' is called last, exactly once. */
enum engine_outcome {
    ENGINE_DONE,      /* It is on the disk and in service. */
    ENGINE_REFUSED,   /* The plan returned 'error', or what it makes would
                       * contradict what is in service. */
    ENGINE_NOT_STORED /* It could not be stored, and nothing is changed. */
};

typedef char *engine_plan_cb(void *aux, struct engine_draft *);
typedef void
engine_changed_cb(void *aux, enum engine_outcome, const char *error);

void engine_change(struct engine *, engine_plan_cb *, engine_changed_cb *,
                   void *aux);

/* The state that follows from the draft. */
const struct state *engine_draft_state(struct engine_draft *);

/* What is to be in service: to look at, and to change. */
const struct book *engine_draft_book(const struct engine_draft *);
struct book *engine_draft_change_book(struct engine_draft *);
const struct overlay *engine_draft_overlay(const struct engine_draft *);
struct overlay *engine_draft_change_overlay(struct engine_draft *);

/* Ends 'reservation' of the draft's book, with its sessions, its tokens, and all
 * that its instance has. */
void engine_draft_free(struct engine_draft *, const struct reservation *);

/* Forgets what senders told about the ticks of 'instance'. */
void engine_reset_sync(struct engine *, uint16_t instance);

/* How long periods of the control loop took, in us, until what they changed was
 * in service. */
struct engine_periods {
    uint64_t n;
    uint64_t n_missed; /* That should have begun while another one lasted. */
    uint64_t n_failed; /* That could not be stored. */
    int64_t last_us;
    int64_t longest_us;
    int64_t total_us;
    struct histogram durations;
    struct histogram installs; /* The same until all connected switches held
                                * what they changed, if they changed rules. */
    uint64_t n_epochs;         /* That they connected. */
};

const struct engine_periods *engine_get_periods(const struct engine *);

/* What is wrong with 'instance' as of the last period. */
const struct issues *
engine_get_issues(const struct engine *, uint16_t instance);

#endif /* engine.h */
