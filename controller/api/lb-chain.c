/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: being a worker of another load balancer.
 *
 * Chaining asks the upstream control plane for its data addresses and for the
 * chains that it is in, refuses a circle, registers there, and puts the chain
 * into the book; if that fails, it deregisters again. */

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

#define TIMEOUT_MS 5000
#define CHAINS_MAX 8 /* Of a reservation. */

/* Asking. */

/* Parses the EJFAT_URI of 'job' into 'uri', and checks that the configuration
 * allows its control plane, whose address goes to '*peer', which the caller must
 * free. */
static char *
parse_uri__(struct lb_job *job, const char *text, struct ejfat_uri *uri,
            char **peer)
{
    char *error = ejfat_uri_parse(text, uri);

    *peer = NULL;
    if (error) {
        char *wrapped =
            lb_refuse(job, GRPC_INVALID_ARGUMENT, "ejfatUri: %s", error);

        free(error);
        return wrapped;
    }
    if (!*uri->token || !*uri->lb_id) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT, "ejfatUri: has no %s",
                         *uri->token ? "reservation, /lb/ID" : "token");
    }
    *peer = mem_printf(strchr(uri->host, ':') ? "[%s]:%u" : "%s:%u", uri->host,
                       (unsigned int) uri->port);
    if (!chain_settings_allow(&engine_get_config(job->lb->engine)->chain,
                              *peer)) {
        return lb_refuse(job, GRPC_PERMISSION_DENIED,
                         "ejfatUri: the setting chain.allow does not name "
                         "\"%s\"",
                         *peer);
    }
    return NULL;
}

/* Checks what 'm' asks of the other load balancer, and stores it in 'chain'. */
static char *
parse_share__(struct lb_job *job,
              const Loadbalancer__ChainLoadBalancerRequest *m,
              struct chain *chain)
{
    struct session worker = { .weight =
                                  m->weight == 0 ? 1 : (double) m->weight,
                              .min_factor = (double) m->minfactor,
                              .max_factor = (double) m->maxfactor };
    char *error;

    error = lb_parse_demands(job, "slotDemands", m->slotdemands,
                             m->n_slotdemands, &worker.demands);
    if (error) {
        return error;
    }
    chain->weight = worker.weight;
    chain->min_factor = worker.min_factor;
    chain->max_factor = worker.max_factor;
    chain->n_demands = m->n_slotdemands;
    chain->demands =
        mem_dup(worker.demands, chain->n_demands * sizeof *chain->demands);
    return lb_refuse_field(job, registration_check_share(&worker));
}

static char *
parse_family__(struct lb_job *job,
               const Loadbalancer__ChainLoadBalancerRequest *m,
               struct chain *chain)
{
    const struct instance *instance =
        state_find_instance(job->state, job->reservation->instance);
    const struct in6_addr *ip;

    chain->family = (enum ip_family) m->ipfamily;
    if (chain->family != IP_FAMILY_IPV4 && chain->family != IP_FAMILY_IPV6) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "ipFamily: %d is neither IPV4 nor IPV6, and a worker "
                         "has one address",
                         (int) m->ipfamily);
    }
    ip = instance_find_address(instance, chain->family);
    if (!ip || !family_has(job->reservation->family, ip)) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "ipFamily: the reservation has no %s address",
                         chain->family == IP_FAMILY_IPV4 ? "IPv4" : "IPv6");
    }
    return NULL;
}

/* Checks that 'reservation' may have one more chain, which is to 'upstream'. */
static char *
check_others__(struct lb_job *job, const struct book *book,
               const char *upstream)
{
    size_t n = 0;

    for (size_t i = 0; i < book->chains.n; i++) {
        const struct chain *c = book_get_chain(book, i);

        if (c->reservation == job->reservation->entry.id) {
            n++;
            if (!strcasecmp(c->upstream, upstream)) {
                return lb_refuse(job, GRPC_ALREADY_EXISTS,
                                 "ejfatUri: chain %" PRIu64 " is to %s",
                                 c->entry.id, upstream);
            }
        }
    }
    return (n < CHAINS_MAX ? NULL
                           : lb_refuse(job, GRPC_RESOURCE_EXHAUSTED,
                                       "the reservation is in %zu chains, and "
                                       "may be in no more",
                                       n));
}

