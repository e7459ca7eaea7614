/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_RULE_DIFF_H
#define EVLB_RULE_DIFF_H 1

/* The difference of two rule sets, as steps from one to the other.
 *
 * The steps are ordered "make before break".  After each single one of them,
 *
 *    - an epoch rule refers to a calendar that is there, and a calendar to
 *      members that are there;
 *
 *    - a tick of an instance that is in both sets goes by the epoch that it
 *      had in the old set, or by the one that it has in the new set;
 *
 *    - an instance that packets can reach is complete.
 *
 * rule_step_compare() is this order, all of it.  A target may make a step of
 * its own, for something that it found in a data plane and that no rule asks
 * for, and sort it in by the same function. */

#include <stdbool.h>
#include <stddef.h>

#include "controller/rules/rule.h"

struct rule_set;

enum rule_op {
    RULE_UPSERT, /* Insert, or write over. */
    RULE_DELETE
};

struct rule_step {
    enum rule_op op;
    enum rule_kind kind;
    uint8_t depth;           /* Of an epoch rule, the prefix length. */
    bool replaces;           /* Writes over a row of other content? */
    const struct rule *rule; /* Of the new set for RULE_UPSERT, of the old
                                 * one for RULE_DELETE; NULL for a step of a
                                 * target's own. */
    const void *aux;         /* For the target. */
};

struct rule_diff {
    struct rule_step *steps;
    size_t n;
    size_t allocated;
};

void rule_diff_init(struct rule_diff *);
void rule_diff_destroy(struct rule_diff *);
char *rule_diff_compute(struct rule_diff *, const struct rule_set *old,
                        const struct rule_set *new);
void rule_diff_add(struct rule_diff *, const struct rule_step *);
void rule_diff_sort(struct rule_diff *);

int rule_step_compare(const struct rule_step *, const struct rule_step *);

#endif /* rule-diff.h */
