/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes all that a receiver does with what comes from the network: the wire
 * codec, and the intake of datagrams with reassembly.
 *
 * An input is a byte of options and then records, each of them
 *
 *     action (1 byte), size (1 byte), datagram (size bytes)
 *
 * where the bits of 'action' say what to do before and after the datagram is
 * taken in; see below.  So that inputs get past the check of event data, bit
 * ACT_SIGN has the data made right for the header that the datagram has. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints/intake.h"
#include "endpoints/payload.h"
#include "endpoints/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* The byte of options. */
enum {
    OPT_KEEP = 1 << 0, /* Datagrams have an LB header. */
    OPT_ANY = 1 << 1,  /* Event data is anything. */
};

/* Bits of an action. */
enum {
    ACT_SIGN = 1 << 0,  /* Make the event data right. */
    ACT_TICK = 1 << 1,  /* Let time pass. */
    ACT_LONG = 1 << 2,  /* Let much time pass. */
    ACT_RUN = 1 << 3,   /* Give up old events. */
    ACT_FLUSH = 1 << 4, /* Give up all events. */
    ACT_PORT = 1 << 5,  /* Come to another port. */
};

#define MAX_OPEN 5
#define MAX_CLOSED 3
#define MAX_MEMORY 3000
#define PORT 10000

/* Keeps the compiler from leaving out what only reads. */
static volatile uint32_t sink;

struct totals {
    uint64_t closed;  /* Events closed. */
    uint64_t packets; /* Datagrams taken in. */
};

/* Ends the process, for libFuzzer to see, unless 'condition' holds. */
static void
require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void
note_closed(const struct reassembly_event *e, void *totals_)
{
    struct totals *totals = totals_;

    totals->closed++;
    require(e->received <= e->length);
    if (e->closing == REASSEMBLY_CLOSED_COMPLETE) {
        require(e->received == e->length && e->data != NULL);
        sink = payload_crc32c(e->data, e->length); /* All readable. */
    } else {
        require(e->received < e->length && !e->data);
    }
}

/* What can be unpacked is packed to the same bytes, but for those that are
 * reserved. */
static void
fuzz_wire(const uint8_t *data, size_t size)
{
    uint8_t packed[WIRE_SYNC_LEN];
    struct wire_sync sync;
    struct wire_lb lb;
    struct wire_re re;

    if (!wire_lb_unpack(&lb, data, size)) {
        require(!wire_lb_pack(&lb, packed, WIRE_LB_LEN));
        require(!memcmp(packed, data, 4));
        require(!memcmp(packed + 6, data + 6, WIRE_LB_LEN - 6));
        require(lb.version == 2 || !memcmp(packed + 4, data + 4, 2));
        require(wire_slot(lb.slot_select, lb.port_select, 9) < 512);
    }
    if (!wire_re_unpack(&re, data, size)) {
        require(!wire_re_pack(&re, packed, WIRE_RE_LEN));
        require(!memcmp(packed, data, WIRE_RE_LEN));
    }
    if (!wire_sync_unpack(&sync, data, size)) {
        require(!wire_sync_pack(&sync, packed, WIRE_SYNC_LEN));
        require(!memcmp(packed, data, 3));
        require(!memcmp(packed + 4, data + 4, WIRE_SYNC_LEN - 4));
    }
}

/* Makes the event data of the datagram at 'data' right for its header, if it
 * has one. */
static void
sign(uint8_t *data, size_t size, bool keep)
{
    size_t skip = keep ? WIRE_LB_LEN : 0;
    struct wire_re re;

    if (size < skip || wire_re_unpack(&re, data + skip, size - skip)) {
        return;
    }
    skip += WIRE_RE_LEN;
    payload_fill(payload_seed(re.data_id, re.event_num, re.length), re.offset,
                 data + skip, size - skip);
}

static void
check_intake(const struct intake *intake, const struct totals *totals)
{
    const struct reassembly_stats *reassembly =
        intake_reassembly_stats(intake);
    const struct intake_stats *stats = intake_stats(intake);
    uint64_t sum = 0;

    for (int i = 0; i < INTAKE_N_VERDICTS; i++) {
        sum += stats->verdicts[i];
    }
    require(sum == totals->packets && stats->packets == totals->packets);
    require(!stats->corrupt_events);
    require(stats->complete + stats->expired + stats->evicted
                + stats->unfinished
            == totals->closed);
    require(reassembly->open <= MAX_OPEN);
    require(reassembly->closed <= MAX_CLOSED);
    require(reassembly->memory <= MAX_MEMORY);
}

/* Takes in the datagram of 'size' bytes at 'data' as 'action' says.  Returns
 * the time after that. */
static int64_t
fuzz_datagram(struct intake *intake, struct totals *totals, uint8_t options,
              uint8_t action, const uint8_t *data, size_t size, int64_t now)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct intake_packet packet;

    require(copy != NULL);
    memcpy(copy, data, size);
    fuzz_wire(copy, size);
    if (action & ACT_SIGN) {
        sign(copy, size, options & OPT_KEEP);
    }
    now += (action & ACT_TICK ? 1 : 0) + (action & ACT_LONG ? 60 : 0);
    intake_packet(intake, action & ACT_PORT ? PORT + 1 : PORT, copy, size, now,
                  &packet);
    require(!packet.has_re || packet.data + packet.size == copy + size);
    free(copy);
    totals->packets++;
    if (action & ACT_RUN) {
        intake_run(intake, now);
    }
    if (action & ACT_FLUSH) {
        intake_flush(intake, now);
    }
    check_intake(intake, totals);
    return now;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t options = size ? data[0] : 0;
    struct intake_config config = {
        .reassembly = {
            .max_open = MAX_OPEN,
            .max_closed = MAX_CLOSED,
            .max_ranges = 4,
            .max_event = 2000,
            .max_memory = MAX_MEMORY,
            .timeout = 100,
            .linger = 200,
        },
        .keep = options & OPT_KEEP,
        .any_payload = options & OPT_ANY,
        .port_base = PORT,
        .port_bits = 1,
    };
    struct totals totals = { 0, 0 };
    struct intake *intake = intake_create(&config, note_closed, &totals);
    int64_t now = 0;

    require(intake != NULL);
    for (size_t at = 1; at + 2 <= size;) {
        uint8_t action = data[at];
        size_t n = data[at + 1];

        at += 2;
        n = n < size - at ? n : size - at;
        now =
            fuzz_datagram(intake, &totals, options, action, data + at, n, now);
        at += n;
    }
    intake_flush(intake, now);
    require(!intake_reassembly_stats(intake)->open);
    require(!intake_reassembly_stats(intake)->memory);
    intake_destroy(intake);
    return 0;
}
