/* SPDX-License-Identifier: Apache-2.0 */

/* Messages from and to JSON, by the mapping of proto3. */

#include "lib/pb-json-parse.h"

#include <math.h>
#include <stdio.h>

#include <config.h>
#include <openvswitch/json.h>

#include "controller/api/loadbalancer.pb-c.h"
#include "google/protobuf/struct.pb-c.h"
#include "lib/arena.h"
#include "lib/rfc3339.h"
#include "tests/unit/pb-text.h"
#include "tests/unit/unit.h"

/* Parses 'text' as a message of type 'd'. */
static char *
parse(const char *text, const ProtobufCMessageDescriptor *d,
      struct arena *arena, ProtobufCMessage **msg)
{
    struct json *j = json_from_string(text);
    char *error = pb_json_parse(j, d, arena, msg);

    json_destroy(j);
    return error;
}

/* Returns 'msg' as JSON, without white space, which the caller must free. */
static char *
write_compact(const ProtobufCMessage *msg)
{
    char *text = unit_write_proto3(msg);
    bool quoted = false, escaped = false;
    char *out = text;

    for (const char *in = text; *in; in++) {
        quoted ^= *in == '"' && !escaped;
        escaped = *in == '\\' && !escaped;
        if (quoted || (*in != ' ' && *in != '\n')) {
            *out++ = *in;
        }
    }
    *out = '\0';
    return text;
}

/* Checks that 'text' is a message that is written as 'expected'. */
static void
check(const char *text, const ProtobufCMessageDescriptor *d,
      const char *expected)
{
    struct arena arena;
    ProtobufCMessage *msg;
    char *written;

    arena_init(&arena);
    unit_assert_error(parse(text, d, &arena, &msg), NULL);
    written = write_compact(msg);
    assert_string_equal(written, expected);
    free(written);
    arena_destroy(&arena);
}

/* Checks that 'text' is refused with the words 'expected'. */
static void
refuse(const char *text, const ProtobufCMessageDescriptor *d,
       const char *expected)
{
    struct arena arena;
    ProtobufCMessage *msg;

    arena_init(&arena);
    unit_assert_error(parse(text, d, &arena, &msg), expected);
    assert_null(msg);
    arena_destroy(&arena);
}

#define STATE (&loadbalancer__send_state_request__descriptor)
#define REGISTER (&loadbalancer__register_request__descriptor)
#define SELECTOR (&loadbalancer__token_selector__descriptor)
#define STATUS (&loadbalancer__worker_status__descriptor)
#define ISSUE (&loadbalancer__health_issue__descriptor)
#define SAMPLES (&loadbalancer__timeseries__descriptor)

/* Defaults are there, messages that are absent are not. */
static void
test_defaults(void **state)
{
    const char *empty = "{\"lbId\":\"\",\"name\":\"\",\"weight\":0,"
                        "\"ipAddress\":\"\",\"udpPort\":0,"
                        "\"portRange\":\"PORT_RANGE_1\",\"minFactor\":0,"
                        "\"maxFactor\":0,\"keepLbHeader\":false,"
                        "\"slotDemands\":[]}";

    (void) state;
    check("{}", REGISTER, empty);
    check("{\"lbId\": null, \"slotDemands\": null, \"weight\": null}",
          REGISTER, empty);
}

static void
test_values(void **state)
{
    (void) state;
    check("{\"lbId\":\"5\",\"name\":\"a\\u00e9\\n\",\"weight\":0.5,"
          "\"ipAddress\":\"::1\",\"udpPort\":\"65535\","
          "\"portRange\":\"PORT_RANGE_16\",\"minFactor\":1e-3,"
          "\"maxFactor\":\"1.5\",\"keepLbHeader\":true,"
          "\"slotDemands\":[{\"index\":-1,\"length\":4294967295},{}]}",
          REGISTER,
          "{\"lbId\":\"5\",\"name\":\"a\xc3\xa9\\u000a\",\"weight\":0.5,"
          "\"ipAddress\":\"::1\",\"udpPort\":65535,"
          "\"portRange\":\"PORT_RANGE_16\",\"minFactor\":0.001,"
          "\"maxFactor\":1.5,\"keepLbHeader\":true,"
          "\"slotDemands\":[{\"index\":-1,\"length\":4294967295},"
          "{\"index\":0,\"length\":0}]}");
}

