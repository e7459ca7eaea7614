/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-greeting.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "controller/core/mem.h"

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#define PREFACE_LEN (sizeof preface - 1)
#define METHOD_MAX 16

/* Does what the 'n' bytes at 's' begin with look like a method and a
 * target? */
static bool
is_method__(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && i <= METHOD_MAX && s[i] >= 'A' && s[i] <= 'Z') {
        i++;
    }
    return i && i <= METHOD_MAX && (i == n || s[i] == ' ');
}

/* Returns what the 'n' bytes at 's' are the beginning of. */
enum grpc_greeting_kind
grpc_greeting_get_kind(const char *s, size_t n)
{
    if (!memcmp(s, preface, n < PREFACE_LEN ? n : PREFACE_LEN)) {
        return n < PREFACE_LEN ? GRPC_GREETING_MORE : GRPC_GREETING_HTTP2;
    } else if (!is_method__(s, n)) {
        return GRPC_GREETING_OTHER;
    } else if (memmem(s, n, "\r\n\r\n", 4)) {
        return GRPC_GREETING_HTTP1;
    } else {
        return n < GRPC_GREETING_MAX ? GRPC_GREETING_MORE
                                     : GRPC_GREETING_OTHER;
    }
}

/* Returns how many of the bytes at 's', before 'end', belong to one word of
 * printable ASCII. */
static size_t
word_len__(const char *s, const char *end)
{
    size_t n = 0;

    while (s + n < end && s[n] > ' ' && s[n] <= '~') {
        n++;
    }
    return n;
}

/* Returns the target of the request at 's' if it is the path of a resource,
 * "/" if not; the caller must free it. */
static char *
get_path__(const char *s, const char *end)
{
    const char *path = s + word_len__(s, end) + 1;
    size_t n = path < end ? word_len__(path, end) : 0;
    bool is_path = n && path[0] == '/' && (n < 2 || path[1] != '/')
                   && !memchr(path, '\\', n);

    return is_path ? mem_printf("%.*s", (int) n, path) : mem_strdup("/");
}

/* Is the host in the 'n' bytes at 's' made of what names and addresses are
 * made of? */
static bool
is_host__(const char *s, size_t n)
{
    bool v6 = n > 2 && s[0] == '[' && s[n - 1] == ']';

    for (size_t i = v6; i < n - v6; i++) {
        if (!isalnum((unsigned char) s[i]) && s[i] != '.'
            && (v6 ? s[i] != ':' : s[i] != '-')) {
            return false;
        }
    }
    return n > 0;
}

/* Returns the host in 's', "HOST[:PORT]", or NULL; the caller must free it. */
static char *
parse_host__(const char *s, const char *end)
{
    const char *word = s + strspn(s, " \t");
    size_t n = word < end ? word_len__(word, end) : 0;
    const char *bracket = n ? memchr(word, ']', n) : NULL;
    const char *colon = memchr(bracket ? bracket : word, ':',
                               n - (bracket ? (size_t) (bracket - word) : 0));

    n = colon ? (size_t) (colon - word) : n;
    return is_host__(word, n) ? mem_printf("%.*s", (int) n, word) : NULL;
}

/* Returns the host that the request at 's' is for, or NULL. */
static char *
get_host__(const char *s, const char *end)
{
    static const char name[] = "\nhost:";
    const char *p = s;

    while ((p = memchr(p, '\n', (size_t) (end - p)))) {
        if ((size_t) (end - p) >= sizeof name - 1
            && !strncasecmp(p, name, sizeof name - 1)) {
            return parse_host__(p + sizeof name - 1, end);
        }
        p++;
    }
    return NULL;
}

/* Returns the answer, which the caller must free, to the request of HTTP/1 in
 * the 'n' bytes at 's': the way to 'port', over TLS if 'tls', or if 'port' is
 * 0 or the request does not say whom it is for, that this is the wrong one. */
char *
grpc_greeting_reply(const char *s, size_t n, uint16_t port, bool tls)
{
    char *copy = mem_printf("%.*s", (int) n, s); /* Up to a null. */
    const char *end = copy + strlen(copy);
    char *host = port ? get_host__(copy, end) : NULL;
    char *path = get_path__(copy, end);
    static const char text[] = "This port speaks gRPC, over HTTP/2.\n";
    char *reply;

    if (host) {
        reply = mem_printf("HTTP/1.1 308 Permanent Redirect\r\n"
                           "Location: %s://%s:%u%s\r\n"
                           "Content-Length: 0\r\n"
                           "Connection: close\r\n\r\n",
                           tls ? "https" : "http", host, port, path);
    } else {
        reply = mem_printf("HTTP/1.1 400 Bad Request\r\n"
                           "Content-Type: text/plain\r\n"
                           "Content-Length: %zu\r\n"
                           "Connection: close\r\n\r\n%s",
                           sizeof text - 1, text);
    }
    free(host);
    free(path);
    free(copy);
    return reply;
}
