/* SPDX-License-Identifier: Apache-2.0 */

/* Command lines of the programs at the ends: what is accepted, what comes of
 * it, and what the errors say. */

#include "endpoints/options.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "endpoints/address.h"
#include "lib/json.h"
#include "endpoints/recv-config.h"
#include "endpoints/send-config.h"
#include "endpoints/util.h"
#include "tests/unit/unit.h"

#define MAX_ARGS 16

/* Splits 'line' at blanks into 'argv', behind a program name.  Returns the
 * number of arguments. */
static int
split(char *line, char *argv[])
{
    char *save = NULL;
    int argc = 0;

    argv[argc++] = (char *) "program";
    for (char *word = strtok_r(line, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        assert_true(argc < MAX_ARGS);
        argv[argc++] = word;
    }
    return argc;
}

/* A table of its own. */

struct target {
    bool flag;
    uint64_t number;
    struct options_range range;
    double real;
    const char *string;
    union address address;
    union address peer;
};

#define TO(MEMBER) offsetof(struct target, MEMBER)

static const struct option_row rows[] = {
    { "flag", NULL, "Flag", options_flag, TO(flag), 0, 0 },
    { "number", "N", "Number", options_number, TO(number), 3, 500 },
    { "big", "N", "Number", options_number, TO(number), 0, UINT64_MAX },
    { "range", "N[-N]", "Range", options_numbers, TO(range), 3, 500 },
    { "real", "N", "Real", options_real, TO(real), 0, 100 },
    { "string", "S", "String", options_string, TO(string), 0, 0 },
    { "address", "A", "Address", options_address, TO(address), 0, 0 },
    { "peer", "A:P", "Address and port", options_address_port, TO(peer), 0,
      0 },
};

static const struct options options = { "test", "a test", rows,
                                        ARRAY_SIZE(rows) };

/* Parses 'line' with the table.  Returns the error, which the caller frees. */
static char *
parse(const char *line, struct target *target)
{
    char *argv[MAX_ARGS];
    char copy[400];
    int argc;

    snprintf(copy, sizeof copy, "%s", line);
    argc = split(copy, argv);
    memset(target, 0, sizeof *target);
    return options_parse(&options, argc, argv, target);
}

static void
test_values(void **state)
{
    struct target t;

    (void) state;
    unit_assert_error(parse("", &t), NULL);
    assert_false(t.flag);
    unit_assert_error(parse("--flag --number 500 --range 3-4", &t), NULL);
    assert_true(t.flag);
    assert_int_equal(t.number, 500);
    assert_int_equal(t.range.min, 3);
    assert_int_equal(t.range.max, 4);
    unit_assert_error(parse("--number=3 --range=0x10 --real 0.5", &t), NULL);
    assert_int_equal(t.number, 3);
    assert_int_equal(t.range.min, 16);
    assert_int_equal(t.range.max, 16);
    assert_true(t.real > 0.49 && t.real < 0.51);
    unit_assert_error(parse("--number 4 --number 5", &t), NULL);
    assert_int_equal(t.number, 5); /* The last one counts. */
    unit_assert_error(parse("--big 18446744073709551615", &t), NULL);
    assert_int_equal(t.number, UINT64_MAX);
}

/* What is refused, with words of the error. */
static void
test_errors(void **state)
{
    static const struct {
        const char *line;
        const char *error;
    } cases[] = {
        { "--number 2", "--number: '2' is not a number from 3 to 500" },
        { "--number 501", "--number: '501' is not a number from 3 to 500" },
        { "--number -5", "--number: '-5' is not a number" },
        { "--number +5", "--number: '+5' is not a number" },
        { "--number 5x", "--number: '5x' is not a number" },
        { "--number x", "--number: 'x' is not a number" },
        { "--number=", "--number: '' is not a number" },
        { "--number 0x", "--number: '0x' is not a number" },
        { "--number 5.0", "--number: '5.0' is not a number" },
        { "--big 18446744073709551616", "--big: '18446744073709551616'" },
        { "--range 2-5", "--range: '2-5' is not a number or MIN-MAX from 3" },
        { "--range 5-501", "to 500" },
        { "--range 5-4", "--range: '5-4'" },
        { "--range 5-", "--range: '5-'" },
        { "--range -5", "--range: '-5'" },
        { "--range 5-6-7", "--range: '5-6-7'" },
        { "--real 0", "--real: '0' is not a number over 0 and up to 100" },
        { "--real -1", "--real: '-1'" },
        { "--real 101", "--real: '101'" },
        { "--real nan", "--real: 'nan'" },
        { "--real inf", "--real: 'inf'" },
        { "--real 1x", "--real: '1x'" },
        { "--real=", "--real: ''" },
        { "--string=", "--string: a value that is not empty" },
        { "--number", "--number: a value, N, is missing" },
        { "--flag=1", "--flag: it takes no value" },
        { "--flat", "--flat: no such option" },
        { "--fla", "--fla: no such option" }, /* Nothing is guessed. */
        { "--flags", "--flags: no such option" },
        { "--", "--: no such option" },
        { "-n 5", "'-n': options start with --" },
        { "number", "'number': options start with --" },
        { "--flag number", "'number': options start with --" },
        { "--address 1.2.3", "--address: '1.2.3' is not an IPv4 or IPv6" },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct target t;

        unit_assert_error(parse(cases[i].line, &t), cases[i].error);
    }
}

/* The help names each option with its argument, and what all programs have. */
static void
test_help(void **state)
{
    char text[4096] = "";
    FILE *stream = fmemopen(text, sizeof text - 1, "w");

    (void) state;
    assert_non_null(stream);
    options_print_help(&options, stream);
    assert_int_equal(fclose(stream), 0);
    assert_non_null(strstr(text, "test: a test\n"));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char row[64];

        snprintf(row, sizeof row, "  --%s%s%s ", rows[i].name,
                 rows[i].arg ? " " : "", rows[i].arg ? rows[i].arg : "");
        assert_non_null(strstr(text, row));
    }
    assert_non_null(strstr(text, "  --help "));
    assert_non_null(strstr(text, "  --version "));
}

