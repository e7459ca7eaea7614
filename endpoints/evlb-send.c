/* SPDX-License-Identifier: Apache-2.0 */

/* evlb-send: sends events as a data source does. */

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "lib/json.h"
#include "endpoints/pacer.h"
#include "endpoints/plan.h"
#include "endpoints/reorder.h"
#include "endpoints/send-config.h"
#include "endpoints/sender.h"
#include "endpoints/senders.h"
#include "endpoints/sync.h"
#include "endpoints/util.h"

/* Longest sleep, so that a signal just before it is not slept through. */
#define MAX_SLEEP (100 * NS_PER_MS)

/* How long the last packet may be under way to the balancer. */
#define LAST_PACKET (500 * NS_PER_MS)

struct run {
    struct send_config config; /* What was asked for. */
    struct plan plan;          /* What comes next. */
    struct pacer pacer;        /* When. */
    struct reorder reorder;    /* In which order. */
    struct sender *sender;     /* Sends it. */
    struct sync sync;          /* Tells the control plane. */
    bool added;                /* Are we among its senders? */
    int64_t started;           /* First packet, monotonic ns. */
    int64_t ended;             /* Last packet. */
    int64_t next_progress;     /* When to print the next line. */
    struct sender_stats shown; /* What the latest line counted. */
};

static uint64_t
coming_tick(const struct run *run)
{
    return plan_coming_tick(&run->plan, clock_real() / NS_PER_US);
}

static void
print_progress(struct run *run, int64_t now)
{
    const struct sender_stats *stats = sender_stats(run->sender);
    uint64_t bytes = stats->ip_bytes - run->shown.ip_bytes;

    fprintf(stderr,
            "evlb-send: %" PRId64 " s, tick %" PRIu64 ", %" PRIu64
            " events, %" PRIu64 " packets, %.3f Gb/s\n",
            (now - run->started) / NS_PER_S, stats->last_tick, stats->events,
            stats->packets, bytes * 8 / 1e9);
    run->shown = *stats;
    run->next_progress += NS_PER_S;
}

/* Does what is to be done each second. */
static void
run_timers(struct run *run, int64_t now)
{
    if (now >= sync_next(&run->sync)) {
        sync_run(&run->sync, coming_tick(run), now);
    }
    if (now >= run->next_progress && !run->config.quiet) {
        print_progress(run, now);
    }
}

/* Sleeps until 'due', or until something else is to be done. */
static void
wait_until(const struct run *run, int64_t due, int64_t now)
{
    int64_t when = now + MAX_SLEEP;

    when = due < when ? due : when;
    if (sync_next(&run->sync) < when) {
        when = sync_next(&run->sync);
    }
    clock_sleep_until(when);
}

/* Sends Sync alone for 'seconds'. */
static void
run_sync(struct run *run, double seconds)
{
    int64_t now = clock_mono();
    int64_t end = now + seconds * NS_PER_S;

    while (now < end && !stop_requested()) {
        sync_run(&run->sync, coming_tick(run), now);
        wait_until(run, end, now);
        now = clock_mono();
    }
}

/* Waits before the first event: so long that the control plane knows this
 * source by then, and so long as it is behind others. */
static void
run_lead(struct run *run)
{
    if (run->sync.fd >= 0) {
        run_sync(run, run->config.sync_lead);
    }
    run_sync(run, run->config.delay);
}

/* Returns true if no event is to be started any more. */
static bool
is_over(const struct run *run, int64_t now)
{
    double seconds = (now - run->started) / (double) NS_PER_S;

    return (stop_requested()
            || (run->config.duration && seconds >= run->config.duration));
}

/* Takes the next packet of the plan, and puts the one whose turn it is then
 * into the batch.  Returns false if the plan is at its end. */
static bool
put_next(struct run *run, int64_t now)
{
    struct plan_segment s, leaves;

    if (!plan_next(&run->plan, clock_real() / NS_PER_US, &s)) {
        return false;
    }
    if (reorder_put(&run->reorder, &s, &leaves)) {
        sender_put(run->sender, &leaves);
    }
    pacer_sent(&run->pacer, s.starts_event,
               send_config_overhead(&run->config) + s.size, now);
    return true;
}

/* Sends what is still held back.  Returns NULL or an error, which the caller
 * frees. */
static char *
run_held_back(struct run *run)
{
    struct plan_segment s;
    char *error = NULL;

    while (!error && reorder_drain(&run->reorder, &s)) {
        sender_put(run->sender, &s);
        if (sender_is_full(run->sender)) {
            error = sender_flush(run->sender);
        }
    }
    return error ? error : sender_flush(run->sender);
}

/* Sends all events.  When a signal or the time ends it, the event under way is
 * still sent whole.  Returns NULL or an error, which the caller frees. */
static char *
run_events(struct run *run)
{
    char *error = NULL;

    while (!error) {
        bool at_start = plan_at_event_start(&run->plan);
        int64_t due = pacer_due(&run->pacer, at_start);
        int64_t now = clock_mono();

        run_timers(run, now);
        if (at_start && is_over(run, now)) {
            break;
        } else if (due > now && !stop_requested()) {
            error = sender_flush(run->sender);
            wait_until(run, due, now);
        } else if (!put_next(run, now)) {
            break;
        } else if (sender_is_full(run->sender)) {
            error = sender_flush(run->sender);
        }
    }
    return error ? error : run_held_back(run);
}

static double
seconds_of(const struct run *run)
{
    int64_t ns = run->ended - run->started;

    return ns > 0 ? ns / (double) NS_PER_S : 1 / (double) NS_PER_S;
}