/* Numbers of 64 bits are strings, but are understood as numbers, too. */
static void
test_int64(void **state)
{
    struct arena arena;
    ProtobufCMessage *msg;
    const Loadbalancer__SendStateRequest *r;

    (void) state;
    arena_init(&arena);
    unit_assert_error(parse("{\"totalEventsRecv\":-9223372036854775808,"
                            "\"totalBytesRecv\":\"9223372036854775807\","
                            "\"totalPacketsRecv\":1e3,"
                            "\"totalEventsDequeued\":\"-1\"}",
                            STATE, &arena, &msg),
                      NULL);
    r = (const void *) msg;
    assert_int_equal(r->totaleventsrecv, INT64_MIN);
    assert_int_equal(r->totalbytesrecv, INT64_MAX);
    assert_int_equal(r->totalpacketsrecv, 1000);
    assert_int_equal(r->totaleventsdequeued, -1);
    arena_destroy(&arena);

    check("{\"currentEpoch\":\"18446744073709551615\","
          "\"slotResolution\":512}",
          &loadbalancer__load_balancer_status_reply__descriptor,
          "{\"currentEpoch\":\"18446744073709551615\","
          "\"currentPredictedEventNumber\":\"0\",\"workers\":[],"
          "\"senderAddresses\":[],\"slotResolution\":512,"
          "\"healthIssues\":[]}");
}

/* Floating-point numbers keep their value, with few digits. */
static void
test_real(void **state)
{
    static const struct {
        const char *text;
        const char *written;
    } cases[] = {
        { "0.8", "\"weight\":0.8," },
        { "0.1", "\"weight\":0.1," },
        { "16777217", "\"weight\":16777216," },
        { "3.4028235e38", "\"weight\":3.4028235e+38," },
        { "\"NaN\"", "\"weight\":\"NaN\"," },
        { "\"Infinity\"", "\"weight\":\"Infinity\"," },
        { "\"-Infinity\"", "\"weight\":\"-Infinity\"," },
        { "1e-7", "\"weight\":1e-07," },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64], *written;
        struct arena arena;
        ProtobufCMessage *msg;

        arena_init(&arena);
        snprintf(text, sizeof text, "{\"weight\":%s}", cases[i].text);
        unit_assert_error(parse(text, REGISTER, &arena, &msg), NULL);
        written = write_compact(msg);
        assert_non_null(strstr(written, cases[i].written));
        free(written);
        arena_destroy(&arena);
    }
}