/* Addresses. */

static void
test_addresses(void **state)
{
    static const struct {
        const char *text;
        const char *formatted; /* NULL if it is refused. */
    } cases[] = {
        { "127.0.0.1", "127.0.0.1:0" },
        { "0.0.0.0", "0.0.0.0:0" },
        { "::1", "[::1]:0" },
        { "[::1]", "[::1]:0" },
        { "2001:db8::ffff", "[2001:db8::ffff]:0" },
        { "fe80::1%lo", "[fe80::1%lo]:0" },
        { "::ffff:1.2.3.4", "[::ffff:1.2.3.4]:0" },
        { "", NULL },
        { "[]", NULL },
        { "[::1", NULL },
        { "::1]", NULL },
        { "[[::1]]", NULL },
        { "[127.0.0.1]", NULL },
        { "127.1", NULL },
        { "127.0.0.1.", NULL },
        { "256.0.0.1", NULL },
        { "127.0.0.1:5", NULL },
        { "::1::", NULL },
        { "localhost", NULL },
        { "12345::1", NULL },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        union address a;
        char *error = address_parse(cases[i].text, &a);
        char *text = address_format(&a);

        unit_assert_error(error, cases[i].formatted ? NULL : "is not an IPv4");
        assert_int_equal(address_is_set(&a), cases[i].formatted != NULL);
        assert_string_equal(
            text, (cases[i].formatted ? cases[i].formatted : "(none)"));
        free(text);
    }
}

static void
test_addresses_with_port(void **state)
{
    static const struct {
        const char *text;
        const char *error; /* NULL if it is accepted. */
        uint16_t port;
    } cases[] = {
        { "127.0.0.1:1", NULL, 1 },
        { "127.0.0.1:65535", NULL, 65535 },
        { "[::1]:19531", NULL, 19531 },
        { "127.0.0.1:0", "a port from 1", 0 },
        { "127.0.0.1:65536", "a port from 1", 0 },
        { "127.0.0.1:99999999999999999999", "a port from 1", 0 },
        { "127.0.0.1:", "a port from 1", 0 },
        { "127.0.0.1:-5", "a port from 1", 0 },
        { "127.0.0.1: 5", "a port from 1", 0 },
        { "127.0.0.1:5x", "a port from 1", 0 },
        { "127.0.0.1", "a port from 1", 0 },
        { ":5", "is not an IPv4", 0 },
        { "", "a port from 1", 0 },
        { "::1:5", "brackets", 0 },
        { "[::1:5", "brackets", 0 },
        { "::1]:5", "brackets", 0 },
        { "[127.0.0.1]:5", "is not an IPv4", 0 },
        { "host:5", "is not an IPv4", 0 },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        union address a;

        unit_assert_error(address_parse_with_port(cases[i].text, &a),
                          cases[i].error);
        if (!cases[i].error) {
            assert_int_equal(address_port(&a), cases[i].port);
        }
    }
}

