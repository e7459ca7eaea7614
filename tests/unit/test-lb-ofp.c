/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the OpenFlow actions lb_parse and lb_forward: as text, on the wire in
 * each version of OpenFlow, and what hostile encodings of them give. */

#include <config.h>
#include "ofp-lb.h"

#include <errno.h>

#include "byte-order.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "tests/unit/unit.h"
#include "util.h"

#define FORWARD_V4                                                    \
    "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50," \
    "ip_src=192.0.2.99,ip_dst=10.1.2.3,base=19524,bits=4)"
#define FORWARD_V6                                                    \
    "lb_forward(eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50," \
    "ip_src=2001:db8::99,ip_dst=fd00::3,base=65535,bits=16,keep)"

static const enum ofp_version versions[] = {
    OFP10_VERSION, OFP11_VERSION, OFP12_VERSION,
    OFP13_VERSION, OFP14_VERSION, OFP15_VERSION,
};

/* Text. */

/* Parses 'text' into 'ofpacts'.  Returns an error message or NULL. */
static char *
parse(const char *text, struct ofpbuf *ofpacts)
{
    enum ofputil_protocol usable = OFPUTIL_P_ANY;
    struct ofpact_parse_params pp = {
        .ofpacts = ofpacts,
        .usable_protocols = &usable,
    };

    ofpbuf_init(ofpacts, 0);
    return ofpacts_parse_actions(text, &pp);
}

static void
must_parse(const char *text, struct ofpbuf *ofpacts)
{
    unit_assert_error(parse(text, ofpacts), NULL);
}

static char *
to_string(const struct ofpbuf *ofpacts)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &ds };

    ofpacts_format(ofpacts->data, ofpacts->size, &fp);
    return ds_steal_cstr(&ds);
}

static void
text_round_trip(void **state)
{
    static const char *const texts[] = {
        "lb_parse(table=0)",
        "lb_parse(table=254)",
        "lb_parse(table=6,epoch_table=0)",
        "lb_parse(table=6,epoch_table=254)",
        FORWARD_V4,
        FORWARD_V6,
        FORWARD_V4 ",IN_PORT",
        "clone(" FORWARD_V6 ",output:2)",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct ofpbuf ofpacts;
        char *again;

        must_parse(texts[i], &ofpacts);
        again = to_string(&ofpacts);
        assert_string_equal(again, texts[i]);
        free(again);
        ofpbuf_uninit(&ofpacts);
    }
}

static void
parsed_forward(void **state)
{
    const struct ofpact_lb_forward *f;
    struct ofpbuf ofpacts;

    (void) state;
    must_parse(FORWARD_V4, &ofpacts);
    f = ofpact_get_LB_FORWARD(ofpacts.data);
    assert_memory_equal(&f->eth_src, "\x02\0\0\0\xff\x01", 6);
    assert_memory_equal(&f->eth_dst, "\x0e\x10\x20\x30\x40\x50", 6);
    assert_memory_equal(&f->ip_src, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\x63",
                        16);
    assert_int_equal(f->base, 19524);
    assert_int_equal(f->bits, 4);
    assert_false(f->keep);
    ofpbuf_uninit(&ofpacts);

    /* In any order. */
    must_parse("lb_forward(keep,bits=0,base=1,ip_dst=::2,ip_src=::1,"
               "eth_dst=00:00:00:00:00:02,eth_src=00:00:00:00:00:01)",
               &ofpacts);
    f = ofpact_get_LB_FORWARD(ofpacts.data);
    assert_true(f->keep);
    assert_int_equal(f->ip_src.s6_addr[15], 1);
    assert_int_equal(f->ip_dst.s6_addr[15], 2);
    ofpbuf_uninit(&ofpacts);
}

#define MACS "eth_src=02:00:00:00:ff:01,eth_dst=0e:10:20:30:40:50,"
#define IPS "ip_src=192.0.2.99,ip_dst=10.1.2.3,"

