/* SPDX-License-Identifier: Apache-2.0 */

/* evlbctl: the operator's command line.  It asks evlbd, over gRPC on a Unix
 * socket. */

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "controller/ctl/ctl.h"

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
    { .name = "help",
      .arguments = "",
      .help = "show this",
      .run = ctl_run_help },
};

static void
parse_options(struct ctl *ctl, int argc, char *argv[])
{
    static const struct option longopts[] = {
        { "socket", required_argument, NULL, 's' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "+s:jhV", longopts, NULL)) != -1) {
        switch (c) {
        case 's':
            ctl->socket = optarg;
            break;
        case 'j':
            ctl->json = true;
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
            return ctl_usage_error("usage: evlbctl %s %s", command->name,
                                   command->arguments);
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
