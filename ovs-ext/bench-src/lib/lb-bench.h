/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LB_BENCH_H
#define LB_BENCH_H 1

/* Ticks that advance, for measurements only.
 *
 * A capture that is replayed brings the same ticks again and again.  This
 * writes a tick of its own into each event packet that a DPDK port receives,
 * before the switch looks at it.  Which one, "ovs-appctl lb-bench/ticks" says:
 *
 *     off                             leave packets alone (as it starts)
 *     count START STEP EVERY PERIOD   each EVERY packets the tick grows by
 *                                     STEP, from START; after PERIOD ticks it
 *                                     is START again, never if PERIOD is 0
 *     clock                           microseconds since 1970, as data
 *                                     acquisition systems count
 *
 * Other packets pass as they are, and checksums are not adapted.
 *
 * This is in the build variant "bench" and in no other.  It costs a few cycles
 * a packet, so that only figures of one build may be compared.  The counter is
 * one for the whole switch and is meant for a single receiving thread. */

struct dp_packet_batch;

void lb_bench_init(void);
void lb_bench_stamp(struct dp_packet_batch *);

#endif /* lb-bench.h */
