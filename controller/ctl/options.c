/* SPDX-License-Identifier: Apache-2.0 */

/* Options: any of them may stand anywhere; which a command takes is checked
 * when it is known. */

#include "controller/ctl/ctl.h"

#include <getopt.h>
#include <stdlib.h>

#include "controller/core/mem.h"
#include "controller/ctl/api.h"

/* Long options without a short form have numbers from here on. */
#define FIRST_LONG 256

const struct ctl_option_row ctl_option_rows[CTL_N_OPTIONS] = {
#define CTL_OPTION(NAME, LONG, SHORT, ARG, HELP) { LONG, SHORT, ARG, HELP },
    CTL_OPTIONS
#undef CTL_OPTION
};

static void
take__(struct ctl *ctl, enum ctl_option option, char *value)
{
    struct ctl_values *v = &ctl->options[option];

    if (v->n == v->allocated) {
        v->values = mem_grow(v->values, &v->allocated, sizeof *v->values);
    }
    v->values[v->n++] = value;
}

/* Fills 'options' by the table, and the two that end the program. */
static void
make_options__(struct option options[CTL_N_OPTIONS + 3])
{
    for (int i = 0; i < CTL_N_OPTIONS; i++) {
        options[i] = (struct option){
            .name = ctl_option_rows[i].name,
            .has_arg =
                ctl_option_rows[i].arg ? required_argument : no_argument,
            .val = FIRST_LONG + i,
        };
    }
    options[CTL_N_OPTIONS] = (struct option){ "help", 0, NULL, 'h' };
    options[CTL_N_OPTIONS + 1] = (struct option){ "version", 0, NULL, 'V' };
    options[CTL_N_OPTIONS + 2] = (struct option){ 0 };
}

/* Parses the options in 'argv', which is put in order: they come first.  Exits
 * for --help, --version, and what is wrong. */
void
ctl_parse_options(struct ctl *ctl, int argc, char *argv[])
{
    struct option options[CTL_N_OPTIONS + 3];
    int c;

    make_options__(options);
    while ((c = getopt_long(argc, argv, "s:jhV", options, NULL)) != -1) {
        if (c >= FIRST_LONG) {
            take__(ctl, (enum ctl_option)(c - FIRST_LONG), optarg);
        } else if (c == 's') {
            take__(ctl, CTL_OPT_SOCKET, optarg);
        } else if (c == 'j') {
            take__(ctl, CTL_OPT_JSON, NULL);
        } else if (c == 'h') {
            ctl_print_help(ctl, stdout);
            exit(CTL_OK);
        } else if (c == 'V') {
            printf("evlbctl %s\n", EVLB_VERSION);
            exit(CTL_OK);
        } else {
            fprintf(stderr, "evlbctl: see \"evlbctl --help\"\n");
            exit(CTL_USAGE);
        }
    }
    ctl->json = ctl_has(ctl, CTL_OPT_JSON);
    if (ctl_has(ctl, CTL_OPT_SOCKET)) {
        ctl->socket = ctl_get(ctl, CTL_OPT_SOCKET);
    }
}

/* Says if 'command' was given options that it does not take.  Returns an exit
 * code. */
int
ctl_check_options(const struct ctl *ctl, const struct ctl_command *command)
{
    uint32_t takes = CTL_ALL | command->options;

    for (int i = 0; i < CTL_N_OPTIONS; i++) {
        if (ctl_has(ctl, (enum ctl_option) i) && !(takes & 1u << i)) {
            return ctl_usage_error("\"%s\" takes no --%s", command->name,
                                   ctl_option_rows[i].name);
        }
    }
    return CTL_OK;
}

bool
ctl_has(const struct ctl *ctl, enum ctl_option option)
{
    return ctl->options[option].n > 0;
}

/* Returns the last value of 'option', or NULL. */
const char *
ctl_get(const struct ctl *ctl, enum ctl_option option)
{
    const struct ctl_values *v = &ctl->options[option];

    return v->n ? v->values[v->n - 1] : NULL;
}

void
ctl_destroy(struct ctl *ctl)
{
    ctl_api_destroy(ctl);
    for (int i = 0; i < CTL_N_OPTIONS; i++) {
        free(ctl->options[i].values);
    }
}
