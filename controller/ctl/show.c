/* SPDX-License-Identifier: Apache-2.0 */

/* Commands that show something. */

#include "controller/ctl/ctl.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/api/admin.pb-c.h"
#include "controller/core/mem.h"
#include "controller/ctl/table.h"

/* Runs a command whose only argument is an instance. */
int
ctl_run_show(struct ctl *ctl, const struct ctl_command *command, int argc,
             char *argv[])
{
    Evlb__Admin__V1__InstanceRequest request =
        EVLB__ADMIN__V1__INSTANCE_REQUEST__INIT;

    if (argc) {
        request.instance = argv[0];
    }
    return ctl_call_print(ctl, command->method, &request.base, command->print);
}

/* Runs a command without arguments. */
int
ctl_run_plain(struct ctl *ctl, const struct ctl_command *command, int argc,
              char *argv[])
{
    Evlb__Admin__V1__StatusRequest request =
        EVLB__ADMIN__V1__STATUS_REQUEST__INIT;

    (void) argc;
    (void) argv;
    return ctl_call_print(ctl, command->method, &request.base, command->print);
}

/* Adds the cells about how far the ticks of 's' are. */
static void
add_timing__(struct table *t, const Evlb__Admin__V1__InstanceStatus *s)
{
    table_add(t, "%" PRIu32 " ms %s", s->lead_ms,
              s->lead_measured ? "measured" : "as set");
    if (s->tick_known) {
        table_add(t, "%" PRIu64, s->tick);
        table_add(t, "%.0f/s", s->rate);
    } else {
        table_add(t, "-");
        table_add(t, "-");
    }
    if (s->quarantined) {
        table_add(t, "%" PRIu32 " (%" PRIu32 " astray)", s->senders,
                  s->quarantined);
    } else {
        table_add(t, "%" PRIu32, s->senders);
    }
    if (s->sync_age_ms >= 0) {
        table_add(t, "%.1f s ago", (double) s->sync_age_ms / 1000);
    } else {
        table_add(t, "%s", s->has_sync ? "never" : "-");
    }
}

/* Adds the cell that holds the 'n' strings 'words', separated by spaces. */
void
ctl_add_words(struct table *t, char *const *words, size_t n)
{
    char *s = mem_strdup(n ? words[0] : "-");

    for (size_t i = 1; i < n; i++) {
        char *longer = mem_printf("%s %s", s, words[i]);

        free(s);
        s = longer;
    }
    table_add(t, "%s", s);
    free(s);
}

void
ctl_print_status(const void *reply)
{
    const Evlb__Admin__V1__StatusReply *r = reply;
    uint64_t seconds = r->uptime_ms / 1000;
    struct table *t;

    printf("evlbd %s, process %" PRIu32 ", up %" PRIu64 ":%02" PRIu64
           ":%02" PRIu64 ", %s\n%" PRIu32 " of %" PRIu32
           " switches connected\n\n",
           r->version, r->pid, seconds / 3600, seconds / 60 % 60, seconds % 60,
           r->config_file, r->connected, r->targets);
    t = table_create("INSTANCE >MEMBERS >RECEIVING >EPOCHS >NEWEST >FROM "
                     "LEAD >TICK >RATE >SENDERS SYNC");
    for (size_t i = 0; i < r->n_instances; i++) {
        const Evlb__Admin__V1__InstanceStatus *s = r->instances[i];

        table_add(t, "%s", s->instance);
        table_add(t, "%" PRIu32, s->members);
        table_add(t, "%" PRIu32, s->receiving);
        table_add(t, "%" PRIu32, s->epochs);
        if (s->epochs) {
            table_add(t, "%" PRIu32, s->newest_epoch);
            table_add(t, "%" PRIu64, s->newest_first);
        } else {
            table_add(t, "-");
            table_add(t, "-");
        }
        add_timing__(t, s);
    }
    table_finish(t);
}

void
ctl_print_instances(const void *reply)
{
    const Evlb__Admin__V1__InstancesReply *r = reply;
    struct table *t =
        table_create("INSTANCE >ID PORTS ADDRESSES INTERFACES SOURCES LATE "
                     ">MEMBERS >EPOCHS");

    for (size_t i = 0; i < r->n_instances; i++) {
        const Evlb__Admin__V1__Instance *in = r->instances[i];

        table_add(t, "%s", in->name);
        table_add(t, "%" PRIu32, in->id);
        table_add(t, "%" PRIu32 "-%" PRIu32, in->first_port, in->last_port);
        ctl_add_words(t, in->addresses, in->n_addresses);
        ctl_add_words(t, in->interfaces, in->n_interfaces);
        ctl_add_words(t, in->sources, in->n_sources);
        table_add(t, "%s", in->late);
        table_add(t, "%" PRIu32, in->members);
        table_add(t, "%" PRIu32, in->epochs);
    }
    table_finish(t);
}

