/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_NEIGHBOUR_RECORD_H
#define EVLB_NEIGHBOUR_RECORD_H 1

/* What was found of a station, as a record of the store, and back.
 *
 * The key is "neighbour/DATAPATH/INTERFACE/IP", the value lines as
 * controller/store/record-text.h says:
 *
 *     datapath 42
 *     interface 1
 *     ip 10.0.0.7
 *     mac 02:00:00:00:00:07
 *     port 12 */

#include "controller/core/neighbour.h"

#define NEIGHBOUR_RECORD_PREFIX "neighbour/"

char *neighbour_record_key(const struct neighbour_key *);
char *neighbour_record_format(const struct neighbour *);
char *neighbour_record_parse(struct neighbours *, int64_t now, const char *key,
                             const char *value);

#endif /* neighbour-record.h */