/* Each mistake is told by its name. */
static void
malformed_text(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        { "lb_parse", "\"table\" is missing" },
        { "lb_parse()", "\"table\" is missing" },
        { "lb_parse(epoch_table=3)", "\"table\" is missing" },
        { "lb_parse(table=)", "unknown table" },
        { "lb_parse(table=256)", "unknown table" },
        { "lb_parse(table=255)", "unknown table" },
        { "lb_parse(table=-1)", "unknown table" },
        { "lb_parse(table=x)", "unknown table \"x\" (table)" },
        { "lb_parse(table=1,epoch_table=255)", "(epoch_table)" },
        { "lb_parse(table=1,table=2)", "duplicate argument \"table\"" },
        { "lb_parse(table=1,epoch_table=2,epoch_table=2)", "duplicate" },
        { "lb_parse(table=1,slot=2)", "\"slot\"" },
        { "lb_parse(7)", "\"7\"" },
        { "lb_forward", "\"eth_src\" is missing" },
        { "lb_forward()", "\"eth_src\" is missing" },
        { "lb_forward(" IPS "base=1,bits=2)", "\"eth_src\" is missing" },
        { "lb_forward(" MACS "base=1,bits=2)", "\"ip_src\" is missing" },
        { "lb_forward(" MACS IPS "bits=2)", "\"base\" is missing" },
        { "lb_forward(" MACS IPS "base=1)", "\"bits\" is missing" },
        { "lb_forward(" MACS IPS "base=1,bits=17)",
          "bits=17 is not in 0..16" },
        { "lb_forward(" MACS IPS "base=1,bits=256)", "bits" },
        { "lb_forward(" MACS IPS "base=1,bits=-1)", "bits" },
        { "lb_forward(" MACS IPS "base=65536,bits=1)", "base" },
        { "lb_forward(" MACS IPS "base=,bits=1)", "base" },
        { "lb_forward(" MACS IPS "base=1,bits=1,keep=1)", "keep takes no" },
        { "lb_forward(" MACS IPS "base=1,bits=1,keep,keep)", "duplicate" },
        { "lb_forward(" MACS IPS "base=1,bits=1,bits=1)", "duplicate" },
        { "lb_forward(" MACS IPS "base=1,bits=1,ttl=1)", "\"ttl\"" },
        { "lb_forward(" MACS "ip_src=192.0.2.99,ip_dst=fd00::1,"
          "base=1,bits=1)",
          "one family" },
        { "lb_forward(" MACS "ip_src=fd00::1,ip_dst=192.0.2.99,"
          "base=1,bits=1)",
          "one family" },
        { "lb_forward(" MACS "ip_src=192.0.2.1.1,ip_dst=10.1.2.3,"
          "base=1,bits=1)",
          "192.0.2.1.1: not an IPv4 or IPv6 address (ip_src)" },
        { "lb_forward(" MACS "ip_src=10.1.2.3,ip_dst=::ffff:192.0.2.99,"
          "base=1,bits=1)",
          "(ip_dst)" },
        { "lb_forward(" MACS "ip_src=,ip_dst=10.1.2.3,base=1,bits=1)",
          "(ip_src)" },
        { "lb_forward(eth_src=02:00:00:00:ff,eth_dst=0e:10:20:30:40:50," IPS
          "base=1,bits=1)",
          "02:00:00:00:ff" },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ofpbuf ofpacts;

        unit_assert_error(parse(cases[i].text, &ofpacts), cases[i].error);
        ofpbuf_uninit(&ofpacts);
    }
}

/* The wire. */

