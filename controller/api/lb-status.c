/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: what is in service. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/chain.h"
#include "controller/core/epoch.h"
#include "controller/core/issue.h"

/* Slots. */

/* Adds to 'm' the slots of 'calendar' that 'member' holds. */
static void
add_slots__(struct arena *arena, Loadbalancer__WorkerStatus *m,
            const struct calendar *calendar, uint16_t member)
{
    struct slot_range *ranges;

    m->slotsassigned = (uint32_t) calendar_count(calendar, member);
    m->n_slots = slots_find_ranges(calendar->members,
                                   (uint32_t) calendar_n_slots(calendar),
                                   member, &ranges);
    m->slots = lb_make_ranges(arena, ranges, m->n_slots);
    free(ranges);
}

/* Issues. */

static Loadbalancer__HealthIssue *
make_issue__(struct arena *arena, const struct issue *issue)
{
    Loadbalancer__HealthIssue *m = ARENA_NEW(arena, Loadbalancer__HealthIssue,
                                             LOADBALANCER__HEALTH_ISSUE__INIT);

    m->type = arena_strdup(arena, issue->type);
    m->severity =
        arena_strdup(arena, issue_severity_to_string(issue->severity));
    m->message = arena_strdup(arena, issue->message);
    m->detected_at = lb_make_time(arena, issue->since);
    return m;
}

/* Returns those of 'issues' that are about 'session', 0 for none in particular,
 * and stores their number in '*n'. */
static Loadbalancer__HealthIssue **
make_issues__(struct arena *arena, const struct issues *issues,
              uint64_t session, size_t *n)
{
    Loadbalancer__HealthIssue **m = NULL;

    *n = 0;
    for (size_t i = 0; issues && i < issues->n; i++) {
        if (issues->issues[i].session == session) {
            m = (Loadbalancer__HealthIssue **) arena_append(
                arena, (void **) m, n,
                make_issue__(arena, &issues->issues[i]));
        }
    }
    return m;
}

/* Adds to 'm' what is wrong with the chains of 'r'. */
static void
add_chain_issues__(const struct lb_job *job, struct arena *arena,
                   Loadbalancer__LoadBalancerStatusReply *m,
                   const struct reservation *r)
{
    const struct lb_link *link;

    LIST_FOR_EACH (link, node, &job->lb->links) {
        if (link->error && !link->over && !link->job
            && link->chain->reservation == r->entry.id) {
            const struct issue issue = {
                .type = "chain",
                .severity = ISSUE_ERROR,
                .message = arena_printf(arena, "chain %" PRIu64 " to %s: %s",
                                        link->chain->entry.id,
                                        link->chain->upstream, link->error),
                .since = link->since,
            };

            m->healthissues = (Loadbalancer__HealthIssue **) arena_append(
                arena, (void **) m->healthissues, &m->n_healthissues,
                make_issue__(arena, &issue));
        }
    }
}

/* Workers. */

static void
add_report__(struct arena *arena, Loadbalancer__WorkerStatus *m,
             const struct report *r)
{
    m->fillpercent = (float) r->fill;
    m->controlsignal = (float) r->control;
    m->lastupdated = r->received >= 0 ? lb_make_time(arena, r->wall) : NULL;
    m->totaleventsrecv = r->events_received;
    m->totaleventsreassembled = r->events_reassembled;
    m->totaleventsreassemblyerr = r->events_reassembly_errors;
    m->totaleventsdequeued = r->events_dequeued;
    m->totaleventenqueueerr = r->event_enqueue_errors;
    m->totalbytesrecv = r->bytes_received;
    m->totalpacketsrecv = r->packets_received;
}

static Loadbalancer__WorkerStatus *
make_worker__(struct arena *arena, const struct session *s)
{
    Loadbalancer__WorkerStatus *m = ARENA_NEW(
        arena, Loadbalancer__WorkerStatus, LOADBALANCER__WORKER_STATUS__INIT);

    m->sessionid = (int64_t) s->entry.id;
    m->name = arena_strdup(arena, s->name);
    m->ipaddress = lb_make_address(arena, &s->ip);
    m->udpport = s->base;
    m->portrange = (Loadbalancer__PortRange) s->bits;
    m->minfactor = (float) s->min_factor;
    m->maxfactor = (float) s->max_factor;
    m->keeplbheader = s->keep;
    m->slotdemands = lb_make_ranges(arena, s->demands, s->n_demands);
    m->n_slotdemands = s->n_demands;
    add_report__(arena, m, s->report);
    return m;
}

