/* SPDX-License-Identifier: Apache-2.0 */

/* Where a packet goes, by evlbd's rules and, beside it, by the switch. */

#include "controller/ctl/ctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/admin.pb-c.h"
#include "controller/ctl/table.h"
#include "controller/trace-switch.h"

static void
print_steps__(const Evlb__Admin__V1__TraceReply *r)
{
    struct table *t = table_create(">TABLE STAGE VERDICT WHICH");

    for (size_t i = 0; i < r->n_steps; i++) {
        const Evlb__Admin__V1__Flow *f = r->steps[i];
        char *which = ctl_flow_packets(f);

        table_add(t, "%" PRId32, f->table);
        table_add(t, "%s", f->stage);
        table_add(t, "%s", f->verdict);
        table_add(t, "%s", which);
        free(which);
    }
    table_print(t, stdout);
    table_destroy(t);
}

static void
print_trace__(const void *reply)
{
    const Evlb__Admin__V1__TraceReply *r = reply;

    printf("%s, in through port %s (%" PRIu32 ")\n", r->target, r->in_port,
           r->in_port_number);
    print_steps__(r);
    if (*r->lb_status) {
        printf("header: %s, version %" PRIu32 ", tick %" PRIu64
               ", slot selector %" PRIu32 ", port selector %" PRIu32 "\n",
               r->lb_status, r->lb_version, r->lb_tick, r->lb_slot_select,
               r->lb_port_select);
    }
    if (r->epoch >= 0) {
        printf("instance %s, epoch %" PRId32, r->instance, r->epoch);
        if (r->slot >= 0) {
            printf(", slot %" PRId32 ", member %" PRId32, r->slot, r->member);
        }
        putchar('\n');
    }
    if (r->dropped) {
        printf("dropped: %s\n", r->verdict);
    } else {
        printf("out through %s (%s), %s: to %s, %s", r->egress, r->egress_port,
               r->verdict, r->eth_dst, r->ip_dst);
        if (r->udp_dst >= 0) {
            printf(", udp %" PRId32, r->udp_dst);
        }
        printf(", ttl %" PRId32 "\n", r->ttl);
    }
}

/* Asks the switch itself, on whose bridge 'bridge' the packet of 'r' comes in,
 * and says what is otherwise.  Returns an exit code. */
static int
compare__(const struct ctl *ctl, const Evlb__Admin__V1__TraceReply *r,
          const char *bridge)
{
    const struct switch_trace_expected expected = {
        .group = r->group,
        .slot = r->slot,
        .member = r->member,
        .egress = r->egress_port,
    };
    struct switch_trace t;
    char *difference;
    int code = CTL_OK;

    switch_trace_run(bridge, r->in_port_number, r->packet, &t);
    if (t.error) {
        fprintf(stderr, "evlbctl: %s\n", t.error);
        code = CTL_FAILED;
    } else {
        difference = switch_trace_compare(&t, &expected);
        if (*difference) {
            fprintf(stderr, "evlbctl: %s: %s\n", bridge, difference);
            code = CTL_FAILED;
        } else if (!ctl->json) {
            printf("\nThe switch says the same:\n\n%s", t.text);
        }
        free(difference);
    }
    switch_trace_uninit(&t);
    return code;
}

/* trace INSTANCE NAME=VALUE... */
int
ctl_run_trace(struct ctl *ctl, const struct ctl_command *command, int argc,
              char *argv[])
{
    Evlb__Admin__V1__TraceRequest r = EVLB__ADMIN__V1__TRACE_REQUEST__INIT;
    char *bridge = NULL;
    const struct ctl_property properties[] = {
        { .name = "tick", .u64 = &r.tick },
        { .name = "version", .u32 = &r.version },
        { .name = "slot", .u32 = &r.slot_select },
        { .name = "entropy", .u32 = &r.entropy },
        { .name = "source", .string = &r.source },
        { .name = "destination", .string = &r.destination },
        { .name = "port", .u32 = &r.port },
        { .name = "ttl", .u32 = &r.ttl },
        { .name = "packet", .string = &r.packet },
        { .name = "in_port", .string = &r.in_port },
        { .name = "target", .string = &r.target },
        { .name = "switch", .string = &bridge },
    };
    ProtobufCMessage *reply;
    int code = ctl_parse_properties(properties,
                                    sizeof properties / sizeof *properties,
                                    argc - 1, argv + 1);

    r.instance = argv[0];
    if (code == CTL_OK) {
        code = ctl_call(ctl, command->method, &r.base, &reply);
    }
    if (code == CTL_OK) {
        ctl_print_reply(ctl, reply, print_trace__);
        if (bridge) {
            code = compare__(ctl, (const void *) reply, bridge);
        }
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    return code;
}
