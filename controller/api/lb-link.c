/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: connections to those whose workers we are.
 *
 *     chain in the book --> link --> registered --> reports, each 100 ms
 *                            ^  |                      |
 *                            |  '-- not registered <---' session is gone
 *             not any more --'
 *
 * Each period, links are made for chains that have none, as after a restart,
 * and those of chains that are not in the book any more deregister and end. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include <openvswitch/vlog.h>

#include "controller/api/api-client.h"
#include "controller/api/now.h"
#include "controller/config.h"
#include "controller/core/chain.h"
#include "controller/core/mem.h"
#include "controller/core/registration.h"

VLOG_DEFINE_THIS_MODULE(evlb_chain);

#define PERIOD_MS 100
#define TIMEOUT_MS 2000
#define RETRY_MS 2000

/* Sealing. */

/* Returns 'uri', which has a token in it, in a form that can be stored.  The
 * caller must free it. */
char *
lb_link_seal(const struct lb *lb, const char *uri)
{
    return secret_seal(&lb->key, "chain", uri);
}

/* Gets the key of 'lb': the one beside the state, or if that is kept nowhere,
 * any. */
static void
load_key__(struct lb *lb)
{
    char *state = engine_get_state_file(lb->engine);
    char *file = state ? mem_printf("%s-key", state) : NULL;

    if (file) {
        lb->key_error = secret_key_load(file, &lb->key);
    } else {
        secret_key_create(&lb->key);
    }
    if (lb->key_error) {
        VLOG_ERR("%s", lb->key_error);
    }
    free(file);
    free(state);
}

/* Links. */

/* Says that something is wrong with 'link', in 'error', which it takes over, or
 * that nothing is, in NULL. */
static void
set_error__(struct lb_link *link, char *error)
{
    if (error && (!link->error || strcmp(error, link->error))) {
        VLOG_WARN("chain %" PRIu64 " to %s: %s", link->chain->entry.id,
                  link->chain->upstream, error);
        link->since = lb_wall_ms();
    } else if (!error && link->error) {
        VLOG_INFO("chain %" PRIu64 " to %s: is well again",
                  link->chain->entry.id, link->chain->upstream);
    }
    free(link->error);
    link->error = error;
}

/* Makes a link for 'chain' to the control plane of 'uri', which may be NULL if
 * that cannot be known. */
struct lb_link *
lb_link_create(struct lb *lb, const struct chain *chain,
               const struct ejfat_uri *uri)
{
    const char *ca = engine_get_config(lb->engine)->chain.ca;
    struct lb_link *link = mem_zalloc(sizeof *link);

    link->lb = lb;
    link->chain = chain_ref(chain);
    if (uri) {
        struct api_client_config config = { .uri = &link->uri };

        link->uri = *uri;
        link->ca = ca ? mem_strdup(ca) : NULL;
        config.ca = link->ca;
        link->client = api_client_create(engine_get_base(lb->engine), &config);
    }
    ovs_list_push_back(&lb->links, &link->node);
    event_active(lb->link_timer, EV_TIMEOUT, 0);
    return link;
}

static void
link_destroy__(struct lb_link *link)
{
    ovs_list_remove(&link->node);
    if (link->job) {
        link->job->link = NULL;
    }
    api_client_destroy(link->client);
    chain_unref(link->chain);
    explicit_bzero(&link->uri, sizeof link->uri);
    free(link->ca);
    free(link->session);
    free(link->token);
    free(link->error);
    free(link);
}

/* Returns the link of 'chain', or NULL. */
struct lb_link *
lb_link_find(const struct lb *lb, uint64_t chain)
{
    struct lb_link *link;

    LIST_FOR_EACH (link, node, &lb->links) {
        if (link->chain->entry.id == chain && !link->over) {
            return link;
        }
    }
    return NULL;
}

/* The chain of 'link' is in the book, as 'chain'. */
void
lb_link_keep(struct lb_link *link, const struct chain *chain)
{
    chain_ref(chain);
    chain_unref(link->chain);
    link->chain = chain;
    link->job = NULL;
}

/* Registering. */

struct registering {
    struct lb_link *link;
    void (*done)(struct lb_link *, enum grpc_status);
};

static void
forget_session__(struct lb_link *link)
{
    free(link->session);
    free(link->token);
    link->session = NULL;
    link->token = NULL;
    link->retry = now_ms() + RETRY_MS;
}

