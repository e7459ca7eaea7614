/* SPDX-License-Identifier: Apache-2.0 */

/* The client's side of a gRPC connection, with a server's session at the other
 * end, or with a server that does not do as it should. */

#include "controller/api/grpc-client-session.h"

#include <stdio.h>

#include <nghttp2/nghttp2.h>

#include "controller/api/grpc-peer.h"
#include "controller/api/grpc-session.h"
#include "controller/core/mem.h"
#include "tests/grpc/echo.h"
#include "tests/grpc/echo.pb-c.h"
#include "tests/unit/unit.h"

struct fixture {
    struct grpc_peer host;
    struct echo echo;
    struct grpc_session *server;
    struct grpc_client_session *client;
    int64_t now;
};

/* What became of a call. */
struct outcome {
    unsigned int n_replies;
    char text[32]; /* Of the last reply. */
    unsigned int n_done;
    enum grpc_status status;
    char message[64];
};

static void
wake_cb(void *aux)
{
    (void) aux;
}

static void
reply_cb(void *outcome_, const ProtobufCMessage *reply)
{
    struct outcome *outcome = outcome_;

    outcome->n_replies++;
    snprintf(outcome->text, sizeof outcome->text, "%s",
             ((const Evlb__Test__Text *) reply)->text);
}

static void
done_cb(void *outcome_, enum grpc_status status, const char *message)
{
    struct outcome *outcome = outcome_;

    outcome->n_done++;
    outcome->status = status;
    snprintf(outcome->message, sizeof outcome->message, "%s", message);
}

static void
exchange(struct fixture *f)
{
    const uint8_t *data;
    size_t n;
    bool any;

    do {
        any = false;
        while ((n = grpc_client_session_send(f->client, &data))) {
            grpc_session_receive(f->server, data, n, f->now);
            any = true;
        }
        while ((n = grpc_session_send(f->server, &data))) {
            grpc_client_session_receive(f->client, data, n);
            any = true;
        }
    } while (any);
}

