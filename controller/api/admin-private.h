/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ADMIN_PRIVATE_H
#define EVLB_ADMIN_PRIVATE_H 1

/* Within the operator's service: handlers, by subject, and what they share. */

#include <stdint.h>

#include "controller/api/admin.pb-c.h"
#include "controller/api/grpc-call.h"
#include "controller/api/grpc-server.h"
#include "controller/config.h"
#include "controller/engine.h"
#include "lib/arena.h"

struct admin {
    struct engine *engine;
    int64_t started;            /* As now_ms() said. */
    struct grpc_service all[3]; /* Its own, health, the control API. */
    struct grpc_services services;
    struct grpc_server *server;
};

/* The methods, in no particular order: name in the .proto, handler. */
#define ADMIN_METHODS                          \
    ADMIN_METHOD(Status, admin_status)         \
    ADMIN_METHOD(Instances, admin_instances)   \
    ADMIN_METHOD(Epochs, admin_epochs)         \
    ADMIN_METHOD(Members, admin_members)       \
    ADMIN_METHOD(Targets, admin_targets)       \
    ADMIN_METHOD(Neighbours, admin_neighbours) \
    ADMIN_METHOD(Flows, admin_flows)           \
    ADMIN_METHOD(Counters, admin_counters)     \
    ADMIN_METHOD(Trace, admin_trace)           \
    ADMIN_METHOD(Reload, admin_reload)         \
    ADMIN_METHOD(SetEpoch, admin_set_epoch)    \
    ADMIN_METHOD(Drain, admin_drain)           \
    ADMIN_METHOD(AddMember, admin_add_member)  \
    ADMIN_METHOD(RemoveMember, admin_remove_member)

#define ADMIN_METHOD(NAME, HANDLER)               \
    void HANDLER(void *admin, struct grpc_call *, \
                 const ProtobufCMessage *request);
ADMIN_METHODS
#undef ADMIN_METHOD

char *admin_interface_name(struct arena *, const struct state *, int id);
char *admin_instance_name(struct arena *, const struct state *, int id);
bool admin_find(const struct state *, struct grpc_call *, const char *name);
bool admin_select(const struct state *, struct grpc_call *, const char *name,
                  size_t *begin, size_t *end);

#endif /* admin-private.h */
