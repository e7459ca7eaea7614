/* SPDX-License-Identifier: Apache-2.0 */

/* What the command table says: the help, the man page's part. */

#include "controller/ctl/ctl.h"

#include <ctype.h>
#include <string.h>

#define HELP_COLUMN 28

static void
print_option__(int short_name, const char *name, const char *arg,
               const char *help, FILE *stream)
{
    int n;

    fprintf(stream, short_name ? "  -%c, " : "      ", short_name);
    n = 6 + fprintf(stream, "--%s%s%s ", name, arg ? "=" : "", arg ? arg : "");
    fprintf(stream, "%*s%s\n", n < HELP_COLUMN ? HELP_COLUMN - n : 0, "",
            help);
}

/* Writes how evlbctl is used to 'stream'. */
void
ctl_print_help(const struct ctl *ctl, FILE *stream)
{
    fprintf(stream, "evlbctl: asks and tells evlbd, the event load balancer "
                    "controller\n"
                    "usage: evlbctl [OPTION]... COMMAND [ARGUMENT]...\n\n");
    for (size_t i = 0; i < ctl->n_commands; i++) {
        const struct ctl_command *c = &ctl->commands[i];

        if (c->heading) {
            fprintf(stream, "%s%s:\n", i ? "\n" : "", c->heading);
        }
        fprintf(stream, "  %s%s%s\n        %s\n", c->name,
                *c->arguments ? " " : "", c->arguments, c->help);
    }
    fputs("\noptions:\n", stream);
    for (int i = 0; i < CTL_N_OPTIONS; i++) {
        const struct ctl_option_row *o = &ctl_option_rows[i];

        print_option__(o->short_name, o->name, o->arg, o->help, stream);
    }
    print_option__('h', "help", NULL, "show this and exit", stream);
    print_option__('V', "version", NULL, "show the version and exit", stream);
    fputs("\nexit status: 0 done, 1 refused or failed, 2 wrong usage\n",
          stream);
}

/* Writes 's' as a man page has to have it. */
static void
print_escaped__(const char *s, FILE *stream)
{
    for (; *s; s++) {
        fprintf(stream, *s == '-' ? "\\-" : "%c", *s);
    }
}

/* Writes the commands as a part of the manual page to 'stream'. */
void
ctl_print_man(const struct ctl *ctl, FILE *stream)
{
    for (size_t i = 0; i < ctl->n_commands; i++) {
        const struct ctl_command *c = &ctl->commands[i];

        if (c->heading) {
            fprintf(stream, ".SS %s\n", c->heading);
        }
        fputs(".TP\n.B ", stream);
        print_escaped__(c->name, stream);
        if (*c->arguments) {
            fputs("\n.I ", stream);
            print_escaped__(c->arguments, stream);
            fputs("\n.br", stream);
        }
        fprintf(stream, "\n%c", toupper((unsigned char) *c->help));
        print_escaped__(c->help + 1, stream);
        fputs(".\n", stream);
    }
}

/* Writes the options as a part of the manual page to 'stream'. */
void
ctl_print_man_options(FILE *stream)
{
    for (int i = 0; i < CTL_N_OPTIONS; i++) {
        const struct ctl_option_row *o = &ctl_option_rows[i];

        fputs(".TP\n", stream);
        if (o->short_name) {
            fprintf(stream, ".BR \\-%c \", \" ", o->short_name);
        } else {
            fputs(".BR ", stream);
        }
        fputs("\\-\\-", stream);
        print_escaped__(o->name, stream);
        if (o->arg) {
            fprintf(stream, "=\\fI%s\\fR", o->arg);
        }
        fprintf(stream, "\n%c", toupper((unsigned char) *o->help));
        print_escaped__(o->help + 1, stream);
        fputs(".\n", stream);
    }
}

/* help [man|man-options] */
int
ctl_run_help(struct ctl *ctl, const struct ctl_command *command, int argc,
             char *argv[])
{
    (void) command;
    if (!argc) {
        ctl_print_help(ctl, stdout);
    } else if (!strcmp(argv[0], "man")) {
        ctl_print_man(ctl, stdout);
    } else if (!strcmp(argv[0], "man-options")) {
        ctl_print_man_options(stdout);
    } else {
        return ctl_usage_error("there is no help of the kind \"%s\"", argv[0]);
    }
    return CTL_OK;
}
