/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_REASSEMBLY_H
#define ENDPOINTS_REASSEMBLY_H 1

/* Reassembly of events from their segments.
 *
 * Events are known by (event number, data source).  Each is built in a buffer
 * of its own until every byte is there, or until it gets too old:
 *
 *                    first segment             last byte there
 *        (unknown) ---------------> open ------------------------+
 *            ^                       |                           |
 *            |                       | 'timeout' after the first |
 *            |                       | segment, or room needed   |
 *            |                       v                           v
 *            +------------------- closed <-----------------------+
 *              'linger' later, or
 *              room needed
 *
 * A closed event is remembered without its data, so that a late segment is
 * counted as such and does not open the event anew.
 *
 * Segments come from the network and are not trusted: the number of events,
 * the memory for their data and the ranges in each are bounded by the
 * configuration, the hash has a secret seed, and every length is checked.
 * Where room is needed the oldest event goes.
 *
 * There is no I/O and no clock here: the caller says what time it is, in
 * nanoseconds of a clock that does not go back. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reassembly;

struct reassembly_config {
    uint32_t max_open;   /* Events open at once, at least 1. */
    uint32_t max_closed; /* Closed events to remember. */
    uint32_t max_ranges; /* Separate ranges in one event, at least 1. */
    uint32_t max_event;  /* Bytes of one event. */
    uint64_t max_memory; /* Bytes of the data of all open events. */
    int64_t timeout;     /* From the first segment on, ns. */
    int64_t linger;      /* From closing on, ns. */
    uint64_t hash_seed;  /* Unknown to the senders. */
};

/* A segment as it came, not checked yet. */
struct reassembly_segment {
    uint64_t event_num; /* Event number. */
    uint16_t data_id;   /* Data source. */
    uint16_t port;      /* UDP port that it came to. */
    uint32_t offset;    /* First byte's position in the event. */
    uint32_t length;    /* Bytes of the whole event. */
    const void *data;   /* The segment, borrowed. */
    size_t size;        /* Bytes at 'data'. */
    bool foreign;       /* Is it another node's? */
};

/* What became of a segment, and the word for it. */
#define REASSEMBLY_RESULTS                                                    \
    /* Taken. */                                                              \
    REASSEMBLY_RESULT(NEW, "ok")                                              \
    REASSEMBLY_RESULT(OVERLAP, "overlap") /* Part was new. */                 \
    /* Not needed. */                                                         \
    REASSEMBLY_RESULT(DUPLICATE, "duplicate")             /* Nothing new. */  \
    REASSEMBLY_RESULT(LATE_COMPLETE, "late_complete")     /* Was complete. */ \
    REASSEMBLY_RESULT(LATE_INCOMPLETE, "late_incomplete") /* Was given up. */ \
    /* Refused. */                                                            \
    REASSEMBLY_RESULT(EMPTY, "empty")                   /* No data. */        \
    REASSEMBLY_RESULT(BEYOND_END, "beyond_end")         /* Of the event. */   \
    REASSEMBLY_RESULT(LENGTH_CHANGED, "length_changed") /* Mid event. */      \
    REASSEMBLY_RESULT(CONFLICT, "conflict")             /* Other bytes. */    \
    REASSEMBLY_RESULT(TOO_BIG, "too_big")               /* The event is. */   \
    REASSEMBLY_RESULT(TOO_MANY_RANGES, "too_many_ranges")                     \
    REASSEMBLY_RESULT(NO_MEMORY, "no_memory")

enum reassembly_result {
#define REASSEMBLY_RESULT(NAME, WORD) REASSEMBLY_##NAME,
    REASSEMBLY_RESULTS
#undef REASSEMBLY_RESULT
};

/* Why an event was closed, and the word for it. */
#define REASSEMBLY_CLOSINGS                                         \
    REASSEMBLY_CLOSING(COMPLETE, "complete")                        \
    REASSEMBLY_CLOSING(EXPIRED, "expired")       /* 'timeout'. */   \
    REASSEMBLY_CLOSING(EVICTED, "evicted")       /* Room needed. */ \
    REASSEMBLY_CLOSING(UNFINISHED, "unfinished") /* At the end. */

enum reassembly_closing {
#define REASSEMBLY_CLOSING(NAME, WORD) REASSEMBLY_CLOSED_##NAME,
    REASSEMBLY_CLOSINGS
#undef REASSEMBLY_CLOSING
};

/* An event that was just closed.  Valid during the callback only. */
struct reassembly_event {
    enum reassembly_closing closing; /* Why. */
    uint64_t event_num;              /* Event number. */
    uint16_t data_id;                /* Data source. */
    uint16_t port;                   /* UDP port of the first segment. */
    bool port_changed;               /* Did a segment come to another port? */
    bool foreign;                    /* Is it another node's? */
    uint32_t length;                 /* Bytes of the whole event. */
    uint32_t received;               /* Different bytes received. */
    uint64_t segments;               /* Segments taken. */
    int64_t opened;                  /* When the first segment came. */
    int64_t closed;                  /* Now. */
    const uint8_t *data; /* 'length' bytes if complete, else NULL. */
};

/* Called when an event is closed.  It must not call back into the same
 * reassembly. */
typedef void reassembly_close_cb(const struct reassembly_event *, void *aux);

struct reassembly_stats {
    uint32_t open;           /* Events open now. */
    uint32_t closed;         /* Closed events remembered now. */
    uint64_t memory;         /* Bytes of data of the open events. */
    uint64_t reordered;      /* Segments behind a later one's bytes. */
    uint64_t port_changes;   /* Segments on a port other than the first's. */
    uint64_t foreign_events; /* With a segment for another node. */
    uint64_t duplicated_events; /* With a segment that came twice. */
};

const char *reassembly_result_to_string(enum reassembly_result);
const char *reassembly_closing_to_string(enum reassembly_closing);

struct reassembly *reassembly_create(const struct reassembly_config *,
                                     reassembly_close_cb *, void *aux);
void reassembly_destroy(struct reassembly *);

enum reassembly_result
reassembly_add(struct reassembly *, const struct reassembly_segment *,
               int64_t now);
void reassembly_run(struct reassembly *, int64_t now);
void reassembly_flush(struct reassembly *, int64_t now);

const struct reassembly_stats *reassembly_stats(const struct reassembly *);

#endif /* endpoints/reassembly.h */
