/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_SLOT_RANGES_H
#define LIB_SLOT_RANGES_H 1

/* Slots that are asked for, as people write them: "0-63,100,any:16" stands for
 * those from 0 to 63, number 100, and the first gap that has room for 16. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_RANGES_MAX 64
#define SLOT_RANGES_LAST 65535 /* The highest slot that can be named. */

struct slot_range {
    int32_t index; /* -1 for the first gap that is enough. */
    uint32_t length;
};

struct slot_ranges {
    struct slot_range ranges[SLOT_RANGES_MAX];
    size_t n;
};

/* Parses 's', which may be "" for none.  Returns false if it is anything else,
 * or has more than SLOT_RANGES_MAX ranges. */
bool slot_ranges_parse(const char *s, struct slot_ranges *);

/* How to write it, for messages. */
#define SLOT_RANGES_FORM "slots as 0-63, 100 or any:16, with commas between"

#endif /* lib/slot-ranges.h */
