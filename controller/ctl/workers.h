/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CTL_WORKERS_H
#define EVLB_CTL_WORKERS_H 1

/* The table of a reservation's workers, for one look or for many.
 *
 * What two looks are apart gives the rates; 'before' is NULL for the first. */

#include <stdbool.h>
#include <stdio.h>

#include "controller/api/loadbalancer.pb-c.h"

void
workers_print(const Loadbalancer__LoadBalancerStatusReply *,
              const Loadbalancer__LoadBalancerStatusReply *before, bool bars);

#endif /* workers.h */
