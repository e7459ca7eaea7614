/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/addr.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
hex_value__(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char) tolower((unsigned char) c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses 's', six pairs of hexadecimal digits with colons between them, into
 * 'mac'.  Returns false if it is anything else. */
bool
mac_from_string(const char *s, struct mac *mac)
{
    if (strlen(s) != MAC_STRLEN - 1) {
        return false;
    }
    for (int i = 0; i < 6; i++, s += 3) {
        int high = hex_value__(s[0]);
        int low = hex_value__(s[1]);

        if (high < 0 || low < 0 || (i < 5 && s[2] != ':')) {
            return false;
        }
        mac->ea[i] = (uint8_t) (high << 4 | low);
    }
    return true;
}

/* Stores 'mac' in 's' in the form that mac_from_string() accepts. */
void
mac_to_string(const struct mac *mac, char s[MAC_STRLEN])
{
    snprintf(s, MAC_STRLEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac->ea[0],
             mac->ea[1], mac->ea[2], mac->ea[3], mac->ea[4], mac->ea[5]);
}

bool
mac_is_zero(const struct mac *mac)
{
    static const struct mac zero;

    return mac_equal(mac, &zero);
}

/* Returns true if 'mac' names a group of stations, broadcast included. */
bool
mac_is_multicast(const struct mac *mac)
{
    return mac->ea[0] & 1;
}

bool
mac_equal(const struct mac *a, const struct mac *b)
{
    return !mac_compare(a, b);
}

int
mac_compare(const struct mac *a, const struct mac *b)
{
    return memcmp(a->ea, b->ea, sizeof a->ea);
}

/* Parses 's', an IPv4 or IPv6 address, into 'addr'.  Returns false if it is
 * neither. */
bool
addr_from_string(const char *s, struct in6_addr *addr)
{
    struct in_addr ip4;

    if (inet_pton(AF_INET, s, &ip4) == 1) {
        memset(addr, 0, 10);
        memset(&addr->s6_addr[10], 0xff, 2);
        memcpy(&addr->s6_addr[12], &ip4, sizeof ip4);
        return true;
    }
    return inet_pton(AF_INET6, s, addr) == 1;
}

/* Stores 'addr' in 's', an IPv4 address in its dotted form. */
void
addr_to_string(const struct in6_addr *addr, char s[ADDR_STRLEN])
{
    if (addr_is_ipv4(addr)) {
        inet_ntop(AF_INET, &addr->s6_addr[12], s, ADDR_STRLEN);
    } else {
        inet_ntop(AF_INET6, addr, s, ADDR_STRLEN);
    }
}

bool
addr_is_ipv4(const struct in6_addr *addr)
{
    return IN6_IS_ADDR_V4MAPPED(addr);
}

/* Returns true if 'addr' can be the address of one host: not the unspecified
 * address, not multicast, not IPv4's reserved upper sixteenth. */
bool
addr_is_unicast(const struct in6_addr *addr)
{
    if (addr_is_ipv4(addr)) {
        uint8_t first = addr->s6_addr[12];

        return first > 0 && first != 127 && first < 224;
    }
    return !IN6_IS_ADDR_UNSPECIFIED(addr) && !IN6_IS_ADDR_LOOPBACK(addr)
           && !IN6_IS_ADDR_MULTICAST(addr);
}

/* Returns the IPv4 address in 'addr', in host byte order. */
uint32_t
addr_get_ipv4(const struct in6_addr *addr)
{
    const uint8_t *p = &addr->s6_addr[12];

    return ((uint32_t) p[0] << 24 | (uint32_t) p[1] << 16
            | (uint32_t) p[2] << 8 | p[3]);
}

bool
addr_equal(const struct in6_addr *a, const struct in6_addr *b)
{
    return !addr_compare(a, b);
}

int
addr_compare(const struct in6_addr *a, const struct in6_addr *b)
{
    return memcmp(a, b, sizeof *a);
}

/* Stores in 'group' the multicast address that those who look for IPv6 address
 * 'addr' send to (RFC 4291, section 2.7.1). */
void
addr_solicited_node(const struct in6_addr *addr, struct in6_addr *group)
{
    *group = (struct in6_addr){ { { 0xff, 0x02, [11] = 0x01, [12] = 0xff } } };
    memcpy(&group->s6_addr[13], &addr->s6_addr[13], 3);
}

/* Stores in 'mac' the Ethernet address that neighbour solicitations for the
 * IPv6 address 'addr' are sent to (RFC 4291 section 2.7.1 and RFC 2464
 * section 7). */
void
addr_solicited_node_mac(const struct in6_addr *addr, struct mac *mac)
{
    *mac = (struct mac){ { 0x33, 0x33, 0xff, addr->s6_addr[13],
                           addr->s6_addr[14], addr->s6_addr[15] } };
}

/* Clears the bits of 'block' that are not in its prefix.  Returns true if
 * there were none. */
static bool
addr_block_normalize__(struct addr_block *block)
{
    bool clean = true;

    for (int i = 0; i < 16; i++) {
        int bits = block->len - 8 * i;
        uint8_t mask = (bits >= 8  ? 0xff
                        : bits > 0 ? (uint8_t) (0xff << (8 - bits))
                                   : 0);

        clean = clean && !(block->addr.s6_addr[i] & ~mask);
        block->addr.s6_addr[i] &= mask;
    }
    return clean;
}

/* Parses the decimal number 's', at most 'max', into '*value'. */
static bool
length_from_string__(const char *s, unsigned int max, unsigned int *value)
{
    if (!*s || strlen(s) > 3 || strspn(s, "0123456789") != strlen(s)) {
        return false;
    }
    *value = (unsigned int) strtoul(s, NULL, 10);
    return *value <= max;
}

/* Parses 's', ADDRESS or ADDRESS/LENGTH, into 'block'.  Returns false if it
 * is anything else, or has a bit set outside the prefix. */
bool
addr_block_from_string(const char *s, struct addr_block *block)
{
    const char *slash = strchr(s, '/');
    size_t n = slash ? (size_t) (slash - s) : strlen(s);
    char address[ADDR_STRLEN];
    unsigned int len;

    if (n >= sizeof address) {
        return false;
    }
    memcpy(address, s, n);
    address[n] = '\0';
    if (!addr_from_string(address, &block->addr)) {
        return false;
    }

    block->len = 128;
    if (slash) {
        unsigned int offset = addr_is_ipv4(&block->addr) ? 96 : 0;

        if (!length_from_string__(slash + 1, 128 - offset, &len)) {
            return false;
        }
        block->len = (uint8_t) (len + offset);
    }
    return addr_block_normalize__(block);
}

/* Stores 'block' in 's', without a length if it is a single address. */
void
addr_block_to_string(const struct addr_block *block, char s[ADDR_STRLEN])
{
    addr_to_string(&block->addr, s);
    if (block->len < 128) {
        size_t n = strlen(s);

        snprintf(s + n, ADDR_STRLEN - n, "/%u",
                 block->len - (addr_is_ipv4(&block->addr) ? 96u : 0u));
    }
}

int
addr_block_compare(const struct addr_block *a, const struct addr_block *b)
{
    int cmp = addr_compare(&a->addr, &b->addr);

    return cmp ? cmp : a->len - b->len;
}

/* Returns true if 'addr' is in 'block'. */
bool
addr_block_contains(const struct addr_block *block,
                    const struct in6_addr *addr)
{
    unsigned int bytes = block->len / 8, rest = block->len % 8;

    return !memcmp(block->addr.s6_addr, addr->s6_addr, bytes)
           && (!rest
               || !((block->addr.s6_addr[bytes] ^ addr->s6_addr[bytes])
                    >> (8 - rest)));
}
