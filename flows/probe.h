/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_PROBE_H
#define EVLB_FLOWS_PROBE_H 1

/* What a packet that measures is marked with when it comes back. */

#include <stdbool.h>
#include <stdint.h>

#include "controller/core/addr.h"

/* The ticks that measure are those from here on. */
#define PROBE_FIRST_TICK (UINT64_C(1) << 63)

void probe_mac_from_change(uint16_t change, struct mac *);
bool probe_is_mark(const struct mac *);
uint16_t probe_change_from_mac(const struct mac *);

#endif /* probe.h */
