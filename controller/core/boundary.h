/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_BOUNDARY_H
#define EVLB_BOUNDARY_H 1

/* Where the next epoch of an instance may begin.
 *
 *      newest        senders   + look-ahead    boundary         + 10 look-aheads
 *     epoch from       now       or lead                          of the median
 *        |              |           |             |                     |
 *     ---+--------------+-----------+-------------+---------------------+--> tick
 *                                    <- coarse ->
 *
 * A boundary that is chosen is beyond where all senders that agree will be when
 * a change is through, that is, after the look-ahead, or the lead time if that
 * is longer.  It is put off, by no more than a part of the look-ahead, to a
 * multiple of as large a power of two as there is, so that prefixes are few.
 * It is beyond the newest epoch's, or there is none.
 *
 * This has no I/O and no clock. */

#include <stdbool.h>
#include <stdint.h>

#include "controller/core/predictor.h"

struct epoch;

struct boundary_settings {
    const char *instance; /* Its name, for messages. */
    const char *sync;     /* Where it gets Sync, for messages. */
    uint32_t look_ahead;  /* In ms. */
    uint32_t lead;        /* How long a change takes, in ms, */
    bool lead_measured;   /* as measured or by the setting "min_lead". */
};

char *
boundary_choose(const struct boundary_settings *, const struct predictor *,
                const struct epoch *newest, int64_t now, uint64_t *first);
char *
boundary_check(const struct boundary_settings *, const struct predictor *,
               uint64_t first, int64_t now, bool *known);
char *boundary_describe_quarantine(const struct prediction *);

#endif /* boundary.h */
