/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/wire.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

/* Where each field stands in its header. */
enum {
    LB_MAGIC = 0,
    LB_VERSION = 2,
    LB_PROTO = 3,
    LB_SLOT_SELECT = 4, /* Reserved in version 2. */
    LB_PORT_SELECT = 6,
    LB_TICK = 8,

    RE_VERSION = 0, /* Version in the high nibble. */
    RE_RESERVED = 1,
    RE_DATA_ID = 2,
    RE_OFFSET = 4,
    RE_LENGTH = 8,
    RE_EVENT_NUM = 12,

    SYNC_MAGIC = 0,
    SYNC_VERSION = 2,
    SYNC_RESERVED = 3,
    SYNC_SOURCE_ID = 4,
    SYNC_TICK = 8,
    SYNC_RATE = 16,
    SYNC_UNIX_NS = 20,
};

static_assert(LB_TICK + sizeof(uint64_t) == WIRE_LB_LEN, "LB header");
static_assert(RE_EVENT_NUM + sizeof(uint64_t) == WIRE_RE_LEN, "RE header");
static_assert(SYNC_UNIX_NS + sizeof(uint64_t) == WIRE_SYNC_LEN, "Sync");

#define LB_MAGIC_VALUE 0x4c42   /* "LB" */
#define SYNC_MAGIC_VALUE 0x4c43 /* "LC" */
#define SYNC_VERSION_VALUE 2
#define RE_FIRST_BYTES 0x1000 /* Version 1, both reserved parts 0. */

static uint16_t
get_16(const uint8_t *p)
{
    uint16_t x;

    memcpy(&x, p, sizeof x);
    return be16toh(x);
}

static uint32_t
get_32(const uint8_t *p)
{
    uint32_t x;

    memcpy(&x, p, sizeof x);
    return be32toh(x);
}

static uint64_t
get_64(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return be64toh(x);
}

static void
put_16(uint8_t *p, uint16_t value)
{
    uint16_t x = htobe16(value);

    memcpy(p, &x, sizeof x);
}

static void
put_32(uint8_t *p, uint32_t value)
{
    uint32_t x = htobe32(value);

    memcpy(p, &x, sizeof x);
}

static void
put_64(uint8_t *p, uint64_t value)
{
    uint64_t x = htobe64(value);

    memcpy(p, &x, sizeof x);
}

/* Returns the word for 'error', for messages and names of counters. */
const char *
wire_error_to_string(enum wire_error error)
{
    switch (error) {
#define WIRE_ERROR(NAME, WORD) \
    case WIRE_##NAME:          \
        return WORD;
        WIRE_ERRORS
#undef WIRE_ERROR
    }
    return "unknown";
}

/* Writes 'lb' into the 'size' bytes at 'data'.  A version 2 header has no slot
 * selector of its own: 'lb->slot_select' is not looked at then.
 *
 * Errors: WIRE_SHORT if 'size' < WIRE_LB_LEN, WIRE_BAD_VERSION. */
enum wire_error
wire_lb_pack(const struct wire_lb *lb, void *data, size_t size)
{
    uint8_t *p = data;

    if (size < WIRE_LB_LEN) {
        return WIRE_SHORT;
    } else if (lb->version != 2 && lb->version != 3) {
        return WIRE_BAD_VERSION;
    }

    put_16(p + LB_MAGIC, LB_MAGIC_VALUE);
    p[LB_VERSION] = lb->version;
    p[LB_PROTO] = lb->proto;
    put_16(p + LB_SLOT_SELECT, lb->version == 3 ? lb->slot_select : 0);
    put_16(p + LB_PORT_SELECT, lb->port_select);
    put_64(p + LB_TICK, lb->tick);
    return WIRE_OK;
}

/* Reads an LB header from the first of the 'size' bytes at 'data'.  Both
 * versions come out alike: for version 2 'lb->slot_select' is the low half
 * word of the tick.  The reserved field of version 2 is not looked at.  '*lb'
 * is written only on success.
 *
 * Errors: WIRE_SHORT, WIRE_BAD_MAGIC, WIRE_BAD_VERSION, the first that
 * applies in this order. */
enum wire_error
wire_lb_unpack(struct wire_lb *lb, const void *data, size_t size)
{
    const uint8_t *p = data;

    if (size < WIRE_LB_LEN) {
        return WIRE_SHORT;
    } else if (get_16(p + LB_MAGIC) != LB_MAGIC_VALUE) {
        return WIRE_BAD_MAGIC;
    } else if (p[LB_VERSION] != 2 && p[LB_VERSION] != 3) {
        return WIRE_BAD_VERSION;
    }

    lb->version = p[LB_VERSION];
    lb->proto = p[LB_PROTO];
    lb->port_select = get_16(p + LB_PORT_SELECT);
    lb->tick = get_64(p + LB_TICK);
    lb->slot_select = (lb->version == 3 ? get_16(p + LB_SLOT_SELECT)
                                        : lb->tick & UINT16_MAX);
    return WIRE_OK;
}

