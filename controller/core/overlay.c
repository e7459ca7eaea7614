/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/overlay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar.h"
#include "controller/core/chain.h"
#include "controller/core/mem.h"

/* Returns an overlay that changes nothing. */
struct overlay *
overlay_create(void)
{
    return mem_zalloc(sizeof(struct overlay));
}

static void
overlay_instance_destroy__(struct overlay_instance *o)
{
    free(o->members);
    free(o->sources);
    free(o->carriers);
    epochs_destroy(&o->epochs);
}

/* Destroys 'overlay', which may be NULL. */
void
overlay_destroy(struct overlay *overlay)
{
    if (overlay) {
        for (size_t i = 0; i < overlay->n; i++) {
            overlay_instance_destroy__(&overlay->instances[i]);
        }
        free(overlay->instances);
        free(overlay);
    }
}

/* Returns the part of 'overlay' for 'instance', or NULL if it changes nothing
 * there. */
const struct overlay_instance *
overlay_find(const struct overlay *overlay, uint16_t instance)
{
    for (size_t i = 0; i < overlay->n; i++) {
        if (overlay->instances[i].id == instance) {
            return &overlay->instances[i];
        }
    }
    return NULL;
}

/* Returns the part of 'overlay' for 'instance', which is made if needed. */
static struct overlay_instance *
overlay_get__(struct overlay *overlay, uint16_t instance)
{
    const struct overlay_instance *found = overlay_find(overlay, instance);
    struct overlay_instance *o;

    if (found) {
        o = (struct overlay_instance *) found;
        o->changed = true;
        return o;
    }
    if (overlay->n >= overlay->allocated) {
        overlay->instances = mem_grow(overlay->instances, &overlay->allocated,
                                      sizeof *overlay->instances);
    }
    o = &overlay->instances[overlay->n++];
    *o = (struct overlay_instance){ .id = instance, .changed = true };
    epochs_init(&o->epochs);
    return o;
}

/* Returns a copy of 'overlay', which the caller must destroy. */
struct overlay *
overlay_clone(const struct overlay *overlay)
{
    struct overlay *copy = overlay_create();

    for (size_t i = 0; i < overlay->n; i++) {
        const struct overlay_instance *from = &overlay->instances[i];
        struct overlay_instance *to = overlay_get__(copy, from->id);

        to->oldest = from->oldest;
        to->generation = from->generation;
        to->last_epoch = from->last_epoch;
        to->untouched = from->untouched;
        to->sources =
            mem_dup(from->sources, from->n_sources * sizeof *to->sources);
        to->n_sources = from->n_sources;
        to->carriers =
            mem_dup(from->carriers, from->n_carriers * sizeof *to->carriers);
        to->n_carriers = from->n_carriers;
        to->allocated_carriers = from->n_carriers;
        to->allocated_sources = from->n_sources;
        epochs_clone(&to->epochs, &from->epochs);
        to->members =
            mem_dup(from->members, from->n_members * sizeof *to->members);
        to->n_members = from->n_members;
        to->allocated_members = from->n_members;
        to->changed = from->changed;
    }
    return copy;
}

/* From now on, only instances that change after this count as changed. */
void
overlay_forget_changes(struct overlay *overlay)
{
    for (size_t i = 0; i < overlay->n; i++) {
        overlay->instances[i].changed = false;
    }
}

/* Adds 'member' to 'instance', in the place of one with the same id. */
void
overlay_add_member(struct overlay *overlay, uint16_t instance,
                   const struct member *member)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);
    size_t i = 0;

    overlay_remove_member(overlay, instance, member->id);
    if (o->n_members >= o->allocated_members) {
        o->members =
            mem_grow(o->members, &o->allocated_members, sizeof *o->members);
    }
    while (i < o->n_members && o->members[i].id < member->id) {
        i++;
    }
    memmove(&o->members[i + 1], &o->members[i],
            (o->n_members++ - i) * sizeof *o->members);
    o->members[i] = *member;
    o->members[i].line = 0;
}

/* Removes the member 'id' of 'instance', if it was added. */
void
overlay_remove_member(struct overlay *overlay, uint16_t instance, uint16_t id)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    for (size_t i = 0; i < o->n_members; i++) {
        if (o->members[i].id == id) {
            memmove(&o->members[i], &o->members[i + 1],
                    (--o->n_members - i) * sizeof *o->members);
            return;
        }
    }
}

/* Connects an epoch to 'instance', as epochs_connect() does. */
char *
overlay_connect(struct overlay *overlay, uint16_t instance, uint16_t id,
                uint64_t first, uint16_t xor, const struct calendar *calendar)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);
    char *error = epochs_connect(&o->epochs, id, first, xor, calendar);

    if (!error) {
        o->last_epoch = id;
    }
    return error;
}

/* Takes the epoch 'id' out of 'instance', which decides about nothing: no switch
 * has it. */
