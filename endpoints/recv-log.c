/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/recv-log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints/payload.h"
#include "endpoints/util.h"

#define BUFFER_BYTES (1024 * 1024)

#define PACKET_COLUMNS                                                 \
    "time_ns\tport\tsource\tsource_port\tversion\ttick\tslot_select\t" \
    "entropy\tdata_id\tevent_num\toffset\tsize\tlength\tcrc32c\tstatus\n"
#define EVENT_COLUMNS                                                  \
    "time_ns\topened_ns\tport\tdata_id\tevent_num\tlength\treceived\t" \
    "segments\tport_changed\tforeign\tstatus\n"

struct recv_log {
    FILE *packets;            /* Or NULL. */
    FILE *events;             /* Or NULL. */
    const char *packets_name; /* For errors, borrowed. */
    const char *events_name;  /* For errors, borrowed. */
    int64_t mono_to_real;     /* To add to monotonic time, ns. */
};

static char *
open_log(const char *name, const char *columns, FILE **log)
{
    if (!name) {
        return NULL;
    }
    *log = fopen(name, "we");
    if (!*log) {
        return xasprintf("%s: %s", name, strerror(errno));
    }
    setvbuf(*log, NULL, _IOFBF, BUFFER_BYTES);
    fputs(columns, *log);
    return NULL;
}

/* Opens the files for 'packets' and 'events', either of which may be NULL for
 * no log.  '*logp' is set, also on errors, and is to be freed with
 * recv_log_destroy().  Returns NULL or an error, which the caller frees. */
char *
recv_log_create(const char *packets, const char *events,
                struct recv_log **logp)
{
    struct recv_log *log = *logp = xcalloc(1, sizeof *log);
    char *error;

    log->packets_name = packets;
    log->events_name = events;
    log->mono_to_real = clock_real() - clock_mono();
    error = open_log(packets, PACKET_COLUMNS, &log->packets);
    return error ? error : open_log(events, EVENT_COLUMNS, &log->events);
}

/* Closes 'log'.  Returns NULL, or an error if it is not whole, which the
 * caller frees. */
static char *
close_log(FILE *log, const char *name)
{
    bool bad = log && ferror(log);

    if (log && (fclose(log) || bad)) {
        return xasprintf("%s: writing failed: %s", name, strerror(errno));
    }
    return NULL;
}

/* Closes and frees 'log'.  Returns NULL, or an error if a file is not whole,
 * which the caller frees. */
char *
recv_log_destroy(struct recv_log *log)
{
    char *error, *more;

    if (!log) {
        return NULL;
    }
    error = close_log(log->packets, log->packets_name);
    more = close_log(log->events, log->events_name);
    free(log);
    if (error) {
        free(more);
        return error;
    }
    return more;
}

static void
log_source(FILE *log, const union address *from)
{
    char text[INET6_ADDRSTRLEN] = "-";

    if (from->sa.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &from->in6.sin6_addr, text, sizeof text);
    } else {
        inet_ntop(AF_INET, &from->in.sin_addr, text, sizeof text);
    }
    fprintf(log, "%s\t%u\t", text, address_port(from));
}

/* Logs datagram 'd', of which 'p' is known. */
void
recv_log_packet(struct recv_log *log, const struct datagram *d,
                const struct intake_packet *p)
{
    if (!log->packets) {
        return;
    }
    fprintf(log->packets, "%" PRId64 "\t%u\t", d->time, d->port);
    log_source(log->packets, d->from);
    if (p->has_lb) {
        fprintf(log->packets, "%u\t%" PRIu64 "\t%u\t%u\t", p->lb.version,
                p->lb.tick, p->lb.slot_select, p->lb.port_select);
    } else {
        fputs("-\t-\t-\t-\t", log->packets);
    }
    if (p->has_re) {
        fprintf(log->packets,
                "%u\t%" PRIu64 "\t%" PRIu32 "\t%zu\t%" PRIu32 "\t"
                "%08" PRIx32 "\t",
                p->re.data_id, p->re.event_num, p->re.offset, p->size,
                p->re.length, payload_crc32c(p->data, p->size));
    } else {
        fprintf(log->packets, "-\t-\t-\t%zu\t-\t-\t", p->size);
    }
    fprintf(log->packets, "%s\n", intake_verdict_to_string(p->verdict));
}

/* Logs closed event 'e'. */
void
recv_log_event(struct recv_log *log, const struct reassembly_event *e)
{
    if (log->events) {
        fprintf(log->events,
                "%" PRId64 "\t%" PRId64 "\t%u\t%u\t%" PRIu64 "\t"
                "%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%d\t%d\t%s\n",
                e->closed + log->mono_to_real, e->opened + log->mono_to_real,
                e->port, e->data_id, e->event_num, e->length, e->received,
                e->segments, e->port_changed, e->foreign,
                reassembly_closing_to_string(e->closing));
    }
}
