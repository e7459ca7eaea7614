/* SPDX-License-Identifier: Apache-2.0 */

/* The codecs of gRPC: statuses, texts, timeouts, and messages. */

#include "controller/api/grpc-message.h"
#include "controller/api/grpc-status.h"

#include <event2/buffer.h>

#include "controller/core/mem.h"
#include "tests/grpc/echo.pb-c.h"
#include "tests/unit/unit.h"

static void
test_status(void **state)
{
    (void) state;
    assert_string_equal(grpc_status_to_string(GRPC_OK), "OK");
    assert_string_equal(grpc_status_to_string(GRPC_UNAUTHENTICATED),
                        "UNAUTHENTICATED");
    assert_int_equal(grpc_status_from_header("0"), GRPC_OK);
    assert_int_equal(grpc_status_from_header("16"), GRPC_UNAUTHENTICATED);
    assert_int_equal(grpc_status_from_header("17"), GRPC_UNKNOWN);
    assert_int_equal(grpc_status_from_header(""), GRPC_UNKNOWN);
    assert_int_equal(grpc_status_from_header("-1"), GRPC_UNKNOWN);
    assert_int_equal(grpc_status_from_header("999999999"), GRPC_UNKNOWN);
    assert_int_equal(grpc_status_from_http("503"), GRPC_UNAVAILABLE);
    assert_int_equal(grpc_status_from_http("404"), GRPC_UNIMPLEMENTED);
    assert_int_equal(grpc_status_from_http("418"), GRPC_UNKNOWN);
}

static void
check_text(const char *text, const char *encoded)
{
    char *s = grpc_text_encode(text);
    char *back = grpc_text_decode(encoded);

    assert_string_equal(s, encoded);
    assert_string_equal(back, text);
    free(s);
    free(back);
}

static void
check_decode(const char *encoded, const char *text)
{
    char *s = grpc_text_decode(encoded);

    assert_string_equal(s, text);
    free(s);
}

static void
test_text(void **state)
{
    (void) state;
    check_text("", "");
    check_text("plain text ~!", "plain text ~!");
    check_text("100 %", "100 %25");
    check_text("a\nb\x7f", "a%0Ab%7F");
    check_text("\xc3\xa9", "%C3%A9");

    check_decode("%c3%a9", "\xc3\xa9");
    check_decode("%", "%");
    check_decode("%4", "%4");
    check_decode("%4x%41", "%4xA");
    check_decode("a%00b", "a?b");
}

static void
check_timeout(const char *s, int64_t expected)
{
    int64_t ms = -1;

    assert_true(grpc_timeout_parse(s, &ms));
    assert_int_equal(ms, expected);
}

static void
test_timeout(void **state)
{
    static const char *const bad[] = { "",    "m",          "1",   "1x",
                                       "-1m", "123456789m", " 1m", "1 m",
                                       "1mm", "1.5S" };
    char s[GRPC_TIMEOUT_STRLEN];
    int64_t ms;

    (void) state;
    check_timeout("0m", 0);
    check_timeout("250m", 250);
    check_timeout("2S", 2000);
    check_timeout("3M", 180000);
    check_timeout("1H", 3600000);
    check_timeout("1u", 1);
    check_timeout("1000000n", 1);
    check_timeout("1000001n", 2);
    check_timeout("99999999n", 100);
    check_timeout("99999999H", GRPC_TIMEOUT_MAX_MS);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (grpc_timeout_parse(bad[i], &ms)) {
            fail_msg("\"%s\" was accepted", bad[i]);
        }
    }
    grpc_timeout_format(GRPC_TIMEOUT_MAX_MS, s);
    check_timeout(s, GRPC_TIMEOUT_MAX_MS);
}

static void
check_message(const ProtobufCMessage *msg, const char *text)
{
    assert_non_null(msg);
    assert_string_equal(((const Evlb__Test__Text *) msg)->text, text);
}

/* Three messages, in pieces of all sizes. */
static void
test_messages(void **state)
{
    static const char *const texts[] = { "", "one", "another message" };
    struct evbuffer *buffer = evbuffer_new();
    size_t length = 0;
    uint8_t *wire;

    (void) state;
    for (size_t i = 0; i < 3; i++) {
        Evlb__Test__Text text = EVLB__TEST__TEXT__INIT;

        text.text = (char *) texts[i];
        length += grpc_encode(buffer, &text.base);
    }
    assert_int_equal(evbuffer_get_length(buffer), length);
    wire = evbuffer_pullup(buffer, -1);

    for (size_t piece = 1; piece <= length; piece++) {
        struct grpc_decoder d;
        size_t n_messages = 0;

        grpc_decoder_init(&d, 100);
        for (size_t i = 0; i < length;) {
            size_t n = length - i < piece ? length - i : piece;
            const char *error;
            size_t used = 0;

            assert_int_equal(grpc_decoder_push(&d, wire + i, n, &used, &error),
                             GRPC_OK);
            i += used;
            if (grpc_decoder_is_whole(&d)) {
                ProtobufCMessage *msg =
                    grpc_decoder_take(&d, &evlb__test__text__descriptor);

                check_message(msg, texts[n_messages % 3]);
                n_messages++;
                protobuf_c_message_free_unpacked(msg, NULL);
            } else {
                assert_true(used > 0);
            }
        }
        assert_int_equal(n_messages, 3);
        assert_true(grpc_decoder_is_empty(&d));
        grpc_decoder_destroy(&d);
    }
    evbuffer_free(buffer);
}

/* Memory is taken as bytes come, whatever length is announced. */
static void
test_announced_length(void **state)
{
    static const uint8_t wire[] = { 0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3 };
    struct grpc_decoder d;
    const char *error;
    size_t used;

    (void) state;
    grpc_decoder_init(&d, 0x7fffffff);
    assert_int_equal(grpc_decoder_push(&d, wire, sizeof wire, &used, &error),
                     GRPC_OK);
    assert_int_equal(used, sizeof wire);
    assert_true(d.allocated < 100);
    assert_false(grpc_decoder_is_whole(&d));
    grpc_decoder_destroy(&d);

    grpc_decoder_init(&d, 0x7ffffffe);
    assert_int_equal(grpc_decoder_push(&d, wire, sizeof wire, &used, &error),
                     GRPC_RESOURCE_EXHAUSTED);
    grpc_decoder_destroy(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_announced_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
