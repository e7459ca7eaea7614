/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/ctl/workers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/ctl/api.h"
#include "controller/ctl/table.h"

#define BAR_LEN 10
#define SLOTS_SHOWN 24 /* Characters of a list of slots; --json shows all. */

typedef Loadbalancer__LoadBalancerStatusReply Status;
typedef Loadbalancer__WorkerStatus Worker;

static double
seconds__(const Google__Protobuf__Timestamp *t)
{
    return t ? (double) t->seconds + t->nanos / 1e9 : 0;
}

/* Returns the worker of 'status', which may be NULL, whose session is
 * 'session', or NULL. */
static const Worker *
find__(const Status *status, int64_t session)
{
    for (size_t i = 0; status && i < status->n_workers; i++) {
        if (status->workers[i]->sessionid == session) {
            return status->workers[i];
        }
    }
    return NULL;
}

static void
add_fill__(struct table *t, double fill, bool bar)
{
    char marks[BAR_LEN + 1];
    int n = (int) lrint(fmin(fmax(fill, 0), 1) * BAR_LEN);

    if (bar) {
        memset(marks, '.', BAR_LEN);
        memset(marks, '#', (size_t) n);
        marks[BAR_LEN] = '\0';
        table_add(t, "%s %3.0f %%", marks, 100 * fill);
    } else {
        table_add(t, "%.1f %%", 100 * fill);
    }
}

/* Adds the cells of what 'w' counted: since 'before' in 'seconds', if there is
 * that, else in all. */
static void
add_counts__(struct table *t, const Worker *w, const Worker *before,
             double seconds)
{
    double events = (double) w->totaleventsreassembled;
    double bytes = (double) w->totalbytesrecv;
    uint64_t errors = (uint64_t) w->totaleventsreassemblyerr
                      + (uint64_t) w->totaleventenqueueerr;

    if (before && seconds > 0) {
        events -= (double) before->totaleventsreassembled;
        bytes -= (double) before->totalbytesrecv;
        table_add(t, "%.0f/s", events / seconds);
        table_add(t, "%.3f Gb/s", bytes * 8 / 1e9 / seconds);
    } else {
        table_add(t, "%.0f", events);
        table_add(t, "%.3f GB", bytes / 1e9);
    }
    table_add(t, "%" PRIu64, errors);
}

/* Adds how long ago 'w' reported. */
static void
add_age__(struct table *t, const Worker *w, double now)
{
    double updated = seconds__(w->lastupdated);

    if (updated > 0) {
        table_add(t, "%.1f s", fmax(now - updated, 0));
    } else {
        table_add(t, "never");
    }
}

static void
add_worker__(struct table *t, const Status *status, const Worker *w,
             const Status *before, bool bars)
{
    char *slots = ctl_format_ranges(w->slots, w->n_slots, SLOTS_SHOWN);
    double now = seconds__(status->timestamp);
    uint32_t of = status->slotresolution ? status->slotresolution : 1;

    table_add(t, "%" PRId64, w->sessionid);
    table_add(t, "%s", *w->name ? w->name : "-");
    table_add(t, strchr(w->ipaddress, ':') ? "[%s]:%" PRIu32 : "%s:%" PRIu32,
              w->ipaddress, w->udpport);
    table_add(t, "%d", 1 << (w->portrange < 15 ? w->portrange : 0));
    add_fill__(t, (double) w->fillpercent, bars);
    table_add(t, "%.3f", (double) w->controlsignal);
    table_add(t, "%" PRIu32, w->slotsassigned);
    table_add(t, "%.1f %%", 100.0 * w->slotsassigned / of);
    add_counts__(t, w, find__(before, w->sessionid),
                 before ? now - seconds__(before->timestamp) : 0);
    add_age__(t, w, now);
    table_add(t, "%s", w->n_healthissues ? w->healthissues[0]->type : "ok");
    if (!bars) {
        table_add(t, "%s", slots);
    }
    free(slots);
}

/* Stores in 'text' how far the ticks are, 0 if nobody knows; returns it. */
static const char *
format_tick__(uint64_t tick, char text[CTL_TEXT_LEN])
{
    if (tick) {
        snprintf(text, CTL_TEXT_LEN, "tick %" PRIu64 " foreseen", tick);
    } else {
        snprintf(text, CTL_TEXT_LEN, "no Sync");
    }
    return text;
}

/* Prints what a look at a reservation shows. */
void
workers_print(const Status *status, const Status *before, bool bars)
{
    char now[CTL_TEXT_LEN], end[CTL_TEXT_LEN], tick[CTL_TEXT_LEN];
    struct table *t;

    printf("%s: epoch %" PRIu64 ", %s, %zu worker%s, %zu sender%s, until "
           "%s\n\n",
           ctl_format_time(status->timestamp, now), status->currentepoch,
           format_tick__(status->currentpredictedeventnumber, tick),
           status->n_workers, status->n_workers == 1 ? "" : "s",
           status->n_senderaddresses,
           status->n_senderaddresses == 1 ? "" : "s",
           ctl_format_time(status->expiresat, end));
    t = table_create(bars ? ">SESSION NAME ADDRESS >PORTS FILL >CONTROL "
                            ">SLOTS >SHARE >EVENTS >DATA >ERRORS >REPORTED "
                            "HEALTH"
                          : ">SESSION NAME ADDRESS >PORTS >FILL >CONTROL "
                            ">SLOTS >SHARE >EVENTS >DATA >ERRORS >REPORTED "
                            "HEALTH WHICH-SLOTS");
    for (size_t i = 0; i < status->n_workers; i++) {
        add_worker__(t, status, status->workers[i], before, bars);
    }
    table_finish(t);
    ctl_print_issues("reservation", status->healthissues,
                     status->n_healthissues);
    for (size_t i = 0; i < status->n_workers; i++) {
        const Worker *w = status->workers[i];

        ctl_print_issues(*w->name ? w->name : "worker", w->healthissues,
                         w->n_healthissues);
    }
}