static void
test_time(void **state)
{
    static const char *const same[] = {
        "0001-01-01T00:00:00Z",           "1970-01-01T00:00:00Z",
        "2026-12-01T05:45:00.500Z",       "2024-02-29T23:59:59.000001Z",
        "9999-12-31T23:59:59.999999999Z",
    };
    static const char *const bad[] = {
        "",
        "2026-12-01",
        "2026-12-01T05:45:00",
        "2026-12-01 05:45:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-12-01T24:00:00Z",
        "2026-12-01T05:60:00Z",
        "2026-12-01T05:45:61Z",
        "2026-12-01T05:45:00.Z",
        "2026-12-01T05:45:00.0000000000Z",
        "2026-12-01T05:45:00Zx",
        "2026-12-01T05:45:00+24:00",
        "2026-12-01T05:45:00+01",
        "2026-12-01T05:45:00+01:60",
        "0000-12-01T05:45:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "+026-12-01T05:45:00Z",
    };
    int64_t seconds;
    int32_t nanos;
    char s[RFC3339_STRLEN];

    (void) state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_true(rfc3339_parse(same[i], &seconds, &nanos));
        assert_true(rfc3339_format(seconds, nanos, s));
        assert_string_equal(s, same[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(rfc3339_parse(bad[i], &seconds, &nanos));
    }
    assert_true(
        rfc3339_parse("2026-12-01t06:45:00.25+01:00", &seconds, &nanos));
    assert_int_equal(seconds, 1796103900);
    assert_int_equal(nanos, 250000000);
    assert_false(rfc3339_format(RFC3339_MAX + 1, 0, s));
    assert_false(rfc3339_format(RFC3339_MIN - 1, 0, s));
    assert_false(rfc3339_format(0, -1, s));
    assert_false(rfc3339_format(0, 1000000000, s));
}

/* Each time is read as it was written. */
static void
test_time_random(void **state)
{
    uint64_t random = 1;
    char s[RFC3339_STRLEN];

    (void) state;
    for (int i = 0; i < 10000; i++) {
        uint64_t span = (uint64_t) RFC3339_MAX - (uint64_t) RFC3339_MIN + 1;
        int64_t seconds =
            RFC3339_MIN + (int64_t) (unit_random(&random) % span);
        int32_t nanos = (int32_t) unit_random_below(&random, 1000000000);
        int64_t seconds2;
        int32_t nanos2;

        nanos -= i % 3 ? nanos % 1000 : 0;
        assert_true(rfc3339_format(seconds, nanos, s));
        assert_true(rfc3339_parse(s, &seconds2, &nanos2));
        assert_int_equal(seconds2, seconds);
        assert_int_equal(nanos2, nanos);
    }
}

/* Times and structs within messages. */
static void
test_known_types(void **state)
{
    (void) state;
    check("{\"type\":\"x\",\"detected_at\":\"2026-12-01T05:45:00.500Z\","
          "\"details\":{\"a\":[1,\"b\",null,true,{\"c\":{}}],\"d\":-1.5,"
          "\"\":null}}",
          ISSUE,
          "{\"type\":\"x\",\"severity\":\"\",\"message\":\"\","
          "\"details\":{\"\":null,\"a\":[1,\"b\",null,true,{\"c\":{}}],"
          "\"d\":-1.5},\"detected_at\":\"2026-12-01T05:45:00.500Z\"}");
    /* The same names in lowerCamelCase. */
    check("{\"detectedAt\":\"1970-01-01T00:00:00Z\"}", ISSUE,
          "{\"type\":\"\",\"severity\":\"\",\"message\":\"\","
          "\"detected_at\":\"1970-01-01T00:00:00Z\"}");
    refuse("{\"detected_At\":\"1970-01-01T00:00:00Z\"}", ISSUE,
           "detected_At: there is no such field");
    refuse("{\"detected_at\":5}", ISSUE, "detected_at: must be a time");
    refuse("{\"details\":[]}", ISSUE, "details: must be an object");
    refuse("{\"details\":\"x\"}", ISSUE, "details: must be an object");
}

/* A time that no text can say is null. */
static void
test_time_out_of_range(void **state)
{
    Google__Protobuf__Timestamp t = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Loadbalancer__ExtendReservationReply reply =
        LOADBALANCER__EXTEND_RESERVATION_REPLY__INIT;
    char *written;

    (void) state;
    t.seconds = INT64_MAX;
    reply.until = &t;
    written = write_compact(&reply.base);
    assert_string_equal(written, "{\"until\":null}");
    free(written);
}

static void
test_oneof(void **state)
{
    (void) state;
    check("{}", SELECTOR, "{}");
    check("{\"id\":0}", SELECTOR, "{\"id\":0}");
    check("{\"token\":\"t\"}", SELECTOR, "{\"token\":\"t\"}");
    check("{\"token\":null,\"id\":3}", SELECTOR, "{\"id\":3}");
    check("{\"integer_samples\":{\"data\":[{\"value\":\"7\"}]}}", SAMPLES,
          "{\"name\":\"\",\"unit\":\"\",\"integer_samples\":"
          "{\"data\":[{\"timestamp\":\"0\",\"value\":\"7\"}]}}");
    refuse("{\"id\":0,\"token\":\"\"}", SELECTOR,
           "token: excludes another field that is given, too");
}

/* An enumeration's number that has no name stays a number. */
static void
test_enum(void **state)
{
    struct arena arena;
    ProtobufCMessage *msg;
    char *written;

    (void) state;
    arena_init(&arena);
    unit_assert_error(parse("{\"portRange\":99}", STATUS, &arena, &msg), NULL);
    written = write_compact(msg);
    assert_non_null(strstr(written, "\"portRange\":99"));
    free(written);
    arena_destroy(&arena);
    refuse("{\"portRange\":\"PORT_RANGE_3\"}", STATUS,
           "portRange: \"PORT_RANGE_3\" is none of PORT_RANGE_1");
    refuse("{\"portRange\":2147483648}", STATUS,
           "portRange: must be a whole number");
    refuse("{\"portRange\":true}", STATUS, "portRange: must be a whole");
}

/* Each mistake, with the name of the field. */
static void
test_mistakes(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        { "[]", "must be an object, { ... }" },
        { "{\"lbid\":\"1\"}", "lbid: there is no such field" },
        { "{\"\":1}", "there is no such field" },
        { "{\"lbId\":5}", "lbId: must be a string" },
        { "{\"lbId\":\"a\xff\"}", "lbId: is not UTF-8" },
        { "{\"udpPort\":-1}",
          "udpPort: must be a whole number from 0 to 4294967295" },
        { "{\"udpPort\":4294967296}", "udpPort: must be a whole number" },
        { "{\"udpPort\":1.5}", "udpPort: must be a whole number" },
        { "{\"udpPort\":1e300}", "udpPort: must be a whole number" },
        { "{\"udpPort\":\"\"}", "udpPort: must be a whole number" },
        { "{\"udpPort\":\" 1\"}", "udpPort: must be a whole number" },
        { "{\"udpPort\":\"1x\"}", "udpPort: must be a whole number" },
        { "{\"udpPort\":\"+1\"}", "udpPort: must be a whole number" },
        { "{\"udpPort\":\"-\"}", "udpPort: must be a whole number" },
        { "{\"udpPort\":\"0x10\"}", "udpPort: must be a whole number" },
        { "{\"udpPort\":\"99999999999999999999\"}",
          "udpPort: must be a whole number" },
        { "{\"udpPort\":true}", "udpPort: must be a whole number" },
        { "{\"udpPort\":[1]}", "udpPort: must be a whole number" },
        { "{\"weight\":1e39}", "weight: is too large" },
        { "{\"weight\":3.4028236e38}", "weight: is too large" },
        { "{\"weight\":\"1e999\"}", "weight: is too large" },
        { "{\"weight\":\"\"}", "weight: must be a number" },
        { "{\"weight\":\"inf\"}", "weight: must be a number" },
        { "{\"weight\":\"0x1p3\"}", "weight: must be a number" },
        { "{\"weight\":\"1e\"}", "weight: must be a number" },
        { "{\"weight\":{}}", "weight: must be a number" },
        { "{\"keepLbHeader\":1}", "keepLbHeader: must be true or false" },
        { "{\"keepLbHeader\":\"true\"}", "keepLbHeader: must be true" },
        { "{\"slotDemands\":{}}", "slotDemands: must be a list, [ ... ]" },
        { "{\"slotDemands\":[{},{\"length\":-1}]}",
          "slotDemands[1].length: must be a whole number" },
        { "{\"slotDemands\":[{},null]}", "slotDemands[1]: must be an object" },
        { "{\"slotDemands\":[{\"x\":1}]}",
          "slotDemands[0].x: there is no such field" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refuse(cases[i].text, REGISTER, cases[i].error);
    }
}

/* Lists in lists, as deep as is asked. */
static char *
make_deep(int depth)
{
    char *text;
    size_t n;
    FILE *stream = open_memstream(&text, &n);

    fputs("{\"details\":{\"a\":", stream);
    for (int i = 0; i < depth; i++) {
        putc('[', stream);
    }
    for (int i = 0; i < depth; i++) {
        putc(']', stream);
    }
    fputs("}}", stream);
    fclose(stream);
    return text;
}

static void
test_depth(void **state)
{
    struct arena arena;
    ProtobufCMessage *msg;
    char *text = make_deep(PB_JSON_MAX_DEPTH - 1);

    (void) state;
    arena_init(&arena);
    unit_assert_error(parse(text, ISSUE, &arena, &msg), NULL);
    arena_destroy(&arena);
    free(text);
    text = make_deep(PB_JSON_MAX_DEPTH);
    refuse(text, ISSUE, "[0]: is deeper than 32 levels");
    free(text);
}

/* What is no UTF-8 does not make the JSON of others unreadable. */
static void
test_utf8(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        { "\xff", "\\ufffd" },
        { "a\xc3", "a\\ufffd" },
        { "\xc0\x80", "\\ufffd\\ufffd" },
        { "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd" },
        { "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
        { "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" },
        { "\xe2\x82\xac\xe2\x82", "\xe2\x82\xac\\ufffd\\ufffd" },
        { "\x7f\"\\", "\x7f\\\"\\\\" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Loadbalancer__GetLoadBalancerRequest r =
            LOADBALANCER__GET_LOAD_BALANCER_REQUEST__INIT;
        char expected[128], *written;

        r.lbid = (char *) cases[i].in;
        written = write_compact(&r.base);
        snprintf(expected, sizeof expected, "{\"lbId\":\"%s\"}", cases[i].out);
        assert_string_equal(written, expected);
        free(written);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_int64),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_time_random),
        cmocka_unit_test(test_known_types),
        cmocka_unit_test(test_time_out_of_range),
        cmocka_unit_test(test_oneof),
        cmocka_unit_test(test_enum),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
