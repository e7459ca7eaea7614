/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONTROL_H
#define EVLB_CONTROL_H 1

/* The control loop: what is to become of one reserved instance in a period.
 *
 *     reports ----> who is ready ----> shares ----> calendar --.
 *                                                              +--> epoch
 *     predictor --> a boundary, or why there can be none ------'
 *
 * A worker is ready if its station was found, it said so at last, and it was
 * not silent since; the clock is ours, and the one of the worker is not looked
 * at.  One that is silent for longer is gone.
 *
 * Shares start at 1000 times a worker's weight.  With the strategy "dynamic",
 * each period adds the control signal of a report that is new, and scales the
 * shares of those that are ready to an average of 1000.
 *
 * There is another epoch only if workers are to get other numbers of slots, or
 * others, than in the newest one.  The last calendar stays, with an issue,
 *
 *    - if nobody is ready;
 *
 *    - if more than half of those in it fell silent, which is more likely our
 *      network's fault than theirs, until they are gone;
 *
 *    - if there is no boundary.
 *
 * This has no I/O and no clock. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/book.h"
#include "controller/core/issue.h"

struct calendar;
struct epochs;

struct control_settings {
    bool ready_on_register; /* Is a worker ready before its first report? */
    uint32_t silent;        /* Without a report, until it is not ready, ms. */
    uint32_t gone;          /* Likewise, until it is gone. */
};

struct control_inputs {
    const struct control_settings *settings;
    int64_t now;   /* Monotonic, ms. */
    uint64_t seed; /* For a calendar that is shuffled. */

    const struct reservation *reservation;
    const struct session *const *sessions; /* Its, by ascending id; their
                                            * reports are changed. */
    size_t n_sessions;
    const struct epochs *epochs; /* Of the instance in service. */

    /* Of a further epoch.  The first one begins with tick 0, and so does one
     * that takes the place of the first. */
    bool untouched;          /* May the first one be replaced? */
    const char *no_boundary; /* Why there can be no further one, or NULL. */
    uint64_t boundary;       /* Else where it begins. */
};

struct control_outcome {
    const struct calendar *calendar; /* A reference, of the next epoch; or NULL
                                      * for none. */
    bool replace;      /* Does that take the place of the only one? */
    uint64_t boundary; /* Where it begins. */
    uint64_t *gone;    /* Ids of sessions that are to be removed. */
    size_t n_gone;
    struct issues issues;
};

void control_step(const struct control_inputs *, struct control_outcome *);
void control_outcome_destroy(struct control_outcome *);

bool control_is_ready(const struct control_settings *, const struct session *,
                      int64_t now);

#endif /* control.h */