/* Appends any of our actions to 'ofpacts'. */
static void
put_random(struct ofpbuf *ofpacts, uint64_t *seed)
{
    if (unit_random(seed) & 1) {
        struct ofpact_lb_parse *a = ofpact_put_LB_PARSE(ofpacts);

        a->table = (uint8_t) unit_random_below(seed, 255);
        a->has_epoch_table = unit_random(seed) & 1;
        a->epoch_table =
            (uint8_t) (a->has_epoch_table ? unit_random_below(seed, 255) : 0);
    } else {
        struct ofpact_lb_forward *a = ofpact_put_LB_FORWARD(ofpacts);
        bool ipv6 = unit_random(seed) & 1;

        for (size_t i = 0; i < 6; i++) {
            a->eth_src.ea[i] = (uint8_t) unit_random(seed);
            a->eth_dst.ea[i] = (uint8_t) unit_random(seed);
        }
        for (size_t i = 0; i < 16; i++) {
            a->ip_src.s6_addr[i] = (uint8_t) unit_random(seed);
            a->ip_dst.s6_addr[i] = (uint8_t) unit_random(seed);
        }
        if (!ipv6) {
            in6_addr_set_mapped_ipv4(&a->ip_src,
                                     (OVS_FORCE ovs_be32) unit_random(seed));
            in6_addr_set_mapped_ipv4(&a->ip_dst,
                                     (OVS_FORCE ovs_be32) unit_random(seed));
        }
        a->base = (uint16_t) unit_random(seed);
        a->bits = (uint8_t) unit_random_below(seed, 17);
        a->keep = unit_random(seed) & 1;
    }
}

/* Decodes the 'size' bytes at 'data' as actions of 'version', from a heap
 * buffer of just that size, into 'ofpacts', which the caller must
 * uninitialize. */
static enum ofperr
decode(const void *data, size_t size, enum ofp_version version,
       struct ofpbuf *ofpacts)
{
    void *copy = xmemdup(data, size ? size : 1);
    struct ofpbuf openflow = ofpbuf_const_initializer(copy, size);
    uint64_t tlv_bitmap = 0;
    enum ofperr error;

    ofpbuf_init(ofpacts, 0);
    error = ofpacts_pull_openflow_actions(&openflow, (unsigned int) size,
                                          version, NULL, &tlv_bitmap, ofpacts);
    free(copy);
    return error;
}

/* Encoding, decoding and encoding again gives the same, in each version. */
static void
wire_round_trip(void **state)
{
    uint64_t seed = 41;

    (void) state;
    for (int i = 0; i < 5000; i++) {
        enum ofp_version version = versions[i % ARRAY_SIZE(versions)];
        struct ofpbuf ofpacts, again, first, second;

        ofpbuf_init(&ofpacts, 0);
        ofpbuf_init(&first, 0);
        ofpbuf_init(&second, 0);
        for (int n = unit_random_below(&seed, 4); n >= 0; n--) {
            put_random(&ofpacts, &seed);
        }
        ofpacts_put_openflow_actions(ofpacts.data, ofpacts.size, &first,
                                     version);
        assert_int_equal(decode(first.data, first.size, version, &again), 0);
        assert_true(
            ofpacts_equal(ofpacts.data, ofpacts.size, again.data, again.size));
        ofpacts_put_openflow_actions(again.data, again.size, &second, version);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);

        ofpbuf_uninit(&second);
        ofpbuf_uninit(&first);
        ofpbuf_uninit(&again);
        ofpbuf_uninit(&ofpacts);
    }
}

/* Text that is written and read again is the same action. */
static void
text_of_wire(void **state)
{
    uint64_t seed = 42;

    (void) state;
    for (int i = 0; i < 2000; i++) {
        struct ofpbuf ofpacts, again;
        char *text;

        ofpbuf_init(&ofpacts, 0);
        put_random(&ofpacts, &seed);
        text = to_string(&ofpacts);
        must_parse(text, &again);
        assert_true(
            ofpacts_equal(ofpacts.data, ofpacts.size, again.data, again.size));
        free(text);
        ofpbuf_uninit(&again);
        ofpbuf_uninit(&ofpacts);
    }
}

