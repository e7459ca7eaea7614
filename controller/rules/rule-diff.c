/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/rules/rule-diff.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"

/* Initializes 'diff' with no steps. */
void
rule_diff_init(struct rule_diff *diff)
{
    *diff = (struct rule_diff){ .n = 0 };
}

/* Frees what 'diff' holds, but not 'diff' itself. */
void
rule_diff_destroy(struct rule_diff *diff)
{
    free(diff->steps);
}

/* Adds 'step' to the end of 'diff'. */
void
rule_diff_add(struct rule_diff *diff, const struct rule_step *step)
{
    if (diff->n >= diff->allocated) {
        diff->steps =
            mem_grow(diff->steps, &diff->allocated, sizeof *diff->steps);
    }
    diff->steps[diff->n++] = *step;
}

/* Compares 'a' and 'b' by when they must be done.
 *
 * What is new comes first, from members towards the door; then what is old
 * goes, from the door towards members.  Among epoch rules, longer prefixes are
 * inserted first and deleted last: a tick keeps its old epoch until the rule
 * is there that gives it the new one, and falls back on no third one in
 * between. */
int
rule_step_compare(const struct rule_step *a, const struct rule_step *b)
{
    int cmp;

    if (a->op != b->op) {
        return a->op < b->op ? -1 : 1;
    }

    cmp = (a->kind > b->kind) - (a->kind < b->kind);
    cmp = cmp ? cmp : b->depth - a->depth;
    if (cmp) {
        return a->op == RULE_UPSERT ? cmp : -cmp;
    }

    /* Only so that the order is the same each time. */
    return a->rule && b->rule ? rule_compare(a->rule, b->rule)
                              : !!b->rule - !!a->rule;
}

static int
compare_steps__(const void *a, const void *b)
{
    return rule_step_compare(a, b);
}

/* Puts the steps of 'diff' into the order of rule_step_compare(). */
void
rule_diff_sort(struct rule_diff *diff)
{
    if (diff->n) {
        qsort(diff->steps, diff->n, sizeof *diff->steps, compare_steps__);
    }
}

static void
add_rule__(struct rule_diff *diff, enum rule_op op, const struct rule *rule,
           bool replaces)
{
    rule_diff_add(diff,
                  &(struct rule_step){ .op = op,
                                       .kind = rule->kind,
                                       .rule = rule,
                                       .replaces = replaces,
                                       .depth = rule->kind == RULE_EPOCH
                                                    ? rule->epoch.prefix.len
                                                    : 0 });
}

/* Returns true if an epoch rule of 'set' refers to 'calendar'. */
static bool
is_connected__(const struct rule_set *set,
               const struct rule_calendar *calendar)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct rule *rule = &set->rules[i];

        if (rule->kind == RULE_EPOCH && !rule->epoch.drop
            && rule->epoch.instance == calendar->instance
            && rule->epoch.epoch == calendar->epoch) {
            return true;
        }
    }
    return false;
}

/* Adds to 'diff' what turns 'a' of 'old' into 'b', which is the same row. */
static char *
add_change__(struct rule_diff *diff, const struct rule_set *old,
             const struct rule *a, const struct rule *b)
{
    if (rule_equal(a, b)) {
        return NULL;
    }
    if (a->kind == RULE_CALENDAR && is_connected__(old, &a->calendar)) {
        return mem_printf("instance %" PRIu16 ": epoch %" PRIu16
                          " is connected "
                          "with another calendar, which cannot change: give "
                          "the changed epoch another id",
                          a->calendar.instance, a->calendar.epoch);
    }
    add_rule__(diff, RULE_UPSERT, b, true);
    return NULL;
}

/* Adds to 'diff', which is empty, the steps from 'old' to 'new', both of which
 * must stay as long as 'diff' does.
 *
 * Returns NULL if successful.  Returns an error, which the caller must free,
 * if a connected epoch's calendar would change. */
char *
rule_diff_compute(struct rule_diff *diff, const struct rule_set *old,
                  const struct rule_set *new)
{
    const struct rule *a = old->rules;
    const struct rule *b = new->rules;
    size_t n_a = old->n;
    size_t n_b = new->n;
    char *error = NULL;

    while (!error && (n_a || n_b)) {
        int cmp = !n_a ? 1 : !n_b ? -1 : rule_compare(a, b);

        if (cmp < 0) {
            add_rule__(diff, RULE_DELETE, a, false);
        } else if (cmp > 0) {
            add_rule__(diff, RULE_UPSERT, b, false);
        } else {
            error = add_change__(diff, old, a, b);
        }
        if (cmp <= 0) {
            a++;
            n_a--;
        }
        if (cmp >= 0) {
            b++;
            n_b--;
        }
    }
    rule_diff_sort(diff);
    return error;
}