static int
setup(void **state)
{
    static const struct grpc_settings settings = GRPC_SETTINGS_DEFAULT;
    struct fixture *f = calloc(1, sizeof *f);

    echo_init(&f->echo, NULL);
    grpc_peer_init(&f->host, &settings, 0);
    f->server = grpc_session_create(&f->echo.services, &f->host, "peer",
                                    wake_cb, f, 0);
    f->client = grpc_client_session_create("host", "http", wake_cb, f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    grpc_client_session_destroy(f->client);
    grpc_session_destroy(f->server);
    echo_destroy(&f->echo);
    free(f);
    return 0;
}

/* Starts a call. */
static struct grpc_client_call *
start(struct fixture *f, const char *method, const ProtobufCMessage *message,
      int64_t timeout, struct outcome *outcome)
{
    static const struct grpc_client_header headers[] = {
        { "authorization", "Bearer 77" },
    };
    const struct grpc_client_request request = {
        .service = &evlb__test__echo__descriptor,
        .method = method,
        .message = message,
        .headers = headers,
        .n_headers = 1,
        .timeout_ms = timeout,
        .reply = reply_cb,
        .done = done_cb,
        .aux = outcome,
    };

    memset(outcome, 0, sizeof *outcome);
    return grpc_client_session_call(f->client, &request, f->now);
}

static struct grpc_client_call *
start_wait(struct fixture *f, int64_t timeout, struct outcome *outcome)
{
    Evlb__Test__WaitRequest request = EVLB__TEST__WAIT_REQUEST__INIT;

    return start(f, "Wait", &request.base, timeout, outcome);
}

static void
check(const struct outcome *outcome, enum grpc_status status,
      unsigned int n_replies, const char *message)
{
    assert_int_equal(outcome->n_done, 1);
    assert_int_equal(outcome->status, status);
    assert_int_equal(outcome->n_replies, n_replies);
    if (!strstr(outcome->message, message)) {
        fail_msg("\"%s\" lacks \"%s\"", outcome->message, message);
    }
}

static void
test_calls(void **state)
{
    struct fixture *f = *state;
    Evlb__Test__Text text = EVLB__TEST__TEXT__INIT;
    Evlb__Test__RepeatRequest repeat = EVLB__TEST__REPEAT_REQUEST__INIT;
    Evlb__Test__FailRequest fail = EVLB__TEST__FAIL_REQUEST__INIT;
    Evlb__Test__Text header = EVLB__TEST__TEXT__INIT;
    struct outcome outcomes[5];

    text.text = (char *) "hello";
    repeat.text = (char *) "again";
    repeat.count = 1000;
    fail.code = GRPC_ABORTED;
    fail.message = (char *) "100 %\n\xc3\xa9";
    header.text = (char *) "authorization";

    start(f, "Same", &text.base, 0, &outcomes[0]);
    start(f, "Repeat", &repeat.base, 0, &outcomes[1]);
    start(f, "Fail", &fail.base, 0, &outcomes[2]);
    start(f, "Header", &header.base, 0, &outcomes[3]);
    exchange(f);
    check(&outcomes[0], GRPC_OK, 1, "");
    assert_string_equal(outcomes[0].text, "hello");
    check(&outcomes[1], GRPC_OK, 1000, "");
    check(&outcomes[2], GRPC_ABORTED, 0, "100 %\n\xc3\xa9");
    check(&outcomes[3], GRPC_OK, 1, "");
    assert_string_equal(outcomes[3].text, "Bearer 77");

    start(f, "Missing", &text.base, 0, &outcomes[4]);
    exchange(f);
    check(&outcomes[4], GRPC_UNIMPLEMENTED, 0, "/evlb.test.Echo/Missing");
}

/* The longest way: a reply of some megabytes, through windows of flow
 * control. */
static void
test_big_reply(void **state)
{
    struct fixture *f = *state;
    Evlb__Test__RepeatRequest repeat = EVLB__TEST__REPEAT_REQUEST__INIT;
    char *text = mem_zalloc(200001);
    struct outcome outcome;

    memset(text, 'x', 200000);
    repeat.text = text;
    repeat.count = 50;
    start(f, "Repeat", &repeat.base, 0, &outcome);
    exchange(f);
    check(&outcome, GRPC_OK, 50, "");
    free(text);
}

static void
test_deadline(void **state)
{
    struct fixture *f = *state;
    struct outcome limited, unlimited;

    start_wait(f, 0, &unlimited);
    start_wait(f, 500, &limited);
    exchange(f);
    assert_int_equal(grpc_client_session_wakeup(f->client), 500);
    grpc_client_session_run(f->client, 499);
    assert_int_equal(limited.n_done, 0);
    grpc_client_session_run(f->client, 500);
    check(&limited, GRPC_DEADLINE_EXCEEDED, 0, "time");
    assert_int_equal(grpc_client_session_wakeup(f->client), INT64_MAX);

    /* The server is told. */
    exchange(f);
    assert_int_equal(f->echo.n_cancelled, 1);
    echo_finish_waits(&f->echo);
    exchange(f);
    check(&unlimited, GRPC_OK, 1, "");
}

static void
test_cancel(void **state)
{
    struct fixture *f = *state;
    struct outcome outcome;
    struct grpc_client_call *call = start_wait(f, 0, &outcome);

    exchange(f);
    grpc_client_call_cancel(call);
    check(&outcome, GRPC_CANCELLED, 0, "cancelled");
    exchange(f);
    assert_int_equal(f->echo.n_cancelled, 1);
}

/* Who gives up at the first of many replies. */
static void
cancelling_reply_cb(void *call_, const ProtobufCMessage *reply)
{
    struct grpc_client_call **call = call_;

    (void) reply;
    assert_non_null(*call);
    grpc_client_call_cancel(*call);
    *call = NULL;
}

static void
ignoring_done_cb(void *call, enum grpc_status status, const char *message)
{
    (void) call;
    (void) message;
    assert_int_equal(status, GRPC_CANCELLED);
}

static void
test_cancel_in_reply(void **state)
{
    struct fixture *f = *state;
    Evlb__Test__RepeatRequest repeat = EVLB__TEST__REPEAT_REQUEST__INIT;
    struct grpc_client_call *call;
    const struct grpc_client_request request = {
        .service = &evlb__test__echo__descriptor,
        .method = "Repeat",
        .message = &repeat.base,
        .reply = cancelling_reply_cb,
        .done = ignoring_done_cb,
        .aux = &call,
    };

    repeat.count = 100;
    call = grpc_client_session_call(f->client, &request, 0);
    exchange(f);
    assert_null(call);
}

/* Calls on a connection that goes, and on one that is gone. */
static void
test_end(void **state)
{
    struct fixture *f = *state;
    struct outcome outcome;

    start_wait(f, 0, &outcome);
    exchange(f);
    grpc_client_session_end(f->client, "the cable was cut");
    check(&outcome, GRPC_UNAVAILABLE, 0, "cable");
    assert_true(grpc_client_session_is_over(f->client));
    assert_null(start_wait(f, 0, &outcome));
    check(&outcome, GRPC_UNAVAILABLE, 0, "cable");
}

static void
test_destroy(void **state)
{
    struct fixture *f = *state;
    struct outcome outcome;

    start_wait(f, 0, &outcome);
    grpc_client_session_destroy(f->client);
    f->client = NULL;
    check(&outcome, GRPC_UNAVAILABLE, 0, "closed");
}

static void
test_not_http2(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    struct outcome outcome;
    const uint8_t *data;

    start_wait(f, 0, &outcome);
    grpc_client_session_receive(f->client, (const uint8_t *) text,
                                sizeof text - 1);
    while (grpc_client_session_send(f->client, &data)) {
        assert_false(grpc_client_session_is_over(f->client));
    }
    check(&outcome, GRPC_UNAVAILABLE, 0, "HTTP/2");
}

static ssize_t
later_cb(nghttp2_session *h2, int32_t stream, uint8_t *buf, size_t length,
         uint32_t *flags, nghttp2_data_source *source, void *aux)
{
    (void) h2;
    (void) stream;
    (void) buf;
    (void) length;
    (void) flags;
    (void) source;
    (void) aux;
    return NGHTTP2_ERR_DEFERRED;
}

/* Answers the call on stream 1 of 'f' with the headers 'nvs' and 'data'. */
static void
answer(struct fixture *f, const nghttp2_nv *nvs, size_t n_nvs,
       const uint8_t *data, size_t n_data)
{
    nghttp2_data_provider later = { .read_callback = later_cb };
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *server;
    const uint8_t *p;
    uint8_t frame[64] = { 0, 0, (uint8_t) n_data, 0, 1, 0, 0, 0, 1 };
    ssize_t n;

    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_server_new(&server, callbacks, NULL);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(server, NGHTTP2_FLAG_NONE, NULL, 0);
    while ((n = (ssize_t) grpc_client_session_send(f->client, &p)) > 0) {
        assert_int_equal(nghttp2_session_mem_recv(server, p, (size_t) n), n);
    }
    nghttp2_submit_response(server, 1, nvs, n_nvs, &later);
    while ((n = nghttp2_session_mem_send(server, &p)) > 0) {
        grpc_client_session_receive(f->client, p, (size_t) n);
    }
    memcpy(frame + 9, data, n_data);
    grpc_client_session_receive(f->client, frame, 9 + n_data);
    nghttp2_session_del(server);
}

#define NV(NAME, VALUE)                                            \
    {                                                              \
        (uint8_t *) (NAME), (uint8_t *) (VALUE), sizeof(NAME) - 1, \
            sizeof(VALUE) - 1, NGHTTP2_NV_FLAG_NONE                \
    }

/* An HTTP server that does not speak gRPC. */
static void
test_other_http(void **state)
{
    static const nghttp2_nv nvs[] = { NV(":status", "503"),
                                      NV("content-type", "text/html") };
    static const uint8_t page[] = "<html>overloaded</html>";
    struct fixture *f = *state;
    struct outcome outcome;

    start_wait(f, 0, &outcome);
    answer(f, nvs, 2, page, sizeof page);
    check(&outcome, GRPC_UNAVAILABLE, 0, "HTTP 503");
}

/* Replies that are none. */
static void
test_bad_replies(void **state)
{
    static const nghttp2_nv nvs[] = { NV(":status", "200"),
                                      NV("content-type", "application/grpc") };
    static const uint8_t compressed[] = { 1, 0, 0, 0, 0 };
    static const uint8_t too_long[] = { 0, 255, 0, 0, 0 };
    static const uint8_t malformed[] = { 0, 0, 0, 0, 2, 0x0a, 5 };
    static const uint8_t no_status[] = { 0, 0, 0, 0, 2, 0x0a, 0 };
    static const struct {
        const uint8_t *data;
        size_t n;
        uint64_t status;
        uint64_t n_replies;
        const char *message;
    } tests[] = {
        { compressed, sizeof compressed, GRPC_UNIMPLEMENTED, 0, "compressed" },
        { too_long, sizeof too_long, GRPC_RESOURCE_EXHAUSTED, 0, "too long" },
        { malformed, sizeof malformed, GRPC_INTERNAL, 0, "malformed" },
        { no_status, sizeof no_status, GRPC_UNAVAILABLE, 1,
          "without a status" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        struct outcome outcome;
        void *f;

        setup(&f);
        start_wait(f, 0, &outcome);
        answer(f, nvs, 2, tests[i].data, tests[i].n);
        check(&outcome, (enum grpc_status) tests[i].status,
              (unsigned int) tests[i].n_replies, tests[i].message);
        teardown(&f);
    }
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_calls),           TEST(test_big_reply),
        TEST(test_deadline),        TEST(test_cancel),
        TEST(test_cancel_in_reply), TEST(test_end),
        TEST(test_destroy),         TEST(test_not_http2),
        TEST(test_other_http),      cmocka_unit_test(test_bad_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
