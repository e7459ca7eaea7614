/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_JSON_H
#define LIB_JSON_H 1

/* Writes one JSON value to a stream, item by item, for reports.
 *
 * Each function writes one item of the object or array that is open; 'name' is
 * NULL in arrays and at the top.  The caller closes what it opened.  Errors
 * of writing stay in the stream, for ferror().
 *
 * What is in a string that is not UTF-8 is written as U+FFFD. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *stream;       /* Where to, borrowed. */
    unsigned int depth; /* Objects and arrays that are open. */
    bool first;         /* Is the next item the first of its own? */
};

void json_init(struct json *, FILE *);

void json_open_object(struct json *, const char *name);
void json_close_object(struct json *);
void json_open_array(struct json *, const char *name);
void json_close_array(struct json *);

void json_put_number(struct json *, const char *name, uint64_t);
void json_put_integer(struct json *, const char *name, int64_t);
void json_put_real(struct json *, const char *name, double);
void json_put_double(struct json *, const char *name, double);
void json_put_float(struct json *, const char *name, float);
void json_put_bool(struct json *, const char *name, bool);
void json_put_null(struct json *, const char *name);
void json_put_string(struct json *, const char *name, const char *);

#endif /* lib/json.h */
