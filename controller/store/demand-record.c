/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/demand-record.h"

#include <inttypes.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

/* Nobody asks for more ranges than there are slots. */
#define DEMANDS_MAX CALENDAR_SLOTS_MAX

void
demand_record_format(FILE *stream, const struct slot_range *demands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (demands[i].index == SLOT_RANGE_ANYWHERE) {
            fprintf(stream, "demand any %" PRIu32 "\n", demands[i].length);
        } else {
            fprintf(stream, "demand %" PRId32 " %" PRIu32 "\n",
                    demands[i].index, demands[i].length);
        }
    }
}

static void
read_demand__(struct record_reader *reader, struct slot_range *demand)
{
    if (record_reader_skip(reader, "any")) {
        demand->index = SLOT_RANGE_ANYWHERE;
    } else {
        demand->index =
            (int32_t) record_reader_uint(reader, CALENDAR_SLOTS_MAX - 1);
    }
    demand->length = (uint32_t) record_reader_uint(reader, CALENDAR_SLOTS_MAX);
}

/* Reads all demands that come next.  Returns them, which the caller must free,
 * and stores their number in '*n'. */
struct slot_range *
demand_record_parse(struct record_reader *reader, size_t *n)
{
    struct slot_range *demands = NULL;
    size_t allocated = 0;

    *n = 0;
    while (record_reader_more(reader, "demand")) {
        if (*n >= DEMANDS_MAX) {
            record_reader_fail(reader, "is one of more than %u", DEMANDS_MAX);
            break;
        }
        if (*n >= allocated) {
            demands = mem_grow(demands, &allocated, sizeof *demands);
        }
        read_demand__(reader, &demands[(*n)++]);
    }
    return demands;
}
