/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/registration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "controller/api/api-client.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "endpoints/util.h"
#include "lib/json.h"

/* How long to wait for answers.  A report that is late is of little use. */
#define REGISTER_MS 10000
#define REPORT_MS 2000

/* How soon to look again while an answer is awaited, ns. */
#define ANSWER_WAKEUP (5 * NS_PER_MS)

struct registration {
    const struct registration_config *config;
    const struct ejfat_uri *uri;
    bool quiet;
    struct worker worker;
    struct control control;
    struct event_base *base;
    struct api_client *client;
    char *token;    /* Of the session, or NULL. */
    char *session;  /* Its id, or NULL. */
    int64_t looked; /* When registration_run() was called. */
    char *trouble;  /* What was said last of a request that failed. */
};

struct registration *
registration_create(const struct registration_config *config,
                    const struct api_options *options, bool quiet, int64_t now)
{
    struct registration *r = xcalloc(1, sizeof *r);
    const struct api_client_config client_config = {
        .uri = &options->uri,
        .ca = options->ca,
        .insecure = options->insecure,
    };

    r->config = config;
    r->uri = &options->uri;
    r->quiet = quiet;
    worker_init(&r->worker, &config->worker, now);
    control_init(&r->control, &config->control);
    r->base = event_base_new();
    r->client = api_client_create(r->base, &client_config);
    return r;
}

void
registration_destroy(struct registration *r)
{
    if (r) {
        api_client_destroy(r->client);
        event_base_free(r->base);
        free(r->token);
        free(r->session);
        free(r->trouble);
        free(r);
    }
}

/* Says once that 'what' failed because of 'message'. */
static void
tell_trouble(struct registration *r, const char *what, const char *message)
{
    char *trouble = xasprintf("cannot %s: %s", what, message);

    if (!r->trouble || strcmp(r->trouble, trouble) != 0) {
        fprintf(stderr, "evlb-recv: %s: %s; trying again\n",
                api_client_get_peer(r->client), trouble);
    }
    free(r->trouble);
    r->trouble = trouble;
}

static void
tell_no_trouble(struct registration *r)
{
    if (r->trouble && !r->quiet) {
        fprintf(stderr, "evlb-recv: %s answers again\n",
                api_client_get_peer(r->client));
    }
    free(r->trouble);
    r->trouble = NULL;
}

/* Returns what 'status' means to a worker that has no session yet. */
static enum worker_answer
register_answer(enum grpc_status status)
{
    switch (status) {
    case GRPC_OK:
        return WORKER_OK;
    case GRPC_INVALID_ARGUMENT:
    case GRPC_NOT_FOUND:
    case GRPC_ALREADY_EXISTS:
    case GRPC_PERMISSION_DENIED:
    case GRPC_FAILED_PRECONDITION:
    case GRPC_OUT_OF_RANGE:
    case GRPC_UNIMPLEMENTED:
    case GRPC_UNAUTHENTICATED:
        return WORKER_REFUSED;
    case GRPC_CANCELLED:
    case GRPC_UNKNOWN:
    case GRPC_DEADLINE_EXCEEDED:
    case GRPC_RESOURCE_EXHAUSTED:
    case GRPC_ABORTED:
    case GRPC_INTERNAL:
    case GRPC_UNAVAILABLE:
    case GRPC_DATA_LOSS:
        break;
    }
    return WORKER_LOST;
}

/* Returns what 'status' means to one that has: tokens are of a session, and
 * are unknown with it. */
static enum worker_answer
session_answer(enum grpc_status status)
{
    if (status == GRPC_OK) {
        return WORKER_OK;
    }
    return (status == GRPC_NOT_FOUND || status == GRPC_PERMISSION_DENIED
                    || status == GRPC_UNAUTHENTICATED
                ? WORKER_UNKNOWN
                : WORKER_LOST);
}

static void
take_session(struct registration *r, const Loadbalancer__RegisterReply *reply)
{
    char *address = address_format(&r->config->address);

    free(r->token);
    free(r->session);
    r->token = xasprintf("%s", reply->token);
    r->session = xasprintf("%s", reply->sessionid);
    if (!r->quiet) {
        fprintf(stderr,
                "evlb-recv: registered \"%s\", %s, with %s: reservation %s, "
                "session %s\n",
                r->config->name, address, api_client_get_peer(r->client),
                r->uri->lb_id, r->session);
    }
    free(address);
}

static void
registered_cb(void *r_, enum grpc_status status, const char *message,
              const ProtobufCMessage *reply)
{
    struct registration *r = r_;

    worker_answered(&r->worker, register_answer(status), clock_mono());
    if (status == GRPC_OK) {
        free(r->trouble);
        r->trouble = NULL;
        take_session(r, (const void *) reply);
    } else if (r->worker.failed) {
        free(r->trouble);
        r->trouble = xasprintf("%s", message);
    } else {
        tell_trouble(r, "register", message);
    }
}

static void
reported_cb(void *r_, enum grpc_status status, const char *message,
            const ProtobufCMessage *reply)
{
    struct registration *r = r_;

    (void) reply;
    worker_answered(&r->worker, session_answer(status), clock_mono());
    if (status == GRPC_OK) {
        tell_no_trouble(r);
    } else {
        tell_trouble(r, "report", message);
    }
}

