/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_LB_H
#define EVLB_LB_H 1

/* The control API, loadbalancer.LoadBalancer: reservations, workers, senders,
 * tokens.  docs/control-api.md describes the calls.
 *
 * The service knows no transport.  gRPC comes through lb_get_grpc(), and
 * others call lb_call() with a method of the descriptor. */

#include <stdbool.h>
#include <stdint.h>

#include "controller/api/api-call.h"

struct engine;
struct grpc_service;
struct lb;

struct lb *lb_create(struct engine *);
void lb_destroy(struct lb *);

const struct grpc_service *lb_get_grpc(const struct lb *, bool trusted);
const ProtobufCMethodDescriptor *lb_find_method(const char *name);
void lb_call(struct lb *, const ProtobufCMethodDescriptor *, struct api_call *,
             const ProtobufCMessage *request);

#define LB_STATUSES 17 /* Of enum grpc_status. */

const uint64_t *lb_get_calls(const char *method);

#endif /* lb.h */
