/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: who is whose worker.
 *
 * A node is a reservation, named HOST:PORT/ID.  Only who is a worker knows about
 * it, so the graph is walked upstream: each node tells of its own chains, and
 * asks the other ends of them.  The names of those that were asked go along, so
 * that a circle is seen; one that hides behind other names ends when the list
 * is full. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/api-client.h"
#include "controller/config.h"
#include "controller/core/chain.h"
#include "controller/core/mem.h"
#include "controller/core/registration.h"

#define HOPS_MAX 16
#define NODE_MAX 320 /* Characters of a name. */
#define EDGES_MAX 1024
#define TIMEOUT_MS 5000 /* The whole way. */
#define HOP_MS 250      /* That each hop leaves the one before. */

/* A job that asks upstream. */
struct walk {
    struct lb_job *job;
    Loadbalancer__GetChainGraphReply *reply; /* In the job's arena. */
    size_t n_asked;                          /* That have not answered. */
    char *error;                             /* Of the first that failed. */
};

/* Names. */

/* Returns the name of our node 'reservation' as whoever calls 'job' knows us; or
 * as others do.  The caller must free it. */
char *
lb_get_node(const struct lb_job *job, uint64_t reservation)
{
    struct ejfat_uri uri = { .tls = false };

    lb_set_host(job, &uri);
    return mem_printf(strchr(uri.host, ':') ? "[%s]:%u/%" PRIu64
                                            : "%s:%u/%" PRIu64,
                      uri.host, (unsigned int) uri.port, reservation);
}

/* Is 'name' that of our node 'reservation' at 'address'? */
static bool
is_at__(const char *name, const char *address, uint64_t reservation)
{
    char *own = mem_printf("%s/%" PRIu64, address, reservation);
    bool is = !strcasecmp(name, own);

    free(own);
    return is;
}

/* Is 'name' one that our node 'reservation' goes by? */
static bool
is_own__(const struct lb_job *job, const char *name, uint64_t reservation)
{
    const struct api_settings *api = &engine_get_config(job->lb->engine)->api;

    for (size_t i = 0; i < api->n_listen; i++) {
        if (is_at__(name, strchr(api->listen[i], ':') + 1, reservation)) {
            return true;
        }
    }
    return (job->call->authority
            && is_at__(name, job->call->authority, reservation))
           || (api->public_address
               && is_at__(name, api->public_address, reservation));
}

/* Edges. */

static char *
make_ip__(struct arena *arena, const struct in6_addr *ips, size_t n,
          enum ip_family family)
{
    for (size_t i = 0; i < n; i++) {
        if (family_has(family, &ips[i])) {
            return lb_make_address(arena, &ips[i]);
        }
    }
    return arena_strdup(arena, "");
}

static void
add_edge__(struct walk *walk, Loadbalancer__ChainGraphEdge *edge)
{
    Loadbalancer__GetChainGraphReply *reply = walk->reply;

    if (reply->n_edges < EDGES_MAX) {
        reply->edges = (Loadbalancer__ChainGraphEdge **) arena_append(
            &walk->job->arena, (void **) reply->edges, &reply->n_edges, edge);
    }
}

/* Adds the edge that 'chain' is, whose lower end is 'node'. */
static void
add_own__(struct walk *walk, const struct chain *chain, const char *node)
{
    struct lb_job *job = walk->job;
    struct arena *arena = &job->arena;
    const struct instance *in =
        state_find_instance(job->state, job->reservation->instance);
    Loadbalancer__ChainGraphEdge *m =
        ARENA_NEW(arena, Loadbalancer__ChainGraphEdge,
                  LOADBALANCER__CHAIN_GRAPH_EDGE__INIT);

    m->upstreamlbid = arena_strdup(arena, chain->upstream);
    m->upstreamdataipv4 =
        make_ip__(arena, chain->sources, chain->n_sources, IP_FAMILY_IPV4);
    m->upstreamdataipv6 =
        make_ip__(arena, chain->sources, chain->n_sources, IP_FAMILY_IPV6);
    m->downstreamlbid = arena_strdup(arena, node);
    m->downstreamdataipv4 =
        make_ip__(arena, in->addresses, in->n_addresses, IP_FAMILY_IPV4);
    m->downstreamdataipv6 =
        make_ip__(arena, in->addresses, in->n_addresses, IP_FAMILY_IPV6);
    m->chainid = lb_make_id(arena, chain->entry.id);
    add_edge__(walk, m);
}

