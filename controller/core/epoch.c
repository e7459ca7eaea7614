/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/epoch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

/* Initializes 'epochs' with no epoch in it. */
void
epochs_init(struct epochs *epochs)
{
    *epochs = (struct epochs){ .n = 0 };
}

static void
epoch_destroy__(const struct epoch *epoch)
{
    calendar_unref(epoch->calendar);
    free((struct epoch *) epoch);
}

/* Frees what 'epochs' holds, but not 'epochs' itself. */
void
epochs_destroy(struct epochs *epochs)
{
    for (size_t i = 0; i < epochs->n; i++) {
        epoch_destroy__(epochs->epochs[i]);
    }
    free(epochs->epochs);
}

static void
epochs_append__(struct epochs *epochs, const struct epoch *epoch)
{
    struct epoch *copy = mem_dup(epoch, sizeof *epoch);

    calendar_ref(copy->calendar);
    if (epochs->n >= epochs->allocated) {
        epochs->epochs = mem_grow(epochs->epochs, &epochs->allocated,
                                  sizeof(const struct epoch *));
    }
    epochs->epochs[epochs->n++] = copy;
}

/* Initializes 'copy' with the epochs of 'epochs'. */
void
epochs_clone(struct epochs *copy, const struct epochs *epochs)
{
    epochs_init(copy);
    for (size_t i = 0; i < epochs->n; i++) {
        epochs_append__(copy, epochs->epochs[i]);
    }
}

/* Connects a new epoch to 'epochs', behind all that are there.
 *
 * Returns NULL if successful, and has taken a reference of its own to
 * 'calendar' then.  Otherwise returns the reason, which the caller must free,
 * and 'epochs' is as before. */
char *
epochs_connect(struct epochs *epochs, uint16_t id, uint64_t first,
               uint16_t xor, const struct calendar *calendar)
{
    if (epochs_find_id(epochs, id)) {
        return mem_printf("epoch %" PRIu16 " is connected already", id);
    }
    if (epochs->n) {
        const struct epoch *last = epochs->epochs[epochs->n - 1];

        if (first <= last->first) {
            return mem_printf("epoch %" PRIu16 " from tick %" PRIu64 " is not "
                              "beyond epoch %" PRIu16 " from tick %" PRIu64,
                              id, first, last->id, last->first);
        }
    }

    epochs_append__(epochs, &(struct epoch){ id, first, xor, calendar });
    return NULL;
}

/* Takes out the epoch 'id', if it is there. */
void
epochs_remove(struct epochs *epochs, uint16_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < epochs->n; i++) {
        if (epochs->epochs[i]->id == id) {
            epoch_destroy__(epochs->epochs[i]);
        } else {
            epochs->epochs[n++] = epochs->epochs[i];
        }
    }
    epochs->n = n;
}

/* Takes out the epochs that begin before the tick 'oldest'. */
void
epochs_retire(struct epochs *epochs, uint64_t oldest)
{
    size_t n = 0;

    while (n < epochs->n && epochs->epochs[n]->first < oldest) {
        epoch_destroy__(epochs->epochs[n++]);
    }
    epochs->n -= n;
    for (size_t i = 0; n && i < epochs->n; i++) {
        epochs->epochs[i] = epochs->epochs[i + n];
    }
}

/* Returns the newest epoch, or NULL. */
const struct epoch *
epochs_newest(const struct epochs *epochs)
{
    return epochs->n ? epochs->epochs[epochs->n - 1] : NULL;
}

/* Returns the epoch with the given 'id', or NULL. */
const struct epoch *
epochs_find_id(const struct epochs *epochs, uint16_t id)
{
    for (size_t i = 0; i < epochs->n; i++) {
        if (epochs->epochs[i]->id == id) {
            return epochs->epochs[i];
        }
    }
    return NULL;
}

/* Returns the epoch whose range holds 'tick', or NULL if it is late or there
 * is no epoch. */
const struct epoch *
epochs_find_tick(const struct epochs *epochs, uint64_t tick)
{
    for (size_t i = epochs->n; i-- > 0;) {
        if (epochs->epochs[i]->first <= tick) {
            return epochs->epochs[i];
        }
    }
    return NULL;
}

/* Stores in 'prefixes' what a data plane needs for the epoch at index 'i':
 * the prefixes of its range, or the one of length 0 if it is the newest. */
void
epochs_get_prefixes(const struct epochs *epochs, size_t i,
                    struct prefix_list *prefixes)
{
    if (i + 1 < epochs->n) {
        prefix_list_from_range(epochs->epochs[i]->first,
                               epochs->epochs[i + 1]->first, prefixes);
    } else {
        prefix_list_from_range(0, 0, prefixes);
    }
}

/* Stores in 'prefixes' those of the ticks before the oldest epoch. */
void
epochs_get_late_prefixes(const struct epochs *epochs,
                         struct prefix_list *prefixes)
{
    prefixes->n = 0;
    if (epochs->n && epochs->epochs[0]->first) {
        prefix_list_from_range(0, epochs->epochs[0]->first, prefixes);
    }
}

/* Returns true if an epoch distributes to 'member', or names it with a weight
 * of 0, and stores the newest that does in '*epoch'. */
bool
epochs_use_member(const struct epochs *epochs, uint16_t member,
                  const struct epoch **epoch)
{
    for (size_t i = epochs->n; i-- > 0;) {
        if (calendar_find_share(epochs->epochs[i]->calendar, member)) {
            *epoch = epochs->epochs[i];
            return true;
        }
    }
    return false;
}

/* Returns true if 'a' and 'b' begin at the same tick and treat it alike. */
bool
epoch_equal(const struct epoch *a, const struct epoch *b)
{
    return a->id == b->id && a->first == b->first
           && a->xor == b->xor &&calendar_equal(a->calendar, b->calendar);
}
