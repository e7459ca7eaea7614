/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/config-reader.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* Returns the path of 'setting', such as "instances[0].members[2].ip", which
 * the caller must free. */
static char *
path__(const config_setting_t *setting)
{
    const config_setting_t *parent = config_setting_parent(setting);
    const char *name = config_setting_name(setting);
    char *prefix, *path;

    if (!parent) {
        return mem_strdup("");
    }
    prefix = path__(parent);
    if (name) {
        path = mem_printf("%s%s%s", prefix, *prefix ? "." : "", name);
    } else {
        path = mem_printf("%s[%d]", prefix, config_setting_index(setting));
    }
    free(prefix);
    return path;
}

/* Makes the message in 'format', about 'setting', the error of 'r', unless it
 * has one. */
void
reader_fail(struct reader *r, const config_setting_t *setting,
            const char *format, ...)
{
    const char *file = config_setting_source_file(setting);
    char *path, *message;
    va_list args;

    if (r->error) {
        return;
    }
    va_start(args, format);
    if (vasprintf(&message, format, args) < 0) {
        abort();
    }
    va_end(args);

    path = path__(setting);
    r->error =
        mem_printf("%s:%d: %s%s%s", file ? file : r->file,
                   reader_line(setting), path, *path ? ": " : "", message);
    free(path);
    free(message);
}

/* Returns the line of the file that 'setting' is on. */
int
reader_line(const config_setting_t *setting)
{
    unsigned int line = config_setting_source_line(setting);

    return line ? (int) line : 1; /* The whole file has none. */
}

/* Returns the number of elements of 'setting', which may be NULL. */
size_t
reader_length(const config_setting_t *setting)
{
    return setting ? (size_t) config_setting_length(setting) : 0;
}

/* Checks that 'group' is a group whose members are all in 'names', which ends
 * with NULL. */
void
reader_check_names(struct reader *r, const config_setting_t *group,
                   const char *const names[])
{
    if (!config_setting_is_group(group)) {
        reader_fail(r, group, "must be a group, { ... }");
        return;
    }
    for (size_t i = 0; !r->error && i < reader_length(group); i++) {
        const config_setting_t *member =
            config_setting_get_elem(group, (unsigned int) i);
        const char *name = config_setting_name(member);
        size_t j = 0;

        while (names[j] && strcmp(names[j], name)) {
            j++;
        }
        if (!names[j]) {
            reader_fail(r, member, "is no known setting");
        }
    }
}

/* Checks that the list or array 'list', which may be NULL, is not empty, and
 * that no string is in it twice. */
void
reader_check_list(struct reader *r, const config_setting_t *list)
{
    if (list && !reader_length(list)) {
        reader_fail(r, list, "must not be empty");
    }
    for (unsigned int i = 1; !r->error && i < reader_length(list); i++) {
        const char *s = config_setting_get_string_elem(list, (int) i);

        for (unsigned int j = 0; s && j < i; j++) {
            const char *t = config_setting_get_string_elem(list, (int) j);

            if (t && !strcmp(s, t)) {
                reader_fail(r, config_setting_get_elem(list, i),
                            "is listed twice");
            }
        }
    }
}

static const config_setting_t *
find__(struct reader *r, const config_setting_t *group, const char *name)
{
    return r->error ? NULL : config_setting_get_member(group, name);
}

/* Returns the member 'name' of 'group'; it is an error if there is none. */
const config_setting_t *
reader_get_setting(struct reader *r, const config_setting_t *group,
                   const char *name)
{
    const config_setting_t *setting = find__(r, group, name);

    if (!setting) {
        reader_fail(r, group, "lacks the setting \"%s\"", name);
    }
    return setting;
}

/* Returns the member 'name' of 'group', a list or an array, or NULL. */
const config_setting_t *
reader_find_list(struct reader *r, const config_setting_t *group,
                 const char *name)
{
    const config_setting_t *setting = find__(r, group, name);

    if (setting && !config_setting_is_list(setting)
        && !config_setting_is_array(setting)) {
        reader_fail(r, setting, "must be a list, ( ... ) or [ ... ]");
        return NULL;
    }
    return setting;
}

/* Stores in '*value' the number that 'setting' is.  Numbers above 2^63 - 1 have
 * to be written as strings or in hexadecimal. */
