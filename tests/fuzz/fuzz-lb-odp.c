/* SPDX-License-Identifier: Apache-2.0 */

/* The lb_* actions and the lb key of the datapath, as text and as Netlink
 * attributes.
 *
 * The first byte of the input says what the rest is, see enum mode.
 * Attributes are in heap buffers of just their size.  What can be read is
 * written and read again, and must stay the same. */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "lb-calendar.h"
#include "netlink.h"
#include "odp-execute.h"
#include "odp-lb.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

enum mode {
    ACTION_TEXT,   /* An action. */
    KEY_TEXT,      /* A flow key with a mask. */
    PARSE_ATTR,    /* The argument of OVS_ACTION_ATTR_LB_PARSE, */
    CALENDAR_ATTR, /* of OVS_ACTION_ATTR_LB_CALENDAR, */
    FORWARD_ATTR,  /* of OVS_ACTION_ATTR_LB_FORWARD. */
    KEY_ATTR,      /* Key and mask of OVS_KEY_ATTR_LB, half of it each. */
    SET_ATTR,      /* Actions that set it. */
    N_MODES
};

int LLVMFuzzerInitialize(int *, char ***);
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define CHECK(CONDITION)    \
    do {                    \
        if (!(CONDITION)) { \
            abort();        \
        }                   \
    } while (0)

/* Returns an attribute of 'type' with the 'size' bytes at 'data', alone in a
 * heap buffer, which the caller must free. */
static struct nlattr *
make_attr(uint16_t type, const void *data, size_t size)
{
    struct nlattr *a = xmalloc(NLA_HDRLEN + size);

    a->nla_type = type;
    a->nla_len = (uint16_t) (NLA_HDRLEN + size);
    memcpy(a + 1, data, size);
    return a;
}

static char *
actions_to_string(const void *actions, size_t size)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    format_odp_actions(&ds, actions, size, NULL);
    return ds_steal_cstr(&ds);
}

/* Runs the 'size' bytes of 'actions', which are valid, on a packet that is
 * none of ours. */
static void
run_actions(const void *actions, size_t size)
{
    struct dp_packet_batch batch;
    struct dp_packet *packet = dp_packet_new(64);

    dp_packet_put_zeros(packet, 64);
    dp_packet_reset_packet(packet, 0);
    pkt_metadata_init(&packet->md, u32_to_odp(1));
    dp_packet_batch_init_packet(&batch, packet);
    odp_execute_actions(NULL, &batch, true, actions, size, NULL);
}

/* Checks that 'text', what was written for an attribute, is read as the
 * attribute for which the same is written. */
static void
check_action_text(const char *text)
{
    struct ofpbuf actions;
    char *again;

    ofpbuf_init(&actions, 0);
    CHECK(odp_lb_action_parse(text, &actions) == (int) strlen(text));
    again = actions_to_string(actions.data, actions.size);
    CHECK(!strcmp(text, again));
    free(again);
    ofpbuf_uninit(&actions);
}

static void
action_text(const char *text)
{
    struct ofpbuf actions;
    char *written;
    int n;

    ofpbuf_init(&actions, 0);
    n = odp_lb_action_parse(text, &actions);
    CHECK(n <= (int) strlen(text));
    if (n > 0) {
        written = actions_to_string(actions.data, actions.size);
        check_action_text(written);
        run_actions(actions.data, actions.size);
        free(written);
    } else {
        CHECK(!actions.size);
    }
    ofpbuf_uninit(&actions);

    /* And as part of what Open vSwitch reads itself. */
    ofpbuf_init(&actions, 0);
    if (!odp_actions_from_string(text, NULL, &actions)) {
        free(actions_to_string(actions.data, actions.size));
    }
    ofpbuf_uninit(&actions);
}

static void
key_text(const char *text)
{
    struct ofpbuf key, mask;
    struct flow_wildcards wc;
    struct flow flow;
    struct ds ds = DS_EMPTY_INITIALIZER;
    char *error = NULL;

    ofpbuf_init(&key, 0);
    ofpbuf_init(&mask, 0);
    if (!odp_flow_from_string(text, NULL, &key, &mask, &error)) {
        free(error);
        error = NULL;
        odp_flow_format(key.data, key.size, mask.data, mask.size, NULL, &ds,
                        true);
        odp_flow_key_to_flow(key.data, key.size, &flow, &error);
        free(error);
        error = NULL;
        odp_flow_key_to_mask(mask.data, mask.size, &wc, &flow, &error);
    }
    free(error);
    ds_destroy(&ds);
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
}

/* Writes action attribute 'type' with the 'size' bytes at 'data', and reads
 * and runs it if it is valid. */
