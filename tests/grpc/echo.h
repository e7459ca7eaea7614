/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_GRPC_ECHO_H
#define TESTS_GRPC_ECHO_H 1

/* The service of echo.proto, for tests of the gRPC library.
 *
 * A Wait is kept by the service until echo_finish_waits() answers it, or, with
 * an event loop, for the time that it asks for. */

#include <stdint.h>

#include "controller/api/grpc-call.h"

struct event_base;

struct echo {
    struct grpc_service service;
    struct grpc_services services;
    struct event_base *base; /* NULL if the test is the clock. */
    struct wait *waits;      /* Those that are not answered. */
    unsigned int n_waits;
    uint64_t n_cancelled;
};

void echo_init(struct echo *, struct event_base *);
void echo_destroy(struct echo *);
void echo_finish_waits(struct echo *);

#endif /* tests/grpc/echo.h */
