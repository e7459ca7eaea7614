/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/fake-switch.h"

#include <stdio.h>

#include <byte-order.h>
#include <flow.h>
#include <openvswitch/dynamic-string.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-bundle.h>
#include <openvswitch/ofp-connection.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-meter.h>
#include <openvswitch/ofp-monitor.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/ofp-print.h>
#include <openvswitch/ofp-switch.h>
#include <openvswitch/ofp-util.h>
#include <util.h>

#include "controller/core/calendar.h"
#include "tests/unit/unit.h"

void
fake_switch_init(struct fake_switch *sw)
{
    memset(sw, 0, sizeof *sw);
    sw->datapath_id = 1;
    sw->version = OFP15_VERSION;
    ovs_list_init(&sw->flows);
    ovs_list_init(&sw->groups);
    ovs_list_init(&sw->staged);
    ovs_list_init(&sw->replies);
    sw->refuse_add = -1;
}

static void
free_flow(struct fake_flow *f)
{
    ovs_list_remove(&f->node);
    minimatch_destroy(&f->match);
    ofpbuf_uninit(&f->actions);
    free(f);
}

static void
free_group(struct fake_group *g)
{
    ovs_list_remove(&g->node);
    ofpbuf_delete(g->mod);
    free(g);
}

void
fake_switch_destroy(struct fake_switch *sw)
{
    struct fake_group *g;
    struct fake_flow *f;

    LIST_FOR_EACH_SAFE (f, node, &sw->flows) {
        free_flow(f);
    }
    LIST_FOR_EACH_SAFE (g, node, &sw->groups) {
        free_group(g);
    }
    ofpbuf_list_delete(&sw->staged);
    ofpbuf_list_delete(&sw->replies);
}

static void
reply(struct fake_switch *sw, struct ofpbuf *msg)
{
    ofpmsg_update_length(msg);
    ovs_list_push_back(&sw->replies, &msg->list_node);
}

static void
reply_all(struct fake_switch *sw, struct ovs_list *msgs)
{
    struct ofpbuf *msg;

    LIST_FOR_EACH_POP (msg, list_node, msgs) {
        reply(sw, msg);
    }
}

/* Says hello with the versions in the bitmap, on a new connection. */
void
fake_switch_hello(struct fake_switch *sw, uint32_t versions)
{
    sw->version =
        versions & 1u << OFP15_VERSION ? OFP15_VERSION : OFP13_VERSION;
    sw->primary = sw->secondary = false;
    reply(sw, ofputil_encode_hello(versions));
}

static enum ofputil_protocol
protocol(const struct fake_switch *sw)
{
    return ofputil_protocol_from_ofp_version(sw->version);
}

/* Flows. */

static struct fake_flow *
find_flow(struct fake_switch *sw, const struct ofputil_flow_mod *fm)
{
    struct fake_flow *f;

    LIST_FOR_EACH (f, node, &sw->flows) {
        if (f->table == fm->table_id && f->priority == fm->priority
            && minimatch_equal(&f->match, &fm->match)) {
            return f;
        }
    }
    return NULL;
}

static struct fake_group *
find_group(struct fake_switch *sw, uint32_t id)
{
    struct fake_group *g;

    LIST_FOR_EACH (g, node, &sw->groups) {
        if (g->id == id) {
            return g;
        }
    }
    return NULL;
}

/* Returns the group that 'f' sends packets to, or 0. */
static uint32_t
group_of_flow(const struct fake_flow *f)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, f->actions.data, f->actions.size) {
        if (a->type == OFPACT_GROUP) {
            return ofpact_get_GROUP(a)->group_id;
        }
    }
    return 0;
}

