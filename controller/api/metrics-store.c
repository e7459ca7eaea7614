/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics of what survives a restart, and of the history. */

#include "controller/api/metrics.h"

#include <stdlib.h>

#include "controller/api/metrics-text.h"
#include "controller/engine.h"
#include "controller/store/series.h"
#include "controller/store/store.h"

static void
count__(struct metrics *m, const char *name, uint64_t n, const char *help)
{
    metrics_family(m, name, METRICS_COUNTER, help);
    metrics_count(m, n, NULL);
}

static void
gauge__(struct metrics *m, const char *name, double value, const char *help)
{
    metrics_family(m, name, METRICS_GAUGE, help);
    metrics_value(m, value, NULL);
}

/* Returns 1 if there is no 'error', which is freed, and 0 otherwise. */
static double
healthy__(char *error)
{
    double healthy = error ? 0 : 1;

    free(error);
    return healthy;
}

static void
write_store__(struct metrics *m, struct store *store)
{
    struct store_stats s;

    store_get_stats(store, &s);
    gauge__(m, "evlb_store_healthy", healthy__(store_get_error(store)),
            "Could the last change be stored?");
    count__(m, "evlb_store_transactions_total", s.transactions,
            "Changes that are on the disk.");
    count__(m, "evlb_store_failures_total", s.failures,
            "Changes that could not be stored, and were refused.");
    gauge__(m, "evlb_store_queue", (double) s.queue,
            "Changes that wait to be stored.");
    count__(m, "evlb_store_commits_total", s.commits,
            "Commits, each of one or more changes.");
    metrics_family(m, "evlb_store_commit_seconds_total", METRICS_COUNTER,
                   "How long all commits together took.");
    metrics_value(m, (double) s.commit_us / 1e6, NULL);
    gauge__(m, "evlb_store_commit_seconds_max", (double) s.max_us / 1e6,
            "How long the longest commit took.");
}

static void
write_history__(struct metrics *m, struct series *series)
{
    struct series_stats s;

    series_get_stats(series, &s);
    gauge__(m, "evlb_history_healthy", healthy__(series_get_error(series)),
            "Could the last rows of the history be written?");
    count__(m, "evlb_history_rows_total", s.written,
            "Rows of the history that were written.");
    count__(m, "evlb_history_dropped_total", s.dropped,
            "Rows of the history that were lost.");
    count__(m, "evlb_history_deleted_total", s.deleted,
            "Rows of the history that were too old, or too many.");
    gauge__(m, "evlb_history_queue", (double) s.queue,
            "Rows of the history that wait to be written.");
    gauge__(m, "evlb_history_bytes", (double) s.size,
            "Bytes that the history has in its file.");
}

void
metrics_store(struct metrics *m, struct engine *engine)
{
    if (engine_get_store(engine)) {
        write_store__(m, engine_get_store(engine));
    }
    if (engine_get_series(engine)) {
        write_history__(m, engine_get_series(engine));
    }
}
