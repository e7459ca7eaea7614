/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics of who sends Sync: of those whom an instance heard of late, and it
 * remembers only so many. */

#include "controller/api/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/api/metrics-text.h"
#include "controller/core/mem.h"
#include "controller/engine.h"

/* Of one instance. */
struct heard {
    struct predictor_sender senders[PREDICTOR_MAX_SENDERS];
    size_t n;
};

static double
taken__(const struct predictor_sender *s)
{
    return (double) s->n_taken;
}

static double
backwards__(const struct predictor_sender *s)
{
    return (double) s->n_backwards;
}

static double
age__(const struct predictor_sender *s)
{
    return (double) s->age / 1000;
}

static double
quarantined__(const struct predictor_sender *s)
{
    return s->quarantined;
}

static const struct {
    const char *name;
    const char *help;
    double (*get)(const struct predictor_sender *);
    enum metrics_type type;
} figures[] = {
    { "evlb_sync_sender_samples_total", "Samples of the sender.", taken__,
      METRICS_COUNTER },
    { "evlb_sync_sender_backwards_total",
      "Samples of the sender that were ignored, for they ran backwards.",
      backwards__, METRICS_COUNTER },
    { "evlb_sync_sender_age_seconds", "Age of the sender's newest sample.",
      age__, METRICS_GAUGE },
    { "evlb_sync_sender_quarantined",
      "Does the sender not agree with the others?", quarantined__,
      METRICS_GAUGE },
};

void
metrics_senders(struct metrics *m, struct engine *engine)
{
    const struct state *state = engine_get_state(engine);
    struct heard *heard = mem_zalloc(state->n_instances * sizeof *heard);

    for (size_t i = 0; i < state->n_instances; i++) {
        heard[i].n =
            engine_get_senders(engine, &state->instances[i], heard[i].senders);
    }
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        metrics_family(m, figures[k].name, figures[k].type, figures[k].help);
        for (size_t i = 0; i < state->n_instances; i++) {
            for (size_t j = 0; j < heard[i].n; j++) {
                const struct predictor_sender *s = &heard[i].senders[j];
                char id[16];

                snprintf(id, sizeof id, "%" PRIu32, s->id);
                metrics_value(m, figures[k].get(s), "instance",
                              state->instances[i].name, "sender", id, NULL);
            }
        }
    }
    free(heard);
}
