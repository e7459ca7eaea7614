/* SPDX-License-Identifier: Apache-2.0 */

/* Reading of the configuration's file, up to its syntax. */

#include "controller/config-parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "controller/core/mem.h"

#define MAX_MEGABYTES 16
#define MAX_DEPTH 10 /* Of files that include each other; libconfig's. */

/* Returns why 'file' cannot be a configuration, or NULL.  What is no regular
 * file could block its reader. */
static char *
check_file__(const char *file)
{
    struct stat s;

    if (stat(file, &s)) {
        return mem_printf("%s: cannot be read: %s", file, strerror(errno));
    } else if (!S_ISREG(s.st_mode)) {
        return mem_printf("%s: cannot be read: is no regular file", file);
    } else if (s.st_size > MAX_MEGABYTES << 20) {
        return mem_printf("%s: is larger than %d MB", file, MAX_MEGABYTES);
    }
    return NULL;
}

static char *check_includes__(const char *file, int depth);

/* Checks the file that 'line', which is line 'number' of 'file', includes, if
 * it does. */
static char *
check_include__(const char *file, int number, char *line, int depth)
{
    const char *start = line + strspn(line, " \t");
    char *included, *error = NULL;
    struct stat s;

    if (strncmp(start, "@include", 8) || !strchr(start, '"')) {
        return NULL;
    }
    start = strchr(start, '"') + 1;
    included = mem_printf("%.*s", (int) strcspn(start, "\"\n"), start);
    if (!stat(included, &s) && !S_ISREG(s.st_mode)) {
        error = mem_printf("%s:%d: \"%s\" is no regular file", file, number,
                           included);
    } else if (depth == MAX_DEPTH) {
        error = mem_printf("%s:%d: more than %d files include each other",
                           file, number, MAX_DEPTH);
    } else {
        error = check_includes__(included, depth + 1);
    }
    free(included);
    return error;
}

/* Checks that 'file' includes, directly or not, nothing at which libconfig
 * would end the process or wait.  What it reports itself is left to it. */
static char *
check_includes__(const char *file, int depth)
{
    FILE *stream = fopen(file, "r");
    char *line = NULL, *error = NULL;
    size_t allocated = 0;

    for (int number = 1; stream && !error; number++) {
        if (getline(&line, &allocated, stream) < 0) {
            break;
        }
        error = check_include__(file, number, line, depth);
    }
    free(line);
    if (stream) {
        fclose(stream);
    }
    return error;
}

/* Returns what to look for after the error 'text' of libconfig. */
static const char *
hint__(const char *text)
{
    if (!strcmp(text, "syntax error")) {
        return ", here or before: look for a ';', a bracket or a quote that "
               "is missing";
    } else if (!strcmp(text, "mismatched element type in array")) {
        return ": [ ... ] is for values of one simple type, ( ... ) for any";
    }
    return "";
}

/* Reads 'file' into 'cf', which is initialized.  Returns NULL if successful, or
 * an error, which the caller must free. */
char *
config_file_read(config_t *cf, const char *file)
{
    char *error = check_file__(file);
    const char *text, *where;

    if (!error) {
        error = check_includes__(file, 0);
    }
    if (error) {
        return error;
    }
    errno = 0;
    if (config_read_file(cf, file)) {
        return NULL;
    }
    if (config_error_type(cf) == CONFIG_ERR_FILE_IO) {
        return mem_printf("%s: cannot be read: %s", file, strerror(errno));
    }
    text = config_error_text(cf);
    where = config_error_file(cf);
    return mem_printf("%s:%d: %s%s", where ? where : file,
                      config_error_line(cf), text, hint__(text));
}
