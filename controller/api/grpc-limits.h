/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_LIMITS_H
#define EVLB_GRPC_LIMITS_H 1

/* How much a peer may ask of a gRPC server: what there is no setting for, as
 * numbers; grpc-peer.h has the settings.
 *
 * What goes beyond a limit of one call ends the call with
 * RESOURCE_EXHAUSTED; what goes beyond a limit of the connection ends the
 * connection.  Times are in milliseconds, sizes in bytes. */

/* One connection. */
#define GRPC_STREAMS_MAX 100    /* Calls at a time. */
#define GRPC_UNFINISHED_MAX 200 /* Those that the peer gave up included. */
#define GRPC_REQUESTS_MAX \
    4                             /* All requests that are not whole yet, in
                                   * longest messages. */
#define GRPC_REPLIES_MAX 33554432 /* All replies that are not sent yet. */
#define GRPC_PREFACE_MS 10000     /* Until it speaks HTTP/2. */
#define GRPC_LINGER_MS 10000      /* After the peer has closed its side. */

/* One call. */
#define GRPC_HEADER_LIST_MAX 8192 /* Names, values, and 32 for each. */
#define GRPC_REQUEST_MS 30000     /* Until its request is whole. */
#define GRPC_REPLY_MS 60000       /* Until its reply is read. */

/* Frames that cost us and carry nothing, by kind, within a window of time.
 *
 *         KIND      number  what they are */
#define GRPC_RATE_WINDOW_MS 10000
#define GRPC_RATES                                 \
    GRPC_RATE(RESETS, 400, "resets of streams")    \
    GRPC_RATE(SETTINGS, 20, "changes of settings") \
    GRPC_RATE(PINGS, 2000, "pings")                \
    GRPC_RATE(EMPTY, 1000, "empty frames")

/* A server. */
#define GRPC_OUTPUT_MAX 262144 /* Put into a connection's socket at a time. */
#define GRPC_WRITE_MS 60000    /* Until the peer takes any of it. */
#define GRPC_PROBE_S 60        /* Until the kernel asks a silent peer. */

/* A client. */
#define GRPC_REPLY_MAX 67108864 /* A reply message. */

#endif /* grpc-limits.h */
