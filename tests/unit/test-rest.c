/* SPDX-License-Identifier: Apache-2.0 */

/* Requests of the control API by HTTP, and the text of metrics. */

#include "controller/api/rest.h"

#include <math.h>
#include <stdio.h>

#include "controller/api/loadbalancer.pb-c.h"
#include "controller/api/metrics-text.h"
#include "lib/arena.h"
#include "lib/histogram.h"
#include "tests/unit/unit.h"

#define SERIES (&loadbalancer__timeseries_request__descriptor)
#define LIST (&loadbalancer__list_child_tokens_request__descriptor)
#define SENDERS (&loadbalancer__add_senders_request__descriptor)
#define REGISTER (&loadbalancer__register_request__descriptor)

static void
test_query(void **state)
{
    const Loadbalancer__TimeseriesRequest *r;
    struct arena arena;
    ProtobufCMessage *msg;

    (void) state;
    arena_init(&arena);
    unit_assert_error(
        rest_parse_query("seriesSelector=%2Flb%2F1%2F*&seriesSelector=b"
                         "&since=1970-01-01T00%3A00%3A05Z",
                         SERIES, &arena, &msg),
        NULL);
    r = (const void *) msg;
    assert_int_equal(r->n_seriesselector, 2);
    assert_string_equal(r->seriesselector[0], "/lb/1/*");
    assert_string_equal(r->seriesselector[1], "b");
    assert_int_equal(r->since->seconds, 5);
    arena_destroy(&arena);
}

/* Fields of messages in messages, and values of all kinds. */
static void
test_query_types(void **state)
{
    const Loadbalancer__ListChildTokensRequest *list;
    const Loadbalancer__RegisterRequest *r;
    struct arena arena;
    ProtobufCMessage *msg;

    (void) state;
    arena_init(&arena);
    unit_assert_error(rest_parse_query("target.id=7", LIST, &arena, &msg),
                      NULL);
    list = (const void *) msg;
    assert_int_equal(list->target->token_selector_case,
                     LOADBALANCER__TOKEN_SELECTOR__TOKEN_SELECTOR_ID);
    assert_int_equal(list->target->id, 7);

    unit_assert_error(rest_parse_query("keepLbHeader=true&weight=0.5&udpPort=9"
                                       "&portRange=PORT_RANGE_4&name=a+b",
                                       REGISTER, &arena, &msg),
                      NULL);
    r = (const void *) msg;
    assert_true(r->keeplbheader);
    assert_float_equal(r->weight, 0.5, 0);
    assert_int_equal(r->udpport, 9);
    assert_int_equal(r->portrange, LOADBALANCER__PORT_RANGE__PORT_RANGE_4);
    assert_string_equal(r->name, "a b");
    arena_destroy(&arena);
}

static void
test_query_of_nothing(void **state)
{
    static const char *const queries[] = { NULL, "" };
    struct arena arena;
    ProtobufCMessage *msg;

    (void) state;
    arena_init(&arena);
    for (size_t i = 0; i < 2; i++) {
        unit_assert_error(rest_parse_query(queries[i], SENDERS, &arena, &msg),
                          NULL);
        assert_int_equal(
            ((const Loadbalancer__AddSendersRequest *) msg)->n_senderaddresses,
            0);
    }
    arena_destroy(&arena);
}

