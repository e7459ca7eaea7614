/* SPDX-License-Identifier: Apache-2.0 */

/* Commands about chains of balancers, and the rest of the control API. */

#include "controller/ctl/api.h"

#include <inttypes.h>

#include "controller/ctl/table.h"

static void
print_chain__(const void *reply)
{
    const Loadbalancer__ChainLoadBalancerReply *r = reply;

    printf("%s\n", r->chainid);
}

/* chain URI ... */
int
ctl_run_chain(struct ctl *ctl, const struct ctl_command *command, int argc,
              char *argv[])
{
    Loadbalancer__ChainLoadBalancerRequest r =
        LOADBALANCER__CHAIN_LOAD_BALANCER_REQUEST__INIT;
    struct ctl_ranges ranges = { .n = 0 };
    char *slots = "";
    const struct ctl_property properties[] = {
        { .name = "weight", .real = &r.weight },
        { .name = "min", .real = &r.minfactor },
        { .name = "max", .real = &r.maxfactor },
        { .name = "slots", .string = &slots },
    };
    int code = ctl_parse_properties(properties,
                                    sizeof properties / sizeof *properties,
                                    argc - 1, argv + 1);

    (void) command;
    r.ipfamily = LOADBALANCER__IP_FAMILY__IPV4;
    if (code == CTL_OK && !ctl_parse_ranges(slots, &ranges)) {
        code = ctl_usage_error("\"%s\" is not " SLOT_RANGES_FORM, slots);
    }
    if (code == CTL_OK && ctl_has(ctl, CTL_OPT_FAMILY)) {
        code = ctl_parse_family(ctl, &r.ipfamily);
    }
    if (code == CTL_OK) {
        code = ctl_find_lb(ctl, 0, NULL, &r.lbid);
    }
    r.ejfaturi = argv[0];
    r.slotdemands = ranges.pointers;
    r.n_slotdemands = ranges.n;
    return (code == CTL_OK
                ? ctl_api_run(ctl, "ChainLoadBalancer", &r.base, print_chain__)
                : code);
}

/* unchain CHAIN */
int
ctl_run_unchain(struct ctl *ctl, const struct ctl_command *command, int argc,
                char *argv[])
{
    Loadbalancer__UnchainLoadBalancerRequest r =
        LOADBALANCER__UNCHAIN_LOAD_BALANCER_REQUEST__INIT;
    int code = ctl_find_lb(ctl, 0, NULL, &r.lbid);

    (void) command;
    (void) argc;
    r.chainid = argv[0];
    return (code == CTL_OK ? ctl_api_run(ctl, "UnchainLoadBalancer", &r.base,
                                         ctl_print_nothing)
                           : code);
}

void
ctl_print_graph(const void *reply)
{
    const Loadbalancer__GetChainGraphReply *r = reply;
    struct table *t =
        table_create("UPSTREAM IPV4 IPV6 DOWNSTREAM IPV4 IPV6 CHAIN");

    for (size_t i = 0; i < r->n_edges; i++) {
        const Loadbalancer__ChainGraphEdge *e = r->edges[i];
        const char *cells[] = {
            e->upstreamlbid,   e->upstreamdataipv4,   e->upstreamdataipv6,
            e->downstreamlbid, e->downstreamdataipv4, e->downstreamdataipv6,
            e->chainid,
        };

        for (size_t j = 0; j < sizeof cells / sizeof *cells; j++) {
            table_add(t, "%s", *cells[j] ? cells[j] : "-");
        }
    }
    table_finish(t);
    if (r->cycledetected) {
        printf("events could go round: there is a cycle\n");
    }
}

void
ctl_print_version(const void *reply)
{
    const Loadbalancer__VersionReply *r = reply;

    printf("%s, commit %s, compatible with %s\n", r->build, r->commit,
           r->compattag);
}
