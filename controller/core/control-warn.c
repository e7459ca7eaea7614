/* SPDX-License-Identifier: Apache-2.0 */

/* What is wrong with an instance and its workers. */

#include "controller/core/control-private.h"

#include <inttypes.h>

#include "controller/core/epoch.h"

static void
warn_worker__(struct step *step, const struct session *s)
{
    enum standing standing = control_get_standing__(step, s);
    char ip[ADDR_STRLEN];

    if (standing == STANDING_SILENT) {
        issues_add(&step->out->issues, "silent", ISSUE_WARNING, s->entry.id,
                   "worker \"%s\" has not reported for %" PRId64 " ms",
                   s->name, control_get_silence__(s, step->in->now));
    } else if (standing == STANDING_UNRESOLVED) {
        addr_to_string(&s->ip, ip);
        issues_add(&step->out->issues, "unresolved", ISSUE_WARNING,
                   s->entry.id,
                   "worker \"%s\" gets no slots, because no station has "
                   "answered for %s yet",
                   s->name, ip);
    }
}

/* Warns of senders whose packets workers that are chosen do not receive. */
static void
warn_family__(struct step *step, bool ipv4)
{
    size_t n_senders = 0;
    size_t n_others = 0;

    for (size_t i = 0; i < step->in->reservation->n_senders; i++) {
        n_senders += addr_is_ipv4(&step->in->reservation->senders[i]) == ipv4;
    }
    for (size_t i = 0; i < step->n_chosen; i++) {
        n_others += addr_is_ipv4(&step->chosen[i]->ip) != ipv4;
    }
    if (n_senders && n_others) {
        issues_add(&step->out->issues, "sender_family",
                   n_others == step->n_chosen ? ISSUE_ERROR : ISSUE_WARNING, 0,
                   "%zu of %zu workers do not receive %s, which %zu senders "
                   "send: their packets for slots of these workers are "
                   "dropped (mbr_info_miss)",
                   n_others, step->n_chosen, ipv4 ? "IPv4" : "IPv6",
                   n_senders);
    }
}

/* Warns that nobody is left. */
static void
warn_nobody__(struct step *step)
{
    size_t n = step->in->n_sessions;

    if (!step->newest && !n) {
        issues_add(&step->out->issues, "no_workers", ISSUE_WARNING, 0,
                   "no worker has registered yet, so that there is no epoch "
                   "and all events are dropped");
    } else if (!step->newest) {
        issues_add(&step->out->issues, "no_workers", ISSUE_WARNING, 0,
                   "none of %zu workers is ready, so that there is no epoch "
                   "yet and all events are dropped",
                   n);
    } else if (!n) {
        issues_add(&step->out->issues, "no_workers", ISSUE_ERROR, 0,
                   "no worker is registered any more; events go where epoch "
                   "%" PRIu16 " says, to workers that are gone",
                   step->newest->id);
    } else {
        issues_add(&step->out->issues, "last_worker", ISSUE_ERROR, 0,
                   "none of %zu workers is ready; events go where epoch "
                   "%" PRIu16 " says",
                   n, step->newest->id);
    }
}

/* Says what is wrong in this period. */
void
control_warn__(struct step *step)
{
    if (control_is_majority_silent__(step)) {
        issues_add(&step->out->issues, "majority_silent", ISSUE_ERROR, 0,
                   "%zu of the %zu workers that have slots fell silent, which "
                   "is more likely the fault of the network between them and "
                   "this program than theirs: they keep their slots",
                   step->n_lost, step->n_pool);
    } else if (!step->n_chosen) {
        warn_nobody__(step);
    }
    warn_family__(step, true);
    warn_family__(step, false);
    for (size_t i = 0; i < step->in->n_sessions; i++) {
        warn_worker__(step, step->in->sessions[i]);
    }
}

/* Says that there is no calendar because of 'error', if that is not NULL, or
 * else that slots are beyond what workers asked for if they are not
 * 'bounded'. */
void
control_warn_calendar__(struct step *step, const char *error, bool bounded)
{
    if (error) {
        issues_add(&step->out->issues, "no_calendar", ISSUE_ERROR, 0,
                   "slots cannot be distributed, and stay as they are: %s",
                   error);
    } else if (!bounded) {
        issues_add(&step->out->issues, "factors", ISSUE_WARNING, 0,
                   "the minimum and maximum factors of the workers that are "
                   "ready cannot be kept");
    }
}

/* Says that there is another calendar, but for 'reason' no boundary. */
void
control_warn_no_boundary__(struct step *step, const char *reason)
{
    issues_add(&step->out->issues, "no_boundary", ISSUE_ERROR, 0,
               "a change of who receives events waits: %s", reason);
}
