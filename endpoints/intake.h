/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_INTAKE_H
#define ENDPOINTS_INTAKE_H 1

/* What a compute node makes of a datagram.
 *
 *     datagram -> LB header, if kept -> RE header -> payload check
 *              -> reassembly -> event -> payload check
 *
 * Each datagram gets exactly one verdict, and each verdict has a counter, so
 * that the counters add up to the datagrams received.  Nothing here does I/O;
 * 'now' is what reassembly.h says. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoints/owned.h"
#include "endpoints/reassembly.h"
#include "endpoints/wire.h"

/* A datagram's verdict: one of its own kinds, or what became of its segment.
 *
 * In place of a header that a receiver without 'keep' does not expect,
 * 'unstripped' tells the likely reason: the balancer was to strip it. */
#define INTAKE_VERDICTS                                                 \
    INTAKE_VERDICT(LB_SHORT, "lb_short")                                \
    INTAKE_VERDICT(LB_BAD_MAGIC, "lb_bad_magic")                        \
    INTAKE_VERDICT(LB_BAD_VERSION, "lb_bad_version")                    \
    INTAKE_VERDICT(LB_BAD_PROTO, "lb_bad_proto") /* No RE follows. */   \
    INTAKE_VERDICT(UNSTRIPPED, "unstripped")     /* LB header found. */ \
    INTAKE_VERDICT(RE_SHORT, "re_short")                                \
    INTAKE_VERDICT(RE_BAD_VERSION, "re_bad_version")                    \
    INTAKE_VERDICT(CORRUPT, "corrupt") /* Wrong data. */

enum intake_verdict {
#define REASSEMBLY_RESULT(NAME, WORD) INTAKE_##NAME,
    REASSEMBLY_RESULTS
#undef REASSEMBLY_RESULT
#define INTAKE_VERDICT(NAME, WORD) INTAKE_##NAME,
        INTAKE_VERDICTS
#undef INTAKE_VERDICT
};

/* The number of verdicts. */
enum {
#define REASSEMBLY_RESULT(NAME, WORD) +1
#define INTAKE_VERDICT(NAME, WORD) +1
    INTAKE_N_VERDICTS = 0 REASSEMBLY_RESULTS INTAKE_VERDICTS
#undef REASSEMBLY_RESULT
#undef INTAKE_VERDICT
};

struct intake_config {
    struct reassembly_config reassembly; /* Limits. */
    bool keep;                           /* Is the LB header still there? */
    bool any_payload;                    /* Event data is not evlb-send's. */
    uint16_t port_base;                  /* First UDP port. */
    unsigned int port_bits;              /* 2**'port_bits' ports. */
    const struct owned *owned;           /* Own events, borrowed, or NULL. */
};

/* What is known of a datagram. */
struct intake_packet {
    enum intake_verdict verdict; /* What became of it. */
    bool has_lb;                 /* Is 'lb' valid? */
    bool has_re;                 /* Are 're' and the members below valid? */
    struct wire_lb lb;           /* Load-balancer header, with 'keep'. */
    struct wire_re re;           /* Reassembly header. */
    const uint8_t *data;         /* The segment, in the datagram. */
    size_t size;                 /* Bytes at 'data'. */
};

/* Counters of one data source. */
struct intake_source {
    uint64_t packets;    /* Datagrams with a good RE header. */
    uint64_t bytes;      /* Bytes of event data in them. */
    uint64_t complete;   /* Events. */
    uint64_t incomplete; /* Events given up. */
};

struct intake_stats {
    uint64_t packets;                     /* Datagrams. */
    uint64_t bytes;                       /* Of UDP payload. */
    uint64_t verdicts[INTAKE_N_VERDICTS]; /* Sum up to 'packets'. */
    uint64_t lb_v2;                       /* Good headers, with 'keep'. */
    uint64_t lb_v3;                       /* Good headers, with 'keep'. */
    uint64_t foreign;                     /* Of events of other nodes. */
    uint64_t wrong_port;     /* Not where their port selector says. */
    uint64_t complete;       /* Events with good data. */
    uint64_t complete_bytes; /* Bytes in them. */
    uint64_t corrupt_events; /* Complete, with wrong data. */
    uint64_t expired;        /* Events given up because of their age, */
    uint64_t evicted;        /* to make room, */
    uint64_t unfinished;     /* or at the end. */
    uint64_t missing_bytes;  /* What these lack. */
};

#define INTAKE_N_SOURCES 65536 /* Data ids. */

struct intake;

const char *intake_verdict_to_string(enum intake_verdict);

struct intake *
intake_create(const struct intake_config *, reassembly_close_cb *, void *aux);
void intake_destroy(struct intake *);

void intake_packet(struct intake *, uint16_t port, const void *, size_t,
                   int64_t now, struct intake_packet *);
void intake_run(struct intake *, int64_t now);
void intake_flush(struct intake *, int64_t now);

const struct intake_stats *intake_stats(const struct intake *);
const struct reassembly_stats *intake_reassembly_stats(const struct intake *);
const struct intake_source *
intake_source(const struct intake *, uint16_t data_id);

#endif /* endpoints/intake.h */
