/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_ADDRESS_H
#define ENDPOINTS_ADDRESS_H 1

/* IPv4 and IPv6 socket addresses and their text, and this host's own.  Only
 * numeric addresses: nothing here asks a name server. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket address of either family; 'sa.sa_family' is AF_UNSPEC where none
 * was given. */
union address {
    struct sockaddr sa;      /* Either. */
    struct sockaddr_in in;   /* AF_INET. */
    struct sockaddr_in6 in6; /* AF_INET6. */
};

char *address_parse(const char *, union address *);
char *address_parse_with_port(const char *, union address *);
char *address_format(const union address *);
char *address_format_host(const union address *);
char *address_find_own(const union address *to, union address *own);

bool address_is_set(const union address *);
socklen_t address_len(const union address *);
uint16_t address_port(const union address *);
void address_set_port(union address *, uint16_t port);

#endif /* endpoints/address.h */
