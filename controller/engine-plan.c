/* SPDX-License-Identifier: Apache-2.0 */

/* What each operation of the operator changes. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"

/* Slot bits of an instance's first epoch. */
#define FIRST_BITS CALENDAR_BITS_MAX

/* Returns true if a bridge holds, or should hold, the epoch 'id' of
 * 'instance'. */
static bool
is_held__(const struct engine *engine, const struct instance *instance,
          uint16_t id)
{
    struct rule key = { .kind = RULE_CALENDAR };

    key.calendar.instance = instance->id;
    key.calendar.epoch = id;
    for (size_t i = 0; i < engine->n_bridges; i++) {
        const struct engine_bridge *b = &engine->bridges[i];

        if (rule_set_find(b->rules, &key)
            || (b->held && rule_set_find(b->held, &key))) {
            return true;
        }
    }
    return false;
}

/* Returns the id of the next epoch of 'instance': behind the newest one's, but
 * none that is connected anywhere.  There are always fewer than ids. */
static uint16_t
next_id__(const struct engine *engine, const struct instance *instance)
{
    const struct epoch *newest = epochs_newest(&instance->epochs);
    uint16_t id = newest ? (uint16_t) (newest->id + 1) : 1;

    while (epochs_find_id(&instance->epochs, id)
           || is_held__(engine, instance, id)) {
        id++;
    }
    return id;
}

/* Decides where 'op''s epoch begins. */
static char *
plan_boundary__(const struct engine *engine, const struct instance *instance,
                struct operation *op)
{
    char *error, *note;

    if (op->boundary.automatic) {
        return engine_choose_boundary__(engine, instance,
                                        &op->result.boundary);
    }
    op->result.boundary = op->boundary.at_event;
    error = engine_check_boundary__(engine, instance, op->result.boundary,
                                    op->boundary.force, &note);
    if (note) {
        operation_note__(op, "%s", note);
        free(note);
    }
    return error;
}

/* Connects the epoch of 'shares' to 'instance' of 'overlay'. */
static char *
plan_epoch__(const struct engine *engine, const struct instance *instance,
             struct operation *op, const struct calendar_share *shares,
             size_t n, struct overlay *overlay)
{
    const struct epoch *newest = epochs_newest(&instance->epochs);
    const struct calendar *calendar;
    char *error, *reason;

    reason = calendar_create(
        shares, n, newest ? newest->calendar->bits : FIRST_BITS, &calendar);
    if (reason) {
        error = mem_printf("instance %s: %s", instance->name, reason);
        free(reason);
        return error;
    }
    error = plan_boundary__(engine, instance, op);
    if (!error) {
        op->result.epoch = next_id__(engine, instance);
        error = overlay_connect(overlay, instance->id, op->result.epoch,
                                op->result.boundary, newest ? newest->xor : 0,
                                calendar);
    }
    calendar_unref(calendar);
    return error;
}

static char *
plan_set__(struct engine *engine, const struct instance *instance,
           struct operation *op, struct overlay *overlay)
{
    for (size_t i = 0; i < op->n_shares; i++) {
        if (!instance_find_member(instance, op->shares[i].member)) {
            return mem_printf("instance %s has no member %" PRIu16,
                              instance->name, op->shares[i].member);
        }
    }
    return plan_epoch__(engine, instance, op, op->shares, op->n_shares,
                        overlay);
}

static char *
plan_drain__(struct engine *engine, const struct instance *instance,
             struct operation *op, struct overlay *overlay)
{
    const struct epoch *newest = epochs_newest(&instance->epochs);
    struct calendar_share *shares;
    size_t n = 0;
    char *error;

    if (!newest) {
        return mem_printf("instance %s has no epoch", instance->name);
    }
    shares = mem_alloc(newest->calendar->n_shares * sizeof *shares);
    for (size_t i = 0; i < newest->calendar->n_shares; i++) {
        if (newest->calendar->shares[i].member != op->member.id) {
            shares[n++] = newest->calendar->shares[i];
        }
    }
    if (n == newest->calendar->n_shares) {
        error = mem_printf("instance %s: the newest epoch, %" PRIu16
                           ", does not name member %" PRIu16,
                           instance->name, newest->id, op->member.id);
    } else {
        error = plan_epoch__(engine, instance, op, shares, n, overlay);
    }
    free(shares);
    return error;
}

static char *
plan_add__(struct engine *engine, const struct instance *instance,
           struct operation *op, struct overlay *overlay)
{
    const struct member *same = instance_find_member(instance, op->member.id);
    char *error, *reason;

    (void) engine;
    if (same) {
        return mem_printf("instance %s has a member %" PRIu16 " already",
                          instance->name, op->member.id);
    }
    reason = instance_check_member(instance, &op->member);
    if (reason) {
        error = mem_printf("instance %s, member %" PRIu16 ": %s",
                           instance->name, op->member.id, reason);
        free(reason);
        return error;
    }
    overlay_add_member(overlay, instance->id, &op->member);
    return NULL;
}

static char *
plan_remove__(struct engine *engine, const struct instance *instance,
              struct operation *op, struct overlay *overlay)
{
    const struct member *member =
        instance_find_member(instance, op->member.id);
    const struct epoch *epoch;

    (void) engine;
    if (!member) {
        return mem_printf("instance %s has no member %" PRIu16, instance->name,
                          op->member.id);
    }
    if (member->line) {
        return mem_printf("instance %s: member %" PRIu16 " is in the "
                          "configuration, line %d: take it out there and "
                          "reload",
                          instance->name, member->id, member->line);
    }
    if (epochs_use_member(&instance->epochs, member->id, &epoch)) {
        return mem_printf("instance %s: epoch %" PRIu16 ", which is "
                          "connected, names member %" PRIu16 ": drain it, "
                          "and remove it when that epoch is gone",
                          instance->name, epoch->id, member->id);
    }
    overlay_remove_member(overlay, instance->id, member->id);
    return NULL;
}

static char *
plan_clean_up__(struct engine *engine, const struct instance *instance,
                struct operation *op, struct overlay *overlay)
{
    uint64_t oldest = engine_cleanup_oldest__(engine, instance);

    (void) op;
    if (oldest) {
        overlay_retire(overlay, instance->id, oldest);
    }
    return NULL;
}

/* Makes in 'overlay', which is that in service, the changes that 'op' asks for.
 * Returns NULL, or the reason why it cannot be done, which the caller must
 * free. */
char *
operation_plan__(struct engine *engine, struct operation *op,
                 struct overlay *overlay)
{
    typedef char *plan(struct engine *, const struct instance *,
                       struct operation *, struct overlay *);
    static plan *const plans[] = {
#define ENGINE_OPERATION(TYPE, NAME) [OPERATION_##TYPE] = plan_##NAME##__,
        ENGINE_OPERATIONS
#undef ENGINE_OPERATION
    };
    const struct instance *instance =
        state_find_instance_by_name(engine->state, op->instance);

    if (!instance) {
        return mem_printf("there is no instance \"%s\"", op->instance);
    }
    return plans[op->type](engine, instance, op, overlay);
}
