/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>

#include <byte-order.h>
#include <dp-packet.h>
#include <flow.h>
#include <lb-flow.h>
#include <lb-forward.h>
#include <lb-header.h>
#include <openvswitch/match.h>
#include <openvswitch/meta-flow.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-msgs.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "flows/flows.h"

/* A packet meets fewer flows than this, unless they lead it round. */
#define STEPS_MAX 64

/* A flow of the tables under trace. */
struct traced_flow {
    struct ofputil_flow_mod fm;
    struct ofpbuf actions; /* Where 'fm.ofpacts' are. */
};

/* The tables, and the packet on its way. */
struct tracer {
    struct flows entries;
    struct traced_flow *flows;
    size_t n_flows;

    struct dp_packet packet;
    struct flow flow;
    int table; /* The next one, or -1. */
    struct trace_result *result;
};

/* The tables. */

static void
add_flow__(struct tracer *t, const struct ofp_header *oh)
{
    struct traced_flow *f = &t->flows[t->n_flows];

    ofpbuf_init(&f->actions, 0);
    if (ofputil_decode_flow_mod(&f->fm, oh, OFPUTIL_P_OF15_OXM, NULL, NULL,
                                &f->actions, OFPP_MAX, 255)) {
        ofpbuf_uninit(&f->actions);
    } else {
        t->n_flows++;
    }
}

static void
fill_tables__(struct tracer *t, const struct rule_set *rules)
{
    flows_init(&t->entries);
    for (size_t i = 0; i < rules->n; i++) {
        flows_encode(&rules->rules[i], &t->entries);
    }
    t->flows = mem_alloc(t->entries.n * sizeof *t->flows);
    for (size_t i = 0; i < t->entries.n; i++) {
        const struct flows_entry *e = &t->entries.entries[i];

        if (e->cookie.kind != RULE_CALENDAR) {
            add_flow__(t, e->add->data);
        }
    }
}

static void
free_tables__(struct tracer *t)
{
    for (size_t i = 0; i < t->n_flows; i++) {
        minimatch_destroy(&t->flows[i].fm.match);
        ofpbuf_uninit(&t->flows[i].actions);
    }
    free(t->flows);
    flows_destroy(&t->entries);
}

/* Returns the flow that the packet meets in its table, or NULL. */
static const struct traced_flow *
lookup__(const struct tracer *t)
{
    const struct traced_flow *best = NULL;

    for (size_t i = 0; i < t->n_flows; i++) {
        const struct traced_flow *f = &t->flows[i];

        if (f->fm.table_id == t->table
            && (!best || f->fm.priority > best->fm.priority)
            && minimatch_matches_flow(&f->fm.match, &t->flow)) {
            best = f;
        }
    }
    return best;
}

/* What the actions do. */

/* Reads the packet's headers anew.  What is not in the packet stays. */
static void
extract__(struct tracer *t)
{
    struct flow old = t->flow;

    flow_extract(&t->packet, &t->flow);
    memcpy(t->flow.regs, old.regs, sizeof t->flow.regs);
    t->flow.in_port.ofp_port = old.in_port.ofp_port;
}

static void
parse__(struct tracer *t, const struct ofpact_lb_parse *parse)
{
    struct trace_result *r = t->result;
    struct ovs_key_lb key;

    lb_header_extract(&t->packet, &key);
    lb_key_to_flow(&key, &t->flow);
    r->lb_status = lb_status_to_string(key.status);
    r->lb_version = key.version;
    r->lb_tick = ntohll(key.tick);
    r->lb_slot_select = ntohs(key.slot_select);
    r->lb_port_select = ntohs(key.port_select);
    t->table = parse->table;
}

/* Stores in 'gm', which the caller must uninitialize, the group 'id'.  Returns
 * false if there is none. */
static bool
find_group__(const struct tracer *t, uint32_t id, struct ofputil_group_mod *gm)
{
    for (size_t i = 0; i < t->entries.n; i++) {
        const struct flows_entry *e = &t->entries.entries[i];

        if (e->cookie.kind == RULE_CALENDAR
            && group_id_encode(e->cookie.owner, e->cookie.detail) == id) {
            return !ofputil_decode_group_mod(e->add->data, gm);
        }
    }
    return false;
}

