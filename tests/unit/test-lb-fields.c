/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the lb_* match fields: as text, in OpenFlow matches, and in struct
 * flow and struct match. */

#include <config.h>
#include "meta-flow-lb.h"

#include "byte-order.h"
#include "flow.h"
#include "lb-flow.h"
#include "nx-match.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "tests/unit/unit.h"
#include "util.h"

static const enum mf_field_id fields[] = {
    MFF_LB_STATUS, MFF_LB_VERSION,     MFF_LB_MEMBER,
    MFF_LB_TICK,   MFF_LB_SLOT_SELECT, MFF_LB_PORT_SELECT,
};

/* What each field must be. */
static const struct {
    const char *name;
    unsigned int n_bytes;
    bool writable;
    uint8_t oxm_field;
} expected[] = {
    { "lb_status", 1, false, 1 },      { "lb_version", 1, false, 2 },
    { "lb_member", 2, true, 3 },       { "lb_tick", 8, false, 4 },
    { "lb_slot_select", 2, false, 5 }, { "lb_port_select", 2, false, 6 },
};

static void
properties(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const struct mf_field *mf = mf_from_id(fields[i]);

        assert_string_equal(mf->name, expected[i].name);
        assert_ptr_equal(mf_from_name(mf->name), mf);
        assert_int_equal(mf->n_bytes, expected[i].n_bytes);
        assert_int_equal(mf->n_bits, expected[i].n_bytes * 8);
        assert_int_equal(mf->writable, expected[i].writable);
        assert_int_equal(mf->maskable, MFM_FULLY);
    }
}

/* A field's value in the member of struct flow that has its name. */
static uint64_t
member_value(enum mf_field_id id, const struct flow *flow)
{
    return (id == MFF_LB_STATUS        ? flow->lb_status
            : id == MFF_LB_VERSION     ? flow->lb_version
            : id == MFF_LB_MEMBER      ? ntohs(flow->lb_member)
            : id == MFF_LB_SLOT_SELECT ? ntohs(flow->lb_slot_select)
            : id == MFF_LB_PORT_SELECT ? ntohs(flow->lb_port_select)
                                       : ntohll(flow->lb_tick));
}

static union mf_value
to_value(const struct mf_field *mf, uint64_t number)
{
    union mf_value value;

    memset(&value, 0, sizeof value);
    for (unsigned int i = 0; i < mf->n_bytes; i++) {
        value.b[i] = (uint8_t) (number >> 8 * (mf->n_bytes - 1 - i));
    }
    return value;
}

static uint64_t
field_limit(const struct mf_field *mf)
{
    return UINT64_MAX >> (64 - mf->n_bits);
}

/* Setting, getting and clearing one field changes it and no other. */
static void
one_field(void **state)
{
    uint64_t seed = 61;

    (void) state;
    for (int i = 0; i < 3000; i++) {
        const struct mf_field *mf = mf_from_id(fields[i % 6]);
        uint64_t number = unit_random(&seed) & field_limit(mf);
        uint64_t mask_number = unit_random(&seed) & field_limit(mf);
        union mf_value value = to_value(mf, number);
        union mf_value mask = to_value(mf, mask_number);
        union mf_value got, got_mask;
        struct match match = MATCH_CATCHALL_INITIALIZER;
        struct match empty = match;
        struct flow flow;

        memset(&flow, 0, sizeof flow);
        mf_set_flow_value(mf, &value, &flow);
        assert_true(member_value(mf->id, &flow) == number);
        mf_get_value(mf, &flow, &got);
        assert_memory_equal(&got, &value, mf->n_bytes);
        mf_set_flow_value(mf, &(union mf_value){ .be64 = 0 }, &flow);
        assert_true(flow_lb_is_zero(&flow));

        assert_true(mf_is_all_wild(mf, &match.wc));
        mf_set(mf, &value, &mask, &match, NULL);
        assert_int_equal(mf_is_all_wild(mf, &match.wc), !mask_number);
        mf_get(mf, &match, &got, &got_mask);
        assert_memory_equal(&got_mask, &mask, mf->n_bytes);
        assert_true(member_value(mf->id, &match.flow)
                    == (number & mask_number));
        assert_true(member_value(mf->id, &match.wc.masks) == mask_number);

        mf_set_wild(mf, &match, NULL);
        assert_memory_equal(&match.flow, &empty.flow, sizeof match.flow);
        assert_memory_equal(&match.wc, &empty.wc, sizeof match.wc);

        mf_set_value(mf, &value, &match, NULL);
        assert_true(member_value(mf->id, &match.flow) == number);
        assert_true(member_value(mf->id, &match.wc.masks) == field_limit(mf));
        mf_set_wild(mf, &match, NULL);
        assert_memory_equal(&match.wc, &empty.wc, sizeof match.wc);
    }
}

