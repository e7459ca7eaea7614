/* SPDX-License-Identifier: Apache-2.0 */

/* OpenFlow messages from a hostile controller: group-mods and flow-mods.
 *
 * The first byte of the input says which message of which version, the rest is
 * the message's body.  What can be decoded is encoded again; that must decode
 * to the same, as far as the message holds nothing but our actions, fields and
 * groups, and what goes with them. */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "lb-flow.h"
#include "ofp-lb.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

/* The first byte. */
#define OPENFLOW15 0x01 /* Version 1.5, otherwise 1.3. */
#define FLOW_MOD 0x02   /* A flow-mod, otherwise a group-mod. */

#define OFPT_FLOW_MOD 14
#define OFPT_GROUP_MOD 15

int LLVMFuzzerInitialize(int *, char ***);
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define CHECK(CONDITION)    \
    do {                    \
        if (!(CONDITION)) { \
            abort();        \
        }                   \
    } while (0)

/* Returns true if 'ofpacts' holds only what event load balancing uses. */
static bool
actions_are_ours(const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_SET_FIELD) {
            if (ofpact_get_SET_FIELD(a)->field->id != MFF_LB_MEMBER) {
                return false;
            }
        } else if (a->type != OFPACT_LB_PARSE && a->type != OFPACT_LB_FORWARD
                   && a->type != OFPACT_OUTPUT && a->type != OFPACT_GROUP) {
            return false;
        }
    }
    return true;
}

/* What was decoded has been checked: it can be executed. */
static void
check_forwards(const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_LB_FORWARD) {
            CHECK(!ofp_lb_forward_check(ofpact_get_LB_FORWARD(a)));
        }
    }
}

/* Groups. */

/* Returns true if 'gm' of 'version' can be encoded and holds only what event
 * load balancing uses.  (Commands on single buckets of 1.5 need the whole
 * group to be said in an earlier version.) */
static bool
group_is_ours(const struct ofputil_group_mod *gm, enum ofp_version version)
{
    const struct ofputil_bucket *bucket;

    if (version != OFP15_VERSION
        && (gm->command == OFPGC15_INSERT_BUCKET
            || gm->command == OFPGC15_REMOVE_BUCKET)) {
        return false;
    }
    LIST_FOR_EACH (bucket, list_node, &gm->buckets) {
        if (!actions_are_ours(bucket->ofpacts, bucket->ofpacts_len)) {
            return false;
        }
    }
    return true;
}

/* An lb_calendar group that was decoded has been checked. */
static void
check_calendar(const struct ofputil_group_mod *gm, enum ofp_version version)
{
    uint32_t members[512];
    char *error;

    if (ofp_lb_is_calendar(&gm->props)) {
        CHECK(version == OFP15_VERSION);
        CHECK(gm->type == OFPGT11_SELECT);
        CHECK(
            !ofp_lb_calendar_check(&gm->buckets, &gm->props, members, &error));
        CHECK(!error);
    }
}

static char *
group_to_string(const struct ofputil_group_mod *gm, enum ofp_version version)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ofputil_group_mod_format__(&ds, version, gm, NULL, NULL);
    return ds_steal_cstr(&ds);
}

static void
group_mod(const struct ofp_header *oh)
{
    struct ofputil_group_mod gm, again;
    enum ofp_version version = oh->version;
    struct ofpbuf *msg;
    char *first, *second;

    if (ofputil_decode_group_mod(oh, &gm)) {
        return;
    }
    check_calendar(&gm, version);
    if (group_is_ours(&gm, version)) {
        msg = ofputil_encode_group_mod(version, &gm, NULL, -1);
        CHECK(!ofputil_decode_group_mod(msg->data, &again));
        first = group_to_string(&gm, version);
        second = group_to_string(&again, version);
        CHECK(!strcmp(first, second));
        free(second);
        free(first);
        ofputil_uninit_group_mod(&again);
        ofpbuf_delete(msg);
    }
    ofputil_uninit_group_mod(&gm);
}

