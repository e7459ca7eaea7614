/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/predictor.h"

#include <stdlib.h>

#include "controller/core/mem.h"

#define MS_PER_S 1000.0

struct sample {
    uint64_t tick;
    uint32_t rate; /* 0 if it is not known. */
    int64_t received;
};

struct sender {
    uint32_t id;
    size_t n;             /* All that were taken since it was new. */
    uint64_t n_backwards; /* Others. */
    struct sample samples[PREDICTOR_WINDOW];
};

struct predictor {
    struct predictor_settings settings;
    struct sender senders[PREDICTOR_MAX_SENDERS];
    size_t n;
};

/* The line that a sender moves on. */
struct line {
    uint32_t sender;
    uint64_t here;  /* The tick now, */
    uint64_t ahead; /* and at the time asked for. */
    double rate;    /* Ticks a second. */
};

/* Times of a prediction. */
struct times {
    int64_t now;
    int64_t ahead;
};

/* Creates a predictor that has heard of no sender. */
struct predictor *
predictor_create(const struct predictor_settings *settings)
{
    struct predictor *p = mem_zalloc(sizeof *p);

    p->settings = *settings;
    return p;
}

/* Destroys 'p', which may be NULL. */
void
predictor_destroy(struct predictor *p)
{
    free(p);
}

/* Has 'p' go by 'settings' from now on. */
void
predictor_set(struct predictor *p, const struct predictor_settings *settings)
{
    p->settings = *settings;
}

/* Forgets all senders: their ticks begin anew. */
void
predictor_reset(struct predictor *p)
{
    p->n = 0;
}

/* Returns 'tick' plus 'delta', which may be negative, saturated. */
static uint64_t
tick_add__(uint64_t tick, double delta)
{
    if (delta >= (double) (PREDICTOR_TICK_MAX - tick)) {
        return PREDICTOR_TICK_MAX;
    }
    if (delta < 0) {
        return -delta >= (double) tick ? 0 : tick - (uint64_t) -delta;
    }
    return tick + (uint64_t) delta;
}

/* Samples. */

/* Returns the sample of 's' that came 'i' samples before its newest one, which
 * 's' has. */
static const struct sample *
get_sample__(const struct sender *s, size_t i)
{
    return &s->samples[(s->n - 1 - i) % PREDICTOR_WINDOW];
}

static bool
is_fresh__(const struct sample *sample, int64_t now)
{
    return now - sample->received < PREDICTOR_FRESH_MS;
}

/* Returns how many of the newest samples of 's' are fresh. */
static size_t
count_fresh__(const struct sender *s, int64_t now)
{
    size_t n = 0;

    while (n < s->n && n < PREDICTOR_WINDOW
           && is_fresh__(get_sample__(s, n), now)) {
        n++;
    }
    return n;
}

/* Returns the sender 'id', a new one if it is not known or was silent too long,
 * or NULL if there is no room. */
static struct sender *
find_sender__(struct predictor *p, uint32_t id, int64_t now)
{
    struct sender *unused = NULL;

    for (size_t i = 0; i < p->n; i++) {
        struct sender *s = &p->senders[i];
        bool silent = !is_fresh__(get_sample__(s, 0), now);

        if (s->id == id && !silent) {
            return s;
        }
        unused = silent && (!unused || s->id == id) ? s : unused;
    }
    if (!unused && p->n < PREDICTOR_MAX_SENDERS) {
        unused = &p->senders[p->n++];
    }
    if (unused) {
        *unused = (struct sender){ .id = id };
    }
    return unused;
}

/* Takes in that 'sender' was at 'tick' at 'now', making 'rate' ticks a second,
 * or 0 if it does not know. */
enum predictor_verdict
predictor_add(struct predictor *p, uint32_t sender, uint64_t tick,
              uint32_t rate, int64_t now)
{
    struct sender *s = find_sender__(p, sender, now);

    tick = tick < PREDICTOR_TICK_MAX ? tick : PREDICTOR_TICK_MAX;
    if (!s) {
        return PREDICTOR_TOO_MANY;
    }
    if (s->n && tick < get_sample__(s, 0)->tick) {
        s->n_backwards++;
        return PREDICTOR_BACKWARDS;
    }
    s->samples[s->n++ % PREDICTOR_WINDOW] = (struct sample){ tick, rate, now };
    return PREDICTOR_TAKEN;
}

/* Lines. */

