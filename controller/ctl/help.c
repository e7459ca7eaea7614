/* SPDX-License-Identifier: Apache-2.0 */

/* What the command table says: the help, the man page's part. */

#include "controller/ctl/ctl.h"

#include <ctype.h>
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
    fprintf(
        stream,
        "\n"
        "  -s, --socket=FILE  where evlbd listens (default: %s)\n"
        "  -j, --json         print JSON\n"
        "      --at-event=N   first tick of the new epoch (default: as "
        "soon as is safe)\n"
        "      --force        even if nothing tells how far the ticks are\n"
        "  -h, --help         show this and exit\n"
        "  -V, --version      show the version and exit\n\n"
        "exit status: 0 done, 1 refused or failed, 2 wrong usage\n",
        CTL_DEFAULT_SOCKET);
}

/* Writes the commands as a part of the manual page to 'stream'. */
void
ctl_print_man(const struct ctl *ctl, FILE *stream)
{
    for (size_t i = 0; i < ctl->n_commands; i++) {
        const struct ctl_command *c = &ctl->commands[i];

        fprintf(stream, ".TP\n.B %s\n", c->name);
        if (*c->arguments) {
            fprintf(stream, ".I %s\n.br\n", c->arguments);
        }
        fprintf(stream, "%c%s.\n", toupper((unsigned char) *c->help),
                c->help + 1);
    }
}

/* help [man] */
int
ctl_run_help(struct ctl *ctl, const struct ctl_command *command, int argc,
             char *argv[])
{
    (void) command;
    if (!argc) {
        ctl_print_help(ctl, stdout);
    } else if (!strcmp(argv[0], "man")) {
        ctl_print_man(ctl, stdout);
    } else {
        return ctl_usage_error("there is no help of the kind \"%s\"", argv[0]);
    }
    return CTL_OK;
}
