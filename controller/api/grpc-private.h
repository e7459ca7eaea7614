/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_PRIVATE_H
#define EVLB_GRPC_PRIVATE_H 1

/* What grpc-session.c, grpc-request.c and grpc-call.c share.
 *
 *     grpc_session --- calls ---> grpc_call <--- the handler's, until finished
 *          |                         |
 *     nghttp2_session --- stream ----'
 *
 * A call is made with its stream.  It goes when the stream is closed and the
 * handler, if it was called, has finished it, whichever comes last.  A session
 * may go before the calls that handlers still have. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <nghttp2/nghttp2.h>

#include "controller/api/grpc-call.h"
#include "controller/api/grpc-filter.h"
#include "controller/api/grpc-limits.h"
#include "controller/api/grpc-message.h"
#include "controller/api/grpc-peer.h"

enum grpc_rate {
#define GRPC_RATE(KIND, MAX, TEXT) GRPC_RATE_##KIND,
    GRPC_RATES
#undef GRPC_RATE
        GRPC_N_RATES
};

struct grpc_header {
    char *name;
    char *value;
};

struct grpc_call {
    LIST_ENTRY(grpc_call) node;   /* In struct grpc_session's 'calls'. */
    struct grpc_session *session; /* NULL once it is gone. */
    int32_t stream;
    bool open; /* Is there still a stream? */
    char *peer;

    /* The request. */
    struct grpc_header *headers;
    size_t n_headers;
    size_t allocated_headers;
    size_t header_size; /* As HTTP/2 counts it. */
    struct grpc_decoder decoder;
    ProtobufCMessage *request; /* NULL until it is there. */
    const struct grpc_service *service;
    size_t method;            /* Its index in 'service'. */
    bool whole;               /* Has the caller said it all? */
    int64_t deadline;         /* INT64_MAX if none. */
    int64_t request_deadline; /* Until the request is whole. */

    /* The handler's side. */
    bool handed;    /* Is the call the handler's? */
    bool cancelled; /* Does nobody wait for it any more? */
    grpc_cancel_cb *cancel;
    void *cancel_aux;

    /* The reply. */
    struct evbuffer *output;
    bool replying;          /* Are the reply's headers submitted? */
    bool deferred;          /* Does nghttp2 wait for more of 'output'? */
    bool finished;          /* Are 'code' and 'message' final? */
    int64_t reply_deadline; /* Until the peer has read all, if finished. */
    char code[12];          /* The status, as a number. */
    char *message;          /* Encoded, or NULL. */
};

LIST_HEAD(grpc_calls, grpc_call);

struct grpc_session {
    nghttp2_session *h2;
    struct grpc_filter filter; /* Before 'h2'. */
    const struct grpc_services *services;
    struct grpc_peer *host; /* Whose limits hold. */
    char *peer;
    void (*wake)(void *aux);
    void *aux;
    struct grpc_calls calls;
    size_t n_calls;
    size_t unsent;       /* Bytes in the calls' 'output'. */
    int64_t now;         /* As the owner said last. */
    int64_t idle_since;  /* When the last call began or ended. */
    int64_t input_ended; /* When, or INT64_MAX. */
    int64_t rates_since; /* Beginning of the window of 'rates'. */
    unsigned int rates[GRPC_N_RATES];
    bool greeted;      /* Did the peer speak HTTP/2? */
    bool introduced;   /* Did it send HTTP/2's preface? */
    uint8_t *greeting; /* What came until that was clear, or NULL. */
    size_t n_greeting;
    size_t allocated_greeting;
    char *farewell;    /* The answer to HTTP/1, or NULL. */
    size_t n_farewell; /* Bytes of it that are to be sent. */
    bool over;
    char *error; /* Why it ended early, or NULL. */
};

struct grpc_call *grpc_call_create__(struct grpc_session *, int32_t stream);
void grpc_call_close__(struct grpc_call *);
void grpc_call_orphan__(struct grpc_call *);
bool grpc_call_add_header__(struct grpc_call *, const uint8_t *name, size_t,
                            const uint8_t *value, size_t);
void grpc_call_begin__(struct grpc_call *);
void grpc_call_receive__(struct grpc_call *, const uint8_t *, size_t);
void grpc_call_end_request__(struct grpc_call *);
void grpc_call_run__(struct grpc_call *);
void grpc_call_fail__(struct grpc_call *, enum grpc_status, const char *);
void grpc_call_fail_http__(struct grpc_call *, const char *status);

#endif /* grpc-private.h */
