/* SPDX-License-Identifier: Apache-2.0 */

/* The server's side of a gRPC connection, with a scripted HTTP/2 client and a
 * clock of the test's. */

#include "controller/api/grpc-session.h"

#include <stdio.h>

#include "controller/api/grpc-limits.h"
#include "controller/api/grpc-peer.h"
#include "tests/grpc/echo.h"
#include "tests/unit/h2-peer.h"
#include "tests/unit/unit.h"

#define SAME "/evlb.test.Echo/Same"
/* Of the default settings. */
#define MESSAGE_MAX 262144
#define IDLE_MS 300000

#define WAIT "/evlb.test.Echo/Wait"

/* Messages as they travel: the text "hi", and a Wait that never ends. */
static const uint8_t hi[] = { 0, 0, 0, 0, 4, 0x0a, 2, 'h', 'i' };
static const uint8_t never[] = { 0, 0, 0, 0, 0 };

struct fixture {
    struct echo echo;
    struct grpc_settings settings;
    struct grpc_peer host;
    struct grpc_session *session;
    struct h2_peer peer;
    unsigned int n_wakes;
};

static void
wake_cb(void *f_)
{
    struct fixture *f = f_;

    f->n_wakes++;
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    echo_init(&f->echo, NULL);
    f->settings = (struct grpc_settings) GRPC_SETTINGS_DEFAULT;
    grpc_peer_init(&f->host, &f->settings, 0);
    f->session = grpc_session_create(&f->echo.services, &f->host, "peer",
                                     wake_cb, f, 0);
    h2_peer_init(&f->peer, f->session, 0);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    grpc_session_destroy(f->session);
    h2_peer_destroy(&f->peer);
    echo_destroy(&f->echo);
    free(f);
    return 0;
}

/* Sends, in pieces of at most 'piece' bytes, that 'stream' is reset. */
static void
reset_raw(struct fixture *f, int32_t stream, size_t piece)
{
    const uint8_t frame[] = {
        0, 0, 4, 3, 0, 0, 0, (uint8_t) (stream >> 8), (uint8_t) stream,
        0, 0, 0, 8
    };

    for (size_t i = 0; i < sizeof frame; i += piece) {
        size_t n = sizeof frame - i;

        grpc_session_receive(f->session, &frame[i], n < piece ? n : piece, 0);
    }
    h2_peer_exchange(&f->peer);
}

/* Checks that the call on 'stream' ended with 'status', and with 'message' if
 * that is not NULL. */
static void
check_status(struct fixture *f, int32_t stream, int status,
             const char *message)
{
    const struct h2_reply *r = h2_peer_reply(&f->peer, stream);

    assert_true(r->closed);
    assert_string_equal(r->http, "200");
    assert_int_equal(r->status, status);
    if (message && !strstr(r->message, message)) {
        fail_msg("\"%s\" lacks \"%s\"", r->message, message);
    }
}

static void
check_hi(struct fixture *f, int32_t stream)
{
    const struct h2_reply *r = h2_peer_reply(&f->peer, stream);

    check_status(f, stream, GRPC_OK, NULL);
    assert_int_equal(r->n, sizeof hi);
    assert_memory_equal(r->data, hi, sizeof hi);
}

/* Takes the clock to 'now'. */
static void
run(struct fixture *f, int64_t now)
{
    f->peer.now = now;
    grpc_session_run(f->session, now);
    h2_peer_exchange(&f->peer);
}

static void
test_unary(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 5; i++) {
        check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    }
    assert_false(grpc_session_is_over(f->session));
}

static void
test_streaming(void **state)
{
    /* RepeatRequest { text: "hi", count: 3 }. */
    static const uint8_t request[] = { 0,   0,   0,   0,    6,   0x0a,
                                       0x2, 'h', 'i', 0x10, 0x03 };
    struct fixture *f = *state;
    int32_t stream = h2_peer_call(&f->peer, "/evlb.test.Echo/Repeat", request,
                                  sizeof request);
    const struct h2_reply *r = h2_peer_reply(&f->peer, stream);

    check_status(f, stream, GRPC_OK, NULL);
    assert_int_equal(r->n, 3 * sizeof hi);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(r->data + i * sizeof hi, hi, sizeof hi);
    }
}