static void
test_address_lengths(void **state)
{
    union address a;

    (void) state;
    unit_assert_error(address_parse("1.2.3.4", &a), NULL);
    assert_int_equal(address_len(&a), sizeof(struct sockaddr_in));
    assert_int_equal(a.in.sin_addr.s_addr, htonl(0x01020304));
    address_set_port(&a, 0x1234);
    assert_int_equal(a.in.sin_port, htons(0x1234));
    unit_assert_error(address_parse("::2", &a), NULL);
    assert_int_equal(address_len(&a), sizeof(struct sockaddr_in6));
    assert_int_equal(a.in6.sin6_addr.s6_addr[15], 2);
    address_set_port(&a, 0x1234);
    assert_int_equal(address_port(&a), 0x1234);
}

/* evlb-send. */

static char *
parse_send(const char *line, struct send_config *config)
{
    char *argv[MAX_ARGS];
    char copy[400];
    int argc;

    snprintf(copy, sizeof copy, "%s", line);
    argc = split(copy, argv);
    return send_config_parse(config, argc, argv);
}

static void
test_send_defaults(void **state)
{
    struct send_config c;

    (void) state;
    unit_assert_error(parse_send("--dest 10.0.0.1", &c), NULL);
    assert_int_equal(c.plan.n_events, 1000);
    assert_int_equal(c.plan.ports.min, 19522);
    assert_int_equal(c.plan.ports.max, 19522);
    assert_int_equal(c.plan.lb_version, 2);
    assert_int_equal(c.plan.tick_step, 1);
    assert_int_equal(c.plan.entropy.how, PLAN_SELECT_DATA_ID);
    assert_int_equal(c.plan.slot.how, PLAN_SELECT_TICK);
    assert_int_equal(c.sync_id, 1);
    assert_false(address_is_set(&c.sync));
    assert_false(address_is_set(&c.source));
}

/* A packet has room for MTU - 64 bytes of data with IPv4, MTU - 84 with
 * IPv6. */
static void
test_send_room(void **state)
{
    struct send_config c;

    (void) state;
    unit_assert_error(parse_send("--dest 10.0.0.1", &c), NULL);
    assert_int_equal(c.plan.max_segment, 1436);
    unit_assert_error(parse_send("--dest ::1 --mtu 9000", &c), NULL);
    assert_int_equal(c.plan.max_segment, 8916);
    unit_assert_error(parse_send("--dest [::1] --mtu 100", &c), NULL);
    assert_int_equal(c.plan.max_segment, 16);
}

static void
test_send_selectors(void **state)
{
    struct send_config c;

    (void) state;
    unit_assert_error(parse_send("--dest ::1 --lb-version 3 --entropy random "
                                 "--slot-select 65535",
                                 &c),
                      NULL);
    assert_int_equal(c.plan.entropy.how, PLAN_SELECT_RANDOM);
    assert_int_equal(c.plan.slot.how, PLAN_SELECT_FIXED);
    assert_int_equal(c.plan.slot.value, 65535);
    unit_assert_error(parse_send("--dest ::1 --lb-version 3 --entropy 9 "
                                 "--slot-select random",
                                 &c),
                      NULL);
    assert_int_equal(c.plan.entropy.how, PLAN_SELECT_FIXED);
    assert_int_equal(c.plan.entropy.value, 9);
    assert_int_equal(c.plan.slot.how, PLAN_SELECT_RANDOM);
}

static void
test_send_ids(void **state)
{
    struct send_config c;

    (void) state;
    unit_assert_error(parse_send("--dest ::1 --data-id 4-7", &c), NULL);
    assert_int_equal(c.plan.data_ids.max, 7);
    assert_int_equal(c.sync_id, 4);
    assert_false(c.plan.own_event_nums);
    unit_assert_error(parse_send("--dest ::1 --sync-id 0 --event-start 5 "
                                 "--tick-step 0",
                                 &c),
                      NULL);
    assert_int_equal(c.sync_id, 0);
    assert_true(c.plan.own_event_nums);
    assert_int_equal(c.plan.event_start, 5);
}

