/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONTROL_WORLD_H
#define EVLB_CONTROL_WORLD_H 1

/* One reserved instance, for tests of its control loop: workers that register
 * and report when a test says so, a clock, and what the engine does with what
 * the loop decides: the same overlay, of which the same state follows, and the
 * same check that it may take the place of the one before. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/control.h"
#include "controller/core/instance.h"
#include "controller/core/overlay.h"

#define WORLD_PERIOD 1000 /* ms */
#define WORLD_INSTANCE 5

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

    struct state config;
    struct overlay *overlay;
    struct state *state;         /* What follows from these. */
    const struct epochs *epochs; /* Of the state. */

    bool packets; /* Did the epochs decide about any? */

    /* For further epochs. */
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

void world_retire(struct world *, uint64_t oldest);
void world_begin_generation(struct world *);
void world_step(struct world *);

bool world_has_issue(const struct world *, const char *type, uint64_t session);
size_t world_count(const struct world *, const struct session *);

#endif /* control-world.h */
