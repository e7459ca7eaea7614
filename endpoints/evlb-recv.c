/* SPDX-License-Identifier: Apache-2.0 */

/* evlb-recv: receives events as a compute node does. */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoints/intake.h"
#include "endpoints/owned.h"
#include "endpoints/receiver.h"
#include "endpoints/recv-config.h"
#include "endpoints/recv-log.h"
#include "endpoints/recv-report.h"
#include "endpoints/registration.h"
#include "endpoints/util.h"
#include "endpoints/work.h"

/* Longest wait for packets, so that a signal just before it is seen, and so
 * that events are given up in time. */
#define MAX_WAIT_MS 50

/* How long to go on emptying the sockets once the end was asked for. */
#define MAX_DRAIN NS_PER_S

/* How often to look for new epochs: well within the time between the commit of
 * one and its first event. */
#define REFRESH (50 * NS_PER_MS)

struct run {
    struct recv_config config; /* What was asked for. */
    struct receiver *receiver; /* Gets packets. */
    struct intake *intake;     /* Makes events of them. */
    struct owned *owned;       /* Which events are ours, or NULL. */
    struct recv_log *log;      /* Writes both down. */
    struct work work;          /* What became whole, to be processed. */
    struct registration *registration; /* In the control plane, or NULL. */
    int64_t now;                       /* Monotonic ns. */
    int64_t first;                     /* When the first packet came. */
    int64_t last;          /* When the latest one did, or the start. */
    int64_t next_refresh;  /* When to look for new epochs. */
    int64_t next_progress; /* When to print the next line. */
    uint64_t shown;        /* Packets at the latest line. */
};

static void
take_datagram(const struct datagram *d, void *run_)
{
    struct run *run = run_;
    struct intake_packet p;

    run->now = clock_mono();
    intake_packet(run->intake, d->port, d->data, d->size, run->now, &p);
    recv_log_packet(run->log, d, &p);
}

static void
event_closed(const struct reassembly_event *e, void *run_)
{
    struct run *run = run_;

    if (e->closing == REASSEMBLY_CLOSED_COMPLETE) {
        work_put(&run->work, run->now);
    }
    recv_log_event(run->log, e);
}

static uint64_t
n_packets(const struct run *run)
{
    return intake_stats(run->intake)->packets;
}

static void
run_progress(struct run *run)
{
    const struct intake_stats *stats = intake_stats(run->intake);

    if (run->now < run->next_progress) {
        return;
    }
    run->next_progress = run->now + NS_PER_S;
    if (!run->config.quiet && stats->packets != run->shown) {
        fprintf(stderr,
                "evlb-recv: %" PRIu64 " events, %" PRIu64 " packets, "
                "%" PRIu64 " given up\n",
                stats->complete, stats->packets,
                stats->expired + stats->evicted);
        run->shown = stats->packets;
    }
}

/* Looks for new epochs if it is time for that. */
static char *
run_refresh(struct run *run)
{
    if (!run->owned || run->now < run->next_refresh) {
        return NULL;
    }
    run->next_refresh = run->now + REFRESH;
    return owned_refresh(run->owned);
}

/* Returns how full the fullest is of what events pass through here. */
static double
fill_of(const struct run *run)
{
    const struct reassembly_stats *stats =
        intake_reassembly_stats(run->intake);
    double open = stats->open / (double) run->config.max_open;
    double memory = stats->memory / (double) run->config.max_memory;
    double fill = fmax(work_fill(&run->work), receiver_fill(run->receiver));

    return fmin(fmax(fill, fmax(open, memory)), 1);
}

/* Lets the registration do what is due. */
static char *
run_registration(struct run *run)
{
    const struct intake_stats *stats = intake_stats(run->intake);
    const struct reassembly_stats *reassembly =
        intake_reassembly_stats(run->intake);
    uint64_t errors = stats->corrupt_events + stats->expired + stats->evicted;
    struct registration_sample sample = {
        .last_packet = run->last,
        .events = stats->complete + errors + reassembly->open,
        .reassembled = stats->complete,
        .reassembly_errs = errors,
        .dequeued = run->work.n_taken,
        .enqueue_errs = run->work.n_lost,
        .bytes = stats->bytes,
        .packets = stats->packets,
    };

    work_run(&run->work, run->now);
    if (!run->registration
        || run->now < registration_wakeup(run->registration)) {
        return NULL;
    }
    sample.fill = fill_of(run);
    return registration_run(run->registration, run->now, &sample);
}

/* Returns 'timeout_ms', or how long it is until the registration has something
 * to do. */
static int
bound_timeout(const struct run *run, int timeout_ms)
{
    int64_t left = run->registration
                       ? registration_wakeup(run->registration) - run->now
                       : INT64_MAX;

    left = left > 0 ? left : 0;
    return left < timeout_ms * NS_PER_MS ? left / NS_PER_MS : timeout_ms;
}

/* Returns how many packets may still be taken. */
static size_t
packets_left(const struct run *run)
{
    return (run->config.n_packets ? run->config.n_packets - n_packets(run)
                                  : SIZE_MAX);
}