static void
check_address(const union address *a, const char *expected)
{
    char *text = address_format(a);

    assert_string_equal(text, expected);
    free(text);
}

/* What is not given is the URI's. */
static void
test_send_uri(void **state)
{
    static const char uri[] = "ejfat://t@192.0.2.1:19523/lb/7"
                              "?sync=[::2]:19531&sync=127.0.0.8:19532"
                              "&data=[::1]:4000-5000&data=127.0.0.9";
    struct send_config c;
    char line[200];

    (void) state;
    snprintf(line, sizeof line, "--add-sender --uri %s", uri);
    unit_assert_error(parse_send(line, &c), NULL);
    check_address(&c.dest, "127.0.0.9:0");
    check_address(&c.sync, "127.0.0.8:19532");
    check_address(&c.own, "127.0.0.1:0");
    assert_int_equal(c.plan.ports.min, 19522);
    assert_int_equal(c.plan.ports.max, 19522);

    snprintf(line, sizeof line, "--add-sender --source ::1 --uri %s", uri);
    unit_assert_error(parse_send(line, &c), NULL);
    check_address(&c.dest, "[::1]:0");
    check_address(&c.sync, "[::2]:19531");
    check_address(&c.own, "[::1]:0");
    assert_int_equal(c.plan.ports.min, 4000);

    snprintf(line, sizeof line,
             "--dest ::5 --port 7-9 --sync 1.2.3.4:5 --uri %s", uri);
    unit_assert_error(parse_send(line, &c), NULL);
    check_address(&c.dest, "[::5]:0");
    check_address(&c.sync, "1.2.3.4:5");
    assert_int_equal(c.plan.ports.max, 9);
    assert_false(address_is_set(&c.own));
}

static void
test_send_errors(void **state)
{
    static const struct {
        const char *line;
        const char *error;
    } cases[] = {
        { "", "--dest: it is needed" },
        { "--uri ejfat://t@h:19523/lb/1", "the URI has no data=" },
        { "--uri ejfat://t@h:19523/lb/1?data=1.2.3.4 --source ::1",
          "the URI has no data= of that family" },
        { "--dest ::1 --add-sender", "--add-sender: it needs a URI" },
        { "--dest ::1 --uri x", "--uri: EJFAT_URI: it starts" },
        { "--dest ::1 --ca x", "--ca: it is of use" },
        { "--dest ::1 --source 1.2.3.4", "--source: it must be of the same" },
        { "--dest ::1 --mtu 99", "from 100 to 9000" },
        { "--dest ::1 --mtu 9001", "from 100 to 9000" },
        { "--dest ::1 --lb-version 1", "--lb-version: '1' is not a number" },
        { "--dest ::1 --entropy tick",
          "--entropy: 'tick' is not 'random', "
          "'data-id' or a number from 0 to 65535" },
        { "--dest ::1 --slot-select 65536 --lb-version 3",
          "--slot-select: '65536' is not 'random', 'tick' or a number" },
        { "--dest ::1 --slot-select 1", "use --lb-version 3" },
        { "--dest ::1 --tick-step 0", "--tick-step: 0 needs --event-start" },
        { "--dest ::1 --tick-clock --tick-start 5", "--tick-clock: it" },
        { "--dest ::1 --tick-clock --tick-step 5", "--tick-clock: it" },
        { "--dest ::1 --sockets 257", "from 1 to 256" },
        { "--dest ::1 --sockets 2 --source-port 65535", "below 65536" },
        { "--dest ::1 --event-size 4294967296", "to 4294967295" },
        { "--dest ::1 --data-id 65536", "from 0 to 65535" },
        { "--dest ::1 --sync ::1:5", "--sync: '::1:5': an IPv6 address" },
        { "--dest ::1 --event-start x", "--event-start: 'x'" },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct send_config c;

        unit_assert_error(parse_send(cases[i].line, &c), cases[i].error);
    }
}

/* evlb-recv. */

