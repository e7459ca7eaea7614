/* SPDX-License-Identifier: Apache-2.0 */

/* What a session does to have the switch hold what it should. */

#include "controller/target/ovs/session-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/change.h"
#include "controller/target/ovs/readback.h"

VLOG_DEFINE_THIS_MODULE(evlb_change);

static void
end_change__(struct session *s)
{
    change_destroy(s->change);
    s->change = NULL;
    rule_set_unref(s->change_rules);
    s->change_rules = NULL;
    s->state = SESSION_READY;
}

/* The switch holds what 's->change' wanted. */
void
session_complete_change__(struct session *s)
{
    const struct rule_set *rules = rule_set_ref(s->change_rules);

    if (s->change->n_messages) {
        s->counters.changes++;
        VLOG_INFO("%s: change committed: %zu steps, %zu messages, %" PRId64
                  " ms",
                  s->name, s->change->diff.n, s->change->n_messages,
                  s->now - s->change_started);
    }
    rule_set_unref(s->installed);
    s->installed = rule_set_ref(s->change->desired);
    end_change__(s);
    readback_destroy(s->readback);
    s->readback = NULL;
    s->handlers->committed(s->aux, s, rules);
    rule_set_unref(rules);
    session_sync__(s);
}

/* Sends 's->change', or completes it if there is nothing to send. */
static void
start_change__(struct session *s)
{
    s->refused = false;
    s->change_started = s->now;
    s->change_rules = rule_set_ref(s->rules);
    if (!s->change->n_messages) {
        session_complete_change__(s);
        return;
    }
    s->next_xid =
        change_put_bundle(s->change, s->next_xid, s->next_xid, &s->requests);
    session_ask__(s, SESSION_STAGING,
                  ofputil_encode_barrier_request(s->version));
}

/* Makes in 's->change' the change from what the switch holds to 'desired'. */
static char *
make_change__(struct session *s, const struct rule_set *desired)
{
    const struct rule_set *installed;
    char *error;

    installed = s->readback ? readback_compare(s->readback, desired)
                            : rule_set_ref(s->installed);
    error = change_create(installed, desired, s->readback, s->version,
                          s->slot_flows, &s->change);
    rule_set_unref(installed);
    return error;
}

/* Returns the rules that the switch should hold, for the ports that it has;
 * the caller must unref them. */
static const struct rule_set *
resolve_ports__(struct session *s)
{
    const struct rule_set *desired;
    char *missing;

    desired = ovs_ports_resolve(&s->ports, s->rules, &missing);
    if (*missing && (!s->missing_ports || strcmp(missing, s->missing_ports))) {
        VLOG_WARN("%s: lacks ports%s; packets for members there are dropped",
                  s->name, missing);
    }
    free(s->missing_ports);
    s->missing_ports = missing;
    return desired;
}

/* Starts the change from what the switch holds to what it should hold, unless
 * one is under way or nothing calls for it. */
void
session_sync__(struct session *s)
{
    const struct rule_set *desired;
    char *error;

    if (s->state != SESSION_READY || !s->dirty || !s->rules || s->secondary) {
        return;
    }
    if (s->outdated) {
        s->outdated = false;
        s->started = s->now;
        session_ask_groups__(s);
        return;
    }
    s->dirty = false;
    s->retry = INT64_MAX;

    desired = resolve_ports__(s);
    error = make_change__(s, desired);
    rule_set_unref(desired);
    if (error) {
        VLOG_ERR("%s: nothing is changed: %s", s->name, error);
        free(error);
    } else {
        start_change__(s);
    }
}

/* The switch has answered all messages of the change, and has reported those
 * that it refused.  From one that is not the primary controller any more it
 * takes neither a commit nor a discard, and forgets the bundle by itself. */
void
session_finish_staging__(struct session *s)
{
    if (s->secondary) {
        end_change__(s);
    } else if (s->refused) {
        session_request__(s, change_encode_discard(s->change));
        end_change__(s);
        s->retry = s->now + SESSION_RETRY_MS;
    } else {
        session_ask__(s, SESSION_COMMITTING, change_encode_commit(s->change));
    }
}

/* Reports the error message 'oh', and lets it take effect. */
void
session_receive_error__(struct session *s, const struct ofp_header *oh)
{
    uint32_t xid = ntohl(oh->xid);
    struct ofpbuf payload;
    enum ofperr ofperr;
    char *what;

    ofperr = ofperr_decode_msg(oh, &payload);
    if (!ofperr) {
        session_fail__(s, mem_strdup("sent a malformed error"));
        return;
    }
    ofpbuf_uninit(&payload);

    if (session_stats_receive_error__(s, xid, ofperr)
        || session_receive_packet_error__(s, xid, ofperr)
        || session_receive_role_error__(s, xid, ofperr)
        || session_receive_trial_error__(s, xid)) {
        return;
    }

    what = s->change ? change_explain_xid(s->change, xid) : NULL;
    if (what) {
        VLOG_ERR("%s: refused the %s: %s", s->name, what,
                 ofperr_to_string(ofperr));
        s->refused = true;
    } else if (s->state == SESSION_COMMITTING && xid == s->awaited_xid) {
        VLOG_ERR("%s: change not committed, everything is as before: %s",
                 s->name, ofperr_to_string(ofperr));
        end_change__(s);
        s->retry = s->now + SESSION_RETRY_MS;
    } else if (s->state == SESSION_STAGING) {
        VLOG_ERR("%s: refused the change: %s", s->name,
                 ofperr_to_string(ofperr));
        s->refused = true;
    } else {
        session_fail__(s, mem_printf("answered with error %s while %s",
                                     ofperr_to_string(ofperr),
                                     session_state_to_string(s->state)));
    }
    free(what);
}

/* Makes 'rules' what the switch should hold. */
void
session_set_rules(struct session *s, const struct rule_set *rules, int64_t now)
{
    s->now = now;
    rule_set_unref(s->rules);
    s->rules = rule_set_ref(rules);
    s->dirty = true;
    session_sync__(s);
}
