/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_WORKER_H
#define ENDPOINTS_WORKER_H 1

/* The life of a worker in the control plane: when to register, to report, to
 * deregister, and what follows from the answers.
 *
 *                      session unknown, with back-off
 *                  +---------------------------------------+
 *                  v           registered                  |
 *            unregistered ---------------------------> reporting
 *                  |                                       |
 *                  | worker_stop(), or refused             | worker_stop()
 *                  | the first time                        v
 *                  |        session unknown             leaving
 *                gone <------------------------------------+
 *                  ^                                       | no packets for
 *                  |                                       v 'quiet', 'grace'
 *                  +---------------------------------- deregistering
 *                      answered, or 'farewell' is over
 *
 * Two workers that register the same address put each other out, as the newer
 * session replaces the older.  So a new session alone does not end the
 * back-off.
 *
 * A worker that leaves reports that it is not ready, and goes on to receive
 * what the balancer still sends it.
 *
 * There is no I/O and no clock here.  worker_run() says what to ask the control
 * plane for; each request is answered with worker_answered() before there is
 * another.  Times are ns of a clock that does not go back. */

#include <stdbool.h>
#include <stdint.h>

#define WORKER_STATES                            \
    WORKER_STATE(UNREGISTERED, "unregistered")   \
    WORKER_STATE(REPORTING, "reporting")         \
    WORKER_STATE(LEAVING, "leaving")             \
    WORKER_STATE(DEREGISTERING, "deregistering") \
    WORKER_STATE(GONE, "gone")

enum worker_state {
#define WORKER_STATE(NAME, WORD) WORKER_##NAME,
    WORKER_STATES
#undef WORKER_STATE
};

enum worker_request {
    WORKER_REQUEST_NONE,
    WORKER_REQUEST_REGISTER,
    WORKER_REQUEST_REPORT,
    WORKER_REQUEST_DEREGISTER,
};

/* How a request ended. */
enum worker_answer {
    WORKER_OK,
    WORKER_LOST,    /* There may be another answer later. */
    WORKER_UNKNOWN, /* There is no such session. */
    WORKER_REFUSED  /* There will be no other answer to the same. */
};

/* Times in ns. */
struct worker_config {
    int64_t interval;    /* Between reports. */
    int64_t backoff_min; /* After a request failed, */
    int64_t backoff_max; /* and after many did; also how long a session has to
                          * last for the next failure to count as the first. */
    int64_t quiet;       /* Without packets, before a worker deregisters, */
    int64_t grace;       /* or after so long at the latest. */
    int64_t farewell;    /* How long to try to deregister. */
};

struct worker {
    struct worker_config config;
    enum worker_state state;
    enum worker_request request; /* The one that is not answered yet. */
    bool request_ready;          /* Was it a report of readiness? */
    bool stopping;
    bool failed;           /* Refused at first? */
    int64_t due;           /* When to ask next. */
    int64_t backoff;       /* The next one. */
    int64_t registered;    /* When the session began. */
    int64_t until;         /* End of leaving, or of deregistering. */
    int64_t unready_since; /* When the control plane knew, or INT64_MAX. */
    uint64_t n_registered; /* Sessions. */
    uint64_t n_reports;    /* Reports that were answered. */
    uint64_t n_failed;     /* Requests that were not. */
};

void worker_init(struct worker *, const struct worker_config *, int64_t now);
void worker_stop(struct worker *, int64_t now);

enum worker_request
worker_run(struct worker *, int64_t now, int64_t last_packet);
void worker_answered(struct worker *, enum worker_answer, int64_t now);

int64_t worker_wakeup(const struct worker *);
bool worker_is_ready(const struct worker *);
const char *worker_state_to_string(enum worker_state);

#endif /* endpoints/worker.h */
