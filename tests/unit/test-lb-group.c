/* SPDX-License-Identifier: Apache-2.0 */

/* Checks lb_calendar groups: what a group may be, as text and in OpenFlow
 * messages, and that what is refused is refused with the right error and
 * leaves nothing behind. */

#include <config.h>
#include "ofp-lb.h"

#include "byte-order.h"
#include "flow.h"
#include "lb-calendar.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "tests/unit/unit.h"
#include "util.h"

#define METHOD                                             \
    "group_id=1,type=select,selection_method=lb_calendar," \
    "selection_method_param="
#define BUCKET(ID, ACTIONS) ",bucket=bucket_id:" #ID ",actions=" ACTIONS
#define SLOT(ID, MEMBER) BUCKET(ID, "set_field:" #MEMBER "->lb_member")

/* Parses 'text' as a group to add.  Returns an error message or NULL; then the
 * caller must uninitialize '*gm'. */
static char *
parse(const char *text, struct ofputil_group_mod *gm)
{
    enum ofputil_protocol usable = OFPUTIL_P_ANY;

    return parse_ofp_group_mod_str(gm, OFPGC15_ADD, text, NULL, NULL, &usable);
}

static void
must_parse(const char *text, struct ofputil_group_mod *gm)
{
    unit_assert_error(parse(text, gm), NULL);
}

static char *
to_string(const struct ofputil_group_mod *gm)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ofputil_group_mod_format__(&ds, OFP15_VERSION, gm, NULL, NULL);
    return ds_steal_cstr(&ds);
}

/* Encodes 'gm' for OpenFlow 1.5 and decodes it again into '*again'. */
static enum ofperr
over_the_wire(const struct ofputil_group_mod *gm,
              struct ofputil_group_mod *again)
{
    struct ofpbuf *msg = ofputil_encode_group_mod(OFP15_VERSION, gm, NULL, -1);
    enum ofperr error = ofputil_decode_group_mod(msg->data, again);

    ofpbuf_delete(msg);
    return error;
}

/* Decodes the message at 'oh' as the switch does: its header first. */
static enum ofperr
decode(const struct ofp_header *oh, struct ofputil_group_mod *gm)
{
    enum ofptype type;
    enum ofperr error = ofptype_decode(&type, oh);

    if (error) {
        return error;
    }
    return (type == OFPTYPE_GROUP_MOD ? ofputil_decode_group_mod(oh, gm)
                                      : OFPERR_OFPBRC_BAD_TYPE);
}

static void
valid(void **state)
{
    static const char *const texts[] = {
        METHOD "0x8090000" SLOT(0, 1) SLOT(511, 65535),
        METHOD "0x8000000" SLOT(0, 0),
        METHOD "0xfe09ffff" SLOT(5, 5) SLOT(4, 5) SLOT(3, 5),
        METHOD "0x8090000",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct ofputil_group_mod gm, again;
        char *first, *second;

        must_parse(texts[i], &gm);
        assert_true(ofp_lb_is_calendar(&gm.props));
        assert_int_equal(over_the_wire(&gm, &again), 0);
        first = to_string(&gm);
        second = to_string(&again);
        assert_string_equal(first, second);
        assert_non_null(strstr(first, "selection_method=lb_calendar"));
        free(second);
        free(first);
        ofputil_uninit_group_mod(&again);
        ofputil_uninit_group_mod(&gm);
    }
}

/* The map that comes of the buckets. */
static void
members(void **state)
{
    uint32_t map[LB_CALENDAR_MAX_SLOTS];
    struct ofputil_group_mod gm;
    char *error;

    (void) state;
    memset(map, 0, sizeof map);
    must_parse(METHOD "0x8030000" SLOT(7, 70) SLOT(0, 65535) SLOT(3, 0), &gm);
    assert_int_equal(
        ofp_lb_calendar_check(&gm.buckets, &gm.props, map, &error), 0);
    assert_null(error);
    for (uint32_t i = 0; i < LB_CALENDAR_MAX_SLOTS; i++) {
        assert_int_equal(map[i], i == 7   ? 70
                                 : i == 0 ? 65535
                                 : i == 3 ? 0
                                          : LB_CALENDAR_NONE);
    }
    assert_int_equal(
        ofp_lb_calendar_check(&gm.buckets, &gm.props, NULL, &error), 0);
    assert_null(error);
    ofputil_uninit_group_mod(&gm);
}

