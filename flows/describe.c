/* SPDX-License-Identifier: Apache-2.0 */

#include "flows/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>

#include <byte-order.h>
#include <flow.h>
#include <openvswitch/dynamic-string.h>
#include <openvswitch/match.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-group.h>
#include <packets.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "flows/cookie.h"
#include "flows/registers.h"
#include "flows/tables.h"

/* Initializes 'd' as a description of nothing. */
void
description_init(struct description *d)
{
    *d = (struct description){ .stage = "other",
                               .kind = "unknown",
                               .verdict = "unknown",
                               .table = -1,
                               .priority = -1,
                               .instance = -1,
                               .iface = -1,
                               .vlan = -1,
                               .in_port = -1,
                               .epoch = -1,
                               .n_slots = -1,
                               .first_port = -1,
                               .last_port = -1,
                               .member = -1,
                               .member_base = -1,
                               .member_ports = -1 };
}

/* Frees what 'd' holds, but not 'd' itself. */
void
description_uninit(struct description *d)
{
    free(d->slots);
}

/* Initializes 'all' without rows. */
void
descriptions_init(struct descriptions *all)
{
    *all = (struct descriptions){ .n = 0 };
}

/* Frees what 'all' holds, but not 'all' itself. */
void
descriptions_destroy(struct descriptions *all)
{
    for (size_t i = 0; i < all->n; i++) {
        description_uninit(&all->rows[i]);
    }
    free(all->rows);
}

/* Returns a new row of 'all', a description of nothing. */
static struct description *
add__(struct descriptions *all)
{
    if (all->n >= all->allocated) {
        all->rows = mem_grow(all->rows, &all->allocated, sizeof *all->rows);
    }
    description_init(&all->rows[all->n]);
    return &all->rows[all->n++];
}

/* Returns what the stage in 'table' is called. */
static const char *
stage__(uint8_t table)
{
    static const char *const names[] = {
        [TABLE_CLASSIFY] = "classify",
        [TABLE_L2] = "l2",
        [TABLE_L3] = "l3",
        [TABLE_LOCAL] = "local",
        [TABLE_SOURCE] = "source",
        [TABLE_PARSE] = "parse",
        [TABLE_HEADER] = "header",
        [TABLE_CALENDAR] = "calendar",
        [TABLE_MEMBER] = "member",
        [TABLE_ND] = "nd",
        [TABLE_ADVERTISE] = "advertise",
        [TABLE_PROBE] = "probe",
        [TABLE_EXPIRED] = "expired",
    };

    if (table >= TABLE_EPOCH && table <= table_epoch(INSTANCE_ID_MAX)) {
        return "epoch";
    }
    return (table < sizeof names / sizeof names[0] && names[table]
                ? names[table]
                : "other");
}

/* Says whose flow it is, as far as its cookie tells. */
static void
describe_cookie__(uint64_t value, struct description *d)
{
    struct cookie cookie;
    const char *verdict;

    if (!cookie_decode(value, &cookie)) {
        return;
    }
    verdict = verdict_to_string(cookie.verdict);
    d->kind = rule_kind_to_string(cookie.kind);
    d->verdict = verdict ? verdict : "unknown";
    if (cookie.owner <= INSTANCE_ID_MAX) {
        d->instance = cookie.owner;
    } else if (cookie.owner >= OWNER_IFACE
               && cookie.owner <= OWNER_IFACE + INTERFACE_ID_MAX) {
        d->iface = cookie.owner - OWNER_IFACE;
    }
    if ((cookie.kind == RULE_EPOCH && cookie.verdict != VERDICT_LATE_DROP)
        || cookie.kind == RULE_CALENDAR) {
        d->epoch = cookie.detail;
    } else if (cookie.kind == RULE_MEMBER) {
        d->member = cookie.detail;
    }
}

static void
describe_eth_dst__(const struct match *m, struct description *d)
{
    struct mac mac;

    if (eth_addr_is_zero(m->wc.masks.dl_dst)) {
        return;
    }
    if (m->wc.masks.dl_dst.ea[0] == 1) {
        snprintf(d->eth_dst, sizeof d->eth_dst, "multicast");
        return;
    }
    memcpy(mac.ea, m->flow.dl_dst.ea, sizeof mac.ea);
    mac_to_string(&mac, d->eth_dst);
}

/* Writes the block of IPv4 addresses 'ip'/'mask' to 's', if it is one. */
static void
format_ipv4__(ovs_be32 ip, ovs_be32 mask, char s[ADDR_STRLEN])
{
    struct addr_block block = {
        .len = (uint8_t) (96 + ip_count_cidr_bits(mask))
    };

    if (mask) {
        in6_addr_set_mapped_ipv4(&block.addr, ip);
        addr_block_to_string(&block, s);
    }
}

