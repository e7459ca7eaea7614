/* SPDX-License-Identifier: Apache-2.0 */

/* Completion for shells, from the command table.
 *
 * The script takes the words before the one that is completed, without options,
 * and looks up what may come next: words of commands, or instances and members,
 * which it asks evlbd for through evlbctl. */

#include "controller/ctl/ctl.h"

#include <string.h>

/* Returns the number of characters of the first word of 's'. */
static int
first_word__(const char *s)
{
    const char *space = strchr(s, ' ');

    return space ? (int) (space - s) : (int) strlen(s);
}

/* Is command 'i' the first with its first word? */
static bool
is_first__(const struct ctl *ctl, size_t i)
{
    int n = first_word__(ctl->commands[i].name);

    for (size_t j = 0; j < i; j++) {
        if (first_word__(ctl->commands[j].name) == n
            && !strncmp(ctl->commands[j].name, ctl->commands[i].name,
                        (size_t) n)) {
            return false;
        }
    }
    return true;
}

/* Writes the second words of the commands whose first word is that of command
 * 'i'. */
static void
print_second_words__(const struct ctl *ctl, size_t i)
{
    int n = first_word__(ctl->commands[i].name);

    for (size_t j = i; j < ctl->n_commands; j++) {
        const char *name = ctl->commands[j].name;

        if (first_word__(name) == n && name[n]
            && !strncmp(name, ctl->commands[i].name, (size_t) n)) {
            printf(" %s", name + n + 1);
        }
    }
}

static void
print_words__(const struct ctl *ctl)
{
    printf("    '') candidates='");
    for (size_t i = 0; i < ctl->n_commands; i++) {
        if (is_first__(ctl, i)) {
            printf(" %.*s", first_word__(ctl->commands[i].name),
                   ctl->commands[i].name);
        }
    }
    printf("' ;;\n");
    for (size_t i = 0; i < ctl->n_commands; i++) {
        const char *name = ctl->commands[i].name;
        int n = first_word__(name);

        if (name[n] && is_first__(ctl, i)) {
            printf("    ' %.*s') candidates='", n, name);
            print_second_words__(ctl, i);
            printf("' ;;\n");
        }
    }
}

static void
print_arguments__(const struct ctl_command *c)
{
    switch (c->completion) {
    case CTL_COMPLETE_NOTHING:
        break;
    case CTL_COMPLETE_MEMBER:
        printf(
            "    \" %s $last\")\n"
            "        candidates=$(${COMP_WORDS[0]} \"${socket[@]}\" members "
            "\"$last\" 2>/dev/null | awk 'NR > 1 { print $2 }') ;;\n",
            c->name);
        /* FALLTHROUGH */
    case CTL_COMPLETE_INSTANCE:
        printf("    ' %s')\n"
               "        candidates=$(${COMP_WORDS[0]} \"${socket[@]}\" "
               "instances 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n",
               c->name);
        break;
    case CTL_COMPLETE_LB:
        printf("    ' %s')\n"
               "        candidates=$(${COMP_WORDS[0]} \"${socket[@]}\" "
               "overview 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n",
               c->name);
        break;
    case CTL_COMPLETE_SHELL:
        printf("    ' %s') candidates=bash ;;\n", c->name);
        break;
    }
}

/* Writes the options, but for --socket, whose next word is not an argument. */
static void
print_options_with_values__(void)
{
    const char *separator = "";

    for (int i = 0; i < CTL_N_OPTIONS; i++) {
        if (ctl_option_rows[i].arg && i != CTL_OPT_SOCKET) {
            printf("%s--%s", separator, ctl_option_rows[i].name);
            separator = " | ";
        }
    }
}

/* completion SHELL */
int
ctl_run_completion(struct ctl *ctl, const struct ctl_command *command,
                   int argc, char *argv[])
{
    (void) command;
    (void) argc;
    if (strcmp(argv[0], "bash")) {
        return ctl_usage_error("there is completion for bash, not for \"%s\"",
                               argv[0]);
    }
    printf("# Completion of evlbctl in bash, made by \"evlbctl completion "
           "bash\".\n\n"
           "_evlbctl()\n"
           "{\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} words= last= i\n"
           "    local candidates= socket=()\n\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n"
           "        -s | --socket)\n"
           "            [[ ${COMP_WORDS[i + 1]} = '=' ]] && ((i++))\n"
           "            ((i++)); socket=(-s \"${COMP_WORDS[i]}\") ;;\n"
           "        ");
    print_options_with_values__();
    printf(")\n"
           "            ((i++)) ;;\n"
           "        -*) ;;\n"
           "        *) last=${COMP_WORDS[i]} words+=\" $last\" ;;\n"
           "        esac\n"
           "    done\n"
           "    case $words in\n");
    print_words__(ctl);
    for (size_t i = 0; i < ctl->n_commands; i++) {
        print_arguments__(&ctl->commands[i]);
    }
    printf("    esac\n"
           "    [[ $current = -* ]] && candidates='");
    for (int i = 0; i < CTL_N_OPTIONS; i++) {
        printf("--%s ", ctl_option_rows[i].name);
    }
    printf("--help --version'\n"
           "    COMPREPLY=($(compgen -W \"$candidates\" -- \"$current\"))\n"
           "}\n\n"
           "complete -o default -F _evlbctl evlbctl\n");
    return CTL_OK;
}
