/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_SNAPSHOT_DECODE_H
#define EVLB_OVS_SNAPSHOT_DECODE_H 1

/* Within the snapshot: replies from the wire. */

struct ofp_header;
struct snapshot;

char *snapshot_decode__(struct snapshot *, const struct ofp_header *);

#endif /* snapshot-decode.h */
