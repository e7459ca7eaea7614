/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_LB_FRAME_H
#define TESTS_LB_FRAME_H 1

/* Event packets for the tests of the data plane.
 *
 * 'struct lb_frame' says what a frame is made of; lb_frame_build() writes its
 * bytes, with checksums that it sums up from scratch, byte by byte.  It shares
 * no code with the data plane, so that what a rewrite must give is the frame
 * that lb_frame_build() makes of the rewritten description. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dp_packet;

#define LB_FRAME_MAX 9300 /* Room for a jumbo frame with each header. */
#define LB_FRAME_LB_LEN 16

enum lb_frame_csum {
    LB_CSUM_RIGHT,
    LB_CSUM_NONE,    /* 0: the sender computed none. */
    LB_CSUM_WRONG,   /* Off by 'csum_error' in one's complement. */
    LB_CSUM_PARTIAL, /* The pseudo header's sum, the rest left to a device. */
};

/* IPv6 extension headers, as their protocol numbers. */
#define LB_EXT_HOP 0
#define LB_EXT_ROUTING 43
#define LB_EXT_FRAGMENT 44
#define LB_EXT_AH 51
#define LB_EXT_DST 60
#define LB_EXT_MAX 4

struct lb_frame {
    /* Ethernet. */
    uint8_t eth_src[6];
    uint8_t eth_dst[6];
    unsigned int n_vlans; /* 0 to 2. */
    unsigned int padding; /* Bytes behind the IP packet. */

    /* IP. */
    bool ipv6;
    uint8_t ip_src[16]; /* IPv4: the first 4 bytes. */
    uint8_t ip_dst[16];
    uint8_t ttl;
    uint8_t tos;
    uint8_t proto;
    uint16_t frag;               /* IPv4: flags and offset as on the wire. */
    unsigned int options;        /* IPv4: bytes of options, 4 * (0 to 10). */
    uint8_t ext[LB_EXT_MAX];     /* IPv6: extension headers, in order. */
    uint8_t ext_len[LB_EXT_MAX]; /* IPv6: their length fields. */
    unsigned int n_ext;
    uint16_t ip_csum_error; /* Added to IPv4's checksum. */

    /* UDP. */
    uint16_t udp_src;
    uint16_t udp_dst;
    enum lb_frame_csum csum;
    uint16_t csum_error;
    unsigned int trailer; /* Bytes between UDP's end and IP's. */

    /* Load-balancer header, and what follows it. */
    bool no_header; /* The payload follows the UDP header. */
    uint16_t magic;
    uint8_t version;
    uint8_t next;
    uint16_t slot_select;
    uint16_t port_select;
    uint64_t tick;
    unsigned int payload; /* Bytes of it. */
    uint8_t fill;         /* Decides on their values. */
    uint16_t tweak;       /* Added to the first two of them. */

    /* Out: the frame, and where its headers begin. */
    uint8_t bytes[LB_FRAME_MAX];
    size_t size;
    size_t l3;
    size_t l4;
    size_t lb;
};

void lb_frame_init(struct lb_frame *, bool ipv6);
void lb_frame_randomize(struct lb_frame *, uint64_t *seed);
void lb_frame_build(struct lb_frame *);

uint16_t lb_frame_get16(const uint8_t *);
void lb_frame_put16(uint8_t *, uint16_t);

uint16_t lb_frame_pseudo_sum(const struct lb_frame *, uint16_t udp_len);
uint16_t lb_frame_udp_sum(const struct lb_frame *, const uint8_t *udp,
                          uint16_t udp_len);
uint16_t lb_frame_add(uint16_t a, uint16_t b);

struct dp_packet *lb_frame_packet(const void *, size_t size, size_t headroom);

#endif /* lb-frame.h */
