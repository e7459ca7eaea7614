/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_OPTIONS_H
#define ENDPOINTS_OPTIONS_H 1

/* Command-line options as a table.
 *
 * A program describes each of its options by one row: name, argument, help,
 * accepted range, and where in its configuration the value goes.  Parsing,
 * --help and the text of errors come from the table.  An error names the
 * option and says what would be accepted.
 *
 * Options are long ones, "--name VALUE" or "--name=VALUE"; there are no other
 * arguments.  "--help" and "--version" are there by themselves. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A number, or "MIN-MAX". */
struct options_range {
    uint64_t min; /* First number. */
    uint64_t max; /* Last number, not less than 'min'. */
};

struct option_row {
    const char *name; /* Without the dashes. */
    const char *arg;  /* Its value in the help, NULL if none. */
    const char *help; /* One sentence without a full stop. */

    /* Puts 'value', which is NULL without 'arg', where 'target' points.
     * Returns NULL or a reason, which the caller frees. */
    char *(*parse)(const struct option_row *, const char *value, void *target);
    size_t offset; /* Of the target in the configuration. */
    uint64_t min;  /* Least number accepted. */
    uint64_t max;  /* Greatest number accepted. */
};

struct options {
    const char *program;           /* Its name. */
    const char *summary;           /* What it does, in a sentence. */
    const struct option_row *rows; /* The table. */
    size_t n;                      /* Number of 'rows'. */
};

char *
options_parse(const struct options *, int argc, char *argv[], void *config);
void options_print_help(const struct options *, FILE *);

/* Parsers of values.  Their targets are, in order: bool; uint64_t; struct
 * options_range; double, over 0 and up to 'max'; const char *, in the
 * arguments; union address, without and with a port. */
char *options_flag(const struct option_row *, const char *, void *);
char *options_number(const struct option_row *, const char *, void *);
char *options_numbers(const struct option_row *, const char *, void *);
char *options_real(const struct option_row *, const char *, void *);
char *options_string(const struct option_row *, const char *, void *);
char *options_address(const struct option_row *, const char *, void *);
char *options_address_port(const struct option_row *, const char *, void *);

#endif /* endpoints/options.h */