static void
registered_cb__(void *registering_, enum grpc_status status,
                const char *message, const ProtobufCMessage *reply_)
{
    const Loadbalancer__RegisterReply *reply = (const void *) reply_;
    struct registering *registering = registering_;
    struct lb_link *link = registering->link;

    link->n_calls--;
    if (reply) {
        free(link->session);
        free(link->token);
        link->session = mem_strdup(reply->sessionid);
        link->token = mem_strdup(reply->token);
        set_error__(link, NULL);
    } else {
        set_error__(link, mem_printf("Register: %s", message));
        link->retry = now_ms() + RETRY_MS;
    }
    if (registering->done) {
        registering->done(link, status);
    }
    free(registering);
}

/* Stores in '*ip' where 'chain' receives; returns false if nowhere. */
static bool
find_ip__(const struct lb *lb, const struct chain *chain, struct in6_addr *ip)
{
    const struct reservation *r =
        book_find_reservation(engine_get_book(lb->engine), chain->reservation);
    const struct instance *instance =
        r ? state_find_instance(engine_get_state(lb->engine), r->instance)
          : NULL;
    const struct in6_addr *found =
        instance ? instance_find_address(instance, chain->family) : NULL;

    if (found) {
        *ip = *found;
    }
    return found;
}

/* Registers 'link', and calls 'done' then if it is not NULL; 'link->error' says
 * what is wrong. */
void
lb_link_register(struct lb_link *link,
                 void (*done)(struct lb_link *, enum grpc_status))
{
    const struct chain *c = link->chain;
    Loadbalancer__RegisterRequest m = LOADBALANCER__REGISTER_REQUEST__INIT;
    struct registering *registering = mem_zalloc(sizeof *registering);
    struct in6_addr ip;
    struct arena arena;

    registering->link = link;
    registering->done = done;
    link->n_calls++;
    if (!find_ip__(link->lb, c, &ip)) {
        registered_cb__(registering, GRPC_FAILED_PRECONDITION,
                        "the instance has no address of that family", NULL);
        return;
    }
    arena_init(&arena);
    m.lbid = link->uri.lb_id;
    m.name = c->name;
    m.weight = (float) c->weight;
    m.ipaddress = lb_make_address(&arena, &ip);
    m.udpport = CHAIN_PORT;
    m.portrange = (Loadbalancer__PortRange) CHAIN_PORT_BITS;
    m.minfactor = (float) c->min_factor;
    m.maxfactor = (float) c->max_factor;
    m.keeplbheader = true;
    m.slotdemands = lb_make_ranges(&arena, c->demands, c->n_demands);
    m.n_slotdemands = c->n_demands;
    api_client_call(link->client, "Register", &m.base, NULL, TIMEOUT_MS,
                    registered_cb__, registering);
    arena_destroy(&arena);
}

/* Reporting. */

static void
reported_cb__(void *link_, enum grpc_status status, const char *message,
              const ProtobufCMessage *reply)
{
    struct lb_link *link = link_;

    link->n_calls--;
    if (reply) {
        set_error__(link, NULL);
        return;
    }
    set_error__(link, mem_printf("SendState: %s", message));
    if (status == GRPC_NOT_FOUND || status == GRPC_PERMISSION_DENIED
        || status == GRPC_UNAUTHENTICATED) {
        forget_session__(link);
    }
}

/* Sums up what the workers of 'link''s reservation report. */
static void
sum_up__(const struct lb_link *link, struct chain_report *sum)
{
    const struct engine *engine = link->lb->engine;
    const struct reservation_settings *s =
        &engine_get_state(engine)->reservations;
    const struct control_settings settings = {
        .ready_on_register = s->ready_on_register,
        .silent = s->silent,
        .gone = s->gone,
    };
    size_t n;
    const struct session **sessions = book_find_sessions(
        engine_get_book(engine), link->chain->reservation, &n);

    chain_sum_up(sessions, n, &settings, now_ms(), sum);
    free(sessions);
}

static void
report__(struct lb_link *link)
{
    Loadbalancer__SendStateRequest m = LOADBALANCER__SEND_STATE_REQUEST__INIT;
    struct chain_report sum;
    struct arena arena;

    arena_init(&arena);
    sum_up__(link, &sum);
    m.lbid = link->uri.lb_id;
    m.sessionid = link->session;
    m.timestamp = lb_make_time(&arena, lb_wall_ms());
    m.isready = sum.ready;
    m.fillpercent = (float) sum.fill;
    m.controlsignal = (float) sum.control;
    m.totaleventsrecv = sum.events_received;
    m.totaleventsreassembled = sum.events_reassembled;
    m.totaleventsreassemblyerr = sum.events_reassembly_errors;
    m.totaleventsdequeued = sum.events_dequeued;
    m.totaleventenqueueerr = sum.event_enqueue_errors;
    m.totalbytesrecv = sum.bytes_received;
    m.totalpacketsrecv = sum.packets_received;
    link->n_calls++;
    api_client_call(link->client, "SendState", &m.base, link->token,
                    TIMEOUT_MS, reported_cb__, link);
    arena_destroy(&arena);
}

