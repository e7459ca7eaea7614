/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_RULE_EPOCHS_H
#define EVLB_RULE_EPOCHS_H 1

/* Whether one instance's epoch rules may follow others while events flow.
 *
 * A tick that goes by an epoch goes on by it, as long as the epoch is there.
 * Epochs may be added behind the newest one, which gives up the ticks from
 * there on; the others may be taken out, and then nobody has their ticks any
 * more. */

#include <stddef.h>

#include "controller/rules/rule.h"

struct rule_epochs {
    struct rule_epoch *rules;
    size_t n;
    size_t allocated;
};

void rule_epochs_init(struct rule_epochs *);
void rule_epochs_destroy(struct rule_epochs *);
void rule_epochs_add(struct rule_epochs *, const struct rule_epoch *);
const struct rule_epoch *
rule_epochs_lookup(const struct rule_epochs *, uint64_t tick);
char *rule_epochs_check(const struct rule_epochs *old,
                        const struct rule_epochs *new);

#endif /* rule-epochs.h */
