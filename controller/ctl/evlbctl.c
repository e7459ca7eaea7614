/* SPDX-License-Identifier: Apache-2.0 */

/* evlbctl: the command line of operators and of those who run experiments.  It
 * asks evlbd, over gRPC. */

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "controller/ctl/ctl.h"

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
        if (ctl_check_options(ctl, command) != CTL_OK) {
            return CTL_USAGE;
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
        .commands = ctl_commands,
        .n_commands = ctl_n_commands,
    };
    int code;

    signal(SIGPIPE, SIG_IGN);
    ctl_parse_options(&ctl, argc, argv);
    code = run__(&ctl, argc - optind, argv + optind);
    ctl_destroy(&ctl);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "evlbctl: the output cannot be written\n");
        return CTL_FAILED;
    }
    return code;
}
