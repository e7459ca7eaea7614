/* SPDX-License-Identifier: Apache-2.0 */

/* Commands that show how a reservation, or all of them, do. */

#include "controller/ctl/api.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "controller/core/mem.h"
#include "controller/ctl/table.h"
#include "controller/ctl/workers.h"

#define INTERVAL_MAX 3600.0

/* Clears a terminal's screen. */
#define CLEAR "\033[H\033[J"

typedef Loadbalancer__LoadBalancerStatusReply Status;

void
ctl_print_workers(const void *reply)
{
    workers_print(reply, NULL, false);
}

static void
add_overview__(struct table *t, const Loadbalancer__Overview *o)
{
    static const Status none = LOADBALANCER__LOAD_BALANCER_STATUS_REPLY__INIT;
    const Loadbalancer__ReserveLoadBalancerReply *r = o->reservation;
    const Status *s = o->status ? o->status : &none;
    size_t issues = s->n_healthissues;
    char time[CTL_TEXT_LEN];

    for (size_t i = 0; i < s->n_workers; i++) {
        issues += s->workers[i]->n_healthissues;
    }
    table_add(t, "%s", r ? r->lbid : "-");
    table_add(t, "%s", *o->name ? o->name : "-");
    table_add(t, "%" PRIu32, r ? r->fpgalbid : 0);
    table_add(t, "%s", r && *r->strategy ? r->strategy : "-");
    table_add(t, "%s",
              r && *r->dataipv4address ? r->dataipv4address
              : r                      ? r->dataipv6address
                                       : "-");
    table_add(t, "%zu", s->n_workers);
    table_add(t, "%zu", s->n_senderaddresses);
    table_add(t, "%" PRIu64, s->currentepoch);
    table_add(t, "%" PRIu64, s->currentpredictedeventnumber);
    table_add(t, "%s", ctl_format_time(s->expiresat, time));
    table_add(t, "%zu", issues);
}

void
ctl_print_overview(const void *reply)
{
    const Loadbalancer__OverviewReply *r = reply;
    struct table *t =
        table_create(">RESERVATION NAME >INSTANCE STRATEGY DATA >WORKERS "
                     ">SENDERS >EPOCH >TICK UNTIL >ISSUES");

    for (size_t i = 0; i < r->n_loadbalancers; i++) {
        add_overview__(t, r->loadbalancers[i]);
    }
    table_finish(t);
    for (size_t i = 0; i < r->n_loadbalancers; i++) {
        const Loadbalancer__Overview *o = r->loadbalancers[i];

        if (o->status) {
            ctl_print_issues(o->name, o->status->healthissues,
                             o->status->n_healthissues);
        }
    }
}

/* How often to look. */
struct pace {
    float seconds;
    uint64_t count; /* 0 for no end. */
};

static int
parse_pace__(const struct ctl *ctl, struct pace *pace)
{
    const char *interval = ctl_get(ctl, CTL_OPT_INTERVAL);
    const char *count = ctl_get(ctl, CTL_OPT_COUNT);

    *pace = (struct pace){ .seconds = 1 };
    if (interval
        && (!ctl_parse_real(interval, &pace->seconds) || pace->seconds <= 0
            || (double) pace->seconds > INTERVAL_MAX)) {
        return ctl_usage_error("--interval: \"%s\" is not a number of seconds "
                               "over 0 and up to %g",
                               interval, INTERVAL_MAX);
    }
    if (count
        && (!ctl_parse_number(count, UINT64_MAX, &pace->count)
            || !pace->count)) {
        return ctl_usage_error("--count: \"%s\" is not a number from 1 on",
                               count);
    }
    return CTL_OK;
}

static void
sleep__(float seconds)
{
    struct timespec ts = { .tv_sec = (time_t) seconds };

    ts.tv_nsec = (long int) ((seconds - (float) ts.tv_sec) * 1e9F);
    nanosleep(&ts, NULL);
}

/* Shows 'status', after 'before'.  On a terminal it takes the place of what
 * was there. */
static void
show__(const struct ctl *ctl, const Status *status, const Status *before)
{
    bool terminal = isatty(STDOUT_FILENO);

    if (ctl->json) {
        ctl_print_json(&status->base);
    } else {
        ctl_tame(&status->base);
        fputs(terminal ? CLEAR : before ? "\n" : "", stdout);
        workers_print(status, before, terminal);
    }
    fflush(stdout);
}

/* Looks again.  A server that is away for a while is waited for. */
static void
look_again__(struct ctl *ctl, const ProtobufCMessage *request,
             ProtobufCMessage **latest)
{
    ProtobufCMessage *reply;
    char *message;

    if (ctl_api_try(ctl, "LoadBalancerStatus", request, &reply, &message)) {
        fprintf(stderr, "evlbctl: %s\n", message);
    } else {
        show__(ctl, (const Status *) reply, (const Status *) *latest);
        protobuf_c_message_free_unpacked(*latest, NULL);
        *latest = reply;
    }
    free(message);
}

/* watch [RESERVATION] */
int
ctl_run_watch(struct ctl *ctl, const struct ctl_command *command, int argc,
              char *argv[])
{
    Loadbalancer__LoadBalancerStatusRequest r =
        LOADBALANCER__LOAD_BALANCER_STATUS_REQUEST__INIT;
    ProtobufCMessage *latest;
    struct pace pace;
    int code = parse_pace__(ctl, &pace);

    (void) command;
    if (code == CTL_OK) {
        code = ctl_find_lb(ctl, argc, argv, &r.lbid);
    }
    if (code == CTL_OK) {
        code = ctl_api_call(ctl, "LoadBalancerStatus", &r.base, &latest);
    }
    if (code != CTL_OK) {
        return code;
    }
    show__(ctl, (const Status *) latest, NULL);
    for (uint64_t n = 1; n != pace.count && !ferror(stdout); n++) {
        sleep__(pace.seconds);
        look_again__(ctl, &r.base, &latest);
    }
    protobuf_c_message_free_unpacked(latest, NULL);
    return CTL_OK;
}
