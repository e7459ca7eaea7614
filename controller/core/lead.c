/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/lead.h"

/* Initializes 'lead' without a measurement. */
void
lead_init(struct lead *lead)
{
    *lead = (struct lead){ .n_samples = 0 };
}

/* Takes in a measurement. */
void
lead_add_sample(struct lead *lead, uint32_t ms)
{
    lead->samples[lead->n_samples++ % LEAD_WINDOW] = ms;
}

/* Returns true if there was a measurement. */
bool
lead_is_measured(const struct lead *lead)
{
    return lead->n_samples > 0;
}

/* Returns the lead in milliseconds, 'min_lead' if it was not measured. */
uint32_t
lead_get(const struct lead *lead, uint32_t min_lead)
{
    uint64_t longest = 0;

    if (!lead->n_samples) {
        return min_lead;
    }
    for (size_t i = 0; i < lead->n_samples && i < LEAD_WINDOW; i++) {
        longest = lead->samples[i] > longest ? lead->samples[i] : longest;
    }
    longest += (longest + 1) / 2;
    if (longest < LEAD_FLOOR_MS) {
        return LEAD_FLOOR_MS;
    }
    return longest < UINT32_MAX ? (uint32_t) longest : UINT32_MAX;
}
