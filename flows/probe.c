/* SPDX-License-Identifier: Apache-2.0 */

/* Table 10: a scratch boundary, to measure when a change takes effect.
 *
 * It is made as the boundaries of epochs are: a catch-all flow, which a change
 * writes over, below a prefix that nothing ever changes.  Packets come back
 * through the port that they came from, with the number of the change in the
 * Ethernet source address. */

#include <openvswitch/ofp-actions.h>

#include "flows/draft.h"
#include "flows/probe.h"
#include "flows/stages.h"

/* Stores in 'mac' what a packet that was decided by 'change' comes back
 * with. */
void
probe_mac_from_change(uint16_t change, struct mac *mac)
{
    *mac = (struct mac){ { 0x02, 0x4c, 0x42, 0x00, (uint8_t) (change >> 8),
                           (uint8_t) change } };
}

/* Returns the change that 'mac', which is a mark, stands for. */
uint16_t
probe_change_from_mac(const struct mac *mac)
{
    return (uint16_t) (mac->ea[4] << 8 | mac->ea[5]);
}

/* Returns true if 'mac' is what probe_mac_from_change() makes. */
bool
probe_is_mark(const struct mac *mac)
{
    struct mac mark;

    probe_mac_from_change(probe_change_from_mac(mac), &mark);
    return mac_equal(mac, &mark);
}

static void
add_parse__(const struct rule_probe *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_PROBE, TABLE_CLASSIFY, PRIORITY_PROBE, VERDICT_PASS);
    match_set_in_port(&d.match, u16_to_ofp((uint16_t) rule->port.number));
    ofpact_put_LB_PARSE(&d.actions)->table = TABLE_PROBE;
    draft_commit(&d, flows);
}

/* Begins 'd', which sends packets from the port of 'rule' back with the mark
 * of 'change'. */
static void
begin_mark__(struct draft *d, const struct rule_probe *rule, uint16_t priority,
             uint16_t change)
{
    struct eth_addr ea;
    struct mac mac;

    probe_mac_from_change(change, &mac);
    ea = draft_eth_addr(&mac);
    draft_init(d, RULE_PROBE, TABLE_PROBE, priority, VERDICT_PASS);
    match_set_in_port(&d->match, u16_to_ofp((uint16_t) rule->port.number));
    draft_set(d, MFF_ETH_SRC, &ea);
    draft_output(d, DRAFT_IN_PORT);
}

void
probe_add_probe(const struct rule_probe *rule, struct flows *flows)
{
    struct draft d;

    begin_mark__(&d, rule, PRIORITY_PREFIX + 1, 0);
    draft_match(&d, MFF_LB_TICK, 0, prefix_mask(1));
    draft_commit(&d, flows);

    begin_mark__(&d, rule, PRIORITY_PREFIX, rule->change);
    d.cookie.detail = rule->change;
    draft_commit(&d, flows);

    add_parse__(rule, flows);
}