static bool
parse_uint__(const config_setting_t *setting, uint64_t *value)
{
    int type = config_setting_type(setting);

    if (type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64) {
        long long int number = config_setting_get_int64(setting);
        bool hex = config_setting_get_format(setting) == CONFIG_FORMAT_HEX;

        *value = (type == CONFIG_TYPE_INT && hex ? (uint32_t) number
                                                 : (uint64_t) number);
        return number >= 0 || hex;
    } else if (type == CONFIG_TYPE_STRING) {
        const char *s = config_setting_get_string(setting);
        char *end;

        errno = 0;
        *value = strtoull(s, &end, 0);
        return isdigit((unsigned char) *s) && !*end && !errno;
    }
    return false;
}

/* Returns the number that 'setting' is, from 'min' to 'max'. */
uint64_t
reader_to_uint(struct reader *r, const config_setting_t *setting, uint64_t min,
               uint64_t max)
{
    uint64_t value;

    if (r->error) {
        return 0;
    }
    if (!parse_uint__(setting, &value) || value < min || value > max) {
        reader_fail(r, setting,
                    "must be a number from %" PRIu64 " to %" PRIu64, min, max);
        return 0;
    }
    return value;
}

/* Returns the number that the member 'name' of 'group' is. */
uint64_t
reader_get_uint(struct reader *r, const config_setting_t *group,
                const char *name, uint64_t min, uint64_t max)
{
    const config_setting_t *setting = reader_get_setting(r, group, name);

    return setting ? reader_to_uint(r, setting, min, max) : 0;
}

/* Returns the number that the member 'name' of 'group' is, or 'otherwise' if
 * there is none. */
uint64_t
reader_find_uint(struct reader *r, const config_setting_t *group,
                 const char *name, uint64_t min, uint64_t max,
                 uint64_t otherwise)
{
    const config_setting_t *setting = find__(r, group, name);

    return setting ? reader_to_uint(r, setting, min, max) : otherwise;
}

/* Returns the number, with or without a fraction, that the member 'name' of
 * 'group' is, or 'otherwise' if there is none. */
double
reader_find_double(struct reader *r, const config_setting_t *group,
                   const char *name, double min, double max, double otherwise)
{
    const config_setting_t *setting = find__(r, group, name);
    double value;

    if (!setting) {
        return otherwise;
    }
    value = config_setting_type(setting) == CONFIG_TYPE_FLOAT
                ? config_setting_get_float(setting)
                : (double) config_setting_get_int64(setting);
    if (!config_setting_is_number(setting)
        || !(value >= min && value <= max)) {
        reader_fail(r, setting, "must be a number from %g to %g", min, max);
        return otherwise;
    }
    return value;
}

/* Returns the string that 'setting' is. */
const char *
reader_to_string(struct reader *r, const config_setting_t *setting)
{
    const char *s = r->error ? "" : config_setting_get_string(setting);

    if (!s) {
        reader_fail(r, setting, "must be a string");
        return "";
    }
    return s;
}

/* Returns the string that the member 'name' of 'group' is. */
const char *
reader_get_string(struct reader *r, const config_setting_t *group,
                  const char *name)
{
    const config_setting_t *setting = reader_get_setting(r, group, name);

    return setting ? reader_to_string(r, setting) : "";
}

/* Returns the truth value that the member 'name' of 'group' is, or 'otherwise'
 * if there is none. */
bool
reader_find_bool(struct reader *r, const config_setting_t *group,
                 const char *name, bool otherwise)
{
    const config_setting_t *setting = find__(r, group, name);

    if (!setting) {
        return otherwise;
    }
    if (config_setting_type(setting) != CONFIG_TYPE_BOOL) {
        reader_fail(r, setting, "must be true or false");
    }
    return config_setting_get_bool(setting);
}

/* Makes the error that 'setting' is none of 'choices', of which there are at
 * least two. */
static void
fail_choice__(struct reader *r, const config_setting_t *setting,
              const char *const choices[])
{
    char *list = mem_printf("\"%s\"", choices[0]);

    for (int i = 1; choices[i]; i++) {
        char *longer = mem_printf("%s%s \"%s\"", list,
                                  choices[i + 1] ? "," : " or", choices[i]);

        free(list);
        list = longer;
    }
    reader_fail(r, setting, "must be %s", list);
    free(list);
}

/* Returns the index in 'choices', which ends with NULL, of the string that the
 * member 'name' of 'group' is, or 'otherwise' if there is no such member. */
int
reader_find_choice(struct reader *r, const config_setting_t *group,
                   const char *name, const char *const choices[],
                   int otherwise)
{
    const config_setting_t *setting = find__(r, group, name);
    const char *s = setting ? reader_to_string(r, setting) : NULL;

    if (!s) {
        return otherwise;
    }
    for (int i = 0; choices[i]; i++) {
        if (!strcmp(s, choices[i])) {
            return i;
        }
    }
    fail_choice__(r, setting, choices);
    return otherwise;
}
