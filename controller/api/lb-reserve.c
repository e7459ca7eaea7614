/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: reservations. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/core/overlay.h"
#include "controller/core/registration.h"

/* How long a reservation is for that does not say. */
#define UNTIL_DEFAULT_MS (INT64_C(365) * 86400 * 1000)

/* Until when. */

static char *
parse_until__(struct lb_job *job, const Google__Protobuf__Timestamp *until,
              int64_t *ms)
{
    int64_t now = lb_wall_ms();
    char *error;

    if (!until) {
        *ms = now + UNTIL_DEFAULT_MS;
        return NULL;
    }
    error = lb_parse_time(job, "until", until, ms);
    if (!error && *ms <= now) {
        error = lb_refuse(job, GRPC_INVALID_ARGUMENT,
                          "until: %" PRId64 " s since 1970 is over",
                          until->seconds);
    }
    return error;
}

/* Replies. */

static const char *
make_endpoint__(struct lb_job *job, const struct ejfat_endpoint *at)
{
    return at->min_port ? lb_make_address(&job->arena, &at->ip) : "";
}

/* Returns a message about 'r', with 'token' if that is not NULL. */
Loadbalancer__ReserveLoadBalancerReply *
lb_make_reservation(struct lb_job *job, const struct reservation *r,
                    const char *token)
{
    Loadbalancer__ReserveLoadBalancerReply *m =
        ARENA_NEW(&job->arena, Loadbalancer__ReserveLoadBalancerReply,
                  LOADBALANCER__RESERVE_LOAD_BALANCER_REPLY__INIT);
    const struct instance *in = lb_find_instance(job, r);
    struct ejfat_endpoint sync4 = lb_sync_endpoint(in, IP_FAMILY_IPV4);
    struct ejfat_endpoint sync6 = lb_sync_endpoint(in, IP_FAMILY_IPV6);
    struct ejfat_endpoint data4 = lb_data_endpoint(in, r, IP_FAMILY_IPV4);
    struct ejfat_endpoint data6 = lb_data_endpoint(in, r, IP_FAMILY_IPV6);

    m->token = (char *) (token ? token : "");
    m->lbid = lb_make_id(&job->arena, r->entry.id);
    m->syncipv4address = (char *) make_endpoint__(job, &sync4);
    m->syncipv6address = (char *) make_endpoint__(job, &sync6);
    m->syncudpport = sync4.min_port ? sync4.min_port : sync6.min_port;
    m->dataipv4address = (char *) make_endpoint__(job, &data4);
    m->dataipv6address = (char *) make_endpoint__(job, &data6);
    m->dataminport = in->first_port;
    m->datamaxport = in->last_port;
    m->fpgalbid = r->instance;
    m->strategy = (char *) strategy_to_string(r->strategy);
    m->ejfaturi = lb_make_uri(job, token, r, 0);
    return m;
}

/* Reserving. */

/* Returns the first instance that 'job''s caller may reserve, that has 'family',
 * and that is free; or NULL, and stores in '*error' why there is none. */
static const struct instance *
find_instance__(struct lb_job *job, enum ip_family family, char **error)
{
    size_t n_permitted = 0;
    size_t n_fit = 0;

    for (size_t i = 0; i < job->state->n_instances; i++) {
        const struct instance *in = &job->state->instances[i];
        struct token_scope scope = { .instance = in->id };

        if (in->reservable
            && token_allows(job->token, TOKEN_RESERVE, &scope)) {
            n_permitted++;
            if (instance_find_address(in, family)) {
                n_fit++;
                if (!book_find_reservation_of(job->book, in->id)) {
                    return in;
                }
            }
        }
    }
    *error = (!n_permitted ? lb_refuse(job, GRPC_PERMISSION_DENIED,
                                       "ReserveLoadBalancer needs a token "
                                       "with RESERVE on an instance that is "
                                       "there to be reserved")
              : n_fit      ? lb_refuse(job, GRPC_RESOURCE_EXHAUSTED,
                                       "no instance is free: what this token may "
                                            "reserve (%zu) is reserved; free one, or "
                                            "wait until one expires",
                                       n_fit)
                           : lb_refuse(job, GRPC_RESOURCE_EXHAUSTED,
                                       "ipFamily: none of the %zu instances that "
                                            "may be reserved has an address of it",
                                       n_permitted));
    return NULL;
}