static char *
parse_recv(const char *line, struct recv_config *config)
{
    char *argv[MAX_ARGS];
    char copy[400];
    int argc;

    snprintf(copy, sizeof copy, "%s", line);
    argc = split(copy, argv);
    return recv_config_parse(config, argc, argv);
}

static void
test_recv_intake(void **state)
{
    struct intake_config intake;
    struct recv_config c;

    (void) state;
    unit_assert_error(parse_recv("--listen ::1 --port 10000 --ports 16 "
                                 "--timeout 0.5 --max-events 7 --keep",
                                 &c),
                      NULL);
    recv_config_to_intake(&c, &intake);
    assert_int_equal(intake.port_base, 10000);
    assert_int_equal(intake.port_bits, 4);
    assert_true(intake.keep);
    assert_false(intake.any_payload);
    assert_int_equal(intake.reassembly.timeout, 500000000);
    assert_int_equal(intake.reassembly.linger, 5000000000);
    assert_int_equal(intake.reassembly.max_open, 7);

    unit_assert_error(
        parse_recv("--listen ::1 --port 65535 --payload any", &c), NULL);
    recv_config_to_intake(&c, &intake);
    assert_int_equal(intake.port_bits, 0);
    assert_true(intake.any_payload);
}

static void
test_recv_errors(void **state)
{
    static const struct {
        const char *line;
        const char *error;
    } cases[] = {
        { "--port 1", "--listen: it is needed" },
        { "--listen ::1", "--port: it is needed" },
        { "--listen ::1 --port 0", "from 1 to 65535" },
        { "--listen ::1 --port 1 --ports 0", "'0' is not a power of two" },
        { "--listen ::1 --port 1 --ports 3", "'3' is not a power of two" },
        { "--listen ::1 --port 1 --ports 32768", "from 1 to 16384" },
        { "--listen ::1 --port 65535 --ports 2", "do not fit below 65536" },
        { "--listen ::1 --port 1 --payload none", "'evlb' or 'any'" },
        { "--listen ::1 --port 1 --max-memory 5", "--max-memory: it must" },
        { "--listen ::1 --port 1 --idle-exit 0", "--idle-exit: '0'" },
        { "--listen ::1 --port 1 --rcvbuf 1", "from 4096" },
        { "--listen ::1 --port 1 --slots 5-4", "--slots: '5-4' is not" },
        { "--listen ::1 --port 1 --slots any:0", "--slots: 'any:0'" },
        { "--listen ::1 --port 1 --slots 1,", "--slots: '1,'" },
        { "--listen ::1 --port 1 --slots 1,,2", "--slots: '1,,2'" },
        { "--listen ::1 --port 1 --slots 65536", "--slots: '65536' is not" },
        { "--listen ::1 --port 1 --control nan", "--control: 'nan'" },
        { "--listen ::1 --port 1 --control 1001", "from -1000 to 1000" },
        { "--listen ::1 --port 1 --control pid", "is not 'pi' or a number" },
        { "--listen ::1 --port 1 --min-factor 2 --max-factor 1",
          "--max-factor: it must not be less" },
        { "--listen ::1 --port 1 --ca x", "--ca: it is of use" },
        { "--listen ::1 --port 1 --uri ejfat://t@h:19523/lb/1 --insecure",
          "--insecure: it is of use" },
        { "--uri http://h --port 1", "--uri: EJFAT_URI: it starts" },
        { "--uri ejfat://t@h:19523/lb/ --port 1", "it has no reservation" },
        { "--uri ejfat://h:19523/lb/1 --port 1", "it has no token" },
        { "--uri ejfat://t@h:19523/lb/1 --port 1", "--listen: it is needed" },
        { "--uri ejfat://t@h:19523/lb/1 --port 1 --listen 0.0.0.0",
          "--address: it is needed" },
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct recv_config c;

        unit_assert_error(parse_recv(cases[i].line, &c), cases[i].error);
    }
}

