/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/health.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/grpc-call.h"
#include "controller/api/health.pb-c.h"
#include "controller/core/mem.h"

/* Is there a service 'name' in 'services', or does it mean all of them? */
static bool
is_there__(const struct grpc_services *services, const char *name)
{
    for (size_t i = 0; i < services->n; i++) {
        if (!strcmp(services->services[i].descriptor->name, name)) {
            return true;
        }
    }
    return !*name;
}

static void
check__(void *services, struct grpc_call *call,
        const ProtobufCMessage *request)
{
    const char *name =
        ((const Grpc__Health__V1__HealthCheckRequest *) request)->service;
    Grpc__Health__V1__HealthCheckResponse reply =
        GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    char *error;

    if (is_there__(services, name)) {
        reply.status =
            GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
        grpc_call_reply(call, &reply.base);
    } else {
        error = mem_printf("there is no service \"%s\"", name);
        grpc_call_finish(call, GRPC_NOT_FOUND, error);
        free(error);
    }
}

static void
cancel_cb__(void *aux, struct grpc_call *call)
{
    (void) aux;
    grpc_call_finish(call, GRPC_CANCELLED, NULL);
}

static void
watch__(void *services, struct grpc_call *call,
        const ProtobufCMessage *request)
{
    const char *name =
        ((const Grpc__Health__V1__HealthCheckRequest *) request)->service;
    Grpc__Health__V1__HealthCheckResponse reply =
        GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

    reply.status =
        is_there__(services, name)
            ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
            : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN;
    grpc_call_on_cancel(call, cancel_cb__, NULL);
    grpc_call_send(call, &reply.base);
}

/* Makes 'service' the health of 'services', which must stay. */
void
health_init(struct grpc_service *service, const struct grpc_services *services)
{
    static grpc_handler *const handlers[] = { check__, watch__ };

    service->descriptor = &grpc__health__v1__health__descriptor;
    service->handlers = handlers;
    service->aux = (void *) services;
}
