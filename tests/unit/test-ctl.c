/* SPDX-License-Identifier: Apache-2.0 */

/* What evlbctl's commands of the control API take and print. */

#include "controller/ctl/api.h"

#include <stdio.h>
#include <unistd.h>

#include "controller/core/mem.h"
#include "controller/ctl/workers.h"

#include "tests/unit/unit.h"

static void
check_duration(const char *s, int64_t expected)
{
    int64_t seconds;

    assert_int_equal(ctl_parse_duration(s, &seconds), expected >= 0);
    if (expected >= 0) {
        assert_int_equal(seconds, expected);
    }
}

static void
test_durations(void **state)
{
    (void) state;
    check_duration("0s", 0);
    check_duration("90s", 90);
    check_duration("30m", 1800);
    check_duration("8h", 28800);
    check_duration("7d", 604800);
    check_duration("36600d", INT64_C(3162240000));
    check_duration("36601d", -1);
    check_duration("18446744073709551615d", -1);
    check_duration("99999999999999999999d", -1);
    check_duration("", -1);
    check_duration("s", -1);
    check_duration("5", -1);
    check_duration("-5s", -1);
    check_duration("5w", -1);
    check_duration("1h30m", -1);
}

/* Checks that 's' is read and printed as it was, or not read. */
static void
check_ranges(const char *s, size_t n)
{
    struct ctl_ranges r;
    char *text;

    assert_int_equal(ctl_parse_ranges(s, &r), n != SIZE_MAX);
    if (n != SIZE_MAX) {
        assert_int_equal(r.n, n);
        text = ctl_format_ranges(r.pointers, r.n, 1000);
        assert_string_equal(text, *s ? s : "-");
        free(text);
    }
}

static void
test_ranges(void **state)
{
    (void) state;
    check_ranges("", 0);
    check_ranges("5", 1);
    check_ranges("0-511", 1);
    check_ranges("0-3,9,any:7", 3);
    check_ranges("65535", 1);
    check_ranges("65536", SIZE_MAX);
    check_ranges("0-65536", SIZE_MAX);
    check_ranges("5-4", SIZE_MAX);
    check_ranges("-1", SIZE_MAX);
    check_ranges("1-", SIZE_MAX);
    check_ranges("1-2-3", SIZE_MAX);
    check_ranges(",", SIZE_MAX);
    check_ranges("1,", SIZE_MAX);
    check_ranges("1,,2", SIZE_MAX);
    check_ranges("any:0", SIZE_MAX);
    check_ranges("any:", SIZE_MAX);
    check_ranges("any", SIZE_MAX);
    check_ranges("any:3-4", SIZE_MAX);
}

/* There is room for so many, and no more. */
static void
test_many_ranges(void **state)
{
    char s[2 * (SLOT_RANGES_MAX + 1)] = "";

    (void) state;
    for (int i = 0; i < SLOT_RANGES_MAX; i++) {
        snprintf(s + strlen(s), sizeof s - strlen(s), i ? ",1" : "1");
    }
    check_ranges(s, SLOT_RANGES_MAX);
    snprintf(s + strlen(s), sizeof s - strlen(s), ",1");
    check_ranges(s, SIZE_MAX);
}

/* Long lists are cut where a table is to be read. */
static void
test_cut_ranges(void **state)
{
    struct ctl_ranges r;
    char *text;

    (void) state;
    assert_true(ctl_parse_ranges("10-19,30-39,50-59,70", &r));
    text = ctl_format_ranges(r.pointers, r.n, 8);
    assert_string_equal(text, "10-19,30-39,...");
    free(text);

    /* What a server sends may be nonsense. */
    r.ranges[0].index = INT32_MAX;
    r.ranges[0].length = UINT32_MAX;
    text = ctl_format_ranges(r.pointers, 1, 8);
    assert_string_equal(text, "2147483647-6442450941");
    free(text);
}

/* Properties. */

static void
test_properties(void **state)
{
    int64_t count = 7;
    float real = 7;
    char *argv[] = { "real=-2.5", "count=9223372036854775807" };
    const struct ctl_property properties[] = {
        { .name = "real", .real = &real },
        { .name = "count", .i64 = &count },
    };

    (void) state;
    assert_int_equal(ctl_parse_properties(properties, 2, 2, argv), CTL_OK);
    assert_true(real == -2.5F);
    assert_int_equal(count, INT64_MAX);
    argv[1] = "count=9223372036854775808";
    assert_int_equal(ctl_parse_properties(properties, 2, 2, argv), CTL_USAGE);
    argv[1] = "count";
    assert_int_equal(ctl_parse_properties(properties, 2, 2, argv), CTL_USAGE);
    argv[1] = "real=nan";
    assert_int_equal(ctl_parse_properties(properties, 2, 2, argv), CTL_USAGE);
    argv[1] = "real=";
    assert_int_equal(ctl_parse_properties(properties, 2, 2, argv), CTL_USAGE);
}

/* The table of workers. */

/* A status with one worker, a second after its last report. */
struct look {
    Loadbalancer__LoadBalancerStatusReply status;
    Loadbalancer__WorkerStatus worker, *workers[1];
    Loadbalancer__HealthIssue issue, *issues[1];
    Google__Protobuf__Timestamp now, updated;
};

