/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_PRIORITIES_H
#define EVLB_FLOWS_PRIORITIES_H 1

/* Priorities of flows.  None is 0, so that the catch-all flow that a bridge may
 * have of its own is shadowed, not overwritten. */

#define PRIORITY_MISS 1
#define PRIORITY_LOW 10
#define PRIORITY_MEDIUM 20
#define PRIORITY_HIGH 30
#define PRIORITY_PROBE 40
#define PRIORITY_PREFIX 100 /* + the length of the prefix. */

#endif /* priorities.h */
