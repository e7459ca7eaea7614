/* SPDX-License-Identifier: Apache-2.0 */

/* What a switch can do is tried out, before anything is written: a bundle with
 * one thing of each kind that we need, which is never committed. */

#include "controller/target/ovs/session-private.h"

#include <stdlib.h>
#include <string.h>

#include <openvswitch/ofp-bundle.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/vlog.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "flows/flows.h"

VLOG_DEFINE_THIS_MODULE(evlb_trial);

#define BUNDLE_FLAGS (OFPBF_ATOMIC | OFPBF_ORDERED)

/* What is tried, in the order of transaction ids. */
enum trial {
    TRIAL_BUNDLE,
    TRIAL_FIELDS,
    TRIAL_PARSE,
    TRIAL_FORWARD,
    TRIAL_CALENDAR,
    N_TRIALS
};

static const char *const trial_names[N_TRIALS] = {
    "bundles", "match field lb_tick", "action lb_parse", "action lb_forward",
    "selection method lb_calendar"
};

/* Stores in 'rule' one that needs what 'trial' is about.  Nothing of it is ever
 * in force. */
static void
make_rule__(enum trial trial, const struct calendar *calendar,
            struct rule *rule)
{
    const uint16_t instance = INSTANCE_ID_MAX;

    *rule = (struct rule){ .kind = RULE_EPOCH };
    switch (trial) {
    case TRIAL_FIELDS:
        rule->epoch = (struct rule_epoch){ .instance = instance,
                                           .prefix = { 0, 1 },
                                           .drop = true };
        break;
    case TRIAL_PARSE:
        rule->kind = RULE_PORTS;
        rule->ports = (struct rule_ports){ instance, 0, UINT16_MAX };
        break;
    case TRIAL_FORWARD:
        rule->kind = RULE_MEMBER;
        rule->member = (struct rule_member){ .instance = instance,
                                             .egress.type = PORT_IN };
        break;
    case TRIAL_CALENDAR:
        rule->kind = RULE_CALENDAR;
        rule->calendar = (struct rule_calendar){ .instance = instance,
                                                 .calendar = calendar };
        break;
    case TRIAL_BUNDLE:
    case N_TRIALS:
        abort();
    }
}

static struct ofpbuf *
encode_control__(const struct session *s, uint16_t type)
{
    struct ofputil_bundle_ctrl_msg ctrl = { .bundle_id = s->trial_xid,
                                            .type = type,
                                            .flags = BUNDLE_FLAGS };

    return ofputil_encode_bundle_ctrl_request(s->version, &ctrl);
}

static void
send_trial__(struct session *s, enum trial trial,
             const struct calendar *calendar)
{
    struct ofputil_bundle_add_msg add = { .bundle_id = s->trial_xid,
                                          .flags = BUNDLE_FLAGS };
    struct ofp_header *oh;
    struct ofpbuf *msg;
    struct flows flows;
    struct rule rule;

    make_rule__(trial, calendar, &rule);
    flows_init(&flows);
    flows_encode(&rule, &flows);
    msg = flows_convert(flows.entries[0].add, s->version);
    oh = msg->data;
    oh->xid = htonl(s->trial_xid + trial);
    add.msg = oh;
    session_send__(s, ofputil_encode_bundle_add(s->version, &add));
    ofpbuf_delete(msg);
    flows_destroy(&flows);
}

/* Begins to try. */
void
session_start_trial__(struct session *s)
{
    const struct calendar_share share = { .member = 0, .weight = 1 };
    const struct calendar *calendar;

    free(calendar_create(&share, 1, 0, &calendar));
    s->trial_xid = s->next_xid;
    session_request__(s, encode_control__(s, OFPBCT_OPEN_REQUEST));
    for (int trial = TRIAL_FIELDS; trial < TRIAL_CALENDAR; trial++) {
        send_trial__(s, (enum trial) trial, calendar);
    }
    if (s->version == OFP15_VERSION) {
        send_trial__(s, TRIAL_CALENDAR, calendar);
    } else {
        s->trial_failed |= 1u << TRIAL_CALENDAR;
    }
    calendar_unref(calendar);
    s->next_xid = s->trial_xid + N_TRIALS;
    session_ask__(s, SESSION_TRYING,
                  ofputil_encode_barrier_request(s->version));
}

/* Returns true if 'xid', of a request that the switch has refused, is one of
 * these. */
bool
session_receive_trial_error__(struct session *s, uint32_t xid)
{
    if (s->state != SESSION_TRYING || xid - s->trial_xid >= N_TRIALS) {
        return false;
    }
    s->trial_failed |= 1u << (xid - s->trial_xid);
    return true;
}

/* Ends 's' because of what 'failed' lists. */
static void
fail__(struct session *s, unsigned int failed)
{
    char *list = mem_strdup("");

    for (unsigned int i = 0; i < N_TRIALS; i++) {
        if (failed & 1u << i) {
            char *longer =
                mem_printf("%s%s%s", list, *list ? ", " : "", trial_names[i]);

            free(list);
            list = longer;
        }
    }
    session_fail__(s, mem_printf("lacks %s; Open vSwitch with the extension "
                                 "of evlb is needed",
                                 list));
    free(list);
}

/* The switch has answered: goes on with what it can do, or gives it up. */
void
session_finish_trial__(struct session *s)
{
    unsigned int needed = (1u << N_TRIALS) - 1;

    session_request__(s, encode_control__(s, OFPBCT_DISCARD_REQUEST));
    if (s->calendar_mode != CALENDAR_GROUP) {
        needed &= ~(1u << TRIAL_CALENDAR);
    }
    if (s->trial_failed & needed) {
        fail__(s, s->trial_failed & needed);
        return;
    }
    s->slot_flows = (s->calendar_mode == CALENDAR_FLOWS
                     || s->trial_failed & 1u << TRIAL_CALENDAR);
    VLOG_INFO("%s: OpenFlow 1.%d, calendars are %s", s->name, s->version - 1,
              s->slot_flows ? "flows" : "groups");
    session_ask_role__(s);
    session_ask_groups__(s);
}

/* Sets how the switch is to have calendars; takes effect in the handshake. */
void
session_set_calendar_mode(struct session *s, enum calendar_mode mode)
{
    s->calendar_mode = mode;
}