/* The wire format, written down. */
static const uint8_t wire_parse[] = {
    0xff, 0xff, 0x00, 0x10, 0x00, 0x06, 0x4c, 0x42, /* Header. */
    0x00, 0x01, 0x06, 0x01, 0x21, 0x00, 0x00, 0x00,
};
static const uint8_t wire_forward_v4[] = {
    0xff, 0xff, 0x00, 0x40, 0x00, 0x06, 0x4c, 0x42, /* Header. */
    0x00, 0x02, 0x4c, 0x44, 0x04, 0x00,             /* Base, bits, flags. */
    0x02, 0x00, 0x00, 0x00, 0xff, 0x01,             /* Ethernet source. */
    0x0e, 0x10, 0x20, 0x30, 0x40, 0x50,             /* Destination. */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00,             /* Zeros. */
    0xc0, 0x00, 0x02, 0x63, 0x00, 0x00, 0x00, 0x00, /* IP source. */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /**/
    0x0a, 0x01, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, /* Destination. */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
static const uint8_t wire_forward_v6[] = {
    0xff, 0xff, 0x00, 0x40, 0x00, 0x06, 0x4c, 0x42, /* Header. */
    0x00, 0x02, 0xff, 0xff, 0x10, 0x03,             /* Base, bits, flags. */
    0x02, 0x00, 0x00, 0x00, 0xff, 0x01,             /* Ethernet source. */
    0x0e, 0x10, 0x20, 0x30, 0x40, 0x50,             /* Destination. */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00,             /* Zeros. */
    0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, /* IP source. */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x99, /**/
    0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* Destination. */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
};

static const struct {
    const char *text;
    const uint8_t *wire;
    size_t size;
} examples[] = {
    { "lb_parse(table=6,epoch_table=33)", wire_parse, sizeof wire_parse },
    { FORWARD_V4, wire_forward_v4, sizeof wire_forward_v4 },
    { FORWARD_V6, wire_forward_v6, sizeof wire_forward_v6 },
};

static void
wire_examples(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
        for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
            struct ofpbuf ofpacts, openflow;
            char *text;

            must_parse(examples[i].text, &ofpacts);
            ofpbuf_init(&openflow, 0);
            ofpacts_put_openflow_actions(ofpacts.data, ofpacts.size, &openflow,
                                         versions[v]);
            assert_int_equal(openflow.size, examples[i].size);
            assert_memory_equal(openflow.data, examples[i].wire,
                                examples[i].size);
            ofpbuf_uninit(&ofpacts);

            assert_int_equal(
                decode(openflow.data, openflow.size, versions[v], &ofpacts),
                0);
            text = to_string(&ofpacts);
            assert_string_equal(text, examples[i].text);
            free(text);
            ofpbuf_uninit(&openflow);
            ofpbuf_uninit(&ofpacts);
        }
    }
}

/* One byte of an example changed, and what that is answered with. */
static void
hostile_bytes(void **state)
{
    static const struct {
        size_t example;
        size_t offset;
        uint8_t value;
        enum ofperr error;
    } cases[] = {
        { 0, 7, 0x43, OFPERR_OFPBAC_BAD_VENDOR },
        { 0, 9, 0, OFPERR_OFPBAC_BAD_VENDOR_TYPE },
        { 0, 9, 3, OFPERR_OFPBAC_BAD_VENDOR_TYPE },
        { 0, 9, 2, OFPERR_OFPBAC_BAD_LEN },       /* lb_forward. */
        { 0, 11, 0, OFPERR_OFPBAC_BAD_ARGUMENT }, /* Table without flag. */
        { 0, 11, 3, OFPERR_OFPBAC_BAD_ARGUMENT }, /* Reserved flags. */
        { 0, 11, 0x81, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 0, 13, 1, OFPERR_OFPBAC_BAD_ARGUMENT }, /* Padding. */
        { 0, 14, 0x80, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 0, 15, 0xff, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 1, 9, 1, OFPERR_OFPBAC_BAD_LEN },        /* lb_parse. */
        { 1, 12, 17, OFPERR_OFPBAC_BAD_ARGUMENT }, /* Bits. */
        { 1, 12, 255, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 1, 13, 4, OFPERR_OFPBAC_BAD_ARGUMENT }, /* Reserved flags. */
        { 1, 13, 0x80, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 1, 26, 1, OFPERR_OFPBAC_BAD_ARGUMENT }, /* Padding. */
        { 1, 31, 1, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 1, 36, 1, OFPERR_OFPBAC_BAD_ARGUMENT }, /* Behind an address. */
        { 1, 47, 1, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 1, 52, 1, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 1, 63, 1, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 2, 13, 1, OFPERR_OFPBAC_BAD_ARGUMENT }, /* IPv6, without flag. */
        { 2, 13, 7, OFPERR_OFPBAC_BAD_ARGUMENT },
        { 2, 29, 9, OFPERR_OFPBAC_BAD_ARGUMENT },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
            uint8_t wire[64];
            struct ofpbuf ofpacts;
            enum ofperr error;

            memcpy(wire, examples[cases[i].example].wire,
                   examples[cases[i].example].size);
            wire[cases[i].offset] = cases[i].value;
            error = decode(wire, examples[cases[i].example].size, versions[v],
                           &ofpacts);
            if (error != cases[i].error) {
                fail_msg("example %zu, byte %zu = %u: %s, not %s",
                         cases[i].example, cases[i].offset, cases[i].value,
                         error ? ofperr_to_string(error) : "ok",
                         ofperr_to_string(cases[i].error));
            }
            ofpbuf_uninit(&ofpacts);
        }
    }
}