static void
report_json(const struct run *run, const char *error)
{
    const struct sender_stats *stats = sender_stats(run->sender);
    double seconds = seconds_of(run);
    struct json j;

    json_init(&j, stdout);
    json_open_object(&j, NULL);
    json_put_string(&j, "program", "evlb-send");
    json_put_bool(&j, "ok", !error);
    json_put_string(&j, "error", error ? error : "");
    json_put_number(&j, "events", stats->events);
    json_put_number(&j, "bundles", stats->bundles);
    json_put_number(&j, "packets", stats->packets);
    json_put_number(&j, "data_bytes", stats->data_bytes);
    json_put_number(&j, "ip_bytes", stats->ip_bytes);
    json_put_number(&j, "first_tick", stats->first_tick);
    json_put_number(&j, "last_tick", stats->last_tick);
    json_put_real(&j, "seconds", seconds);
    json_put_real(&j, "events_per_s", stats->events / seconds);
    json_put_real(&j, "packets_per_s", stats->packets / seconds);
    json_put_real(&j, "gbps", stats->ip_bytes * 8 / seconds / 1e9);
    json_put_number(&j, "retries", stats->retries);
    json_put_number(&j, "overtaken", run->reorder.n_overtaken);
    json_put_number(&j, "sync_sent", run->sync.n_sent);
    json_put_number(&j, "sync_errors", run->sync.n_errors);
    json_open_array(&j, "source_ports");
    for (size_t i = 0; i < run->config.plan.n_sockets; i++) {
        json_put_number(&j, NULL, sender_source_port(run->sender, i));
    }
    json_close_array(&j);
    json_close_object(&j);
}

static void
report_text(const struct run *run)
{
    const struct sender_stats *stats = sender_stats(run->sender);
    double seconds = seconds_of(run);

    printf("events     %" PRIu64 " (%.1f/s), ticks %" PRIu64 " to %" PRIu64
           "\n",
           stats->events, stats->events / seconds, stats->first_tick,
           stats->last_tick);
    printf("packets    %" PRIu64 " (%.1f/s), %" PRIu64 " retries\n",
           stats->packets, stats->packets / seconds, stats->retries);
    printf("data       %" PRIu64 " bytes, %.3f Gb/s of IP in %.3f s\n",
           stats->data_bytes, stats->ip_bytes * 8 / seconds / 1e9, seconds);
    if (run->config.reorder) {
        printf("order      %" PRIu64 " packets overtaken by later ones\n",
               run->reorder.n_overtaken);
    }
    if (run->sync.fd >= 0) {
        printf("sync       %" PRIu64 " sent, %" PRIu64 " failed\n",
               run->sync.n_sent, run->sync.n_errors);
    }
}

/* Returns the ticks a second that are known before the first event, or 0. */
static double
known_tick_rate(const struct send_config *config)
{
    return (config->plan.tick_clock ? 1e6
                                    : config->rate * config->plan.tick_step);
}

/* Opens what the run needs.  Returns NULL or an error, which the caller
 * frees. */
static char *
prepare(struct run *run)
{
    const struct send_config *config = &run->config;
    char *error = sync_open(&run->sync, &config->sync, config->sync_id,
                            known_tick_rate(config));

    plan_init(&run->plan, &config->plan);
    if (!reorder_init(&run->reorder, config->reorder,
                      config->plan.seed + config->sync_id)) {
        return error ? error
                     : xasprintf("not enough memory for --reorder %" PRIu64,
                                 config->reorder);
    }
    stop_on_signals();
    signal(SIGPIPE, SIG_IGN);

    /* Sleep as exactly as the kernel can. */
    prctl(PR_SET_TIMERSLACK, 1000);
    error = error ? error : sender_create(config, &run->sender);
    if (!error && config->add_sender) {
        error = senders_add(&config->api, &config->own);
        run->added = !error;
    }
    return error;
}

/* Undoes what prepare() did in the control plane, when the last packet has
 * passed the balancer.  Returns NULL or an error, which the caller frees. */
static char *
retreat(struct run *run)
{
    if (!run->added) {
        return NULL;
    }
    clock_sleep_until(run->ended + LAST_PACKET);
    return senders_remove(&run->config.api, &run->config.own);
}

/* Sends and reports.  Returns NULL or an error, which the caller frees. */
static char *
execute(struct run *run)
{
    char *error;

    run_lead(run);
    run->started = clock_mono();
    run->next_progress = run->started + NS_PER_S;
    pacer_init(&run->pacer, run->config.rate, run->config.gbps, run->started);
    error = run_events(run);
    run->ended = clock_mono();

    if (run->config.json) {
        report_json(run, error);
    } else {
        report_text(run);
    }
    return error;
}

int
main(int argc, char *argv[])
{
    struct run run = { .sync.fd = -1 };
    int status = EXIT_SUCCESS;
    char *error = send_config_parse(&run.config, argc, argv);
    char *log_error, *late_error;

    if (error) {
        fprintf(stderr, "evlb-send: %s\n", error);
        free(error);
        return EXIT_USAGE;
    }

    error = prepare(&run);
    error = error ? error : execute(&run);
    late_error = retreat(&run);
    reorder_destroy(&run.reorder);
    log_error = sender_destroy(run.sender);
    sync_close(&run.sync);
    if (error || log_error || late_error) {
        fprintf(stderr, "evlb-send: %s\n",
                error       ? error
                : log_error ? log_error
                            : late_error);
        status = EXIT_FAILURE;
    }
    free(error);
    free(late_error);
    free(log_error);
    return status;
}
