/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/json.h"

#include <inttypes.h>

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

static void
write_string(const struct json *j, const char *s)
{
    putc('"', j->stream);
    for (; *s; s++) {
        unsigned char c = *s;

        if (c == '"' || c == '\\') {
            fprintf(j->stream, "\\%c", c);
        } else if (c < ' ') {
            fprintf(j->stream, "\\u%04x", c);
        } else {
            putc(c, j->stream);
        }
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
json_number(struct json *j, const char *name, uint64_t value)
{
    start_item(j, name);
    fprintf(j->stream, "%" PRIu64, value);
}

void
json_integer(struct json *j, const char *name, int64_t value)
{
    start_item(j, name);
    fprintf(j->stream, "%" PRId64, value);
}

/* Writes 'value', which must be finite, with three decimals. */
void
json_real(struct json *j, const char *name, double value)
{
    start_item(j, name);
    fprintf(j->stream, "%.3f", value);
}

void
json_bool(struct json *j, const char *name, bool value)
{
    start_item(j, name);
    fputs(value ? "true" : "false", j->stream);
}

void
json_null(struct json *j, const char *name)
{
    start_item(j, name);
    fputs("null", j->stream);
}

/* Writes 'value', which is UTF-8. */
void
json_string(struct json *j, const char *name, const char *value)
{
    start_item(j, name);
    write_string(j, value);
}
