/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: workers, which receive a reservation's events. */

#include "controller/api/lb-private.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/now.h"
#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/core/overlay.h"
#include "controller/core/registration.h"

/* Registering. */

/* Does 'peer', a name of a connection's other end with its port, have the
 * address 'ip'? */
static bool
peer_is__(const char *peer, const struct in6_addr *ip)
{
    char s[ADDR_STRLEN];
    struct in6_addr addr;
    const char *begin = strchr(peer, ':');
    const char *end = strrchr(peer, ':');
    size_t n;

    if (!begin || end == begin) {
        return false;
    }
    begin++;
    if (*begin == '[' && end[-1] == ']') {
        begin++;
        end--;
    }
    n = (size_t) (end - begin);
    if (n >= sizeof s) {
        return false;
    }
    memcpy(s, begin, n);
    s[n] = '\0';
    return addr_from_string(s, &addr) && addr_equal(&addr, ip);
}

/* Parses what 'job' asks for into 's'. */
static char *
parse__(struct lb_job *job, struct session *s)
{
    const Loadbalancer__RegisterRequest *m = (const void *) job->request;

    if (!addr_from_string(m->ipaddress, &s->ip)) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "ipAddress: \"%.100s\" is no IP address",
                         m->ipaddress);
    }
    if (m->udpport > UINT16_MAX) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "udpPort: %" PRIu32 " is no UDP port", m->udpport);
    }
    if ((unsigned int) m->portrange > MEMBER_BITS_MAX) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "portRange: %d is none: it is the logarithm of a "
                         "number of ports, 0 to %d",
                         (int) m->portrange, MEMBER_BITS_MAX);
    }
    s->reservation = job->reservation->entry.id;
    s->name = m->name;
    s->weight = m->weight == 0 ? 1 : (double) m->weight;
    s->base = (uint16_t) m->udpport;
    s->bits = (uint8_t) m->portrange;
    s->keep = m->keeplbheader;
    s->min_factor = (double) m->minfactor;
    s->max_factor = (double) m->maxfactor;
    s->n_demands = m->n_slotdemands;
    return lb_parse_demands(job, "slotDemands", m->slotdemands,
                            m->n_slotdemands, &s->demands);
}

/* Checks that 's' may receive events, and that whoever calls may say so. */
static char *
check__(struct lb_job *job, const struct session *s)
{
    const struct instance *instance =
        state_find_instance(job->state, job->reservation->instance);
    char *error = registration_check_worker(s, job->state, instance,
                                            job->reservation->family);

    if (error) {
        return lb_refuse_field(job, error);
    }
    if (job->state->reservations.from_worker && !job->call->trusted
        && !peer_is__(job->call->peer, &s->ip)) {
        return lb_refuse(job, GRPC_PERMISSION_DENIED,
                         "ipAddress: workers register from their own address, "
                         "and this call is from %s",
                         job->call->peer);
    }
    return NULL;
}

/* Returns true if a worker of 'sessions', or a member that packets may still go
 * to, has the number 'id'. */
static bool
is_used__(const struct session *const *sessions, size_t n,
          const struct overlay_instance *o, uint16_t id)
{
    for (size_t i = 0; i < n; i++) {
        if (sessions[i]->member == id) {
            return true;
        }
    }
    for (size_t i = 0; o && i < o->n_members; i++) {
        if (o->members[i].id == id) {
            return true;
        }
    }
    return false;
}

/* Returns the number of a new member: the next one, in a circle, that is free.
 * So it is long until a number means somebody else. */
static uint16_t
choose_member__(const struct lb_job *job,
                const struct session *const *sessions, size_t n)
{
    const struct overlay_instance *o = overlay_find(
        engine_draft_overlay(job->draft), job->reservation->instance);
    uint16_t id = (n                   ? sessions[n - 1]->member
                   : o && o->n_members ? o->members[o->n_members - 1].id
                                       : CALENDAR_NO_MEMBER - 1);

    do {
        id = (uint16_t) ((id + 1) % CALENDAR_NO_MEMBER);
    } while (is_used__(sessions, n, o, id));
    return id;
}

/* Chooses a number for 's', which joins the 'n' 'sessions', unless there are too
 * many, or slots that it demands are taken.  There is room for one more of the
 * 'sessions'. */