/* Ending. */

static void
deregistered_cb__(void *link_, enum grpc_status status, const char *message,
                  const ProtobufCMessage *reply)
{
    struct lb_link *link = link_;

    (void) status;
    link->n_calls--;
    if (!reply) {
        VLOG_WARN("chain %" PRIu64 " to %s: Deregister: %s",
                  link->chain->entry.id, link->chain->upstream, message);
    }
}

/* Ends 'link', whose chain is not in the book, or will not be. */
void
lb_link_end(struct lb_link *link)
{
    Loadbalancer__DeregisterRequest m = LOADBALANCER__DEREGISTER_REQUEST__INIT;

    if (link->job) {
        link->job->link = NULL;
        link->job = NULL;
    }
    link->over = true;
    if (link->session) {
        m.lbid = link->uri.lb_id;
        m.sessionid = link->session;
        link->n_calls++;
        api_client_call(link->client, "Deregister", &m.base, link->token,
                        TIMEOUT_MS, deregistered_cb__, link);
    }
}

/* Each period. */

static void
run_link__(struct lb_link *link, int64_t now)
{
    const struct lb *lb = link->lb;
    const struct chain *kept =
        book_find_chain(engine_get_book(lb->engine), link->chain->entry.id);

    if (link->over || link->job) {
        return;
    }
    if (!kept) {
        lb_link_end(link);
    } else if (!link->client || link->n_calls) {
        return;
    } else if (!chain_settings_allow(&engine_get_config(lb->engine)->chain,
                                     api_client_get_peer(link->client))) {
        set_error__(link, mem_strdup("the setting chain.allow does not name "
                                     "this control plane any more"));
    } else if (link->session) {
        report__(link);
    } else if (now >= link->retry) {
        lb_link_register(link, NULL);
    }
}

/* Makes a link for 'chain', which was in the book at the start. */
static void
resume__(struct lb *lb, const struct chain *chain)
{
    char *text =
        (lb->key_error ? NULL : secret_open(&lb->key, "chain", chain->secret));
    char *error = text ? NULL
                       : mem_strdup("its EJFAT_URI was sealed with "
                                    "another key; chain it anew");
    struct ejfat_uri uri;
    struct lb_link *link;

    if (text) {
        error = ejfat_uri_parse(text, &uri);
        explicit_bzero(text, strlen(text));
        free(text);
    }
    link = lb_link_create(lb, chain, error ? NULL : &uri);
    if (error) {
        set_error__(link, error);
    }
}

static void
timer_cb__(evutil_socket_t fd, short events, void *lb_)
{
    const struct timeval period = { 0, PERIOD_MS * 1000 };
    struct lb *lb = lb_;
    const struct book *book = engine_get_book(lb->engine);
    struct lb_link *link, *next;

    (void) fd;
    (void) events;
    for (size_t i = 0; i < book->chains.n; i++) {
        const struct chain *chain = book_get_chain(book, i);

        if (!lb_link_find(lb, chain->entry.id)) {
            resume__(lb, chain);
        }
    }
    LIST_FOR_EACH_SAFE (link, next, node, &lb->links) {
        run_link__(link, now_ms());
        if (link->over && !link->n_calls) {
            link_destroy__(link);
        }
    }
    if (!ovs_list_is_empty(&lb->links)) {
        event_add(lb->link_timer, &period);
    }
}

void
lb_links_init(struct lb *lb)
{
    ovs_list_init(&lb->links);
    lb->link_timer = evtimer_new(engine_get_base(lb->engine), timer_cb__, lb);
    load_key__(lb);
    event_active(lb->link_timer, EV_TIMEOUT, 0);
}

/* Ends the links of 'lb', which stay registered: they go on when evlbd does. */
void
lb_links_destroy(struct lb *lb)
{
    struct lb_link *link, *next;

    LIST_FOR_EACH_SAFE (link, next, node, &lb->links) {
        link->over = true;
        if (link->job && !link->job->plan) { /* Else the engine ends it. */
            lb_finish(link->job, lb_refuse(link->job, GRPC_UNAVAILABLE,
                                           "evlbd is ending"));
        }
        link_destroy__(link);
    }
    event_free(lb->link_timer);
    explicit_bzero(&lb->key, sizeof lb->key);
    free(lb->key_error);
}
