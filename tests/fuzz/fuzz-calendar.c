/* SPDX-License-Identifier: Apache-2.0 */

/* Calendars of workers that ask for anything: the input is the strategy, the
 * number of slot bits, and then members, as they are in memory, with what they
 * demand. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar-plan.h"
#include "controller/core/calendar.h"

#define N_MEMBERS 32

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct input {
    const uint8_t *data;
    size_t size;
};

static void
take(struct input *input, void *p, size_t size)
{
    memset(p, 0, size);
    size = size < input->size ? size : input->size;
    memcpy(p, input->data, size);
    input->data += size;
    input->size -= size;
}

static void
check(bool ok)
{
    if (!ok) {
        abort();
    }
}

static void
take_member(struct input *input, struct calendar_member *m,
            struct slot_range *range)
{
    uint8_t n_demands;

    take(input, &m->member, sizeof m->member);
    take(input, &m->weight, sizeof m->weight);
    take(input, &m->min_factor, sizeof m->min_factor);
    take(input, &m->max_factor, sizeof m->max_factor);
    take(input, &n_demands, 1);
    m->session = m->member;
    m->demands = range;
    m->n_demands = n_demands & 1;
    if (m->n_demands) {
        take(input, range, sizeof *range);
    }
}

/* Checks what holds for every calendar. */
static void
check_calendar(const struct calendar *calendar,
               const struct calendar_member *members, size_t n,
               enum strategy strategy)
{
    size_t n_slots = calendar_n_slots(calendar);
    size_t total = 0;

    for (size_t i = 0; i < n; i++) {
        const struct calendar_member *m = &members[i];
        size_t count = calendar_count(calendar, m->member);
        bool pinned = m->n_demands && strategy != STRATEGY_DYNAMIC;

        check(isfinite(m->min_factor) && isfinite(m->max_factor));
        check(!pinned || count >= m->demands->length);
        check(strategy != STRATEGY_EXPLICIT
              || count == (pinned ? m->demands->length : 0));
        total += count;
    }
    check(strategy == STRATEGY_EXPLICIT ? total <= n_slots : total == n_slots);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    struct calendar_member members[N_MEMBERS];
    struct slot_range ranges[N_MEMBERS];
    struct calendar_options options = { .seed = size };
    const struct calendar *calendar;
    uint8_t strategy, bits;
    bool bounded;
    size_t n = 0;
    char *error;

    take(&input, &strategy, 1);
    take(&input, &bits, 1);
    options.strategy = (enum strategy)(strategy % 3);
    while (input.size && n < N_MEMBERS) {
        take_member(&input, &members[n], &ranges[n]);
        n++;
    }
    error =
        calendar_plan(members, n, &options, bits % 11, &calendar, &bounded);
    check(!error == !!calendar);
    if (calendar) {
        check_calendar(calendar, members, n, options.strategy);
    }
    calendar_unref(calendar);
    free(error);
    return 0;
}
