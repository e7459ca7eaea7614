/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CTL_API_H
#define EVLB_CTL_API_H 1

/* What the commands of the control API share: calls, and values that they take
 * and print. */

#include <stdint.h>

#include "controller/api/grpc-status.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "controller/ctl/ctl.h"
#include "lib/slot-ranges.h"

/* Slots, as the messages want them. */
struct ctl_ranges {
    Loadbalancer__SlotRange ranges[SLOT_RANGES_MAX];
    Loadbalancer__SlotRange *pointers[SLOT_RANGES_MAX];
    size_t n;
};

/* Room for the text of a fraction, a time or an age. */
#define CTL_TEXT_LEN 40

int ctl_api_call(struct ctl *, const char *method,
                 const ProtobufCMessage *request, ProtobufCMessage **reply);
enum grpc_status
ctl_api_try(struct ctl *, const char *method, const ProtobufCMessage *request,
            ProtobufCMessage **reply, char **message);
int
ctl_api_run(struct ctl *, const char *method, const ProtobufCMessage *request,
            void (*print)(const void *reply));
int ctl_api_connect(struct ctl *);
void ctl_api_destroy(struct ctl *);

int ctl_find_lb(struct ctl *, int argc, char *argv[], char **id);
int ctl_parse_until(const struct ctl *, Google__Protobuf__Timestamp *,
                    Google__Protobuf__Timestamp **until);
int ctl_parse_since(const struct ctl *, Google__Protobuf__Timestamp *,
                    Google__Protobuf__Timestamp **since);
int ctl_parse_family(const struct ctl *, Loadbalancer__IpFamily *);
bool ctl_parse_duration(const char *, int64_t *seconds);
bool ctl_parse_ranges(const char *, struct ctl_ranges *);

const char *
ctl_format_time(const Google__Protobuf__Timestamp *, char s[CTL_TEXT_LEN]);
char *
ctl_format_ranges(Loadbalancer__SlotRange *const *, size_t n, size_t max);
void ctl_print_issues(const char *who, Loadbalancer__HealthIssue *const *,
                      size_t n);

#endif /* api.h */