static void
format_ipv6__(const struct in6_addr *ip, const struct in6_addr *mask,
              char s[ADDR_STRLEN])
{
    struct addr_block block = { .addr = *ip };

    if (!ipv6_mask_is_any(mask)) {
        block.len = (uint8_t) ipv6_count_cidr_bits(mask);
        addr_block_to_string(&block, s);
    }
}

static void
describe_addresses__(const struct match *m, struct description *d)
{
    const struct flow *f = &m->flow, *w = &m->wc.masks;

    format_ipv4__(f->nw_dst, w->nw_dst, d->address);
    format_ipv4__(f->nw_src, w->nw_src, d->source);
    format_ipv6__(&f->nd_target, &w->nd_target, d->address);
    format_ipv6__(&f->ipv6_dst, &w->ipv6_dst, d->address);
    format_ipv6__(&f->ipv6_src, &w->ipv6_src, d->source);
}

/* Says which packets 'm' matches. */
static void
describe_match__(const struct match *m, struct description *d)
{
    const struct flow *f = &m->flow, *w = &m->wc.masks;

    if (w->vlans[0].tci & htons(VLAN_CFI)) {
        d->vlan = f->vlans[0].tci & htons(VLAN_CFI)
                      ? vlan_tci_to_vid(f->vlans[0].tci)
                      : 0;
    }
    if (w->in_port.ofp_port) {
        d->in_port = ofp_to_u16(f->in_port.ofp_port);
    }
    if (w->regs[REG_IFACE]) {
        d->iface = (int) (f->regs[REG_IFACE] & 0xffff);
    }
    if (w->regs[REG_INSTANCE]) {
        d->instance = (int) (f->regs[REG_INSTANCE] & 0xffff);
    }
    if (w->lb_member) {
        d->member = ntohs(f->lb_member);
    }
    if (w->tp_dst && f->nw_proto == IPPROTO_UDP) {
        d->first_port = ntohs(f->tp_dst & w->tp_dst);
        d->last_port = ntohs(f->tp_dst | ~w->tp_dst);
    }
    describe_eth_dst__(m, d);
    describe_addresses__(m, d);
}

/* Says which ticks the flow of an epoch table is for. */
static void
describe_ticks__(const struct match *m, struct description *d)
{
    uint64_t mask = ntohll(m->wc.masks.lb_tick);

    d->has_ticks = true;
    d->tick_bits = __builtin_popcountll(mask);
    d->first_tick = ntohll(m->flow.lb_tick) & mask;
    d->last_tick = d->first_tick | ~mask;
}

static void
describe_forward__(const struct ofpact_lb_forward *forward,
                   struct description *d)
{
    struct mac mac;

    memcpy(mac.ea, forward->eth_dst.ea, sizeof mac.ea);
    mac_to_string(&mac, d->member_mac);
    addr_to_string(&forward->ip_dst, d->member_ip);
    d->member_base = forward->base;
    d->member_ports = 1 << (forward->bits & 31);
    d->keep = forward->keep;
}

static void
describe_output__(ofp_port_t port, struct description *d)
{
    if (port == OFPP_IN_PORT) {
        snprintf(d->egress, sizeof d->egress, "in_port");
    } else if (port == OFPP_NORMAL) {
        snprintf(d->egress, sizeof d->egress, "normal");
    } else if (port == OFPP_LOCAL) {
        snprintf(d->egress, sizeof d->egress, "host");
    } else if (port == OFPP_CONTROLLER) {
        snprintf(d->egress, sizeof d->egress, "controller");
    } else {
        snprintf(d->egress, sizeof d->egress, "%u", ofp_to_u16(port));
    }
}

/* Says what the actions do with the packets. */
static void
describe_actions__(const struct ofpact *ofpacts, size_t len,
                   struct description *d)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, ofpacts, len) {
        if (a->type == OFPACT_LB_FORWARD) {
            describe_forward__(ofpact_get_LB_FORWARD(a), d);
        } else if (a->type == OFPACT_OUTPUT) {
            describe_output__(ofpact_get_OUTPUT(a)->port, d);
        } else if (a->type == OFPACT_CONTROLLER) {
            snprintf(d->egress, sizeof d->egress, "controller");
        } else if (a->type == OFPACT_SET_FIELD
                   && ofpact_get_SET_FIELD(a)->field->id == MFF_LB_MEMBER) {
            d->member = ntohs(ofpact_get_SET_FIELD(a)->value->be16);
        } else if (a->type == OFPACT_GROUP) {
            d->group = ofpact_get_GROUP(a)->group_id;
        }
    }
}

/* Stores in 'd', which the caller must uninitialize, what the flow means that
 * stands in 'table' with 'priority', 'cookie' (in host byte order), 'match',
 * and the 'len' bytes of actions at 'ofpacts'. */
