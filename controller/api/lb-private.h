/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_LB_PRIVATE_H
#define EVLB_LB_PRIVATE_H 1

/* Within the control API:
 *
 *     lb.c           from a call to its handler, and back
 *     lb-auth.c      who calls, and what that token allows
 *     lb-chain.c     being a worker of another load balancer
 *     lb-demands.c   slots that workers demand
 *     lb-graph.c     who is whose worker
 *     lb-link.c      connections to those whose workers we are
 *     lb-message.c   what messages are made of: times, ids, addresses, URIs
 *     lb-reserve.c   reservations
 *     lb-senders.c   senders of a reservation
 *     lb-series.c    what was, over time
 *     lb-status.c    what is in service
 *     lb-token.c     tokens
 *     lb-version.c   what we are
 *     lb-worker.c    workers
 *
 * A call becomes a job, which its handler carries out.  Of a method that
 * changes something, the handler runs within the engine's plan and sees a draft
 * of what is to be in service; it may run several times, each time from the
 * beginning.  The job is answered when the draft is stored. */

#include <stdbool.h>
#include <stdint.h>

#include <config.h>
#include <openvswitch/list.h>

#include "controller/api/api-call.h"
#include "controller/api/lb.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "controller/core/book.h"
#include "controller/core/instance.h"
#include "controller/core/token.h"
#include "controller/engine.h"
#include "lib/arena.h"
#include "lib/ejfat-uri.h"
#include "lib/secret.h"

struct api_client;
struct chain;
struct event;
struct lb_method;

struct lb {
    struct engine *engine;
    struct api_grpc *doors[2]; /* The trusted one is the second. */
    struct ovs_list links;     /* Of chains. */
    struct event *link_timer;
    struct secret_key key; /* For what chains keep. */
    char *key_error;       /* Why there is none, or NULL. */
};

struct lb_job;

/* Carries out 'job'.  Returns NULL, or an error, of 'job->status', that the
 * caller must free. */
typedef char *lb_handler(struct lb_job *);

/* One call while it lasts. */
struct lb_job {
    struct lb *lb;
    struct api_call *call;
    const struct lb_method *method;
    const ProtobufCMessage *request;
    ProtobufCMessage *copy; /* What 'request' is once the call lasts. */
    uint32_t caller;        /* Id of the caller's token. */
    uint16_t instance;      /* For 'served'. */

    /* What there is while the handler runs. */
    struct engine_draft *draft; /* NULL if nothing is changed. */
    const struct book *book;
    const struct state *state;
    const struct token *token;             /* Of the caller. */
    const struct reservation *reservation; /* That the request is about, */
    const struct session *session;         /* likewise; or NULL. */

    /* What the handler makes of it. */
    struct arena arena;              /* For 'reply', and whatever else. */
    const ProtobufCMessage *reply;   /* NULL for one that says nothing. */
    enum grpc_status status;         /* Of an error. */
    void (*served)(struct lb_job *); /* Called when it is in service, or
                                      * NULL. */
    lb_handler *plan;                /* If that is not the method's handler. */
    struct lb_link *link;            /* Of a chain that is to be. */
};

/* The methods: what they are called, what a right is needed on, and which, and
 * what they do.  Those that are about nothing in particular ask for a token. */
#define LB_METHODS                                                            \
    LB_METHOD(ReserveLoadBalancer, lb_reserve, NOTHING, READ_ONLY, CHANGES)   \
    LB_METHOD(GetLoadBalancer, lb_get, RESERVATION, READ_ONLY, READS)         \
    LB_METHOD(LoadBalancerStatus, lb_status, RESERVATION, READ_ONLY, READS)   \
    LB_METHOD(FreeLoadBalancer, lb_free, RESERVATION, UPDATE, CHANGES)        \
    LB_METHOD(ResetLoadBalancer, lb_reset, RESERVATION, UPDATE, CHANGES)      \
    LB_METHOD(ExtendReservation, lb_extend, RESERVATION, UPDATE, CHANGES)     \
    LB_METHOD(AddSenders, lb_add_senders, RESERVATION, UPDATE, CHANGES)       \
    LB_METHOD(RemoveSenders, lb_remove_senders, RESERVATION, UPDATE, CHANGES) \
    LB_METHOD(Register, lb_register, RESERVATION, REGISTER, CHANGES)          \
    LB_METHOD(Deregister, lb_deregister, SESSION, UPDATE, CHANGES)            \
    LB_METHOD(SendState, lb_send_state, SESSION, UPDATE, READS)               \
    LB_METHOD(SetSlotDemands, lb_set_demands, RESERVATION, UPDATE, CHANGES)   \
    LB_METHOD(Overview, lb_overview, NOTHING, READ_ONLY, READS)               \
    LB_METHOD(Timeseries, lb_timeseries, NOTHING, READ_ONLY, WAITS)           \
    LB_METHOD(Version, lb_version, NOTHING, READ_ONLY, READS)                 \
    LB_METHOD(CreateToken, lb_create_token, NOTHING, READ_ONLY, CHANGES)      \
    LB_METHOD(ListTokenPermissions, lb_list_permissions, NOTHING, READ_ONLY,  \
              READS)                                                          \
    LB_METHOD(ListChildTokens, lb_list_children, NOTHING, READ_ONLY, READS)   \
    LB_METHOD(RevokeToken, lb_revoke_token, NOTHING, READ_ONLY, CHANGES)      \
    LB_METHOD(ChainLoadBalancer, lb_chain, RESERVATION, UPDATE, WAITS)        \
    LB_METHOD(UnchainLoadBalancer, lb_unchain, RESERVATION, UPDATE, CHANGES)  \
    LB_METHOD(GetChainGraph, lb_chain_graph, RESERVATION, READ_ONLY, WAITS)

