/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/control.h"

#include <math.h>

#include "endpoints/util.h"

/* A longer time without a report does not count in full. */
#define STEP_MAX 1.0

void
control_init(struct control *c, const struct control_config *config)
{
    *c = (struct control){ .config = *config };
}

/* Returns the signal for 'fill' at 'now'. */
double
control_run(struct control *c, double fill, int64_t now)
{
    const struct control_config *config = &c->config;
    double error = config->set_point - fill;
    double step = c->last ? (now - c->last) / (double) NS_PER_S : 0;
    double integral = c->integral + error * fmin(step, STEP_MAX);
    double signal = config->kp * error + config->ki * integral;

    c->last = now;
    if (config->fixed) {
        return config->value;
    }
    if (fabs(signal) <= CONTROL_MAX) {
        c->integral = integral;
        return signal;
    }
    return copysign(CONTROL_MAX, signal);
}
