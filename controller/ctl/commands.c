/* SPDX-License-Identifier: Apache-2.0 */

/* The table of commands. */

#include "controller/ctl/ctl.h"

#define ARGS_MAX 100000 /* As many arguments as one likes. */

#define SHOW(NAME, METHOD, PRINT, HELP)                            \
    {                                                              \
        .name = (NAME), .arguments = "[INSTANCE]", .help = (HELP), \
        .max_args = 1, .completion = CTL_COMPLETE_INSTANCE,        \
        .run = ctl_run_show, .method = (METHOD), .print = (PRINT)  \
    }
#define PLAIN(NAME, METHOD, PRINT, HELP)                           \
    {                                                              \
        .name = (NAME), .arguments = "", .help = (HELP),           \
        .run = ctl_run_plain, .method = (METHOD), .print = (PRINT) \
    }
#define LB(NAME, METHOD, PRINT, HELP)                                        \
    {                                                                        \
        .name = (NAME), .arguments = "[RESERVATION]", .help = (HELP),        \
        .max_args = 1, .completion = CTL_COMPLETE_LB, .options = CTL_API_LB, \
        .run = ctl_run_api, .method = (METHOD), .print = (PRINT)             \
    }
#define TOKEN(NAME, RUN, HELP)                                     \
    {                                                              \
        .name = (NAME), .arguments = "[TOKEN|ID]", .help = (HELP), \
        .max_args = 1, .options = CTL_API, .run = (RUN)            \
    }
#define BOUNDARY (CTL_TAKES(AT_EVENT) | CTL_TAKES(FORCE))

