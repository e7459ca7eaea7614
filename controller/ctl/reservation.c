/* SPDX-License-Identifier: Apache-2.0 */

/* Commands about reservations and their senders. */

#include "controller/ctl/api.h"

#include <inttypes.h>
#include <string.h>

static void
print_uri__(const void *reply)
{
    const Loadbalancer__ReserveLoadBalancerReply *r = reply;

    printf("%s\n", r->ejfaturi);
}

/* reserve NAME */
int
ctl_run_reserve(struct ctl *ctl, const struct ctl_command *command, int argc,
                char *argv[])
{
    const struct ctl_values *senders = &ctl->options[CTL_OPT_SENDER];
    Loadbalancer__ReserveLoadBalancerRequest r =
        LOADBALANCER__RESERVE_LOAD_BALANCER_REQUEST__INIT;
    Google__Protobuf__Timestamp until;
    int code = ctl_parse_until(ctl, &until, &r.until);

    (void) command;
    (void) argc;
    if (code == CTL_OK) {
        code = ctl_parse_family(ctl, &r.ipfamily);
    }
    if (code != CTL_OK) {
        return code;
    }
    r.name = argv[0];
    r.senderaddresses = senders->values;
    r.n_senderaddresses = senders->n;
    if (ctl_has(ctl, CTL_OPT_STRATEGY)) {
        r.strategy = (char *) ctl_get(ctl, CTL_OPT_STRATEGY);
    }
    return ctl_api_run(ctl, "ReserveLoadBalancer", &r.base, print_uri__);
}

static void
print_address__(const char *what, const char *ip, uint32_t first,
                uint32_t last)
{
    if (*ip) {
        printf("%-12s %s, port %" PRIu32, what, ip, first);
        if (last != first) {
            printf("-%" PRIu32, last);
        }
        putchar('\n');
    }
}

void
ctl_print_reservation(const void *reply)
{
    const Loadbalancer__ReserveLoadBalancerReply *r = reply;

    printf("%s\n", r->ejfaturi);
    printf("reservation  %s, on instance %" PRIu32 ", %s\n", r->lbid,
           r->fpgalbid, r->strategy);
    print_address__("data", r->dataipv4address, r->dataminport,
                    r->datamaxport);
    print_address__("data", r->dataipv6address, r->dataminport,
                    r->datamaxport);
    print_address__("sync", r->syncipv4address, r->syncudpport,
                    r->syncudpport);
    print_address__("sync", r->syncipv6address, r->syncudpport,
                    r->syncudpport);
}

static void
print_extension__(const void *reply)
{
    const Loadbalancer__ExtendReservationReply *r = reply;
    char time[CTL_TEXT_LEN];

    printf("until %s\n", ctl_format_time(r->until, time));
}

/* extend [RESERVATION] */
int
ctl_run_extend(struct ctl *ctl, const struct ctl_command *command, int argc,
               char *argv[])
{
    Loadbalancer__ExtendReservationRequest r =
        LOADBALANCER__EXTEND_RESERVATION_REQUEST__INIT;
    Google__Protobuf__Timestamp until;
    int code = ctl_parse_until(ctl, &until, &r.until);

    (void) command;
    if (code == CTL_OK && !r.until) {
        code = ctl_usage_error("--for or --until is missing");
    }
    if (code == CTL_OK) {
        code = ctl_find_lb(ctl, argc, argv, &r.lbid);
    }
    return (code == CTL_OK ? ctl_api_run(ctl, "ExtendReservation", &r.base,
                                         print_extension__)
                           : code);
}

static void
print_reset__(const void *reply)
{
    const Loadbalancer__ResetLoadBalancerReply *r = reply;

    printf("reset:%s%s%s%s\n", r->sync ? " sync" : "",
           r->epochs ? " epochs" : "", r->senders ? " senders" : "",
           r->workers ? " workers" : "");
}

/* reset sync|epochs|senders|workers... */
int
ctl_run_reset(struct ctl *ctl, const struct ctl_command *command, int argc,
              char *argv[])
{
    Loadbalancer__ResetLoadBalancerRequest r =
        LOADBALANCER__RESET_LOAD_BALANCER_REQUEST__INIT;
    const struct ctl_property properties[] = {
        { .name = "sync", .flag = &r.sync },
        { .name = "epochs", .flag = &r.epochs },
        { .name = "senders", .flag = &r.senders },
        { .name = "workers", .flag = &r.workers },
    };
    int code = ctl_parse_properties(
        properties, sizeof properties / sizeof *properties, argc, argv);

    (void) command;
    if (code == CTL_OK) {
        code = ctl_find_lb(ctl, 0, NULL, &r.lbid);
    }
    return (code == CTL_OK
                ? ctl_api_run(ctl, "ResetLoadBalancer", &r.base, print_reset__)
                : code);
}

/* senders add ADDRESS..., senders remove ADDRESS...; the requests differ in
 * their type only. */
int
ctl_run_senders_change(struct ctl *ctl, const struct ctl_command *command,
                       int argc, char *argv[])
{
    Loadbalancer__AddSendersRequest add =
        LOADBALANCER__ADD_SENDERS_REQUEST__INIT;
    Loadbalancer__RemoveSendersRequest remove =
        LOADBALANCER__REMOVE_SENDERS_REQUEST__INIT;
    bool adds = !strcmp(command->method, "AddSenders");
    int code = ctl_find_lb(ctl, 0, NULL, &add.lbid);

    add.senderaddresses = argv;
    add.n_senderaddresses = (size_t) argc;
    remove.lbid = add.lbid;
    remove.senderaddresses = argv;
    remove.n_senderaddresses = (size_t) argc;
    return (code == CTL_OK ? ctl_api_run(ctl, command->method,
                                         adds ? &add.base : &remove.base,
                                         ctl_print_nothing)
                           : code);
}

void
ctl_print_senders(const void *reply)
{
    const Loadbalancer__LoadBalancerStatusReply *r = reply;

    for (size_t i = 0; i < r->n_senderaddresses; i++) {
        printf("%s\n", r->senderaddresses[i]);
    }
}
