/* SPDX-License-Identifier: Apache-2.0 */

#include "flows/entry.h"

#include <stdlib.h>
#include <string.h>

#include <byte-order.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofp-protocol.h>
#include <openvswitch/ofpbuf.h>

#include "controller/core/mem.h"
#include "flows/cookie.h"

/* Initializes 'flows' without entries. */
void
flows_init(struct flows *flows)
{
    *flows = (struct flows){ .n = 0 };
}

/* Frees what 'entry' holds, but not 'entry' itself. */
void
flows_entry_destroy(struct flows_entry *entry)
{
    ofpbuf_delete(entry->add);
    ofpbuf_delete(entry->del);
}

/* Frees what 'flows' holds, but not 'flows' itself. */
void
flows_destroy(struct flows *flows)
{
    for (size_t i = 0; i < flows->n; i++) {
        flows_entry_destroy(&flows->entries[i]);
    }
    free(flows->entries);
}

/* Finishes 'msg' and makes it comparable: the transaction id is 0. */
static struct ofpbuf *
finish__(struct ofpbuf *msg)
{
    struct ofp_header *oh;

    ofpmsg_update_length(msg);
    oh = msg->data;
    oh->xid = 0;
    return msg;
}

static void
add_entry__(struct flows *flows, const struct cookie *cookie, uint8_t depth,
            struct ofpbuf *add, struct ofpbuf *del)
{
    if (flows->n >= flows->allocated) {
        flows->entries = mem_grow(flows->entries, &flows->allocated,
                                  sizeof *flows->entries);
    }
    flows->entries[flows->n].cookie = *cookie;
    flows->entries[flows->n].depth = depth;
    flows->entries[flows->n].tick = 0;
    flows->entries[flows->n].add = add;
    flows->entries[flows->n++].del = del;
}

/* Adds to 'flows' the entry of the flow in 'fm', whose match, priority, table,
 * timeouts, flags and actions are given; the rest is set here. */
void
entry_add_flow(struct flows *flows, const struct cookie *cookie, uint8_t depth,
               struct ofputil_flow_mod *fm)
{
    struct ofpbuf *add, *del;

    fm->command = OFPFC_ADD;
    fm->new_cookie = htonll(cookie_encode(cookie));
    fm->cookie = fm->cookie_mask = htonll(0);
    fm->buffer_id = UINT32_MAX;
    fm->out_port = OFPP_ANY;
    fm->out_group = OFPG_ANY;
    add = ofputil_encode_flow_mod(fm, OFPUTIL_P_OF15_OXM);

    /* Only a flow of ours may be deleted. */
    fm->command = OFPFC_DELETE_STRICT;
    fm->cookie = htonll(COOKIE_MAGIC);
    fm->cookie_mask = htonll(COOKIE_MASK);
    fm->new_cookie = htonll(UINT64_MAX);
    fm->idle_timeout = fm->hard_timeout = fm->importance = 0;
    fm->flags = 0;
    fm->ofpacts = NULL;
    fm->ofpacts_len = 0;
    del = ofputil_encode_flow_mod(fm, OFPUTIL_P_OF15_OXM);

    add_entry__(flows, cookie, depth, finish__(add), finish__(del));
}

/* Adds to 'flows' the entry of the calendar group in 'gm', whose type, id,
 * buckets and properties are given; the rest is set here. */
void
entry_add_group(struct flows *flows, const struct cookie *cookie,
                struct ofputil_group_mod *gm)
{
    struct ofputil_group_mod del = { .command = OFPGC15_DELETE,
                                     .type = gm->type,
                                     .group_id = gm->group_id,
                                     .command_bucket_id = OFPG15_BUCKET_ALL };

    gm->command = OFPGC15_ADD;
    gm->command_bucket_id = OFPG15_BUCKET_ALL;
    ovs_list_init(&del.buckets);
    add_entry__(
        flows, cookie, 0,
        finish__(ofputil_encode_group_mod(OFP15_VERSION, gm, NULL, -1)),
        finish__(ofputil_encode_group_mod(OFP15_VERSION, &del, NULL, -1)));
}

static bool
ofpbuf_equal__(const struct ofpbuf *a, const struct ofpbuf *b)
{
    return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* Returns true if 'a' and 'b' cannot be in a switch both. */
bool
flows_entry_same_place(const struct flows_entry *a,
                       const struct flows_entry *b)
{
    return ofpbuf_equal__(a->del, b->del);
}

/* Returns true if 'a' and 'b' are the same. */
bool
flows_entry_equal(const struct flows_entry *a, const struct flows_entry *b)
{
    return flows_entry_same_place(a, b) && ofpbuf_equal__(a->add, b->add);
}

/* Returns a hash of 'entry''s place (FNV-1a). */
uint32_t
flows_entry_hash(const struct flows_entry *entry)
{
    const uint8_t *p = entry->del->data;
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < entry->del->size; i++) {
        hash = (hash ^ p[i]) * UINT32_C(16777619);
    }
    return hash;
}

/* Returns 'msg', the flow or group modification of an entry, as OpenFlow of
 * 'version' has it; the caller must delete it.  Groups that are added exist in
 * version 1.5 only. */
struct ofpbuf *
flows_convert(const struct ofpbuf *msg, enum ofp_version version)
{
    const struct ofp_header *oh = msg->data;
    struct ofputil_group_mod gm;
    struct ofputil_flow_mod fm;
    struct ofpbuf actions;
    struct ofpbuf *converted;

    if (version == OFP15_VERSION) {
        return ofpbuf_clone(msg);
    }
    ofpbuf_init(&actions, 0);
    if (!ofputil_decode_flow_mod(&fm, oh, OFPUTIL_P_OF15_OXM, NULL, NULL,
                                 &actions, OFPP_MAX, 255)) {
        converted = ofputil_encode_flow_mod(
            &fm, ofputil_protocol_from_ofp_version(version));
        minimatch_destroy(&fm.match);
    } else if (!ofputil_decode_group_mod(oh, &gm)) {
        converted = ofputil_encode_group_mod(version, &gm, NULL, -1);
        ofputil_uninit_group_mod(&gm);
    } else {
        abort();
    }
    ofpbuf_uninit(&actions);
    return finish__(converted);
}
