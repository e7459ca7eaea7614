/* SPDX-License-Identifier: Apache-2.0 */

/* evlbctl: the operator's command line.  It asks evlbd, over gRPC on a Unix
 * socket. */

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

static const struct ctl_command commands[] = {
    PLAIN("status", "Status", ctl_print_status,
          "show what evlbd does, and each instance in a line"),
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
    { .name = "lb set",
      .arguments = "INSTANCE [--at-event N] [--force] "
                   "MEMBER=WEIGHT[:MIN[:MAX]]...",
      .help = "distribute events otherwise from a tick on: connect an epoch; "
              "MIN and MAX are factors that bound a member's share, as "
              "multiples of the even one",
      .min_args = 2,
      .max_args = ARGS_MAX,
      .completion = CTL_COMPLETE_INSTANCE,
      .boundary = true,
      .run = ctl_run_set,
      .method = "SetEpoch" },
    { .name = "lb drain",
      .arguments = "INSTANCE MEMBER [--at-event N] [--force]",
      .help = "the same without one member",
      .min_args = 2,
      .max_args = 2,
      .completion = CTL_COMPLETE_MEMBER,
      .boundary = true,
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
    { .name = "completion",
      .arguments = "bash",
      .help = "print what lets the shell complete this program's arguments",
      .min_args = 1,
      .max_args = 1,
      .completion = CTL_COMPLETE_SHELL,
      .run = ctl_run_completion },
    { .name = "help",
      .arguments = "[man]",
      .help = "show this, or the manual page's list of commands",
      .max_args = 1,
      .run = ctl_run_help },
};

static void
parse_options(struct ctl *ctl, int argc, char *argv[])
{
    enum {
        OPT_AT_EVENT = 256,
        OPT_FORCE
    };
    static const struct option longopts[] = {
        { "at-event", required_argument, NULL, OPT_AT_EVENT },
        { "force", no_argument, NULL, OPT_FORCE },
        { "socket", required_argument, NULL, 's' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "s:jhV", longopts, NULL)) != -1) {
        switch (c) {
        case 's':
            ctl->socket = optarg;
            break;
        case 'j':
            ctl->json = true;
            break;
        case OPT_AT_EVENT:
            ctl->at_event = optarg;
            break;
        case OPT_FORCE:
            ctl->force = true;
            break;
        case 'h':
            ctl_print_help(ctl, stdout);
            exit(CTL_OK);
        case 'V':
            printf("evlbctl %s\n", EVLB_VERSION);
            exit(CTL_OK);
        default:
            fprintf(stderr, "evlbctl: see \"evlbctl --help\"\n");
            exit(CTL_USAGE);
        }
    }
}

/* Says that the command line is wrong.  Returns the exit code. */
int
ctl_usage_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("evlbctl: ", stderr);
    vfprintf(stderr, format, args);
    fputs("; see \"evlbctl --help\"\n", stderr);
    va_end(args);
    return CTL_USAGE;
}

/* Returns how many of the 'argc' words 'argv' are the name of 'command', or
 * 0. */
static int
match__(const struct ctl_command *command, int argc, char *argv[])
{
    const char *space = strchr(command->name, ' ');
    size_t n =
        space ? (size_t) (space - command->name) : strlen(command->name);

    if (argc < 1 || strlen(argv[0]) != n
        || strncmp(argv[0], command->name, n)) {
        return 0;
    }
    return (!space ? 1 : argc > 1 && !strcmp(argv[1], space + 1) ? 2 : 0);
}

static int
run__(struct ctl *ctl, int argc, char *argv[])
{
    if (!argc) {
        return ctl_usage_error("a command is missing");
    }
    for (size_t i = 0; i < ctl->n_commands; i++) {
        const struct ctl_command *command = &ctl->commands[i];
        int n = match__(command, argc, argv);
        size_t n_args = (size_t) (argc - n);

        if (!n) {
            continue;
        }
        if (n_args < command->min_args || n_args > command->max_args) {
            return ctl_usage_error("usage: evlbctl %s%s%s", command->name,
                                   *command->arguments ? " " : "",
                                   command->arguments);
        }
        if ((ctl->at_event || ctl->force) && !command->boundary) {
            return ctl_usage_error("\"%s\" takes no --at-event or --force",
                                   command->name);
        }
        return command->run(ctl, command, argc - n, argv + n);
    }
    return ctl_usage_error("there is no command \"%s%s%s\"", argv[0],
                           argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
}

int
main(int argc, char *argv[])
{
    struct ctl ctl = {
        .socket = CTL_DEFAULT_SOCKET,
        .commands = commands,
        .n_commands = sizeof commands / sizeof *commands,
    };
    int code;

    signal(SIGPIPE, SIG_IGN);
    parse_options(&ctl, argc, argv);
    code = run__(&ctl, argc - optind, argv + optind);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "evlbctl: the output cannot be written\n");
        return CTL_FAILED;
    }
    return code;
}
