/* SPDX-License-Identifier: Apache-2.0 */

/* Commands about workers and their sessions. */

#include "controller/ctl/api.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/core/mem.h"

#define PORTS_MAX 16384

/* Returns a usage error about 'ranges'. */
static int
bad_ranges__(const char *ranges)
{
    return ctl_usage_error("\"%s\" is not " SLOT_RANGES_FORM, ranges);
}

/* Stores the logarithm of 'ports' in '*range'. */
static int
parse_ports__(uint32_t ports, Loadbalancer__PortRange *range)
{
    if (!ports || ports > PORTS_MAX || ports & (ports - 1)) {
        return ctl_usage_error("ports= is a power of two, 1 to %d", PORTS_MAX);
    }
    *range = (Loadbalancer__PortRange) __builtin_ctz(ports);
    return CTL_OK;
}

static void
print_session__(const void *reply)
{
    const Loadbalancer__RegisterReply *r = reply;

    printf("session %s\ntoken %s\n", r->sessionid, r->token);
}

/* register NAME ip=ADDRESS port=PORT ... */
int
ctl_run_register(struct ctl *ctl, const struct ctl_command *command, int argc,
                 char *argv[])
{
    Loadbalancer__RegisterRequest r = LOADBALANCER__REGISTER_REQUEST__INIT;
    struct ctl_ranges ranges = { .n = 0 };
    uint32_t ports = 1;
    char *slots = "";
    const struct ctl_property properties[] = {
        { .name = "ip", .string = &r.ipaddress, .required = true },
        { .name = "port", .u32 = &r.udpport, .required = true },
        { .name = "ports", .u32 = &ports },
        { .name = "weight", .real = &r.weight },
        { .name = "min", .real = &r.minfactor },
        { .name = "max", .real = &r.maxfactor },
        { .name = "keep", .flag = &r.keeplbheader },
        { .name = "slots", .string = &slots },
    };
    int code = ctl_parse_properties(properties,
                                    sizeof properties / sizeof *properties,
                                    argc - 1, argv + 1);

    (void) command;
    r.name = argv[0];
    if (code == CTL_OK) {
        code = parse_ports__(ports, &r.portrange);
    }
    if (code == CTL_OK && !ctl_parse_ranges(slots, &ranges)) {
        code = bad_ranges__(slots);
    }
    r.slotdemands = ranges.pointers;
    r.n_slotdemands = ranges.n;
    if (code == CTL_OK) {
        code = ctl_find_lb(ctl, 0, NULL, &r.lbid);
    }
    return (code == CTL_OK
                ? ctl_api_run(ctl, "Register", &r.base, print_session__)
                : code);
}

/* deregister SESSION */
int
ctl_run_deregister(struct ctl *ctl, const struct ctl_command *command,
                   int argc, char *argv[])
{
    Loadbalancer__DeregisterRequest r = LOADBALANCER__DEREGISTER_REQUEST__INIT;
    int code = ctl_find_lb(ctl, 0, NULL, &r.lbid);

    (void) command;
    (void) argc;
    r.sessionid = argv[0];
    return (code == CTL_OK
                ? ctl_api_run(ctl, "Deregister", &r.base, ctl_print_nothing)
                : code);
}

/* send-state SESSION fill=F ... */
int
ctl_run_send_state(struct ctl *ctl, const struct ctl_command *command,
                   int argc, char *argv[])
{
    Loadbalancer__SendStateRequest r = LOADBALANCER__SEND_STATE_REQUEST__INIT;
    Google__Protobuf__Timestamp now = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    protobuf_c_boolean not_ready = false;
    const struct ctl_property properties[] = {
        { .name = "fill", .real = &r.fillpercent, .required = true },
        { .name = "control", .real = &r.controlsignal },
        { .name = "not-ready", .flag = &not_ready },
        { .name = "events", .i64 = &r.totaleventsrecv },
        { .name = "reassembled", .i64 = &r.totaleventsreassembled },
        { .name = "errors", .i64 = &r.totaleventsreassemblyerr },
        { .name = "dequeued", .i64 = &r.totaleventsdequeued },
        { .name = "lost", .i64 = &r.totaleventenqueueerr },
        { .name = "bytes", .i64 = &r.totalbytesrecv },
        { .name = "packets", .i64 = &r.totalpacketsrecv },
    };
    int code = ctl_parse_properties(properties,
                                    sizeof properties / sizeof *properties,
                                    argc - 1, argv + 1);

    (void) command;
    now.seconds = time(NULL);
    r.sessionid = argv[0];
    r.timestamp = &now;
    r.isready = !not_ready;
    if (code == CTL_OK) {
        code = ctl_find_lb(ctl, 0, NULL, &r.lbid);
    }
    return (code == CTL_OK
                ? ctl_api_run(ctl, "SendState", &r.base, ctl_print_nothing)
                : code);
}

/* What the sessions of a request demand. */
struct demands {
    Loadbalancer__SessionSlotRanges *messages;
    Loadbalancer__SessionSlotRanges **pointers;
    struct ctl_ranges *ranges;
    size_t n;
};

static void
demands_init__(struct demands *d, size_t n)
{
    d->messages = mem_zalloc(n * sizeof *d->messages);
    d->pointers = mem_zalloc(n * sizeof(Loadbalancer__SessionSlotRanges *));
    d->ranges = mem_zalloc(n * sizeof *d->ranges);
    d->n = 0;
}

static void
demands_uninit__(struct demands *d)
{
    free(d->messages);
    free(d->pointers);
    free(d->ranges);
}

/* Adds 's', "SESSION=RANGES", which is cut, to 'd'. */
static int
demands_add__(struct demands *d, char *s)
{
    Loadbalancer__SessionSlotRanges *m = &d->messages[d->n];
    struct ctl_ranges *ranges = &d->ranges[d->n];
    char *equals = strchr(s, '=');

    if (!equals || equals == s) {
        return ctl_usage_error("\"%s\" is not SESSION=RANGES", s);
    }
    *equals = '\0';
    if (!ctl_parse_ranges(equals + 1, ranges)) {
        return bad_ranges__(equals + 1);
    }
    loadbalancer__session_slot_ranges__init(m);
    m->sessionid = strcmp(s, "all") != 0 ? s : "";
    m->slots = ranges->pointers;
    m->n_slots = ranges->n;
    d->pointers[d->n++] = m;
    return CTL_OK;
}

/* demands SESSION=RANGES... */
int
ctl_run_demands(struct ctl *ctl, const struct ctl_command *command, int argc,
                char *argv[])
{
    Loadbalancer__SetSlotDemandsRequest r =
        LOADBALANCER__SET_SLOT_DEMANDS_REQUEST__INIT;
    int code = ctl_find_lb(ctl, 0, NULL, &r.lbid);
    struct demands demands;

    (void) command;
    demands_init__(&demands, (size_t) argc);
    for (int i = 0; i < argc && code == CTL_OK; i++) {
        code = demands_add__(&demands, argv[i]);
    }
    r.slotconstraints = demands.pointers;
    r.n_slotconstraints = demands.n;
    if (code == CTL_OK) {
        code = ctl_api_run(ctl, "SetSlotDemands", &r.base, ctl_print_nothing);
    }
    demands_uninit__(&demands);
    return code;
}
