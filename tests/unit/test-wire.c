/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the codec of the wire formats against the examples of docs/wire.md,
 * and against hostile lengths and contents.  Buffers are on the heap with
 * exactly the size that the codec is told, so that AddressSanitizer sees each
 * byte too many. */

#include "endpoints/wire.h"

#include <stdio.h>

#include "tests/unit/unit.h"

#define DOC "docs/wire.md"
#define MARK 0x5a /* Fills what must not be written to. */

#define ARRAY_SIZE(ARRAY) (sizeof(ARRAY) / sizeof *(ARRAY))

static uint64_t seed = 1;

/* Returns 'size' bytes that are all MARK. */
static uint8_t *
marked(size_t size)
{
    uint8_t *p = malloc(size ? size : 1);

    assert_non_null(p);
    memset(p, MARK, size ? size : 1);
    return p;
}

static bool
is_marked(const void *p_, size_t size)
{
    const uint8_t *p = p_;

    for (size_t i = 0; i < size; i++) {
        if (p[i] != MARK) {
            return false;
        }
    }
    return true;
}

/* Returns a copy of the first 'size' bytes at 'data', with nothing behind. */
static uint8_t *
cut(const uint8_t *data, size_t size)
{
    uint8_t *p = marked(size);

    memcpy(p, data, size);
    return p;
}

/* Examples of the document. */

/* Returns the number of field 'name' in 'line', an example's first line. */
static uint64_t
field(const char *line, const char *name)
{
    char key[32];
    const char *p;

    snprintf(key, sizeof key, " %s=", name);
    p = strstr(line, key);
    if (!p) {
        fail_msg("%s: no %s in: %s", DOC, name, line);
        return 0;
    }
    return strtoull(p + strlen(key), NULL, 10);
}

/* Reads hex bytes from 'line' into 'bytes', which has room for 64. */
static size_t
hex_bytes(const char *line, uint8_t *bytes)
{
    size_t n = 0;
    char *end;

    while (n < 64) {
        unsigned long int byte = strtoul(line, &end, 16);

        if (end == line) {
            break;
        }
        assert_true(byte <= UINT8_MAX);
        bytes[n++] = (uint8_t) byte;
        line = end;
    }
    return n;
}

static void
check_lb_example(const char *line, const uint8_t *bytes, size_t n)
{
    struct wire_lb lb;
    uint8_t packed[WIRE_LB_LEN];

    assert_int_equal(n, WIRE_LB_LEN);
    assert_int_equal(wire_lb_unpack(&lb, bytes, n), WIRE_OK);
    assert_int_equal(lb.version, field(line, "version"));
    assert_int_equal(lb.proto, field(line, "proto"));
    assert_int_equal(lb.slot_select, field(line, "slot_select"));
    assert_int_equal(lb.port_select, field(line, "port_select"));
    assert_int_equal(lb.tick, field(line, "tick"));

    assert_int_equal(wire_lb_pack(&lb, packed, sizeof packed), WIRE_OK);
    assert_memory_equal(packed, bytes, n);
    assert_int_equal(wire_slot(lb.slot_select, 0, 9), 489);
}

static void
check_re_example(const char *line, const uint8_t *bytes, size_t n)
{
    struct wire_re re;
    uint8_t packed[WIRE_RE_LEN];

    assert_int_equal(n, WIRE_RE_LEN);
    assert_int_equal(wire_re_unpack(&re, bytes, n), WIRE_OK);
    assert_int_equal(re.data_id, field(line, "data_id"));
    assert_int_equal(re.offset, field(line, "offset"));
    assert_int_equal(re.length, field(line, "length"));
    assert_int_equal(re.event_num, field(line, "event_num"));

    assert_int_equal(wire_re_pack(&re, packed, sizeof packed), WIRE_OK);
    assert_memory_equal(packed, bytes, n);
}

