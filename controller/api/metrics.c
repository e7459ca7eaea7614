/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controller/api/http-server.h"
#include "controller/api/metrics-text.h"

/* Returns all metrics of 'sources', '*size' bytes, which the caller must
 * free. */
char *
metrics_render(const struct metrics_sources *sources, size_t *size)
{
    struct metrics m = { NULL, NULL };
    char *text;

    m.stream = open_memstream(&text, size);
    if (!m.stream) {
        abort();
    }
    metrics_process(&m, sources->started);
    metrics_http(&m, sources->http);
    metrics_switches(&m, sources->engine);
    metrics_instances(&m, sources->engine);
    metrics_senders(&m, sources->engine);
    metrics_control(&m, sources->engine);
    metrics_calls(&m);
    metrics_store(&m, sources->engine);
    metrics_traffic(&m, sources->engine);
    if (fclose(m.stream)) {
        abort();
    }
    return text;
}

static double
seconds__(struct timeval tv)
{
    return (double) tv.tv_sec + (double) tv.tv_usec / 1e6;
}

/* Returns how many pages of memory we have. */
static uint64_t
resident_pages__(void)
{
    FILE *stream = fopen("/proc/self/statm", "re");
    char line[128] = "";
    char *space;

    if (stream) {
        if (!fgets(line, sizeof line, stream)) {
            *line = '\0';
        }
        fclose(stream);
    }
    space = strchr(line, ' ');
    return space ? strtoul(space, NULL, 10) : 0;
}

/* Writes the metrics that Prometheus knows of any process. */
void
metrics_process(struct metrics *m, int64_t started)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    metrics_family(m, "process_cpu_seconds_total", METRICS_COUNTER,
                   "Processor time that evlbd used.");
    metrics_value(m, seconds__(usage.ru_utime) + seconds__(usage.ru_stime),
                  NULL);
    metrics_family(m, "process_resident_memory_bytes", METRICS_GAUGE,
                   "Memory that evlbd has.");
    metrics_count(m, resident_pages__() * (uint64_t) sysconf(_SC_PAGESIZE),
                  NULL);
    metrics_family(m, "process_start_time_seconds", METRICS_GAUGE,
                   "When evlbd was started, since 1970.");
    metrics_count(m, (uint64_t) started, NULL);
    metrics_family(m, "evlb_build_info", METRICS_GAUGE,
                   "The version of evlbd; always 1.");
    metrics_count(m, 1, "version", EVLB_VERSION, NULL);
}

void
metrics_http(struct metrics *m, const struct http_server *http)
{
    struct http_server_counters c;

    http_server_get_counters(http, &c);
    metrics_family(m, "evlb_http_open_connections", METRICS_GAUGE,
                   "Connections of HTTP.");
    metrics_count(m, c.n_connections, NULL);
    metrics_family(m, "evlb_http_connections_total", METRICS_COUNTER,
                   "Connections of HTTP, by what became of them.");
    metrics_count(m, c.n_accepted - c.n_refused, "result", "accepted", NULL);
    metrics_count(m, c.n_refused, "result", "refused", NULL);
    metrics_count(m, c.n_timed_out, "result", "timed_out", NULL);
    metrics_family(m, "evlb_http_requests_total", METRICS_COUNTER,
                   "Requests of HTTP.");
    metrics_count(m, c.n_requests, NULL);
}
