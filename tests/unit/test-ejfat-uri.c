/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/ejfat-uri.h"

#include <stdio.h>

#include "controller/core/addr.h"
#include "controller/core/mem.h"

#include "tests/unit/unit.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static struct ejfat_uri
parse(const char *s)
{
    struct ejfat_uri uri;

    unit_assert_error(ejfat_uri_parse(s, &uri), NULL);
    return uri;
}

/* Checks that 's' is refused with an error that holds 'expected' and nothing
 * of the secret. */
static void
check_refused(const char *s, const char *expected)
{
    struct ejfat_uri uri;
    char *error = ejfat_uri_parse(s, &uri);

    if (error) {
        assert_null(strstr(error, "0123"));
        assert_null(strstr(error, "secret"));
        assert_null(strchr(error, '\n'));
    }
    unit_assert_error(error, expected);
}

static void
check_endpoint(const struct ejfat_endpoint *endpoint, const char *ip,
               unsigned int min_port, unsigned int max_port)
{
    char s[ADDR_STRLEN];

    assert_int_equal(endpoint->min_port, min_port);
    assert_int_equal(endpoint->max_port, max_port);
    if (ip) {
        addr_to_string(&endpoint->ip, s);
        assert_string_equal(s, ip);
    }
}

static void
test_all_parts(void **state)
{
    struct ejfat_uri uri =
        parse("ejfats://" TOKEN "@lb.example.org:18008/lb/17"
              "?sync=192.0.2.1:19531&sync=[2001:db8::1]:19532"
              "&data=192.0.2.2:16384-32767&data=[2001:db8::2]"
              "&sessionid=44");

    (void) state;
    assert_true(uri.tls);
    assert_string_equal(uri.token, TOKEN);
    assert_string_equal(uri.host, "lb.example.org");
    assert_int_equal(uri.port, 18008);
    assert_string_equal(uri.lb_id, "17");
    assert_string_equal(uri.session_id, "44");
    check_endpoint(&uri.sync[EJFAT_IPV4], "192.0.2.1", 19531, 19531);
    check_endpoint(&uri.sync[EJFAT_IPV6], "2001:db8::1", 19532, 19532);
    check_endpoint(&uri.data[EJFAT_IPV4], "192.0.2.2", 16384, 32767);
    check_endpoint(&uri.data[EJFAT_IPV6], "2001:db8::2", 19522, 19522);
}

/* What an operator's token comes with, and hosts of each kind. */
static void
test_few_parts(void **state)
{
    static const char *const no_id[] = {
        "ejfat://root@192.0.2.1:19523",
        "ejfat://root@192.0.2.1:19523/",
        "ejfat://root@192.0.2.1:19523/lb",
        "ejfat://root@192.0.2.1:19523/lb/",
        "ejfat://root@192.0.2.1:19523/lb/?",
    };
    struct ejfat_uri uri;

    (void) state;
    for (size_t i = 0; i < sizeof no_id / sizeof no_id[0]; i++) {
        uri = parse(no_id[i]);
        assert_false(uri.tls);
        assert_string_equal(uri.token, "root");
        assert_string_equal(uri.host, "192.0.2.1");
        assert_int_equal(uri.port, 19523);
        assert_string_equal(uri.lb_id, "");
        check_endpoint(&uri.sync[EJFAT_IPV4], NULL, 0, 0);
        check_endpoint(&uri.data[EJFAT_IPV6], NULL, 0, 0);
    }

    uri = parse("ejfat://[2001:db8::5]:19523/a/b/lb/7");
    assert_string_equal(uri.token, "");
    assert_string_equal(uri.host, "2001:db8::5");
    assert_string_equal(uri.lb_id, "7");
}

/* The token goes to the last "@", so that one with such a character in it
 * does not become a host. */
static void
test_encoded(void **state)
{
    struct ejfat_uri uri = parse("ejfat://a@b%2f%25:c@h:19523/lb/x%2Fy"
                                 "?data=%5B2001:db8::1%5D:20000");

    (void) state;
    assert_string_equal(uri.token, "a@b/%:c");
    assert_string_equal(uri.host, "h");
    assert_string_equal(uri.lb_id, "x/y");
    check_endpoint(&uri.data[EJFAT_IPV6], "2001:db8::1", 20000, 20000);
}