static void
check_sync_example(const char *line, const uint8_t *bytes, size_t n)
{
    struct wire_sync sync;
    uint8_t packed[WIRE_SYNC_LEN];

    assert_int_equal(n, WIRE_SYNC_LEN);
    assert_int_equal(wire_sync_unpack(&sync, bytes, n), WIRE_OK);
    assert_int_equal(sync.source_id, field(line, "source_id"));
    assert_int_equal(sync.tick, field(line, "tick"));
    assert_int_equal(sync.rate_hz, field(line, "rate_hz"));
    assert_int_equal(sync.unix_ns, field(line, "unix_ns"));

    assert_int_equal(wire_sync_pack(&sync, packed, sizeof packed), WIRE_OK);
    assert_memory_equal(packed, bytes, n);
}

static void
test_examples_of_document(void **state)
{
    static const struct {
        const char *start;
        void (*check)(const char *, const uint8_t *, size_t);
        int expected;
    } kinds[] = {
        { "```wire lb ", check_lb_example, 2 },
        { "```wire re ", check_re_example, 1 },
        { "```wire sync ", check_sync_example, 1 },
    };
    int found[ARRAY_SIZE(kinds)] = { 0 };
    char line[256], hex[256];
    FILE *doc = fopen(DOC, "re");

    (void) state;
    assert_non_null(doc);
    while (fgets(line, sizeof line, doc)) {
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
            if (!strncmp(line, kinds[i].start, strlen(kinds[i].start))) {
                uint8_t bytes[64];

                assert_non_null(fgets(hex, sizeof hex, doc));
                kinds[i].check(line, bytes, hex_bytes(hex, bytes));
                found[i]++;
            }
        }
    }
    fclose(doc);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        assert_int_equal(found[i], kinds[i].expected);
    }
}

/* LB header. */

static const uint8_t good_lb[WIRE_LB_LEN] = {
    0x4c, 0x42, 0x03, 0x01, 0x11, 0x22, 0x33, 0x44,
    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
};

/* Each field has the bytes that the document gives it, and no other. */
static void
test_lb_layout(void **state)
{
    struct wire_lb lb;

    (void) state;
    assert_int_equal(wire_lb_unpack(&lb, good_lb, sizeof good_lb), WIRE_OK);
    assert_int_equal(lb.version, 3);
    assert_int_equal(lb.proto, 1);
    assert_int_equal(lb.slot_select, 0x1122);
    assert_int_equal(lb.port_select, 0x3344);
    assert_int_equal(lb.tick, 0xa0a1a2a3a4a5a6a7);
}

/* Version 2 has a reserved field where version 3 has the slot selector. */
static void
test_lb_v2_selector(void **state)
{
    uint8_t bytes[WIRE_LB_LEN];
    struct wire_lb lb;

    (void) state;
    memcpy(bytes, good_lb, sizeof bytes);
    bytes[2] = 2;
    assert_int_equal(wire_lb_unpack(&lb, bytes, sizeof bytes), WIRE_OK);
    assert_int_equal(lb.slot_select, 0xa6a7);

    /* What is there on the wire is not sent on. */
    lb.slot_select = 0x7777;
    assert_int_equal(wire_lb_pack(&lb, bytes, sizeof bytes), WIRE_OK);
    assert_int_equal(bytes[4], 0);
    assert_int_equal(bytes[5], 0);
    assert_memory_equal(bytes + 6, good_lb + 6, WIRE_LB_LEN - 6);
}

static void
test_lb_lengths(void **state)
{
    struct wire_lb lb = { .version = 3 };

    (void) state;
    for (size_t size = 0; size < WIRE_LB_LEN; size++) {
        uint8_t *in = cut(good_lb, size);
        uint8_t *out = marked(size);

        memset(&lb, MARK, sizeof lb);
        assert_int_equal(wire_lb_unpack(&lb, in, size), WIRE_SHORT);
        assert_true(is_marked(&lb, sizeof lb));

        lb.version = 3;
        assert_int_equal(wire_lb_pack(&lb, out, size), WIRE_SHORT);
        assert_true(is_marked(out, size));
        free(in);
        free(out);
    }
}