/* A request in pieces of one byte. */
static void
test_pieces(void **state)
{
    struct fixture *f = *state;
    int32_t stream = h2_peer_call_open(&f->peer, SAME, hi, 1, NULL);

    for (size_t i = 1; i < sizeof hi; i++) {
        f->peer.data = &hi[i];
        f->peer.n_data = 1;
        f->peer.open = i < sizeof hi - 1;
        nghttp2_session_resume_data(f->peer.h2, stream);
        h2_peer_exchange(&f->peer);
    }
    check_hi(f, stream);
}

/* What is no call of ours, and what says so. */
static void
test_bad_requests(void **state)
{
    static const struct {
        const char *path;
        const uint8_t data[16];
        size_t n;
        uint64_t status;
        const char *message;
    } tests[] = {
        { "/evlb.test.Echo/Nothing", { 0 }, 5, GRPC_UNIMPLEMENTED, "Nothing" },
        { "/evlb.test.Echo/Missing", { 0 }, 5, GRPC_UNIMPLEMENTED, "Missing" },
        { "/evlb.test.Ech/Same", { 0 }, 5, GRPC_UNIMPLEMENTED, "Ech" },
        { "/evlb.test.Echo", { 0 }, 5, GRPC_UNIMPLEMENTED, "Echo" },
        { "/Same", { 0 }, 5, GRPC_UNIMPLEMENTED, "Same" },
        { SAME, { 1, 0, 0, 0, 0 }, 5, GRPC_INTERNAL, "compressed" },
        { SAME, { 0 }, 0, GRPC_UNIMPLEMENTED, "no request" },
        { SAME, { 0 }, 10, GRPC_UNIMPLEMENTED, "several" },
        { SAME, { 0, 0, 0, 0, 4 }, 6, GRPC_INTERNAL, "cut short" },
        { SAME, { 0, 0, 0 }, 3, GRPC_INTERNAL, "cut short" },
        { SAME, { 0, 0, 0, 0, 2, 0x0a, 9 }, 7, GRPC_INTERNAL, "malformed" },
        { SAME, { 0, 0, 4, 0, 1 }, 5, GRPC_RESOURCE_EXHAUSTED, "too long" },
        { SAME, { 0, 255, 255, 255, 255 }, 5, GRPC_RESOURCE_EXHAUSTED, NULL },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        int32_t stream =
            h2_peer_call(&f->peer, tests[i].path, tests[i].data, tests[i].n);

        check_status(f, stream, (int) tests[i].status, tests[i].message);
    }
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
}

/* Other users of HTTP/2 are answered in their language. */
static void
test_other_http(void **state)
{
    struct fixture *f = *state;
    nghttp2_nv nvs[] = {
        h2_nv(":method", "GET"),
        h2_nv(":scheme", "http"),
        h2_nv(":path", SAME),
        h2_nv(":authority", "test"),
        h2_nv("content-type", "application/grpc"),
    };
    static const struct {
        const char *type;
        const char *http;
    } types[] = {
        { "application/grpc", "200" },     { "application/grpc+proto", "200" },
        { "application/grpc;x=y", "200" }, { "application/grpc+json", "415" },
        { "application/grpcx", "415" },    { "text/html", "415" },
    };
    int32_t stream = h2_peer_request(&f->peer, nvs, 5, NULL, 0, false);

    assert_string_equal(h2_peer_reply(&f->peer, stream)->http, "405");
    nvs[0] = h2_nv(":method", "POST");
    stream = h2_peer_request(&f->peer, nvs, 4, hi, sizeof hi, false);
    assert_string_equal(h2_peer_reply(&f->peer, stream)->http, "415");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        nvs[4] = h2_nv("content-type", types[i].type);
        stream = h2_peer_request(&f->peer, nvs, 5, hi, sizeof hi, false);
        assert_string_equal(h2_peer_reply(&f->peer, stream)->http,
                            types[i].http);
    }
}

