/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/lb.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/api/api-grpc.h"
#include "controller/api/lb-private.h"
#include "controller/core/mem.h"

VLOG_DEFINE_THIS_MODULE(evlb_api);

#define LB_DESCRIPTOR (&loadbalancer__load_balancer__descriptor)

static const struct lb_method methods[] = {
#define LB_METHOD(NAME, HANDLER, SUBJECT, RIGHT, KIND) \
    { #NAME, HANDLER, LB_##SUBJECT, TOKEN_##RIGHT, LB_##KIND },
    LB_METHODS
#undef LB_METHOD
};

/* How many calls ended, by method and status, of all there were: the last ones
 * may end when the service is gone. */
static uint64_t calls[sizeof methods / sizeof *methods][LB_STATUSES];

/* Returns an error that makes 'job' end with 'status'. */
char *
lb_refuse(struct lb_job *job, enum grpc_status status, const char *format, ...)
{
    char *error;
    va_list args;

    va_start(args, format);
    if (vasprintf(&error, format, args) < 0) {
        abort();
    }
    va_end(args);
    job->status = status;
    return error;
}

/* Returns 'error', which is about a field of the request, or NULL. */
char *
lb_refuse_field(struct lb_job *job, char *error)
{
    if (error) {
        job->status = GRPC_INVALID_ARGUMENT;
    }
    return error;
}

/* Jobs. */

static struct lb_job *
job_create__(struct lb *lb, const struct lb_method *method,
             struct api_call *call, const ProtobufCMessage *request)
{
    struct lb_job *job = mem_zalloc(sizeof *job);

    job->lb = lb;
    job->call = call;
    job->method = method;
    job->request = request;
    arena_init(&job->arena);
    return job;
}

static void
job_destroy__(struct lb_job *job)
{
    if (job->link) {
        lb_link_end(job->link);
    }
    if (job->copy) {
        protobuf_c_message_free_unpacked(job->copy, NULL);
    }
    arena_destroy(&job->arena);
    free(job);
}

/* Has 'job' keep its request.  Returns false if it holds fields, none that we
 * know, that cannot be written as they were read. */
static bool
job_keep_request__(struct lb_job *job)
{
    size_t size = protobuf_c_message_get_packed_size(job->request);
    uint8_t *packed = mem_alloc(size);

    protobuf_c_message_pack(job->request, packed);
    job->copy = protobuf_c_message_unpack(job->request->descriptor, NULL, size,
                                          packed);
    free(packed);
    job->request = job->copy;
    return job->copy != NULL;
}

/* Takes note that 'job' ends with 'status'. */
static void
count__(const struct lb_job *job, enum grpc_status status)
{
    calls[job->method - methods][status]++;
}

/* Ends 'job' well. */
static void
job_reply__(struct lb_job *job)
{
    if (!job->reply) {
        const ProtobufCMessageDescriptor *d =
            lb_find_method(job->method->name)->output;
        ProtobufCMessage *empty = arena_alloc(&job->arena, d->sizeof_message);

        protobuf_c_message_init(d, empty);
        job->reply = empty;
    }
    count__(job, GRPC_OK);
    api_call_reply(job->call, job->reply);
    job_destroy__(job);
}

/* Ends 'job' with 'error'. */
static void
job_fail__(struct lb_job *job, enum grpc_status status, const char *error)
{
    VLOG_DBG("%s: %s: %s", job->call->peer, job->method->name, error);
    count__(job, status);
    api_call_fail(job->call, status, "%s", error);
    job_destroy__(job);
}

/* Ends 'job' with its reply, or with 'error', which is freed. */
void
lb_finish(struct lb_job *job, char *error)
{
    if (error) {
        job_fail__(job, job->status, error);
        free(error);
    } else {
        job_reply__(job);
    }
}

/* Begins 'job', anew perhaps, with what 'book' and 'state' say.  Returns NULL if
 * the caller may have it carried out, or an error. */
static char *
job_begin__(struct lb_job *job, const struct book *book,
            const struct state *state)
{
    arena_destroy(&job->arena);
    job->reply = NULL;
    job->served = NULL;
    job->status = GRPC_FAILED_PRECONDITION;
    job->book = book;
    job->state = state;
    return lb_admit(job);
}

/* Changes. */

static char *
plan_cb__(void *job_, struct engine_draft *draft)
{
    struct lb_job *job = job_;
    char *error;

    job->draft = draft;
    error =
        job_begin__(job, engine_draft_book(draft), engine_draft_state(draft));
    if (error) {
        return error;
    }
    return job->plan ? job->plan(job) : job->method->handler(job);
}

static void
changed_cb__(void *job_, enum engine_outcome outcome, const char *error)
{
    struct lb_job *job = job_;

    switch (outcome) {
    case ENGINE_DONE:
        VLOG_INFO("%s: %s for token %" PRIu32, job->call->peer,
                  job->method->name, job->caller);
        if (job->served) {
            job->served(job);
        }
        job_reply__(job);
        break;
    case ENGINE_REFUSED:
        job_fail__(job, job->status, error);
        break;
    case ENGINE_NOT_STORED:
        VLOG_WARN("%s: %s: nothing is changed, for it could not be stored: %s",
                  job->call->peer, job->method->name, error);
        job_fail__(job, GRPC_UNAVAILABLE, error);
        break;
    }
}

static void
change__(struct lb_job *job)
{
    engine_change(job->lb->engine, plan_cb__, changed_cb__, job);
}

/* Goes on with 'job', whose handler has waited for something, with 'plan'. */
void
lb_change(struct lb_job *job, lb_handler *plan)
{
    job->plan = plan;
    engine_change(job->lb->engine, plan_cb__, changed_cb__, job);
}

/* Has 'job' begin what takes a while. */
static void
wait__(struct lb_job *job)
{
    char *error = job->method->handler(job);

    if (error) {
        lb_finish(job, error);
    }
}

/* The service. */

static void
call_cb__(void *lb, const ProtobufCMethodDescriptor *descriptor,
          struct api_call *call, const ProtobufCMessage *request)
{
    lb_call(lb, descriptor, call, request);
}

/* Returns the control API of what 'engine' has in service. */
struct lb *
lb_create(struct engine *engine)
{
    struct lb *lb = mem_zalloc(sizeof *lb);

    lb->engine = engine;
    for (int i = 0; i < 2; i++) {
        lb->doors[i] = api_grpc_create(LB_DESCRIPTOR, i, call_cb__, lb);
    }
    lb_links_init(lb);
    return lb;
}

/* Destroys 'lb', which may be NULL. */
void
lb_destroy(struct lb *lb)
{
    if (lb) {
        lb_links_destroy(lb);
        api_grpc_destroy(lb->doors[0]);
        api_grpc_destroy(lb->doors[1]);
        free(lb);
    }
}

/* Returns the service for gRPC servers, which lasts as long as 'lb'.  Who comes
 * through one that is 'trusted' needs no token. */
const struct grpc_service *
lb_get_grpc(const struct lb *lb, bool trusted)
{
    return api_grpc_get_service(lb->doors[trusted]);
}

/* Returns the method 'name', or NULL. */
const ProtobufCMethodDescriptor *
lb_find_method(const char *name)
{
    return protobuf_c_service_descriptor_get_method_by_name(LB_DESCRIPTOR,
                                                            name);
}

static const struct lb_method *
find_handler__(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (!strcmp(methods[i].name, name)) {
            return &methods[i];
        }
    }
    return NULL;
}