/* Parses what 'job' asks for into 'chain' and 'uri'. */
static char *
parse__(struct lb_job *job, struct chain *chain, struct ejfat_uri *uri)
{
    const Loadbalancer__ChainLoadBalancerRequest *m =
        (const void *) job->request;
    char *node = lb_get_node(job, job->reservation->entry.id);
    char *check = registration_check_name("", node);
    char *peer = NULL;
    char *error = parse_uri__(job, m->ejfaturi, uri, &peer);

    chain->entry.n_refs = 1;
    chain->reservation = job->reservation->entry.id;
    chain->name = mem_strdup(check ? "" : node);
    chain->upstream = mem_printf("%s/%s", peer ? peer : "", uri->lb_id);
    chain->secret = mem_strdup("");
    free(check);
    free(node);
    free(peer);
    error = error ? error : parse_family__(job, m, chain);
    error = error ? error : parse_share__(job, m, chain);
    return error ? error : check_others__(job, job->book, chain->upstream);
}

/* Steps, from the last one to the first. */

static void
served_cb__(struct lb_job *job)
{
    const Loadbalancer__ChainLoadBalancerReply *reply =
        (const void *) job->reply;
    struct lb_link *link = job->link;

    job->link = NULL;
    if (link) {
        lb_link_keep(link,
                     book_find_chain(engine_get_book(job->lb->engine),
                                     strtoull(reply->chainid, NULL, 10)));
    }
}

/* Puts the chain, for which we are registered, into the book. */
static char *
plan__(struct lb_job *job)
{
    Loadbalancer__ChainLoadBalancerReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__ChainLoadBalancerReply,
                  LOADBALANCER__CHAIN_LOAD_BALANCER_REPLY__INIT);
    const Loadbalancer__ChainLoadBalancerRequest *m =
        (const void *) job->request;
    struct book *book;
    struct chain *chain;
    char *error;

    if (!job->link) {
        return lb_refuse(job, GRPC_UNAVAILABLE, "evlbd is ending");
    }
    error = check_others__(job, job->book, job->link->chain->upstream);
    if (error) {
        return error;
    }
    book = engine_draft_change_book(job->draft);
    chain = chain_clone(job->link->chain);
    chain->entry.id = book->chains.last + 1;
    free(chain->secret);
    chain->secret = lb_link_seal(job->lb, m->ejfaturi);
    reply->chainid = lb_make_id(&job->arena, chain->entry.id);
    book_put_chain(book, chain);
    lb_set_sources(job, job->reservation);
    job->served = served_cb__;
    job->reply = &reply->base;
    return NULL;
}

/* Ends 'job', for which the upstream control plane did not do what it was asked
 * for. */
static void
fail__(struct lb_job *job, const char *what, enum grpc_status status,
       const char *message)
{
    lb_finish(job, lb_refuse(job,
                             status == GRPC_DEADLINE_EXCEEDED
                                     || status == GRPC_UNAVAILABLE
                                 ? status
                                 : GRPC_FAILED_PRECONDITION,
                             "%s upstream: %s", what, message));
}

static void
registered_cb__(struct lb_link *link, enum grpc_status status)
{
    struct lb_job *job = link->job;

    if (!job) {
        lb_link_end(link);
    } else if (status != GRPC_OK) {
        char *error = mem_strdup(link->error);

        fail__(job, "the chain is refused", status, error);
        free(error);
    } else {
        lb_change(job, plan__);
    }
}

