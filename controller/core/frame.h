/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FRAME_H
#define EVLB_FRAME_H 1

/* Frames of ARP (RFC 826) and neighbour discovery (RFC 4861): the questions and
 * answers of the controller, and what it reads of others'.
 *
 * What is read comes from the network: it is checked as RFC 4861 asks for,
 * lengths first. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/addr.h"

/* Room for any frame that is written here. */
#define FRAME_MAX 128

enum frame_type {
    FRAME_OTHER,
    FRAME_ANSWER,  /* ARP reply, neighbour advertisement. */
    FRAME_QUESTION /* Neighbour solicitation. */
};

struct frame {
    enum frame_type type;
    uint16_t vlan;       /* VLAN id, 0 if untagged. */
    struct mac eth_src;  /* Of the Ethernet header. */
    struct in6_addr src; /* Who says it; FRAME_QUESTION only, perhaps ::. */
    struct in6_addr ip;  /* Whom it is about. */
    struct mac mac;      /* Of 'ip', or, in a question, of 'src'. */
};

/* Who asks or answers. */
struct frame_sender {
    uint16_t vlan;
    struct mac mac;
    struct in6_addr ip;
};

void frame_decode(const uint8_t *data, size_t size, struct frame *);
size_t
frame_encode_question(uint8_t data[FRAME_MAX], const struct frame_sender *,
                      const struct in6_addr *target,
                      const struct mac *unicast);
size_t frame_encode_advertisement(uint8_t data[FRAME_MAX],
                                  const struct frame_sender *,
                                  const struct frame *question);

#endif /* frame.h */