/* Flows. */

static enum ofperr
decode_flow_mod(const struct ofp_header *oh, enum ofputil_protocol protocol,
                struct ofputil_flow_mod *fm, struct ofpbuf *ofpacts)
{
    ofpbuf_init(ofpacts, 0);
    return ofputil_decode_flow_mod(fm, oh, protocol, NULL, NULL, ofpacts,
                                   u16_to_ofp(255), 255);
}

/* Returns true if 'minimatch' is on our fields, the Ethernet type and the
 * input port only. */
static bool
match_is_ours(const struct minimatch *minimatch)
{
    struct flow_wildcards *wc;
    struct match match;

    minimatch_expand(minimatch, &match);
    wc = &match.wc;
    lb_key_to_flow(&(struct ovs_key_lb){ .tick = 0 }, &wc->masks);
    wc->masks.dl_type = 0;
    wc->masks.packet_type = 0;
    wc->masks.in_port.ofp_port = 0;
    return flow_wildcards_is_catchall(wc);
}

/* Checks that 'fm' is the same when it has been encoded and decoded. */
static void
check_flow_mod(const struct ofputil_flow_mod *fm,
               enum ofputil_protocol protocol)
{
    struct ofpbuf *msg = ofputil_encode_flow_mod(fm, protocol);
    struct match match, again_match;
    struct ofputil_flow_mod again;
    struct ofpbuf ofpacts;

    CHECK(!decode_flow_mod(msg->data, protocol, &again, &ofpacts));
    minimatch_expand(&fm->match, &match);
    minimatch_expand(&again.match, &again_match);
    CHECK(match_equal(&match, &again_match));
    CHECK(ofpacts_equal(fm->ofpacts, fm->ofpacts_len, again.ofpacts,
                        again.ofpacts_len));
    CHECK(fm->priority == again.priority);
    CHECK(fm->table_id == again.table_id);
    CHECK(fm->command == again.command);
    minimatch_destroy(&again.match);
    ofpbuf_uninit(&ofpacts);
    ofpbuf_delete(msg);
}

static void
flow_mod(const struct ofp_header *oh)
{
    enum ofputil_protocol protocol =
        (oh->version == OFP15_VERSION ? OFPUTIL_P_OF15_OXM
                                      : OFPUTIL_P_OF13_OXM);
    struct ofputil_flow_mod fm;
    struct ofpbuf ofpacts;
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (!decode_flow_mod(oh, protocol, &fm, &ofpacts)) {
        struct match match;

        minimatch_expand(&fm.match, &match);
        match_format(&match, NULL, &ds, OFP_DEFAULT_PRIORITY);
        check_forwards(fm.ofpacts, fm.ofpacts_len);
        if (match_is_ours(&fm.match)
            && actions_are_ours(fm.ofpacts, fm.ofpacts_len)) {
            check_flow_mod(&fm, protocol);
        }
        minimatch_destroy(&fm.match);
    }
    ds_destroy(&ds);
    ofpbuf_uninit(&ofpacts);
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ofp_header *oh;
    enum ofptype type;
    size_t length;

    if (!size || size > UINT16_MAX - sizeof *oh) {
        return 0;
    }
    length = sizeof *oh + size - 1;
    oh = xmalloc(length);
    oh->version = data[0] & OPENFLOW15 ? OFP15_VERSION : OFP13_VERSION;
    oh->type = data[0] & FLOW_MOD ? OFPT_FLOW_MOD : OFPT_GROUP_MOD;
    oh->length = htons((uint16_t) length);
    oh->xid = 0;
    memcpy(oh + 1, data + 1, size - 1);

    if (!ofptype_decode(&type, oh)) {
        if (type == OFPTYPE_FLOW_MOD) {
            flow_mod(oh);
        } else if (type == OFPTYPE_GROUP_MOD) {
            group_mod(oh);
        }
    }
    free(oh);
    return 0;
}