/* Appends to 'match' any condition on the lb_* fields. */
static void
randomize_match(struct match *match, uint64_t *seed)
{
    match_init_catchall(match);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const struct mf_field *mf = mf_from_id(fields[i]);
        union mf_value value = to_value(mf, unit_random(seed));
        union mf_value mask = to_value(mf, unit_random(seed));

        switch (unit_random_below(seed, 4)) {
        case 0:
            mf_set(mf, &value, &mask, match, NULL);
            break;
        case 1:
            mf_set_value(mf, &value, match, NULL);
            break;
        case 2: /* A prefix. */
            mask = to_value(mf, field_limit(mf)
                                    << unit_random_below(seed, mf->n_bits));
            mf_set(mf, &value, &mask, match, NULL);
            break;
        default:
            break;
        }
    }
}

/* A match as text is read as the same match. */
static void
text_round_trip(void **state)
{
    uint64_t seed = 62;

    (void) state;
    for (int i = 0; i < 3000; i++) {
        struct match match, again;
        struct ofputil_flow_mod fm;
        enum ofputil_protocol usable;
        char *match_text, *text;

        randomize_match(&match, &seed);
        match_text = match_to_string(&match, NULL, OFP_DEFAULT_PRIORITY);
        text = xasprintf("%s actions=drop", match_text);
        unit_assert_error(
            parse_ofp_str(&fm, OFPFC_ADD, text, NULL, NULL, &usable), NULL);
        minimatch_expand(&fm.match, &again);
        assert_true(match_equal(&again, &match));
        minimatch_destroy(&fm.match);
        free(CONST_CAST(struct ofpact *, fm.ofpacts));
        free(text);
        free(match_text);
    }
}

/* What stands in a flow dump, and what may be written by hand. */
static void
text_examples(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        { "lb_status=0", "lb_status=0" },
        { "lb_status=8,lb_version=3", "lb_status=8,lb_version=3" },
        { "lb_member=65535", "lb_member=65535" },
        { "lb_member=0x10/0xf0", "lb_member=16/0xf0" },
        { "lb_tick=0x100/0xffffffffffffff00",
          "lb_tick=0x100/0xffffffffffffff00" },
        { "lb_tick=0x1ff/0xffffffffffffff00",
          "lb_tick=0x100/0xffffffffffffff00" },
        { "lb_tick=18446744073709551615", "lb_tick=0xffffffffffffffff" },
        { "lb_tick=0", "lb_tick=0" },
        { "lb_slot_select=489,lb_port_select=7",
          "lb_slot_select=0x1e9,lb_port_select=0x7" },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ofputil_flow_mod fm;
        enum ofputil_protocol usable;
        struct match match;
        char *text = xasprintf("%s,actions=drop", cases[i].in);
        char *again;

        unit_assert_error(
            parse_ofp_str(&fm, OFPFC_ADD, text, NULL, NULL, &usable), NULL);
        assert_true(usable & OFPUTIL_P_OF13_OXM);
        assert_true(usable & OFPUTIL_P_OF15_OXM);
        minimatch_expand(&fm.match, &match);
        again = match_to_string(&match, NULL, OFP_DEFAULT_PRIORITY);
        assert_string_equal(again, cases[i].out);
        free(again);
        minimatch_destroy(&fm.match);
        free(CONST_CAST(struct ofpact *, fm.ofpacts));
        free(text);
    }
}

static void
refused_text(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        { "lb_status=256,actions=drop", "lb_status" },
        { "lb_version=-1,actions=drop", "lb_version" },
        { "lb_member=65536,actions=drop", "lb_member" },
        { "lb_member=1/0x10000,actions=drop", "lb_member" },
        { "lb_tick=18446744073709551616,actions=drop", "lb_tick" },
        { "lb_tick=x,actions=drop", "lb_tick" },
        { "lb_event=1,actions=drop", "lb_event" },
        { "actions=set_field:1->lb_tick", "lb_tick is read-only" },
        { "actions=set_field:1->lb_status", "lb_status is read-only" },
        { "actions=set_field:1->lb_version", "read-only" },
        { "actions=set_field:1->lb_slot_select", "read-only" },
        { "actions=set_field:65536->lb_member", "lb_member" },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ofputil_flow_mod fm;
        enum ofputil_protocol usable;

        unit_assert_error(
            parse_ofp_str(&fm, OFPFC_ADD, cases[i].text, NULL, NULL, &usable),
            cases[i].error);
    }
}

