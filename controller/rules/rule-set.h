/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_RULE_SET_H
#define EVLB_RULE_SET_H 1

/* Rule sets: everything that a data plane is to hold.
 *
 * A rule set is filled with rule_set_add(), then closed with rule_set_seal(),
 * and constant from there on; it is shared by counting references.  rule_set_build() makes the one of a state; it
 * is a function of the state alone. */

#include <stddef.h>

#include "controller/rules/rule.h"

struct neighbours;

struct rule_set {
    unsigned int n_refs; /* Of rule_set_ref(). */
    struct rule *rules;  /* Sorted by rule_compare() once sealed. */
    size_t n;
    size_t allocated;
};

struct rule_set *rule_set_create(void);
const struct rule_set *rule_set_ref(const struct rule_set *);
void rule_set_unref(const struct rule_set *);
void rule_set_add(struct rule_set *, const struct rule *);
char *rule_set_seal(struct rule_set *);

const struct rule *rule_set_find(const struct rule_set *, const struct rule *);

/* What a rule set depends on beside the state. */
struct rule_inputs {
    const struct neighbours *neighbours; /* Or NULL. */
    uint16_t change; /* The number of this change, for a bridge that measures
                      * how long changes take. */
};

struct rule_set *rule_set_build(const struct state *, const struct bridge *,
                                const struct rule_inputs *);

#endif /* rule-set.h */
