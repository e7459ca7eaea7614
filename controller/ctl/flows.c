/* SPDX-License-Identifier: Apache-2.0 */

/* What the switches hold, and what they have counted. */

#include "controller/ctl/ctl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/admin.pb-c.h"
#include "controller/core/mem.h"
#include "controller/ctl/table.h"

/* Characters of a list of slots; --json shows all. */
#define SLOTS_SHOWN 24

/* Reports switches that could not be read.  Returns an exit code. */
static int
report_errors__(Evlb__Admin__V1__TargetError *const *errors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(stderr, "evlbctl: %s: %s\n", errors[i]->target,
                errors[i]->error);
    }
    return n ? CTL_FAILED : CTL_OK;
}

/* Appends what printf() would print, and a space before it if need be, to
 * '*s'. */
static void append__(char **s, const char *format, ...)
    __attribute__((__format__(printf, 2, 3)));

static void
append__(char **s, const char *format, ...)
{
    va_list args;
    char *word;
    char *longer;

    va_start(args, format);
    if (vasprintf(&word, format, args) < 0) {
        abort();
    }
    va_end(args);
    longer = mem_printf("%s%s%s", *s, **s ? " " : "", word);
    free(*s);
    free(word);
    *s = longer;
}

static void
add_count__(struct table *t, bool counted, uint64_t n)
{
    if (counted) {
        table_add(t, "%" PRIu64, n);
    } else {
        table_add(t, "-");
    }
}

/* Returns which packets 'flow' is about; the caller must free it. */
char *
ctl_flow_packets(const void *flow)
{
    const Evlb__Admin__V1__Flow *f = flow;
    char *s = mem_strdup("");

    if (*f->in_port) {
        append__(&s, "port %s", f->in_port);
    }
    if (f->vlan > 0) {
        append__(&s, "vlan %" PRId32, f->vlan);
    }
    if (*f->eth_dst) {
        append__(&s, "to %s", f->eth_dst);
    }
    if (*f->source) {
        append__(&s, "from %s", f->source);
    }
    if (*f->address) {
        append__(&s, "to %s", f->address);
    }
    if (f->first_port >= 0) {
        append__(&s, "udp %" PRId32 "-%" PRId32, f->first_port, f->last_port);
    }
    if (f->has_ticks) {
        append__(&s, "ticks %" PRIu64 "-%" PRIu64, f->first_tick,
                 f->last_tick);
    }
    if (*f->slots) {
        append__(&s, "%" PRId32 " slots %.*s%s", f->n_slots, SLOTS_SHOWN,
                 f->slots, strlen(f->slots) > SLOTS_SHOWN ? "..." : "");
    }
    return s;
}

static void
add_number__(struct table *t, int32_t number)
{
    if (number < 0) {
        table_add(t, "-");
    } else {
        table_add(t, "%" PRId32, number);
    }
}

void
ctl_print_flows(const void *reply)
{
    const Evlb__Admin__V1__FlowsReply *r = reply;
    struct table *t = table_create("TARGET >TABLE STAGE INSTANCE >EPOCH "
                                   ">MEMBER EGRESS VERDICT >PACKETS >BYTES "
                                   "WHICH");

    for (size_t i = 0; i < r->n_flows; i++) {
        const Evlb__Admin__V1__Flow *f = r->flows[i];
        char *packets = ctl_flow_packets(f);

        table_add(t, "%s", f->target);
        add_number__(t, f->table);
        table_add(t, "%s", f->stage);
        table_add(t, "%s", *f->instance ? f->instance : "-");
        add_number__(t, f->epoch);
        add_number__(t, f->member);
        table_add(t, "%s", *f->egress ? f->egress : "-");
        table_add(t, "%s", f->verdict);
        add_count__(t, f->counted, f->packets);
        add_count__(t, f->counted, f->bytes);
        table_add(t, "%s", packets);
        free(packets);
    }
    table_print(t, stdout);
    table_destroy(t);
}

/* Adds who 'c' counts for. */
static void
add_owner__(struct table *t, const Evlb__Admin__V1__Counter *c)
{
    if (*c->port) {
        table_add(t, "%s:%s", c->target, c->port);
    } else if (c->member >= 0) {
        table_add(t, "%" PRId32, c->member);
    } else {
        table_add(t, "%s", *c->interface ? c->interface : "-");
    }
}

/* Prints what is not 0. */
void
ctl_print_counters(const void *reply)
{
    const Evlb__Admin__V1__CountersReply *r = reply;
    struct table *t =
        table_create("SCOPE INSTANCE OF COUNTER DROPPED >PACKETS >BYTES");

    for (size_t i = 0; i < r->n_counters; i++) {
        const Evlb__Admin__V1__Counter *c = r->counters[i];

        if (c->packets) {
            table_add(t, "%s", c->scope);
            table_add(t, "%s", *c->instance ? c->instance : "-");
            add_owner__(t, c);
            table_add(t, "%s", c->name);
            table_add(t, "%s", c->dropped ? "dropped" : "-");
            table_add(t, "%" PRIu64, c->packets);
            table_add(t, "%" PRIu64, c->bytes);
        }
    }
    table_print(t, stdout);
    table_destroy(t);
}

/* counters [INSTANCE] */
int
ctl_run_counters(struct ctl *ctl, const struct ctl_command *command, int argc,
                 char *argv[])
{
    Evlb__Admin__V1__InstanceRequest r =
        EVLB__ADMIN__V1__INSTANCE_REQUEST__INIT;
    ProtobufCMessage *reply;
    int code;

    if (argc) {
        r.instance = argv[0];
    }
    code = ctl_call(ctl, command->method, &r.base, &reply);
    if (code == CTL_OK) {
        const Evlb__Admin__V1__CountersReply *c = (const void *) reply;

        ctl_print_reply(ctl, reply, command->print);
        code = report_errors__(c->errors, c->n_errors);
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    return code;
}

/* flows [INSTANCE [TARGET]] */
int
ctl_run_flows(struct ctl *ctl, const struct ctl_command *command, int argc,
              char *argv[])
{
    Evlb__Admin__V1__FlowsRequest r = EVLB__ADMIN__V1__FLOWS_REQUEST__INIT;
    ProtobufCMessage *reply;
    int code;

    if (argc > 0) {
        r.instance = argv[0];
    }
    if (argc > 1) {
        r.target = argv[1];
    }
    code = ctl_call(ctl, command->method, &r.base, &reply);
    if (code == CTL_OK) {
        const Evlb__Admin__V1__FlowsReply *flows = (const void *) reply;

        ctl_print_reply(ctl, reply, command->print);
        code = report_errors__(flows->errors, flows->n_errors);
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    return code;
}