/* Looks the packet's slot up in 'gm', and leaves of the header's fields what a
 * calendar leaves. */
static void
apply_calendar__(struct tracer *t, const struct ofputil_group_mod *gm)
{
    struct lb_calendar_param param;
    const struct ofputil_bucket *bucket;
    uint32_t slot;

    if (!lb_calendar_param_decode(gm->props.selection_method_param, &param)) {
        return;
    }
    slot = (ntohs(t->flow.lb_slot_select) ^ param.xor_value)
           & ((1u << param.bits) - 1);
    t->result->slot = (int) slot;
    t->flow.lb_tick = htonll(0);
    t->flow.lb_slot_select = t->flow.lb_port_select = htons(0);
    t->flow.lb_status = LB_NO_SLOT;
    LIST_FOR_EACH (bucket, list_node, &gm->buckets) {
        if (bucket->bucket_id == slot) {
            int member = describe_bucket_member(bucket);

            t->flow.lb_status = LB_OK;
            t->flow.lb_member = htons((uint16_t) member);
            t->result->member = member;
        }
    }
    t->table = param.table;
}

static void
group__(struct tracer *t, uint32_t id)
{
    struct ofputil_group_mod gm;
    uint16_t instance, epoch;

    t->result->group = id;
    if (group_id_decode(id, &instance, &epoch)) {
        t->result->epoch = epoch;
    }
    if (find_group__(t, id, &gm)) {
        apply_calendar__(t, &gm);
        ofputil_uninit_group_mod(&gm);
    }
}

static void
forward__(struct tracer *t, const struct ofpact_lb_forward *f)
{
    struct ovs_action_lb_forward action = { .eth_src = f->eth_src,
                                            .eth_dst = f->eth_dst,
                                            .ip_src = f->ip_src,
                                            .ip_dst = f->ip_dst,
                                            .base = f->base,
                                            .bits = f->bits };

    action.flags =
        (uint8_t) ((f->keep ? LB_FORWARD_KEEP : 0)
                   | (addr_is_ipv4(&f->ip_dst) ? 0 : LB_FORWARD_IPV6));
    if (!lb_forward_packet(&t->packet, &action)) {
        t->table = -1;
        return;
    }
    extract__(t);
    t->result->out.len = dp_packet_size(&t->packet);
    memcpy(t->result->out.data, dp_packet_data(&t->packet),
           t->result->out.len);
}

static void
set_field__(struct tracer *t, const struct ofpact_set_field *set)
{
    union mf_value value, mask;

    memset(&value, 0, sizeof value);
    memset(&mask, 0, sizeof mask);
    memcpy(&value, set->value, set->field->n_bytes);
    memcpy(&mask, ofpact_set_field_mask(set), set->field->n_bytes);
    mf_set_flow_value_masked(set->field, &value, &mask, &t->flow);
}

static void
move__(struct tracer *t, const struct ofpact_reg_move *move)
{
    struct flow_wildcards wc;

    flow_wildcards_init_catchall(&wc);
    mf_subfield_copy(&move->src, &move->dst, &t->flow, &wc);
}

static void
execute__(struct tracer *t, const struct traced_flow *f)
{
    const struct ofpact *a;

    t->table = -1;
    OFPACT_FOR_EACH (a, f->fm.ofpacts, f->fm.ofpacts_len) {
        if (a->type == OFPACT_GOTO_TABLE) {
            t->table = ofpact_get_GOTO_TABLE(a)->table_id;
        } else if (a->type == OFPACT_LB_PARSE) {
            parse__(t, ofpact_get_LB_PARSE(a));
        } else if (a->type == OFPACT_GROUP) {
            group__(t, ofpact_get_GROUP(a)->group_id);
        } else if (a->type == OFPACT_LB_FORWARD) {
            forward__(t, ofpact_get_LB_FORWARD(a));
        } else if (a->type == OFPACT_SET_FIELD) {
            set_field__(t, ofpact_get_SET_FIELD(a));
        } else if (a->type == OFPACT_REG_MOVE) {
            move__(t, ofpact_get_REG_MOVE(a));
        }
    }
}

/* The result. */

