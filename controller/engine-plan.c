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

/* Returns the id of the next epoch of 'instance': behind the last one's, but
 * none that is connected anywhere.  There are always fewer than ids. */
uint16_t
engine_next_epoch__(const struct engine *engine,
                    const struct instance *instance)
{
    const struct epoch *newest = epochs_newest(&instance->epochs);
    uint16_t last =
        newest && !instance->reservable ? newest->id : instance->last_epoch;
    uint16_t id = (uint16_t) (last + 1);

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

/* Connects the epoch of 'shares' to 'instance'. */
static char *
plan_epoch__(struct operation *op, const struct instance *instance,
             const struct calendar_share *shares, size_t n,
             struct engine_draft *draft)
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
    error = plan_boundary__(op->engine, instance, op);
    if (!error) {
        uint16_t xor = newest ? newest->xor : 0;

        op->result.epoch = engine_next_epoch__(op->engine, instance);
        error = overlay_connect(engine_draft_change_overlay(draft),
                                instance->id, op->result.epoch,
                                op->result.boundary, xor, calendar);
    }
    calendar_unref(calendar);
    return error;
}

static char *
plan_set__(struct operation *op, const struct instance *instance,
           struct engine_draft *draft)
{
    for (size_t i = 0; i < op->n_shares; i++) {
        if (!instance_find_member(instance, op->shares[i].member)) {
            return mem_printf("instance %s has no member %" PRIu16,
                              instance->name, op->shares[i].member);
        }
    }
    return plan_epoch__(op, instance, op->shares, op->n_shares, draft);
}

static char *
plan_drain__(struct operation *op, const struct instance *instance,
             struct engine_draft *draft)
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
        error = plan_epoch__(op, instance, shares, n, draft);
    }
    free(shares);
    return error;
}

static char *
plan_add__(struct operation *op, const struct instance *instance,
           struct engine_draft *draft)
{
    const struct member *same = instance_find_member(instance, op->member.id);
    char *error, *reason;

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
    overlay_add_member(engine_draft_change_overlay(draft), instance->id,
                       &op->member);
    return NULL;
}

static char *
plan_remove__(struct operation *op, const struct instance *instance,
              struct engine_draft *draft)
{
    const struct member *member =
        instance_find_member(instance, op->member.id);
    const struct epoch *epoch;

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
    overlay_remove_member(engine_draft_change_overlay(draft), instance->id,
                          op->member.id);
    return NULL;
}

static char *
plan_clean_up__(struct operation *op, const struct instance *instance,
                struct engine_draft *draft)
{
    uint64_t oldest = engine_cleanup_oldest__(op->engine, instance);

    if (oldest) {
        overlay_retire(engine_draft_change_overlay(draft), instance->id,
                       oldest);
    }
    return NULL;
}

/* Makes in 'draft' the changes that 'op' asks for.
 * Returns NULL, or the reason why it cannot be done, which the caller must
 * free. */
char *
operation_plan__(struct operation *op, struct engine_draft *draft)
{
    typedef char *plan(struct operation *, const struct instance *,
                       struct engine_draft *);
    static plan *const plans[] = {
#define ENGINE_OPERATION(TYPE, NAME) [OPERATION_##TYPE] = plan_##NAME##__,
        ENGINE_OPERATIONS
#undef ENGINE_OPERATION
    };
    const struct instance *instance =
        state_find_instance_by_name(engine_draft_state(draft), op->instance);

    if (!instance) {
        return mem_printf("there is no instance \"%s\"", op->instance);
    }
    if (instance->reservable && op->type != OPERATION_CLEAN_UP) {
        return mem_printf("instance %s is reservable: its members and epochs "
                          "are those of the control API (see \"evlbctl "
                          "overview\")",
                          instance->name);
    }
    return plans[op->type](op, instance, draft);
}