static void
test_asynchronous(void **state)
{
    struct fixture *f = *state;
    int32_t first = h2_peer_call(&f->peer, WAIT, never, sizeof never);
    int32_t second = h2_peer_call(&f->peer, WAIT, never, sizeof never);
    unsigned int n_wakes;

    assert_int_equal(f->echo.n_waits, 2);
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    assert_false(h2_peer_reply(&f->peer, first)->closed);
    n_wakes = f->n_wakes;
    echo_finish_waits(&f->echo);
    assert_true(f->n_wakes > n_wakes);
    h2_peer_exchange(&f->peer);
    check_status(f, first, GRPC_OK, NULL);
    check_status(f, second, GRPC_OK, NULL);
}

static void
test_deadline(void **state)
{
    struct fixture *f = *state;
    int32_t stream =
        h2_peer_call_open(&f->peer, WAIT, never, sizeof never, "250m");

    f->peer.open = false;
    nghttp2_session_resume_data(f->peer.h2, stream);
    h2_peer_exchange(&f->peer);
    assert_int_equal(f->echo.n_waits, 1);
    assert_int_equal(grpc_session_wakeup(f->session), 250);
    run(f, 249);
    assert_int_equal(f->echo.n_cancelled, 0);
    run(f, 250);
    assert_int_equal(f->echo.n_cancelled, 1);
    check_status(f, stream, GRPC_DEADLINE_EXCEEDED, "deadline");

    stream = h2_peer_call_open(&f->peer, WAIT, never, sizeof never, "soon");
    check_status(f, stream, GRPC_INTERNAL, "grpc-timeout");
}

/* A request that does not come to its end. */
static void
test_slow_request(void **state)
{
    struct fixture *f = *state;
    int32_t stream = h2_peer_call_open(&f->peer, SAME, hi, 3, NULL);

    assert_int_equal(grpc_session_wakeup(f->session), GRPC_REQUEST_MS);
    run(f, GRPC_REQUEST_MS);
    check_status(f, stream, GRPC_DEADLINE_EXCEEDED, "did not come");
}

static void
reset(struct fixture *f, int32_t stream)
{
    nghttp2_submit_rst_stream(f->peer.h2, NGHTTP2_FLAG_NONE, stream,
                              NGHTTP2_CANCEL);
    h2_peer_exchange(&f->peer);
}

static void
test_cancellation(void **state)
{
    struct fixture *f = *state;
    int32_t stream = h2_peer_call(&f->peer, WAIT, never, sizeof never);

    reset(f, stream);
    assert_int_equal(f->echo.n_cancelled, 1);
    assert_int_equal(f->echo.n_waits, 0);
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
}

/* The connection goes while handlers are at work: each is told. */
static void
test_connection_lost(void **state)
{
    struct fixture *f = *state;

    h2_peer_call(&f->peer, WAIT, never, sizeof never);
    h2_peer_call(&f->peer, WAIT, never, sizeof never);
    grpc_session_destroy(f->session);
    assert_int_equal(f->echo.n_cancelled, 2);
    f->session = NULL;
}

/* A peer that has closed its side still gets its answers. */
static void
test_half_closed(void **state)
{
    struct fixture *f = *state;
    int32_t stream = h2_peer_call(&f->peer, WAIT, never, sizeof never);

    grpc_session_end_input(f->session, 1000);
    assert_false(grpc_session_is_over(f->session));
    echo_finish_waits(&f->echo);
    h2_peer_exchange(&f->peer);
    check_status(f, stream, GRPC_OK, NULL);
    assert_true(grpc_session_is_over(f->session));
    assert_null(grpc_session_get_error(f->session));
}

static void
test_half_closed_too_long(void **state)
{
    struct fixture *f = *state;

    h2_peer_call(&f->peer, WAIT, never, sizeof never);
    grpc_session_end_input(f->session, 1000);
    assert_int_equal(grpc_session_wakeup(f->session), 1000 + GRPC_LINGER_MS);
    grpc_session_run(f->session, 1000 + GRPC_LINGER_MS);
    assert_true(grpc_session_is_over(f->session));
}