static char *
join__(struct lb_job *job, struct session *s, const struct session **sessions,
       size_t n, const struct session *older)
{
    s->member = choose_member__(job, sessions, n);
    for (size_t i = 0; i < n; i++) {
        if (sessions[i] == older) {
            sessions[i] = sessions[--n];
        }
    }
    if (n >= BOOK_WORKERS_MAX) {
        return lb_refuse(job, GRPC_RESOURCE_EXHAUSTED,
                         "reservation %" PRIu64 " has %zu workers, and no "
                         "more can have slots: deregister some",
                         s->reservation, n);
    }
    sessions[n++] = s;
    return lb_check_demands(job, sessions, n);
}

/* Finds a place for 's' among the workers of its reservation, without
 * 'older'. */
static char *
find_place__(struct lb_job *job, struct session *s,
             const struct session *older)
{
    size_t n;
    const struct session **others =
        book_find_sessions(job->book, s->reservation, &n);
    const struct session **sessions = arena_pointers(&job->arena, n + 1);

    memcpy(sessions, others, n * sizeof(const struct session *));
    free(others);
    return join__(job, s, sessions, n, older);
}

/* Makes 's' a session, in the place of 'older', which may be NULL. */
static char *
add__(struct lb_job *job, struct session *s, const struct session *older)
{
    struct token_permission permission = { TOKEN_SESSION, s->entry.id,
                                           TOKEN_UPDATE };
    Loadbalancer__RegisterReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__RegisterReply,
                  LOADBALANCER__REGISTER_REPLY__INIT);
    struct session *copy;
    const char *text;
    struct book *book;
    char *error =
        lb_issue_token(job, s->name, &permission, 1, &text, &s->token);

    if (error) {
        return error;
    }
    book = engine_draft_change_book(job->draft);
    if (older) {
        book_remove_session(book, older->entry.id);
    }
    s->registered = lb_wall_ms();
    s->report = report_create(now_ms());
    copy = session_clone(s);
    s->report->n_refs--;
    book_put_session(book, copy);
    reply->token = (char *) text;
    reply->sessionid = lb_make_id(&job->arena, s->entry.id);
    job->reply = &reply->base;
    return NULL;
}

char *
lb_register(struct lb_job *job)
{
    struct session s = { .entry = { .id = job->book->sessions.last + 1 } };
    const struct session *older;
    char *error = parse__(job, &s);

    if (!error) {
        error = check__(job, &s);
    }
    if (error) {
        return error;
    }
    older = book_find_worker(job->book, s.reservation, &s.ip, s.base);
    error = find_place__(job, &s, older);
    return error ? error : add__(job, &s, older);
}

char *
lb_deregister(struct lb_job *job)
{
    book_remove_session(engine_draft_change_book(job->draft),
                        job->session->entry.id);
    return NULL;
}

/* Reports. */

static char *
check_finite__(struct lb_job *job, const char *field, double value)
{
    return (isfinite(value) ? NULL
                            : lb_refuse(job, GRPC_INVALID_ARGUMENT,
                                        "%s: %g is not finite", field, value));
}

/* Checks what 'm' says.  The time is looked at no further: the worker's clock
 * may be wrong. */
static char *
check_state__(struct lb_job *job, const Loadbalancer__SendStateRequest *m)
{
    char *error = check_finite__(job, "fillPercent", (double) m->fillpercent);
    int64_t ms;

    if (!error) {
        error =
            check_finite__(job, "controlSignal", (double) m->controlsignal);
    }
    if (!error && m->timestamp) {
        error = lb_parse_time(job, "timestamp", m->timestamp, &ms);
    }
    return error;
}

char *
lb_send_state(struct lb_job *job)
{
    const Loadbalancer__SendStateRequest *m = (const void *) job->request;
    struct report *r = job->session->report;
    char *error = check_state__(job, m);

    if (error) {
        return error;
    }
    r->received = now_ms();
    r->wall = lb_wall_ms();
    r->news = true;
    r->ready = m->isready;
    r->fill = (double) m->fillpercent;
    r->control = (double) m->controlsignal;
    r->events_received = m->totaleventsrecv;
    r->events_reassembled = m->totaleventsreassembled;
    r->events_reassembly_errors = m->totaleventsreassemblyerr;
    r->events_dequeued = m->totaleventsdequeued;
    r->event_enqueue_errors = m->totaleventenqueueerr;
    r->bytes_received = m->totalbytesrecv;
    r->packets_received = m->totalpacketsrecv;
    return NULL;
}
