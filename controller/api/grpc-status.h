/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_STATUS_H
#define EVLB_GRPC_STATUS_H 1

/* How a gRPC call ends: its status, as a code and a text, and the deadline
 * that the caller gave it, as they stand in HTTP/2 headers.
 *
 * "grpc-message" is UTF-8, in which all but printable ASCII is written as
 * "%XX".  "grpc-timeout" is a number of one to eight digits and a unit. */

#include <stdbool.h>
#include <stdint.h>

#define GRPC_STATUSES                   \
    GRPC_STATUS(OK, 0)                  \
    GRPC_STATUS(CANCELLED, 1)           \
    GRPC_STATUS(UNKNOWN, 2)             \
    GRPC_STATUS(INVALID_ARGUMENT, 3)    \
    GRPC_STATUS(DEADLINE_EXCEEDED, 4)   \
    GRPC_STATUS(NOT_FOUND, 5)           \
    GRPC_STATUS(ALREADY_EXISTS, 6)      \
    GRPC_STATUS(PERMISSION_DENIED, 7)   \
    GRPC_STATUS(RESOURCE_EXHAUSTED, 8)  \
    GRPC_STATUS(FAILED_PRECONDITION, 9) \
    GRPC_STATUS(ABORTED, 10)            \
    GRPC_STATUS(OUT_OF_RANGE, 11)       \
    GRPC_STATUS(UNIMPLEMENTED, 12)      \
    GRPC_STATUS(INTERNAL, 13)           \
    GRPC_STATUS(UNAVAILABLE, 14)        \
    GRPC_STATUS(DATA_LOSS, 15)          \
    GRPC_STATUS(UNAUTHENTICATED, 16)

enum grpc_status {
#define GRPC_STATUS(NAME, CODE) GRPC_##NAME = CODE,
    GRPC_STATUSES
#undef GRPC_STATUS
};

/* Room for "grpc-timeout" and its null. */
#define GRPC_TIMEOUT_STRLEN 10

/* No timeout is longer than this. */
#define GRPC_TIMEOUT_MAX_MS INT64_C(86400000)

const char *grpc_status_to_string(enum grpc_status);
enum grpc_status grpc_status_from_header(const char *);
enum grpc_status grpc_status_from_http(const char *);

char *grpc_text_encode(const char *);
char *grpc_text_decode(const char *);

bool grpc_timeout_parse(const char *, int64_t *ms);
void grpc_timeout_format(int64_t ms, char s[GRPC_TIMEOUT_STRLEN]);

#endif /* grpc-status.h */
