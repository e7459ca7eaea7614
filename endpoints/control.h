/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_CONTROL_H
#define ENDPOINTS_CONTROL_H 1

/* The control signal that a worker reports: by how much the balancer shall
 * change its weight, which is 1000 on average, in a period of a second.
 *
 * A PI controller on the fill of the worker's queue: it asks for more while
 * the queue is below the set point, for less above it.  As the balancer adds
 * up the signals, it is an integrator itself; the gain of our own integral is
 * 0 unless it is asked for.  The integral stops where the signal is at its
 * bound (CONTROL_MAX), so that it does not have to be undone later. */

#include <stdbool.h>
#include <stdint.h>

#define CONTROL_MAX 1000.0

struct control_config {
    bool fixed;       /* Always 'value'? */
    double value;     /* The signal then. */
    double set_point; /* Fill to hold, 0 to 1. */
    double kp;        /* Signal for a fill that is off by 1. */
    double ki;        /* The same for each second. */
};

struct control {
    struct control_config config;
    double integral; /* Of the error, in seconds. */
    int64_t last;    /* When it was run, ns, or 0. */
};

void control_init(struct control *, const struct control_config *);
double control_run(struct control *, double fill, int64_t now);

#endif /* endpoints/control.h */