/* IPv4 has one form on the wire: not as v4-mapped IPv6. */
static void
mapped_addresses(void **state)
{
    static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
    static const size_t offsets[] = { 32, 48 };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
        uint8_t wire[64];
        struct ofpbuf ofpacts;

        memcpy(wire, wire_forward_v6, sizeof wire);
        memcpy(wire + offsets[i], mapped, sizeof mapped);
        assert_int_equal(decode(wire, sizeof wire, OFP15_VERSION, &ofpacts),
                         OFPERR_OFPBAC_BAD_ARGUMENT);
        ofpbuf_uninit(&ofpacts);
    }
}

/* Each value of the length field, in buffers of each size. */
static void
lengths(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
        for (unsigned int length = 0; length <= 136; length++) {
            for (size_t size = 0; size <= 136; size += 4) {
                uint8_t wire[136] = { 0 };
                struct ofpbuf ofpacts;
                bool right = (length == examples[i].size && size == length);

                memcpy(wire, examples[i].wire, examples[i].size);
                wire[3] = (uint8_t) length;
                if (size == 0) {
                    assert_int_equal(decode(wire, 0, OFP13_VERSION, &ofpacts),
                                     0);
                } else {
                    assert_int_equal(
                        !decode(wire, size, OFP13_VERSION, &ofpacts), right);
                }
                ofpbuf_uninit(&ofpacts);
            }
        }
    }
}

/* Any change of a few bytes is either an error or an action that encodes to
 * the bytes that came. */
static void
mutated(void **state)
{
    uint64_t seed = 43;
    int n_valid = 0;

    (void) state;
    for (int i = 0; i < 50000; i++) {
        size_t which = unit_random_below(&seed, ARRAY_SIZE(examples));
        enum ofp_version version = versions[unit_random_below(&seed, 6)];
        struct ofpbuf ofpacts, openflow;
        uint8_t wire[64];

        memcpy(wire, examples[which].wire, examples[which].size);
        for (int n = unit_random_below(&seed, 3); n >= 0; n--) {
            wire[8 + unit_random_below(&seed, examples[which].size - 8)] =
                (uint8_t) unit_random(&seed);
        }
        if (!decode(wire, examples[which].size, version, &ofpacts)) {
            ofpbuf_init(&openflow, 0);
            ofpacts_put_openflow_actions(ofpacts.data, ofpacts.size, &openflow,
                                         version);
            assert_int_equal(openflow.size, examples[which].size);
            assert_memory_equal(openflow.data, wire, openflow.size);
            ofpbuf_uninit(&openflow);
            n_valid++;
        }
        ofpbuf_uninit(&ofpacts);
    }
    assert_in_range(n_valid, 1000, 40000);
}

/* Checks. */

/* Returns what the switch says to 'text' in a flow that matches Ethernet type
 * 'dl_type', in a switch of 'n_tables'. */
