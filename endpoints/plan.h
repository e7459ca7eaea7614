/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_PLAN_H
#define ENDPOINTS_PLAN_H 1

/* What a sender sends, as a sequence of segments.
 *
 *     event            tick, event number
 *      +- bundle       one for each data source: size, entropy, slot selector,
 *      |   |           destination port, socket
 *      |   +- segment  one packet: offset, size
 *      |   +- segment
 *      +- bundle ...
 *
 * All segments of an event have the same tick and slot selector, so that the
 * balancer brings them to the same node; all of a bundle also have the same
 * entropy, port and socket.  All random choices come from a hash of the seed
 * and the event, so that senders with the same seed agree and a run can be
 * repeated.  There is no I/O and no clock here. */

#include <stdbool.h>
#include <stdint.h>

#include "endpoints/options.h"
#include "endpoints/wire.h"

enum plan_select {
    PLAN_SELECT_FIXED,   /* A given value. */
    PLAN_SELECT_RANDOM,  /* From the seed. */
    PLAN_SELECT_DATA_ID, /* The data source (entropy). */
    PLAN_SELECT_TICK,    /* Low bits of the tick (slot selector). */
};

/* How a 16-bit selector gets its value. */
struct plan_selector {
    enum plan_select how; /* Rule. */
    uint16_t value;       /* For PLAN_SELECT_FIXED. */
};

struct plan_config {
    uint64_t n_events;               /* Events in all, 0 for no end. */
    struct options_range data_ids;   /* Data sources, one bundle each. */
    struct options_range event_size; /* Bytes of a bundle's data. */
    struct options_range ports;   /* UDP ports that bundles are spread over. */
    uint64_t n_sockets;           /* Sockets that bundles are spread over. */
    uint64_t tick_start;          /* Tick of the first event. */
    uint64_t tick_step;           /* From an event to the next. */
    bool tick_clock;              /* Tick is microseconds since the epoch. */
    bool own_event_nums;          /* Event numbers are not the ticks. */
    uint64_t event_start;         /* First event number, then 1 up each. */
    uint64_t lb_version;          /* 2 or 3. */
    struct plan_selector entropy; /* Port selector. */
    struct plan_selector slot;    /* Slot selector, version 3 only. */
    uint64_t seed;                /* Of all random choices. */
    uint64_t max_segment; /* Bytes of data in one packet, at least 1. */
};

struct plan_segment {
    struct wire_lb lb; /* Load-balancer header. */
    struct wire_re re; /* Reassembly header. */
    uint16_t size;     /* Bytes of data in it. */
    uint16_t port;     /* UDP destination port. */
    uint16_t socket;   /* Socket, 0 to 'n_sockets' - 1. */
    bool starts_event; /* Is it the first segment of its event? */
    bool ends_bundle;  /* Is it the last segment of its bundle? */
    bool ends_event;   /* Is it the last segment of its event? */
};

struct plan {
    struct plan_config config;  /* Constant. */
    uint64_t n_done;            /* Events finished. */
    uint64_t tick;              /* Of the latest event. */
    uint64_t data_id;           /* Of the bundle under way. */
    uint64_t offset;            /* Where its next segment starts. */
    struct plan_segment bundle; /* What its segments have in common. */
};

void plan_init(struct plan *, const struct plan_config *);
bool plan_at_event_start(const struct plan *);
bool plan_next(struct plan *, uint64_t now_us, struct plan_segment *);
uint64_t plan_coming_tick(const struct plan *, uint64_t now_us);

#endif /* endpoints/plan.h */