void
describe_flow(uint8_t table, uint16_t priority, uint64_t cookie,
              const struct match *match, const struct ofpact *ofpacts,
              size_t len, struct description *d)
{
    description_init(d);
    d->stage = stage__(table);
    d->table = table;
    d->priority = priority;
    describe_match__(match, d);
    describe_cookie__(cookie, d);
    if (!strcmp(d->stage, "epoch")) {
        describe_ticks__(match, d);
    }
    describe_actions__(ofpacts, len, d);
}

/* Returns the 'len' bytes of actions at 'ofpacts' in the switch's words, which
 * the caller must free. */
char *
describe_actions(const struct ofpact *ofpacts, size_t len)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    const struct ofpact_format_params params = { .s = &s };

    ofpacts_format(ofpacts, len, &params);
    return ds_steal_cstr(&s);
}

/* Returns the member that 'bucket' writes, or -1. */
int
describe_bucket_member(const struct ofputil_bucket *bucket)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, bucket->ofpacts, bucket->ofpacts_len) {
        if (a->type == OFPACT_SET_FIELD
            && ofpact_get_SET_FIELD(a)->field->id == MFF_LB_MEMBER) {
            return ntohs(ofpact_get_SET_FIELD(a)->value->be16);
        }
    }
    return -1;
}

/* Adds to 'd' the slots 'first' to 'last'. */
static void
add_slots__(struct description *d, uint32_t first, uint32_t last)
{
    const char *before = d->slots ? d->slots : "";
    const char *comma = d->slots ? "," : "";
    char *longer;

    longer =
        (first == last ? mem_printf("%s%s%u", before, comma, first)
                       : mem_printf("%s%s%u-%u", before, comma, first, last));
    free(d->slots);
    d->slots = longer;
    d->n_slots += (int) (last - first + 1);
}

/* Returns the row of 'member' among those of 'all' from 'begin' on, which are
 * those of one group. */
static struct description *
member_row__(struct descriptions *all, size_t begin, int member,
             const struct description *like)
{
    struct description *d;

    for (size_t i = begin; i < all->n; i++) {
        if (all->rows[i].member == member) {
            return &all->rows[i];
        }
    }
    d = add__(all);
    *d = *like;
    d->member = member;
    return d;
}

/* Adds a row for each member in 'members', which has one for each slot, or -1
 * for none. */
static void
describe_members__(const int members[CALENDAR_SLOTS_MAX],
                   const struct description *like, struct descriptions *all)
{
    size_t begin = all->n;

    for (uint32_t slot = 0; slot < CALENDAR_SLOTS_MAX; slot++) {
        uint32_t first = slot;

        if (members[slot] < 0) {
            continue;
        }
        while (slot + 1 < CALENDAR_SLOTS_MAX
               && members[slot + 1] == members[first]) {
            slot++;
        }
        add_slots__(member_row__(all, begin, members[first], like), first,
                    slot);
    }
}

/* Adds to 'all' a row for each member in the group 'gd'.  A group that is not
 * ours, or nobody's, has one row without member. */
void
describe_group(const struct ofputil_group_desc *gd, struct descriptions *all)
{
    int members[CALENDAR_SLOTS_MAX];
    const struct ofputil_bucket *bucket;
    uint16_t instance, epoch;
    struct description like;
    size_t begin = all->n;

    description_init(&like);
    like.group = gd->group_id;
    if (group_id_decode(gd->group_id, &instance, &epoch)) {
        like.stage = like.kind = rule_kind_to_string(RULE_CALENDAR);
        like.verdict = verdict_to_string(VERDICT_PASS);
        like.instance = instance;
        like.epoch = epoch;
        like.n_slots = 0;
        for (size_t i = 0; i < CALENDAR_SLOTS_MAX; i++) {
            members[i] = -1;
        }
        LIST_FOR_EACH (bucket, list_node, &gd->buckets) {
            if (bucket->bucket_id < CALENDAR_SLOTS_MAX) {
                members[bucket->bucket_id] = describe_bucket_member(bucket);
            }
        }
        describe_members__(members, &like, all);
    }
    if (all->n == begin) {
        *add__(all) = like;
    }
}

/* If 'd' names the member that 'member' tells the address of, makes 'd' tell
 * it too. */
void
describe_member_like(struct description *d, const struct description *member)
{
    if (d->member >= 0 && d->member == member->member
        && d->instance == member->instance && !*d->member_ip) {
        memcpy(d->member_ip, member->member_ip, sizeof d->member_ip);
        memcpy(d->member_mac, member->member_mac, sizeof d->member_mac);
        d->member_base = member->member_base;
        d->member_ports = member->member_ports;
    }
}
