/* SPDX-License-Identifier: Apache-2.0 */

/* Calls of evlbd, and what to say when they fail. */

#include "controller/ctl/ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "controller/api/admin.pb-c.h"
#include "controller/api/grpc-client.h"
#include "controller/core/mem.h"
#include "controller/ctl/table.h"
#include "lib/json.h"
#include "lib/pb-field.h"
#include "lib/pb-json.h"

/* A change is answered when each connected switch has it. */
#define TIMEOUT_MS 30000

struct call {
    ProtobufCMessage *reply;
};

/* Keeps a copy of 'reply'. */
static void
reply_cb__(void *call_, const ProtobufCMessage *reply)
{
    struct call *call = call_;
    size_t n = protobuf_c_message_get_packed_size(reply);
    uint8_t *data = mem_alloc(n);

    protobuf_c_message_pack(reply, data);
    call->reply = protobuf_c_message_unpack(reply->descriptor, NULL, n, data);
    free(data);
}

static void
report_connect__(const struct ctl *ctl, int error)
{
    fprintf(stderr, "evlbctl: %s: %s\n", ctl->socket, strerror(error));
    if (error == ENOENT || error == ECONNREFUSED) {
        fprintf(stderr,
                "evlbctl: evlbd is not running, or its setting admin.socket "
                "names another file; see \"systemctl status evlbd\", or use "
                "--socket\n");
    } else if (error == EACCES || error == EPERM) {
        fprintf(stderr,
                "evlbctl: become root, the user that evlbd runs as, or a "
                "member of the group that its setting admin.group names\n");
    }
}

static void
report_status__(const struct ctl *ctl, enum grpc_status status,
                const char *message)
{
    fprintf(stderr, "evlbctl: %s\n",
            *message ? message : grpc_status_to_string(status));
    if (status == GRPC_UNAVAILABLE) {
        fprintf(stderr,
                "evlbctl: %s was left without an answer; see evlbd's log\n",
                ctl->socket);
    } else if (status == GRPC_UNIMPLEMENTED) {
        fprintf(stderr, "evlbctl: evlbd is of another version than this "
                        "program\n");
    } else if (status == GRPC_DEADLINE_EXCEEDED) {
        fprintf(stderr, "evlbctl: what was asked for may still happen; see "
                        "\"evlbctl epochs\"\n");
    }
}

/* Calls 'method' of evlbd with 'request'.  Returns CTL_OK and stores the
 * reply, which the caller must free, in '*reply', or says what is wrong and
 * returns another exit code. */
int
ctl_call(struct ctl *ctl, const char *method, const ProtobufCMessage *request,
         ProtobufCMessage **reply)
{
    struct event_base *base = event_base_new();
    struct call call = { .reply = NULL };
    struct grpc_client_request r = {
        .service = &evlb__admin__v1__admin__descriptor,
        .method = method,
        .message = request,
        .timeout_ms = TIMEOUT_MS,
        .reply = reply_cb__,
        .aux = &call,
    };
    const struct grpc_client_address address = { .path = ctl->socket };
    struct grpc_client *client = grpc_client_create(base, &address);
    char *message;
    enum grpc_status status = grpc_client_wait(client, &r, &message);
    int code = CTL_OK;

    if (status == GRPC_OK && !call.reply) {
        status = GRPC_INTERNAL;
    }
    if (grpc_client_get_errno(client)) {
        report_connect__(ctl, grpc_client_get_errno(client));
        code = CTL_FAILED;
    } else if (status != GRPC_OK) {
        report_status__(ctl, status, message);
        code = CTL_FAILED;
    }
    free(message);
    if (code != CTL_OK && call.reply) {
        protobuf_c_message_free_unpacked(call.reply, NULL);
        call.reply = NULL;
    }
    grpc_client_destroy(client);
    event_base_free(base);
    *reply = call.reply;
    return code;
}

/* Takes out of the strings of 'msg' what would steer a terminal. */
void
ctl_tame(const ProtobufCMessage *msg)
{
    for (unsigned int i = 0; i < msg->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &msg->descriptor->fields[i];
        bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
        const void *value = pb_field_value(msg, f);
        void *const *p = repeated ? *(void **const *) value : value;
        size_t n = repeated ? *(size_t *) pb_field_quantifier(msg, f) : 1;
        bool chosen =
            (!pb_field_is_oneof(f)
             || *(const uint32_t *) pb_field_quantifier(msg, f) == f->id);

        for (size_t j = 0; chosen && j < n; j++) {
            if (f->type == PROTOBUF_C_TYPE_MESSAGE && p[j]) {
                ctl_tame(p[j]);
            } else if (f->type == PROTOBUF_C_TYPE_STRING && p[j]
                       && p[j] != f->default_value) {
                table_tame(p[j]);
            }
        }
    }
}

void
ctl_print_json(const ProtobufCMessage *msg)
{
    struct json j;

    json_init(&j, stdout);
    pb_json_write(&j, NULL, msg);
}

/* Prints 'reply' with 'print', or as JSON. */
void
ctl_print_reply(const struct ctl *ctl, const ProtobufCMessage *reply,
                void (*print)(const void *reply))
{
    if (ctl->json) {
        ctl_print_json(reply);
    } else {
        ctl_tame(reply);
        print(reply);
    }
}

/* Calls 'method' of evlbd with 'request', and prints the reply with 'print',
 * or as JSON.  Returns an exit code. */
int
ctl_call_print(struct ctl *ctl, const char *method,
               const ProtobufCMessage *request,
               void (*print)(const void *reply))
{
    ProtobufCMessage *reply;
    int code = ctl_call(ctl, method, request, &reply);

    if (code == CTL_OK) {
        ctl_print_reply(ctl, reply, print);
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    return code;
}
