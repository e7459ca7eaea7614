/* SPDX-License-Identifier: Apache-2.0 */

/* Senders that tell anything, and boundaries between: the input is a sequence of
 * samples, as they are in memory, each with the time since the one before. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/boundary.h"
#include "controller/core/epoch.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct sample {
    uint64_t tick;
    uint32_t rate;
    uint16_t elapsed; /* ms */
    uint8_t sender;
    uint8_t reset;
};

static void
check(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* Chooses a boundary beyond 'newest', and has it be the newest. */
static void
choose(const struct boundary_settings *settings,
       const struct predictor *predictor, struct epoch *newest, int64_t now)
{
    struct prediction here;
    uint64_t first;
    bool known;
    char *error;

    predictor_predict(predictor, now, 0, &here);
    check(here.n_quarantined <= here.n_senders);
    check(here.tick <= PREDICTOR_TICK_MAX);
    error = boundary_choose(settings, predictor, newest, now, &first);
    if (!error) {
        check(here.known);
        check(first > newest->first && first > here.tick);
        check(first <= PREDICTOR_TICK_MAX);

        /* What is chosen passes the check that others have to pass. */
        error = boundary_check(settings, predictor, first, now, &known);
        check(!error && known);
        newest->first = first;
    }
    free(error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct predictor_settings ps = { .look_ahead = 800, .skew = 5000 };
    struct boundary_settings settings = {
        .instance = "fuzzed", .sync = "nowhere", .look_ahead = 800, .lead = 300
    };
    struct predictor *predictor = predictor_create(&ps);
    struct epoch newest = { .first = 0 };
    struct sample sample;
    int64_t now = 1000;

    for (; size >= sizeof sample;
         data += sizeof sample, size -= sizeof sample) {
        memcpy(&sample, data, sizeof sample);
        now += sample.elapsed;
        if (sample.reset == 255) {
            predictor_reset(predictor);
            newest.first = 0;
        }
        settings.lead = sample.reset * 40u;
        predictor_add(predictor, sample.sender, sample.tick, sample.rate, now);
        choose(&settings, predictor, &newest, now);
    }
    predictor_destroy(predictor);
    return 0;
}