/* Adds a copy of 'edge', which somebody upstream told. */
static void
add_foreign__(struct walk *walk, const Loadbalancer__ChainGraphEdge *edge)
{
    struct arena *arena = &walk->job->arena;
    Loadbalancer__ChainGraphEdge *m =
        ARENA_NEW(arena, Loadbalancer__ChainGraphEdge,
                  LOADBALANCER__CHAIN_GRAPH_EDGE__INIT);

    m->upstreamlbid = arena_strdup(arena, edge->upstreamlbid);
    m->upstreamdataipv4 = arena_strdup(arena, edge->upstreamdataipv4);
    m->upstreamdataipv6 = arena_strdup(arena, edge->upstreamdataipv6);
    m->downstreamlbid = arena_strdup(arena, edge->downstreamlbid);
    m->downstreamdataipv4 = arena_strdup(arena, edge->downstreamdataipv4);
    m->downstreamdataipv6 = arena_strdup(arena, edge->downstreamdataipv6);
    m->chainid = arena_strdup(arena, edge->chainid);
    add_edge__(walk, m);
}

/* Walking. */

/* Ends 'walk' if all have answered. */
static void
check_end__(struct walk *walk)
{
    struct lb_job *job = walk->job;

    if (walk->n_asked) {
        return;
    }
    if (walk->error && !walk->reply->cycledetected) {
        char *error = lb_refuse(job, GRPC_UNAVAILABLE, "%s", walk->error);

        free(walk->error);
        lb_finish(job, error);
    } else {
        free(walk->error);
        job->reply = &walk->reply->base;
        lb_finish(job, NULL);
    }
}

static void
answer_cb__(void *walk_, enum grpc_status status, const char *message,
            const ProtobufCMessage *reply_)
{
    const Loadbalancer__GetChainGraphReply *reply = (const void *) reply_;
    struct walk *walk = walk_;

    (void) status;
    if (reply) {
        for (size_t i = 0; i < reply->n_edges; i++) {
            add_foreign__(walk, reply->edges[i]);
        }
        walk->reply->cycledetected |= reply->cycledetected;
    } else if (!walk->error) {
        walk->error = mem_printf("GetChainGraph upstream: %s", message);
    }
    walk->n_asked--;
    check_end__(walk);
}

/* Asks who is at the other end of 'link', whose lower end is 'node'. */
static void
ask__(struct walk *walk, const struct lb_link *link, const char *node)
{
    const Loadbalancer__GetChainGraphRequest *request =
        (const void *) walk->job->request;
    Loadbalancer__GetChainGraphRequest m =
        LOADBALANCER__GET_CHAIN_GRAPH_REQUEST__INIT;
    char *visited[HOPS_MAX];

    for (size_t i = 0; i < request->n_visited; i++) {
        visited[i] = request->visited[i];
    }
    visited[request->n_visited] = (char *) node;
    m.lbid = (char *) link->uri.lb_id;
    m.visited = visited;
    m.n_visited = request->n_visited + 1;
    api_client_call(link->client, "GetChainGraph", &m.base, NULL,
                    TIMEOUT_MS - HOP_MS * (int64_t) m.n_visited, answer_cb__,
                    walk);
}

/* Tells of 'link', and asks further. */
static void
follow__(struct walk *walk, const struct lb_link *link, const char *node)
{
    add_own__(walk, link->chain, node);
    if (link->client) {
        walk->n_asked++;
        ask__(walk, link, node);
    } else if (!walk->error) {
        walk->error = mem_printf("chain %" PRIu64 ": %s",
                                 link->chain->entry.id, link->error);
    }
}

/* Checks the names that came along with 'job', and stores in '*cycle' whether
 * our node is among them. */
static char *
check_visited__(struct lb_job *job, bool *cycle)
{
    const Loadbalancer__GetChainGraphRequest *m = (const void *) job->request;

    *cycle = false;
    for (size_t i = 0; i < m->n_visited && !*cycle; i++) {
        if (strlen(m->visited[i]) > NODE_MAX) {
            return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                             "visited[%zu]: has more than %d characters", i,
                             NODE_MAX);
        }
        *cycle = is_own__(job, m->visited[i], job->reservation->entry.id);
    }
    return (*cycle || m->n_visited < HOPS_MAX
                ? NULL
                : lb_refuse(job, GRPC_FAILED_PRECONDITION,
                            "visited: %zu load balancers one behind the other "
                            "are more than may be, or a circle of fewer that "
                            "go by several names",
                            m->n_visited));
}

char *
lb_chain_graph(struct lb_job *job)
{
    struct walk *walk = arena_alloc(&job->arena, sizeof *walk);
    uint64_t id = job->reservation->entry.id;
    struct lb_link *link;
    char *error, *node;
    bool cycle;

    error = check_visited__(job, &cycle);
    if (error) {
        return error;
    }
    walk->job = job;
    walk->reply = ARENA_NEW(&job->arena, Loadbalancer__GetChainGraphReply,
                            LOADBALANCER__GET_CHAIN_GRAPH_REPLY__INIT);
    walk->reply->cycledetected = cycle;
    node = lb_get_node(job, id);
    walk->n_asked = 1; /* Us, until we are through. */
    LIST_FOR_EACH (link, node, &job->lb->links) {
        if (!cycle && !link->over && link->chain->reservation == id) {
            follow__(walk, link, node);
        }
    }
    free(node);
    walk->n_asked--;
    check_end__(walk);
    return NULL;
}