void
overlay_withdraw(struct overlay *overlay, uint16_t instance, uint16_t id)
{
    epochs_remove(&overlay_get__(overlay, instance)->epochs, id);
}

/* Takes out the epochs of 'instance' that begin before the tick 'oldest'. */
void
overlay_retire(struct overlay *overlay, uint16_t instance, uint64_t oldest)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    o->oldest = oldest;
    epochs_retire(&o->epochs, oldest);
}

/* Lets 'source' send to 'instance'. */
void
overlay_add_source(struct overlay *overlay, uint16_t instance,
                   const struct in6_addr *source)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    if (o->n_sources >= o->allocated_sources) {
        o->sources =
            mem_grow(o->sources, &o->allocated_sources, sizeof *o->sources);
    }
    o->sources[o->n_sources++] = *source;
}

/* Lets nobody send to 'instance'. */
void
overlay_clear_sources(struct overlay *overlay, uint16_t instance)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    o->n_sources = 0;
    o->chained = false;
}

/* Lets events for 'instance' come to the ports of a chain, too, until sources
 * are cleared. */
void
overlay_set_chained(struct overlay *overlay, uint16_t instance)
{
    overlay_get__(overlay, instance)->chained = true;
}

/* Returns true if the bridge 'datapath_id' took an epoch of 'o'. */
bool
overlay_has_carrier(const struct overlay_instance *o, uint64_t datapath_id)
{
    for (size_t i = 0; i < o->n_carriers; i++) {
        if (o->carriers[i] == datapath_id) {
            return true;
        }
    }
    return false;
}

/* Notes that the bridge 'datapath_id' took an epoch of 'instance'. */
void
overlay_add_carrier(struct overlay *overlay, uint16_t instance,
                    uint64_t datapath_id)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    if (overlay_has_carrier(o, datapath_id)) {
        return;
    }
    if (o->n_carriers >= o->allocated_carriers) {
        o->carriers =
            mem_grow(o->carriers, &o->allocated_carriers, sizeof *o->carriers);
    }
    o->carriers[o->n_carriers++] = datapath_id;
}

/* Removes the members of 'instance' that were added. */
void
overlay_clear_members(struct overlay *overlay, uint16_t instance)
{
    overlay_get__(overlay, instance)->n_members = 0;
}

/* Takes out the epochs of 'instance' that were connected. */
void
overlay_clear_epochs(struct overlay *overlay, uint16_t instance)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    epochs_destroy(&o->epochs);
    epochs_init(&o->epochs);
    o->oldest = 0;
    o->untouched = false;
}

/* Begins another generation of epochs of 'instance', which has none yet. */
void
overlay_begin_generation(struct overlay *overlay, uint16_t instance)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    overlay_clear_epochs(overlay, instance);
    o->n_carriers = 0;
    o->generation++;
}

/* Says which generation of epochs 'instance' has, and the id of the last
 * one. */
void
overlay_set_generation(struct overlay *overlay, uint16_t instance,
                       uint64_t generation, uint16_t last_epoch)
{
    struct overlay_instance *o = overlay_get__(overlay, instance);

    o->generation = generation;
    o->last_epoch = last_epoch;
}

/* Says whether the only epoch of 'instance' may still be replaced. */
void
overlay_set_untouched(struct overlay *overlay, uint16_t instance,
                      bool untouched)
{
    overlay_get__(overlay, instance)->untouched = untouched;
}

/* Drops what 'overlay' says about instances that are not in 'config'.  Returns
 * true if there was something. */
bool
overlay_forget_missing(struct overlay *overlay, const struct state *config)
{
    size_t n = 0;
    bool any;

    for (size_t i = 0; i < overlay->n; i++) {
        struct overlay_instance *o = &overlay->instances[i];

        if (state_find_instance(config, o->id)) {
            overlay->instances[n++] = *o;
        } else {
            overlay_instance_destroy__(o);
        }
    }
    any = n != overlay->n;
    overlay->n = n;
    return any;
}

/* Adds the members of 'o' to 'instance'.  One that the configuration has as
 * well is the configuration's. */
static void
apply_members__(const struct overlay_instance *o, struct instance *instance)
{
    struct member *merged;
    size_t n = 0;
    size_t i = 0;

    merged = mem_alloc((o->n_members + instance->n_members) * sizeof *merged);
    for (size_t j = 0; j < instance->n_members; j++) {
        while (i < o->n_members
               && o->members[i].id < instance->members[j].id) {
            merged[n++] = o->members[i++];
        }
        if (i < o->n_members && o->members[i].id == instance->members[j].id) {
            i++;
        }
        merged[n++] = instance->members[j];
    }
    while (i < o->n_members) {
        merged[n++] = o->members[i++];
    }
    free(instance->members);
    instance->members = merged;
    instance->n_members = n;
}

