/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_SENDERS_H
#define ENDPOINTS_SENDERS_H 1

/* A data source's own address in the list of senders of its reservation, from
 * which alone the balancer takes packets.  The calls wait for their answers. */

#include "endpoints/address.h"
#include "endpoints/api-options.h"

char *senders_add(const struct api_options *, const union address *own);
char *senders_remove(const struct api_options *, const union address *own);

#endif /* endpoints/senders.h */