/* Parses what 'job' asks for into 'r'. */
static char *
parse__(struct lb_job *job, struct reservation *r)
{
    const Loadbalancer__ReserveLoadBalancerRequest *m =
        (const void *) job->request;
    char *error =
        lb_refuse_field(job, registration_check_name("name", m->name));

    if (!error) {
        error = parse_until__(job, m->until, &r->expires);
    }
    if (!error && (unsigned int) m->ipfamily > IP_FAMILY_IPV6) {
        error = lb_refuse(job, GRPC_INVALID_ARGUMENT,
                          "ipFamily: %d is none: 0 (both), 1 (IPv4) or 2 "
                          "(IPv6)",
                          (int) m->ipfamily);
    }
    if (!error && *m->strategy
        && !strategy_from_string(m->strategy, &r->strategy)) {
        error = lb_refuse(job, GRPC_INVALID_ARGUMENT,
                          "strategy: \"%.100s\" is none: dynamic, static or "
                          "explicit",
                          m->strategy);
    }
    if (!error) {
        r->n_senders = m->n_senderaddresses;
        error = lb_parse_senders(job, m->senderaddresses, &r->senders,
                                 &r->n_senders);
    }
    r->name = m->name;
    r->family = (enum ip_family) m->ipfamily;
    return error;
}

/* Makes the reservation 'r', whose instance is free. */
static char *
reserve__(struct lb_job *job, struct reservation *r)
{
    struct token_permission permission = { TOKEN_RESERVATION, r->entry.id,
                                           TOKEN_UPDATE };
    const char *text;
    char *error;

    error = lb_issue_token(job, r->name, &permission, 1, &text, &r->token);
    if (!error) {
        overlay_begin_generation(engine_draft_change_overlay(job->draft),
                                 r->instance);
        job->reply =
            &lb_make_reservation(
                 job, lb_set_senders(job, r, r->senders, r->n_senders), text)
                 ->base;
    }
    return error;
}

char *
lb_reserve(struct lb_job *job)
{
    struct reservation r = { .strategy = STRATEGY_DYNAMIC };
    const struct instance *instance = NULL;
    char *error = parse__(job, &r);

    if (!error) {
        instance = find_instance__(job, r.family, &error);
    }
    if (instance) {
        r.entry.id = job->book->reservations.last + 1;
        r.instance = instance->id;
        error = reserve__(job, &r);
    }
    free(r.senders);
    return error;
}

char *
lb_get(struct lb_job *job)
{
    job->reply = &lb_make_reservation(job, job->reservation, NULL)->base;
    return NULL;
}

/* Ending, beginning anew, extending. */

char *
lb_free(struct lb_job *job)
{
    engine_draft_free(job->draft, job->reservation);
    return NULL;
}

static void
reset_workers__(struct lb_job *job)
{
    size_t n;
    const struct session **sessions =
        book_find_sessions(job->book, job->reservation->entry.id, &n);

    for (size_t i = 0; i < n; i++) {
        book_remove_session(engine_draft_change_book(job->draft),
                            sessions[i]->entry.id);
    }
    free(sessions);
}

/* Forgets the Sync of the instance that 'job' is about. */
static void
forget_sync_cb__(struct lb_job *job)
{
    engine_reset_sync(job->lb->engine, job->instance);
}

char *
lb_reset(struct lb_job *job)
{
    const Loadbalancer__ResetLoadBalancerRequest *m =
        (const void *) job->request;
    Loadbalancer__ResetLoadBalancerReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__ResetLoadBalancerReply,
                  LOADBALANCER__RESET_LOAD_BALANCER_REPLY__INIT);

    job->instance = job->reservation->instance;
    if (m->workers) {
        reset_workers__(job);
    }
    if (m->senders) {
        lb_set_senders(job, job->reservation, NULL, 0);
    }
    if (m->epochs) {
        overlay_begin_generation(engine_draft_change_overlay(job->draft),
                                 job->instance);
    }
    if (m->sync) {
        job->served = forget_sync_cb__;
    }
    reply->sync = m->sync;
    reply->epochs = m->epochs;
    reply->senders = m->senders;
    reply->workers = m->workers;
    job->reply = &reply->base;
    return NULL;
}

char *
lb_extend(struct lb_job *job)
{
    const Loadbalancer__ExtendReservationRequest *m =
        (const void *) job->request;
    Loadbalancer__ExtendReservationReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__ExtendReservationReply,
                  LOADBALANCER__EXTEND_RESERVATION_REPLY__INIT);
    struct reservation *r;
    int64_t until;
    char *error = parse_until__(job, m->until, &until);

    if (error) {
        return error;
    }
    r = reservation_clone(job->reservation);
    r->expires = until;
    book_put_reservation(engine_draft_change_book(job->draft), r);
    reply->until = lb_make_time(&job->arena, until);
    job->reply = &reply->base;
    return NULL;
}
