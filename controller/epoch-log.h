/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_EPOCH_LOG_H
#define EVLB_EPOCH_LOG_H 1

/* A record of each epoch that a switch was given: one JSON object a line, from
 * which the way of each packet can be computed again.
 *
 *     {"time": 1700000000.123, "switch": "br0", "instance": "demo",
 *      "instance_id": 0, "epoch": 2, "from": 40000, "bits": 9, "xor": 0,
 *      "slots": [1, 2, 3, ...]}
 *
 * A line is written when the switch has committed the epoch, and once for each
 * switch and epoch while the program runs. */

#include <stdbool.h>
#include <stdint.h>

struct epoch;
struct epoch_log;
struct instance;

char *epoch_log_open(const char *file, struct epoch_log **);
void epoch_log_close(struct epoch_log *);

bool epoch_log_committed(struct epoch_log *, const char *bridge,
                         const struct instance *, const struct epoch *);

#endif /* epoch-log.h */