/* Prints who has how much of 'epoch', and its prefixes. */
static void
print_epoch__(const Evlb__Admin__V1__Epoch *epoch)
{
    printf("%s, epoch %" PRIu32 ": ticks %" PRIu64 "-%" PRIu64 "%s, %" PRIu32
           " slots, xor %" PRIu32 "%s\n",
           epoch->instance, epoch->id, epoch->first, epoch->last,
           epoch->newest ? " (newest, open end)" : "", epoch->slots,
           epoch->xor_, epoch->added ? ", added" : "");
    for (size_t i = 0; i < epoch->n_members; i++) {
        const Evlb__Admin__V1__EpochMember *m = epoch->members[i];

        printf("    member %5" PRIu32 "  %3" PRIu32
               " slots  %5.1f %%  weight %" PRIu32,
               m->member, m->slots, 100 * m->share, m->weight);
        if (m->min_factor > 0 || m->max_factor > 0) {
            printf(", factors %g to %g", m->min_factor,
                   m->max_factor > 0 ? m->max_factor : HUGE_VAL);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < epoch->n_prefixes; i++) {
        printf("    prefix %s\n", epoch->prefixes[i]);
    }
}

void
ctl_print_epochs(const void *reply)
{
    const Evlb__Admin__V1__EpochsReply *r = reply;

    for (size_t i = 0; i < r->n_epochs; i++) {
        if (i) {
            putchar('\n');
        }
        print_epoch__(r->epochs[i]);
    }
    if (!r->n_epochs) {
        printf("no epochs are connected\n");
    }
}

void
ctl_print_members(const void *reply)
{
    const Evlb__Admin__V1__MembersReply *r = reply;
    struct table *t = table_create("INSTANCE >MEMBER IP MAC UDP EGRESS KEEP "
                                   ">SLOTS >SHARE EPOCHS ADDED");

    for (size_t i = 0; i < r->n_members; i++) {
        const Evlb__Admin__V1__Member *m = r->members[i];
        char *epochs = mem_strdup("");

        table_add(t, "%s", m->instance);
        table_add(t, "%" PRIu32, m->id);
        table_add(t, "%s", m->ip);
        table_add(t, "%s", *m->mac ? m->mac : "found");
        table_add(t, "%" PRIu32 "-%" PRIu32, m->first_port,
                  m->first_port + m->ports - 1);
        table_add(t, "%s", m->egress);
        table_add(t, "%s", m->keep ? "yes" : "no");
        table_add(t, "%" PRIu32, m->slots);
        table_add(t, "%.1f %%", 100 * m->share);
        for (size_t j = 0; j < m->n_epochs; j++) {
            char *longer =
                mem_printf("%s%s%" PRIu32, epochs, j ? " " : "", m->epochs[j]);

            free(epochs);
            epochs = longer;
        }
        table_add(t, "%s", m->n_epochs ? epochs : "-");
        table_add(t, "%s", m->added ? "yes" : "no");
        free(epochs);
    }
    table_finish(t);
}

void
ctl_print_targets(const void *reply)
{
    const Evlb__Admin__V1__TargetsReply *r = reply;
    struct table *t =
        table_create("TARGET DATAPATH-ID OPENFLOW CALENDARS >RULES "
                     "STATE PEER >UP PORTS LAST-ERROR");

    for (size_t i = 0; i < r->n_targets; i++) {
        const Evlb__Admin__V1__Target *m = r->targets[i];

        table_add(t, "%s", m->name);
        table_add(t, "%s", m->datapath_id);
        table_add(t, "%s", *m->openflow ? m->openflow : "-");
        table_add(t, "%s", *m->calendars ? m->calendars : "-");
        table_add(t, "%" PRIu32, m->rules);
        table_add(t, "%s",
                  !m->connected  ? "not connected"
                  : m->secondary ? "secondary"
                                 : m->state);
        table_add(t, "%s", m->connected ? m->peer : "-");
        if (m->connected) {
            table_add(t, "%" PRIu64 " s", m->connected_ms / 1000);
        } else {
            table_add(t, "-");
        }
        if (m->n_ports) {
            ctl_add_words(t, m->ports, m->n_ports);
        } else {
            table_add(t, "all");
        }
        table_add(t, "%s", *m->last_error ? m->last_error : "-");
    }
    table_finish(t);
}

void
ctl_print_neighbours(const void *reply)
{
    const Evlb__Admin__V1__NeighboursReply *r = reply;
    struct table *t = table_create("TARGET INTERFACE IP MAC PORT >AGE "
                                   ">UNANSWERED");

    for (size_t i = 0; i < r->n_neighbours; i++) {
        const Evlb__Admin__V1__Neighbour *n = r->neighbours[i];

        table_add(t, "%s", n->target);
        table_add(t, "%s", n->interface);
        table_add(t, "%s", n->ip);
        table_add(t, "%s", n->known ? n->mac : "not found");
        table_add(t, "%s", n->known ? n->port : "-");
        if (n->known) {
            table_add(t, "%" PRIu64 " s", n->age_ms / 1000);
        } else {
            table_add(t, "-");
        }
        table_add(t, "%" PRIu32, n->unanswered);
    }
    table_finish(t);
}
