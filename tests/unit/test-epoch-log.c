/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/epoch-log.h"

#include <stdio.h>
#include <unistd.h>

#include "controller/core/calendar.h"
#include "controller/core/instance.h"
#include "tests/unit/unit.h"

/* Returns the contents of 'name', without the time of each line. */
static void
read_log(const char *name, char *buf, size_t size)
{
    FILE *stream = fopen(name, "r");
    size_t n = 0;
    char line[512];

    assert_non_null(stream);
    while (fgets(line, sizeof line, stream)) {
        char *rest = strchr(line, ',');

        assert_true(!strncmp(line, "{\"time\": 1", 10));
        n += (size_t) snprintf(buf + n, size - n, "%s", rest + 2);
    }
    fclose(stream);
}

static void
test_records(void **state)
{
    char name[] = "/tmp/test-epoch-log-XXXXXX";
    const struct calendar_share shares[] = { { 1, 1, 0, 0 },
                                             { 65534, 1, 0, 0 } };
    char instance_name[] = "a \"quoted\"\n\\ name";
    const struct instance instance = { .name = instance_name, .id = 221 };
    const struct calendar *calendar;
    struct epoch epoch = { 7, UINT64_MAX, 0xffff, NULL };
    struct epoch_log *log;
    char text[1024];

    (void) state;
    close(mkstemp(name));
    unit_assert_error(calendar_create(shares, 2, 2, &calendar), NULL);
    epoch.calendar = calendar;

    unit_assert_error(epoch_log_open(name, &log), NULL);
    assert_true(epoch_log_committed(log, "br0", &instance, &epoch));
    assert_false(epoch_log_committed(log, "br0", &instance, &epoch));
    assert_true(epoch_log_committed(log, "br1", &instance, &epoch));
    epoch_log_close(log);

    /* Another run appends. */
    unit_assert_error(epoch_log_open(name, &log), NULL);
    epoch.id = 8;
    assert_true(epoch_log_committed(log, "br0", &instance, &epoch));
    epoch_log_close(log);

#define REST(BRIDGE, EPOCH)                                         \
    "\"switch\": \"" BRIDGE "\", "                                  \
    "\"instance\": \"a \\u0022quoted\\u0022\\u000a\\u005c name\", " \
    "\"instance_id\": 221, \"epoch\": " EPOCH ", "                  \
    "\"from\": 18446744073709551615, \"bits\": 2, \"xor\": 65535, " \
    "\"slots\": [1, 65534, 1, 65534]}\n"
    read_log(name, text, sizeof text);
    assert_string_equal(text,
                        REST("br0", "7") REST("br1", "7") REST("br0", "8"));
    unlink(name);
    calendar_unref(calendar);
}

/* Without a file it still knows what is new. */
static void
test_no_file(void **state)
{
    const struct instance instance = { .id = 1 };
    const struct epoch epoch = { 7, 0, 0, NULL };
    struct epoch_log *log;

    (void) state;
    unit_assert_error(epoch_log_open(NULL, &log), NULL);
    assert_true(epoch_log_committed(log, "br0", &instance, &epoch));
    assert_false(epoch_log_committed(log, "br0", &instance, &epoch));
    epoch_log_close(log);
    epoch_log_close(NULL);
}

/* Ids wrap around: one that is connected again is a new epoch.  Nothing is
 * kept of those that have gone. */
static void
test_wrap_around(void **state)
{
    const struct instance instance = { .id = 1 };
    struct epoch epoch = { 0, 0, 0, NULL };
    struct epoch_log *log;

    (void) state;
    unit_assert_error(epoch_log_open(NULL, &log), NULL);
    for (uint32_t i = 0; i < 3 * 65536; i++) {
        epoch.id = (uint16_t) i;
        assert_true(epoch_log_committed(log, "br0", &instance, &epoch));
    }
    epoch_log_close(log);
}

static void
test_bad_file(void **state)
{
    struct epoch_log *log;

    (void) state;
    unit_assert_error(epoch_log_open("/nowhere/log", &log),
                      "/nowhere/log: No such file");
    assert_null(log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_wrap_around),
        cmocka_unit_test(test_bad_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