/* Bytes behind the header are neither read nor written. */
static void
test_lb_longer_buffer(void **state)
{
    uint8_t bytes[WIRE_LB_LEN + 3];
    struct wire_lb lb;

    (void) state;
    memset(bytes, MARK, sizeof bytes);
    memcpy(bytes, good_lb, WIRE_LB_LEN);
    assert_int_equal(wire_lb_unpack(&lb, bytes, sizeof bytes), WIRE_OK);
    memset(bytes, MARK, sizeof bytes);
    assert_int_equal(wire_lb_pack(&lb, bytes, sizeof bytes), WIRE_OK);
    assert_memory_equal(bytes, good_lb, WIRE_LB_LEN);
    assert_true(is_marked(bytes + WIRE_LB_LEN, 3));
}

static void
test_lb_magic(void **state)
{
    (void) state;
    for (int bit = 0; bit < 16; bit++) {
        uint8_t *bytes = cut(good_lb, WIRE_LB_LEN);
        struct wire_lb lb;

        memset(&lb, MARK, sizeof lb);
        bytes[bit / 8] ^= 1 << bit % 8;
        assert_int_equal(wire_lb_unpack(&lb, bytes, WIRE_LB_LEN),
                         WIRE_BAD_MAGIC);
        assert_true(is_marked(&lb, sizeof lb));

        /* A wrong magic says nothing about versions. */
        bytes[2] = 9;
        assert_int_equal(wire_lb_unpack(&lb, bytes, WIRE_LB_LEN),
                         WIRE_BAD_MAGIC);
        free(bytes);
    }
}

static void
test_lb_versions(void **state)
{
    (void) state;
    for (int version = 0; version <= UINT8_MAX; version++) {
        bool known = version == 2 || version == 3;
        enum wire_error expected = known ? WIRE_OK : WIRE_BAD_VERSION;
        uint8_t *in = cut(good_lb, WIRE_LB_LEN);
        uint8_t *out = marked(WIRE_LB_LEN);
        struct wire_lb lb;

        memset(&lb, MARK, sizeof lb);
        in[2] = version;
        assert_int_equal(wire_lb_unpack(&lb, in, WIRE_LB_LEN), expected);
        assert_int_equal(is_marked(&lb, sizeof lb), !known);

        lb.version = version;
        assert_int_equal(wire_lb_pack(&lb, out, WIRE_LB_LEN), expected);
        assert_int_equal(is_marked(out, WIRE_LB_LEN), !known);
        free(in);
        free(out);
    }
}

static void
test_lb_round_trips(void **state)
{
    (void) state;
    for (int i = 0; i < 10000; i++) {
        struct wire_lb in = {
            .version = 2 + unit_random_below(&seed, 2),
            .proto = unit_random(&seed),
            .slot_select = unit_random(&seed),
            .port_select = unit_random(&seed),
            .tick = unit_random(&seed),
        };
        uint8_t bytes[WIRE_LB_LEN];
        struct wire_lb out;

        assert_int_equal(wire_lb_pack(&in, bytes, sizeof bytes), WIRE_OK);
        assert_int_equal(wire_lb_unpack(&out, bytes, sizeof bytes), WIRE_OK);
        assert_int_equal(out.version, in.version);
        assert_int_equal(out.proto, in.proto);
        assert_int_equal(out.port_select, in.port_select);
        assert_int_equal(out.tick, in.tick);
        assert_int_equal(
            out.slot_select,
            (in.version == 3 ? in.slot_select : (uint16_t) in.tick));
    }
}

/* RE header. */

static const uint8_t good_re[WIRE_RE_LEN] = {
    0x10, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
    0x99, 0xaa, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
};

static void
test_re_layout(void **state)
{
    struct wire_re re;
    uint8_t bytes[WIRE_RE_LEN];

    (void) state;
    assert_int_equal(wire_re_unpack(&re, good_re, sizeof good_re), WIRE_OK);
    assert_int_equal(re.data_id, 0x1122);
    assert_int_equal(re.offset, 0x33445566);
    assert_int_equal(re.length, 0x778899aa);
    assert_int_equal(re.event_num, 0xa0a1a2a3a4a5a6a7);
    assert_int_equal(wire_re_pack(&re, bytes, sizeof bytes), WIRE_OK);
    assert_memory_equal(bytes, good_re, sizeof bytes);
}

