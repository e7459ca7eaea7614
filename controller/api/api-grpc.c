/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/api-grpc.h"

#include <stdlib.h>

#include "controller/core/mem.h"

struct api_grpc {
    struct grpc_service service;
    bool trusted;
    api_grpc_call_cb *call;
    void *aux;
};

/* One call. */
struct carried {
    struct api_call call;
    struct grpc_call *grpc;
};

static void
reply__(struct api_call *call, const ProtobufCMessage *reply)
{
    struct carried *c = (struct carried *) call;

    grpc_call_reply(c->grpc, reply);
    free(c);
}

static void
fail__(struct api_call *call, enum grpc_status status, const char *message)
{
    struct carried *c = (struct carried *) call;

    grpc_call_finish(c->grpc, status, message);
    free(c);
}

static void
handle__(void *service_, struct grpc_call *grpc,
         const ProtobufCMessage *request)
{
    static const struct api_carrier carrier = { reply__, fail__ };
    const struct api_grpc *g = service_;
    struct carried *c = mem_zalloc(sizeof *c);

    c->grpc = grpc;
    c->call.carrier = &carrier;
    c->call.authorization = grpc_call_get_header(grpc, "authorization");
    c->call.authority = grpc_call_get_header(grpc, ":authority");
    c->call.peer = grpc_call_get_peer(grpc);
    c->call.trusted = g->trusted;
    g->call(g->aux, grpc_call_get_method(grpc), &c->call, request);
}

/* Returns a service that hands calls of 'descriptor''s methods, which take one
 * request and have one reply, to 'call'.  'trusted' is theirs. */
struct api_grpc *
api_grpc_create(const ProtobufCServiceDescriptor *descriptor, bool trusted,
                api_grpc_call_cb *call, void *aux)
{
    struct api_grpc *g = mem_zalloc(sizeof *g);
    grpc_handler **handlers =
        mem_alloc(descriptor->n_methods * sizeof *handlers);

    for (unsigned int i = 0; i < descriptor->n_methods; i++) {
        handlers[i] = handle__;
    }
    g->service.descriptor = descriptor;
    g->service.handlers = handlers;
    g->service.aux = g;
    g->trusted = trusted;
    g->call = call;
    g->aux = aux;
    return g;
}

/* Destroys 'g', which may be NULL. */
void
api_grpc_destroy(struct api_grpc *g)
{
    if (g) {
        free((void *) g->service.handlers);
        free(g);
    }
}

const struct grpc_service *
api_grpc_get_service(const struct api_grpc *g)
{
    return &g->service;
}
