/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/rules/rule-epochs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/mem.h"

/* Initializes 'epochs' without rules. */
void
rule_epochs_init(struct rule_epochs *epochs)
{
    *epochs = (struct rule_epochs){ .n = 0 };
}

/* Frees what 'epochs' holds, but not 'epochs' itself. */
void
rule_epochs_destroy(struct rule_epochs *epochs)
{
    free(epochs->rules);
}

/* Adds 'rule' to 'epochs'. */
void
rule_epochs_add(struct rule_epochs *epochs, const struct rule_epoch *rule)
{
    if (epochs->n >= epochs->allocated) {
        epochs->rules =
            mem_grow(epochs->rules, &epochs->allocated, sizeof *epochs->rules);
    }
    epochs->rules[epochs->n++] = *rule;
}

/* Returns the rule that 'tick' goes by, or NULL. */
const struct rule_epoch *
rule_epochs_lookup(const struct rule_epochs *epochs, uint64_t tick)
{
    const struct rule_epoch *best = NULL;

    for (size_t i = 0; i < epochs->n; i++) {
        const struct rule_epoch *r = &epochs->rules[i];

        if (prefix_contains(&r->prefix, tick)
            && (!best || r->prefix.len > best->prefix.len)) {
            best = r;
        }
    }
    return best;
}

/* Returns true if 'epochs' has the epoch 'id', for ticks that are not late. */
static bool
has__(const struct rule_epochs *epochs, uint16_t id)
{
    for (size_t i = 0; i < epochs->n; i++) {
        if (!epochs->rules[i].late && epochs->rules[i].epoch == id) {
            return true;
        }
    }
    return false;
}

/* Returns the rule of the newest epoch, the one for all ticks that no longer
 * prefix has, or NULL. */
static const struct rule_epoch *
newest__(const struct rule_epochs *epochs)
{
    for (size_t i = 0; i < epochs->n; i++) {
        if (!epochs->rules[i].prefix.len) {
            return &epochs->rules[i];
        }
    }
    return NULL;
}

/* Checks one tick. */
static char *
check_tick__(const struct rule_epochs *old, const struct rule_epochs *new,
             const struct rule_epoch *newest, uint64_t tick)
{
    const struct rule_epoch *a = rule_epochs_lookup(old, tick);
    const struct rule_epoch *b = rule_epochs_lookup(new, tick);

    if (!a || a->late || !has__(new, a->epoch)) {
        return NULL; /* Nobody's, or no longer anybody's. */
    }
    if (b && !b->late
        && (b->epoch == a->epoch
            || (a->epoch == newest->epoch && !has__(old, b->epoch)))) {
        return NULL; /* As before, or a new epoch's. */
    }
    return mem_printf("instance %" PRIu16 ": tick %" PRIu64
                      " belongs to epoch "
                      "%" PRIu16 ", which is connected, and would belong to "
                      "another one",
                      a->instance, tick, a->epoch);
}

/* Checks the first tick of 'prefix', and the first one behind it: a range of
 * ticks that are treated alike, before and after, begins at one of these. */
static char *
check_ends__(const struct rule_epochs *old, const struct rule_epochs *new,
             const struct rule_epoch *newest, const struct prefix *prefix)
{
    char *error = check_tick__(old, new, newest, prefix->value);

    if (!error) {
        uint64_t next = prefix->value + ~prefix_mask(prefix->len) + 1;

        error = check_tick__(old, new, newest, next);
    }
    return error;
}

/* Checks whether 'new' may take the place of 'old', both of one instance.
 * Returns NULL if it may, or the reason why not, which the caller must
 * free. */
char *
rule_epochs_check(const struct rule_epochs *old, const struct rule_epochs *new)
{
    const struct rule_epoch *newest = newest__(old);
    char *error = NULL;

    if (!newest) {
        return NULL; /* There is no whole old one. */
    }
    if (!has__(new, newest->epoch)) {
        return mem_printf("instance %" PRIu16 ": epoch %" PRIu16
                          " is connected "
                          "as the newest one and is missing",
                          newest->instance, newest->epoch);
    }
    for (size_t i = 0; !error && i < old->n; i++) {
        error = check_ends__(old, new, newest, &old->rules[i].prefix);
    }
    for (size_t i = 0; !error && i < new->n; i++) {
        error = check_ends__(old, new, newest, &new->rules[i].prefix);
    }
    return error;
}