static void
test_re_lengths(void **state)
{
    (void) state;
    for (size_t size = 0; size < WIRE_RE_LEN; size++) {
        uint8_t *in = cut(good_re, size);
        uint8_t *out = marked(size);
        struct wire_re re;

        memset(&re, MARK, sizeof re);
        assert_int_equal(wire_re_unpack(&re, in, size), WIRE_SHORT);
        assert_true(is_marked(&re, sizeof re));
        assert_int_equal(wire_re_pack(&re, out, size), WIRE_SHORT);
        assert_true(is_marked(out, size));
        free(in);
        free(out);
    }
}

/* Of all 65536 beginnings only 10 00 is right. */
static void
test_re_first_bytes(void **state)
{
    uint8_t *bytes = cut(good_re, WIRE_RE_LEN);
    int good = 0;

    (void) state;
    for (unsigned int first = 0; first <= UINT16_MAX; first++) {
        struct wire_re re;
        enum wire_error error;

        bytes[0] = first >> 8;
        bytes[1] = first & 0xff;
        memset(&re, MARK, sizeof re);
        error = wire_re_unpack(&re, bytes, WIRE_RE_LEN);
        if (error == WIRE_OK) {
            assert_int_equal(first, 0x1000);
            good++;
        } else {
            assert_int_equal(error, WIRE_BAD_VERSION);
            assert_true(is_marked(&re, sizeof re));
        }
    }
    assert_int_equal(good, 1);
    free(bytes);
}

static void
test_re_round_trips(void **state)
{
    (void) state;
    for (int i = 0; i < 10000; i++) {
        struct wire_re in = {
            .data_id = unit_random(&seed),
            .offset = unit_random(&seed),
            .length = unit_random(&seed),
            .event_num = unit_random(&seed),
        };
        uint8_t bytes[WIRE_RE_LEN];
        struct wire_re out;

        assert_int_equal(wire_re_pack(&in, bytes, sizeof bytes), WIRE_OK);
        assert_int_equal(wire_re_unpack(&out, bytes, sizeof bytes), WIRE_OK);
        assert_int_equal(out.data_id, in.data_id);
        assert_int_equal(out.offset, in.offset);
        assert_int_equal(out.length, in.length);
        assert_int_equal(out.event_num, in.event_num);
    }
}

/* Sync datagram. */

static const uint8_t good_sync[WIRE_SYNC_LEN] = {
    0x4c, 0x43, 0x02, 0x00, 0x11, 0x22, 0x33, 0x44, 0xa0, 0xa1,
    0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0x55, 0x66, 0x77, 0x88,
    0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7,
};

static void
test_sync_layout(void **state)
{
    struct wire_sync sync;
    uint8_t bytes[WIRE_SYNC_LEN];

    (void) state;
    assert_int_equal(wire_sync_unpack(&sync, good_sync, sizeof good_sync),
                     WIRE_OK);
    assert_int_equal(sync.source_id, 0x11223344);
    assert_int_equal(sync.tick, 0xa0a1a2a3a4a5a6a7);
    assert_int_equal(sync.rate_hz, 0x55667788);
    assert_int_equal(sync.unix_ns, 0xb0b1b2b3b4b5b6b7);
    assert_int_equal(wire_sync_pack(&sync, bytes, sizeof bytes), WIRE_OK);
    assert_memory_equal(bytes, good_sync, sizeof bytes);
}

/* A Sync datagram has one length; a longer one is not Sync either. */
static void
test_sync_lengths(void **state)
{
    uint8_t longer[64] = { 0 };

    (void) state;
    memcpy(longer, good_sync, sizeof good_sync);
    for (size_t size = 0; size <= sizeof longer; size++) {
        uint8_t *in = cut(longer, size);
        struct wire_sync sync;
        enum wire_error error;

        memset(&sync, MARK, sizeof sync);
        error = wire_sync_unpack(&sync, in, size);
        assert_int_equal(error, (size < WIRE_SYNC_LEN   ? WIRE_SHORT
                                 : size > WIRE_SYNC_LEN ? WIRE_BAD_LENGTH
                                                        : WIRE_OK));
        assert_int_equal(is_marked(&sync, sizeof sync), error != WIRE_OK);
        free(in);
    }
}

