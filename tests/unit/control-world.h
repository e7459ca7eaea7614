/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONTROL_WORLD_H
#define EVLB_CONTROL_WORLD_H 1

/* One reserved instance, for tests of its control loop: workers that register
 * and report when a test says so, a clock, and epochs that are connected as the
 * engine does it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/control.h"
#include "controller/core/epoch.h"

#define WORLD_PERIOD 1000 /* ms */

struct world {
    struct control_settings settings;
    struct reservation reservation;
    int64_t now;
    uint64_t seed;

    struct session **sessions; /* By ascending id. */
    size_t n_sessions;
    size_t allocated_sessions;
    uint64_t last_session;
    uint16_t last_member;

    struct epochs epochs;
    uint16_t last_epoch;

    /* For further epochs. */
    bool untouched;
    const char *no_boundary;
    uint64_t boundary;

    struct control_outcome outcome; /* Of the last step. */
    bool stepped;
};

void world_init(struct world *);
void world_destroy(struct world *);

struct session *world_register(struct world *, double weight);
void world_deregister(struct world *, const struct session *);
void
world_report(struct world *, struct session *, bool ready, double control);
void world_add_sender(struct world *, const char *address);

void world_step(struct world *);

bool world_has_issue(const struct world *, const char *type, uint64_t session);
size_t world_count(const struct world *, const struct session *);

#endif /* control-world.h */