static void
add_flow(struct fake_switch *sw, const struct ofputil_flow_mod *fm)
{
    struct fake_flow *f = find_flow(sw, fm);

    if (f) {
        free_flow(f);
    }
    f = xzalloc(sizeof *f);
    minimatch_clone(&f->match, &fm->match);
    f->table = fm->table_id;
    f->priority = (uint16_t) fm->priority;
    f->cookie = ntohll(fm->new_cookie);
    f->flags = fm->flags;
    ofpbuf_init(&f->actions, 0);
    ofpbuf_put(&f->actions, fm->ofpacts, fm->ofpacts_len);
    ovs_list_push_back(&sw->flows, &f->node);
    if (group_of_flow(f)) {
        assert_non_null(find_group(sw, group_of_flow(f)));
    }
}

static void
delete_flow(struct fake_switch *sw, const struct ofputil_flow_mod *fm)
{
    struct fake_flow *f = find_flow(sw, fm);

    if (f && !((f->cookie ^ ntohll(fm->cookie)) & ntohll(fm->cookie_mask))) {
        free_flow(f);
    }
}

static enum ofperr
flow_mod(struct fake_switch *sw, const struct ofp_header *oh)
{
    struct ofputil_flow_mod fm;
    struct ofpbuf actions;
    enum ofperr error;

    ofpbuf_init(&actions, 0);
    error = ofputil_decode_flow_mod(
        &fm, oh, ofputil_protocol_from_ofp_version(oh->version), NULL, NULL,
        &actions, u16_to_ofp(1000), 255);
    if (!error && sw) {
        if (fm.command == OFPFC_ADD) {
            add_flow(sw, &fm);
        } else {
            assert_int_equal(fm.command, OFPFC_DELETE_STRICT);
            delete_flow(sw, &fm);
        }
    }
    if (!error) {
        minimatch_destroy(&fm.match);
    }
    ofpbuf_uninit(&actions);
    return error;
}

/* Groups. */

static void
assert_unreferenced(struct fake_switch *sw, uint32_t id)
{
    struct fake_flow *f;

    LIST_FOR_EACH (f, node, &sw->flows) {
        assert_int_not_equal(group_of_flow(f), id);
    }
}

static enum ofperr
group_mod(struct fake_switch *sw, const struct ofp_header *oh)
{
    struct ofputil_group_mod gm;
    enum ofperr error = ofputil_decode_group_mod(oh, &gm);
    struct fake_group *g;

    if (error) {
        return error;
    }
    g = sw ? find_group(sw, gm.group_id) : NULL;
    if (sw && gm.command == OFPGC15_ADD) {
        assert_null(g);
        g = xzalloc(sizeof *g);
        g->id = gm.group_id;
        g->mod = ofpbuf_clone_data(oh, ntohs(oh->length));
        ovs_list_push_back(&sw->groups, &g->node);
    } else if (sw) {
        assert_int_equal(gm.command, OFPGC15_DELETE);
        assert_unreferenced(sw, gm.group_id);
        if (g) {
            free_group(g);
        }
    }
    ofputil_uninit_group_mod(&gm);
    return 0;
}

/* Checks the flow_mod or group_mod 'oh', and applies it to 'sw' if that is not
 * NULL. */
static enum ofperr
apply_mod(struct fake_switch *sw, const struct ofp_header *oh)
{
    enum ofptype type;

    assert_int_equal(ofptype_decode(&type, oh), 0);
    if (type == OFPTYPE_FLOW_MOD) {
        return flow_mod(sw, oh);
    }
    assert_int_equal(type, OFPTYPE_GROUP_MOD);
    return group_mod(sw, oh);
}

/* Bundles. */

static void
receive_bundle_add(struct fake_switch *sw, const struct ofp_header *oh)
{
    struct ofputil_bundle_add_msg add;
    enum ofperr error;
    enum ofptype type;

    error = ofputil_decode_bundle_add(oh, &add, &type);
    assert_int_equal(error, 0);
    assert_int_equal(add.flags, OFPBF_ATOMIC | OFPBF_ORDERED);
    assert_int_equal(add.msg->xid, oh->xid);

    if (sw->refuse_add >= 0 && !sw->refuse_add--) {
        reply(sw, ofperr_encode_reply(OFPERR_OFPBAC_BAD_TYPE, oh));
        return;
    }
    error = apply_mod(NULL, add.msg);
    if (error) {
        reply(sw, ofperr_encode_reply(error, oh));
        return;
    }
    ovs_list_push_back(
        &sw->staged,
        &ofpbuf_clone_data(add.msg, ntohs(add.msg->length))->list_node);
}