static void
look_init(struct look *l, int64_t now)
{
    loadbalancer__load_balancer_status_reply__init(&l->status);
    loadbalancer__worker_status__init(&l->worker);
    loadbalancer__health_issue__init(&l->issue);
    google__protobuf__timestamp__init(&l->now);
    google__protobuf__timestamp__init(&l->updated);
    l->now.seconds = now;
    l->updated.seconds = now - 1;
    l->worker.name = "node7";
    l->worker.sessionid = 3;
    l->worker.ipaddress = "2001:db8::1";
    l->worker.udpport = 10000;
    l->worker.portrange = LOADBALANCER__PORT_RANGE__PORT_RANGE_16;
    l->worker.fillpercent = 0.75F;
    l->worker.slotsassigned = 128;
    l->worker.lastupdated = &l->updated;
    l->issue.type = "silent";
    l->issue.severity = "warning";
    l->issue.message = "no report";
    l->workers[0] = &l->worker;
    l->issues[0] = &l->issue;
    l->status.timestamp = &l->now;
    l->status.slotresolution = 512;
    l->status.workers = l->workers;
    l->status.n_workers = 1;
}

/* Returns what workers_print() prints, which the caller frees. */
static char *
print(const struct look *look, const struct look *before, bool bars)
{
    FILE *file = tmpfile();
    int saved = dup(STDOUT_FILENO);
    char *text = mem_zalloc(4096);

    fflush(stdout);
    assert_non_null(file);
    dup2(fileno(file), STDOUT_FILENO);
    workers_print(&look->status, before ? &before->status : NULL, bars);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    rewind(file);
    assert_true(fread(text, 1, 4095, file) > 0);
    fclose(file);
    return text;
}

static void
check_print(const struct look *look, const struct look *before, bool bars,
            const char *const expected[])
{
    char *text = print(look, before, bars);

    for (size_t i = 0; expected[i]; i++) {
        if (!strstr(text, expected[i])) {
            fail_msg("\"%s\" lacks \"%s\"", text, expected[i]);
        }
    }
    free(text);
}

static void
test_one_look(void **state)
{
    struct look look;

    (void) state;
    look_init(&look, 1700000000);
    look.worker.totaleventsreassembled = 5;
    look.worker.totalbytesrecv = 2500000000;
    look.worker.totaleventsreassemblyerr = 1;
    look.worker.totaleventenqueueerr = 2;
    check_print(&look, NULL, false,
                (const char *const[]){
                    "2023-11-14T22:13:20Z: epoch 0", "1 worker, 0 senders",
                    "[2001:db8::1]:10000     16  75.0 %    0.000    128  "
                    "25.0 %       5  2.500 GB       3     1.0 s  ok",
                    NULL });
    look.worker.healthissues = look.issues;
    look.worker.n_healthissues = 1;
    check_print(&look, NULL, true,
                (const char *const[]){
                    "########..  75 %", "silent",
                    "node7: warning: no report (silent, since -)", NULL });
}

/* Rates are of what the session counted between two looks. */
static void
test_two_looks(void **state)
{
    struct look before, look;

    (void) state;
    look_init(&before, 1700000000);
    look_init(&look, 1700000002);
    before.worker.totaleventsreassembled = 100;
    before.worker.totalbytesrecv = 1000000000;
    look.worker.totaleventsreassembled = 300;
    look.worker.totalbytesrecv = 2000000000;
    check_print(&look, &before, false,
                (const char *const[]){ " 100/s  4.000 Gb/s ", NULL });

    /* Another session has none. */
    before.worker.sessionid = 2;
    check_print(&look, &before, false,
                (const char *const[]){ " 300  2.000 GB ", NULL });
}

/* Nothing of what a server may leave out, or set to nonsense, is a fault. */
static void
test_odd_looks(void **state)
{
    struct look look, before;

    (void) state;
    look_init(&look, 1700000000);
    look_init(&before, 1600000000);
    before.worker.totalbytesrecv = INT64_MAX;
    look.worker.totalbytesrecv = INT64_MIN;
    look.worker.totaleventsreassemblyerr = INT64_MAX;
    look.worker.totaleventenqueueerr = INT64_MAX;
    check_print(&look, &before, true,
                (const char *const[]){ "18446744073709551614", NULL });
    look.status.timestamp = NULL;
    look.status.slotresolution = 0;
    look.worker.lastupdated = NULL;
    look.worker.portrange = (Loadbalancer__PortRange) 77;
    look.worker.fillpercent = -3;
    check_print(&look, &look, true,
                (const char *const[]){ "never", "..........", NULL });
    look.worker.fillpercent = 1e30F;
    check_print(&look, NULL, true,
                (const char *const[]){ "##########", NULL });
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),   cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_many_ranges), cmocka_unit_test(test_cut_ranges),
        cmocka_unit_test(test_properties),  cmocka_unit_test(test_one_look),
        cmocka_unit_test(test_two_looks),   cmocka_unit_test(test_odd_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