const struct ctl_command ctl_commands[] = {
    { .heading = "What evlbd does",
      .name = "status",
      .arguments = "",
      .help = "show what evlbd does, and each instance in a line",
      .run = ctl_run_plain,
      .method = "Status",
      .print = ctl_print_status },
    SHOW("instances", "Instances", ctl_print_instances,
         "show what each instance is configured to be"),
    SHOW("epochs", "Epochs", ctl_print_epochs,
         "show the connected epochs: ticks, prefixes, members, shares"),
    SHOW("members", "Members", ctl_print_members, "show the compute nodes"),
    PLAIN("targets", "Targets", ctl_print_targets, "show the switches"),
    PLAIN("neighbours", "Neighbours", ctl_print_neighbours,
          "show what was found of the stations that members are reached by"),
    { .name = "flows",
      .arguments = "[INSTANCE [TARGET]]",
      .help = "show what stands in the switches, in the rules' words, with "
              "its counters",
      .max_args = 2,
      .completion = CTL_COMPLETE_INSTANCE,
      .run = ctl_run_flows,
      .method = "Flows",
      .print = ctl_print_flows },
    { .name = "counters",
      .arguments = "[INSTANCE]",
      .help = "show what was accepted and dropped, and why, since evlbd runs; "
              "a table leaves out what is 0",
      .max_args = 1,
      .completion = CTL_COMPLETE_INSTANCE,
      .run = ctl_run_counters,
      .method = "Counters",
      .print = ctl_print_counters },
    { .name = "trace",
      .arguments = "INSTANCE [tick=N] [version=N] [slot=N] [entropy=N] "
                   "[source=ADDRESS] [destination=ADDRESS] [port=N] [ttl=N] "
                   "[packet=HEX] [in_port=PORT] [target=TARGET] "
                   "[switch=BRIDGE]",
      .help =
          "show where a packet goes by the rules: that of an event, or the "
          "given one; with switch=, ask the bridge on this machine, too, "
          "and fail if it says otherwise",
      .min_args = 1,
      .max_args = ARGS_MAX,
      .completion = CTL_COMPLETE_INSTANCE,
      .run = ctl_run_trace,
      .method = "Trace" },
    PLAIN("reload", "Reload", ctl_print_reload,
          "read the configuration again, as SIGHUP does"),
    { .heading = "Epochs and members of configured instances",
      .name = "lb set",
      .arguments = "INSTANCE [--at-event N] [--force] "
                   "MEMBER=WEIGHT[:MIN[:MAX]]...",
      .help = "distribute events otherwise from a tick on: connect an epoch; "
              "MIN and MAX are factors that bound a member's share, as "
              "multiples of the even one",
      .min_args = 2,
      .max_args = ARGS_MAX,
      .completion = CTL_COMPLETE_INSTANCE,
      .options = BOUNDARY,
      .run = ctl_run_set,
      .method = "SetEpoch" },
    { .name = "lb drain",
      .arguments = "INSTANCE MEMBER [--at-event N] [--force]",
      .help = "the same without one member",
      .min_args = 2,
      .max_args = 2,
      .completion = CTL_COMPLETE_MEMBER,
      .options = BOUNDARY,
      .run = ctl_run_drain,
      .method = "Drain" },
    { .name = "lb add",
      .arguments = "INSTANCE id=N ip=ADDRESS base=PORT [mac=ADDRESS] [bits=N] "
                   "[keep] [egress=PORT]",
      .help = "add a member, which receives nothing until an epoch names it",
      .min_args = 2,
      .max_args = ARGS_MAX,
      .completion = CTL_COMPLETE_INSTANCE,
      .run = ctl_run_add,
      .method = "AddMember" },
    { .name = "lb remove",
      .arguments = "INSTANCE MEMBER",
      .help = "remove a member that no connected epoch names",
      .min_args = 2,
      .max_args = 2,
      .completion = CTL_COMPLETE_MEMBER,
      .run = ctl_run_remove,
      .method = "RemoveMember" },
    { .heading = "Reservations (the control API)",
      .name = "overview",
      .arguments = "",
      .help = "show all reservations",
      .options = CTL_API,
      .run = ctl_run_api,
      .method = "Overview",
      .print = ctl_print_overview },
    { .name = "reserve",
      .arguments = "NAME [--for TIME | --until TIME] [--sender ADDRESS]... "
                   "[--family 4|6|dual] [--strategy NAME]",
      .help = "reserve an instance; print the EJFAT_URI that workers and "
              "data sources need",
      .min_args = 1,
      .max_args = 1,
      .options = CTL_API | CTL_TAKES(FOR) | CTL_TAKES(UNTIL)
                 | CTL_TAKES(SENDER) | CTL_TAKES(FAMILY) | CTL_TAKES(STRATEGY),
      .run = ctl_run_reserve },
    LB("uri", "GetLoadBalancer", ctl_print_reservation,
       "show a reservation's EJFAT_URI, without a token, and its addresses"),
    LB("free", "FreeLoadBalancer", ctl_print_nothing,
       "end a reservation, its sessions and tokens"),
    { .name = "extend",
      .arguments = "[RESERVATION] --for TIME | --until TIME",
      .help = "let a reservation end then, counted from now",
      .max_args = 1,
      .completion = CTL_COMPLETE_LB,
      .options = CTL_API_LB | CTL_TAKES(FOR) | CTL_TAKES(UNTIL),
      .run = ctl_run_extend },
    { .name = "reset",
      .arguments = "sync|epochs|senders|workers...",
      .help = "forget what a reservation has of these; sync and epochs for "
              "data sources whose ticks began anew",
      .min_args = 1,
      .max_args = 4,
      .options = CTL_API_LB,
      .run = ctl_run_reset },
    { .heading = "Data sources",
      .name = "senders add",
      .arguments = "ADDRESS...",
      .help = "take packets from these addresses",
      .min_args = 1,
      .max_args = ARGS_MAX,
      .options = CTL_API_LB,
      .run = ctl_run_senders_change,
      .method = "AddSenders" },
    { .name = "senders remove",
      .arguments = "ADDRESS...",
      .help = "take no more packets from these addresses",
      .min_args = 1,
      .max_args = ARGS_MAX,
      .options = CTL_API_LB,
      .run = ctl_run_senders_change,
      .method = "RemoveSenders" },
    LB("senders list", "LoadBalancerStatus", ctl_print_senders,
       "show from where packets are taken"),
    { .heading = "Workers",
      .name = "register",
      .arguments = "NAME ip=ADDRESS port=PORT [ports=N] [weight=W] [min=F] "
                   "[max=F] [keep] [slots=RANGES]",
      .help = "register a worker; print its session and token. RANGES are as "
              "0-63,100,any:16",
      .min_args = 3,
      .max_args = ARGS_MAX,
      .options = CTL_API_LB,
      .run = ctl_run_register },
    { .name = "send-state",
      .arguments = "SESSION fill=F [control=C] [not-ready] [events=N] "
                   "[reassembled=N] [errors=N] [dequeued=N] [lost=N] "
                   "[bytes=N] [packets=N]",
      .help = "report a worker's state once, with its session's token",
      .min_args = 2,
      .max_args = ARGS_MAX,
      .options = CTL_API_LB,
      .run = ctl_run_send_state },
    { .name = "deregister",
      .arguments = "SESSION",
      .help = "end a worker's session",
      .min_args = 1,
      .max_args = 1,
      .options = CTL_API_LB,
      .run = ctl_run_deregister },
    { .name = "demands",
      .arguments = "SESSION=RANGES...",
      .help = "have these slots go to these sessions; \"all\" stands for the "
              "whole reservation, no RANGES for none",
      .min_args = 1,
      .max_args = ARGS_MAX,
      .options = CTL_API_LB,
      .run = ctl_run_demands },
    LB("workers", "LoadBalancerStatus", ctl_print_workers,
       "show a reservation's workers: fill, control signal, slots, health"),
    { .name = "watch",
      .arguments = "[RESERVATION] [--interval SECONDS] [--count N]",
      .help = "show the same again and again, with rates",
      .max_args = 1,
      .completion = CTL_COMPLETE_LB,
      .options = CTL_API_LB | CTL_TAKES(INTERVAL) | CTL_TAKES(COUNT),
      .run = ctl_run_watch },
    { .name = "timeseries",
      .arguments = "SELECTOR... [--since TIME]",
      .help = "show what was recorded, as of /lb/1/session/*/fillPercent",
      .min_args = 1,
      .max_args = ARGS_MAX,
      .options = CTL_API | CTL_TAKES(SINCE),
      .run = ctl_run_timeseries },
    { .heading = "Tokens",
      .name = "token create",
      .arguments = "NAME PERMISSION[@RESOURCE[:ID]]...",
      .help = "make a token: READ_ONLY, REGISTER, RESERVE or UPDATE on ALL, "
              "or on one LOAD_BALANCER, RESERVATION or SESSION",
      .min_args = 2,
      .max_args = ARGS_MAX,
      .options = CTL_API,
      .run = ctl_run_token_create },
    TOKEN("token show", ctl_run_token_show, "show what a token may do"),
    TOKEN("token list", ctl_run_token_list,
          "show the tokens that were made with a token"),
    { .name = "token revoke",
      .arguments = "TOKEN|ID",
      .help = "make a token, and those made with it, invalid",
      .min_args = 1,
      .max_args = 1,
      .options = CTL_API,
      .run = ctl_run_token_revoke },
    { .heading = "Chains of balancers",
      .name = "chain",
      .arguments = "URI [weight=W] [min=F] [max=F] [slots=RANGES] "
                   "[--family 4|6]",
      .help = "be a worker of another balancer's reservation, that of URI; "
              "print the chain's id",
      .min_args = 1,
      .max_args = ARGS_MAX,
      .options = CTL_API_LB | CTL_TAKES(FAMILY),
      .run = ctl_run_chain },
    { .name = "unchain",
      .arguments = "CHAIN",
      .help = "end that",
      .min_args = 1,
      .max_args = 1,
      .options = CTL_API_LB,
      .run = ctl_run_unchain },
    LB("graph", "GetChainGraph", ctl_print_graph,
       "show the chain that a reservation is part of"),
    { .heading = "The rest",
      .name = "version",
      .arguments = "",
      .help = "show evlbd's version",
      .options = CTL_API,
      .run = ctl_run_api,
      .method = "Version",
      .print = ctl_print_version },

    { .name = "completion",
      .arguments = "bash",
      .help = "print what lets the shell complete this program's arguments",
      .min_args = 1,
      .max_args = 1,
      .completion = CTL_COMPLETE_SHELL,
      .run = ctl_run_completion },
    { .name = "help",
      .arguments = "[man|man-options]",
      .help = "show this, or a part of the manual page",
      .max_args = 1,
      .run = ctl_run_help },
};

const size_t ctl_n_commands = sizeof ctl_commands / sizeof *ctl_commands;
