/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/grpc/echo.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "controller/core/mem.h"
#include "tests/grpc/echo.pb-c.h"

/* A Wait that is not answered. */
struct wait {
    struct wait *next;
    struct echo *echo;
    struct grpc_call *call;
    struct event *timer; /* Or NULL. */
};

static void
reply_text(struct grpc_call *call, const char *text)
{
    Evlb__Test__Text reply = EVLB__TEST__TEXT__INIT;

    reply.text = (char *) text;
    grpc_call_reply(call, &reply.base);
}

static void
same(void *echo, struct grpc_call *call, const ProtobufCMessage *request)
{
    (void) echo;
    grpc_call_reply(call, request);
}

static void
repeat(void *echo, struct grpc_call *call, const ProtobufCMessage *request)
{
    const Evlb__Test__RepeatRequest *r = (const void *) request;
    Evlb__Test__Text reply = EVLB__TEST__TEXT__INIT;

    (void) echo;
    reply.text = r->text;
    for (uint32_t i = 0; i < r->count && !grpc_call_is_cancelled(call); i++) {
        grpc_call_send(call, &reply.base);
    }
    grpc_call_finish(call, GRPC_OK, NULL);
}

static void
fail(void *echo, struct grpc_call *call, const ProtobufCMessage *request)
{
    const Evlb__Test__FailRequest *r = (const void *) request;

    (void) echo;
    grpc_call_finish(call, (enum grpc_status) r->code, r->message);
}

static void
header(void *echo, struct grpc_call *call, const ProtobufCMessage *request)
{
    const Evlb__Test__Text *r = (const void *) request;
    const char *value = grpc_call_get_header(call, r->text);

    (void) echo;
    if (value) {
        reply_text(call, value);
    } else {
        grpc_call_finish(call, GRPC_NOT_FOUND, r->text);
    }
}

static void
cancelled(void *echo_, struct grpc_call *call, const ProtobufCMessage *request)
{
    const struct echo *echo = echo_;
    Evlb__Test__Number reply = EVLB__TEST__NUMBER__INIT;

    (void) request;
    reply.number = echo->n_cancelled;
    grpc_call_reply(call, &reply.base);
}

/* Takes 'w' out of the service's list and frees it. */
static void
wait_remove(struct wait *w)
{
    struct wait **p = &w->echo->waits;

    while (*p != w) {
        p = &(*p)->next;
    }
    *p = w->next;
    w->echo->n_waits--;
    if (w->timer) {
        event_free(w->timer);
    }
    free(w);
}

static void
wait_cancel_cb(void *w_, struct grpc_call *call)
{
    struct wait *w = w_;

    w->echo->n_cancelled++;
    wait_remove(w);
    grpc_call_finish(call, GRPC_CANCELLED, NULL);
}

static void
wait_timer_cb(evutil_socket_t fd, short events, void *w_)
{
    struct wait *w = w_;
    struct grpc_call *call = w->call;

    (void) fd;
    (void) events;
    wait_remove(w);
    reply_text(call, "waited");
}

static void
wait_(void *echo_, struct grpc_call *call, const ProtobufCMessage *request)
{
    const Evlb__Test__WaitRequest *r = (const void *) request;
    struct echo *echo = echo_;
    struct wait *w = mem_zalloc(sizeof *w);

    w->echo = echo;
    w->call = call;
    w->next = echo->waits;
    echo->waits = w;
    echo->n_waits++;
    grpc_call_on_cancel(call, wait_cancel_cb, w);
    if (echo->base && r->ms) {
        struct timeval tv = { r->ms / 1000, r->ms % 1000 * 1000 };

        w->timer = evtimer_new(echo->base, wait_timer_cb, w);
        event_add(w->timer, &tv);
    }
}

/* Answers all Waits. */
void
echo_finish_waits(struct echo *echo)
{
    while (echo->waits) {
        wait_timer_cb(-1, 0, echo->waits);
    }
}

/* Prepares 'echo', with a clock if 'base' is not NULL. */
void
echo_init(struct echo *echo, struct event_base *base)
{
    /* In the order of the .proto. */
    static grpc_handler *const handlers[] = {
        same, repeat, fail, wait_, header, cancelled, NULL,
    };

    memset(echo, 0, sizeof *echo);
    echo->service.descriptor = &evlb__test__echo__descriptor;
    echo->service.handlers = handlers;
    echo->service.aux = echo;
    echo->services.services = &echo->service;
    echo->services.n = 1;
    echo->base = base;
}

/* Lets Waits go that nobody waits for any more. */
void
echo_destroy(struct echo *echo)
{
    echo_finish_waits(echo);
}
