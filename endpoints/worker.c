/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/worker.h"

const char *
worker_state_to_string(enum worker_state state)
{
    switch (state) {
#define WORKER_STATE(NAME, WORD) \
    case WORKER_##NAME:          \
        return WORD;
        WORKER_STATES
#undef WORKER_STATE
    }
    return "unknown";
}

void
worker_init(struct worker *w, const struct worker_config *config, int64_t now)
{
    *w = (struct worker){
        .config = *config,
        .due = now,
        .backoff = config->backoff_min,
        .unready_since = INT64_MAX,
    };
}

/* Does the worker take events? */
bool
worker_is_ready(const struct worker *w)
{
    return !w->stopping;
}

/* Returns when worker_run() may have something to do. */
int64_t
worker_wakeup(const struct worker *w)
{
    bool idle = w->request == WORKER_REQUEST_NONE && w->state != WORKER_GONE;

    return idle ? w->due : INT64_MAX;
}

static void
enter_leaving(struct worker *w, int64_t now)
{
    w->state = WORKER_LEAVING;
    w->due = now;
    w->until = now + w->config.grace;
}

/* Lets the worker leave. */
void
worker_stop(struct worker *w, int64_t now)
{
    if (w->stopping) {
        return;
    }
    w->stopping = true;
    if (w->state == WORKER_REPORTING) {
        enter_leaving(w, now);
    } else if (w->state == WORKER_UNREGISTERED
               && w->request == WORKER_REQUEST_NONE) {
        w->state = WORKER_GONE;
    }
}

/* Tries again later, and each time later. */
static void
back_off(struct worker *w, int64_t now)
{
    w->due = now + w->backoff;
    w->backoff *= 2;
    if (w->backoff > w->config.backoff_max) {
        w->backoff = w->config.backoff_max;
    }
}

/* Returns true if the balancer does not send to the worker any more, as far as
 * one can tell, or if that took too long. */
static bool
is_left_alone(const struct worker *w, int64_t now, int64_t last_packet)
{
    int64_t since = w->unready_since;

    since = last_packet > since ? last_packet : since;
    return (now >= w->until
            || (since < INT64_MAX && now - since >= w->config.quiet));
}

/* Returns what is to be asked in the present state, when it is due. */
static enum worker_request
next_request(const struct worker *w)
{
    switch (w->state) {
    case WORKER_UNREGISTERED:
        return WORKER_REQUEST_REGISTER;
    case WORKER_REPORTING:
    case WORKER_LEAVING:
        return WORKER_REQUEST_REPORT;
    case WORKER_DEREGISTERING:
        return WORKER_REQUEST_DEREGISTER;
    case WORKER_GONE:
        break;
    }
    return WORKER_REQUEST_NONE;
}

/* Returns what is to be asked for at 'now', when the latest packet came at
 * 'last_packet'. */
enum worker_request
worker_run(struct worker *w, int64_t now, int64_t last_packet)
{
    if (w->request != WORKER_REQUEST_NONE) {
        return WORKER_REQUEST_NONE;
    }
    if (w->state == WORKER_LEAVING && is_left_alone(w, now, last_packet)) {
        w->state = WORKER_DEREGISTERING;
        w->due = now;
        w->until = now + w->config.farewell;
    } else if (w->state == WORKER_DEREGISTERING && now >= w->until) {
        w->state = WORKER_GONE;
    }
    if (w->state == WORKER_GONE || now < w->due) {
        return WORKER_REQUEST_NONE;
    }
    w->due = w->due + w->config.interval > now ? w->due + w->config.interval
                                               : now + w->config.interval;
    w->request_ready = worker_is_ready(w);
    w->request = next_request(w);
    return w->request;
}

static void
answered_register(struct worker *w, enum worker_answer answer, int64_t now)
{
    switch (answer) {
    case WORKER_OK:
        w->n_registered++;
        w->registered = now;
        w->state = WORKER_REPORTING;
        w->due = now;
        if (w->stopping) {
            enter_leaving(w, now);
        }
        return;
    case WORKER_UNKNOWN:
    case WORKER_REFUSED:
        if (!w->n_registered) {
            w->failed = true;
            w->state = WORKER_GONE;
        }
        break;
    case WORKER_LOST:
        break;
    }
    if (w->stopping) {
        w->state = WORKER_GONE;
    }
}

static void
answered_report(struct worker *w, enum worker_answer answer, int64_t now)
{
    switch (answer) {
    case WORKER_OK:
        w->n_reports++;
        if (now - w->registered >= w->config.backoff_max) {
            w->backoff = w->config.backoff_min;
        }
        if (!w->request_ready && w->unready_since == INT64_MAX) {
            w->unready_since = now;
        }
        break;
    case WORKER_UNKNOWN:
        w->state = w->stopping ? WORKER_GONE : WORKER_UNREGISTERED;
        break;
    case WORKER_REFUSED:
    case WORKER_LOST:
        break;
    }
}

static void
answered_deregister(struct worker *w, enum worker_answer answer)
{
    if (answer != WORKER_LOST) {
        w->state = WORKER_GONE;
    }
}

/* Takes the answer to the latest request, which came at 'now'. */
void
worker_answered(struct worker *w, enum worker_answer answer, int64_t now)
{
    enum worker_request request = w->request;

    w->request = WORKER_REQUEST_NONE;
    if (answer != WORKER_OK) {
        w->n_failed++;
        back_off(w, now);
    }
    switch (request) {
    case WORKER_REQUEST_REGISTER:
        answered_register(w, answer, now);
        break;
    case WORKER_REQUEST_REPORT:
        answered_report(w, answer, now);
        break;
    case WORKER_REQUEST_DEREGISTER:
        answered_deregister(w, answer);
        break;
    case WORKER_REQUEST_NONE:
        break;
    }
}
