/* SPDX-License-Identifier: Apache-2.0 */

/* What clients say first, and what those of HTTP/1 are answered. */

#include "controller/api/grpc-greeting.h"

#include <stdio.h>

#include "tests/unit/unit.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* Returns the kind of 's', which is not terminated there. */
static enum grpc_greeting_kind
kind(const char *s, size_t n)
{
    char *copy = malloc(n);
    enum grpc_greeting_kind result;

    memcpy(copy, s, n);
    result = grpc_greeting_get_kind(copy, n);
    free(copy);
    return result;
}

static void
test_http2(void **state)
{
    static const char more[] = PREFACE "\0\0\0";

    (void) state;
    for (size_t n = 1; n < sizeof PREFACE - 1; n++) {
        assert_int_equal(kind(PREFACE, n), GRPC_GREETING_MORE);
    }
    assert_int_equal(kind(PREFACE, sizeof PREFACE - 1), GRPC_GREETING_HTTP2);
    assert_int_equal(kind(more, sizeof more), GRPC_GREETING_HTTP2);
}

static void
test_http1(void **state)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /x HTTP/1.0\r\n\r\nbody",
        "PRI * HTTP/2.1\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\n\r\n",
    };

    (void) state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const char *end = strstr(requests[i], "\r\n\r\n") + 4;

        for (size_t n = 1; n < (size_t) (end - requests[i]); n++) {
            assert_int_equal(kind(requests[i], n), GRPC_GREETING_MORE);
        }
        assert_int_equal(kind(requests[i], (size_t) (end - requests[i])),
                         GRPC_GREETING_HTTP1);
        assert_int_equal(kind(requests[i], strlen(requests[i])),
                         GRPC_GREETING_HTTP1);
    }
}

static void
test_other(void **state)
{
    static const char *const texts[] = {
        "\x16\x03\x01",  " GET / HTTP/1.1",   "get / HTTP/1.1", "GET\r\n",
        "SSH-2.0-x\r\n", "ABCDEFGHIJKLMNOPQ", "PRI\t",          "\r\n\r\n",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(kind(texts[i], strlen(texts[i])),
                         GRPC_GREETING_OTHER);
    }
}

/* A request whose headers do not end. */
static void
test_endless(void **state)
{
    static char s[GRPC_GREETING_MAX];

    (void) state;
    memset(s, 'x', sizeof s);
    s[0] = 'G';
    s[1] = ' ';
    assert_int_equal(kind(s, sizeof s - 1), GRPC_GREETING_MORE);
    assert_int_equal(kind(s, sizeof s), GRPC_GREETING_OTHER);
}

/* Checks that 'request' is sent to 'location', or nowhere if that is NULL. */
static void
check_location(const char *request, bool tls, const char *location)
{
    char *reply = grpc_greeting_reply(request, strlen(request), 19524, tls);
    char expected[256];

    if (location) {
        snprintf(expected, sizeof expected,
                 "HTTP/1.1 308 Permanent Redirect\r\nLocation: %s\r\n",
                 location);
        if (strncmp(reply, expected, strlen(expected))) {
            fail_msg("\"%s\" is answered \"%s\"", request, reply);
        }
        assert_non_null(strstr(reply, "Content-Length: 0\r\n"));
    } else {
        assert_int_equal(strncmp(reply, "HTTP/1.1 400 ", 13), 0);
        assert_null(strstr(reply, "Location"));
    }
    assert_non_null(strstr(reply, "\r\nConnection: close\r\n"));
    free(reply);
}

#define GET(PATH, HOST) \
    "GET " PATH " HTTP/1.1\r\nUser-Agent: x\r\nHost: " HOST "\r\n\r\n"

static void
test_redirect(void **state)
{
    (void) state;
    check_location(GET("/a?b=c", "lb.example.org:19523"), false,
                   "http://lb.example.org:19524/a?b=c");
    check_location(GET("/", "10.0.0.1"), true, "https://10.0.0.1:19524/");
    check_location(GET("/", "[2001:db8::1]:19523"), false,
                   "http://[2001:db8::1]:19524/");
    check_location("GET / HTTP/1.1\r\nhOST:\t x-y \r\n\r\n", false,
                   "http://x-y:19524/");
    check_location(GET("*", "a"), false, "http://a:19524/");
}

/* Nothing of the request gets into the answer that is no path and no host, and
 * no other site is named. */
static void
test_hostile_request(void **state)
{
    (void) state;
    check_location(GET("//evil.example/", "a"), false, "http://a:19524/");
    check_location(GET("/\\evil.example", "a"), false, "http://a:19524/");
    check_location(GET("http://evil.example/", "a"), false, "http://a:19524/");
    check_location(GET("/a\rSet-Cookie:x", "a"), false, "http://a:19524/a");
    check_location(GET("/", "user@a"), false, NULL);
    check_location(GET("/", "a/b"), false, NULL);
    check_location(GET("/", "[::1"), false, NULL);
    check_location(GET("/", "[::1/x]"), false, NULL);
    check_location(GET("/", "[]"), false, NULL);
    check_location(GET("/", ":80"), false, NULL);
    check_location(GET("/", ""), false, NULL);
    check_location("GET / HTTP/1.1\r\n\r\n", false, NULL);
    check_location("GET / HTTP/1.1\r\nHost:", false, NULL);
    check_location("GET", false, NULL);
}

static void
test_no_http(void **state)
{
    char *reply =
        grpc_greeting_reply(GET("/", "a"), strlen(GET("/", "a")), 0, false);

    (void) state;
    assert_int_equal(strncmp(reply, "HTTP/1.1 400 ", 13), 0);
    assert_non_null(strstr(reply, "gRPC"));
    free(reply);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http2),
        cmocka_unit_test(test_http1),
        cmocka_unit_test(test_other),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_redirect),
        cmocka_unit_test(test_hostile_request),
        cmocka_unit_test(test_no_http),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
