/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_ADDRESS_H
#define EVLB_OVS_ADDRESS_H 1

/* Where OpenFlow is listened for: "tcp:ADDRESS[:PORT]", "ssl:ADDRESS[:PORT]",
 * or "unix:PATH".  An IPv6 address stands in brackets. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define OFP_TCP_PORT 6653 /* Assigned by IANA. */

struct listen_address {
    struct sockaddr_storage sa;
    socklen_t len;
    bool tls;
};

char *listen_address_parse(const char *, struct listen_address *);
char *
listen_address_parse_at(const char *, uint16_t port, struct listen_address *);
char *listen_address_to_string(const struct listen_address *);
uint16_t listen_address_get_port(const struct listen_address *);
bool listen_address_is_local(const struct listen_address *);

#endif /* address.h */