static void
test_metadata(void **state)
{
    /* Text { text: "authorization" }. */
    static const uint8_t request[] = { 0,   0,   0,   0,   15,  0x0a, 13,
                                       'a', 'u', 't', 'h', 'o', 'r',  'i',
                                       'z', 'a', 't', 'i', 'o', 'n' };
    struct fixture *f = *state;
    nghttp2_nv nvs[] = {
        h2_nv(":method", "POST"),
        h2_nv(":scheme", "http"),
        h2_nv(":path", "/evlb.test.Echo/Header"),
        h2_nv(":authority", "test"),
        h2_nv("content-type", "application/grpc"),
        h2_nv("authorization", "Bearer 0123"),
    };
    int32_t stream =
        h2_peer_request(&f->peer, nvs, 6, request, sizeof request, false);
    const struct h2_reply *r = h2_peer_reply(&f->peer, stream);

    check_status(f, stream, GRPC_OK, NULL);
    assert_int_equal(r->n, 7 + 11);
    assert_memory_equal(r->data + 7, "Bearer 0123", 11);

    stream = h2_peer_request(&f->peer, nvs, 5, request, sizeof request, false);
    check_status(f, stream, GRPC_NOT_FOUND, "authorization");
}

static void
test_header_list(void **state)
{
    struct fixture *f = *state;
    char value[GRPC_HEADER_LIST_MAX];
    nghttp2_nv nvs[] = {
        h2_nv(":method", "POST"),
        h2_nv(":scheme", "http"),
        h2_nv(":path", SAME),
        h2_nv(":authority", "test"),
        h2_nv("content-type", "application/grpc"),
        h2_nv("x", ""),
    };
    int32_t stream;

    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    nvs[5] = h2_nv("x", value);
    stream = h2_peer_request(&f->peer, nvs, 6, hi, sizeof hi, false);
    check_status(f, stream, GRPC_RESOURCE_EXHAUSTED, "headers");
    nvs[5].valuelen = GRPC_HEADER_LIST_MAX / 2;
    stream = h2_peer_request(&f->peer, nvs, 6, hi, sizeof hi, false);
    check_hi(f, stream);
}

/* No more calls at a time than announced: the peer's own library keeps the
 * others back until one ends. */
static void
test_concurrent_streams(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < GRPC_STREAMS_MAX + 20; i++) {
        h2_peer_call(&f->peer, WAIT, never, sizeof never);
        f->peer.data = never;
        f->peer.n_data = sizeof never;
    }
    assert_int_equal(f->echo.n_waits, GRPC_STREAMS_MAX);
}

static void
check_thrown_out(struct fixture *f, const char *why)
{
    assert_true(grpc_session_is_over(f->session));
    assert_non_null(grpc_session_get_error(f->session));
    if (!strstr(grpc_session_get_error(f->session), why)) {
        fail_msg("\"%s\" lacks \"%s\"", grpc_session_get_error(f->session),
                 why);
    }
    assert_true(f->peer.goaway);
    assert_int_equal(f->peer.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* Calls that are made and given up at once cost us and not the peer. */
static void
test_rapid_reset(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 400; i++) {
        reset(f, h2_peer_call(&f->peer, WAIT, never, sizeof never));
        assert_false(grpc_session_is_over(f->session));
    }
    reset(f, h2_peer_call(&f->peer, WAIT, never, sizeof never));
    check_thrown_out(f, "resets");
}

/* The same number, but in peace. */
static void
test_slow_resets(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 450; i++) {
        f->peer.now = i * 100;
        reset(f, h2_peer_call(&f->peer, WAIT, never, sizeof never));
    }
    assert_false(grpc_session_is_over(f->session));
}

static void
test_many_settings(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 25; i++) {
        nghttp2_submit_settings(f->peer.h2, NGHTTP2_FLAG_NONE, NULL, 0);
        h2_peer_exchange(&f->peer);
    }
    check_thrown_out(f, "settings");
}

static void
test_many_pings(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2000; i++) {
        nghttp2_submit_ping(f->peer.h2, NGHTTP2_FLAG_NONE, NULL);
        h2_peer_exchange(&f->peer);
    }
    assert_false(grpc_session_is_over(f->session));
    nghttp2_submit_ping(f->peer.h2, NGHTTP2_FLAG_NONE, NULL);
    h2_peer_exchange(&f->peer);
    check_thrown_out(f, "pings");
}

/* Requests that are not whole, each within its limit, are bounded as a
 * whole. */