static void
add_workers__(struct lb_job *job, Loadbalancer__LoadBalancerStatusReply *m,
              const struct reservation *r, const struct epoch *newest)
{
    const struct issues *issues =
        engine_get_issues(job->lb->engine, r->instance);
    struct arena *arena = &job->arena;
    size_t n;
    const struct session **sessions =
        book_find_sessions(job->book, r->entry.id, &n);

    m->workers = arena_pointers(arena, n);
    for (size_t i = 0; i < n; i++) {
        Loadbalancer__WorkerStatus *w = make_worker__(arena, sessions[i]);

        if (newest) {
            add_slots__(arena, w, newest->calendar, sessions[i]->member);
        }
        w->healthissues = make_issues__(arena, issues, sessions[i]->entry.id,
                                        &w->n_healthissues);
        m->workers[m->n_workers++] = w;
    }
    m->healthissues = make_issues__(arena, issues, 0, &m->n_healthissues);
    add_chain_issues__(job, arena, m, r);
    free(sessions);
}

/* Reservations. */

static Loadbalancer__LoadBalancerStatusReply *
make_status__(struct lb_job *job, const struct reservation *r)
{
    struct arena *arena = &job->arena;
    Loadbalancer__LoadBalancerStatusReply *m =
        ARENA_NEW(arena, Loadbalancer__LoadBalancerStatusReply,
                  LOADBALANCER__LOAD_BALANCER_STATUS_REPLY__INIT);
    const struct instance *in = state_find_instance(job->state, r->instance);
    const struct epoch *newest = epochs_newest(&in->epochs);
    struct engine_timing timing;

    engine_get_timing(job->lb->engine, in, &timing);
    m->timestamp = lb_make_time(arena, lb_wall_ms());
    m->currentepoch = newest ? newest->id : 0;
    m->currentpredictedeventnumber = timing.now.known ? timing.now.tick : 0;
    m->senderaddresses = arena_pointers(arena, r->n_senders);
    for (size_t i = 0; i < r->n_senders; i++) {
        m->senderaddresses[m->n_senderaddresses++] =
            lb_make_address(arena, &r->senders[i]);
    }
    m->expiresat = lb_make_time(arena, r->expires);
    m->slotresolution = CALENDAR_SLOTS_MAX;
    add_workers__(job, m, r, newest);
    return m;
}

char *
lb_status(struct lb_job *job)
{
    job->reply = &make_status__(job, job->reservation)->base;
    return NULL;
}

static Loadbalancer__Overview *
make_overview__(struct lb_job *job, const struct reservation *r)
{
    Loadbalancer__Overview *m = ARENA_NEW(&job->arena, Loadbalancer__Overview,
                                          LOADBALANCER__OVERVIEW__INIT);

    m->name = arena_strdup(&job->arena, r->name);
    m->reservation = lb_make_reservation(job, r, NULL);
    m->status = make_status__(job, r);
    return m;
}

/* Shows the reservations that the caller may read. */
char *
lb_overview(struct lb_job *job)
{
    Loadbalancer__OverviewReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__OverviewReply,
                  LOADBALANCER__OVERVIEW_REPLY__INIT);
    size_t n = job->book->reservations.n;

    reply->loadbalancers = arena_pointers(&job->arena, n);
    for (size_t i = 0; i < n; i++) {
        const struct reservation *r = book_get_reservation(job->book, i);
        struct token_scope scope = lb_reservation_scope(r);

        if (token_allows(job->token, TOKEN_READ_ONLY, &scope)) {
            reply->loadbalancers[reply->n_loadbalancers++] =
                make_overview__(job, r);
        }
    }
    job->reply = &reply->base;
    return NULL;
}
