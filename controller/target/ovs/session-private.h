/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_SESSION_PRIVATE_H
#define EVLB_OVS_SESSION_PRIVATE_H 1

/* Within the session: its state, and what its three parts call of each other.
 *
 *     session.c             life, time, dispatching of messages
 *     session-handshake.c   hello to READY: what the switch is and holds
 *     session-change.c      READY, STAGING, COMMITTING: what it should hold
 *     session-trial.c       what it can do
 *     session-role.c        who decides
 *     session-packet.c      packets in and out, and what bounds them
 *     session-stats.c       beside these: what it holds, on demand */

#include "controller/target/ovs/session.h"

#include <stdbool.h>

#include <config.h>
#include <openvswitch/list.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofpbuf.h>

#include "controller/target/ovs/ports.h"

struct change;
struct readback;
struct session_stats;

struct session {
    char *name; /* The peer's, then the switch's, too. */
    const struct session_handlers *handlers;
    void *aux;

    enum session_state state;
    enum ofp_version version; /* The lowest one, until it is agreed on. */
    uint32_t next_xid;
    uint32_t awaited_xid;     /* Of the reply that the state waits for. */
    struct ovs_list requests; /* To be sent. */
    size_t n_replies;         /* Replies among them. */
    char *error;              /* Why the session is over, or NULL. */

    int64_t now;
    int64_t started; /* When the handshake or reading again began. */
    int64_t last_received;
    int64_t last_probe;
    int64_t challenged; /* When session_challenge() asked. */
    int64_t retry;      /* When to try a refused change again. */

    struct ovs_ports ports;
    const struct rule_set *rules;     /* What the switch should hold. */
    const struct rule_set *installed; /* What it does, once it is READY. */
    struct readback *readback;        /* Until the first change is done. */
    bool dirty;                       /* Does something call for a change? */
    char *missing_ports;              /* That rules name, as last reported. */

    struct change *change;               /* The one under way. */
    const struct rule_set *change_rules; /* 'rules' that it is for. */
    bool refused; /* Did the switch refuse part of it? */
    int64_t change_started;

    enum calendar_mode calendar_mode;
    bool slot_flows;           /* Are calendars flows? */
    uint32_t trial_xid;        /* Of the first one of session-trial.c. */
    unsigned int trial_failed; /* Bits of what the switch refused. */

    uint64_t generation; /* Of session-role.c, 0 for an equal controller. */
    bool secondary;      /* Does another controller decide? */
    bool outdated;       /* Has one decided since the switch was read? */

    struct session_limits limits;
    int64_t packet_credit; /* Packets that may be taken at 'packet_time'. */
    int64_t packet_time;

    struct session_counters counters;
    uint64_t datapath_id;        /* Once the features are there. */
    struct session_stats *stats; /* Of session-stats.c. */
};

/* session.c */
void session_fail__(struct session *, char *error);
void session_send__(struct session *, struct ofpbuf *);
uint32_t session_request__(struct session *, struct ofpbuf *);
void session_ask__(struct session *, enum session_state, struct ofpbuf *);
void session_reply__(struct session *, struct ofpbuf *);

/* session-handshake.c */
void session_ask_groups__(struct session *);
void session_receive_hello__(struct session *, const struct ofp_header *);
void session_receive_features__(struct session *, struct ofpbuf *);
void session_receive_ports__(struct session *, struct ofpbuf *, bool more);
void session_receive_groups__(struct session *, struct ofpbuf *, bool more);
void session_receive_flows__(struct session *, struct ofpbuf *, bool more);

/* session-change.c */
void session_sync__(struct session *);
void session_finish_staging__(struct session *);
void session_complete_change__(struct session *);
void session_receive_error__(struct session *, const struct ofp_header *);

/* session-trial.c */
void session_start_trial__(struct session *);
bool session_receive_trial_error__(struct session *, uint32_t xid);
void session_finish_trial__(struct session *);

/* session-role.c */
void session_ask_role__(struct session *);
void session_receive_role__(struct session *, const struct ofp_header *,
                            bool is_status);
bool session_receive_role_error__(struct session *, uint32_t xid, enum ofperr);

/* session-packet.c */
void session_check_meters__(struct session *);
void session_receive_packet__(struct session *, const struct ofp_header *);
bool session_receive_meter__(struct session *, const struct ofp_header *);
bool
session_receive_packet_error__(struct session *, uint32_t xid, enum ofperr);

/* session-stats.c */
struct session_stats *session_stats_create__(void);
void session_stats_destroy__(struct session_stats *, const char *name,
                             const char *reason);
void session_stats_found__(struct session *, size_t n);
void session_stats_run__(struct session *);
int64_t session_stats_wakeup__(const struct session_stats *);
bool session_stats_receive__(struct session *, const struct ofp_header *);
bool
session_stats_receive_error__(struct session *, uint32_t xid, enum ofperr);
void
session_stats_receive_removed__(struct session *, const struct ofp_header *);

#endif /* session-private.h */
