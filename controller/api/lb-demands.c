/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: slots that workers demand. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/core/registration.h"
#include "controller/core/slots.h"

/* Of a request: one of each session, and one of all. */
#define CONSTRAINTS_MAX (BOOK_WORKERS_MAX + 1)

/* Parses the 'n' 'ranges', which stand in 'field', into '*demands', in 'job''s
 * arena. */
char *
lb_parse_demands(struct lb_job *job, const char *field,
                 Loadbalancer__SlotRange *const *ranges, size_t n,
                 struct slot_range **demands)
{
    *demands = arena_alloc(&job->arena, n * sizeof **demands);
    for (size_t i = 0; i < n; i++) {
        (*demands)[i] =
            (struct slot_range){ ranges[i]->index, ranges[i]->length };
    }
    return lb_refuse_field(job,
                           registration_check_demands(field, *demands, n));
}

/* Checks that all can be had that the 'n' 'sessions' demand. */
char *
lb_check_demands(struct lb_job *job, const struct session *const *sessions,
                 size_t n)
{
    struct slot_demand *demands = mem_alloc(n * sizeof *demands);
    uint16_t owners[CALENDAR_SLOTS_MAX];
    char *error;

    for (size_t i = 0; i < n; i++) {
        demands[i] =
            (struct slot_demand){ sessions[i]->entry.id, sessions[i]->demands,
                                  sessions[i]->n_demands };
    }
    error = slots_resolve(demands, n, owners, CALENDAR_SLOTS_MAX);
    if (error) {
        job->status = GRPC_FAILED_PRECONDITION;
    }
    free(demands);
    return error;
}

/* Has those of the 'n' 'sessions' that 'm' names, the 'i'-th of a list, demand
 * what it says. */
static char *
set__(struct lb_job *job, const Loadbalancer__SessionSlotRanges *m, size_t i,
      struct session *const *sessions, size_t n)
{
    struct slot_range *demands;
    size_t n_found = 0;
    uint64_t id = 0;
    char field[64];
    char *error;

    snprintf(field, sizeof field, "slotConstraints[%zu].slots", i);
    error = lb_parse_demands(job, field, m->slots, m->n_slots, &demands);
    if (error) {
        return error;
    }
    if (*m->sessionid && !lb_parse_id(m->sessionid, &id)) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "slotConstraints[%zu].sessionId: \"%.100s\" is no "
                         "number of a session",
                         i, m->sessionid);
    }
    for (size_t j = 0; j < n; j++) {
        if (!*m->sessionid || sessions[j]->entry.id == id) {
            free(sessions[j]->demands);
            sessions[j]->demands =
                mem_dup(demands, m->n_slots * sizeof *demands);
            sessions[j]->n_demands = m->n_slots;
            n_found++;
        }
    }
    return (n_found || !*m->sessionid
                ? NULL
                : lb_refuse(job, GRPC_NOT_FOUND,
                            "slotConstraints[%zu].sessionId: the reservation "
                            "has no session %" PRIu64,
                            i, id));
}

/* Puts the 'n' 'sessions' into 'job''s draft, and has the reservation treat
 * their demands as such. */
static void
put__(struct lb_job *job, struct session *const *sessions, size_t n)
{
    struct book *book = engine_draft_change_book(job->draft);
    struct reservation *r = reservation_clone(job->reservation);

    r->strategy = STRATEGY_STATIC;
    book_put_reservation(book, r);
    for (size_t i = 0; i < n; i++) {
        book_put_session(book, session_clone(sessions[i]));
    }
}

/* Sets what the named sessions demand, or all where none is named.  What comes
 * later in the list counts. */
static char *
set_all__(struct lb_job *job, const Loadbalancer__SetSlotDemandsRequest *m)
{
    size_t n;
    const struct session **old =
        book_find_sessions(job->book, job->reservation->entry.id, &n);
    struct session **sessions = mem_alloc(n * sizeof(struct session *));
    char *error = NULL;

    for (size_t i = 0; i < n; i++) {
        sessions[i] = session_clone(old[i]);
    }
    for (size_t i = 0; !error && i < m->n_slotconstraints; i++) {
        error = set__(job, m->slotconstraints[i], i, sessions, n);
    }
    if (!error) {
        error =
            lb_check_demands(job, (const struct session *const *) sessions, n);
    }
    if (!error) {
        put__(job, sessions, n);
    }
    for (size_t i = 0; i < n; i++) {
        session_unref(sessions[i]);
    }
    free(sessions);
    free(old);
    return error;
}

char *
lb_set_demands(struct lb_job *job)
{
    const Loadbalancer__SetSlotDemandsRequest *m = (const void *) job->request;

    return (m->n_slotconstraints <= CONSTRAINTS_MAX
                ? set_all__(job, m)
                : lb_refuse(job, GRPC_INVALID_ARGUMENT,
                            "slotConstraints: %zu are more than the %d that "
                            "make sense: one of each worker, and one of all",
                            m->n_slotconstraints, CONSTRAINTS_MAX));
}