/* Receives what comes within 'timeout_ms', sets '*n' to the number of packets,
 * and gives up old events. */
static char *
run_once(struct run *run, int timeout_ms, size_t *n)
{
    uint64_t before = n_packets(run);
    char *error;

    run->now = clock_mono();
    *n = 0;
    error = run_refresh(run);
    if (error) {
        return error;
    }
    timeout_ms = bound_timeout(run, timeout_ms);
    if (packets_left(run)) {
        error = receiver_poll(run->receiver, timeout_ms, packets_left(run),
                              take_datagram, run, n);
    } else {
        clock_sleep_until(run->now + timeout_ms * NS_PER_MS);
    }
    run->now = clock_mono();
    if (*n) {
        run->last = run->now;
        run->first = before ? run->first : run->now;
    }
    intake_run(run->intake, run->now);
    run_progress(run);
    return error ? error : run_registration(run);
}

static bool
is_over(const struct run *run)
{
    double idle = (run->now - run->last) / (double) NS_PER_S;

    return (stop_requested() || !packets_left(run)
            || (run->config.idle_exit && idle >= run->config.idle_exit));
}

/* Tells the control plane that the end is near, and receives what it still has
 * sent here. */
static char *
run_leave(struct run *run)
{
    char *error = NULL;
    size_t n;

    if (run->registration) {
        registration_stop(run->registration, run->now);
        while (!error && !registration_is_over(run->registration)) {
            error = run_once(run, MAX_WAIT_MS, &n);
        }
    }
    return error;
}

/* Receives until the end, then what is still in the sockets.  Returns NULL or
 * an error, which the caller frees. */
static char *
run_packets(struct run *run)
{
    char *error = NULL;
    int64_t drain_end;
    size_t n;

    run->now = run->first = run->last = clock_mono();
    run->next_progress = run->now + NS_PER_S;
    while (!error && !is_over(run)) {
        error = run_once(run, MAX_WAIT_MS, &n);
    }
    error = error ? error : run_leave(run);

    drain_end = run->now + MAX_DRAIN;
    n = 1;
    while (!error && n && packets_left(run) && run->now < drain_end) {
        error = run_once(run, 0, &n);
    }
    intake_flush(run->intake, run->now);
    return error;
}

/* Makes the file that says that all ports are open, with the process id. */
static char *
write_ready_file(const char *name)
{
    FILE *file = name ? fopen(name, "we") : NULL;

    if (!name) {
        return NULL;
    }
    if (!file || fprintf(file, "%ld\n", (long int) getpid()) < 0
        || fflush(file)) {
        char *error = xasprintf("%s: %s", name, strerror(errno));

        if (file) {
            fclose(file);
        }
        return error;
    }
    fclose(file);
    return NULL;
}

/* Opens what the run needs.  Returns NULL or an error, which the caller
 * frees. */
static char *
prepare(struct run *run)
{
    const struct recv_config *config = &run->config;
    struct intake_config intake_config;
    char *error;

    recv_config_to_intake(config, &intake_config);
    if (config->epochs) {
        run->owned =
            owned_create(config->epochs, config->instance, config->member);
        intake_config.owned = run->owned;
    }
    run->intake = intake_create(&intake_config, event_closed, run);
    if (!run->intake) {
        return xasprintf("not enough memory for --max-events %" PRIu64,
                         config->max_open);
    }
    work_init(&run->work, config->queue, config->process_rate);
    stop_on_signals();
    signal(SIGPIPE, SIG_IGN);
    error = recv_log_create(config->log, config->event_log, &run->log);
    error = error ? error : receiver_create(config, &run->receiver);
    if (!error && config->api.set) {
        run->registration = registration_create(
            &config->registration, &config->api, config->quiet, clock_mono());
    }
    return error ? error : write_ready_file(config->ready_file);
}

/* Receives and reports.  Returns NULL or an error, which the caller frees. */
static char *
execute(struct run *run)
{
    char *error = run_packets(run);
    struct recv_report report = {
        .config = &run->config,
        .receiver = run->receiver,
        .intake = run->intake,
        .work = &run->work,
        .registration = run->registration,
        .seconds = (run->last - run->first) / (double) NS_PER_S,
        .error = error,
    };

    if (run->config.json) {
        recv_report_json(&report);
    } else {
        recv_report_text(&report);
    }
    return error;
}

int
main(int argc, char *argv[])
{
    struct run run = { .receiver = NULL };
    int status = EXIT_SUCCESS;
    char *error = recv_config_parse(&run.config, argc, argv);
    char *log_error;

    if (error) {
        fprintf(stderr, "evlb-recv: %s\n", error);
        free(error);
        return EXIT_USAGE;
    }

    error = prepare(&run);
    error = error ? error : execute(&run);
    registration_destroy(run.registration);
    receiver_destroy(run.receiver);
    log_error = recv_log_destroy(run.log);
    intake_destroy(run.intake);
    owned_destroy(run.owned);
    if (error || log_error) {
        fprintf(stderr, "evlb-recv: %s\n", error ? error : log_error);
        status = EXIT_FAILURE;
    }
    free(error);
    free(log_error);
    return status;
}