static void
commit(struct fake_switch *sw)
{
    struct ofpbuf *msg;

    LIST_FOR_EACH (msg, list_node, &sw->staged) {
        assert_int_equal(apply_mod(sw, msg->data), 0);
        sw->n_mods++;
    }
    sw->n_commits++;
}

static void
receive_bundle_control(struct fake_switch *sw, const struct ofp_header *oh)
{
    struct ofputil_bundle_ctrl_msg ctrl;

    assert_int_equal(ofputil_decode_bundle_ctrl(oh, &ctrl), 0);
    assert_int_equal(ctrl.flags, OFPBF_ATOMIC | OFPBF_ORDERED);
    if (ctrl.type == OFPBCT_OPEN_REQUEST) {
        ofpbuf_list_delete(&sw->staged);
        ovs_list_init(&sw->staged);
        ctrl.type = OFPBCT_OPEN_REPLY;
    } else if (ctrl.type == OFPBCT_DISCARD_REQUEST) {
        sw->n_discards++;
        ctrl.type = OFPBCT_DISCARD_REPLY;
    } else {
        assert_int_equal(ctrl.type, OFPBCT_COMMIT_REQUEST);
        if (sw->refuse_commit) {
            reply(sw, ofperr_encode_reply(OFPERR_OFPBFC_MSG_FAILED, oh));
            return;
        }
        commit(sw);
        ctrl.type = OFPBCT_COMMIT_REPLY;
    }
    reply(sw, ofputil_encode_bundle_ctrl_reply(oh, &ctrl));
}

/* What it says about itself. */

static void
phy_port(const struct fake_switch *sw, size_t i, struct ofputil_phy_port *pp)
{
    memset(pp, 0, sizeof *pp);
    pp->port_no = u16_to_ofp((uint16_t) (i + 1));
    snprintf(pp->name, sizeof pp->name, "%s", sw->ports[i]);
}

static void
send_ports(struct fake_switch *sw, const struct ofp_header *request)
{
    struct ovs_list replies;
    struct ofputil_phy_port pp;

    ofpmp_init(&replies, request);
    for (size_t i = 0; i < ARRAY_SIZE(sw->ports); i++) {
        if (sw->ports[i]) {
            phy_port(sw, i, &pp);
            ofputil_append_port_desc_stats_reply(&pp, &replies);
        }
    }
    reply_all(sw, &replies);
}

static void
send_flows(struct fake_switch *sw, const struct ofp_header *request)
{
    struct ofputil_flow_stats_request fsr;
    struct ovs_list replies;
    struct fake_flow *f;

    assert_int_equal(
        ofputil_decode_flow_stats_request(&fsr, request, NULL, NULL), 0);
    ofpmp_init(&replies, request);
    LIST_FOR_EACH (f, node, &sw->flows) {
        struct ofputil_flow_stats fs = { .cookie = htonll(f->cookie),
                                         .table_id = f->table,
                                         .priority = f->priority,
                                         .packet_count = 7,
                                         .byte_count = 700,
                                         .flags = f->flags,
                                         .ofpacts = f->actions.data,
                                         .ofpacts_len = f->actions.size };

        if (!((fs.cookie ^ fsr.cookie) & fsr.cookie_mask)) {
            minimatch_expand(&f->match, &fs.match);
            ofputil_append_flow_stats_reply(&fs, &replies, NULL);
        }
    }
    reply_all(sw, &replies);
}

static void
send_groups(struct fake_switch *sw, const struct ofp_header *request)
{
    struct ovs_list replies;
    struct fake_group *g;

    ofpmp_init(&replies, request);
    LIST_FOR_EACH (g, node, &sw->groups) {
        struct ofputil_group_mod gm;
        struct ofputil_group_desc gd;

        assert_int_equal(ofputil_decode_group_mod(g->mod->data, &gm), 0);
        gd.type = gm.type;
        gd.group_id = gm.group_id;
        gd.props = gm.props;
        ofputil_append_group_desc_reply(&gd, &gm.buckets, &replies);
        ofputil_uninit_group_mod(&gm);
    }
    reply_all(sw, &replies);
}

