/* SPDX-License-Identifier: Apache-2.0 */

/* What a rule means, told by the flows and groups that it becomes. */

#include "flows/describe.h"

#include <stdlib.h>

#include <config.h>

#include <byte-order.h>
#include <flow.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-msgs.h>
#include <util.h>

#include "controller/core/mem.h"
#include "flows/flows.h"

/* Adds to 'all' what the flow_mod 'oh' of ours adds. */
static void
describe_flow_mod__(const struct ofp_header *oh, struct descriptions *all)
{
    struct ofputil_flow_mod fm;
    struct ofpbuf actions;
    struct match match;

    ofpbuf_init(&actions, 0);
    if (!ofputil_decode_flow_mod(&fm, oh, OFPUTIL_P_OF15_OXM, NULL, NULL,
                                 &actions, OFPP_MAX, 255)) {
        if (all->n >= all->allocated) {
            all->rows =
                mem_grow(all->rows, &all->allocated, sizeof *all->rows);
        }
        minimatch_expand(&fm.match, &match);
        describe_flow(fm.table_id, fm.priority, ntohll(fm.new_cookie), &match,
                      fm.ofpacts, fm.ofpacts_len, &all->rows[all->n++]);
        minimatch_destroy(&fm.match);
    }
    ofpbuf_uninit(&actions);
}

/* Adds to 'all' what the group_mod 'oh' of ours adds. */
static void
describe_group_mod__(const struct ofp_header *oh, struct descriptions *all)
{
    struct ofputil_group_desc gd;
    struct ofputil_group_mod gm;

    if (!ofputil_decode_group_mod(oh, &gm)) {
        gd.type = (uint8_t) gm.type;
        gd.group_id = gm.group_id;
        gd.props = gm.props;
        ovs_list_move(&gd.buckets, &gm.buckets);
        describe_group(&gd, all);
        ovs_list_move(&gm.buckets, &gd.buckets);
        ofputil_uninit_group_mod(&gm);
    }
}

/* Adds to 'all' a row for each flow that 'rule' becomes, and for each member
 * in a group that it becomes.  Ports in 'rule' must not be names. */
void
describe_rule(const struct rule *rule, struct descriptions *all)
{
    struct flows flows;

    flows_init(&flows);
    flows_encode(rule, &flows);
    for (size_t i = 0; i < flows.n; i++) {
        const struct ofp_header *oh = flows.entries[i].add->data;
        enum ofptype type;

        if (ofptype_decode(&type, oh)) {
            continue;
        } else if (type == OFPTYPE_FLOW_MOD) {
            describe_flow_mod__(oh, all);
        } else if (type == OFPTYPE_GROUP_MOD) {
            describe_group_mod__(oh, all);
        }
    }
    flows_destroy(&flows);
}
