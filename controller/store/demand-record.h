/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_DEMAND_RECORD_H
#define EVLB_DEMAND_RECORD_H 1

/* Demands for slots in records, as lines "demand FIRST LENGTH", FIRST being
 * "any" for the first gap that is large enough. */

#include <stdio.h>

#include "controller/core/slots.h"
#include "controller/store/record-text.h"

void demand_record_format(FILE *, const struct slot_range *, size_t n);
struct slot_range *demand_record_parse(struct record_reader *, size_t *n);

#endif /* demand-record.h */
