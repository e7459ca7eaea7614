/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_PREDICTOR_H
#define EVLB_PREDICTOR_H 1

/* Foresees the ticks of one instance from what its senders tell.
 *
 *       tick
 *        |                       . +   newest of the senders that agree
 *        |                  . '  |
 *        |     o   o   o '       |
 *        +-----------------------+--- time
 *          samples    now     now + ahead
 *
 * Each sender tells its current tick about once a second, and its rate if it
 * knows it.  A sender's line goes through the newest sample that has a rate,
 * or is fitted to its newest samples by least squares.  A sender that lies
 * further than 'skew' from the median one is left out; if no majority remains,
 * nothing is foreseen.  One that stands still while others go on past it does
 * not count: what it sends when it goes on belongs to what is decided.  The prediction is the furthest of the others, for a
 * boundary must lie ahead of all; but no further than the median one gets in
 * PREDICTOR_LOOK_AHEADS times the look-ahead, so that nobody who claims to be
 * fast carries all others away.
 *
 * Samples come from the network, so their values may be anything.  Arithmetic
 * saturates at PREDICTOR_TICK_MAX.
 *
 * Times are milliseconds of a monotonic clock, at which samples were received:
 * clocks of senders are not looked at.  This does no I/O. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREDICTOR_MAX_SENDERS 256
#define PREDICTOR_WINDOW 10     /* Samples of a sender that are kept. */
#define PREDICTOR_FRESH_MS 5000 /* Age at which a sample is forgotten. */
#define PREDICTOR_TICK_MAX (UINT64_MAX - 1)
#define PREDICTOR_LOOK_AHEADS 10

struct predictor_settings {
    uint32_t look_ahead; /* How far one looks ahead, usually. */
    uint32_t skew;       /* How far senders may be apart. */
};

/* What became of a sample.
 *
 *                  VERDICT    word */
#define PREDICTOR_VERDICTS                                               \
    PREDICTOR_VERDICT(TAKEN, "taken")                                    \
    PREDICTOR_VERDICT(BACKWARDS, "backwards") /* Before the last one. */ \
    PREDICTOR_VERDICT(TOO_MANY, "too_many")   /* Senders; this is new. */

enum predictor_verdict {
#define PREDICTOR_VERDICT(VERDICT, WORD) PREDICTOR_##VERDICT,
    PREDICTOR_VERDICTS
#undef PREDICTOR_VERDICT
};

/* Senders that are named. */
#define PREDICTOR_NAMED 4

struct prediction {
    bool known;           /* Are 'tick' and 'rate' known? */
    uint64_t tick;        /* Of the furthest sender, at the time asked for. */
    double rate;          /* Ticks a second, of the fastest sender. */
    double median_rate;   /* Of the median sender. */
    uint64_t limit;       /* Nothing is foreseen beyond, see above. */
    size_t n_senders;     /* That told something of late. */
    size_t n_quarantined; /* Of these, how many do not agree. */
    uint32_t quarantined[PREDICTOR_NAMED]; /* The first of these. */
    int64_t age; /* Of the newest sample; -1 if there is none. */
};

/* A sender that told something of late. */
struct predictor_sender {
    uint32_t id;
    uint64_t n_taken;     /* Samples, since it was new. */
    uint64_t n_backwards; /* Those that were not taken. */
    uint64_t tick;        /* Of the newest sample. */
    int64_t age;          /* Of that. */
    bool quarantined;     /* Does it not agree? */
};

struct predictor;

struct predictor *predictor_create(const struct predictor_settings *);
void predictor_destroy(struct predictor *);

void predictor_set(struct predictor *, const struct predictor_settings *);
void predictor_reset(struct predictor *);
enum predictor_verdict
predictor_add(struct predictor *, uint32_t sender, uint64_t tick,
              uint32_t rate, int64_t now);
void predictor_predict(const struct predictor *, int64_t now, uint32_t ahead,
                       struct prediction *);

size_t predictor_get_senders(const struct predictor *, int64_t now,
                             struct predictor_sender[PREDICTOR_MAX_SENDERS]);

uint64_t predictor_round_up(uint64_t tick, double spare);

#endif /* predictor.h */