static void
deregistered_cb(void *r_, enum grpc_status status, const char *message,
                const ProtobufCMessage *reply)
{
    struct registration *r = r_;

    (void) reply;
    worker_answered(&r->worker, session_answer(status), clock_mono());
    if (status != GRPC_OK) {
        tell_trouble(r, "deregister", message);
    } else if (!r->quiet) {
        fprintf(stderr, "evlb-recv: deregistered session %s\n", r->session);
    }
}

static void
call_register(struct registration *r)
{
    const struct registration_config *config = r->config;
    Loadbalancer__SlotRange ranges[SLOT_RANGES_MAX];
    Loadbalancer__SlotRange *pointers[SLOT_RANGES_MAX];
    char *ip = address_format_host(&config->address);
    Loadbalancer__RegisterRequest request =
        LOADBALANCER__REGISTER_REQUEST__INIT;

    for (size_t i = 0; i < config->slots.n; i++) {
        loadbalancer__slot_range__init(&ranges[i]);
        ranges[i].index = config->slots.ranges[i].index;
        ranges[i].length = config->slots.ranges[i].length;
        pointers[i] = &ranges[i];
    }
    request.lbid = (char *) r->uri->lb_id;
    request.name = (char *) config->name;
    request.weight = config->weight;
    request.ipaddress = ip;
    request.udpport = address_port(&config->address);
    request.portrange = (Loadbalancer__PortRange) config->port_bits;
    request.minfactor = config->min_factor;
    request.maxfactor = config->max_factor;
    request.keeplbheader = config->keep;
    request.n_slotdemands = config->slots.n;
    request.slotdemands = pointers;
    api_client_call(r->client, "Register", &request.base, NULL, REGISTER_MS,
                    registered_cb, r);
    free(ip);
}

static void
call_report(struct registration *r, int64_t now,
            const struct registration_sample *sample)
{
    Google__Protobuf__Timestamp timestamp = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Loadbalancer__SendStateRequest request =
        LOADBALANCER__SEND_STATE_REQUEST__INIT;
    int64_t real = clock_real();

    timestamp.seconds = real / NS_PER_S;
    timestamp.nanos = (int32_t) (real % NS_PER_S);
    request.lbid = (char *) r->uri->lb_id;
    request.sessionid = r->session;
    request.timestamp = &timestamp;
    request.fillpercent = sample->fill;
    request.controlsignal = control_run(&r->control, sample->fill, now);
    request.isready = worker_is_ready(&r->worker);
    request.totaleventsrecv = sample->events;
    request.totaleventsreassembled = sample->reassembled;
    request.totaleventsreassemblyerr = sample->reassembly_errs;
    request.totaleventsdequeued = sample->dequeued;
    request.totaleventenqueueerr = sample->enqueue_errs;
    request.totalbytesrecv = sample->bytes;
    request.totalpacketsrecv = sample->packets;
    api_client_call(r->client, "SendState", &request.base, r->token, REPORT_MS,
                    reported_cb, r);
}

static void
call_deregister(struct registration *r)
{
    Loadbalancer__DeregisterRequest request =
        LOADBALANCER__DEREGISTER_REQUEST__INIT;

    request.lbid = (char *) r->uri->lb_id;
    request.sessionid = r->session;
    api_client_call(r->client, "Deregister", &request.base, r->token,
                    REPORT_MS, deregistered_cb, r);
}

/* Does what is to be done at 'now', when 'sample' is the worker's state.
 * Returns NULL, or an error, which the caller frees, if the control plane does
 * not take the worker. */
char *
registration_run(struct registration *r, int64_t now,
                 const struct registration_sample *sample)
{
    r->looked = now;
    event_base_loop(r->base, EVLOOP_NONBLOCK);
    switch (worker_run(&r->worker, now, sample->last_packet)) {
    case WORKER_REQUEST_NONE:
        break;
    case WORKER_REQUEST_REGISTER:
        call_register(r);
        break;
    case WORKER_REQUEST_REPORT:
        call_report(r, now, sample);
        break;
    case WORKER_REQUEST_DEREGISTER:
        call_deregister(r);
        break;
    }
    event_base_loop(r->base, EVLOOP_NONBLOCK);
    return (r->worker.failed
                ? xasprintf("%s: this worker is not taken: %s",
                            api_client_get_peer(r->client), r->trouble)
                : NULL);
}

/* Lets the worker leave; see worker.h. */
void
registration_stop(struct registration *r, int64_t now)
{
    worker_stop(&r->worker, now);
}

bool
registration_is_over(const struct registration *r)
{
    return r->worker.state == WORKER_GONE;
}

/* Returns when registration_run() is to be called. */
int64_t
registration_wakeup(const struct registration *r)
{
    return (r->worker.request == WORKER_REQUEST_NONE
                ? worker_wakeup(&r->worker)
                : r->looked + ANSWER_WAKEUP);
}

void
registration_report_json(const struct registration *r, struct json *j)
{
    json_open_object(j, "registration");
    json_put_string(j, "state", worker_state_to_string(r->worker.state));
    json_put_string(j, "reservation", r->uri->lb_id);
    json_put_string(j, "session", r->session ? r->session : "");
    json_put_number(j, "registered", r->worker.n_registered);
    json_put_number(j, "reports", r->worker.n_reports);
    json_put_number(j, "failed", r->worker.n_failed);
    json_close_object(j);
}