/* What is registered follows from the URI, the routes and the options. */
static void
test_recv_registration(void **state)
{
    static const char uri[] = "ejfat://t@192.0.2.1:19523/lb/7"
                              "?data=127.0.0.9:16384-32767&data=[::1]";
    struct recv_config c;
    char line[200], *text;

    (void) state;
    unit_assert_error(parse_recv("--listen ::1 --port 1 --uri none", &c),
                      NULL);
    assert_false(c.api.set);

    snprintf(line, sizeof line, "--port 10000 --ports 8 --uri %s", uri);
    unit_assert_error(parse_recv(line, &c), NULL);
    assert_true(c.api.set);
    text = address_format(&c.registration.address);
    assert_string_equal(text, "127.0.0.1:10000");
    free(text);
    assert_int_equal(c.registration.port_bits, 3);
    assert_true(*c.registration.name);
    assert_int_equal(c.registration.worker.interval, 100000000);
    assert_false(c.registration.keep);

    snprintf(line, sizeof line,
             "--listen :: --port 5 --keep --slots 3,8-9,any:4 --uri %s", uri);
    unit_assert_error(parse_recv(line, &c), NULL);
    text = address_format(&c.registration.address);
    assert_string_equal(text, "[::1]:5");
    free(text);
    assert_true(c.registration.keep);
    assert_int_equal(c.registration.slots.n, 3);
    assert_int_equal(c.registration.slots.ranges[0].index, 3);
    assert_int_equal(c.registration.slots.ranges[0].length, 1);
    assert_int_equal(c.registration.slots.ranges[1].length, 2);
    assert_int_equal(c.registration.slots.ranges[2].index, -1);
    assert_int_equal(c.registration.slots.ranges[2].length, 4);

    snprintf(line, sizeof line,
             "--listen :: --port 5 --address 192.0.2.7 --name n --uri %s",
             uri);
    unit_assert_error(parse_recv(line, &c), NULL);
    text = address_format(&c.registration.address);
    assert_string_equal(text, "192.0.2.7:5");
    free(text);
    assert_string_equal(c.registration.name, "n");
}

/* The environment's URI is used where none is given. */
static void
test_recv_environment(void **state)
{
    struct recv_config c;

    (void) state;
    setenv(EJFAT_URI_VARIABLE, "ejfat://t@h:19523/lb/3", 1);
    unit_assert_error(parse_recv("--listen ::1 --port 1", &c), NULL);
    assert_true(c.api.set);
    assert_string_equal(c.api.uri.lb_id, "3");
    unit_assert_error(parse_recv("--listen ::1 --port 1 --uri none", &c),
                      NULL);
    assert_false(c.api.set);
    setenv(EJFAT_URI_VARIABLE, "", 1);
    unit_assert_error(parse_recv("--listen ::1 --port 1", &c), NULL);
    assert_false(c.api.set);
    unsetenv(EJFAT_URI_VARIABLE);
}

/* Reports. */

static void
test_json(void **state)
{
    char text[512] = "";
    FILE *stream = fmemopen(text, sizeof text - 1, "w");
    struct json j;

    (void) state;
    assert_non_null(stream);
    json_init(&j, stream);
    json_open_object(&j, NULL);
    json_put_number(&j, "n", UINT64_MAX);
    json_put_real(&j, "r", 0.5);
    json_put_bool(&j, "b", true);
    json_put_string(&j, "s", "a\"b\\c\n\x01");
    json_open_array(&j, "empty");
    json_close_array(&j);
    json_open_array(&j, "list");
    json_put_number(&j, NULL, 1);
    json_put_number(&j, NULL, 2);
    json_open_object(&j, NULL);
    json_close_object(&j);
    json_close_array(&j);
    json_close_object(&j);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, "{\n"
                              "  \"n\": 18446744073709551615,\n"
                              "  \"r\": 0.500,\n"
                              "  \"b\": true,\n"
                              "  \"s\": \"a\\\"b\\\\c\\u000a\\u0001\",\n"
                              "  \"empty\": [],\n"
                              "  \"list\": [\n"
                              "    1,\n"
                              "    2,\n"
                              "    {}\n"
                              "  ]\n"
                              "}\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_addresses_with_port),
        cmocka_unit_test(test_address_lengths),
        cmocka_unit_test(test_send_defaults),
        cmocka_unit_test(test_send_room),
        cmocka_unit_test(test_send_selectors),
        cmocka_unit_test(test_send_ids),
        cmocka_unit_test(test_send_uri),
        cmocka_unit_test(test_send_errors),
        cmocka_unit_test(test_recv_intake),
        cmocka_unit_test(test_recv_errors),
        cmocka_unit_test(test_recv_registration),
        cmocka_unit_test(test_recv_environment),
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
