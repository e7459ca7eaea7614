/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/boundary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/epoch.h"
#include "controller/core/mem.h"

/* A boundary may be put off by this part of the look-ahead, to be coarse. */
#define COARSE_PART 4

/* Writes the ids of the senders in quarantine to 'ids'. */
static void
list_quarantined__(const struct prediction *prediction, char *ids, size_t size)
{
    size_t n = prediction->n_quarantined;
    size_t n_named = n < PREDICTOR_NAMED ? n : PREDICTOR_NAMED;
    size_t len = 0;

    ids[0] = '\0';
    for (size_t i = 0; i < n_named; i++) {
        snprintf(ids + len, size - len, "%s%" PRIu32, i ? ", " : "",
                 prediction->quarantined[i]);
        len = strlen(ids);
    }
    if (n > n_named) {
        snprintf(ids + len, size - len, " and %zu more", n - n_named);
    }
}

/* Returns a sentence about the senders in quarantine, which the caller must
 * free, or NULL if there are none. */
char *
boundary_describe_quarantine(const struct prediction *prediction)
{
    char ids[128];

    if (!prediction->n_quarantined) {
        return NULL;
    }
    list_quarantined__(prediction, ids, sizeof ids);
    return mem_printf("%zu of %zu senders (%s) are somewhere else than the "
                      "others",
                      prediction->n_quarantined, prediction->n_senders, ids);
}

/* Returns why 'prediction' says nothing. */
static char *
explain_unknown__(const struct boundary_settings *settings,
                  const struct prediction *prediction)
{
    char *quarantine = boundary_describe_quarantine(prediction);

    if (quarantine) {
        char *error = mem_printf("instance %s: %s, so that nobody knows how "
                                 "far the ticks are",
                                 settings->instance, quarantine);

        free(quarantine);
        return error;
    }
    if (prediction->age >= 0) {
        return mem_printf("instance %s: no sender has told its tick and rate "
                          "of late (the last Sync came %" PRId64 " ms ago), "
                          "so that nobody knows how far the ticks are",
                          settings->instance, prediction->age);
    }
    return mem_printf("instance %s: no Sync came at %s, so that nobody knows "
                      "how far the ticks are",
                      settings->instance, settings->sync);
}

static const char *
lead_source__(const struct boundary_settings *settings)
{
    return settings->lead_measured ? "measured" : "the setting min_lead";
}

/* Checks that an epoch may begin with tick 'first'.  Returns NULL, or the reason
 * why not, which the caller must free; stores in '*known' whether it is known
 * how far the ticks are. */
char *
boundary_check(const struct boundary_settings *settings,
               const struct predictor *predictor, uint64_t first, int64_t now,
               bool *known)
{
    struct prediction here, ahead;

    predictor_predict(predictor, now, 0, &here);
    predictor_predict(predictor, now, settings->lead, &ahead);
    *known = ahead.known;
    if (!ahead.known) {
        return explain_unknown__(settings, &ahead);
    }
    if (first <= ahead.tick) {
        return mem_printf("instance %s: tick %" PRIu64 " is too near: the "
                          "senders are at %" PRIu64 " now and make %.0f a "
                          "second; a change takes %" PRIu32 " ms (%s), so it "
                          "must be beyond %" PRIu64,
                          settings->instance, first, here.tick, here.rate,
                          settings->lead, lead_source__(settings), ahead.tick);
    }
    return NULL;
}

/* Returns the first coarse tick beyond 'ahead', as far as one may go.  Who told a
 * tick may have been about to go on to the next one. */
static uint64_t
choose__(const struct boundary_settings *settings,
         const struct prediction *ahead)
{
    bool limited = ahead->median_rate > 0 && ahead->tick >= ahead->limit;
    uint64_t nearest = ahead->tick + (limited ? 1 : 2);
    double spare =
        ahead->median_rate * settings->look_ahead / 1000 / COARSE_PART;
    uint64_t most = ahead->limit > nearest ? ahead->limit - nearest : 0;

    return predictor_round_up(nearest,
                              spare < (double) most ? spare : (double) most);
}

/* Chooses in '*first' where an epoch begins that comes after 'newest'.  Returns
 * NULL, or the reason why there is no such place, which the caller must
 * free. */
char *
boundary_choose(const struct boundary_settings *settings,
                const struct predictor *predictor, const struct epoch *newest,
                int64_t now, uint64_t *first)
{
    uint32_t lead = settings->lead;
    uint32_t look_ahead = settings->look_ahead;
    struct prediction ahead;

    if (lead / PREDICTOR_LOOK_AHEADS >= look_ahead) {
        return mem_printf("instance %s: a change takes %" PRIu32 " ms (%s), "
                          "which is %d times the look-ahead of %" PRIu32
                          " ms or more: look further ahead",
                          settings->instance, lead, lead_source__(settings),
                          PREDICTOR_LOOK_AHEADS, look_ahead);
    }
    predictor_predict(predictor, now, lead > look_ahead ? lead : look_ahead,
                      &ahead);
    if (!ahead.known) {
        return explain_unknown__(settings, &ahead);
    }
    if (ahead.tick >= PREDICTOR_TICK_MAX - 1) {
        return mem_printf("instance %s: the senders are at the last of all "
                          "ticks, so that no epoch can begin beyond: let "
                          "them count anew, and reset the instance",
                          settings->instance);
    }
    *first = choose__(settings, &ahead);
    if (*first <= newest->first) {
        return mem_printf("instance %s: an epoch from tick %" PRIu64 " on, "
                          "which is as far as one may look ahead, would not "
                          "be beyond epoch %" PRIu16 " from tick %" PRIu64
                          ": try again later",
                          settings->instance, *first, newest->id,
                          newest->first);
    }
    return NULL;
}