/* Has 'line' go through 'tick' at the time 'at', with 'rate'. */
static void
set_line__(struct line *line, uint64_t tick, int64_t at, double rate,
           const struct times *times)
{
    line->rate = rate;
    line->here =
        tick_add__(tick, rate * (double) (times->now - at) / MS_PER_S);
    line->ahead =
        tick_add__(tick, rate * (double) (times->ahead - at) / MS_PER_S);
}

/* Stores in '*line' the one that fits the 'n' newest samples of 's' best, by
 * least squares.  Returns false if that is none, or one that runs backwards. */
static bool
fit_line__(const struct sender *s, size_t n, const struct times *times,
           struct line *line)
{
    const struct sample *newest = get_sample__(s, 0);
    double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
    double rate;

    /* Seconds and ticks, relative to the newest sample: differences are exact
     * enough as floating-point numbers where the ticks themselves are not. */
    for (size_t i = 0; i < n; i++) {
        const struct sample *sample = get_sample__(s, i);

        x_mean -= (double) (newest->received - sample->received) / MS_PER_S;
        y_mean -= (double) (newest->tick - sample->tick);
    }
    x_mean /= (double) n;
    y_mean /= (double) n;
    for (size_t i = 0; i < n; i++) {
        const struct sample *sample = get_sample__(s, i);
        double x = -(double) (newest->received - sample->received) / MS_PER_S
                   - x_mean;

        xx += x * x;
        xy += x * (-(double) (newest->tick - sample->tick) - y_mean);
    }
    if (!(xx > 0)) {
        return false;
    }
    rate = xy / xx > 0 ? xy / xx : 0;
    rate = rate < UINT32_MAX ? rate : UINT32_MAX;
    set_line__(line, tick_add__(newest->tick, y_mean - rate * x_mean),
               newest->received, rate, times);
    return true;
}

/* Stores in '*line' that of 's'.  Returns false if 's' has not told enough. */
static bool
get_line__(const struct sender *s, const struct times *times,
           struct line *line)
{
    size_t n = count_fresh__(s, times->now);

    line->sender = s->id;
    for (size_t i = 0; i < n; i++) {
        const struct sample *sample = get_sample__(s, i);

        if (sample->rate) {
            set_line__(line, sample->tick, sample->received, sample->rate,
                       times);
            return true;
        }
    }
    return n >= 2 && fit_line__(s, n, times, line);
}

static int
compare_lines__(const void *a_, const void *b_)
{
    const struct line *a = a_;
    const struct line *b = b_;

    return (a->here > b->here) - (a->here < b->here);
}

/* Stores in 'lines' those of the senders, by ascending tick as of now, and
 * returns how many there are. */
static size_t
get_lines__(const struct predictor *p, const struct times *times,
            struct line lines[PREDICTOR_MAX_SENDERS])
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        n += get_line__(&p->senders[i], times, &lines[n]);
    }
    if (n) {
        qsort(lines, n, sizeof *lines, compare_lines__);
    }
    return n;
}

/* Returns the median of those of the 'n' sorted 'lines' that move or, if none
 * does, of all. */
static const struct line *
get_median__(const struct line *lines, size_t n)
{
    size_t n_moving = 0;
    size_t i = 0;

    for (size_t j = 0; j < n; j++) {
        n_moving += lines[j].rate > 0;
    }
    if (!n_moving) {
        return &lines[n / 2];
    }
    for (size_t left = n_moving / 2; left || !(lines[i].rate > 0); i++) {
        left -= lines[i].rate > 0;
    }
    return &lines[i];
}

/* Returns true if 'line' stands still behind 'median', which goes on: it says
 * nothing about what is to come. */
static bool
is_idle__(const struct line *line, const struct line *median)
{
    return !(line->rate > 0) && median->rate > 0 && line->here < median->here;
}

/* Returns true if 'line' is as near to 'median' as senders may be apart.  They
 * are compared as of now: it does not depend on how far one looks ahead. */
static bool
agrees__(const struct predictor *p, const struct line *line,
         const struct line *median)
{
    uint64_t distance = line->here > median->here ? line->here - median->here
                                                  : median->here - line->here;
    double rate = line->rate > 0 ? line->rate : median->rate;

    return (double) distance <= rate * p->settings.skew / MS_PER_S;
}

/* Returns the tick beyond which nothing is foreseen: where 'median' gets in so
 * many look-aheads, or in 'ahead' ms if that is more. */
