/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_SESSION_H
#define EVLB_OVS_SESSION_H 1

/* One OpenFlow session with a switch, from hello to goodbye.
 *
 *     HELLO -> FEATURES -> PORTS -> TRYING -> GROUPS -> FLOWS -.
 *                                                              v
 *                                     COMMITTING <- STAGING <- READY
 *                                         |                    ^
 *                                         '--------------------'
 *
 * A session negotiates OpenFlow 1.5, or else 1.3, learns which switch it is talking to and
 * what the switch holds of ours, and from then on brings the switch to the
 * rules that it should hold, whenever those or the switch's ports change.
 *
 * This is a state machine: it is given messages and the time and produces
 * messages, and does no I/O.  The caller
 *
 *     - passes in each message that arrives, and sends what
 *       session_pop_request() returns,
 *
 *     - calls session_run() at the time that session_wakeup() names,
 *
 *     - closes the connection when session_get_error() says why.
 *
 * Messages come from a peer that is not trusted: anything malformed or out of
 * order ends the session with an error. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/instance.h"

struct ofp_header;
struct ofpbuf;
struct readback;
struct rule_set;
struct session;

/* States, in the order in which a session goes through them. */
#define SESSION_STATES                              \
    SESSION_STATE(HELLO, "waiting for hello")       \
    SESSION_STATE(FEATURES, "waiting for features") \
    SESSION_STATE(PORTS, "reading ports")           \
    SESSION_STATE(TRYING, "trying what it can do")  \
    SESSION_STATE(GROUPS, "reading groups")         \
    SESSION_STATE(FLOWS, "reading flows")           \
    SESSION_STATE(READY, "ready")                   \
    SESSION_STATE(STAGING, "staging a change")      \
    SESSION_STATE(COMMITTING, "committing a change")

enum session_state {
#define SESSION_STATE(NAME, TEXT) SESSION_##NAME,
    SESSION_STATES
#undef SESSION_STATE
};

/* A frame that a flow of ours sent to us, from 'port'. */
struct session_packet {
    uint32_t port;
    const void *data;
    size_t size;
};

/* What the switch may do for us, in packets a second; 0 leaves its meter
 * alone. */
struct session_limits {
    unsigned int slow_path;  /* Packets that its fast path cannot handle. */
    unsigned int controller; /* Packets to us. */
};

/* What went over sessions with a switch. */
struct session_counters {
    uint64_t sent;     /* Messages, both ways. */
    uint64_t received; /* Of these: */
    uint64_t errors;   /* those that say that something went wrong, */
    uint64_t packets;  /* and those that bring a packet. */
    uint64_t probes;   /* Echo requests of ours, for it was silent. */
    uint64_t changes;  /* That it committed. */
};

struct session_handlers {
    /* The peer is the switch 'datapath_id'.  Returns its name, or NULL if it
     * is none of ours; then stores in '*error' the reason, which the session
     * frees.  'session_set_rules()' may be called from here. */
    const char *(*identify)(void *aux, struct session *, uint64_t datapath_id,
                            char **error);

    /* The switch holds 'rules', which session_set_rules() was given.  Called
     * again for the same ones when the switch's ports changed. */
    void (*committed)(void *aux, struct session *, const struct rule_set *);

    /* A packet came; NULL to ignore them. */
    void (*packet)(void *aux, struct session *, const struct session_packet *);

    /* The switch has been read, and nothing is changed yet.
     * session_set_rules() may be called from here.  NULL to ignore it. */
    void (*held)(void *aux, struct session *, const struct readback *);
};

/* Times in milliseconds. */
#define SESSION_HANDSHAKE_MS 15000 /* From connection to READY. */
#define SESSION_PROBE_MS 5000      /* Silence, until an echo request. */
#define SESSION_DEAD_MS 15000      /* Silence, until the peer is given up. */
#define SESSION_CHALLENGE_MS 1000  /* For the answer to a challenge. */
#define SESSION_RETRY_MS 10000     /* From a refused change to another try. */

#define SESSION_PACKETS_S 1000 /* Packets that are taken in a second. */

struct session *
session_create(const char *peer, const struct session_handlers *, void *aux,
               int64_t now);
void session_destroy(struct session *);

void session_receive(struct session *, const struct ofp_header *, int64_t now);
void session_run(struct session *, int64_t now);
int64_t session_wakeup(const struct session *);
struct ofpbuf *session_pop_request(struct session *);
const char *session_get_error(const struct session *);

void session_set_rules(struct session *, const struct rule_set *, int64_t now);

void session_set_generation(struct session *, uint64_t generation);
bool session_is_secondary(const struct session *);
unsigned int session_get_minor_version(const struct session *);
bool session_has_slot_flows(const struct session *);
void session_set_calendar_mode(struct session *, enum calendar_mode);
void session_set_limits(struct session *, const struct session_limits *);
void session_send_packet(struct session *, uint32_t port, const void *data,
                         size_t size);

void session_challenge(struct session *, int64_t now);
bool session_is_silent(const struct session *, int64_t now);
enum session_state session_get_state(const struct session *);
void session_add_counters(const struct session *, struct session_counters *);
int64_t session_get_last_received(const struct session *);
const char *session_state_to_string(enum session_state);

#endif /* session.h */
