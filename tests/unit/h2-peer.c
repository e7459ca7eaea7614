/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/h2-peer.h"

#include <stdio.h>

#include "controller/api/grpc-session.h"
#include "tests/unit/unit.h"

struct h2_reply *
h2_peer_reply(struct h2_peer *peer, int32_t stream)
{
    assert_in_range(stream / 2, 0, H2_STREAMS_MAX - 1);
    return &peer->replies[stream / 2];
}

static int
header_cb(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
          size_t name_len, const uint8_t *value, size_t value_len,
          uint8_t flags, void *peer)
{
    struct h2_reply *r = h2_peer_reply(peer, frame->hd.stream_id);
    const char *s = (const char *) value;

    (void) h2;
    (void) name_len;
    (void) value_len;
    (void) flags;
    if (!strcmp((const char *) name, ":status")) {
        snprintf(r->http, sizeof r->http, "%s", s);
    } else if (!strcmp((const char *) name, "grpc-status")) {
        r->status = (int) strtol(s, NULL, 10);
    } else if (!strcmp((const char *) name, "grpc-message")) {
        snprintf(r->message, sizeof r->message, "%s", s);
    } else if (!strcmp((const char *) name, "grpc-accept-encoding")) {
        snprintf(r->accept, sizeof r->accept, "%s", s);
    }
    return 0;
}

static int
data_cb(nghttp2_session *h2, uint8_t flags, int32_t stream,
        const uint8_t *data, size_t n, void *peer)
{
    struct h2_reply *r = h2_peer_reply(peer, stream);

    (void) h2;
    (void) flags;
    r->data = realloc(r->data, r->n + n);
    memcpy(r->data + r->n, data, n);
    r->n += n;
    return 0;
}

static int
close_cb(nghttp2_session *h2, int32_t stream, uint32_t code, void *peer)
{
    struct h2_reply *r = h2_peer_reply(peer, stream);

    (void) h2;
    r->closed = true;
    r->code = code;
    return 0;
}

static int
frame_cb(nghttp2_session *h2, const nghttp2_frame *frame, void *peer_)
{
    struct h2_peer *peer = peer_;

    (void) h2;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        peer->goaway = true;
        peer->goaway_code = frame->goaway.error_code;
    }
    return 0;
}

static ssize_t
read_cb(nghttp2_session *h2, int32_t stream, uint8_t *buf, size_t length,
        uint32_t *flags, nghttp2_data_source *source, void *peer_)
{
    struct h2_peer *peer = peer_;
    size_t n = peer->n_data < length ? peer->n_data : length;

    (void) h2;
    (void) stream;
    (void) source;
    if (n) {
        memcpy(buf, peer->data, n);
    }
    peer->data += n;
    peer->n_data -= n;
    if (!peer->n_data && !peer->open) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (!n) {
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t) n;
}

/* Connects 'peer' to 'session'. */
void
h2_peer_init(struct h2_peer *peer, struct grpc_session *session, int64_t now)
{
    nghttp2_session_callbacks *callbacks;

    memset(peer, 0, sizeof *peer);
    peer->session = session;
    peer->now = now;
    for (size_t i = 0; i < H2_STREAMS_MAX; i++) {
        peer->replies[i].status = -1;
    }
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header_cb);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              data_cb);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
                                                           close_cb);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_cb);
    nghttp2_session_client_new(&peer->h2, callbacks, peer);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(peer->h2, NGHTTP2_FLAG_NONE, NULL, 0);
    h2_peer_exchange(peer);
}

void
h2_peer_destroy(struct h2_peer *peer)
{
    for (size_t i = 0; i < H2_STREAMS_MAX; i++) {
        free(peer->replies[i].data);
    }
    nghttp2_session_del(peer->h2);
}

/* Carries bytes in both directions until there are none. */
void
h2_peer_exchange(struct h2_peer *peer)
{
    const uint8_t *data;
    bool any;

    do {
        ssize_t n;

        any = false;
        while ((n = nghttp2_session_mem_send(peer->h2, &data)) > 0) {
            grpc_session_receive(peer->session, data, (size_t) n, peer->now);
            any = true;
        }
        while ((n = (ssize_t) grpc_session_send(peer->session, &data)) > 0) {
            assert_int_equal(
                nghttp2_session_mem_recv(peer->h2, data, (size_t) n), n);
            any = true;
        }
    } while (any);
}

nghttp2_nv
h2_nv(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *) name, (uint8_t *) value, strlen(name),
                         strlen(value), NGHTTP2_NV_FLAG_NONE };
}

/* Sends a request with the headers 'nvs' and 'n' bytes of data, and leaves its
 * stream open if 'open'.  Returns the stream. */
int32_t
h2_peer_request(struct h2_peer *peer, const nghttp2_nv *nvs, size_t n_nvs,
                const void *data, size_t n, bool open)
{
    nghttp2_data_provider provider = { .read_callback = read_cb };
    int32_t stream;

    peer->data = data;
    peer->n_data = n;
    peer->open = open;
    stream =
        nghttp2_submit_request(peer->h2, NULL, nvs, n_nvs, &provider, NULL);
    assert_true(stream > 0);
    h2_peer_exchange(peer);
    return stream;
}

static int32_t
call(struct h2_peer *peer, const char *path, const void *data, size_t n,
     const char *timeout, bool open)
{
    nghttp2_nv nvs[] = {
        h2_nv(":method", "POST"),
        h2_nv(":scheme", "http"),
        h2_nv(":path", path),
        h2_nv(":authority", "test"),
        h2_nv("content-type", "application/grpc"),
        h2_nv("grpc-timeout", timeout ? timeout : ""),
    };

    return h2_peer_request(peer, nvs, timeout ? 6 : 5, data, n, open);
}

/* Calls the method 'path' with 'n' bytes of data. */
int32_t
h2_peer_call(struct h2_peer *peer, const char *path, const void *data,
             size_t n)
{
    return call(peer, path, data, n, NULL, false);
}

/* The same, with a 'timeout' if it is not NULL, and leaves the stream open. */
int32_t
h2_peer_call_open(struct h2_peer *peer, const char *path, const void *data,
                  size_t n, const char *timeout)
{
    return call(peer, path, data, n, timeout, true);
}