static void
send_group_stats(struct fake_switch *sw, const struct ofp_header *request)
{
    struct bucket_counter buckets[CALENDAR_SLOTS_MAX];
    struct ovs_list replies;
    struct fake_group *g;

    for (size_t i = 0; i < CALENDAR_SLOTS_MAX; i++) {
        buckets[i].packet_count = i;
        buckets[i].byte_count = 100 * i;
    }
    ofpmp_init(&replies, request);
    LIST_FOR_EACH (g, node, &sw->groups) {
        struct ofputil_group_stats gs = { .group_id = g->id,
                                          .ref_count = 3,
                                          .packet_count = 5,
                                          .byte_count = 500,
                                          .duration_sec = 2,
                                          .bucket_stats = buckets };
        struct ofputil_group_mod gm;

        assert_int_equal(ofputil_decode_group_mod(g->mod->data, &gm), 0);
        gs.n_buckets = (uint32_t) ovs_list_size(&gm.buckets);
        ofputil_uninit_group_mod(&gm);
        ofputil_append_group_stats(&replies, &gs);
    }
    reply_all(sw, &replies);
}

static void
send_meters(struct fake_switch *sw, const struct ofp_header *request)
{
    struct ofputil_meter_band_stats bands[] = { { 1, 10 }, { 2, 20 } };
    const struct ofputil_meter_stats ms = { .meter_id = 9,
                                            .flow_count = 4,
                                            .packet_in_count = 30,
                                            .byte_in_count = 3000,
                                            .n_bands = 2,
                                            .bands = bands };
    struct ovs_list replies;

    ofpmp_init(&replies, request);
    ofputil_append_meter_stats(&replies, &ms);
    reply_all(sw, &replies);
}

static void
send_port_stats(struct fake_switch *sw, const struct ofp_header *request)
{
    struct ovs_list replies;

    ofpmp_init(&replies, request);
    for (size_t i = ARRAY_SIZE(sw->ports); i-- > 0;) {
        struct ofputil_port_stats ps = { .port_no =
                                             u16_to_ofp((uint16_t) (i + 1)),
                                         .duration_sec = 3 };

        memset(&ps.stats, 0xff, sizeof ps.stats);
        ps.stats.rx_packets = 10 * i + 1;
        ps.stats.tx_bytes = 10 * i + 2;
        if (sw->ports[i]) {
            ofputil_append_port_stat(&replies, &ps);
        }
    }
    reply_all(sw, &replies);
}

/* Answers requests for statistics, as it is told to.  Returns false if 'oh' is
 * none. */
static bool
receive_stats_request(struct fake_switch *sw, enum ofptype type,
                      const struct ofp_header *oh)
{
    sw->n_flow_requests += type == OFPTYPE_FLOW_STATS_REQUEST;
    if (sw->refuse_stats
        && !strcmp(ofptype_get_name(type), sw->refuse_stats)) {
        reply(sw, ofperr_encode_reply(OFPERR_OFPBRC_BAD_STAT, oh));
    } else if (sw->silent && ofpmsg_is_stat_request(oh)) {
        return true;
    } else if (type == OFPTYPE_FLOW_STATS_REQUEST) {
        send_flows(sw, oh);
    } else if (type == OFPTYPE_GROUP_DESC_STATS_REQUEST) {
        send_groups(sw, oh);
    } else if (type == OFPTYPE_GROUP_STATS_REQUEST) {
        send_group_stats(sw, oh);
    } else if (type == OFPTYPE_METER_STATS_REQUEST) {
        send_meters(sw, oh);
    } else if (type == OFPTYPE_PORT_STATS_REQUEST) {
        send_port_stats(sw, oh);
    } else {
        return false;
    }
    return true;
}

