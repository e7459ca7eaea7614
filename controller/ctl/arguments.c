/* SPDX-License-Identifier: Apache-2.0 */

/* Arguments of commands. */

#include "controller/ctl/ctl.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

/* Parses 's', decimal or hexadecimal, which must be at most 'max', into
 * '*value'.  Returns false if it is anything else. */
bool
ctl_parse_number(const char *s, uint64_t max, uint64_t *value)
{
    char *end;

    if (*s < '0' || *s > '9') {
        return false;
    }
    errno = 0;
    *value = strtoull(s, &end, s[0] == '0' && s[1] == 'x' ? 16 : 10);
    return !errno && !*end && *value <= max;
}

/* The same for a number of 32 bits. */
bool
ctl_parse_u32(const char *s, uint32_t *value)
{
    uint64_t number;
    bool ok = ctl_parse_number(s, UINT32_MAX, &number);

    *value = ok ? (uint32_t) number : 0;
    return ok;
}

static bool
parse_i64__(const char *s, int64_t *value)
{
    uint64_t number;
    bool ok = ctl_parse_number(s, INT64_MAX, &number);

    *value = ok ? (int64_t) number : 0;
    return ok;
}

/* Parses 's', a number that is finite, into '*value'. */
bool
ctl_parse_real(const char *s, float *value)
{
    char *end;

    *value = strtof(s, &end);
    return end != s && !*end && isfinite(*value);
}

/* Stores 'value', which is NULL if there is none, where 'p' says.  Returns
 * false if it is not what 'p' takes. */
static bool
store__(const struct ctl_property *p, char *value)
{
    if (p->flag) {
        *p->flag = true;
        return !value;
    } else if (!value) {
        return false;
    } else if (p->string) {
        *p->string = value;
        return true;
    } else if (p->u64) {
        return ctl_parse_number(value, UINT64_MAX, p->u64);
    } else if (p->i64) {
        return parse_i64__(value, p->i64);
    } else if (p->real) {
        return ctl_parse_real(value, p->real);
    } else {
        return ctl_parse_u32(value, p->u32);
    }
}

/* Returns the index of the one of the 'n' 'properties' whose name begins the
 * argument 's', or 'n'. */
static size_t
find__(const struct ctl_property *properties, size_t n, const char *s)
{
    size_t length = strcspn(s, "=");
    size_t i = 0;

    while (i < n
           && (strlen(properties[i].name) != length
               || strncmp(properties[i].name, s, length))) {
        i++;
    }
    return i;
}

/* Parses the 'argc' arguments 'argv', NAME=VALUE or, for a flag, NAME, by the
 * 'n' 'properties', at most 32.  Returns an exit code. */
int
ctl_parse_properties(const struct ctl_property *properties, size_t n, int argc,
                     char *argv[])
{
    uint32_t given = 0;

    for (int i = 0; i < argc; i++) {
        size_t j = find__(properties, n, argv[i]);
        char *equals = strchr(argv[i], '=');

        if (j == n) {
            return ctl_usage_error("\"%s\" is not known here", argv[i]);
        }
        if (!store__(&properties[j], equals ? equals + 1 : NULL)) {
            return ctl_usage_error("\"%s\": %s", argv[i],
                                   properties[j].flag     ? "takes no value"
                                   : properties[j].string ? "needs a value"
                                                          : "needs a number");
        }
        given |= 1u << j;
    }
    for (size_t j = 0; j < n; j++) {
        if (properties[j].required && !(given & 1u << j)) {
            return ctl_usage_error("%s= is missing", properties[j].name);
        }
    }
    return CTL_OK;
}
