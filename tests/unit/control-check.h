/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONTROL_CHECK_H
#define EVLB_CONTROL_CHECK_H 1

/* What must be true after each period of a control loop, whatever happened.
 *
 *     check_before()    what is connected
 *     world_step()
 *     check_after()     what became of it
 *
 * The caller says how things are with each worker, from what it has done, not
 * from what the loop made of it. */

#include "controller/core/calendar.h"
#include "tests/unit/control-world.h"

enum check_standing {
    CHECK_READY,
    CHECK_UNREADY, /* Said so, never said otherwise, or was not found. */
    CHECK_SILENT,  /* Ready before. */
    CHECK_GONE
};

struct check_worker {
    const struct session *session;
    enum check_standing standing;
    bool named; /* Was the newest calendar before the step made for it? */
    bool pool;  /* Does it have slots there? */
};

/* An epoch as it was connected. */
struct check_epoch {
    uint16_t id;
    uint64_t first;
    uint16_t members[CALENDAR_SLOTS_MAX];
};

struct check {
    struct check_epoch *epochs;
    size_t n_epochs;
    size_t allocated_epochs;
    bool untouched; /* May the only one be replaced? */

    /* Before the step. */
    const struct check_worker *workers;
    size_t n_workers;
    size_t n_pool;
    size_t n_lost;   /* Of the pool, that are silent. */
    size_t n_left;   /* Of the pool, that are not there or not ready. */
    size_t n_ready;  /* Of all. */
    uint64_t before; /* First tick of the newest epoch, if any. */
    uint64_t *gone;  /* Who must be removed. */
    size_t n_gone;
    bool quiet; /* Is everything as it was in the last period? */
};

void check_init(struct check *);
void check_destroy(struct check *);
void check_forget(struct check *);
bool check_is_majority_silent(const struct check *);

void check_before(struct check *, const struct world *,
                  const struct check_worker *, size_t n, bool quiet);
void check_after(struct check *, const struct world *);

void check_epochs(struct check *, const struct world *);
void check_ticks(const struct epochs *, uint64_t *random);

#endif /* control-check.h */
