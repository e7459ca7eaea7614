/* SPDX-License-Identifier: Apache-2.0 */

/* Calls of the control API with any requests, one after the other, to a real
 * engine without a store.  Each call ends once; errors are of one line; the book
 * stays whole, and its records are read back.
 *
 *     METHOD (1 byte)  LENGTH (2 bytes)  REQUEST     any number of times */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/api/lb.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "controller/config.h"
#include "controller/core/book.h"
#include "controller/core/mem.h"
#include "controller/core/token.h"
#include "controller/engine.h"
#include "controller/epoch-log.h"
#include "controller/store/book-record.h"

#define CALLS_MAX 64
#define CONFIG                                                              \
    "openflow = { listen = [ \"unix:%s/of.sock\" ]; };\n"                   \
    "state_file = \"\";\n"                                                  \
    "neighbour = { resolve = false; };\n"                                   \
    "reservations = { period = 50; allow_loopback_workers = true; };\n"     \
    "bridges = ( { name = \"br0\"; datapath_id = \"1\"; } );\n"             \
    "interfaces = ( { name = \"data\"; mac = \"02:00:00:00:00:01\"; } );\n" \
    "instances = (\n"                                                       \
    "  { name = \"one\"; id = 0; addresses = [ \"10.0.0.1\", \"fd00::1\" "  \
    "];\n"                                                                  \
    "    reservable = true; sync = \"udp:127.0.0.1:%d\"; },\n"              \
    "  { name = \"two\"; id = 1; addresses = [ \"10.0.0.2\" ];\n"           \
    "    reservable = true; sync = \"udp:127.0.0.1:%d\"; } );\n"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static struct event_base *base;
static struct engine *engine;
static struct lb *lb;

static struct {
    struct api_call call;
    unsigned int n_ended;
} current;

static void
reply_cb(struct api_call *call, const ProtobufCMessage *reply)
{
    size_t n = protobuf_c_message_get_packed_size(reply);
    uint8_t *packed = mem_alloc(n);

    (void) call;
    protobuf_c_message_pack(reply, packed);
    free(packed);
    current.n_ended++;
}

static void
fail_cb(struct api_call *call, enum grpc_status status, const char *message)
{
    (void) call;
    if (status == GRPC_OK || !*message || status == GRPC_INTERNAL) {
        abort();
    }
    current.n_ended++;
}

static char *
accept_cb(void *aux, const struct evlb_config *config)
{
    (void) aux;
    (void) config;
    return NULL;
}

static void
check(char *error)
{
    if (error) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
}

static void
start(void)
{
    static const struct engine_handlers handlers = { accept_cb, NULL };
    char directory[] = "/tmp/fuzz-api.XXXXXX";
    int port = 20000 + getpid() % 20000;
    struct evlb_config *config;
    struct epoch_log *log;
    char *file;
    FILE *stream;

    if (!mkdtemp(directory)) {
        abort();
    }
    file = mem_printf("%s/evlb.conf", directory);
    stream = fopen(file, "w");
    if (!stream) {
        abort();
    }
    fprintf(stream, CONFIG, directory, port, port + 20000);
    fclose(stream);
    base = event_base_new();
    check(evlb_config_load(file, &config));
    check(epoch_log_open(NULL, &log));
    check(engine_create(base, config, log, &handlers, &engine));
    lb = lb_create(engine);
    unlink(file);
    free(file);
}

static void
call(const ProtobufCMethodDescriptor *method, const ProtobufCMessage *request)
{
    static const struct api_carrier carrier = { reply_cb, fail_cb };

    current.n_ended = 0;
    current.call = (struct api_call){ .carrier = &carrier,
                                      .authority = "lb.example:19523",
                                      .peer = "tcp:10.0.0.9:4711",
                                      .trusted = true };
    lb_call(lb, method, &current.call, request);
    while (!current.n_ended) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    if (current.n_ended != 1) {
        abort();
    }
    check(book_record_check(engine_get_book(engine)));
}

/* Has the field 'name' of 'request', if it is one digit, be the id of that entry
 * of 'list': ids are never the same again. */
static void
translate(ProtobufCMessage *request, const char *name,
          const struct book_list *list)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(request->descriptor,
                                                        name);
    char **text;

    if (field && list->n) {
        void *p = (char *) request + field->offset;

        text = p;
        if (**text >= '0' && **text <= '9' && !(*text)[1]) {
            size_t index = (size_t) (**text - '0') % list->n;

            free(*text);
            *text = mem_printf("%llu",
                               (unsigned long long) list->entries[index]->id);
        }
    }
}

/* Frees all reservations, and revokes all tokens. */
static void
reset(void)
{
    for (;;) {
        Loadbalancer__FreeLoadBalancerRequest m =
            LOADBALANCER__FREE_LOAD_BALANCER_REQUEST__INIT;
        const struct book *book = engine_get_book(engine);
        char id[24];

        if (!book->reservations.n) {
            break;
        }
        snprintf(id, sizeof id, "%llu",
                 (unsigned long long) book->reservations.entries[0]->id);
        m.lbid = id;
        call(lb_find_method("FreeLoadBalancer"), &m.base);
    }
    for (;;) {
        Loadbalancer__RevokeTokenRequest m =
            LOADBALANCER__REVOKE_TOKEN_REQUEST__INIT;
        Loadbalancer__TokenSelector target =
            LOADBALANCER__TOKEN_SELECTOR__INIT;
        const struct book *book = engine_get_book(engine);

        if (book->tokens->n == 1) {
            break;
        }
        target.token_selector_case =
            LOADBALANCER__TOKEN_SELECTOR__TOKEN_SELECTOR_ID;
        target.id = token_tree_get(book->tokens, 1)->id;
        m.target = &target;
        call(lb_find_method("RevokeToken"), &m.base);
    }
    if (engine_get_book(engine)->sessions.n
        || engine_get_book(engine)->chains.n) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ProtobufCServiceDescriptor *d =
        &loadbalancer__load_balancer__descriptor;

    if (!engine) {
        start();
    }
    for (int i = 0; i < CALLS_MAX && size >= 3; i++) {
        const ProtobufCMethodDescriptor *method =
            &d->methods[data[0] % d->n_methods];
        size_t n = (size_t) (data[1] << 8 | data[2]);
        ProtobufCMessage *request;

        n = n < size - 3 ? n : size - 3;
        request = protobuf_c_message_unpack(method->input, NULL, n, data + 3);
        if (request) {
            const struct book *book = engine_get_book(engine);

            translate(request, "lbId", &book->reservations);
            translate(request, "sessionId", &book->sessions);
            call(method, request);
            protobuf_c_message_free_unpacked(request, NULL);
        }
        data += 3 + n;
        size -= 3 + n;
    }
    reset();
    return 0;
}
