/* SPDX-License-Identifier: Apache-2.0 */

/* Options of commands of the control API: times and families. */

#include "controller/ctl/api.h"

#include <string.h>
#include <time.h>

#include "lib/rfc3339.h"

/* Parses the time that --for or --until names.  '*until' becomes 'room', or
 * NULL if there is none.  Returns an exit code. */
int
ctl_parse_until(const struct ctl *ctl, Google__Protobuf__Timestamp *room,
                Google__Protobuf__Timestamp **until)
{
    const char *duration = ctl_get(ctl, CTL_OPT_FOR);
    const char *end = ctl_get(ctl, CTL_OPT_UNTIL);
    int64_t seconds;

    google__protobuf__timestamp__init(room);
    *until = duration || end ? room : NULL;
    if (duration && end) {
        return ctl_usage_error("--for and --until exclude each other");
    } else if (duration) {
        if (!ctl_parse_duration(duration, &seconds) || !seconds) {
            return ctl_usage_error("--for: \"%s\" is no time as 90s, 30m, 8h "
                                   "or 7d",
                                   duration);
        }
        room->seconds = time(NULL) + seconds;
    } else if (end && !rfc3339_parse(end, &room->seconds, &room->nanos)) {
        return ctl_usage_error("--until: \"%s\" is no time as "
                               "2027-01-31T18:00:00Z; see --for, too",
                               end);
    }
    return CTL_OK;
}

/* Parses the time that --since names. */
int
ctl_parse_since(const struct ctl *ctl, Google__Protobuf__Timestamp *room,
                Google__Protobuf__Timestamp **since)
{
    const char *s = ctl_get(ctl, CTL_OPT_SINCE);
    int64_t seconds;

    google__protobuf__timestamp__init(room);
    *since = s ? room : NULL;
    if (s && ctl_parse_duration(s, &seconds)) {
        room->seconds = time(NULL) - seconds;
    } else if (s && !rfc3339_parse(s, &room->seconds, &room->nanos)) {
        return ctl_usage_error("--since: \"%s\" is neither a time as "
                               "2027-01-31T18:00:00Z nor one ago, as 30m",
                               s);
    }
    return CTL_OK;
}

int
ctl_parse_family(const struct ctl *ctl, Loadbalancer__IpFamily *family)
{
    const char *s = ctl_get(ctl, CTL_OPT_FAMILY);

    *family = LOADBALANCER__IP_FAMILY__DUAL_STACK;
    if (!s || !strcmp(s, "dual")) {
        return CTL_OK;
    } else if (!strcmp(s, "4")) {
        *family = LOADBALANCER__IP_FAMILY__IPV4;
        return CTL_OK;
    } else if (!strcmp(s, "6")) {
        *family = LOADBALANCER__IP_FAMILY__IPV6;
        return CTL_OK;
    }
    return ctl_usage_error("--family: \"%s\" is neither 4 nor 6 nor dual", s);
}
