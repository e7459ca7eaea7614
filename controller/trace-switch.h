/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_TRACE_SWITCH_H
#define EVLB_TRACE_SWITCH_H 1

/* What a switch says about a packet, as "ovs-appctl ofproto/trace" tells it,
 * to be shown beside what evlbd wants.  For evlbctl, which runs where the
 * switch does; it may wait. */

#include <stdint.h>

struct switch_trace {
    char *text;      /* All that the switch said; NULL if 'error' is not. */
    char *error;     /* Why it could not be asked, or NULL. */
    uint32_t group;  /* The last one that the packet met, or 0. */
    int slot;        /* -1 for none. */
    int member;      /* -1 for none. */
    char egress[16]; /* As in struct trace_result. */
};

void switch_trace_run(const char *bridge, uint32_t in_port,
                      const char *packet_hex, struct switch_trace *);
void switch_trace_parse(char *text, struct switch_trace *);
void switch_trace_uninit(struct switch_trace *);

/* What evlbd wants, in the same terms. */
struct switch_trace_expected {
    uint32_t group; /* 0 for none. */
    int slot;       /* -1 for none. */
    int member;     /* -1 for none. */
    const char *egress;
};

char *switch_trace_compare(const struct switch_trace *,
                           const struct switch_trace_expected *);

#endif /* trace-switch.h */