/* 512 buckets fit one message, and come out as they went in. */
static void
largest(void **state)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    uint32_t map[LB_CALENDAR_MAX_SLOTS];
    struct ofputil_group_mod gm, again;
    char *error;

    (void) state;
    ds_put_cstr(&text, METHOD "0x8091234");
    for (int i = 0; i < 512; i++) {
        ds_put_format(&text,
                      ",bucket=bucket_id:%d,actions=set_field:%d->lb_member",
                      i, 65535 - i);
    }
    must_parse(ds_cstr(&text), &gm);
    assert_int_equal(over_the_wire(&gm, &again), 0);
    assert_int_equal(
        ofp_lb_calendar_check(&again.buckets, &again.props, map, &error), 0);
    for (uint32_t i = 0; i < 512; i++) {
        assert_int_equal(map[i], 65535 - i);
    }
    assert_int_equal(again.props.selection_method_param, 0x8091234);
    ofputil_uninit_group_mod(&again);
    ofputil_uninit_group_mod(&gm);
    ds_destroy(&text);
}

/* What ovs-ofctl refuses, with words that name the mistake. */
static void
refused_text(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        { METHOD "0x80a0000" SLOT(0, 1), "0x80a0000" },
        { METHOD "0xff090000" SLOT(0, 1), "0xff090000" },
        { METHOD "0x108090000" SLOT(0, 1), "0x108090000" },
        { METHOD "0x8090000" SLOT(512, 1), "512" },
        { METHOD "0x8000000" SLOT(1, 1), "no slot" },
        { METHOD "0x8090000" BUCKET(3, "output:1"), "bucket 3" },
        { METHOD "0x8090000" BUCKET(3, "drop"), "bucket 3" },
        { METHOD "0x8090000" BUCKET(3, "set_field:1->lb_member,output:1"),
          "nothing else" },
        { METHOD "0x8090000" BUCKET(3, "output:1,set_field:1->lb_member"),
          "nothing else" },
        { METHOD "0x8090000" BUCKET(3, "set_field:1->reg0"), "nothing else" },
        { METHOD "0x8090000" BUCKET(3, "set_field:1/0xff->lb_member"),
          "nothing else" },
        { METHOD "0x8090000,bucket=bucket_id:0,watch_port=1,"
                 "actions=set_field:1->lb_member",
          "bucket 0" },
        { METHOD "0x8090000,bucket=bucket_id:0,watch_group=1,"
                 "actions=set_field:1->lb_member",
          "bucket 0" },
        { "group_id=1,type=all,selection_method=lb_calendar,"
          "selection_method_param=0x8090000" SLOT(0, 1),
          "select" },
        { "group_id=1,type=indirect,selection_method=lb_calendar,"
          "selection_method_param=0x8090000" SLOT(0, 1),
          "select" },
        { "group_id=1,type=all,bucket=actions=lb_parse(table=4)",
          "cannot be in a bucket" },
        { "group_id=1,type=select,bucket=actions=output:1,"
          "bucket=actions=lb_parse(table=4,epoch_table=5)",
          "cannot be in a bucket" },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ofputil_group_mod gm;

        unit_assert_error(parse(cases[i].text, &gm), cases[i].error);
    }
}

/* Messages that no ovs-ofctl sends. */

/* Changes a right group, before it is encoded. */
struct change {
    uint64_t param;
    const char *bucket; /* Actions of one more bucket. */
    uint32_t bucket_id;
    ofp_port_t watch_port;
    enum ofperr error;
    uint8_t type;
};