static enum ofperr
check(const char *text, uint16_t dl_type, uint8_t n_tables)
{
    struct match match = MATCH_CATCHALL_INITIALIZER;
    struct ofpact_check_params cp = {
        .match = &match,
        .max_ports = u16_to_ofp(100),
        .n_tables = n_tables,
    };
    struct ofpbuf ofpacts;
    enum ofperr error;

    match_set_default_packet_type(&match);
    if (dl_type) {
        match_set_dl_type(&match, htons(dl_type));
    }
    must_parse(text, &ofpacts);
    error = ofpacts_check_consistency(ofpacts.data, ofpacts.size,
                                      OFPUTIL_P_OF15_OXM, &cp);
    ofpbuf_uninit(&ofpacts);
    return error;
}

static void
checks(void **state)
{
    enum ofperr bad_match = OFPERR_OFPBAC_MATCH_INCONSISTENT;

    (void) state;
    assert_int_equal(check(FORWARD_V4, 0x0800, 254), 0);
    assert_int_equal(check(FORWARD_V6, 0x86dd, 254), 0);
    assert_int_equal(check(FORWARD_V4, 0x86dd, 254), bad_match);
    assert_int_equal(check(FORWARD_V6, 0x0800, 254), bad_match);
    assert_int_equal(check(FORWARD_V4, 0, 254), bad_match);
    assert_int_equal(check(FORWARD_V4, 0x0806, 254), bad_match);

    assert_int_equal(check("lb_parse(table=9)", 0, 10), 0);
    assert_int_equal(check("lb_parse(table=10)", 0, 10),
                     OFPERR_OFPBAC_BAD_ARGUMENT);
    assert_int_equal(check("lb_parse(table=9,epoch_table=9)", 0, 10), 0);
    assert_int_equal(check("lb_parse(table=9,epoch_table=10)", 0, 10),
                     OFPERR_OFPBAC_BAD_ARGUMENT);
}

/* An action set, which has no order, cannot hold them. */
static void
action_set(void **state)
{
    static const char *const texts[] = { "lb_parse(table=6)", FORWARD_V4 };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        enum ofputil_protocol usable = OFPUTIL_P_ANY;
        struct ofpbuf ofpacts, again, openflow;
        struct ofpact_parse_params pp = {
            .ofpacts = &ofpacts,
            .usable_protocols = &usable,
        };
        uint64_t tlv_bitmap = 0;
        char *text = xasprintf("write_actions(%s)", texts[i]);

        ofpbuf_init(&ofpacts, 0);
        ofpbuf_init(&again, 0);
        ofpbuf_init(&openflow, 0);
        unit_assert_error(ofpacts_parse_instructions(text, &pp), NULL);
        ofpacts_put_openflow_instructions(ofpacts.data, ofpacts.size,
                                          &openflow, OFP13_VERSION);
        assert_int_equal(ofpacts_pull_openflow_instructions(
                             &openflow, openflow.size, OFP13_VERSION, NULL,
                             &tlv_bitmap, &again),
                         OFPERR_OFPBAC_BAD_TYPE);
        free(text);
        ofpbuf_uninit(&openflow);
        ofpbuf_uninit(&again);
        ofpbuf_uninit(&ofpacts);
    }
}

/* What the group code asks before it takes an action over. */
static void
forward_check(void **state)
{
    struct ofpact_lb_forward f = { .bits = 16 };

    (void) state;
    unit_assert_error(ofp_lb_forward_check(&f), NULL);
    f.bits = 17;
    unit_assert_error(ofp_lb_forward_check(&f), "bits=17");
    f.bits = 0;
    in6_addr_set_mapped_ipv4(&f.ip_src, htonl(1));
    unit_assert_error(ofp_lb_forward_check(&f), "one family");
    in6_addr_set_mapped_ipv4(&f.ip_dst, htonl(1));
    unit_assert_error(ofp_lb_forward_check(&f), NULL);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_round_trip), cmocka_unit_test(parsed_forward),
        cmocka_unit_test(malformed_text),  cmocka_unit_test(wire_round_trip),
        cmocka_unit_test(text_of_wire),    cmocka_unit_test(wire_examples),
        cmocka_unit_test(hostile_bytes),   cmocka_unit_test(mapped_addresses),
        cmocka_unit_test(lengths),         cmocka_unit_test(mutated),
        cmocka_unit_test(checks),          cmocka_unit_test(action_set),
        cmocka_unit_test(forward_check),
    };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