static void
test_query_mistakes(void **state)
{
    static const struct {
        const char *query;
        const ProtobufCMessageDescriptor *type;
        const char *error;
    } cases[] = {
        { "x=1", SERIES, "x: there is no such field" },
        { "since=", SERIES, "since: must be a time" },
        { "since=1&since=2", SERIES, "since: is given twice" },
        { "since.seconds=1", SERIES, "since: must be a time" },
        { "seriesSelector.x=1", SERIES, "seriesSelector.x: there is no such" },
        { "target=1", LIST, "target: must be an object" },
        { "target=1&target.id=1", LIST, "target.id: there is no such field" },
        { "target.id=1&target=1", LIST, "target: is given twice" },
        { "target.id=x", LIST, "target.id: must be a whole number" },
        { "target.token=0123", LIST, "use POST" },
        { ".=1", LIST, ".: there is no such field" },
        { "keepLbHeader=1", REGISTER, "keepLbHeader: must be true" },
        { "lbId", REGISTER, "the address is not" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        ProtobufCMessage *msg;

        arena_init(&arena);
        unit_assert_error(
            rest_parse_query(cases[i].query, cases[i].type, &arena, &msg),
            cases[i].error);
        assert_null(msg);
        arena_destroy(&arena);
    }
}

/* More parameters than there may be. */
static void
test_query_long(void **state)
{
    char query[2000] = "seriesSelector=0";
    struct arena arena;
    ProtobufCMessage *msg;

    (void) state;
    arena_init(&arena);
    for (int i = 1; i < 64; i++) {
        size_t n = strlen(query);

        snprintf(query + n, sizeof query - n, "&seriesSelector=%d", i);
    }
    unit_assert_error(rest_parse_query(query, SERIES, &arena, &msg), NULL);
    snprintf(query + strlen(query), 4, "&a=");
    unit_assert_error(rest_parse_query(query, SERIES, &arena, &msg),
                      "there are more than 64 parameters");
    arena_destroy(&arena);
}

static void
test_content_types(void **state)
{
    (void) state;
    assert_true(rest_is_json("application/json"));
    assert_true(rest_is_json("Application/JSON;charset=utf-8"));
    assert_true(rest_is_json("application/json ; charset=utf-8"));
    assert_false(rest_is_json(NULL));
    assert_false(rest_is_json(""));
    assert_false(rest_is_json("application/jsonp"));
    assert_false(rest_is_json("text/plain"));
}

static void
test_origins(void **state)
{
    (void) state;
    assert_true(rest_is_same_origin("http://a:80", "a:80"));
    assert_true(rest_is_same_origin("https://[::1]:80", "[::1]:80"));
    assert_true(rest_is_same_origin("http://A", "a"));
    assert_false(rest_is_same_origin("http://a", "a:80"));
    assert_false(rest_is_same_origin("http://a.b", "a"));
    assert_false(rest_is_same_origin("ftp://a", "a"));
    assert_false(rest_is_same_origin("null", "a"));
    assert_false(rest_is_same_origin("", ""));
    assert_false(rest_is_same_origin("http://a", NULL));
}

/* Metrics. */

static void
test_metrics(void **state)
{
    struct histogram h = { .sum = 0 };
    struct metrics m;
    char *text;
    size_t n;

    (void) state;
    m.stream = open_memstream(&text, &n);
    metrics_family(&m, "a", METRICS_GAUGE, "About it.");
    metrics_value(&m, 0.1, NULL);
    metrics_count(&m, UINT64_MAX, "x", "1", "y", "a\"b\\c\nd", NULL);
    metrics_value(&m, NAN, "x", "", NULL);
    metrics_value(&m, -INFINITY, NULL);
    metrics_family(&m, "b", METRICS_HISTOGRAM, "How long.");
    histogram_add(&h, 0.0005);
    histogram_add(&h, 0.3);
    histogram_add(&h, 100);
    metrics_histogram(&m, &h);
    fclose(m.stream);
    assert_string_equal(text, "# HELP a About it.\n"
                              "# TYPE a gauge\n"
                              "a 0.1\n"
                              "a{x=\"1\",y=\"a\\\"b\\\\c\\nd\"} "
                              "18446744073709551615\n"
                              "a{x=\"\"} NaN\n"
                              "a -Inf\n"
                              "# HELP b How long.\n"
                              "# TYPE b histogram\n"
                              "b_bucket{le=\"0.0005\"} 1\n"
                              "b_bucket{le=\"0.001\"} 1\n"
                              "b_bucket{le=\"0.0025\"} 1\n"
                              "b_bucket{le=\"0.005\"} 1\n"
                              "b_bucket{le=\"0.01\"} 1\n"
                              "b_bucket{le=\"0.025\"} 1\n"
                              "b_bucket{le=\"0.05\"} 1\n"
                              "b_bucket{le=\"0.1\"} 1\n"
                              "b_bucket{le=\"0.25\"} 1\n"
                              "b_bucket{le=\"0.5\"} 2\n"
                              "b_bucket{le=\"1\"} 2\n"
                              "b_bucket{le=\"2.5\"} 2\n"
                              "b_bucket{le=\"+Inf\"} 3\n"
                              "b_sum 100.3005\n"
                              "b_count 3\n");
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_query_types),
        cmocka_unit_test(test_query_of_nothing),
        cmocka_unit_test(test_query_mistakes),
        cmocka_unit_test(test_query_long),
        cmocka_unit_test(test_content_types),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_metrics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