static void
add_bucket(struct ofputil_group_mod *gm, const struct change *change)
{
    enum ofputil_protocol usable = OFPUTIL_P_ANY;
    struct ofputil_bucket *bucket = xzalloc(sizeof *bucket);
    struct ofpbuf ofpacts;
    struct ofpact_parse_params pp = {
        .ofpacts = &ofpacts,
        .usable_protocols = &usable,
    };

    ofpbuf_init(&ofpacts, 0);
    unit_assert_error(ofpacts_parse_actions(change->bucket, &pp), NULL);
    bucket->watch_port = change->watch_port ? change->watch_port : OFPP_ANY;
    bucket->watch_group = OFPG_ANY;
    bucket->bucket_id = change->bucket_id;
    bucket->ofpacts_len = ofpacts.size;
    bucket->ofpacts = ofpbuf_steal_data(&ofpacts);
    ovs_list_push_back(&gm->buckets, &bucket->list_node);
}

static void
refused_messages(void **state)
{
#define FORWARD                                                       \
    "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50," \
    "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=19524,bits=4)"
    static const struct change changes[] = {
        { 0x108090000, NULL, 0, 0, OFPERR_OFPGMFC_INVALID_GROUP,
          OFPGT11_SELECT },
        { 0xff090000, NULL, 0, 0, OFPERR_OFPGMFC_INVALID_GROUP,
          OFPGT11_SELECT },
        { 0x080a0000, NULL, 0, 0, OFPERR_OFPGMFC_INVALID_GROUP,
          OFPGT11_SELECT },
        { UINT64_MAX, NULL, 0, 0, OFPERR_OFPGMFC_INVALID_GROUP,
          OFPGT11_SELECT },
        { 0x08090000, NULL, 0, 0, OFPERR_OFPBPC_BAD_VALUE, OFPGT11_ALL },
        { 0x08090000, "set_field:1->lb_member", 512, 0,
          OFPERR_OFPGMFC_BAD_BUCKET, OFPGT11_SELECT },
        { 0x08090000, "set_field:1->lb_member", 0xffffff00, 0,
          OFPERR_OFPGMFC_BAD_BUCKET, OFPGT11_SELECT },
        { 0x08090000, "set_field:1->lb_member", 0, 0,
          OFPERR_OFPGMFC_BAD_BUCKET, OFPGT11_SELECT },
        { 0x08090000, "set_field:1->lb_member", 7, 5,
          OFPERR_OFPGMFC_BAD_BUCKET, OFPGT11_SELECT },
        { 0x08090000, "", 7, 0, OFPERR_OFPGMFC_BAD_BUCKET, OFPGT11_SELECT },
        { 0x08090000, "group:3", 7, 0, OFPERR_OFPGMFC_BAD_BUCKET,
          OFPGT11_SELECT },
        { 0x08090000, "set_field:1->lb_member,set_field:2->lb_member", 7, 0,
          OFPERR_OFPGMFC_BAD_BUCKET, OFPGT11_SELECT },
        { 0x08090000, "set_field:1->metadata", 7, 0, OFPERR_OFPGMFC_BAD_BUCKET,
          OFPGT11_SELECT },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        struct ofputil_group_mod gm, again;
        enum ofperr error;

        must_parse(METHOD "0x8090000" SLOT(0, 1), &gm);
        gm.type = changes[i].type;
        gm.props.selection_method_param = changes[i].param;
        if (changes[i].bucket) {
            add_bucket(&gm, &changes[i]);
        }
        error = over_the_wire(&gm, &again);
        if (error != changes[i].error) {
            fail_msg("case %zu: %s, not %s", i,
                     error ? ofperr_to_string(error) : "ok",
                     ofperr_to_string(changes[i].error));
        }
        ofputil_uninit_group_mod(&gm);
    }
}

/* A bucket of another group cannot hold our actions either. */
static void
actions_in_buckets(void **state)
{
    static const char *const actions[] = { "lb_parse(table=4)", FORWARD };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        for (uint8_t type = 0; type < 4; type++) {
            struct change change = {
                .bucket = actions[i],
                .bucket_id = 9,
                .watch_port = type == OFPGT11_FF ? u16_to_ofp(1) : 0,
            };
            struct ofputil_group_mod gm, again;

            must_parse("group_id=1,type=select", &gm);
            gm.type = type;
            add_bucket(&gm, &change);
            assert_int_not_equal(over_the_wire(&gm, &again), 0);
            ofputil_uninit_group_mod(&gm);
        }
    }
}

