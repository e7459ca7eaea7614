/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/chain.h"

#include <stdlib.h>

#include "controller/core/mem.h"

/* Returns a copy of 'chain' that may be changed, until it is put into a
 * book. */
struct chain *
chain_clone(const struct chain *chain)
{
    struct chain *copy = mem_dup(chain, sizeof *copy);

    copy->entry.n_refs = 1;
    copy->name = mem_strdup(chain->name);
    copy->upstream = mem_strdup(chain->upstream);
    copy->secret = mem_strdup(chain->secret);
    copy->demands =
        mem_dup(chain->demands, chain->n_demands * sizeof *copy->demands);
    return copy;
}

const struct chain *
chain_ref(const struct chain *chain)
{
    ((struct chain *) chain)->entry.n_refs++;
    return chain;
}

/* Gives up a reference to 'chain_', which may be NULL. */
void
chain_unref(const struct chain *chain_)
{
    struct chain *chain = (struct chain *) chain_;

    if (chain && !--chain->entry.n_refs) {
        free(chain->name);
        free(chain->upstream);
        free(chain->secret);
        free(chain->demands);
        free(chain);
    }
}

/* Adds 'value', which workers may have made up, to '*sum'. */
static void
add__(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum)) {
        *sum = value > 0 ? INT64_MAX : INT64_MIN;
    }
}

static void
add_counters__(struct chain_report *sum, const struct report *r)
{
    add__(&sum->events_received, r->events_received);
    add__(&sum->events_reassembled, r->events_reassembled);
    add__(&sum->events_reassembly_errors, r->events_reassembly_errors);
    add__(&sum->events_dequeued, r->events_dequeued);
    add__(&sum->event_enqueue_errors, r->event_enqueue_errors);
    add__(&sum->bytes_received, r->bytes_received);
    add__(&sum->packets_received, r->packets_received);
}

/* Makes of what the 'n' 'sessions' reported at last, as of 'now', one report:
 * ready if one of them is; the mean of those that are of how full they are, by
 * share, and of their control signals; and the sums of what all of them
 * count. */
void
chain_sum_up(const struct session *const *sessions, size_t n,
             const struct control_settings *settings, int64_t now,
             struct chain_report *sum)
{
    double shares = 0;
    size_t n_ready = 0;

    *sum = (struct chain_report){ .ready = false };
    for (size_t i = 0; i < n; i++) {
        const struct report *r = sessions[i]->report;
        double share = r->weighted ? r->share : sessions[i]->weight;

        add_counters__(sum, r);
        if (control_is_ready(settings, sessions[i], now)) {
            n_ready++;
            shares += share;
            sum->fill += share * r->fill;
            sum->control += r->control;
        }
    }
    sum->ready = n_ready > 0;
    sum->fill = shares > 0 ? sum->fill / shares : 0;
    sum->control = n_ready ? sum->control / (double) n_ready : 0;
}
