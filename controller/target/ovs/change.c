/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/change.h"

#include <stdlib.h>

#include <config.h>
#include <openvswitch/list.h>
#include <openvswitch/ofp-bundle.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofpbuf.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/readback.h"
#include "flows/flows.h"

#define BUNDLE_FLAGS (OFPBF_ATOMIC | OFPBF_ORDERED)

/* Adds 'message', which 'change' takes, for the step at index 'step'. */
static void
add_message__(struct change *change, size_t step, struct ofpbuf *message)
{
    if (change->n_messages >= change->allocated_messages) {
        change->messages =
            mem_grow(change->messages, &change->allocated_messages,
                     sizeof(struct ofpbuf *));
    }
    if (change->n_messages >= change->allocated_steps) {
        change->message_steps =
            mem_grow(change->message_steps, &change->allocated_steps,
                     sizeof *change->message_steps);
    }
    change->messages[change->n_messages] = message;
    change->message_steps[change->n_messages++] = step;
}

/* Adds the messages that take 'entry' in or out. */
static void
add_entry__(struct change *change, size_t step,
            const struct flows_entry *entry)
{
    const struct rule_step *s = &change->diff.steps[step];

    if (s->op == RULE_DELETE) {
        add_message__(change, step,
                      flows_convert(entry->del, change->version));
        return;
    }

    /* A flow that is added takes another one's place; a group does not. */
    if (s->replaces && s->kind == RULE_CALENDAR) {
        add_message__(change, step,
                      flows_convert(entry->del, change->version));
    }
    add_message__(change, step, flows_convert(entry->add, change->version));
}

/* Adds the messages for the step at index 'step'.  What the switch holds
 * already, according to 'readback' if that is not NULL, is left out. */
static void
add_step__(struct change *change, size_t step, const struct readback *readback)
{
    const struct rule_step *s = &change->diff.steps[step];
    struct flows flows;

    if (!s->rule) {
        add_entry__(change, step, s->aux);
        return;
    }

    flows_init(&flows);
    flows.slot_flows = change->slot_flows;
    flows_encode(s->rule, &flows);
    for (size_t i = 0; i < flows.n; i++) {
        if (!readback || s->op == RULE_DELETE
            || !readback_has(readback, &flows.entries[i])) {
            add_entry__(change, step, &flows.entries[i]);
        }
    }
    flows_destroy(&flows);
}

/* Makes the change from 'installed' to 'desired', for a switch that speaks
 * OpenFlow 'version' and has calendars as 'slot_flows' says.  'readback' is NULL, or
 * 'installed' is what readback_compare() returned; then it must stay as long
 * as the change does.
 *
 * Returns NULL and stores the change in '*change', which the caller must
 * destroy, or returns an error, which the caller must free.  A change without
 * messages has nothing to do. */
char *
change_create(const struct rule_set *installed, const struct rule_set *desired,
              struct readback *readback, enum ofp_version version,
              bool slot_flows, struct change **changep)
{
    struct change *change = mem_zalloc(sizeof *change);
    char *error;

    change->version = version;
    change->slot_flows = slot_flows;
    change->installed = rule_set_ref(installed);
    change->desired = rule_set_ref(desired);
    rule_diff_init(&change->diff);

    error = rule_diff_compute(&change->diff, installed, desired);
    if (!error && readback) {
        error = readback_finish_diff(readback, desired, &change->diff);
    }
    if (error) {
        change_destroy(change);
        *changep = NULL;
        return error;
    }
    for (size_t i = 0; i < change->diff.n; i++) {
        add_step__(change, i, readback);
    }
    *changep = change;
    return NULL;
}

/* Destroys 'change', which may be NULL. */
void
change_destroy(struct change *change)
{
    if (change) {
        for (size_t i = 0; i < change->n_messages; i++) {
            ofpbuf_delete(change->messages[i]);
        }
        free(change->messages);
        free(change->message_steps);
        rule_diff_destroy(&change->diff);
        rule_set_unref(change->installed);
        rule_set_unref(change->desired);
        free(change);
    }
}

static struct ofpbuf *
encode_control__(const struct change *change, uint16_t type)
{
    struct ofputil_bundle_ctrl_msg ctrl = { .bundle_id = change->bundle_id,
                                            .type = type,
                                            .flags = BUNDLE_FLAGS };

    return ofputil_encode_bundle_ctrl_request(change->version, &ctrl);
}

/* Returns the bundled message at index 'i'.  A switch ties an error in a
 * bundle's message to the transaction id that the message has in it. */
static struct ofpbuf *
encode_add__(struct change *change, size_t i)
{
    struct ofputil_bundle_add_msg add = { .bundle_id = change->bundle_id,
                                          .flags = BUNDLE_FLAGS };
    struct ofp_header *oh = change->messages[i]->data;

    oh->xid = htonl(change->first_xid + (uint32_t) i);
    add.msg = oh;
    return ofputil_encode_bundle_add(change->version, &add);
}

/* Appends to 'requests' the messages that open bundle 'bundle_id' and put the
 * change into it, with transaction ids from 'xid' on.  Returns the transaction
 * id behind the last one.
 *
 * The bundle must not be committed before the switch has taken all of them: a
 * message that a switch refuses is left out of the bundle, which would be
 * committed without it. */
uint32_t
change_put_bundle(struct change *change, uint32_t bundle_id, uint32_t xid,
                  struct ovs_list *requests)
{
    struct ofpbuf *open;

    change->bundle_id = bundle_id;
    open = encode_control__(change, OFPBCT_OPEN_REQUEST);
    ((struct ofp_header *) open->data)->xid = htonl(xid++);
    ovs_list_push_back(requests, &open->list_node);

    change->first_xid = xid;
    for (size_t i = 0; i < change->n_messages; i++) {
        ovs_list_push_back(requests, &encode_add__(change, i)->list_node);
    }
    return xid + (uint32_t) change->n_messages;
}

/* Returns the message that makes the change effective. */
struct ofpbuf *
change_encode_commit(const struct change *change)
{
    return encode_control__(change, OFPBCT_COMMIT_REQUEST);
}

/* Returns the message that gives the change up. */
struct ofpbuf *
change_encode_discard(const struct change *change)
{
    return encode_control__(change, OFPBCT_DISCARD_REQUEST);
}

/* Returns what the message with transaction id 'xid' is about, which the
 * caller must free, or NULL if it is no message of the change. */
char *
change_explain_xid(const struct change *change, uint32_t xid)
{
    const struct rule_step *step;
    char *what, *s;

    if (xid - change->first_xid >= change->n_messages) {
        return NULL;
    }
    step = &change->diff.steps[change->message_steps[xid - change->first_xid]];
    what = step->rule ? rule_to_string(step->rule)
                      : cookie_to_string(
                          &((const struct flows_entry *) step->aux)->cookie);
    s = mem_printf("%s of rule \"%s\"",
                   step->op == RULE_UPSERT ? "insertion" : "deletion", what);
    free(what);
    return s;
}