/* Each parameter: table, bits and xor, and nothing above. */
static void
params(void **state)
{
    uint64_t seed = 51;

    (void) state;
    for (int i = 0; i < 3000; i++) {
        uint64_t param = unit_random(&seed) >> unit_random_below(&seed, 64);
        bool right = (param >> 32 == 0 && (param >> 16 & 0xff) <= 9
                      && param >> 24 != 255);
        struct ofputil_group_mod gm;
        char *text = xasprintf(METHOD "%" PRIu64, param);
        char *error = parse(text, &gm);

        assert_int_equal(error == NULL, right);
        if (!error) {
            ofputil_uninit_group_mod(&gm);
        }
        free(error);
        free(text);
    }
}

/* Group properties exist in OpenFlow 1.5 only: ovs-ofctl must not offer an
 * earlier version for a calendar. */
static void
protocols(void **state)
{
    enum ofputil_protocol usable = OFPUTIL_P_ANY;
    struct ofputil_group_mod gm;

    (void) state;
    unit_assert_error(parse_ofp_group_mod_str(&gm, OFPGC15_ADD,
                                              METHOD "0x8090000" SLOT(0, 1),
                                              NULL, NULL, &usable),
                      NULL);
    assert_false(usable & OFPUTIL_P_OF13_UP & ~OFPUTIL_P_OF15_UP);
    assert_true(usable & OFPUTIL_P_OF15_OXM);
    ofputil_uninit_group_mod(&gm);
}

/* Every cut of a message, in a heap buffer of its size, gives an error. */
static void
cut_messages(void **state)
{
    struct ofputil_group_mod gm;
    struct ofpbuf *msg;

    (void) state;
    must_parse(METHOD "0x8090000" SLOT(0, 1) SLOT(9, 2), &gm);
    msg = ofputil_encode_group_mod(OFP15_VERSION, &gm, NULL, -1);
    ofputil_uninit_group_mod(&gm);
    for (size_t size = 24; size < msg->size; size++) {
        struct ofp_header *cut = xmemdup(msg->data, size);
        enum ofperr error;

        cut->length = htons((uint16_t) size);
        error = decode(cut, &gm);
        if (!error) {
            /* Only where whole properties are missing. */
            assert_false(ofp_lb_is_calendar(&gm.props));
            ofputil_uninit_group_mod(&gm);
        }
        free(cut);
    }
    ofpbuf_delete(msg);
}

/* Any change of a few bytes of a message is an error, or it is a group that is
 * encoded and decoded as itself. */
static void
mutated_messages(void **state)
{
    struct ofputil_group_mod gm, again;
    struct ofpbuf *msg;
    uint64_t seed = 52;
    int n_valid = 0;

    (void) state;
    must_parse(METHOD "0x8090000" SLOT(0, 1) SLOT(9, 2), &gm);
    msg = ofputil_encode_group_mod(OFP15_VERSION, &gm, NULL, -1);
    ofputil_uninit_group_mod(&gm);
    for (int i = 0; i < 20000; i++) {
        uint8_t *copy = xmemdup(msg->data, msg->size);

        for (int n = unit_random_below(&seed, 3); n >= 0; n--) {
            copy[8 + unit_random_below(&seed, msg->size - 8)] =
                (uint8_t) unit_random(&seed);
        }
        if (!decode((const void *) copy, &gm)) {
            char *first = to_string(&gm);
            char *second;

            assert_int_equal(over_the_wire(&gm, &again), 0);
            second = to_string(&again);
            assert_string_equal(first, second);
            free(second);
            free(first);
            ofputil_uninit_group_mod(&again);
            ofputil_uninit_group_mod(&gm);
            n_valid++;
        }
        free(copy);
    }
    ofpbuf_delete(msg);
    assert_in_range(n_valid, 100, 15000);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid),
        cmocka_unit_test(members),
        cmocka_unit_test(largest),
        cmocka_unit_test(refused_text),
        cmocka_unit_test(refused_messages),
        cmocka_unit_test(actions_in_buckets),
        cmocka_unit_test(params),
        cmocka_unit_test(protocols),
        cmocka_unit_test(cut_messages),
        cmocka_unit_test(mutated_messages),
    };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