/* Adds the meeting with 'f' to the result. */
static void
add_step__(struct trace_result *r, const struct traced_flow *f)
{
    struct trace_step *step;
    struct match match;

    if (r->n_steps >= r->allocated_steps) {
        r->steps = mem_grow(r->steps, &r->allocated_steps, sizeof *r->steps);
    }
    step = &r->steps[r->n_steps++];
    minimatch_expand(&f->fm.match, &match);
    describe_flow(f->fm.table_id, (uint16_t) f->fm.priority,
                  ntohll(f->fm.new_cookie), &match, f->fm.ofpacts,
                  f->fm.ofpacts_len, &step->words);
    step->match = match_to_string(&match, NULL, OFP_DEFAULT_PRIORITY);
    step->actions = describe_actions(f->fm.ofpacts, f->fm.ofpacts_len);
    r->verdict = step->words.verdict;
    memcpy(r->egress, step->words.egress, sizeof r->egress);
    if (step->words.instance >= 0) {
        r->instance = step->words.instance;
    }
}

static void
store_mac__(struct eth_addr ea, char s[MAC_STRLEN])
{
    struct mac mac;

    memcpy(mac.ea, ea.ea, sizeof mac.ea);
    mac_to_string(&mac, s);
}

/* Stores what the packet's headers are in the end. */
static void
store_headers__(const struct flow *f, struct trace_result *r)
{
    struct in6_addr src = f->ipv6_src, dst = f->ipv6_dst;
    bool ipv4 = f->dl_type == htons(ETH_TYPE_IP);

    store_mac__(f->dl_src, r->eth_src);
    store_mac__(f->dl_dst, r->eth_dst);
    if (ipv4) {
        in6_addr_set_mapped_ipv4(&src, f->nw_src);
        in6_addr_set_mapped_ipv4(&dst, f->nw_dst);
    }
    if (ipv4 || f->dl_type == htons(ETH_TYPE_IPV6)) {
        addr_to_string(&src, r->ip_src);
        addr_to_string(&dst, r->ip_dst);
        r->ttl = f->nw_ttl;
        r->udp_dst = f->nw_proto == IPPROTO_UDP ? ntohs(f->tp_dst) : -1;
    }
    r->vlan = f->vlans[0].tci & htons(VLAN_CFI)
                  ? vlan_tci_to_vid(f->vlans[0].tci)
                  : 0;
}

static void
walk__(struct tracer *t)
{
    while (t->table >= 0 && t->result->n_steps < STEPS_MAX) {
        const struct traced_flow *f = lookup__(t);

        if (!f) {
            t->result->verdict = "no flow";
            t->result->egress[0] = '\0';
            break;
        }
        add_step__(t->result, f);
        execute__(t, f);
    }
}

/* Leads 'p', which comes in through OpenFlow port 'in_port', through 'rules',
 * in which ports must not be names.  Stores in 'r', which the caller must
 * uninitialize, what becomes of it. */
void
trace_run(const struct rule_set *rules, uint32_t in_port,
          const struct trace_packet *p, struct trace_result *r)
{
    struct tracer *t = mem_zalloc(sizeof *t);

    memset(r, 0, sizeof *r);
    r->instance = r->epoch = r->slot = r->member = r->udp_dst = -1;
    r->in_port = in_port;
    t->result = r;
    fill_tables__(t, rules);
    dp_packet_init(&t->packet, p->len);
    dp_packet_put(&t->packet, p->data, p->len);
    pkt_metadata_init(&t->packet.md, u32_to_odp(UINT32_MAX));
    t->flow.in_port.ofp_port = u16_to_ofp((uint16_t) in_port);
    extract__(t);

    walk__(t);
    r->dropped = !*r->egress;
    store_headers__(&t->flow, r);
    dp_packet_uninit(&t->packet);
    free_tables__(t);
    free(t);
}

/* Frees what 'r' holds, but not 'r' itself. */
void
trace_result_uninit(struct trace_result *r)
{
    for (size_t i = 0; i < r->n_steps; i++) {
        description_uninit(&r->steps[i].words);
        free(r->steps[i].match);
        free(r->steps[i].actions);
    }
    free(r->steps);
}
