/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoints/util.h"

/* Parses 's' as an IPv6 address with an optional scope ("fe80::1%eth0"). */
static bool
parse_in6(const char *s, union address *a)
{
    const struct addrinfo hints = {
        .ai_family = AF_INET6,
        .ai_socktype = SOCK_DGRAM,
        .ai_flags = AI_NUMERICHOST,
    };
    struct addrinfo *result;

    if (!strchr(s, ':') || getaddrinfo(s, NULL, &hints, &result)) {
        return false;
    }
    memcpy(&a->in6, result->ai_addr, sizeof a->in6);
    freeaddrinfo(result);
    return true;
}

static bool
parse_any(const char *s, union address *a)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, s, &a->in.sin_addr) == 1) {
        a->in.sin_family = AF_INET;
        return true;
    }
    return parse_in6(s, a);
}

/* Parses 's' into '*a', with port 0.  IPv6 addresses may stand in brackets.
 * Returns NULL or a reason, which the caller frees. */
char *
address_parse(const char *s, union address *a)
{
    size_t n = strlen(s);
    bool brackets = n >= 2 && s[0] == '[' && s[n - 1] == ']';
    char *bare = brackets ? strndup(s + 1, n - 2) : strdup(s);
    bool ok = bare && (brackets ? parse_in6(bare, a) : parse_any(bare, a));

    free(bare);
    if (!ok) {
        memset(a, 0, sizeof *a);
        return xasprintf("'%s' is not an IPv4 or IPv6 address", s);
    }
    return NULL;
}

/* Parses 's', "ADDRESS:PORT" with IPv6 addresses in brackets, into '*a'.
 * Returns NULL or a reason, which the caller frees. */
char *
address_parse_with_port(const char *s, union address *a)
{
    const char *colon = strrchr(s, ':');
    unsigned long int port = 0;
    char *host, *reason, *end;

    if (colon && colon[1] >= '0' && colon[1] <= '9') {
        port = strtoul(colon + 1, &end, 10);
        port = *end ? 0 : port;
    }
    if (!port || port > UINT16_MAX) {
        return xasprintf("'%s' is not ADDRESS:PORT with a port from 1 to "
                         "65535",
                         s);
    }
    if (memchr(s, ':', colon - s) && (s[0] != '[' || colon[-1] != ']')) {
        return xasprintf("'%s': an IPv6 address before a port stands in "
                         "brackets",
                         s);
    }

    host = strndup(s, colon - s);
    reason = address_parse(host ? host : "", a);
    free(host);
    if (!reason) {
        address_set_port(a, port);
    }
    return reason;
}

/* Returns the text of 'a' with its port, which the caller frees. */
char *
address_format(const union address *a)
{
    char host[NI_MAXHOST];

    if (!address_is_set(a)
        || getnameinfo(&a->sa, address_len(a), host, sizeof host, NULL, 0,
                       NI_NUMERICHOST)) {
        return xasprintf("(none)");
    }
    return xasprintf(a->sa.sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
                     (unsigned int) address_port(a));
}

/* Returns the text of 'a' without port, scope and brackets, which the caller
 * frees. */
char *
address_format_host(const union address *a)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (a->sa.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof host);
    } else {
        inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof host);
    }
    return xasprintf("%s", host);
}

/* Finds the address that this host sends to 'to' from, by its routes, and
 * stores it, with port 0, in '*own'.  Returns NULL or an error, which the
 * caller frees. */
char *
address_find_own(const union address *to, union address *own)
{
    int fd = socket(to->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof *own;
    char *text, *error = NULL;

    memset(own, 0, sizeof *own);
    if (fd < 0 || connect(fd, &to->sa, address_len(to))
        || getsockname(fd, &own->sa, &len)) {
        text = address_format(to);
        error = xasprintf("no route to %s: %s", text, strerror(errno));
        free(text);
        memset(own, 0, sizeof *own);
    } else {
        address_set_port(own, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

bool
address_is_set(const union address *a)
{
    return a->sa.sa_family != AF_UNSPEC;
}

socklen_t
address_len(const union address *a)
{
    return a->sa.sa_family == AF_INET6 ? sizeof a->in6 : sizeof a->in;
}

uint16_t
address_port(const union address *a)
{
    return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port
                                             : a->in.sin_port);
}

void
address_set_port(union address *a, uint16_t port)
{
    if (a->sa.sa_family == AF_INET6) {
        a->in6.sin6_port = htons(port);
    } else {
        a->in.sin_port = htons(port);
    }
}
