/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/recv-report.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/json.h"

static void
json_verdicts(struct json *j, const struct intake_stats *stats)
{
    json_open_object(j, "verdicts");
    for (int v = 0; v < INTAKE_N_VERDICTS; v++) {
        json_put_number(j, intake_verdict_to_string(v), stats->verdicts[v]);
    }
    json_close_object(j);
}

static void
json_events(struct json *j, const struct intake_stats *stats,
            const struct reassembly_stats *reassembly)
{
    json_open_object(j, "events");
    json_put_number(j, "complete", stats->complete);
    json_put_number(j, "complete_bytes", stats->complete_bytes);
    json_put_number(j, "duplicated", reassembly->duplicated_events);
    json_put_number(j, "foreign", reassembly->foreign_events);
    json_put_number(j, "corrupt", stats->corrupt_events);
    json_put_number(j, "expired", stats->expired);
    json_put_number(j, "evicted", stats->evicted);
    json_put_number(j, "unfinished", stats->unfinished);
    json_put_number(j, "missing_bytes", stats->missing_bytes);
    json_close_object(j);
}

static void
json_ports(struct json *j, const struct recv_report *report)
{
    json_open_array(j, "ports");
    for (size_t i = 0; i < report->config->n_ports; i++) {
        json_open_object(j, NULL);
        json_put_number(j, "port", report->config->port + i);
        json_put_number(j, "packets",
                        receiver_port_packets(report->receiver, i));
        json_put_number(j, "kernel_drops",
                        receiver_port_drops(report->receiver, i));
        json_close_object(j);
    }
    json_close_array(j);
}

static void
json_sources(struct json *j, const struct recv_report *report)
{
    json_open_array(j, "sources");
    for (int i = 0; i < INTAKE_N_SOURCES; i++) {
        const struct intake_source *s = intake_source(report->intake, i);

        if (s->packets) {
            json_open_object(j, NULL);
            json_put_number(j, "data_id", i);
            json_put_number(j, "packets", s->packets);
            json_put_number(j, "bytes", s->bytes);
            json_put_number(j, "complete", s->complete);
            json_put_number(j, "incomplete", s->incomplete);
            json_close_object(j);
        }
    }
    json_close_array(j);
}

/* Prints 'report' as a JSON object. */
void
recv_report_json(const struct recv_report *report)
{
    const struct intake_stats *stats = intake_stats(report->intake);
    const struct reassembly_stats *reassembly =
        intake_reassembly_stats(report->intake);
    struct json j;

    json_init(&j, stdout);
    json_open_object(&j, NULL);
    json_put_string(&j, "program", "evlb-recv");
    json_put_bool(&j, "ok", !report->error);
    json_put_string(&j, "error", report->error ? report->error : "");
    json_put_real(&j, "seconds", report->seconds);
    json_put_number(&j, "packets", stats->packets);
    json_put_number(&j, "bytes", stats->bytes);
    json_put_number(&j, "kernel_drops", receiver_drops(report->receiver));
    json_put_number(&j, "rcvbuf", receiver_rcvbuf(report->receiver));
    json_put_number(&j, "reordered", reassembly->reordered);
    json_put_number(&j, "port_changes", reassembly->port_changes);
    json_put_number(&j, "lb_v2", stats->lb_v2);
    json_put_number(&j, "lb_v3", stats->lb_v3);
    json_put_number(&j, "wrong_port", stats->wrong_port);
    json_put_number(&j, "foreign", stats->foreign);
    json_verdicts(&j, stats);
    json_events(&j, stats, reassembly);
    json_put_number(&j, "processed", report->work->n_taken);
    json_put_number(&j, "queue_full", report->work->n_lost);
    if (report->registration) {
        registration_report_json(report->registration, &j);
    }
    json_ports(&j, report);
    json_sources(&j, report);
    json_close_object(&j);
}

/* Prints 'report' for people.  Verdicts that no packet got are left out. */
void
recv_report_text(const struct recv_report *report)
{
    const struct intake_stats *stats = intake_stats(report->intake);
    const struct reassembly_stats *reassembly =
        intake_reassembly_stats(report->intake);

    printf("events     %" PRIu64 " complete, %" PRIu64 " corrupt, %" PRIu64
           " expired, %" PRIu64 " evicted, %" PRIu64 " unfinished; "
           "%" PRIu64 " duplicated, %" PRIu64 " foreign\n",
           stats->complete, stats->corrupt_events, stats->expired,
           stats->evicted, stats->unfinished, reassembly->duplicated_events,
           reassembly->foreign_events);
    printf("data       %" PRIu64 " bytes complete, %" PRIu64 " missing\n",
           stats->complete_bytes, stats->missing_bytes);
    printf("packets    %" PRIu64 ", %" PRIu64 " bytes, in %.3f s; %" PRIu64
           " reordered, %" PRIu64 " port changes, %" PRIu64 " dropped by the "
           "kernel\n",
           stats->packets, stats->bytes, report->seconds,
           reassembly->reordered, reassembly->port_changes,
           receiver_drops(report->receiver));
    if (report->work->n_lost) {
        printf("  queue_full       %" PRIu64 " events\n",
               report->work->n_lost);
    }
    for (int v = 0; v < INTAKE_N_VERDICTS; v++) {
        if (stats->verdicts[v]) {
            printf("  %-16s %" PRIu64 "\n", intake_verdict_to_string(v),
                   stats->verdicts[v]);
        }
    }
}