#define LB_METHOD(NAME, HANDLER, SUBJECT, RIGHT, KIND) lb_handler HANDLER;
LB_METHODS
#undef LB_METHOD

enum lb_subject {
    LB_NOTHING,
    LB_RESERVATION,
    LB_SESSION
};

enum lb_kind {
    LB_READS,  /* The handler answers at once, */
    LB_WAITS,  /* or lb_finish() is called later if it returns no error. */
    LB_CHANGES /* It runs within the engine's plan. */
};

struct lb_method {
    const char *name;
    lb_handler *handler;
    enum lb_subject subject;
    enum token_right right;
    enum lb_kind kind;
};

/* lb.c */
char *lb_refuse(struct lb_job *, enum grpc_status, const char *format, ...)
    __attribute__((__format__(printf, 3, 4), __returns_nonnull__));
char *lb_refuse_field(struct lb_job *, char *error);
void lb_finish(struct lb_job *, char *error);
void lb_change(struct lb_job *, lb_handler *plan);

/* lb-auth.c */
char *lb_admit(struct lb_job *);
char *lb_find_token(struct lb_job *, const char *text, const struct token **);
struct token_scope lb_reservation_scope(const struct reservation *);
char *lb_issue_token(struct lb_job *, const char *name,
                     const struct token_permission *, size_t n,
                     const char **text, uint32_t *id);

/* lb-demands.c */
char *lb_parse_demands(struct lb_job *, const char *field,
                       Loadbalancer__SlotRange *const *, size_t n,
                       struct slot_range **);
char *
lb_check_demands(struct lb_job *, const struct session *const *, size_t n);

/* lb-graph.c */
char *lb_get_node(const struct lb_job *, uint64_t reservation);

/* lb-link.c */

/* What keeps a chain going: the session that we have at the upstream control
 * plane. */
struct lb_link {
    struct ovs_list node; /* In struct lb's 'links'. */
    struct lb *lb;
    const struct chain *chain; /* Its id is 0 until it is in the book. */
    struct lb_job *job;        /* That waits for it to be in the book, or
                                * NULL. */
    struct ejfat_uri uri;
    char *ca;                  /* That 'client' trusts, or NULL. */
    struct api_client *client; /* NULL if 'uri' is not known. */
    char *session;             /* There, NULL while there is none, */
    char *token;               /* and its token. */
    unsigned int n_calls;      /* That are under way. */
    bool over;                 /* Is it to go? */
    int64_t retry;             /* When to register, if there is no session. */
    char *error;               /* What is wrong, or NULL. */
    int64_t since;             /* Since when, in ms since 1970. */
};

void lb_links_init(struct lb *);
void lb_links_destroy(struct lb *);
struct lb_link *
lb_link_create(struct lb *, const struct chain *, const struct ejfat_uri *);
struct lb_link *lb_link_find(const struct lb *, uint64_t chain);
void lb_link_register(struct lb_link *,
                      void (*done)(struct lb_link *, enum grpc_status));
void lb_link_end(struct lb_link *);
void lb_link_keep(struct lb_link *, const struct chain *);
char *lb_link_seal(const struct lb *, const char *uri);

/* lb-message.c */
int64_t lb_wall_ms(void);
Google__Protobuf__Timestamp *lb_make_time(struct arena *, int64_t ms);
char *lb_parse_time(struct lb_job *, const char *field,
                    const Google__Protobuf__Timestamp *, int64_t *ms);
bool lb_parse_id(const char *, uint64_t *id);
char *lb_make_id(struct arena *, uint64_t id);
Loadbalancer__SlotRange **
lb_make_ranges(struct arena *, const struct slot_range *, size_t n);
char *lb_make_address(struct arena *, const struct in6_addr *);
const struct instance *
lb_find_instance(const struct lb_job *, const struct reservation *);
struct ejfat_endpoint
lb_sync_endpoint(const struct instance *, enum ip_family);
struct ejfat_endpoint
lb_data_endpoint(const struct instance *, const struct reservation *,
                 enum ip_family);
bool lb_set_host(const struct lb_job *, struct ejfat_uri *);
char *lb_make_uri(struct lb_job *, const char *token,
                  const struct reservation *, uint64_t session);

/* lb-reserve.c */
Loadbalancer__ReserveLoadBalancerReply *
lb_make_reservation(struct lb_job *, const struct reservation *,
                    const char *token);

/* lb-senders.c */
char *lb_parse_senders(struct lb_job *, char *const *addresses,
                       struct in6_addr **, size_t *n);
void lb_set_sources(struct lb_job *, const struct reservation *);
const struct reservation *
lb_set_senders(struct lb_job *, const struct reservation *,
               const struct in6_addr *, size_t n);

#endif /* lb-private.h */