static void
test_request_memory(void **state)
{
    static uint8_t data[5 + MESSAGE_MAX - 1] = { 0, 0, 4, 0, 0 };
    struct fixture *f = *state;
    unsigned int n_exhausted = 0;

    for (int i = 0; i < 6; i++) {
        int32_t stream =
            h2_peer_call_open(&f->peer, SAME, data, sizeof data, NULL);

        n_exhausted +=
            h2_peer_reply(&f->peer, stream)->status == GRPC_RESOURCE_EXHAUSTED;
    }
    assert_int_equal(n_exhausted, 2);
}

/* The longest request, and back. */
static void
test_longest_request(void **state)
{
    static uint8_t data[5 + MESSAGE_MAX] = { 0,    0,    4,    0,   0,
                                             0x0a, 0xfc, 0xff, 0x0f };
    struct fixture *f = *state;
    int32_t stream;

    memset(data + 9, 'x', sizeof data - 9);
    stream = h2_peer_call(&f->peer, SAME, data, sizeof data);
    check_status(f, stream, GRPC_OK, NULL);
    assert_int_equal(h2_peer_reply(&f->peer, stream)->n, sizeof data);
    assert_memory_equal(h2_peer_reply(&f->peer, stream)->data, data,
                        sizeof data);
}

/* A peer that never reads a reply does not keep it for ever. */
static void
test_unread_reply(void **state)
{
    struct fixture *f = *state;
    nghttp2_settings_entry none = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 };
    int32_t stream;

    nghttp2_submit_settings(f->peer.h2, NGHTTP2_FLAG_NONE, &none, 1);
    h2_peer_exchange(&f->peer);
    stream = h2_peer_call(&f->peer, SAME, hi, sizeof hi);
    assert_false(h2_peer_reply(&f->peer, stream)->closed);
    assert_int_equal(grpc_session_wakeup(f->session), GRPC_REPLY_MS);
    run(f, GRPC_REPLY_MS);
    assert_true(h2_peer_reply(&f->peer, stream)->closed);
    assert_int_equal(h2_peer_reply(&f->peer, stream)->code, NGHTTP2_CANCEL);
}

/* More replies than are kept for a peer that does not read. */
static void
test_reply_memory(void **state)
{
    static uint8_t data[MESSAGE_MAX] = { 0,    0,    3,    255,  251,  0x10,
                                         0xff, 0x01, 0x0a, 0xf4, 0xff, 0x0f };
    struct fixture *f = *state;
    nghttp2_settings_entry none = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                    1024 };
    int32_t stream;

    /* RepeatRequest { count: 255, text: 262132 letters }. */
    memset(data + 12, 'x', sizeof data - 12);
    nghttp2_submit_settings(f->peer.h2, NGHTTP2_FLAG_NONE, &none, 1);
    h2_peer_exchange(&f->peer);
    stream =
        h2_peer_call(&f->peer, "/evlb.test.Echo/Repeat", data, sizeof data);
    check_status(f, stream, GRPC_RESOURCE_EXHAUSTED, "not read fast enough");
}

static void
test_idle(void **state)
{
    struct fixture *f = *state;

    f->peer.now = 500;
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    assert_int_equal(grpc_session_wakeup(f->session), 500 + IDLE_MS);
    run(f, 499 + IDLE_MS);
    assert_false(grpc_session_is_over(f->session));
    run(f, 500 + IDLE_MS);
    assert_true(grpc_session_is_over(f->session));
    assert_true(f->peer.goaway);
    assert_int_equal(f->peer.goaway_code, NGHTTP2_NO_ERROR);
}

/* Returns a session with another connection of the peer. */
static struct grpc_session *
open_session(struct fixture *f, int64_t now)
{
    return grpc_session_create(&f->echo.services, &f->host, "peer", wake_cb, f,
                               now);
}

static void
test_not_http2(void **state)
{
    static const char *const texts[] = { "x", "\x16\x03\x01",
                                         "PRI * HTTP/2.0\r\n\r\nXX" };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct grpc_session *s = open_session(f, 0);
        const uint8_t *data;

        grpc_session_receive(s, (const uint8_t *) texts[i], strlen(texts[i]),
                             0);
        if (!grpc_session_is_http1(s)) {
            assert_int_equal(grpc_session_send(s, &data), 0);
            assert_non_null(strstr(grpc_session_get_error(s), "HTTP/2"));
        }
        assert_true(grpc_session_is_over(s));
        grpc_session_destroy(s);
    }
}

