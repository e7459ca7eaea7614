/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/rules/rule-set.h"

#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

/* Returns a rule set without rules, open for rule_set_add(). */
struct rule_set *
rule_set_create(void)
{
    struct rule_set *set = mem_zalloc(sizeof *set);

    set->n_refs = 1;
    return set;
}

/* Returns another reference to 'set', which must be sealed. */
const struct rule_set *
rule_set_ref(const struct rule_set *set)
{
    ((struct rule_set *) set)->n_refs++;
    return set;
}

/* Releases a reference to 'set', which may be NULL. */
void
rule_set_unref(const struct rule_set *set_)
{
    struct rule_set *set = (struct rule_set *) set_;

    if (set && !--set->n_refs) {
        for (size_t i = 0; i < set->n; i++) {
            if (set->rules[i].kind == RULE_CALENDAR) {
                calendar_unref(set->rules[i].calendar.calendar);
            }
        }
        free(set->rules);
        free(set);
    }
}

/* Adds a copy of 'rule' to 'set'.  A calendar in it is not copied: 'set' takes
 * a reference. */
void
rule_set_add(struct rule_set *set, const struct rule *rule)
{
    if (set->n >= set->allocated) {
        set->rules = mem_grow(set->rules, &set->allocated, sizeof *set->rules);
    }
    set->rules[set->n++] = *rule;
    if (rule->kind == RULE_CALENDAR) {
        calendar_ref(rule->calendar.calendar);
    }
}

static int
compare_rules__(const void *a, const void *b)
{
    return rule_compare(a, b);
}

/* Removes from sorted 'set' the rules that are there more than once.  Returns
 * an error if two are the same row but do not say the same. */
static char *
remove_duplicates__(struct rule_set *set)
{
    char *error = NULL;
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        struct rule *rule = &set->rules[i];
        struct rule *last = n ? &set->rules[n - 1] : NULL;

        if (!last || rule_compare(last, rule)) {
            set->rules[n++] = *rule;
            continue;
        }
        if (!error && !rule_equal(last, rule)) {
            char *a = rule_to_string(last);
            char *b = rule_to_string(rule);

            error = mem_printf("%s contradicts %s", a, b);
            free(a);
            free(b);
        }
        if (rule->kind == RULE_CALENDAR) {
            calendar_unref(rule->calendar.calendar);
        }
    }
    set->n = n;
    return error;
}

/* Closes 'set': from now on it can be searched and compared.  Returns NULL if
 * successful, or an error, which the caller must free, if rules contradict one
 * another; the first one of them stands then. */
char *
rule_set_seal(struct rule_set *set)
{
    if (set->n) {
        qsort(set->rules, set->n, sizeof *set->rules, compare_rules__);
    }
    return remove_duplicates__(set);
}

/* Returns the rule of sealed 'set' with the kind and key of 'key', or NULL. */
const struct rule *
rule_set_find(const struct rule_set *set, const struct rule *key)
{
    return set->n ? bsearch(key, set->rules, set->n, sizeof *set->rules,
                            compare_rules__)
                  : NULL;
}
