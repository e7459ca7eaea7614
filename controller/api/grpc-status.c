/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/core/mem.h"

/* Returns the name of 'status'. */
const char *
grpc_status_to_string(enum grpc_status status)
{
    switch (status) {
#define GRPC_STATUS(NAME, CODE) \
    case GRPC_##NAME:           \
        return #NAME;
        GRPC_STATUSES
#undef GRPC_STATUS
    }
    return "UNKNOWN";
}

/* Parses 's', the decimal digits of a number of at most 'max_digits' digits.
 * Returns the number, or -1. */
static int64_t
parse_digits__(const char *s, size_t n, size_t max_digits)
{
    int64_t value = 0;

    if (!n || n > max_digits) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return -1;
        }
        value = value * 10 + (s[i] - '0');
    }
    return value;
}

/* Returns the status in the header "grpc-status", UNKNOWN if it is none. */
enum grpc_status
grpc_status_from_header(const char *s)
{
    int64_t code = parse_digits__(s, strlen(s), 2);

    return (code < 0 || code > GRPC_UNAUTHENTICATED ? GRPC_UNKNOWN
                                                    : (enum grpc_status) code);
}

/* Returns the status that stands for the HTTP status 's' of a server that does
 * not speak gRPC. */
enum grpc_status
grpc_status_from_http(const char *s)
{
    switch (parse_digits__(s, strlen(s), 3)) {
    case 400:
        return GRPC_INTERNAL;
    case 401:
        return GRPC_UNAUTHENTICATED;
    case 403:
        return GRPC_PERMISSION_DENIED;
    case 404:
        return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_UNKNOWN;
    }
}

/* Returns 's' as it stands in "grpc-message"; the caller must free it. */
char *
grpc_text_encode(const char *s)
{
    char *encoded = mem_alloc(3 * strlen(s) + 1);
    char *p = encoded;

    for (; *s; s++) {
        unsigned char c = (unsigned char) *s;

        if (c >= ' ' && c <= '~' && c != '%') {
            *p++ = (char) c;
        } else {
            *p++ = '%';
            *p++ = "0123456789ABCDEF"[c >> 4];
            *p++ = "0123456789ABCDEF"[c & 15];
        }
    }
    *p = '\0';
    return encoded;
}

static int
hex_digit__(char c)
{
    return (c >= '0' && c <= '9'   ? c - '0'
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                   : -1);
}

/* Returns the text that 's', a "grpc-message", stands for; the caller must
 * free it.  What is not encoded right is taken as it is; an encoded null
 * becomes a question mark. */
char *
grpc_text_decode(const char *s)
{
    char *text = mem_alloc(strlen(s) + 1);
    char *p = text;

    while (*s) {
        int high = *s == '%' ? hex_digit__(s[1]) : -1;
        int low = high >= 0 ? hex_digit__(s[2]) : -1;

        if (low >= 0) {
            int c = high * 16 + low;

            *p++ = (char) (c ? c : '?');
            s += 3;
        } else {
            *p++ = *s++;
        }
    }
    *p = '\0';
    return text;
}

/* The units of "grpc-timeout", in nanoseconds. */
static int64_t
timeout_unit__(char unit)
{
    switch (unit) {
    case 'H':
        return INT64_C(3600000000000);
    case 'M':
        return INT64_C(60000000000);
    case 'S':
        return INT64_C(1000000000);
    case 'm':
        return INT64_C(1000000);
    case 'u':
        return INT64_C(1000);
    case 'n':
        return INT64_C(1);
    default:
        return 0;
    }
}

/* Parses 's', a "grpc-timeout", into '*ms', rounded up.  Returns false if it
 * is none. */
bool
grpc_timeout_parse(const char *s, int64_t *ms)
{
    size_t n = strlen(s);
    int64_t value = n ? parse_digits__(s, n - 1, 8) : -1;
    int64_t unit = n ? timeout_unit__(s[n - 1]) : 0;

    if (value < 0 || !unit) {
        return false;
    }
    if (value > GRPC_TIMEOUT_MAX_MS * 1000000 / unit) {
        *ms = GRPC_TIMEOUT_MAX_MS;
    } else {
        *ms = (value * unit + 999999) / 1000000;
    }
    return true;
}

/* Writes 'ms', which is not negative and at most GRPC_TIMEOUT_MAX_MS, as a
 * "grpc-timeout". */
void
grpc_timeout_format(int64_t ms, char s[GRPC_TIMEOUT_STRLEN])
{
    snprintf(s, GRPC_TIMEOUT_STRLEN, "%" PRId64 "m", ms);
}
