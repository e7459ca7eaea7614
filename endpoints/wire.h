/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_WIRE_H
#define ENDPOINTS_WIRE_H 1

/* Wire formats of event traffic.
 *
 * A datagram from a data source starts with the load-balancer (LB) header,
 * which the balancer reads and strips, and goes on with the reassembly (RE)
 * header, which only the receiver reads.  Sync datagrams tell the control
 * plane how far a source has come; they never cross the data plane.
 *
 *     | UDP | LB, 16 bytes | RE, 20 bytes | segment of an event ... |
 *     | UDP | Sync, 28 bytes |
 *
 * This is a codec and nothing else: it does no I/O, keeps no state, allocates
 * nothing and owns nothing.  Structures hold values in host byte order; on the
 * wire every field is big-endian.  docs/wire.md shows the formats byte by
 * byte. */

#include <stddef.h>
#include <stdint.h>

#define WIRE_LB_LEN 16   /* Bytes of an LB header. */
#define WIRE_RE_LEN 20   /* Bytes of an RE header. */
#define WIRE_SYNC_LEN 28 /* Bytes of a Sync datagram. */

#define WIRE_LB_PORT 19522 /* Canonical UDP port of the data plane. */
#define WIRE_LB_PROTO_RE 1 /* An RE header follows the LB header. */
#define WIRE_MAX_BITS 16   /* Slot and port selectors have 16 bits. */

/* What packing or unpacking a header can end with, and the word for it. */
#define WIRE_ERRORS                                                    \
    WIRE_ERROR(OK, "ok")                                               \
    WIRE_ERROR(SHORT, "short")             /* Too few bytes. */        \
    WIRE_ERROR(BAD_LENGTH, "bad_length")   /* Sync of another size. */ \
    WIRE_ERROR(BAD_MAGIC, "bad_magic")     /* First two bytes. */      \
    WIRE_ERROR(BAD_VERSION, "bad_version") /* Version not known. */

enum wire_error {
#define WIRE_ERROR(NAME, WORD) WIRE_##NAME,
    WIRE_ERRORS
#undef WIRE_ERROR
};

/* Load-balancer header. */
struct wire_lb {
    uint8_t version;      /* 2 or 3. */
    uint8_t proto;        /* Next header, WIRE_LB_PROTO_RE for RE. */
    uint16_t slot_select; /* Version 2: low 16 bits of 'tick'. */
    uint16_t port_select; /* "Entropy": which port of the member. */
    uint64_t tick;        /* Decides the epoch. */
};

/* Reassembly header. */
struct wire_re {
    uint16_t data_id;   /* Data source. */
    uint32_t offset;    /* Of this segment in the event, bytes. */
    uint32_t length;    /* Of the whole event, bytes. */
    uint64_t event_num; /* The user's number; need not be the tick. */
};

/* Sync datagram. */
struct wire_sync {
    uint32_t source_id; /* Event source. */
    uint64_t tick;      /* The sender's current tick. */
    uint32_t rate_hz;   /* Ticks per second, 0 if unknown. */
    uint64_t unix_ns;   /* The sender's clock. */
};

const char *wire_error_to_string(enum wire_error);

enum wire_error wire_lb_pack(const struct wire_lb *, void *, size_t);
enum wire_error wire_lb_unpack(struct wire_lb *, const void *, size_t);

enum wire_error wire_re_pack(const struct wire_re *, void *, size_t);
enum wire_error wire_re_unpack(struct wire_re *, const void *, size_t);

enum wire_error wire_sync_pack(const struct wire_sync *, void *, size_t);
enum wire_error wire_sync_unpack(struct wire_sync *, const void *, size_t);

uint16_t wire_slot(uint16_t selector, uint16_t xor, unsigned int bits);
uint16_t wire_member_port(uint16_t base, uint16_t selector, unsigned int bits);

#endif /* endpoints/wire.h */
