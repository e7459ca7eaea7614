/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/metrics-text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/histogram.h"

static const char *
type_to_string__(enum metrics_type type)
{
    switch (type) {
    case METRICS_COUNTER:
        return "counter";
    case METRICS_GAUGE:
        return "gauge";
    case METRICS_HISTOGRAM:
        return "histogram";
    }
    return "untyped";
}

/* Starts the family 'name', of which 'help' says what it is in a sentence. */
void
metrics_family(struct metrics *m, const char *name, enum metrics_type type,
               const char *help)
{
    m->name = name;
    fprintf(m->stream, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
            type_to_string__(type));
}

static void
write_quoted__(FILE *stream, const char *s)
{
    putc('"', stream);
    for (; *s; s++) {
        if (*s == '\n') {
            fputs("\\n", stream);
        } else {
            if (*s == '"' || *s == '\\') {
                putc('\\', stream);
            }
            putc(*s, stream);
        }
    }
    putc('"', stream);
}

static void
write_name__(const struct metrics *m, va_list labels)
{
    const char *name;
    bool any = false;

    fputs(m->name, m->stream);
    while ((name = va_arg(labels, const char *)) != NULL) {
        fprintf(m->stream, "%c%s=", any ? ',' : '{', name);
        write_quoted__(m->stream, va_arg(labels, const char *));
        any = true;
    }
    fputs(any ? "} " : " ", m->stream);
}

/* Writes 'value' with as few digits as tell it from all others. */
static void
write_number__(FILE *stream, double value)
{
    char s[32];

    if (isnan(value)) {
        fputs("NaN", stream);
    } else if (isinf(value)) {
        fputs(value > 0 ? "+Inf" : "-Inf", stream);
    } else {
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(s, sizeof s, "%.*g", digits, value);
            if (strtod(s, NULL) == value) {
                break;
            }
        }
        fputs(s, stream);
    }
}

/* Writes a sample of the family, with the labels that follow. */
void
metrics_value(struct metrics *m, double value, ...)
{
    va_list labels;

    va_start(labels, value);
    write_name__(m, labels);
    va_end(labels);
    write_number__(m->stream, value);
    putc('\n', m->stream);
}

/* Likewise, for a whole number. */
void
metrics_count(struct metrics *m, uint64_t value, ...)
{
    va_list labels;

    va_start(labels, value);
    write_name__(m, labels);
    va_end(labels);
    fprintf(m->stream, "%" PRIu64 "\n", value);
}

/* Writes all samples of the family, a histogram without labels. */
void
metrics_histogram(struct metrics *m, const struct histogram *h)
{
    uint64_t n = 0;

    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        n += h->counts[i];
        fprintf(m->stream, "%s_bucket{le=\"", m->name);
        write_number__(m->stream, histogram_bound(i));
        fprintf(m->stream, "\"} %" PRIu64 "\n", n);
    }
    fprintf(m->stream, "%s_sum ", m->name);
    write_number__(m->stream, h->sum);
    fprintf(m->stream, "\n%s_count %" PRIu64 "\n", m->name, n);
}
