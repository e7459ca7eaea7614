/* SPDX-License-Identifier: Apache-2.0 */

/* What was recorded. */

#include "controller/ctl/api.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/rfc3339.h"

/* Prints the time 'ms', milliseconds since 1970, and a tab. */
static void
print_time__(const char *name, int64_t ms)
{
    char s[RFC3339_STRLEN];
    int32_t nanos = (int32_t) (ms % 1000) * 1000000;

    if (ms < 0 || !rfc3339_format(ms / 1000, nanos, s)) {
        snprintf(s, sizeof s, "%" PRId64, ms);
    }
    printf("%s\t%s\t", name, s);
}

static void
print_series__(const Loadbalancer__Timeseries *s)
{
    switch ((unsigned int) s->timeseries_case) {
    case LOADBALANCER__TIMESERIES__TIMESERIES_INTEGER_SAMPLES:
        for (size_t i = 0; i < s->integer_samples->n_data; i++) {
            const Loadbalancer__IntegerSample *sample =
                s->integer_samples->data[i];

            print_time__(s->name, sample->timestamp);
            printf("%" PRId64 "\t%s\n", sample->value, s->unit);
        }
        break;
    case LOADBALANCER__TIMESERIES__TIMESERIES_FLOAT_SAMPLES:
        for (size_t i = 0; i < s->float_samples->n_data; i++) {
            const Loadbalancer__FloatSample *sample =
                s->float_samples->data[i];

            print_time__(s->name, sample->timestamp);
            printf("%g\t%s\n", (double) sample->value, s->unit);
        }
        break;
    default:
        break;
    }
}

static void
print_timeseries__(const void *reply)
{
    const Loadbalancer__TimeseriesResponse *r = reply;

    printf("series\ttime\tvalue\tunit\n");
    for (size_t i = 0; i < r->n_timeseries; i++) {
        print_series__(r->timeseries[i]);
    }
}

/* timeseries SELECTOR... */
int
ctl_run_timeseries(struct ctl *ctl, const struct ctl_command *command,
                   int argc, char *argv[])
{
    Loadbalancer__TimeseriesRequest r = LOADBALANCER__TIMESERIES_REQUEST__INIT;
    Google__Protobuf__Timestamp since;
    int code = ctl_parse_since(ctl, &since, &r.since);

    (void) command;
    r.seriesselector = argv;
    r.n_seriesselector = (size_t) argc;
    return (code == CTL_OK
                ? ctl_api_run(ctl, "Timeseries", &r.base, print_timeseries__)
                : code);
}
