/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_REGISTRATION_H
#define EVLB_REGISTRATION_H 1

/* What may be asked for in the control API: names, senders, workers.
 *
 * Everything here was said by somebody whom a token lets say it, but who may
 * be wrong, or want events to go where they do no good.  Functions return NULL
 * if all is well, or an error that names the field and what stands there, which
 * the caller must free.
 *
 * A worker may be at an address of one host that
 *
 *    - is none of the load balancer's own,
 *
 *    - the network does not use otherwise: loopback and private addresses only
 *      if the configuration says so, link-local ones never;
 *
 *    - is in one of the networks where the configuration has workers, or else
 *      in those of the interfaces, if there are any of its family;
 *
 *    - is of a family that the instance has, and was reserved for. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/book.h"
#include "controller/core/instance.h"

char *registration_check_name(const char *field, const char *name);
char *registration_check_sender(const char *field, const char *text,
                                struct in6_addr *);
char *registration_check_demands(const char *field, const struct slot_range *,
                                 size_t n);
char *registration_check_share(const struct session *);
char *
registration_check_worker(const struct session *, const struct state *,
                          const struct instance *, enum ip_family family);

bool family_has(enum ip_family, const struct in6_addr *);
const struct in6_addr *
instance_find_address(const struct instance *, enum ip_family);

#endif /* registration.h */