/* HTTP/1, in one piece and in many, and what comes behind the request. */
static void
test_http1(void **state)
{
    static const char text[] = "GET /x HTTP/1.1\r\nHost: a:1\r\n\r\nmore";
    struct fixture *f = *state;

    f->settings.http_port = 19524;
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        struct grpc_session *s = open_session(f, 0);
        const uint8_t *data;
        size_t n;

        for (size_t i = 0; i < sizeof text; i += piece) {
            n = sizeof text - i < piece ? sizeof text - i : piece;
            grpc_session_receive(s, (const uint8_t *) text + i, n, 0);
        }
        assert_true(grpc_session_is_over(s));
        assert_true(grpc_session_is_http1(s));
        assert_null(grpc_session_get_error(s));
        n = grpc_session_send(s, &data);
        assert_non_null(memmem(data, n, "http://a:19524/x\r\n", 18));
        assert_int_equal(grpc_session_send(s, &data), 0);
        grpc_session_destroy(s);
    }
}

/* HTTP/2 that comes byte by byte. */
static void
test_preface_in_pieces(void **state)
{
    static const char text[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                               "\0\0\0\4\0\0\0\0";
    struct fixture *f = *state;
    struct grpc_session *s = open_session(f, 0);
    const uint8_t *data;

    for (size_t i = 0; i < sizeof text; i++) {
        grpc_session_receive(s, (const uint8_t *) text + i, 1, 0);
    }
    assert_false(grpc_session_is_over(s));
    assert_true(grpc_session_send(s, &data) >= 9);
    assert_int_equal(data[3], NGHTTP2_SETTINGS);
    assert_int_equal(grpc_session_wakeup(s), IDLE_MS);
    grpc_session_destroy(s);
}

/* A request of HTTP/1 that does not come to its end. */
static void
test_slow_http1(void **state)
{
    struct fixture *f = *state;
    struct grpc_session *s = open_session(f, 7);

    grpc_session_receive(s, (const uint8_t *) "GET / HTTP", 10, 5000);
    assert_int_equal(grpc_session_wakeup(s), 7 + GRPC_PREFACE_MS);
    grpc_session_run(s, 7 + GRPC_PREFACE_MS);
    assert_true(grpc_session_is_over(s));
    assert_non_null(strstr(grpc_session_get_error(s), "in time"));
    grpc_session_destroy(s);
}

/* What one address may do holds for all its connections together. */
static void
test_peer_rate(void **state)
{
    struct fixture *f = *state;
    struct h2_peer *other = calloc(1, sizeof *other);
    struct grpc_session *s = open_session(f, 0);
    int32_t stream;

    f->settings.max_peer_rate = 3;
    h2_peer_init(other, s, 0);
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    h2_peer_call(other, SAME, hi, sizeof hi);
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    check_status(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi),
                 GRPC_RESOURCE_EXHAUSTED, "more than 3 calls a second");
    stream = h2_peer_call(other, SAME, hi, sizeof hi);
    assert_int_equal(h2_peer_reply(other, stream)->status,
                     GRPC_RESOURCE_EXHAUSTED);
    f->peer.now = 334;
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    grpc_session_destroy(s);
    h2_peer_destroy(other);
    free(other);
}

static void
test_peer_calls(void **state)
{
    struct fixture *f = *state;

    f->settings.max_peer_calls = 2;
    h2_peer_call(&f->peer, WAIT, never, sizeof never);
    h2_peer_call(&f->peer, WAIT, never, sizeof never);
    check_status(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi),
                 GRPC_RESOURCE_EXHAUSTED, "more than 2 calls");
    echo_finish_waits(&f->echo);
    h2_peer_exchange(&f->peer);
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    assert_int_equal(f->host.n_calls, 0);
    h2_peer_call(&f->peer, WAIT, never, sizeof never);
    assert_int_equal(f->host.n_calls, 1);
    grpc_session_destroy(f->session);
    assert_int_equal(f->host.n_calls, 0);
    f->session = NULL;
}

/* Settings that change hold from then on. */
static void
test_settings_change(void **state)
{
    struct fixture *f = *state;

    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    f->settings.max_message = 3;
    f->settings.idle = 1000;
    check_status(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi),
                 GRPC_RESOURCE_EXHAUSTED, "too long");
    assert_int_equal(grpc_session_wakeup(f->session), 1000);
}

