/* SPDX-License-Identifier: Apache-2.0 */

/* What the command table says: the help, the man page's part. */

#include "controller/ctl/ctl.h"

#include <string.h>

/* Writes how evlbctl is used to 'stream'. */
void
ctl_print_help(const struct ctl *ctl, FILE *stream)
{
    fprintf(stream, "evlbctl: asks and tells evlbd, the event load balancer "
                    "controller\n"
                    "usage: evlbctl [OPTION]... COMMAND [ARGUMENT]...\n\n");
    for (size_t i = 0; i < ctl->n_commands; i++) {
        const struct ctl_command *c = &ctl->commands[i];

        fprintf(stream, "  %s%s%s\n        %s\n", c->name,
                *c->arguments ? " " : "", c->arguments, c->help);
    }
    fprintf(stream,
            "\n"
            "  -s, --socket=FILE  where evlbd listens (default: %s)\n"
            "  -j, --json         print JSON\n"
            "  -h, --help         show this and exit\n"
            "  -V, --version      show the version and exit\n\n"
            "exit status: 0 done, 1 refused or failed, 2 wrong usage\n",
            CTL_DEFAULT_SOCKET);
}

int
ctl_run_help(struct ctl *ctl, const struct ctl_command *command, int argc,
             char *argv[])
{
    (void) command;
    (void) argc;
    (void) argv;
    ctl_print_help(ctl, stdout);
    return CTL_OK;
}
