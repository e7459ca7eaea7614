/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_UNIT_FAKE_SWITCH_H
#define TESTS_UNIT_FAKE_SWITCH_H 1

/* An OpenFlow 1.5 or 1.3 switch without a data path, as a peer for sessions: it
 * keeps flows and groups, stages and commits bundles, and answers what a
 * session asks.  It can be told to refuse things.
 *
 * It checks what a switch cannot check for itself: that nothing refers to a
 * group that is not there, at any step within a bundle. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <config.h>
#include <openvswitch/list.h>
#include <openvswitch/match.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofpbuf.h>

struct fake_flow {
    struct ovs_list node;
    struct minimatch match;
    uint8_t table;
    uint16_t priority;
    uint64_t cookie;
    enum ofputil_flow_mod_flags flags;
    struct ofpbuf actions;
};

struct fake_group {
    struct ovs_list node;
    uint32_t id;
    struct ofpbuf *mod; /* The message that added it. */
};

struct fake_switch {
    uint64_t datapath_id;
    enum ofp_version version;
    uint64_t generation; /* Of the last primary controller, or 0. */
    bool primary;        /* Is the controller here it? */
    bool secondary;      /* Is another one? */
    struct ovs_list flows;
    struct ovs_list groups;
    const char *ports[8]; /* Names; the index + 1 is the number. */

    struct ovs_list staged;  /* Messages of the open bundle. */
    struct ovs_list replies; /* To be read by the controller. */

    /* What the controller did. */
    size_t n_mods; /* Modifications committed. */
    size_t n_commits;
    size_t n_discards;
    size_t n_errors;
    size_t n_meter_mods; /* None of which it remembers. */

    /* Refuse the message of this number in the next bundle, from 0. */
    int refuse_add;
    bool refuse_commit;
    bool refuse_roles;

    /* What it does with requests for statistics. */
    size_t n_flow_requests;   /* How many there were for those of flows. */
    bool silent;              /* Answer none. */
    const char *refuse_stats; /* Refuse those of this type, by its name. */
};

void fake_switch_init(struct fake_switch *);
void fake_switch_destroy(struct fake_switch *);
void fake_switch_hello(struct fake_switch *, uint32_t versions);
void fake_switch_displace(struct fake_switch *, uint64_t generation);
void fake_switch_receive(struct fake_switch *, const struct ofp_header *);
void
fake_switch_port_status(struct fake_switch *, size_t index, const char *name);
void fake_switch_add_flow(struct fake_switch *, const char *flow);
void fake_switch_flow_removed(struct fake_switch *, uint64_t cookie,
                              uint64_t packets, uint32_t seconds);
size_t fake_switch_count_flows(const struct fake_switch *);
size_t fake_switch_count_groups(const struct fake_switch *);
char *fake_switch_dump(const struct fake_switch *);

#endif /* fake-switch.h */