/* Lets the senders of 'o' into 'instance'. */
static void
apply_sources__(const struct overlay_instance *o, struct instance *instance)
{
    if (instance->reservable) {
        free(instance->sources);
        instance->sources =
            mem_zalloc(o->n_sources * sizeof *instance->sources);
        instance->n_sources = o->n_sources;
        for (size_t i = 0; i < o->n_sources; i++) {
            instance->sources[i] = (struct addr_block){ o->sources[i], 128 };
        }
    }
}

/* Lets events for 'instance' come to the ports of a chain, too. */
static void
apply_chain__(const struct overlay_instance *o, struct instance *instance)
{
    const uint16_t last = CHAIN_PORT + (1u << CHAIN_PORT_BITS) - 1;

    if (o->chained && instance->reservable) {
        instance->first_port =
            (instance->first_port < CHAIN_PORT ? instance->first_port
                                               : CHAIN_PORT);
        instance->last_port =
            instance->last_port > last ? instance->last_port : last;
    }
}

/* Connects 'epoch', from 'line' of the configuration, to 'instance', unless it
 * has been connected. */
static char *
apply_epoch__(struct instance *instance, const struct epoch *epoch, int line,
              int *error_line)
{
    const struct epoch *same = epochs_find_id(&instance->epochs, epoch->id);
    char *reason, *error;

    if (same && epoch_equal(same, epoch)) {
        return NULL;
    }
    reason = epochs_connect(&instance->epochs, epoch->id, epoch->first,
                            epoch->xor, epoch->calendar);
    if (!reason) {
        instance->epoch_lines[instance->epochs.n - 1] = line;
        return NULL;
    }
    *error_line = line ? line : instance->line;
    error = mem_printf("instance %s: %s (one of them was connected at run "
                       "time)",
                       instance->name, reason);
    free(reason);
    return error;
}

/* Makes the epochs of 'instance', which has those of the configuration, the
 * union with those of 'o', by ascending tick, without the oldest. */
static char *
apply_epochs__(const struct overlay_instance *o, struct instance *instance,
               int *line)
{
    struct epochs config = instance->epochs;
    int *lines = instance->epoch_lines;
    char *error = NULL;
    size_t i = 0;
    size_t j = 0;

    epochs_init(&instance->epochs);
    instance->epoch_lines = mem_zalloc((config.n + o->epochs.n) * sizeof(int));
    while (!error && (i < config.n || j < o->epochs.n)) {
        const struct epoch *a = i < config.n ? config.epochs[i] : NULL;
        const struct epoch *b = j < o->epochs.n ? o->epochs.epochs[j] : NULL;

        if (a && a->first < o->oldest) {
            i++;
        } else if (a && (!b || a->first <= b->first)) {
            error = apply_epoch__(instance, a, lines[i++], line);
        } else if (b) {
            error = apply_epoch__(instance, b, 0, line);
            j++;
        }
    }
    epochs_destroy(&config);
    free(lines);
    return error;
}

/* Checks that the members of 'instance''s epochs are there: that those of the
 * configuration still are. */
static char *
check_members__(const struct instance *instance, int *line)
{
    for (size_t i = 0; i < instance->epochs.n; i++) {
        const struct epoch *epoch = instance->epochs.epochs[i];

        for (size_t j = 0; j < epoch->calendar->n_shares; j++) {
            uint16_t member = epoch->calendar->shares[j].member;

            if (!instance_find_member(instance, member)) {
                *line = instance->line;
                return mem_printf("instance %s: epoch %" PRIu16 ", which is "
                                  "connected, names member %" PRIu16
                                  ", which is not there",
                                  instance->name, epoch->id, member);
            }
        }
    }
    return NULL;
}

/* Makes the state that follows from 'config' and 'overlay'.
 *
 * Returns NULL and stores in '*statep' the state, which the caller must destroy
 * and free.  If the two contradict each other, returns the reason, which the
 * caller must free, stores in '*line' the line of the configuration that is to
 * blame, and stores NULL in '*statep'. */
char *
overlay_apply(const struct overlay *overlay, const struct state *config,
              struct state **statep, int *line)
{
    struct state *state = mem_alloc(sizeof *state);
    char *error = NULL;

    *line = 0;
    state_clone(state, config);
    for (size_t i = 0; !error && i < state->n_instances; i++) {
        struct instance *instance = &state->instances[i];
        const struct overlay_instance *o = overlay_find(overlay, instance->id);

        if (o) {
            instance->generation = o->generation;
            instance->last_epoch = o->last_epoch;
            instance->untouched = o->untouched;
            apply_sources__(o, instance);
            apply_chain__(o, instance);
            apply_members__(o, instance);
            error = apply_epochs__(o, instance, line);
            error = error ? error : check_members__(instance, line);
        }
    }
    if (error) {
        state_destroy(state);
        free(state);
        state = NULL;
    }
    *statep = state;
    return error;
}
