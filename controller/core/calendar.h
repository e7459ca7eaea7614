/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CALENDAR_H
#define EVLB_CALENDAR_H 1

/* Calendars: which member receives the events of which slot.
 *
 * A calendar has 2^bits slots, each held by one member or by nobody.  It never
 * changes once it is made, so it is shared by counting references.
 *
 * A calendar made from weights is
 *
 *    - exact: slots are apportioned by largest remainder, so that a member
 *      gets its share rounded down or up, and the shares add up;
 *
 *    - within the factors of each share, if they leave any choice: slots are
 *      in proportion to the weights among the members that meet no bound.
 *      Where whole slots cannot be within all bounds, these are taken as
 *      rounded down and up;
 *
 *    - spread evenly: among the first t slots, for any t, a member has less
 *      than one slot more or less than its proportion t * s / n of them;
 *
 *    - deterministic: it is a function of the set of (member, weight), however
 *      the set is ordered. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More slots than one group of an OpenFlow switch holds are not supported. */
#define CALENDAR_BITS_MAX 9
#define CALENDAR_SLOTS_MAX (1u << CALENDAR_BITS_MAX)

/* A slot that no member holds.  Its packets are dropped. */
#define CALENDAR_NO_MEMBER UINT16_MAX

/* What one member is to get. */
struct calendar_share {
    uint16_t member; /* Not CALENDAR_NO_MEMBER. */
    uint32_t weight; /* 0 for no slot at all. */

    /* At least and at most this often the even share, which is the number of
     * slots divided by that of members with a weight.  A maximum of 0 is
     * none. */
    double min_factor;
    double max_factor;
};

#define CALENDAR_FACTOR_MAX 65536

struct calendar {
    unsigned int n_refs;           /* Of calendar_ref(). */
    struct calendar_share *shares; /* What it was made from, by member. */
    size_t n_shares;
    bool shuffled; /* Was its order made from 'seed'? */
    uint64_t seed;
    uint8_t bits;       /* Logarithm of the number of slots. */
    uint16_t members[]; /* The member of each slot. */
};

char *calendar_create(const struct calendar_share *, size_t n, uint8_t bits,
                      const struct calendar **);
const struct calendar *
calendar_restore(const struct calendar_share *, size_t n, uint8_t bits,
                 const uint16_t *members, const uint64_t *seed);
const struct calendar *calendar_ref(const struct calendar *);
void calendar_unref(const struct calendar *);

size_t calendar_n_slots(const struct calendar *);
const struct calendar_share *
calendar_find_share(const struct calendar *, uint16_t member);
size_t calendar_count(const struct calendar *, uint16_t member);
bool calendar_equal(const struct calendar *, const struct calendar *);

#endif /* calendar.h */
