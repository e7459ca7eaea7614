/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_SYNC_ADDRESS_H
#define EVLB_SYNC_ADDRESS_H 1

/* Addresses that Sync datagrams come to, as the configuration writes them:
 *
 *     udp:ADDRESS:PORT
 *
 * with an IPv6 address in brackets. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct sync_address {
    struct sockaddr_storage sa;
    socklen_t len;
};

char *sync_address_parse(const char *, struct sync_address *);
bool sync_address_is_any(const struct sync_address *);
void sync_address_get_ip(const struct sockaddr_storage *, struct in6_addr *);
uint16_t sync_address_get_port(const struct sockaddr_storage *);

#endif /* sync-address.h */
