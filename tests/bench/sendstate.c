/* SPDX-License-Identifier: Apache-2.0 */

/* Many workers that report to an evlbd.
 *
 * usage: sendstate URI WORKERS INTERVAL_MS SECONDS
 *
 * Reserves as many instances as the workers need, registers them, and has each
 * of them report on a connection of its own, at the given interval.  A report
 * that is due while the one before is not answered is not sent, and counted as
 * late.  Prints what came of it, as JSON. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "controller/api/api-client.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "controller/core/mem.h"
#include "lib/ejfat-uri.h"

#define WORKERS_OF_ONE 500 /* Workers of one reservation. */
#define TIMEOUT_MS 10000
#define BUCKETS 10000 /* Of latencies, 0.1 ms each. */

struct worker {
    struct api_client *client;
    struct event *timer;
    char *lb_id;
    char *session;
    char *token;
    int64_t sent; /* When the report under way was, in us; or 0. */
};

static struct {
    struct ejfat_uri uri;
    struct event_base *base;
    struct worker *workers;
    unsigned int n_workers;
    unsigned int interval;
    uint64_t n_done, n_failed, n_late;
    uint64_t latencies[BUCKETS + 1];
} bench;

static int64_t
now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Calls 'method' and returns its reply, which the caller must free. */
static ProtobufCMessage *
call(struct api_client *client, const char *method,
     const ProtobufCMessage *request, const char *token)
{
    ProtobufCMessage *reply;
    char *message;

    if (api_client_wait(client, method, request, token, TIMEOUT_MS, &reply,
                        &message)) {
        fprintf(stderr, "sendstate: %s: %s\n", method, message);
        exit(1);
    }
    return reply;
}

static void
register_worker(struct api_client *client, struct worker *w, unsigned int i)
{
    Loadbalancer__RegisterRequest request =
        LOADBALANCER__REGISTER_REQUEST__INIT;
    Loadbalancer__RegisterReply *reply;
    char *address = mem_printf("10.1.%u.%u", i / 250 % 250, i % 250 + 1);
    char *name = mem_printf("worker%u", i);

    request.lbid = w->lb_id;
    request.name = name;
    request.weight = 1;
    request.ipaddress = address;
    request.udpport = 20000;
    reply = (Loadbalancer__RegisterReply *) call(client, "Register",
                                                 &request.base, NULL);
    w->session = mem_strdup(reply->sessionid);
    w->token = mem_strdup(reply->token);
    protobuf_c_message_free_unpacked(&reply->base, NULL);
    free(address);
    free(name);
}

static char *
reserve(struct api_client *client)
{
    Loadbalancer__ReserveLoadBalancerRequest request =
        LOADBALANCER__RESERVE_LOAD_BALANCER_REQUEST__INIT;
    Loadbalancer__ReserveLoadBalancerReply *reply;
    char *id;

    reply = (Loadbalancer__ReserveLoadBalancerReply *) call(
        client, "ReserveLoadBalancer", &request.base, NULL);
    id = mem_strdup(reply->lbid);
    protobuf_c_message_free_unpacked(&reply->base, NULL);
    return id;
}

static void
done_cb(void *w_, enum grpc_status status, const char *message,
        const ProtobufCMessage *reply)
{
    struct worker *w = w_;
    int64_t us = now_us() - w->sent;

    (void) reply;
    w->sent = 0;
    if (status) {
        if (!bench.n_failed++) {
            fprintf(stderr, "sendstate: %s\n", message);
        }
        return;
    }
    bench.n_done++;
    bench.latencies[us / 100 < BUCKETS ? us / 100 : BUCKETS]++;
}

static void
timer_cb(evutil_socket_t fd, short events, void *w_)
{
    Loadbalancer__SendStateRequest request =
        LOADBALANCER__SEND_STATE_REQUEST__INIT;
    struct worker *w = w_;

    (void) fd;
    (void) events;
    if (w->sent) {
        bench.n_late++;
        return;
    }
    request.lbid = w->lb_id;
    request.sessionid = w->session;
    request.fillpercent = 0.5f;
    request.isready = true;
    request.totaleventsrecv = (int64_t) bench.n_done;
    w->sent = now_us();
    api_client_call(w->client, "SendState", &request.base, w->token,
                    TIMEOUT_MS, done_cb, w);
}

static void
set_up(void)
{
    const struct api_client_config config = { .uri = &bench.uri };
    struct api_client *client = api_client_create(bench.base, &config);

    for (unsigned int i = 0; i < bench.n_workers; i++) {
        struct worker *w = &bench.workers[i];

        w->lb_id = i % WORKERS_OF_ONE ? mem_strdup(bench.workers[i - 1].lb_id)
                                      : reserve(client);
        register_worker(client, w, i);
        w->client = api_client_create(bench.base, &config);
        w->timer = event_new(bench.base, -1, EV_PERSIST, timer_cb, w);
    }
    api_client_destroy(client);
}

/* Has all workers begin, one after the other within an interval. */
static void
begin_cb(evutil_socket_t fd, short events, void *next_)
{
    const struct timeval interval = { bench.interval / 1000,
                                      bench.interval % 1000 * 1000 };
    unsigned int *next = next_;

    (void) fd;
    (void) events;
    for (unsigned int i = 0; i < 20 && *next < bench.n_workers; i++) {
        event_add(bench.workers[(*next)++].timer, &interval);
    }
}

static double
percentile(double part)
{
    uint64_t sum = 0;

    for (unsigned int i = 0; i <= BUCKETS; i++) {
        sum += bench.latencies[i];
        if ((double) sum >= part * (double) bench.n_done) {
            return i / 10.0;
        }
    }
    return 0;
}

static void
run(unsigned int seconds)
{
    static const struct timeval pace = { 0, 2000 };
    const struct timeval length = { seconds, 0 };
    unsigned int next = 0;
    struct event *begin =
        event_new(bench.base, -1, EV_PERSIST, begin_cb, &next);
    int64_t started = now_us();
    double elapsed;

    event_add(begin, &pace);
    event_base_loopexit(bench.base, &length);
    event_base_dispatch(bench.base);
    event_free(begin);
    elapsed = (double) (now_us() - started) / 1e6;
    printf("{\"calls_per_second\": %.0f, \"done\": %" PRIu64
           ", \"failed\": %" PRIu64 ", \"late\": %" PRIu64
           ", \"p50_ms\": %.1f, \"p99_ms\": %.1f}\n",
           (double) bench.n_done / elapsed, bench.n_done, bench.n_failed,
           bench.n_late, percentile(0.5), percentile(0.99));
}

int
main(int argc, char *argv[])
{
    char *error;

    if (argc != 5) {
        fprintf(stderr, "usage: sendstate URI WORKERS INTERVAL_MS SECONDS\n");
        return 2;
    }
    error = ejfat_uri_parse(argv[1], &bench.uri);
    if (error) {
        fprintf(stderr, "sendstate: %s\n", error);
        free(error);
        return 2;
    }
    bench.n_workers = (unsigned int) strtoul(argv[2], NULL, 10);
    bench.interval = (unsigned int) strtoul(argv[3], NULL, 10);
    bench.workers = mem_zalloc(bench.n_workers * sizeof *bench.workers);
    bench.base = event_base_new();
    set_up();
    run((unsigned int) strtoul(argv[4], NULL, 10));
    return 0;
}
