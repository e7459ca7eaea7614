/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_H
#define EVLB_FLOWS_H 1

/* Rules as OpenFlow 1.5 messages.  For a switch that speaks another version,
 * flows_convert() turns them into that when they are sent.
 *
 * A rule becomes one or more entries, each a flow or a group.  An entry is two
 * messages: the one that adds it, and the one that deletes it.  Both are
 * functions of the rule alone, the second one of its key alone.  Two entries
 * are for the same place in a switch if their deleting messages are equal, and
 * the same altogether if their adding messages are equal too.  What a switch
 * reports about itself is turned into entries in the same way, so that
 * comparing does not depend on how something is written.
 *
 * Ports in rules must not be of type PORT_NAME: names are looked up before. */

#include <stddef.h>
#include <stdint.h>

#include <openvswitch/types.h>
#include <openflow/openflow-common.h>

#include "controller/rules/rule.h"
#include "flows/cookie.h"

struct ofpbuf;
struct ofputil_flow_stats;
struct ofputil_group_desc;

struct flows_entry {
    struct cookie cookie; /* Of a group, what a cookie of it would be. */
    uint8_t depth;        /* Of an epoch's flow, the prefix length. */
    uint64_t tick;        /* Of an epoch's flow that was read, the prefix. */
    struct ofpbuf *add;   /* With xid 0. */
    struct ofpbuf *del;   /* With xid 0. */
};

struct flows {
    bool slot_flows; /* Calendars as flows of TABLE_CALENDAR, or as groups? */
    struct flows_entry *entries;
    size_t n;
    size_t allocated;
};

void flows_init(struct flows *);
void flows_destroy(struct flows *);
void flows_entry_destroy(struct flows_entry *);
bool
flows_entry_same_place(const struct flows_entry *, const struct flows_entry *);
bool flows_entry_equal(const struct flows_entry *, const struct flows_entry *);
uint32_t flows_entry_hash(const struct flows_entry *);

void flows_encode(const struct rule *, struct flows *);
struct ofpbuf *flows_convert(const struct ofpbuf *, enum ofp_version);
bool flows_add_flow_stats(const struct ofputil_flow_stats *, struct flows *);
bool flows_add_group_desc(struct ofputil_group_desc *, struct flows *);

#endif /* flows.h */
