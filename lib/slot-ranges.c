/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/slot-ranges.h"

#include <string.h>

/* Parses a number up to SLOT_RANGES_LAST at 's'.  Returns what stands behind
 * it, or NULL if there is none. */
static const char *
parse_number(const char *s, uint32_t *value)
{
    *value = 0;
    if (*s < '0' || *s > '9') {
        return NULL;
    }
    for (; *s >= '0' && *s <= '9'; s++) {
        *value = *value * 10 + (uint32_t) (*s - '0');
        if (*value > SLOT_RANGES_LAST) {
            return NULL;
        }
    }
    return s;
}

/* Parses one range at 's'.  Returns what stands behind it, or NULL. */
static const char *
parse_range(const char *s, struct slot_range *range)
{
    bool any = !strncmp(s, "any:", 4);
    uint32_t first, last;

    s = parse_number(any ? s + 4 : s, &first);
    last = first;
    if (s && *s == '-' && !any) {
        s = parse_number(s + 1, &last);
    }
    if (!s || last < first || (any && !first)) {
        return NULL;
    }
    range->index = any ? -1 : (int32_t) first;
    range->length = any ? first : last - first + 1;
    return s;
}

bool
slot_ranges_parse(const char *s, struct slot_ranges *r)
{
    r->n = 0;
    if (!*s) {
        return true;
    }
    for (;;) {
        if (r->n == SLOT_RANGES_MAX) {
            return false;
        }
        s = parse_range(s, &r->ranges[r->n]);
        if (!s || (*s && *s != ',')) {
            return false;
        }
        r->n++;
        if (!*s++) {
            return true;
        }
    }
}