/* A compressed message, with its encoding and without one. */
static void
test_compressed(void **state)
{
    static const uint8_t data[] = { 1, 0, 0, 0, 1, 'x' };
    nghttp2_nv nvs[] = {
        h2_nv(":method", "POST"),
        h2_nv(":scheme", "http"),
        h2_nv(":path", SAME),
        h2_nv(":authority", "test"),
        h2_nv("content-type", "application/grpc"),
        h2_nv("grpc-encoding", "gzip"),
    };
    struct fixture *f = *state;
    int32_t stream =
        h2_peer_request(&f->peer, nvs, 6, data, sizeof data, false);

    check_status(f, stream, GRPC_UNIMPLEMENTED, "compressed");
    assert_string_equal(h2_peer_reply(&f->peer, stream)->accept, "identity");
    stream = h2_peer_request(&f->peer, nvs, 5, data, sizeof data, false);
    check_status(f, stream, GRPC_INTERNAL, "grpc-encoding");
    /* Named, but not used. */
    stream = h2_peer_request(&f->peer, nvs, 6, hi, sizeof hi, false);
    check_hi(f, stream);
}

/* A peer that says nothing at all. */
static void
test_silent(void **state)
{
    struct fixture *f = *state;
    struct grpc_session *s = open_session(f, 7);

    assert_int_equal(grpc_session_wakeup(s), 7 + GRPC_PREFACE_MS);
    grpc_session_run(s, 7 + GRPC_PREFACE_MS);
    assert_true(grpc_session_is_over(s));
    assert_non_null(strstr(grpc_session_get_error(s), "in time"));
    grpc_session_destroy(s);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

/* Calls that were given up before they were sent: other calls go on. */
static void
test_reset_of_nothing(void **state)
{
    struct fixture *f = *state;
    int32_t stream = h2_peer_call(&f->peer, WAIT, never, sizeof never);

    for (size_t piece = 1; piece <= 13; piece++) {
        reset_raw(f, stream + 2 * (int32_t) piece, piece);
    }
    assert_false(f->peer.goaway);
    assert_false(h2_peer_reply(&f->peer, stream)->closed);
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
    reset_raw(f, stream, 2);
    assert_int_equal(f->echo.n_cancelled, 1);
    check_hi(f, h2_peer_call(&f->peer, SAME, hi, sizeof hi));
}

/* They are no way around the limit; and streams that are the server's to open
 * are an error as ever. */
static void
test_resets_of_nothing(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 400; i++) {
        reset_raw(f, 4001, 13);
    }
    assert_false(grpc_session_is_over(f->session));
    reset_raw(f, 4001, 13);
    assert_true(grpc_session_is_over(f->session));
}

static void
test_reset_of_the_servers(void **state)
{
    struct fixture *f = *state;

    reset_raw(f, 2, 13);
    assert_true(f->peer.goaway);
    assert_int_equal(f->peer.goaway_code, NGHTTP2_PROTOCOL_ERROR);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unary),
        TEST(test_streaming),
        TEST(test_pieces),
        TEST(test_bad_requests),
        TEST(test_other_http),
        TEST(test_asynchronous),
        TEST(test_deadline),
        TEST(test_slow_request),
        TEST(test_cancellation),
        TEST(test_connection_lost),
        TEST(test_half_closed),
        TEST(test_half_closed_too_long),
        TEST(test_metadata),
        TEST(test_header_list),
        TEST(test_concurrent_streams),
        TEST(test_rapid_reset),
        TEST(test_reset_of_nothing),
        TEST(test_resets_of_nothing),
        TEST(test_reset_of_the_servers),
        TEST(test_slow_resets),
        TEST(test_many_settings),
        TEST(test_many_pings),
        TEST(test_request_memory),
        TEST(test_longest_request),
        TEST(test_unread_reply),
        TEST(test_reply_memory),
        TEST(test_idle),
        TEST(test_not_http2),
        TEST(test_http1),
        TEST(test_preface_in_pieces),
        TEST(test_slow_http1),
        TEST(test_peer_rate),
        TEST(test_peer_calls),
        TEST(test_settings_change),
        TEST(test_compressed),
        TEST(test_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
