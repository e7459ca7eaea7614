/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints/address.h"
#include "endpoints/util.h"

#define HELP_COLUMN 26 /* Where explanations start. */

/* Parses an unsigned number, decimal or with 0x, at 's'.  Sets '*end' behind
 * it.  Returns false if there is none or if it has more than 64 bits. */
static bool
parse_u64(const char *s, uint64_t *value, const char **end)
{
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    char *tail;

    if (s[0] < '0' || s[0] > '9') {
        return false;
    }
    errno = 0;
    *value = strtoull(s, &tail, hex ? 16 : 10);
    *end = tail;
    return !errno;
}

static bool
in_range(const struct option_row *row, uint64_t value)
{
    return value >= row->min && value <= row->max;
}

char *
options_flag(const struct option_row *row, const char *value, void *target)
{
    bool *flag = target;

    (void) row;
    (void) value;
    *flag = true;
    return NULL;
}

char *
options_number(const struct option_row *row, const char *value, void *target)
{
    uint64_t *number = target;
    const char *end;

    if (!parse_u64(value, number, &end) || *end || !in_range(row, *number)) {
        return xasprintf("'%s' is not a number from %" PRIu64 " to %" PRIu64,
                         value, row->min, row->max);
    }
    return NULL;
}

char *
options_numbers(const struct option_row *row, const char *value, void *target)
{
    struct options_range *range = target;
    const char *end;
    bool ok = parse_u64(value, &range->min, &end);

    range->max = range->min;
    if (ok && *end == '-') {
        ok = parse_u64(end + 1, &range->max, &end);
    }
    if (!ok || *end || range->min > range->max || !in_range(row, range->min)
        || !in_range(row, range->max)) {
        return xasprintf("'%s' is not a number or MIN-MAX from %" PRIu64 " to "
                         "%" PRIu64,
                         value, row->min, row->max);
    }
    return NULL;
}

char *
options_real(const struct option_row *row, const char *value, void *target)
{
    double *real = target;
    char *end;

    *real = strtod(value, &end);
    if (end == value || *end || !isfinite(*real) || *real <= 0
        || *real > (double) row->max) {
        return xasprintf("'%s' is not a number over 0 and up to %" PRIu64,
                         value, row->max);
    }
    return NULL;
}

char *
options_string(const struct option_row *row, const char *value, void *target)
{
    const char **string = target;

    (void) row;
    if (!*value) {
        return xasprintf("a value that is not empty is needed");
    }
    *string = value;
    return NULL;
}

char *
options_address(const struct option_row *row, const char *value, void *target)
{
    (void) row;
    return address_parse(value, target);
}

char *
options_address_port(const struct option_row *row, const char *value,
                     void *target)
{
    (void) row;
    return address_parse_with_port(value, target);
}

static void
print_row(const char *name, const char *arg, const char *help, FILE *stream)
{
    int n =
        fprintf(stream, "  --%s%s%s", name, arg ? " " : "", arg ? arg : "");

    if (n >= HELP_COLUMN) {
        putc('\n', stream);
        n = 0;
    }
    fprintf(stream, "%*s%s\n", HELP_COLUMN - n, "", help);
}

/* Prints what 'o' accepts to 'stream'. */
void
options_print_help(const struct options *o, FILE *stream)
{
    fprintf(stream, "%s: %s\nusage: %s [OPTIONS]\n\n", o->program, o->summary,
            o->program);
    for (size_t i = 0; i < o->n; i++) {
        print_row(o->rows[i].name, o->rows[i].arg, o->rows[i].help, stream);
    }
    print_row("help", NULL, "Print this help and exit", stream);
    print_row("version", NULL, "Print the version and exit", stream);
}

/* Handles the options that every program has; does not return if 'arg' is one
 * of them. */
static void
handle_common(const struct options *o, const char *arg)
{
    if (!strcmp(arg, "--help")) {
        options_print_help(o, stdout);
        exit(EXIT_SUCCESS);
    } else if (!strcmp(arg, "--version")) {
        printf("%s %s\n", o->program, EVLB_VERSION);
        exit(EXIT_SUCCESS);
    }
}

/* Returns the row for 'arg', "--name" or "--name=value", or NULL.  Points
 * '*value' to the value in it, or to NULL. */
static const struct option_row *
find_row(const struct options *o, const char *arg, const char **value)
{
    const char *name = arg + 2;
    size_t n = strcspn(name, "=");

    *value = name[n] ? name + n + 1 : NULL;
    for (size_t i = 0; i < o->n; i++) {
        const struct option_row *row = &o->rows[i];

        if (strlen(row->name) == n && !memcmp(row->name, name, n)) {
            return row;
        }
    }
    return NULL;
}

static char *
parse_row(const struct option_row *row, const char *value, void *config)
{
    char *reason, *error;

    if (row->arg && !value) {
        return xasprintf("--%s: a value, %s, is missing", row->name, row->arg);
    } else if (!row->arg && value) {
        return xasprintf("--%s: it takes no value", row->name);
    }

    reason = row->parse(row, value, (char *) config + row->offset);
    if (!reason) {
        return NULL;
    }
    error = xasprintf("--%s: %s", row->name, reason);
    free(reason);
    return error;
}

/* Parses the arguments of a program by the table 'o' into 'config', which
 * holds the defaults before.  Prints and exits for --help and --version.
 * Returns NULL or an error that names the option, which the caller frees. */
char *
options_parse(const struct options *o, int argc, char *argv[], void *config)
{
    for (int i = 1; i < argc; i++) {
        const struct option_row *row;
        const char *value;
        char *error;

        handle_common(o, argv[i]);
        if (strncmp(argv[i], "--", 2)) {
            return xasprintf("'%s': options start with --", argv[i]);
        }
        row = find_row(o, argv[i], &value);
        if (!row) {
            return xasprintf("%s: no such option; --help lists them", argv[i]);
        }
        if (row->arg && !value && i + 1 < argc) {
            value = argv[++i];
        }
        error = parse_row(row, value, config);
        if (error) {
            return error;
        }
    }
    return NULL;
}