static void
test_refused(void **state)
{
    static const struct {
        const char *uri, *error;
    } cases[] = {
        { "", "starts with neither" },
        { "http://secret@h:19523/lb/1", "starts with neither" },
        { "ejfat:/secret@h:19523/lb/1", "starts with neither" },
        { "ejfat://", "HOST:PORT" },
        { "ejfat://secret@", "HOST:PORT" },
        { "ejfat://secret", "HOST:PORT" },
        { "ejfat://secret@h/lb/1", "HOST:PORT" },
        { "ejfat://secret@h:/lb/1", "HOST:PORT" },
        { "ejfat://secret@h:0/lb/1", "HOST:PORT" },
        { "ejfat://secret@h:65536/lb/1", "HOST:PORT" },
        { "ejfat://secret@h:99999999999999999999/lb/1", "HOST:PORT" },
        { "ejfat://secret@h:19523x/lb/1", "HOST:PORT" },
        { "ejfat://secret@:19523/lb/1", "HOST:PORT" },
        { "ejfat://secret@h_/x:19523/lb/1", "HOST:PORT" },
        { "ejfat://secret@h%00:19523/lb/1", "HOST:PORT" },
        { "ejfat://secret@2001:db8::5:19523/lb/1", "HOST:PORT" },
        { "ejfat://secret@[2001:db8::5:19523/lb/1", "HOST:PORT" },
        { "ejfat://secret@[2001:db8::5]/lb/1", "HOST:PORT" },
        { "ejfat://secret@[192.0.2.1]:19523/lb/1", "HOST:PORT" },
        { "ejfat://secret@[h]:19523/lb/1", "HOST:PORT" },
        { "ejfat://sec\nret@h:19523/lb/1", "the token" },
        { "ejfat://secret%0d%0a@h:19523/lb/1", "the token" },
        { "ejfat://secret%4@h:19523/lb/1", "the token" },
        { "ejfat://secret%zz@h:19523/lb/1", "the token" },
        { "ejfat://secret\xc3\xa4@h:19523/lb/1", "the token" },
        { "ejfat://secret@h:19523/lb/1 2", "the reservation" },
        { "ejfat://secret@h:19523/lb/%", "the reservation" },
        { "ejfat://secret@h:19523/lb/1#x", "'#'" },
        { "ejfat://secret@h:19523/lb/1?sync", "KEY=VALUE" },
        { "ejfat://secret@h:19523/lb/1?&", "KEY=VALUE" },
        { "ejfat://secret@h:19523/lb/1?a-key-too-long-here=1", "KEY=VALUE" },
        { "ejfat://secret@h:19523/lb/1?sink=1", "'sink='" },
        { "ejfat://secret@h:19523/lb/1?sync=192.0.2.1", "sync=192.0.2.1 is" },
        { "ejfat://secret@h:19523/lb/1?sync=192.0.2.1:1-2", "IP:PORT" },
        { "ejfat://secret@h:19523/lb/1?sync=h:19523", "sync=h:19523" },
        { "ejfat://secret@h:19523/lb/1?data=192.0.2.1:2-1", "IP:MIN-MAX" },
        { "ejfat://secret@h:19523/lb/1?data=192.0.2.1:1-65536", "data=" },
        { "ejfat://secret@h:19523/lb/1?data=192.0.2.1:1-2x", "data=" },
        { "ejfat://secret@h:19523/lb/1?data=192.0.2.1:", "data=" },
        { "ejfat://secret@h:19523/lb/1?data=2001:db8::1", "data=" },
        { "ejfat://secret@h:19523/lb/1?data=192.0.2.1&data=192.0.2.2",
          "data= is there twice for IPv4" },
        { "ejfat://secret@h:19523/lb/1?sync=[::1]:19531&sync=[::2]:19531",
          "sync= is there twice for IPv6" },
        { "ejfat://secret@h:19523/lb/1?sessionid=", "sessionid=" },
        { "ejfat://secret@h:19523/lb/1?sessionid=1&sessionid=2",
          "sessionid= is there twice" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_refused(cases[i].uri, cases[i].error);
    }
}

/* Checks that 'n' bytes between 'before' and 'after' are accepted and one
 * more is not. */
static void
check_bound(const char *before, const char *after, size_t n,
            const char *expected)
{
    char ones[EJFAT_URI_MAX + 2], s[2 * sizeof ones];

    for (size_t more = 0; more < 2; more++) {
        struct ejfat_uri uri;

        memset(ones, '1', n + more);
        ones[n + more] = '\0';
        snprintf(s, sizeof s, "%s%s%s", before, ones, after);
        unit_assert_error(ejfat_uri_parse(s, &uri), more ? expected : NULL);
    }
}

static void
test_bounds(void **state)
{
    static const char whole[] = "ejfat://h:19523/";

    (void) state;
    check_bound("ejfat://", "@h:19523/lb/1", EJFAT_TOKEN_MAX, "the token");
    check_bound("ejfat://", ":19523/lb/1", EJFAT_HOST_MAX, "HOST:PORT");
    check_bound("ejfat://h:19523/lb/", "", EJFAT_ID_MAX, "the reservation");
    check_bound("ejfat://h:19523/lb/1?sessionid=", "", EJFAT_ID_MAX,
                "sessionid=");
    check_bound(whole, "/lb/1", EJFAT_URI_MAX - strlen(whole) - 5, "longer");
}

static void
check_round_trip(const char *s, const char *public)
{
    struct ejfat_uri uri = parse(s);
    char *text = ejfat_uri_to_string(&uri);
    char *public_text = ejfat_uri_to_public_string(&uri);

    unit_assert_error(ejfat_uri_check(&uri), NULL);
    assert_string_equal(text, s);
    assert_string_equal(public_text, public);
    free(text);
    free(public_text);
}

static void
test_print(void **state)
{
    (void) state;
    check_round_trip("ejfat://" TOKEN "@h:19523/lb/", "ejfat://h:19523/lb/");
    check_round_trip("ejfats://a%40b%2F%25%3Ac@[2001:db8::5]:19523/lb/x%2Fy"
                     "?sessionid=44"
                     "&sync=[2001:db8::1]:19532&sync=192.0.2.1:19531"
                     "&data=[2001:db8::2]:19522&data=192.0.2.2:16384-32767",
                     "ejfats://[2001:db8::5]:19523/lb/x%2Fy?sessionid=44"
                     "&sync=[2001:db8::1]:19532&sync=192.0.2.1:19531"
                     "&data=[2001:db8::2]:19522&data=192.0.2.2:16384-32767");
    check_round_trip("ejfat://h:1024/lb/1?data=192.0.2.2:19522",
                     "ejfat://h:1024/lb/1?data=192.0.2.2:19522");
}

/* Client libraries read what we print, with limits of their own. */
static void
test_check(void **state)
{
    struct ejfat_uri uri = { .host = "h" };

    (void) state;
    unit_assert_error(ejfat_uri_check(&uri), "control plane");
    uri = parse("ejfat://h:1023/lb/1");
    unit_assert_error(ejfat_uri_check(&uri), "control plane");
    uri = parse("ejfat://h:1024/lb/1?sync=192.0.2.1:1023");
    unit_assert_error(ejfat_uri_check(&uri), "sync= has port 1023");
    uri = parse("ejfat://h:1024/lb/1?data=[2001:db8::1]:80-2000");
    unit_assert_error(ejfat_uri_check(&uri), "data= has port 80");
    uri.host[0] = '\0';
    unit_assert_error(ejfat_uri_check(&uri), "control plane");
}

static void
check_authority(const char *s, const char *expected, unsigned int port)
{
    char host[EJFAT_HOST_MAX + 1];
    uint16_t got;

    if (!expected) {
        assert_false(ejfat_authority_parse(s, host, &got));
        return;
    }
    assert_true(ejfat_authority_parse(s, host, &got));
    assert_string_equal(host, expected);
    assert_int_equal(got, port);
}

static void
test_authority(void **state)
{
    (void) state;
    check_authority("lb.example.org:19523", "lb.example.org", 19523);
    check_authority("192.0.2.1:1", "192.0.2.1", 1);
    check_authority("[2001:db8::1]:65535", "2001:db8::1", 65535);
    check_authority("", NULL, 0);
    check_authority("localhost", NULL, 0);
    check_authority("user@host:19523", NULL, 0);
    check_authority("host:19523/", NULL, 0);
    check_authority("/run/evlb/evlbd.sock", NULL, 0);
    check_authority("[::1]19523", NULL, 0);
    check_authority("[]:19523", NULL, 0);
}

/* Whatever can be printed is read back as it was. */
static void
test_random(void **state)
{
    uint64_t random = 7;

    (void) state;
    for (int n = 0; n < 2000; n++) {
        struct ejfat_uri uri = { .host = "a.b", .port = 19523 }, back;
        char *text;

        uri.tls = unit_random_below(&random, 2);
        for (unsigned int i = unit_random_below(&random, 80); i--;) {
            uri.token[i] = (char) ('!' + unit_random_below(&random, 94));
        }
        for (unsigned int i = unit_random_below(&random, EJFAT_ID_MAX); i--;) {
            uri.lb_id[i] = (char) ('!' + unit_random_below(&random, 94));
        }
        if (unit_random_below(&random, 2)) {
            struct ejfat_endpoint *e = &uri.data[EJFAT_IPV4];

            assert_true(addr_from_string("192.0.2.1", &e->ip));
            e->min_port = (uint16_t) (1024 + unit_random_below(&random, 9999));
            e->max_port =
                (uint16_t) (e->min_port + unit_random_below(&random, 3));
        }
        text = ejfat_uri_to_string(&uri);
        back = parse(text);
        assert_memory_equal(&uri, &back, sizeof uri);
        free(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_parts), cmocka_unit_test(test_few_parts),
        cmocka_unit_test(test_encoded),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_print),
        cmocka_unit_test(test_check),     cmocka_unit_test(test_authority),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
