/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: whose packets a reservation lets in. */

#include "controller/api/lb-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/chain.h"
#include "controller/core/mem.h"
#include "controller/core/overlay.h"
#include "controller/core/registration.h"

static bool
has__(const struct in6_addr *senders, size_t n, const struct in6_addr *ip)
{
    for (size_t i = 0; i < n; i++) {
        if (addr_equal(&senders[i], ip)) {
            return true;
        }
    }
    return false;
}

static char *
check_number__(struct lb_job *job, size_t n)
{
    return (n <= BOOK_SENDERS_MAX
                ? NULL
                : lb_refuse(job, GRPC_RESOURCE_EXHAUSTED,
                            "senderAddresses: %zu are more than the %d that a "
                            "reservation may have",
                            n, BOOK_SENDERS_MAX));
}

/* Parses the '*n' 'addresses' of 'job''s field "senderAddresses".  Returns NULL
 * and stores them, each once, in '*senders', which the caller must free, and
 * their number in '*n'; or an error. */
char *
lb_parse_senders(struct lb_job *job, char *const *addresses,
                 struct in6_addr **senders, size_t *n)
{
    char *error = check_number__(job, *n);
    size_t n_unique = 0;

    *senders = error ? NULL : mem_alloc(*n * sizeof **senders);
    for (size_t i = 0; !error && i < *n; i++) {
        struct in6_addr *ip = &(*senders)[n_unique];
        char field[48];

        snprintf(field, sizeof field, "senderAddresses[%zu]", i);
        error = lb_refuse_field(
            job, registration_check_sender(field, addresses[i], ip));
        n_unique += !error && !has__(*senders, n_unique, ip);
    }
    if (error) {
        free(*senders);
        *senders = NULL;
    }
    *n = n_unique;
    return error;
}

/* Lets in what 'chain', whose worker 'instance' is, sends. */
static void
add_chain__(struct overlay *overlay, uint16_t instance,
            const struct chain *chain)
{
    overlay_set_chained(overlay, instance);
    for (size_t i = 0; i < chain->n_sources; i++) {
        const struct overlay_instance *o = overlay_find(overlay, instance);

        if (!has__(o->sources, o->n_sources, &chain->sources[i])) {
            overlay_add_source(overlay, instance, &chain->sources[i]);
        }
    }
}

/* Lets in who may send to 'r': its senders, and those whose worker it is. */
void
lb_set_sources(struct lb_job *job, const struct reservation *r)
{
    const struct book *book = engine_draft_book(job->draft);
    struct overlay *overlay = engine_draft_change_overlay(job->draft);

    overlay_clear_sources(overlay, r->instance);
    for (size_t i = 0; i < r->n_senders; i++) {
        overlay_add_source(overlay, r->instance, &r->senders[i]);
    }
    for (size_t i = 0; i < book->chains.n; i++) {
        const struct chain *chain = book_get_chain(book, i);

        if (chain->reservation == r->entry.id) {
            add_chain__(overlay, r->instance, chain);
        }
    }
}

/* Makes the 'n' 'senders' those of 'reservation'.  Returns what takes its place
 * in 'job''s draft. */
const struct reservation *
lb_set_senders(struct lb_job *job, const struct reservation *reservation,
               const struct in6_addr *senders, size_t n)
{
    struct reservation *r = reservation_clone(reservation);

    free(r->senders);
    r->senders = mem_dup(senders, n * sizeof *senders);
    r->n_senders = n;
    book_put_reservation(engine_draft_change_book(job->draft), r);
    lb_set_sources(job, r);
    return r;
}

char *
lb_add_senders(struct lb_job *job)
{
    const Loadbalancer__AddSendersRequest *m = (const void *) job->request;
    const struct reservation *r = job->reservation;
    size_t n = m->n_senderaddresses;
    size_t n_all = r->n_senders;
    struct in6_addr *senders, *all;
    char *error = lb_parse_senders(job, m->senderaddresses, &senders, &n);

    if (error) {
        return error;
    }
    all = mem_alloc((n_all + n) * sizeof *all);
    memcpy(all, r->senders, n_all * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        if (!has__(r->senders, r->n_senders, &senders[i])) {
            all[n_all++] = senders[i];
        }
    }
    error = check_number__(job, n_all);
    if (!error && n_all > r->n_senders) {
        lb_set_senders(job, r, all, n_all);
    }
    free(all);
    free(senders);
    return error;
}

char *
lb_remove_senders(struct lb_job *job)
{
    const Loadbalancer__RemoveSendersRequest *m = (const void *) job->request;
    const struct reservation *r = job->reservation;
    size_t n = m->n_senderaddresses;
    size_t n_left = 0;
    struct in6_addr *senders, *left;
    char *error = lb_parse_senders(job, m->senderaddresses, &senders, &n);

    if (error) {
        return error;
    }
    left = mem_alloc(r->n_senders * sizeof *left);
    for (size_t i = 0; i < r->n_senders; i++) {
        if (!has__(senders, n, &r->senders[i])) {
            left[n_left++] = r->senders[i];
        }
    }
    if (n_left < r->n_senders) {
        lb_set_senders(job, r, left, n_left);
    }
    free(left);
    free(senders);
    return NULL;
}