static void
test_sync_pack_lengths(void **state)
{
    struct wire_sync sync = { .source_id = 1 };

    (void) state;
    for (size_t size = 0; size < WIRE_SYNC_LEN; size++) {
        uint8_t *out = marked(size);

        assert_int_equal(wire_sync_pack(&sync, out, size), WIRE_SHORT);
        assert_true(is_marked(out, size));
        free(out);
    }
}

static void
test_sync_magic_and_version(void **state)
{
    struct wire_sync sync;

    (void) state;
    for (int bit = 0; bit < 24; bit++) {
        uint8_t *bytes = cut(good_sync, WIRE_SYNC_LEN);

        memset(&sync, MARK, sizeof sync);
        bytes[bit / 8] ^= 1 << bit % 8;
        assert_int_equal(wire_sync_unpack(&sync, bytes, WIRE_SYNC_LEN),
                         bit < 16 ? WIRE_BAD_MAGIC : WIRE_BAD_VERSION);
        assert_true(is_marked(&sync, sizeof sync));
        free(bytes);
    }
}

/* The reserved byte is for the future: whatever it is, the rest counts. */
static void
test_sync_reserved(void **state)
{
    uint8_t bytes[WIRE_SYNC_LEN];
    struct wire_sync sync;

    (void) state;
    memcpy(bytes, good_sync, sizeof bytes);
    bytes[3] = 0xff;
    assert_int_equal(wire_sync_unpack(&sync, bytes, sizeof bytes), WIRE_OK);
    assert_int_equal(sync.source_id, 0x11223344);
    assert_int_equal(wire_sync_pack(&sync, bytes, sizeof bytes), WIRE_OK);
    assert_int_equal(bytes[3], 0);
}

static void
test_sync_round_trips(void **state)
{
    (void) state;
    for (int i = 0; i < 10000; i++) {
        struct wire_sync in = {
            .source_id = unit_random(&seed),
            .tick = unit_random(&seed),
            .rate_hz = unit_random(&seed),
            .unix_ns = unit_random(&seed),
        };
        uint8_t bytes[WIRE_SYNC_LEN];
        struct wire_sync out;

        assert_int_equal(wire_sync_pack(&in, bytes, sizeof bytes), WIRE_OK);
        assert_int_equal(wire_sync_unpack(&out, bytes, sizeof bytes), WIRE_OK);
        assert_int_equal(out.source_id, in.source_id);
        assert_int_equal(out.tick, in.tick);
        assert_int_equal(out.rate_hz, in.rate_hz);
        assert_int_equal(out.unix_ns, in.unix_ns);
    }
}

/* One kind of header is never taken for another. */
static void
test_kinds_apart(void **state)
{
    uint8_t bytes[WIRE_SYNC_LEN] = { 0 };
    struct wire_sync sync;
    struct wire_lb lb;
    struct wire_re re;

    (void) state;
    memcpy(bytes, good_lb, sizeof good_lb);
    assert_int_equal(wire_sync_unpack(&sync, bytes, sizeof bytes),
                     WIRE_BAD_MAGIC);
    assert_int_equal(wire_re_unpack(&re, bytes, sizeof bytes),
                     WIRE_BAD_VERSION);
    memcpy(bytes, good_re, sizeof good_re);
    assert_int_equal(wire_lb_unpack(&lb, bytes, sizeof bytes), WIRE_BAD_MAGIC);
    assert_int_equal(wire_sync_unpack(&sync, bytes, sizeof bytes),
                     WIRE_BAD_MAGIC);
    assert_int_equal(wire_lb_unpack(&lb, good_sync, sizeof good_sync),
                     WIRE_BAD_MAGIC);
    assert_int_equal(wire_re_unpack(&re, good_sync, sizeof good_sync),
                     WIRE_BAD_VERSION);
}

