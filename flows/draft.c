/* SPDX-License-Identifier: Apache-2.0 */

#include "flows/draft.h"

#include <string.h>

#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-port.h>

#include "flows/entry.h"

/* Begins 'draft', which belongs to a rule of 'kind', with a match on nothing
 * and without actions, that is, one that drops all packets. */
void
draft_init(struct draft *draft, enum rule_kind kind, uint8_t table,
           uint16_t priority, uint8_t verdict)
{
    memset(draft, 0, sizeof *draft);
    draft->table = table;
    draft->priority = priority;
    draft->cookie.kind = kind;
    draft->cookie.verdict = verdict;
    draft->cookie.owner = OWNER_ALL;
    match_init_catchall(&draft->match);
    ofpbuf_init(&draft->actions, 0);
}

/* Adds the finished 'draft' to 'flows'.  Uninitializes 'draft'. */
void
draft_commit(struct draft *draft, struct flows *flows)
{
    struct ofputil_flow_mod fm;

    memset(&fm, 0, sizeof fm);
    minimatch_init(&fm.match, &draft->match);
    fm.priority = draft->priority;
    fm.table_id = draft->table;
    /* What is counted must not be lost with the flow. */
    fm.flags =
        draft->cookie.verdict == VERDICT_PASS ? 0 : OFPUTIL_FF_SEND_FLOW_REM;
    fm.ofpacts = draft->actions.data;
    fm.ofpacts_len = draft->actions.size;
    entry_add_flow(flows, &draft->cookie, draft->depth, &fm);
    minimatch_destroy(&fm.match);
    ofpbuf_uninit(&draft->actions);
}

/* Stores the 'n' low bytes of 'x' in 'p', most significant first. */
static void
put_uint__(uint8_t *p, size_t n, uint64_t x)
{
    for (size_t i = n; i-- > 0; x >>= 8) {
        p[i] = (uint8_t) x;
    }
}

/* Adds a match of 'field', which has at most 64 bits, on 'value' where 'mask'
 * is 1.  Bits of 'mask' beyond the field's size do not matter. */
void
draft_match(struct draft *draft, enum mf_field_id field, uint64_t value,
            uint64_t mask)
{
    const struct mf_field *mf = mf_from_id(field);
    union mf_value v, m;

    memset(&v, 0, sizeof v);
    memset(&m, 0, sizeof m);
    put_uint__(v.b, mf->n_bytes, value & mask);
    put_uint__(m.b, mf->n_bytes, mask);
    mf_set(mf, &v, &m, &draft->match, NULL);
}

void
draft_match_instance(struct draft *draft, uint16_t instance)
{
    match_set_reg(&draft->match, REG_INSTANCE, instance);
    draft->cookie.owner = instance;
}

/* Makes interface 'iface' the owner of the flow, which matches on it. */
void
draft_own_iface(struct draft *draft, uint8_t iface)
{
    draft->cookie.owner = (uint16_t) (OWNER_IFACE + iface);
    draft_match_iface(draft, iface);
}

void
draft_match_iface(struct draft *draft, uint8_t iface)
{
    match_set_reg(&draft->match, REG_IFACE, iface);
}

/* Adds a match on frames of 'vlan', or on untagged ones if it is 0. */
void
draft_match_vlan(struct draft *draft, uint16_t vlan)
{
    match_set_vlan_vid(&draft->match,
                       htons(vlan ? vlan | OFPVID12_PRESENT : OFPVID12_NONE));
}

/* Adds a match on IPv4 packets, or else on IPv6 packets. */
void
draft_match_ip(struct draft *draft, bool ipv4)
{
    match_set_dl_type(&draft->match,
                      htons(ipv4 ? ETH_TYPE_IP : ETH_TYPE_IPV6));
}

/* Adds a match on packets of 'address''s family to it. */
void
draft_match_ip_dst(struct draft *draft, const struct in6_addr *address)
{
    draft_match_ip(draft, addr_is_ipv4(address));
    if (addr_is_ipv4(address)) {
        match_set_nw_dst(&draft->match, htonl(addr_get_ipv4(address)));
    } else {
        match_set_ipv6_dst(&draft->match, address);
    }
}

/* Adds a match on packets of 'block''s family from an address in it. */
void
draft_match_ip_src(struct draft *draft, const struct addr_block *block)
{
    draft_match_ip(draft, addr_is_ipv4(&block->addr));
    if (addr_is_ipv4(&block->addr)) {
        uint32_t mask = (uint32_t) (UINT64_MAX << (128 - block->len));

        match_set_nw_src_masked(
            &draft->match, htonl(addr_get_ipv4(&block->addr)), htonl(mask));
    } else {
        struct in6_addr mask = ipv6_create_mask(block->len);

        match_set_ipv6_src_masked(&draft->match, &block->addr, &mask);
    }
}

/* Adds an action that writes 'value', which is in network byte order, to
 * 'field'. */
void
draft_set(struct draft *draft, enum mf_field_id field, const void *value)
{
    ofpact_put_set_field(&draft->actions, mf_from_id(field), value, NULL);
}

/* Adds an action that writes 'value' to register 'reg'. */
void
draft_set_reg(struct draft *draft, unsigned int reg, uint32_t value)
{
    ovs_be32 be = htonl(value);

    draft_set(draft, MFF_REG0 + reg, &be);
}

/* Adds an action that copies field 'src' to field 'dst', of the same size. */
void
draft_move(struct draft *draft, enum mf_field_id src, enum mf_field_id dst)
{
    struct ofpact_reg_move *move = ofpact_put_REG_MOVE(&draft->actions);

    move->src.field = mf_from_id(src);
    move->src.n_bits = move->src.field->n_bits;
    move->dst.field = mf_from_id(dst);
    move->dst.n_bits = move->dst.field->n_bits;
}

/* Adds an action that sends the packet out of OpenFlow port 'port', one of
 * DRAFT_* included. */
void
draft_output(struct draft *draft, uint32_t port)
{
    struct ofpact_output *output = ofpact_put_OUTPUT(&draft->actions);

    /* Reserved ports have 32-bit numbers on the wire and 16-bit ones here. */
    output->port = u16_to_ofp((uint16_t) port);
}

/* Adds an action that sends the packet to the controller, as much of it as a
 * frame of ARP or neighbour discovery has. */
void
draft_controller(struct draft *draft)
{
    struct ofpact_output *output = ofpact_put_OUTPUT(&draft->actions);

    output->port = OFPP_CONTROLLER;
    output->max_len = 256;
}

/* Adds an action that goes on in 'table', which may be one before this one. */
void
draft_resubmit(struct draft *draft, uint8_t table)
{
    struct ofpact_resubmit *resubmit = ofpact_put_RESUBMIT(&draft->actions);

    resubmit->in_port = OFPP_IN_PORT;
    resubmit->table_id = table;
}

/* Ends the actions: go on in 'table'. */
void
draft_goto(struct draft *draft, uint8_t table)
{
    ofpact_put_GOTO_TABLE(&draft->actions)->table_id = table;
}

/* Returns 'mac' in Open vSwitch's type. */
struct eth_addr
draft_eth_addr(const struct mac *mac)
{
    struct eth_addr ea;

    memcpy(ea.ea, mac->ea, sizeof ea.ea);
    return ea;
}
