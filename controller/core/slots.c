/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/slots.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "controller/core/mem.h"

/* Who has which slots. */
struct places {
    const struct slot_demand *demands;
    uint16_t *owners; /* An index into 'demands', or SLOT_FREE. */
    uint32_t n_slots;
};

/* Returns NULL if 'range' is one of 'n_slots', or why not. */
static char *
check_range__(const struct slot_range *range, uint64_t session,
              uint32_t n_slots)
{
    if (!range->length) {
        return mem_printf("session %" PRIu64 ": a range of slots has length 0",
                          session);
    }
    if (range->index < SLOT_RANGE_ANYWHERE) {
        return mem_printf("session %" PRIu64 ": index %" PRId32
                          " of a range of slots is neither a slot's nor %d, "
                          "for the first gap that is large enough",
                          session, range->index, SLOT_RANGE_ANYWHERE);
    }
    if (range->length > n_slots
        || (range->index >= 0
            && (uint32_t) range->index > n_slots - range->length)) {
        return mem_printf("session %" PRIu64 ": %" PRIu32
                          " slots from index %" PRId32
                          " on do not fit into the %" PRIu32 " that there are",
                          session, range->length, range->index, n_slots);
    }
    return NULL;
}

/* Gives the 'length' slots from 'first' on to the demand 'index'.  Returns NULL,
 * or why not if one is taken. */
static char *
take__(struct places *places, size_t index, uint32_t first, uint32_t length)
{
    for (uint32_t slot = first; slot < first + length; slot++) {
        if (places->owners[slot] != SLOT_FREE) {
            return mem_printf(
                "session %" PRIu64 ": slots %" PRIu32 " to %" PRIu32
                " are not free: session %" PRIu64 " has slot %" PRIu32,
                places->demands[index].session, first, first + length - 1,
                places->demands[places->owners[slot]].session, slot);
        }
        places->owners[slot] = (uint16_t) index;
    }
    return NULL;
}

/* Gives the demand 'index' the first gap of 'length' slots.  Returns NULL, or
 * why not if there is none. */
static char *
take_anywhere__(struct places *places, size_t index, uint32_t length)
{
    uint32_t gap = 0;

    for (uint32_t slot = 0; slot < places->n_slots; slot++) {
        gap = places->owners[slot] == SLOT_FREE ? gap + 1 : 0;
        if (gap == length) {
            return take__(places, index, slot + 1 - length, length);
        }
    }
    return mem_printf("session %" PRIu64 ": nowhere are %" PRIu32
                      " free slots in a row",
                      places->demands[index].session, length);
}

/* Places the ranges of the 'n' demands that are 'anywhere', or those that are
 * not. */
static char *
place__(struct places *places, size_t n, bool anywhere)
{
    char *error = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct slot_demand *demand = &places->demands[i];

        for (size_t j = 0; !error && j < demand->n; j++) {
            const struct slot_range *range = &demand->ranges[j];

            if ((range->index == SLOT_RANGE_ANYWHERE) == anywhere) {
                error = check_range__(range, demand->session, places->n_slots);
                if (!error) {
                    error = anywhere
                                ? take_anywhere__(places, i, range->length)
                                : take__(places, i, (uint32_t) range->index,
                                         range->length);
                }
            }
        }
    }
    return error;
}

/* Stores in 'owners', for each of the 'n_slots', the index of the one of the
 * 'n' 'demands' that it is for, or SLOT_FREE.
 *
 * Returns NULL if each gets what it asks for.  Otherwise returns an error, which
 * the caller must free and which names session and range; then 'owners' is of
 * no use. */
char *
slots_resolve(const struct slot_demand *demands, size_t n, uint16_t *owners,
              uint32_t n_slots)
{
    struct places places = { demands, owners, n_slots };
    char *error;

    for (uint32_t slot = 0; slot < n_slots; slot++) {
        owners[slot] = SLOT_FREE;
    }
    if (n >= SLOT_FREE) {
        return mem_printf("%zu sessions are more than have slots", n);
    }
    error = place__(&places, n, false);
    return error ? error : place__(&places, n, true);
}

/* Returns how many runs of the 'n_slots' in 'owners' are those of 'owner', and
 * stores them in '*ranges', which the caller must free. */
size_t
slots_find_ranges(const uint16_t *owners, uint32_t n_slots, uint16_t owner,
                  struct slot_range **ranges)
{
    size_t allocated = 0;
    size_t n = 0;

    *ranges = NULL;
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        if (owners[slot] != owner) {
            continue;
        }
        if (!slot || owners[slot - 1] != owner) {
            if (n >= allocated) {
                *ranges = mem_grow(*ranges, &allocated, sizeof **ranges);
            }
            (*ranges)[n++] = (struct slot_range){ (int32_t) slot, 0 };
        }
        (*ranges)[n - 1].length++;
    }
    return n;
}
