/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ADDR_H
#define EVLB_ADDR_H 1

/* Ethernet and IP addresses.
 *
 * An IPv4 address is kept as an IPv4-mapped IPv6 address, so that one type
 * holds both families. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct mac {
    uint8_t ea[6];
};

/* Room for "xx:xx:xx:xx:xx:xx" and its null. */
#define MAC_STRLEN 18

/* The addresses that share the 'len' most significant bits of 'addr'. */
struct addr_block {
    struct in6_addr addr;
    uint8_t len; /* 0...128; of IPv4, the length plus 96. */
};

/* Room for an address, a slash, a length and a null. */
#define ADDR_STRLEN (INET6_ADDRSTRLEN + 4)

bool mac_from_string(const char *, struct mac *);
void mac_to_string(const struct mac *, char s[MAC_STRLEN]);
bool mac_is_multicast(const struct mac *);
bool mac_is_zero(const struct mac *);
bool mac_equal(const struct mac *, const struct mac *);
int mac_compare(const struct mac *, const struct mac *);

bool addr_from_string(const char *, struct in6_addr *);
void addr_to_string(const struct in6_addr *, char s[ADDR_STRLEN]);
bool addr_is_ipv4(const struct in6_addr *);
bool addr_is_unicast(const struct in6_addr *);
uint32_t addr_get_ipv4(const struct in6_addr *);
bool addr_equal(const struct in6_addr *, const struct in6_addr *);
int addr_compare(const struct in6_addr *, const struct in6_addr *);
void addr_solicited_node(const struct in6_addr *, struct in6_addr *);
void addr_solicited_node_mac(const struct in6_addr *, struct mac *);

bool addr_block_from_string(const char *, struct addr_block *);
void addr_block_to_string(const struct addr_block *, char s[ADDR_STRLEN]);
bool addr_block_contains(const struct addr_block *, const struct in6_addr *);
int addr_block_compare(const struct addr_block *, const struct addr_block *);

#endif /* addr.h */
