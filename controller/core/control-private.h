/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONTROL_PRIVATE_H
#define EVLB_CONTROL_PRIVATE_H 1

/* Within the control loop:
 *
 *     control.c         who gets slots, and whether that is another epoch
 *     control-share.c   how many of them
 *     control-warn.c    what is wrong */

#include "controller/core/control.h"

#include "controller/core/calendar.h"

struct epoch;

/* How things are with a worker. */
enum standing {
    STANDING_READY,
    STANDING_UNREADY,    /* It says so, or has to say otherwise first. */
    STANDING_UNRESOLVED, /* Its station was not found yet. */
    STANDING_SILENT,     /* It was ready when it was heard at last. */
    STANDING_GONE        /* Silent for so long that it is removed. */
};

/* One step. */
struct step {
    const struct control_inputs *in;
    struct control_outcome *out;
    const struct epoch *newest; /* Or NULL. */

    /* Members of the newest epoch's slots, sorted, and how many there are. */
    uint16_t slots[CALENDAR_SLOTS_MAX];
    size_t n_slots;
    size_t n_pool;

    size_t n_lost;  /* Of the pool, that are silent; */
    size_t n_stays; /* and those that are ready. */

    const struct session **chosen; /* Who is to get slots. */
    size_t n_chosen;
};

/* control.c */
int64_t control_get_silence__(const struct session *, int64_t now);
enum standing
control_get_standing__(const struct step *, const struct session *);
bool control_is_majority_silent__(const struct step *);

/* control-share.c */
const struct calendar_share *
control_find_share__(const struct step *, const struct session *);
void control_update_shares__(struct step *);
uint32_t control_get_weight__(const struct session *);

/* control-warn.c */
void control_warn__(struct step *);
void control_warn_calendar__(struct step *, const char *error, bool bounded);
void control_warn_no_boundary__(struct step *, const char *reason);

#endif /* control-private.h */