static void
graph_cb__(void *link_, enum grpc_status status, const char *message,
           const ProtobufCMessage *reply_)
{
    const Loadbalancer__GetChainGraphReply *reply = (const void *) reply_;
    struct lb_link *link = link_;
    struct lb_job *job = link->job;

    link->n_calls--;
    if (!job || link->over) {
        return;
    }
    if (!reply) {
        fail__(job, "GetChainGraph", status, message);
    } else if (reply->cycledetected) {
        lb_finish(job, lb_refuse(job, GRPC_FAILED_PRECONDITION,
                                 "ejfatUri: %s gets its events from this "
                                 "reservation, and they would go round in "
                                 "circles",
                                 link->chain->upstream));
    } else {
        lb_link_register(link, registered_cb__);
    }
}

/* Asks which chains the upstream reservation is in. */
static void
get_graph__(struct lb_link *link)
{
    Loadbalancer__GetChainGraphRequest m =
        LOADBALANCER__GET_CHAIN_GRAPH_REQUEST__INIT;
    char *node = lb_get_node(link->job, link->chain->reservation);

    m.lbid = link->uri.lb_id;
    m.visited = &node;
    m.n_visited = 1;
    link->n_calls++;
    api_client_call(link->client, "GetChainGraph", &m.base, NULL, TIMEOUT_MS,
                    graph_cb__, link);
    free(node);
}

/* Adds to 'chain' the address 'text', if it is one. */
static void
add_source__(struct chain *chain, const char *text)
{
    struct in6_addr ip;
    char *error = registration_check_sender("", text, &ip);

    if (!error) {
        chain->sources[chain->n_sources++] = ip;
    }
    free(error);
}

static void
upstream_cb__(void *link_, enum grpc_status status, const char *message,
              const ProtobufCMessage *reply_)
{
    const Loadbalancer__ReserveLoadBalancerReply *reply =
        (const void *) reply_;
    struct lb_link *link = link_;
    struct chain *chain;

    link->n_calls--;
    if (!link->job || link->over) {
        return;
    }
    if (!reply) {
        fail__(link->job, "GetLoadBalancer", status, message);
        return;
    }
    chain = chain_clone(link->chain);
    add_source__(chain, reply->dataipv4address);
    add_source__(chain, reply->dataipv6address);
    chain_unref(link->chain);
    link->chain = chain;
    get_graph__(link);
}

char *
lb_chain(struct lb_job *job)
{
    Loadbalancer__GetLoadBalancerRequest m =
        LOADBALANCER__GET_LOAD_BALANCER_REQUEST__INIT;
    struct chain *chain = mem_zalloc(sizeof *chain);
    struct lb_link *link;
    struct ejfat_uri uri = { .tls = false };
    char *error = parse__(job, chain, &uri);

    if (!error && job->lb->key_error) {
        error =
            lb_refuse(job, GRPC_FAILED_PRECONDITION,
                      "its token could not be kept: %s", job->lb->key_error);
    }
    if (!error) {
        link = lb_link_create(job->lb, chain, &uri);
        link->job = job;
        job->link = link;
        m.lbid = link->uri.lb_id;
        link->n_calls++;
        api_client_call(link->client, "GetLoadBalancer", &m.base, NULL,
                        TIMEOUT_MS, upstream_cb__, link);
    }
    explicit_bzero(&uri, sizeof uri);
    chain_unref(chain);
    return error;
}

/* Ends a chain.  Its link deregisters when it sees that. */
char *
lb_unchain(struct lb_job *job)
{
    const Loadbalancer__UnchainLoadBalancerRequest *m =
        (const void *) job->request;
    const struct chain *chain;
    uint64_t id;

    if (!lb_parse_id(m->chainid, &id)) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "chainId: \"%.100s\" is no number of a chain",
                         m->chainid);
    }
    chain = book_find_chain(job->book, id);
    if (!chain || chain->reservation != job->reservation->entry.id) {
        return lb_refuse(job, GRPC_NOT_FOUND,
                         "chainId: reservation %" PRIu64
                         " has no chain %" PRIu64,
                         job->reservation->entry.id, id);
    }
    book_remove_chain(engine_draft_change_book(job->draft), id);
    lb_set_sources(job, job->reservation);
    return NULL;
}