/* Only lb_member can be written to, whatever action tries it. */
static void
read_only(void **state)
{
    static const enum ofp_version versions[] = { OFP10_VERSION, OFP13_VERSION,
                                                 OFP15_VERSION };
    static const char *const actions[] = { "load:1->%s[]", "pop:%s[]",
                                           "move:reg0[0..7]->%s[0..7]" };

    (void) state;
    for (size_t i = 0; i < 6 * ARRAY_SIZE(actions) * 3; i++) {
        const struct mf_field *mf = mf_from_id(fields[i % 6]);
        enum ofp_version version = versions[i / 6 % 3];
        char *text = xasprintf(actions[i / 18], mf->name);
        enum ofputil_protocol usable;
        struct ofpbuf ofpacts, openflow, decoded;
        struct ofpact_parse_params pp = {
            .ofpacts = &ofpacts,
            .usable_protocols = &usable,
        };
        struct match match = MATCH_CATCHALL_INITIALIZER;
        struct ofpact_check_params cp = { .match = &match };
        uint64_t tlv_bitmap = 0;
        enum ofperr error;

        ofpbuf_init(&ofpacts, 0);
        ofpbuf_init(&openflow, 0);
        ofpbuf_init(&decoded, 0);
        unit_assert_error(ofpacts_parse_actions(text, &pp), NULL);
        ofpacts_put_openflow_actions(ofpacts.data, ofpacts.size, &openflow,
                                     version);
        error = ofpacts_pull_openflow_actions(
            &openflow, openflow.size, version, NULL, &tlv_bitmap, &decoded);
        error =
            (error ? error : ofpacts_check(decoded.data, decoded.size, &cp));
        if ((error == 0) != mf->writable) {
            fail_msg("%s in version %d: %s", text, version,
                     error ? ofperr_to_string(error) : "taken");
        }
        ofpbuf_uninit(&decoded);
        ofpbuf_uninit(&openflow);
        ofpbuf_uninit(&ofpacts);
        free(text);
    }
}

/* Encodes 'match' as a flow-mod of 'protocol' and decodes it again. */
static void
over_the_wire(const struct match *match, enum ofputil_protocol protocol,
              struct match *again)
{
    struct ofputil_flow_mod fm = {
        .priority = 100,
        .table_id = 32,
        .command = OFPFC_ADD,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };
    struct ofputil_flow_mod decoded;
    struct ofpbuf *msg;
    struct ofpbuf ofpacts;

    minimatch_init(&fm.match, match);
    msg = ofputil_encode_flow_mod(&fm, protocol);
    minimatch_destroy(&fm.match);
    ofpbuf_init(&ofpacts, 0);
    assert_int_equal(ofputil_decode_flow_mod(&decoded, msg->data, protocol,
                                             NULL, NULL, &ofpacts,
                                             u16_to_ofp(100), 254),
                     0);
    minimatch_expand(&decoded.match, again);
    minimatch_destroy(&decoded.match);
    ofpbuf_uninit(&ofpacts);
    ofpbuf_delete(msg);
}

/* Each protocol that can carry extensible matches carries ours. */
static void
wire_round_trip(void **state)
{
    static const enum ofputil_protocol protocols[] = {
        OFPUTIL_P_OF10_NXM_TID, OFPUTIL_P_OF12_OXM, OFPUTIL_P_OF13_OXM,
        OFPUTIL_P_OF14_OXM,     OFPUTIL_P_OF15_OXM,
    };
    uint64_t seed = 63;

    (void) state;
    for (int i = 0; i < 5000; i++) {
        struct match match, again;

        randomize_match(&match, &seed);
        match_set_default_packet_type(&match);
        over_the_wire(&match, protocols[i % ARRAY_SIZE(protocols)], &again);
        assert_true(match_equal(&match, &again));
    }
}

/* The OXM headers, written down. */
static void
oxm_bytes(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const struct mf_field *mf = mf_from_id(fields[i]);
        union mf_value value = to_value(mf, UINT64_C(0x1122334455667788));
        uint8_t want[16] = {
            0xff,
            0xff,
            (uint8_t) (expected[i].oxm_field << 1),
            (uint8_t) (4 + mf->n_bytes),
            0x00,
            0x06,
            0x4c,
            0x42,
        };
        struct match match = MATCH_CATCHALL_INITIALIZER;
        struct ofpbuf b;

        memcpy(want + 8, &value, mf->n_bytes);
        mf_set_value(mf, &value, &match, NULL);
        ofpbuf_init(&b, 0);
        oxm_put_raw(&b, &match, OFP15_VERSION);
        assert_int_equal(b.size, 8 + mf->n_bytes);
        assert_memory_equal(b.data, want, b.size);
        ofpbuf_uninit(&b);
    }
}