static void
action_attr(uint16_t type, const void *data, size_t size)
{
    struct nlattr *a = make_attr(type, data, size);
    char *text = actions_to_string(a, a->nla_len);
    bool valid = !strstr(text, "bad length") && !strstr(text, "invalid");

    if (type == OVS_ACTION_ATTR_LB_PARSE) {
        CHECK(valid == !size);
    } else if (type == OVS_ACTION_ATTR_LB_CALENDAR) {
        CHECK(valid == lb_calendar_is_valid(nl_attr_get(a), size));
    } else {
        CHECK(valid == (size == sizeof(struct ovs_action_lb_forward)));
        if (valid) {
            /* Only some bytes are an lb_forward that could have been set. */
            const struct ovs_action_lb_forward *f = nl_attr_get(a);
            bool v4 = IN6_IS_ADDR_V4MAPPED(&f->ip_src);

            valid = (f->bits <= 16 && v4 == IN6_IS_ADDR_V4MAPPED(&f->ip_dst));
        }
    }
    if (valid) {
        check_action_text(text);
        run_actions(a, a->nla_len);
    }
    free(text);
    free(a);
}

/* A key in the first half of the 'size' bytes at 'data', its mask in the
 * other. */
static void
key_attr(const uint8_t *data, size_t size)
{
    struct nlattr *key = make_attr(OVS_KEY_ATTR_LB, data, size / 2);
    struct nlattr *mask =
        make_attr(OVS_KEY_ATTR_LB, data + size / 2, size - size / 2);
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct ofpbuf again, again_mask;
    struct dp_packet packet;
    struct flow flow;
    char *error = NULL;

    odp_flow_format(key, key->nla_len, mask, mask->nla_len, NULL, &ds, false);
    if (size == 2 * sizeof(struct ovs_key_lb) && ds.length) {
        struct ds second = DS_EMPTY_INITIALIZER;

        ofpbuf_init(&again, 0);
        ofpbuf_init(&again_mask, 0);
        CHECK(!odp_flow_from_string(ds_cstr(&ds), NULL, &again, &again_mask,
                                    &error));
        odp_flow_format(again.data, again.size, again_mask.data,
                        again_mask.size, NULL, &second, false);
        CHECK(!strcmp(ds_cstr(&ds), ds_cstr(&second)));
        ds_destroy(&second);
        ofpbuf_uninit(&again);
        ofpbuf_uninit(&again_mask);
    }
    ds_destroy(&ds);

    odp_flow_key_to_flow(key, key->nla_len, &flow, &error);
    free(error);
    dp_packet_init(&packet, 0);
    pkt_metadata_init(&packet.md, u32_to_odp(1));
    odp_key_to_dp_packet(key, key->nla_len, &packet);
    CHECK(!packet.md.lb_valid || size / 2 == sizeof(struct ovs_key_lb));
    dp_packet_uninit(&packet);
    free(mask);
    free(key);
}

/* An action that sets the key, which has the size that it must. */
static void
set_attr(const uint8_t *data, size_t size)
{
    size_t n = sizeof(struct ovs_key_lb);
    struct ofpbuf actions;
    size_t offset;

    if (size < 2 * n) {
        return;
    }
    ofpbuf_init(&actions, 0);
    offset = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_SET);
    nl_msg_put_unspec(&actions, OVS_KEY_ATTR_LB, data, n);
    nl_msg_end_nested(&actions, offset);
    offset = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_SET_MASKED);
    nl_msg_put_unspec(&actions, OVS_KEY_ATTR_LB, data, 2 * n);
    nl_msg_end_nested(&actions, offset);
    free(actions_to_string(actions.data, actions.size));
    run_actions(actions.data, actions.size);
    ofpbuf_uninit(&actions);
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    odp_execute_init();
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (!size || size > 4096) {
        return 0;
    }
    text = xmemdup0((const char *) data + 1, size - 1);
    switch ((enum mode)(data[0] % N_MODES)) {
    case ACTION_TEXT:
        action_text(text);
        break;
    case KEY_TEXT:
        key_text(text);
        break;
    case PARSE_ATTR:
        action_attr(OVS_ACTION_ATTR_LB_PARSE, data + 1, size - 1);
        break;
    case CALENDAR_ATTR:
        action_attr(OVS_ACTION_ATTR_LB_CALENDAR, data + 1, size - 1);
        break;
    case FORWARD_ATTR:
        action_attr(OVS_ACTION_ATTR_LB_FORWARD, data + 1, size - 1);
        break;
    case KEY_ATTR:
        key_attr(data + 1, size - 1);
        break;
    case SET_ATTR:
        set_attr(data + 1, size - 1);
        break;
    case N_MODES:
        break;
    }
    free(text);
    return 0;
}
