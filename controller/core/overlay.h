/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVERLAY_H
#define EVLB_OVERLAY_H 1

/* What operators change at run time, on top of the configuration.
 *
 *     configuration ---.
 *                      +--- overlay_apply() ---> state in service
 *     overlay ---------'
 *
 * An overlay holds, for each instance that was changed, the members that were
 * added, the epochs that were connected, and how many of the oldest epochs
 * were taken out, be they its own or the configuration's.  A reload puts
 * another configuration under the same overlay.
 *
 * Of an instance that is reserved, all of that and the sources are here, and
 * nothing in the configuration.  Whenever its ticks begin anew, because it is
 * reserved, freed or reset, a new generation of its epochs begins, which has
 * nothing to do with the one before.
 *
 * To change what is in service, clone its overlay, change the clone, apply it
 * and let state_check_successor() decide.  The functions here check only what
 * keeps an overlay whole. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/epoch.h"
#include "controller/core/instance.h"

struct overlay_instance {
    uint16_t id;            /* The instance's. */
    bool changed;           /* Since overlay_forget_changes()? */
    struct member *members; /* Added ones, by ascending 'id'. */
    size_t n_members;
    size_t allocated_members;
    struct epochs epochs; /* Connected ones. */
    uint64_t oldest;      /* Epochs that begin before are taken out. */
    uint64_t generation;  /* Of epochs. */
    uint16_t last_epoch;  /* The id that was given last. */
    bool untouched;       /* May its only epoch still be replaced? */
    uint64_t *carriers;   /* Datapath ids of bridges that took one of its
                               * epochs, of this generation. */
    size_t n_carriers;
    size_t allocated_carriers;
    struct in6_addr *sources; /* Senders of a reserved instance. */
    size_t n_sources;
    size_t allocated_sources;
    bool chained; /* Do events come to a chain's ports, too?  (core/chain.h) */
};

struct overlay {
    struct overlay_instance *instances;
    size_t n;
    size_t allocated;
};

struct overlay *overlay_create(void);
struct overlay *overlay_clone(const struct overlay *);
void overlay_destroy(struct overlay *);
void overlay_forget_changes(struct overlay *);

const struct overlay_instance *
overlay_find(const struct overlay *, uint16_t instance);

void
overlay_add_member(struct overlay *, uint16_t instance, const struct member *);
void overlay_remove_member(struct overlay *, uint16_t instance, uint16_t id);
char *overlay_connect(struct overlay *, uint16_t instance, uint16_t id,
                      uint64_t first, uint16_t xor, const struct calendar *);
void overlay_withdraw(struct overlay *, uint16_t instance, uint16_t epoch);
void overlay_retire(struct overlay *, uint16_t instance, uint64_t oldest);
void overlay_add_source(struct overlay *, uint16_t instance,
                        const struct in6_addr *);
void overlay_clear_sources(struct overlay *, uint16_t instance);
void overlay_set_chained(struct overlay *, uint16_t instance);
void
overlay_add_carrier(struct overlay *, uint16_t instance, uint64_t datapath_id);
bool
overlay_has_carrier(const struct overlay_instance *, uint64_t datapath_id);
void overlay_clear_members(struct overlay *, uint16_t instance);
void overlay_clear_epochs(struct overlay *, uint16_t instance);
void overlay_begin_generation(struct overlay *, uint16_t instance);
void overlay_set_generation(struct overlay *, uint16_t instance,
                            uint64_t generation, uint16_t last_epoch);
void overlay_set_untouched(struct overlay *, uint16_t instance, bool);
bool overlay_forget_missing(struct overlay *, const struct state *config);

char *overlay_apply(const struct overlay *, const struct state *config,
                    struct state **, int *line);

#endif /* overlay.h */
