/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_ENTRY_H
#define EVLB_FLOWS_ENTRY_H 1

/* Within flows/: flow and group modifications become entries. */

#include "flows/flows.h"

struct ofputil_flow_mod;
struct ofputil_group_mod;

void entry_add_flow(struct flows *, const struct cookie *, uint8_t depth,
                    struct ofputil_flow_mod *);
void entry_add_group(struct flows *, const struct cookie *,
                     struct ofputil_group_mod *);

#endif /* entry.h */
