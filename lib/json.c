/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Prepares 'j' to write one value to 'stream'. */
void
json_init(struct json *j, FILE *stream)
{
    j->stream = stream;
    j->depth = 0;
    j->first = true;
}

static void
write_newline(const struct json *j)
{
    fprintf(j->stream, "\n%*s", (int) (2 * j->depth), "");
}

/* Returns how many bytes the character at 's' has in UTF-8, or 0 if there is
 * none: surrogates, what has more bytes than it needs, and what is beyond
 * U+10FFFF are none. */
static int
character_length(const char *string)
{
    static const struct {
        unsigned char first, last;   /* Of the first byte, */
        unsigned char second, until; /* and of the second one. */
        int n;
    } kinds[] = {
        { 0x00, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
        { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
        { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    const unsigned char *s = (const unsigned char *) string;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int n = kinds[i].n;

        if (*s < kinds[i].first || *s > kinds[i].last) {
            continue;
        }
        if (n > 1 && (s[1] < kinds[i].second || s[1] > kinds[i].until)) {
            return 0;
        }
        for (int k = 2; k < n; k++) {
            if ((s[k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return n;
    }
    return 0;
}

static void
write_string(const struct json *j, const char *string)
{
    const unsigned char *s = (const unsigned char *) string;

    putc('"', j->stream);
    while (*s) {
        int n = character_length((const char *) s);

        if (!n) {
            fputs("\\ufffd", j->stream);
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(j->stream, "\\%c", *s);
        } else if (*s < ' ') {
            fprintf(j->stream, "\\u%04x", *s);
        } else {
            fwrite(s, (size_t) n, 1, j->stream);
        }
        s += n;
    }
    putc('"', j->stream);
}

/* Writes what stands before the value of an item. */
static void
start_item(struct json *j, const char *name)
{
    if (!j->first) {
        putc(',', j->stream);
    }
    if (j->depth) {
        write_newline(j);
    }
    if (name) {
        write_string(j, name);
        fputs(": ", j->stream);
    }
    j->first = false;
}

static void
open_group(struct json *j, const char *name, char bracket)
{
    start_item(j, name);
    putc(bracket, j->stream);
    j->depth++;
    j->first = true;
}

static void
close_group(struct json *j, char bracket)
{
    j->depth--;
    if (!j->first) {
        write_newline(j);
    }
    putc(bracket, j->stream);
    j->first = false;
    if (!j->depth) {
        putc('\n', j->stream);
    }
}

void
json_open_object(struct json *j, const char *name)
{
    open_group(j, name, '{');
}

void
json_close_object(struct json *j)
{
    close_group(j, '}');
}

void
json_open_array(struct json *j, const char *name)
{
    open_group(j, name, '[');
}

void
json_close_array(struct json *j)
{
    close_group(j, ']');
}

void
json_put_number(struct json *j, const char *name, uint64_t value)
{
    start_item(j, name);
    fprintf(j->stream, "%" PRIu64, value);
}

void
json_put_integer(struct json *j, const char *name, int64_t value)
{
    start_item(j, name);
    fprintf(j->stream, "%" PRId64, value);
}

/* Writes 'value', which must be finite, with three decimals. */
void
json_put_real(struct json *j, const char *name, double value)
{
    start_item(j, name);
    fprintf(j->stream, "%.3f", value);
}

/* Writes 'value' if it is not finite, and returns true. */
static bool
write_not_finite(struct json *j, const char *name, double value)
{
    if (isfinite(value)) {
        return false;
    }
    json_put_string(j, name,
                    isnan(value) ? "NaN"
                    : value < 0  ? "-Infinity"
                                 : "Infinity");
    return true;
}

/* Writes 'value' with as few digits as tell it from all others; the ones that
 * are no numbers as the strings that protobuf has for them. */
void
json_put_double(struct json *j, const char *name, double value)
{
    char s[32];

    if (write_not_finite(j, name, value)) {
        return;
    }
    start_item(j, name);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, value);
        if (strtod(s, NULL) == value) {
            break;
        }
    }
    fputs(s, j->stream);
}

/* Likewise, for one of single precision. */
void
json_put_float(struct json *j, const char *name, float value)
{
    char s[32];

    if (write_not_finite(j, name, (double) value)) {
        return;
    }
    start_item(j, name);
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, (double) value);
        if (strtof(s, NULL) == value) {
            break;
        }
    }
    fputs(s, j->stream);
}

void
json_put_bool(struct json *j, const char *name, bool value)
{
    start_item(j, name);
    fputs(value ? "true" : "false", j->stream);
}

void
json_put_null(struct json *j, const char *name)
{
    start_item(j, name);
    fputs("null", j->stream);
}

/* Writes 'value', which is UTF-8. */
void
json_put_string(struct json *j, const char *name, const char *value)
{
    start_item(j, name);
    write_string(j, value);
}
