/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_HEALTH_H
#define EVLB_HEALTH_H 1

/* grpc.health.v1.Health, which needs no token: says that the server, and each
 * of its services, is there.  As long as evlbd answers it serves, so a Watch
 * has one reply and then lasts until the caller gives up. */

struct grpc_service;
struct grpc_services;

/* 'services' are those of the server, this one among them. */
void health_init(struct grpc_service *, const struct grpc_services *services);

#endif /* health.h */