/* Returns how many calls of 'method' ended with each status. */
const uint64_t *
lb_get_calls(const char *method)
{
    return calls[find_handler__(method) - methods];
}

/* Carries out 'call', of the method 'descriptor' with 'request', which need not
 * stay. */
void
lb_call(struct lb *lb, const ProtobufCMethodDescriptor *descriptor,
        struct api_call *call, const ProtobufCMessage *request)
{
    const struct lb_method *method = find_handler__(descriptor->name);
    struct lb_job *job;
    char *error;

    if (!method) {
        api_call_fail(call, GRPC_UNIMPLEMENTED, "%s is not there",
                      descriptor->name);
        return;
    }
    job = job_create__(lb, method, call, request);
    error = job_begin__(job, engine_get_book(lb->engine),
                        engine_get_state(lb->engine));
    if (!error && method->kind != LB_READS && !job_keep_request__(job)) {
        error = lb_refuse(job, GRPC_INVALID_ARGUMENT,
                          "the request holds malformed fields");
    }
    if (error) {
        lb_finish(job, error);
        return;
    }
    switch (method->kind) {
    case LB_READS:
        lb_finish(job, method->handler(job));
        break;
    case LB_WAITS:
        wait__(job);
        break;
    case LB_CHANGES:
        change__(job);
        break;
    }
}