/* Writes 're' into the 'size' bytes at 'data'.
 *
 * Errors: WIRE_SHORT if 'size' < WIRE_RE_LEN. */
enum wire_error
wire_re_pack(const struct wire_re *re, void *data, size_t size)
{
    uint8_t *p = data;

    if (size < WIRE_RE_LEN) {
        return WIRE_SHORT;
    }

    put_16(p + RE_VERSION, RE_FIRST_BYTES);
    put_16(p + RE_DATA_ID, re->data_id);
    put_32(p + RE_OFFSET, re->offset);
    put_32(p + RE_LENGTH, re->length);
    put_64(p + RE_EVENT_NUM, re->event_num);
    return WIRE_OK;
}

/* Reads an RE header from the first of the 'size' bytes at 'data'.  Whether
 * the segment behind it fits the event that it names is for the caller to
 * check.  '*re' is written only on success.
 *
 * Errors: WIRE_SHORT; WIRE_BAD_VERSION if the first two bytes are not
 * version 1 with its reserved parts zero. */
enum wire_error
wire_re_unpack(struct wire_re *re, const void *data, size_t size)
{
    const uint8_t *p = data;

    if (size < WIRE_RE_LEN) {
        return WIRE_SHORT;
    } else if (get_16(p + RE_VERSION) != RE_FIRST_BYTES) {
        return WIRE_BAD_VERSION;
    }

    re->data_id = get_16(p + RE_DATA_ID);
    re->offset = get_32(p + RE_OFFSET);
    re->length = get_32(p + RE_LENGTH);
    re->event_num = get_64(p + RE_EVENT_NUM);
    return WIRE_OK;
}

/* Writes 'sync' into the 'size' bytes at 'data'.
 *
 * Errors: WIRE_SHORT if 'size' < WIRE_SYNC_LEN. */
enum wire_error
wire_sync_pack(const struct wire_sync *sync, void *data, size_t size)
{
    uint8_t *p = data;

    if (size < WIRE_SYNC_LEN) {
        return WIRE_SHORT;
    }

    put_16(p + SYNC_MAGIC, SYNC_MAGIC_VALUE);
    p[SYNC_VERSION] = SYNC_VERSION_VALUE;
    p[SYNC_RESERVED] = 0;
    put_32(p + SYNC_SOURCE_ID, sync->source_id);
    put_64(p + SYNC_TICK, sync->tick);
    put_32(p + SYNC_RATE, sync->rate_hz);
    put_64(p + SYNC_UNIX_NS, sync->unix_ns);
    return WIRE_OK;
}

/* Reads the Sync datagram of 'size' bytes at 'data'; a Sync header is the
 * whole datagram.  '*sync' is written only on success.
 *
 * Errors: WIRE_SHORT or WIRE_BAD_LENGTH if 'size' is less or more than
 * WIRE_SYNC_LEN, WIRE_BAD_MAGIC, WIRE_BAD_VERSION. */
enum wire_error
wire_sync_unpack(struct wire_sync *sync, const void *data, size_t size)
{
    const uint8_t *p = data;

    if (size != WIRE_SYNC_LEN) {
        return size < WIRE_SYNC_LEN ? WIRE_SHORT : WIRE_BAD_LENGTH;
    } else if (get_16(p + SYNC_MAGIC) != SYNC_MAGIC_VALUE) {
        return WIRE_BAD_MAGIC;
    } else if (p[SYNC_VERSION] != SYNC_VERSION_VALUE) {
        return WIRE_BAD_VERSION;
    }

    sync->source_id = get_32(p + SYNC_SOURCE_ID);
    sync->tick = get_64(p + SYNC_TICK);
    sync->rate_hz = get_32(p + SYNC_RATE);
    sync->unix_ns = get_64(p + SYNC_UNIX_NS);
    return WIRE_OK;
}

/* Returns a mask of the low 'bits' bits, of WIRE_MAX_BITS at most. */
static uint16_t
low_bits(unsigned int bits)
{
    return bits < WIRE_MAX_BITS ? (1u << bits) - 1 : UINT16_MAX;
}

/* Returns the calendar slot that slot selector 'selector' falls on in an epoch
 * with 'xor' and 2**'bits' slots, 'bits' 0 to WIRE_MAX_BITS. */
uint16_t
wire_slot(uint16_t selector, uint16_t xor, unsigned int bits)
{
    return (selector ^ xor) & low_bits(bits);
}

/* Returns the UDP port that port selector 'selector' falls on at a member that
 * listens on 2**'bits' ports from 'base' on, modulo 2**16. */
uint16_t
wire_member_port(uint16_t base, uint16_t selector, unsigned int bits)
{
    return base + (selector & low_bits(bits));
}
