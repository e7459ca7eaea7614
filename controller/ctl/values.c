/* SPDX-License-Identifier: Apache-2.0 */

/* Values that commands of the control API take and print. */

#include "controller/ctl/api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "lib/rfc3339.h"

/* No time from now on is longer, so that sums do not overflow. */
#define SECONDS_MAX (INT64_C(100) * 366 * 86400)

/* Parses 's', a number with a unit, as "90s", "30m", "8h" or "7d". */
bool
ctl_parse_duration(const char *s, int64_t *seconds)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    size_t n = strlen(s);
    char *digits = n ? mem_strdup(s) : NULL;
    uint64_t number;
    bool ok = false;

    for (size_t i = 0; digits && i < sizeof units / sizeof *units; i++) {
        if (s[n - 1] == units[i].unit) {
            digits[n - 1] = '\0';
            ok = ctl_parse_number(
                digits, (uint64_t) (SECONDS_MAX / units[i].seconds), &number);
            *seconds = ok ? (int64_t) number * units[i].seconds : 0;
        }
    }
    free(digits);
    return ok;
}

/* Parses 's'; see lib/slot-ranges.h. */
bool
ctl_parse_ranges(const char *s, struct ctl_ranges *r)
{
    struct slot_ranges parsed;
    bool ok = slot_ranges_parse(s, &parsed);

    r->n = ok ? parsed.n : 0;
    for (size_t i = 0; i < r->n; i++) {
        loadbalancer__slot_range__init(&r->ranges[i]);
        r->ranges[i].index = parsed.ranges[i].index;
        r->ranges[i].length = parsed.ranges[i].length;
        r->pointers[i] = &r->ranges[i];
    }
    return ok;
}

/* Stores the text of 't', which may be NULL, in 's', and returns it. */
const char *
ctl_format_time(const Google__Protobuf__Timestamp *t, char s[CTL_TEXT_LEN])
{
    if (!t || !rfc3339_format(t->seconds, 0, s)) {
        snprintf(s, CTL_TEXT_LEN, "-");
    }
    return s;
}

/* Returns the text of the 'n' ranges 'ranges', as ctl_parse_ranges() takes it,
 * up to about 'max' characters, which the caller frees. */
char *
ctl_format_ranges(Loadbalancer__SlotRange *const *ranges, size_t n, size_t max)
{
    char *s = mem_strdup(n ? "" : "-");

    for (size_t i = 0; i < n; i++) {
        const Loadbalancer__SlotRange *r = ranges[i];
        char *longer;

        if (strlen(s) > max) {
            longer = mem_printf("%s,...", s);
            i = n;
        } else if (r->index < 0) {
            longer =
                mem_printf("%s%sany:%" PRIu32, s, i ? "," : "", r->length);
        } else {
            longer = mem_printf("%s%s%" PRId32, s, i ? "," : "", r->index);
            if (r->length > 1) {
                char *both = mem_printf("%s-%" PRId64, longer,
                                        (int64_t) r->index + r->length - 1);

                free(longer);
                longer = both;
            }
        }
        free(s);
        s = longer;
    }
    return s;
}

/* Prints the 'n' 'issues' of 'who', if any. */
void
ctl_print_issues(const char *who, Loadbalancer__HealthIssue *const *issues,
                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char time[CTL_TEXT_LEN];

        printf("%s: %s: %s (%s, since %s)\n", who, issues[i]->severity,
               issues[i]->message, issues[i]->type,
               ctl_format_time(issues[i]->detected_at, time));
    }
}
