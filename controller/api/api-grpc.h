/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_API_GRPC_H
#define EVLB_API_GRPC_H 1

/* Calls of the control API that come as gRPC. */

#include <stdbool.h>

#include "controller/api/api-call.h"
#include "controller/api/grpc-call.h"

/* Takes 'call' of 'method', whose 'request' is there until it returns. */
typedef void
api_grpc_call_cb(void *aux, const ProtobufCMethodDescriptor *method,
                 struct api_call *call, const ProtobufCMessage *request);

struct api_grpc;

struct api_grpc *api_grpc_create(const ProtobufCServiceDescriptor *,
                                 bool trusted, api_grpc_call_cb *, void *aux);
void api_grpc_destroy(struct api_grpc *);
const struct grpc_service *api_grpc_get_service(const struct api_grpc *);

#endif /* api-grpc.h */
