/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/epoch-log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/core/calendar.h"
#include "controller/core/instance.h"
#include "controller/core/mem.h"

/* An epoch that was recorded. */
struct recorded {
    char *bridge;
    uint16_t instance;
    uint16_t epoch;
};

struct epoch_log {
    FILE *stream; /* NULL if nothing is to be written. */
    struct recorded *recorded;
    size_t n;
    size_t allocated;
};

/* Opens a log that appends to 'file', or that writes nothing if 'file' is
 * NULL.  Returns NULL and stores it in '*logp', or returns an error, which the
 * caller must free. */
char *
epoch_log_open(const char *file, struct epoch_log **logp)
{
    struct epoch_log *log = mem_zalloc(sizeof *log);

    *logp = log;
    if (file) {
        log->stream = fopen(file, "ae");
        if (!log->stream) {
            free(log);
            *logp = NULL;
            return mem_printf("%s: %s", file, strerror(errno));
        }
    }
    return NULL;
}

/* Closes 'log', which may be NULL. */
void
epoch_log_close(struct epoch_log *log)
{
    if (log) {
        if (log->stream) {
            fclose(log->stream);
        }
        for (size_t i = 0; i < log->n; i++) {
            free(log->recorded[i].bridge);
        }
        free(log->recorded);
        free(log);
    }
}

static bool
is_recorded__(const struct epoch_log *log, const char *bridge,
              uint16_t instance, uint16_t epoch)
{
    for (size_t i = 0; i < log->n; i++) {
        const struct recorded *r = &log->recorded[i];

        if (r->instance == instance && r->epoch == epoch
            && !strcmp(r->bridge, bridge)) {
            return true;
        }
    }
    return false;
}

/* Writes 's' as a JSON string. */
static void
write_string__(FILE *stream, const char *s)
{
    putc('"', stream);
    for (; *s; s++) {
        unsigned char c = (unsigned char) *s;

        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
            fprintf(stream, "\\u%04x", c);
        } else {
            putc(c, stream);
        }
    }
    putc('"', stream);
}

static void
write__(FILE *stream, const char *bridge, const struct instance *instance,
        const struct epoch *epoch)
{
    const struct calendar *calendar = epoch->calendar;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(stream,
            "{\"time\": %" PRId64 ".%03ld, \"switch\": ", (int64_t) now.tv_sec,
            now.tv_nsec / 1000000);
    write_string__(stream, bridge);
    fputs(", \"instance\": ", stream);
    write_string__(stream, instance->name);
    fprintf(stream,
            ", \"instance_id\": %" PRIu16 ", \"epoch\": %" PRIu16
            ", \"from\": %" PRIu64 ", \"bits\": %" PRIu8 ", \"xor\": %" PRIu16
            ", \"slots\": [",
            instance->id, epoch->id, epoch->first, calendar->bits, epoch->xor);
    for (size_t i = 0; i < calendar_n_slots(calendar); i++) {
        fprintf(stream, "%s%" PRIu16, i ? ", " : "", calendar->members[i]);
    }
    fputs("]}\n", stream);
    fflush(stream);
}

/* Forgets what was recorded of 'instance' on 'bridge' and is not connected any
 * more: its ids may come again. */
static void
forget_old__(struct epoch_log *log, const char *bridge,
             const struct instance *instance)
{
    size_t n = 0;

    for (size_t i = 0; i < log->n; i++) {
        struct recorded *r = &log->recorded[i];

        if (r->instance == instance->id && !strcmp(r->bridge, bridge)
            && !epochs_find_id(&instance->epochs, r->epoch)) {
            free(r->bridge);
        } else {
            log->recorded[n++] = *r;
        }
    }
    log->n = n;
}

/* Records that 'bridge' holds 'epoch' of 'instance'.  Returns false if this was
 * recorded before. */
bool
epoch_log_committed(struct epoch_log *log, const char *bridge,
                    const struct instance *instance, const struct epoch *epoch)
{
    if (is_recorded__(log, bridge, instance->id, epoch->id)) {
        return false;
    }
    forget_old__(log, bridge, instance);
    if (log->n >= log->allocated) {
        log->recorded =
            mem_grow(log->recorded, &log->allocated, sizeof *log->recorded);
    }
    log->recorded[log->n++] =
        (struct recorded){ mem_strdup(bridge), instance->id, epoch->id };
    if (log->stream) {
        write__(log->stream, bridge, instance, epoch);
    }
    return true;
}
