/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_UNIT_RANDOM_STATE_H
#define TESTS_UNIT_RANDOM_STATE_H 1

/* Random states and their rule sets, for tests of properties. */

#include <stdbool.h>
#include <stdint.h>

#include "controller/core/instance.h"
#include "controller/rules/rule-set.h"

#define RANDOM_N_INSTANCES 3
#define RANDOM_N_MEMBERS 6

const struct calendar *random_calendar(unsigned int variant);
void random_members(uint64_t *seed, struct instance *);
struct rule_set *random_rule_set(uint64_t *seed, bool stable);

#endif /* random-state.h */
