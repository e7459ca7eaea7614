/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ADMIN_H
#define EVLB_ADMIN_H 1

/* The operator's service, evlb.admin.v1.Admin, on a Unix socket: what evlbctl
 * asks.  The control API is there, too, and takes calls without a token. */

struct admin;
struct engine;
struct evlb_config;
struct event_base;
struct grpc_service;

char *admin_create(struct event_base *, struct engine *,
                   const struct grpc_service *api, struct admin **);
void admin_destroy(struct admin *);

void admin_check_config(const struct admin *, const struct evlb_config *);

#endif /* admin.h */
