/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/sync-address.h"

#include <string.h>

#include <event2/util.h>

#include "controller/core/mem.h"

/* Parses 's' into 'address'.  Returns NULL if successful, or an error, which
 * the caller must free. */
char *
sync_address_parse(const char *s, struct sync_address *address)
{
    struct sockaddr_in *sin = (struct sockaddr_in *) &address->sa;
    int len = sizeof address->sa;

    memset(address, 0, sizeof *address);
    if (strncmp(s, "udp:", 4)
        || evutil_parse_sockaddr_port(s + 4, (struct sockaddr *) sin, &len)
        || !sin->sin_port) {
        return mem_printf("\"%s\" is not udp:ADDRESS:PORT with a numeric "
                          "address",
                          s);
    }
    address->len = (socklen_t) len;
    return NULL;
}

/* Returns true if 'address' stands for all addresses of this host. */
bool
sync_address_is_any(const struct sync_address *address)
{
    const struct sockaddr_in *sin = (const struct sockaddr_in *) &address->sa;
    const struct sockaddr_in6 *sin6 =
        (const struct sockaddr_in6 *) &address->sa;

    if (address->sa.ss_family == AF_INET) {
        return sin->sin_addr.s_addr == htonl(INADDR_ANY);
    }
    return IN6_IS_ADDR_UNSPECIFIED(&sin6->sin6_addr)
           || (IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr)
               && !sin6->sin6_addr.s6_addr32[3]);
}

/* Stores in 'ip' the address of 'sa', in the form of controller/core/addr.h. */
void
sync_address_get_ip(const struct sockaddr_storage *sa, struct in6_addr *ip)
{
    const struct sockaddr_in *sin = (const struct sockaddr_in *) sa;

    if (sa->ss_family == AF_INET) {
        memset(ip, 0, sizeof *ip);
        ip->s6_addr[10] = ip->s6_addr[11] = 0xff;
        memcpy(&ip->s6_addr[12], &sin->sin_addr, 4);
    } else {
        *ip = ((const struct sockaddr_in6 *) sa)->sin6_addr;
    }
}

/* Returns the port of 'sa'. */
uint16_t
sync_address_get_port(const struct sockaddr_storage *sa)
{
    return ntohs(sa->ss_family == AF_INET
                     ? ((const struct sockaddr_in *) sa)->sin_port
                     : ((const struct sockaddr_in6 *) sa)->sin6_port);
}