/* Tells that the first flow with 'cookie' is deleted, which had counted
 * 'packets' in 'seconds', and deletes it. */
void
fake_switch_flow_removed(struct fake_switch *sw, uint64_t cookie,
                         uint64_t packets, uint32_t seconds)
{
    struct fake_flow *f;

    LIST_FOR_EACH (f, node, &sw->flows) {
        if (f->cookie == cookie) {
            struct ofputil_flow_removed fr = { .cookie = htonll(cookie),
                                               .priority = f->priority,
                                               .reason = OFPRR_DELETE,
                                               .table_id = f->table,
                                               .duration_sec = seconds,
                                               .packet_count = packets,
                                               .byte_count = 100 * packets };

            minimatch_expand(&f->match, &fr.match);
            reply(sw, ofputil_encode_flow_removed(&fr, protocol(sw)));
            free_flow(f);
            return;
        }
    }
    fail_msg("no flow with cookie %016" PRIx64, cookie);
}

static void
send_features(struct fake_switch *sw, const struct ofp_header *request)
{
    struct ofputil_switch_features features = { .datapath_id = sw->datapath_id,
                                                .n_tables = 254 };

    reply(sw, ofputil_encode_switch_features(&features, protocol(sw),
                                             request->xid));
}

/* Port 'index' is called 'name' from now on, or is gone if that is NULL. */
void
fake_switch_port_status(struct fake_switch *sw, size_t index, const char *name)
{
    struct ofputil_port_status ps = { .reason = !name ? OFPPR_DELETE
                                                : sw->ports[index]
                                                    ? OFPPR_MODIFY
                                                    : OFPPR_ADD };

    if (name) {
        sw->ports[index] = name;
    }
    phy_port(sw, index, &ps.desc);
    reply(sw, ofputil_encode_port_status(&ps, protocol(sw)));
    sw->ports[index] = name;
}

/* Roles. */

static void
receive_role_request(struct fake_switch *sw, const struct ofp_header *oh)
{
    struct ofputil_role_request rr;

    assert_int_equal(ofputil_decode_role_message(oh, &rr), 0);
    if (sw->refuse_roles) {
        reply(sw, ofperr_encode_reply(OFPERR_OFPRRFC_UNSUP, oh));
        return;
    }
    if (rr.role == OFPCR12_ROLE_PRIMARY) {
        if (sw->generation
            && (int64_t) (rr.generation_id - sw->generation) < 0) {
            reply(sw, ofperr_encode_reply(OFPERR_OFPRRFC_STALE, oh));
            return;
        }
        sw->generation = rr.generation_id;
    } else {
        assert_int_equal(rr.role, OFPCR12_ROLE_EQUAL);
    }
    sw->primary = rr.role == OFPCR12_ROLE_PRIMARY;
    sw->secondary = false;
    reply(sw, ofputil_encode_role_reply(oh, &rr));
}

/* Another controller becomes the primary one. */
void
fake_switch_displace(struct fake_switch *sw, uint64_t generation)
{
    const struct ofputil_role_status status = { .role = OFPCR12_ROLE_SECONDARY,
                                                .reason =
                                                    OFPCRR_PRIMARY_REQUEST,
                                                .generation_id = generation };

    sw->generation = generation;
    if (sw->primary) {
        sw->primary = false;
        sw->secondary = true;
        reply(sw, ofputil_encode_role_status(&status, protocol(sw)));
    }
}

