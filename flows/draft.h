/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_DRAFT_H
#define EVLB_FLOWS_DRAFT_H 1

/* How the stages write flows: a draft is begun, matches and actions are added
 * to it, and it is committed, which makes an entry of it. */

#include <stdint.h>

#include <config.h>

#include <flow.h>
#include <openvswitch/match.h>
#include <openvswitch/meta-flow.h>
#include <openvswitch/ofpbuf.h>
#include <packets.h>

#include "controller/core/addr.h"
#include "flows/cookie.h"
#include "flows/flows.h"
#include "flows/priorities.h"
#include "flows/registers.h"
#include "flows/tables.h"

struct draft {
    uint8_t table;
    uint16_t priority;
    uint8_t depth; /* See struct flows_entry. */
    struct cookie cookie;
    struct match match;
    struct ofpbuf actions;
};

void draft_init(struct draft *, enum rule_kind, uint8_t table,
                uint16_t priority, uint8_t verdict);
void draft_commit(struct draft *, struct flows *);

void
draft_match(struct draft *, enum mf_field_id, uint64_t value, uint64_t mask);
void draft_match_instance(struct draft *, uint16_t instance);
void draft_own_iface(struct draft *, uint8_t iface);
void draft_match_iface(struct draft *, uint8_t iface);
void draft_match_vlan(struct draft *, uint16_t vlan);
void draft_match_ip(struct draft *, bool ipv4);
void draft_match_ip_dst(struct draft *, const struct in6_addr *);
void draft_match_ip_src(struct draft *, const struct addr_block *);

void draft_set(struct draft *, enum mf_field_id, const void *value);
void draft_set_reg(struct draft *, unsigned int reg, uint32_t value);
void draft_move(struct draft *, enum mf_field_id src, enum mf_field_id dst);
void draft_output(struct draft *, uint32_t port);
void draft_controller(struct draft *);
void draft_resubmit(struct draft *, uint8_t table);
void draft_goto(struct draft *, uint8_t table);

/* A port number that draft_output() takes for the one that the packet came in
 * through. */
#define DRAFT_IN_PORT UINT32_C(0xfffffff8)
#define DRAFT_NORMAL UINT32_C(0xfffffffa)
#define DRAFT_LOCAL UINT32_C(0xfffffffe)

struct eth_addr draft_eth_addr(const struct mac *);

#endif /* draft.h */
