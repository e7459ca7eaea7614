/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_CHANGE_H
#define EVLB_OVS_CHANGE_H 1

/* A change: what takes a switch from what it holds to what it should hold.
 *
 *     installed rules --.
 *                       +-> steps -> messages -> one bundle
 *     desired rules ----'     ^
 *                             |
 *     strays (readback) ------'
 *
 * A change knows for each message which rule it is for, so that an error that comes back can
 * be tied to it. */

#include <stddef.h>
#include <stdint.h>

#include <openvswitch/types.h>
#include <openflow/openflow-common.h>

#include "controller/rules/rule-diff.h"

struct ofpbuf;
struct ovs_list;
struct readback;
struct rule_set;

struct change {
    const struct rule_set *installed;
    const struct rule_set *desired;
    struct rule_diff diff;

    enum ofp_version version; /* To be sent in. */
    bool slot_flows;          /* See struct flows. */
    uint32_t bundle_id;
    struct ofpbuf **messages; /* Without transaction ids. */
    size_t *message_steps;    /* Parallel: index into 'diff.steps'. */
    size_t n_messages;
    size_t allocated_messages;
    size_t allocated_steps;
    uint32_t first_xid; /* Of messages[0]; the others follow. */
};

char *change_create(const struct rule_set *installed,
                    const struct rule_set *desired, struct readback *,
                    enum ofp_version, bool slot_flows, struct change **);
void change_destroy(struct change *);

uint32_t change_put_bundle(struct change *, uint32_t bundle_id, uint32_t xid,
                           struct ovs_list *requests);
struct ofpbuf *change_encode_commit(const struct change *);
struct ofpbuf *change_encode_discard(const struct change *);
char *change_explain_xid(const struct change *, uint32_t xid);

#endif /* change.h */