/* Matches with wrong lengths or values under a 0 of the mask are refused; each
 * is in a heap buffer of its size. */
static void
hostile_oxm(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const struct mf_field *mf = mf_from_id(fields[i]);

        for (uint8_t has_mask = 0; has_mask < 2; has_mask++) {
            for (uint8_t len = 0; len <= 24; len++) {
                size_t size = 4u + len;
                uint8_t *oxm = xzalloc(size < 8 ? 8 : size);
                struct match match;
                enum ofperr error;
                bool right;

                oxm[0] = oxm[1] = 0xff;
                oxm[2] = (uint8_t) (expected[i].oxm_field << 1 | has_mask);
                oxm[3] = len;
                oxm[5] = 0x06;
                oxm[6] = 0x4c;
                oxm[7] = 0x42;
                /* Open vSwitch takes an odd length as the even one below. */
                right =
                    (len >= 4 && (len - 4u) / (has_mask + 1u) == mf->n_bytes);
                error = oxm_decode_match(oxm, size, false, NULL, NULL, &match);
                assert_int_equal(!error, right);
                if (right && has_mask) {
                    oxm[8] = 0x80;
                    assert_int_equal(
                        oxm_decode_match(oxm, size, false, NULL, NULL, &match),
                        OFPERR_OFPBMC_BAD_WILDCARDS);
                }
                free(oxm);
            }
        }
    }
}

/* A packet-in reports the fields that the packet has. */
static void
metadata(void **state)
{
    struct match match;
    struct flow flow;

    (void) state;
    memset(&flow, 0, sizeof flow);
    flow.lb_tick = htonll(77);
    flow.lb_version = 2;
    flow_get_metadata(&flow, &match);
    assert_true(match.wc.masks.lb_tick == OVS_BE64_MAX);
    assert_true(match.flow.lb_tick == htonll(77));
    assert_int_equal(match.wc.masks.lb_version, 0xff);
    assert_int_equal(match.wc.masks.lb_status, 0);
    assert_int_equal(match.wc.masks.lb_member, 0);
    assert_int_equal(match.wc.masks.lb_slot_select, 0);
}

/* Between struct flow and the key of the datapath, aligned or not. */
static void
keys(void **state)
{
    uint8_t buffer[sizeof(struct ovs_key_lb) + 1];
    struct ovs_key_lb key = {
        .tick = htonll(1),
        .slot_select = htons(2),
        .port_select = htons(3),
        .member = htons(4),
        .status = 5,
        .version = 6,
    };
    struct flow flow;

    (void) state;
    memset(&flow, 0xee, sizeof flow);
    memcpy(buffer + 1, &key, sizeof key);
    lb_key_to_flow(buffer + 1, &flow);
    assert_true(flow.lb_tick == htonll(1));
    assert_int_equal(ntohs(flow.lb_slot_select), 2);
    assert_int_equal(ntohs(flow.lb_port_select), 3);
    assert_int_equal(ntohs(flow.lb_member), 4);
    assert_int_equal(flow.lb_status, 5);
    assert_int_equal(flow.lb_version, 6);
    memset(buffer, 0, sizeof buffer);
    lb_key_from_flow(&flow, buffer + 1);
    assert_memory_equal(buffer + 1, &key, sizeof key);
}

static void
miniflows(void **state)
{
    (void) state;
    for (size_t i = 0; i <= ARRAY_SIZE(fields); i++) {
        struct miniflow *mf;
        struct flow flow;

        memset(&flow, 0, sizeof flow);
        flow.dl_type = htons(0x0800);
        if (i < ARRAY_SIZE(fields)) {
            union mf_value one = to_value(mf_from_id(fields[i]), 1);

            mf_set_flow_value(mf_from_id(fields[i]), &one, &flow);
        }
        mf = miniflow_create(&flow);
        assert_int_equal(miniflow_lb_is_zero(mf), i == ARRAY_SIZE(fields));
        assert_int_equal(flow_lb_is_zero(&flow), i == ARRAY_SIZE(fields));
        free(mf);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties),
        cmocka_unit_test(one_field),
        cmocka_unit_test(text_round_trip),
        cmocka_unit_test(text_examples),
        cmocka_unit_test(read_only),
        cmocka_unit_test(refused_text),
        cmocka_unit_test(wire_round_trip),
        cmocka_unit_test(oxm_bytes),
        cmocka_unit_test(hostile_oxm),
        cmocka_unit_test(metadata),
        cmocka_unit_test(keys),
        cmocka_unit_test(miniflows),
    };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