static uint64_t
get_limit__(const struct predictor *p, const struct line *median,
            uint32_t ahead)
{
    double ms = PREDICTOR_LOOK_AHEADS * (double) p->settings.look_ahead;

    ms = ms > ahead ? ms : ahead;
    return tick_add__(median->here, median->rate * ms / MS_PER_S);
}

static void
quarantine__(struct prediction *prediction, const struct line *line)
{
    if (prediction->n_quarantined < PREDICTOR_NAMED) {
        prediction->quarantined[prediction->n_quarantined] = line->sender;
    }
    prediction->n_quarantined++;
}

/* Makes the prediction of the 'n' 'lines', which are sorted, for 'ahead' ms from
 * now. */
static void
combine__(const struct predictor *p, const struct line *lines, size_t n,
          uint32_t ahead, struct prediction *prediction)
{
    const struct line *median = get_median__(lines, n);
    size_t n_idle = 0;

    prediction->median_rate = median->rate;
    prediction->limit = get_limit__(p, median, ahead);
    for (size_t i = 0; i < n; i++) {
        const struct line *line = &lines[i];

        if (is_idle__(line, median)) {
            n_idle++;
            continue;
        }
        if (!agrees__(p, line, median)) {
            quarantine__(prediction, line);
            continue;
        }
        if (line->rate > prediction->rate) {
            prediction->rate = line->rate;
        }
        if (line->ahead > prediction->tick) {
            prediction->tick = line->ahead;
        }
    }
    if (prediction->tick > prediction->limit) {
        prediction->tick = prediction->limit;
    }
    prediction->known = prediction->n_quarantined * 2 < n - n_idle;
}

/* Stores in '*prediction' where the senders are 'ahead' ms from 'now'. */
void
predictor_predict(const struct predictor *p, int64_t now, uint32_t ahead,
                  struct prediction *prediction)
{
    struct line lines[PREDICTOR_MAX_SENDERS];
    const struct times times = { now, now + ahead };
    size_t n = get_lines__(p, &times, lines);

    *prediction = (struct prediction){ .age = -1 };
    for (size_t i = 0; i < p->n; i++) {
        const struct sample *newest = get_sample__(&p->senders[i], 0);
        int64_t age = now - newest->received;

        if (is_fresh__(newest, now)) {
            prediction->n_senders++;
        }
        if (prediction->age < 0 || age < prediction->age) {
            prediction->age = age;
        }
    }
    if (n) {
        combine__(p, lines, n, ahead, prediction);
    }
}

/* Is 'sender' among the 'n' sorted 'lines', but does not agree? */
static bool
is_quarantined__(const struct predictor *p, uint32_t sender,
                 const struct line *lines, size_t n)
{
    const struct line *median = n ? get_median__(lines, n) : NULL;

    for (size_t i = 0; i < n; i++) {
        if (lines[i].sender == sender) {
            return !is_idle__(&lines[i], median)
                   && !agrees__(p, &lines[i], median);
        }
    }
    return false;
}

/* Stores in 'senders' those who told something of late, as of 'now'.  Returns
 * how many there are. */
size_t
predictor_get_senders(const struct predictor *p, int64_t now,
                      struct predictor_sender senders[PREDICTOR_MAX_SENDERS])
{
    struct line lines[PREDICTOR_MAX_SENDERS];
    const struct times times = { now, now };
    size_t n_lines = get_lines__(p, &times, lines);
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        const struct sender *s = &p->senders[i];
        const struct sample *newest = get_sample__(s, 0);

        if (is_fresh__(newest, now)) {
            senders[n++] = (struct predictor_sender){
                .id = s->id,
                .n_taken = s->n,
                .n_backwards = s->n_backwards,
                .tick = newest->tick,
                .age = now - newest->received,
                .quarantined = is_quarantined__(p, s->id, lines, n_lines),
            };
        }
    }
    return n;
}

/* Returns the first tick from 'tick' on that is a multiple of a power of two, as
 * large a one as puts it off by no more than 'spare' ticks for any 'tick': its
 * prefixes are few. */
uint64_t
predictor_round_up(uint64_t tick, double spare)
{
    uint64_t unit = 1;

    while (unit < UINT64_C(1) << 62 && (double) (unit * 2) <= spare) {
        unit *= 2;
    }
    if (tick > PREDICTOR_TICK_MAX - (unit - 1)) {
        return tick;
    }
    return (tick + unit - 1) & ~(unit - 1);
}
