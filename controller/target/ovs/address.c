/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include <event2/util.h>

#include "controller/core/mem.h"

static char *
parse_unix__(const char *path, struct listen_address *address)
{
    struct sockaddr_un *sun = (struct sockaddr_un *) &address->sa;

    if (*path != '/') {
        return mem_printf("\"%s\" is no absolute path", path);
    }
    if (strlen(path) >= sizeof sun->sun_path) {
        return mem_printf("\"%s\" is longer than the %zu bytes that a "
                          "socket's path may have",
                          path, sizeof sun->sun_path - 1);
    }
    sun->sun_family = AF_UNIX;
    snprintf(sun->sun_path, sizeof sun->sun_path, "%s", path);
    address->len = sizeof *sun;
    return NULL;
}

static char *
parse_tcp__(const char *s, uint16_t port, struct listen_address *address)
{
    struct sockaddr_in *sin = (struct sockaddr_in *) &address->sa;
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *) &address->sa;
    int len = sizeof address->sa;

    if (evutil_parse_sockaddr_port(s, (struct sockaddr *) sin, &len)) {
        return mem_printf("\"%s\" is not ADDRESS[:PORT] with a numeric "
                          "address",
                          s);
    }
    if (sin->sin_family == AF_INET6) {
        sin6->sin6_port = sin6->sin6_port ? sin6->sin6_port : htons(port);
    } else {
        sin->sin_port = sin->sin_port ? sin->sin_port : htons(port);
    }
    address->len = (socklen_t) len;
    return NULL;
}

/* Parses 's' into 'address', which is OpenFlow's if it does not name a port.
 * Returns NULL if successful, or an error, which the caller must free. */
char *
listen_address_parse(const char *s, struct listen_address *address)
{
    return listen_address_parse_at(s, OFP_TCP_PORT, address);
}

/* Parses 's' into 'address', at 'port' if it does not name one.  Returns NULL
 * if successful, or an error, which the caller must free. */
char *
listen_address_parse_at(const char *s, uint16_t port,
                        struct listen_address *address)
{
    memset(address, 0, sizeof *address);
    if (!strncmp(s, "tcp:", 4)) {
        return parse_tcp__(s + 4, port, address);
    } else if (!strncmp(s, "ssl:", 4)) {
        address->tls = true;
        return parse_tcp__(s + 4, port, address);
    } else if (!strncmp(s, "unix:", 5)) {
        return parse_unix__(s + 5, address);
    } else {
        return mem_printf("\"%s\" is neither tcp:ADDRESS[:PORT] nor "
                          "ssl:ADDRESS[:PORT] nor unix:PATH",
                          s);
    }
}

/* Returns true if only this host can connect to 'address'. */
bool
listen_address_is_local(const struct listen_address *address)
{
    const struct sockaddr_in *sin = (const struct sockaddr_in *) &address->sa;
    const struct sockaddr_in6 *sin6 =
        (const struct sockaddr_in6 *) &address->sa;

    switch (address->sa.ss_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return ntohl(sin->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(&sin6->sin6_addr);
    default:
        return false;
    }
}

/* Returns 'address', of TCP, as text with its port, which the caller must
 * free. */
char *
listen_address_to_string(const struct listen_address *address)
{
    const struct sockaddr_in *sin = (const struct sockaddr_in *) &address->sa;
    const struct sockaddr_in6 *sin6 =
        (const struct sockaddr_in6 *) &address->sa;
    const char *scheme = address->tls ? "ssl" : "tcp";
    char s[INET6_ADDRSTRLEN];

    if (address->sa.ss_family == AF_INET) {
        inet_ntop(AF_INET, &sin->sin_addr, s, sizeof s);
        return mem_printf("%s:%s:%u", scheme, s, ntohs(sin->sin_port));
    }
    inet_ntop(AF_INET6, &sin6->sin6_addr, s, sizeof s);
    return mem_printf("%s:[%s]:%u", scheme, s, ntohs(sin6->sin6_port));
}

/* Returns the port of 'address', 0 for a Unix socket. */
uint16_t
listen_address_get_port(const struct listen_address *address)
{
    const struct sockaddr_in *sin = (const struct sockaddr_in *) &address->sa;
    const struct sockaddr_in6 *sin6 =
        (const struct sockaddr_in6 *) &address->sa;

    switch (address->sa.ss_family) {
    case AF_INET:
        return ntohs(sin->sin_port);
    case AF_INET6:
        return ntohs(sin6->sin6_port);
    default:
        return 0;
    }
}