/* Slots and ports. */

static void
test_slots(void **state)
{
    static const struct {
        uint16_t selector;
        uint16_t xor ;
        unsigned int bits;
        uint16_t slot;
    } cases[] = {
        { 1001, 0, 9, 489 }, /* The document's. */
        { 489, 0, 9, 489 },
        { 512, 0, 9, 0 }, /* Around. */
        { 511, 0, 9, 511 },
        { 0, 0x1ff, 9, 511 }, /* Mirrored. */
        { 0xffff, 0x1ff, 9, 0 },
        { 0x1234, 0xffff, 16, 0xedcb }, /* All bits. */
        { 0x1234, 0, 16, 0x1234 },
        { 0xffff, 0, 0, 0 },      /* A single slot. */
        { 0xffff, 0xf000, 1, 1 }, /* xor above the mask. */
        { 0xffff, 0, 1, 1 },
        { 0xfffe, 0, 1, 0 },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(
            wire_slot(cases[i].selector, cases[i].xor, cases[i].bits),
            cases[i].slot);
    }
}

/* With any xor, 2**bits selectors in a row meet each slot once. */
static void
test_slots_fair(void **state)
{
    (void) state;
    for (unsigned int bits = 0; bits <= 9; bits++) {
        uint16_t xor = unit_random(&seed);
        uint16_t start = unit_random(&seed);
        bool met[512] = { false };

        for (unsigned int i = 0; i < 1u << bits; i++) {
            uint16_t slot = wire_slot(start + i, xor, bits);

            assert_true(slot < 1u << bits);
            assert_false(met[slot]);
            met[slot] = true;
        }
    }
}

static void
test_member_ports(void **state)
{
    static const struct {
        uint16_t base;
        uint16_t selector;
        unsigned int bits;
        uint16_t port;
    } cases[] = {
        { 10000, 7, 0, 10000 }, { 10000, 7, 3, 10007 },
        { 10000, 8, 3, 10000 }, { 10000, 0xffff, 3, 10007 },
        { 65535, 1, 1, 0 }, /* Modulo 2**16. */
        { 65535, 2, 2, 1 },     { 0, 0xffff, 16, 0xffff },
        { 1, 0xffff, 16, 0 },   { 0xc000, 0x7fff, 14, 0xffff },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(
            wire_member_port(cases[i].base, cases[i].selector, cases[i].bits),
            cases[i].port);
    }
}

static void
test_error_words(void **state)
{
    (void) state;
    assert_string_equal(wire_error_to_string(WIRE_OK), "ok");
    assert_string_equal(wire_error_to_string(WIRE_SHORT), "short");
    assert_string_equal(wire_error_to_string(WIRE_BAD_LENGTH), "bad_length");
    assert_string_equal(wire_error_to_string(WIRE_BAD_MAGIC), "bad_magic");
    assert_string_equal(wire_error_to_string(WIRE_BAD_VERSION), "bad_version");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_of_document),
        cmocka_unit_test(test_lb_layout),
        cmocka_unit_test(test_lb_v2_selector),
        cmocka_unit_test(test_lb_lengths),
        cmocka_unit_test(test_lb_longer_buffer),
        cmocka_unit_test(test_lb_magic),
        cmocka_unit_test(test_lb_versions),
        cmocka_unit_test(test_lb_round_trips),
        cmocka_unit_test(test_re_layout),
        cmocka_unit_test(test_re_lengths),
        cmocka_unit_test(test_re_first_bytes),
        cmocka_unit_test(test_re_round_trips),
        cmocka_unit_test(test_sync_layout),
        cmocka_unit_test(test_sync_lengths),
        cmocka_unit_test(test_sync_pack_lengths),
        cmocka_unit_test(test_sync_magic_and_version),
        cmocka_unit_test(test_sync_reserved),
        cmocka_unit_test(test_sync_round_trips),
        cmocka_unit_test(test_kinds_apart),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_slots_fair),
        cmocka_unit_test(test_member_ports),
        cmocka_unit_test(test_error_words),
    };

    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