/* Processes a message of the controller. */
void
fake_switch_receive(struct fake_switch *sw, const struct ofp_header *oh)
{
    enum ofptype type;

    assert_int_equal(ofptype_decode(&type, oh), 0);
    if (receive_stats_request(sw, type, oh)) {
        return;
    } else if (type == OFPTYPE_FEATURES_REQUEST) {
        send_features(sw, oh);
    } else if (type == OFPTYPE_METER_CONFIG_STATS_REQUEST) {
        reply(sw, ofperr_encode_reply(OFPERR_OFPMMFC_UNKNOWN_METER, oh));
    } else if (type == OFPTYPE_METER_MOD) {
        sw->n_meter_mods++;
    } else if (type == OFPTYPE_ROLE_REQUEST) {
        receive_role_request(sw, oh);
    } else if (sw->secondary
               && (type == OFPTYPE_BUNDLE_CONTROL
                   || type == OFPTYPE_BUNDLE_ADD_MESSAGE)) {
        reply(sw, ofperr_encode_reply(OFPERR_OFPBRC_IS_SECONDARY, oh));
    } else if (type == OFPTYPE_PORT_DESC_STATS_REQUEST) {
        send_ports(sw, oh);
    } else if (type == OFPTYPE_BUNDLE_CONTROL) {
        receive_bundle_control(sw, oh);
    } else if (type == OFPTYPE_BUNDLE_ADD_MESSAGE) {
        receive_bundle_add(sw, oh);
    } else if (type == OFPTYPE_BARRIER_REQUEST) {
        reply(sw, ofpraw_alloc_reply(OFPRAW_OFPT11_BARRIER_REPLY, oh, 0));
    } else if (type == OFPTYPE_ECHO_REQUEST) {
        reply(sw, ofputil_encode_echo_reply(oh));
    } else if (type == OFPTYPE_ERROR) {
        sw->n_errors++;
    } else {
        assert_true(type == OFPTYPE_HELLO || type == OFPTYPE_ECHO_REPLY);
    }
}

/* Adds a flow behind the controller's back, in ovs-ofctl's syntax. */
void
fake_switch_add_flow(struct fake_switch *sw, const char *flow)
{
    enum ofputil_protocol protocols;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_str(&fm, OFPFC_ADD, flow, NULL, NULL, &protocols);

    unit_assert_error(error, NULL);
    add_flow(sw, &fm);
    free(fm.ofpacts);
    minimatch_destroy(&fm.match);
}

size_t
fake_switch_count_flows(const struct fake_switch *sw)
{
    return ovs_list_size(&sw->flows);
}

size_t
fake_switch_count_groups(const struct fake_switch *sw)
{
    return ovs_list_size(&sw->groups);
}

static int
compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static char *
dump_flow(const struct fake_flow *f)
{
    struct ofpact_format_params params = { .s = NULL };
    struct ds s = DS_EMPTY_INITIALIZER;
    struct match match;

    params.s = &s;
    minimatch_expand(&f->match, &match);
    ds_put_format(&s, "table=%u cookie=%016" PRIx64 " ", f->table, f->cookie);
    match_format(&match, NULL, &s, f->priority);
    ds_put_cstr(&s, " actions=");
    ofpacts_format(f->actions.data, f->actions.size, &params);
    ds_put_char(&s, '\n');
    return ds_steal_cstr(&s);
}

/* Returns 'g' in words, without its transaction id. */
static char *
dump_group(const struct fake_group *g)
{
    char *s = ofp_to_string(g->mod->data, g->mod->size, NULL, NULL, 1);
    char *body = xstrdup(strchr(strstr(s, "(xid="), ':'));

    free(s);
    return body;
}

/* Returns all flows and groups in words, sorted, which the caller must
 * free. */
char *
fake_switch_dump(const struct fake_switch *sw)
{
    size_t n = 0;
    size_t max = fake_switch_count_flows(sw) + fake_switch_count_groups(sw);
    char **lines = xcalloc(max, sizeof *lines);
    struct ds s = DS_EMPTY_INITIALIZER;
    const struct fake_flow *f;
    const struct fake_group *g;

    LIST_FOR_EACH (f, node, &sw->flows) {
        lines[n++] = dump_flow(f);
    }
    LIST_FOR_EACH (g, node, &sw->groups) {
        lines[n++] = dump_group(g);
    }
    if (n) {
        qsort(lines, n, sizeof *lines, compare_strings);
    }
    for (size_t i = 0; i < n; i++) {
        ds_put_cstr(&s, lines[i]);
        free(lines[i]);
    }
    free(lines);
    return ds_steal_cstr(&s);
}
