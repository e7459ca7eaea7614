/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/config.h"

#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "tests/unit/unit.h"

/* libconfig leaks a string that is cut short by the end of the file. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
    return "leak:libconfig";
}

/* A configuration with everything in it.  The mistakes below are made by
 * replacing words in it. */
static const char good[] =
    "openflow = { listen = [ \"tcp:127.0.0.1:6653\", \"tcp:[::1]:7000\",\n"
    "                        \"unix:/run/evlb/of.sock\" ]; };\n"
    "l2_miss = \"drop\";\n"
    "bridges = (\n"
    "  { name = \"br0\"; datapath_id = \"00000000000000aB\";\n"
    "    ports = [ \"daq1\", \"daq2\" ]; },\n"
    "  { name = \"br1\"; datapath_id = \"0x1\"; ports = [ 3, 4 ]; }\n"
    ");\n"
    "interfaces = (\n"
    "  { name = \"plain\"; mac = \"02:00:00:00:00:01\"; },\n"
    "  { name = \"tagged\"; id = 9; vlan = 7;\n"
    "    mac = \"02:00:00:00:00:07\"; }\n"
    ");\n"
    "instances = (\n"
    "  { name = \"one\"; id = 0;\n"
    "    addresses = [ \"10.0.0.1\", \"fd00::1\" ];\n"
    "    interfaces = [ \"tagged\" ];\n"
    "    udp_ports = [ 19522, 19600 ];\n"
    "    sources = [ \"10.0.0.11\", \"fd00:1::/32\" ];\n"
    "    late = \"drop\";\n"
    "    members = (\n"
    "      { id = 7; ip = \"10.0.0.7\"; mac = \"02:00:00:00:01:07\";\n"
    "        base = 20000; bits = 4; keep = true; egress = \"cn7\"; },\n"
    "      { id = 3; ip = \"fd00::3\"; mac = \"02:00:00:00:01:03\";\n"
    "        base = 30000; egress = \"in_port\"; },\n"
    "      { id = 65534; ip = \"10.0.0.9\"; mac = \"02:00:00:00:01:09\";\n"
    "        base = 0xffff; egress = 12; }\n"
    "    );\n"
    "    epochs = (\n"
    "      { id = 4; from = 0; bits = 3; xor = 0xabcd;\n"
    "        members = ( { id = 7; weight = 3; }, { id = 3; } ); },\n"
    "      { from = 0xfffffffffffffffeL;\n"
    "        members = ( { id = 65534; } ); },\n"
    "      { from = \"18446744073709551615\"; members = ( { id = 3; } );\n"
    "      }\n"
    "    );\n"
    "  },\n"
    "  { name = \"two\"; id = 221; addresses = [ \"10.0.0.2\" ];\n"
    "    sources = [ \"0.0.0.0/0\" ]; }\n"
    ");\n";

/* Loads 'text'; stores what evlb_config_load() stores. */
static char *
load(const char *text, struct evlb_config **config)
{
    char name[] = "/tmp/test-config-XXXXXX";
    int fd = mkstemp(name);
    char *error;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    error = evlb_config_load(name, config);
    unlink(name);
    return error;
}

static struct evlb_config *
load_good(const char *text)
{
    struct evlb_config *config;

    unit_assert_error(load(text, &config), NULL);
    assert_non_null(config);
    return config;
}

/* Returns 'good' with the first 'from' replaced by 'to'. */
static char *
edit(const char *from, const char *to)
{
    const char *at = strstr(good, from);

    if (!at) {
        fail_msg("\"%s\" is not in the configuration", from);
    }
    return mem_printf("%.*s%s%s", (int) (at - good), good, to,
                      at + strlen(from));
}

static void
test_good(void **state)
{
    struct evlb_config *config = load_good(good);
    const struct state *s = &config->state;
    const struct instance *one = &s->instances[0];
    const struct member *m;

    (void) state;
    assert_int_equal(config->n_listen, 3);
    assert_string_equal(config->listen[2], "unix:/run/evlb/of.sock");
    assert_false(s->l2_normal);
    assert_int_equal(s->n_bridges, 2);
    assert_int_equal(s->bridges[0].datapath_id, 0xab);
    assert_int_equal(s->bridges[0].ports[1].type, PORT_NAME);
    assert_string_equal(s->bridges[0].ports[1].name, "daq2");
    assert_int_equal(s->bridges[1].ports[0].type, PORT_NUMBER);
    assert_int_equal(s->bridges[1].ports[0].number, 3);
    assert_int_equal(s->interfaces[0].id, 0);
    assert_int_equal(s->interfaces[1].id, 9);
    assert_int_equal(s->interfaces[1].vlan, 7);

    assert_int_equal(one->n_addresses, 2);
    assert_int_equal(one->n_interfaces, 1);
    assert_ptr_equal(one->interfaces[0], &s->interfaces[1]);
    assert_int_equal(one->first_port, 19522);
    assert_int_equal(one->last_port, 19600);
    assert_int_equal(one->n_sources, 2);
    assert_int_equal(one->sources[1].len, 32);
    assert_int_equal(one->late, LATE_DROP);
    assert_int_equal(one->n_members, 3);
    assert_int_equal(one->members[0].id, 3);
    m = instance_find_member(one, 7);
    assert_int_equal(m->base, 20000);
    assert_int_equal(m->bits, 4);
    assert_true(m->keep);
    assert_string_equal(m->egress.name, "cn7");
    assert_int_equal(one->members[0].egress.type, PORT_IN);
    assert_int_equal(one->members[2].egress.number, 12);
    evlb_config_destroy(config);
}

static void
test_good_epochs(void **state)
{
    struct evlb_config *config = load_good(good);
    const struct epochs *e = &config->state.instances[0].epochs;

    (void) state;
    assert_int_equal(e->n, 3);
    assert_int_equal(e->epochs[0]->id, 4);
    assert_int_equal(e->epochs[0]->xor, 0xabcd);
    assert_int_equal(e->epochs[0]->calendar->bits, 3);
    assert_int_equal(calendar_count(e->epochs[0]->calendar, 7), 6);
    assert_int_equal(calendar_count(e->epochs[0]->calendar, 3), 2);
    assert_int_equal(e->epochs[1]->id, 5);
    assert_int_equal(e->epochs[1]->first, UINT64_MAX - 1);
    assert_int_equal(e->epochs[1]->calendar->bits, 9);
    assert_int_equal(e->epochs[2]->id, 6);
    assert_int_equal(e->epochs[2]->first, UINT64_MAX);
    evlb_config_destroy(config);
}

static void
test_defaults(void **state)
{
    char *text = edit("openflow = { listen = [ \"tcp:127.0.0.1:6653\", "
                      "\"tcp:[::1]:7000\",\n"
                      "                        \"unix:/run/evlb/of.sock\" ]; "
                      "};\nl2_miss = \"drop\";\n",
                      "");
    struct evlb_config *config = load_good(text);
    const struct instance *two = &config->state.instances[1];

    (void) state;
    assert_int_equal(config->n_listen, 1);
    assert_string_equal(config->listen[0], "tcp:127.0.0.1");
    assert_true(config->state.l2_normal);
    assert_int_equal(two->first_port, 16384);
    assert_int_equal(two->last_port, 32767);
    assert_int_equal(two->n_interfaces, 2);
    assert_int_equal(two->late, LATE_NEWEST);
    assert_int_equal(two->epochs.n, 0);
    evlb_config_destroy(config);
    free(text);
}

/* The beginning of a configuration whose instances follow. */
#define HEAD                                                    \
    "bridges = ( { name = \"br0\"; datapath_id = \"1\"; } );\n" \
    "interfaces = ( { name = \"a\"; mac = \"02:00:00:00:00:01\"; } );\n"

static void
test_reservable(void **state)
{
    static const char text[] =
        HEAD "instances = (\n"
             "  { name = \"one\"; id = 1; addresses = [ \"10.0.0.1\" ];\n"
             "    reservable = true; sync = \"udp:0.0.0.0:19531\";\n"
             "    sync_addresses = [ \"fd00::8\", \"10.0.0.8\" ]; },\n"
             "  { name = \"two\"; id = 2; addresses = [ \"10.0.0.2\" ];\n"
             "    reservable = true; sync = \"udp:[::1]:19531\"; },\n"
             "  { name = \"three\"; id = 3; addresses = [ \"10.0.0.3\" ];\n"
             "    sync = \"udp:0.0.0.0:19532\";\n"
             "    sources = [ \"10.0.0.11\" ]; } );\n";
    struct evlb_config *config = load_good(text);
    const struct instance *one = &config->state.instances[0];
    struct in6_addr addr;

    (void) state;
    assert_true(one->reservable);
    assert_int_equal(one->n_sources, 0);
    assert_int_equal(one->n_members, 0);
    assert_int_equal(one->epochs.n, 0);
    assert_int_equal(one->sync.n_public, 2);
    assert_true(addr_from_string("fd00::8", &addr));
    assert_true(addr_equal(&one->sync.public[0], &addr));
    assert_true(addr_from_string("10.0.0.8", &addr));
    assert_true(addr_equal(&one->sync.public[1], &addr));
    assert_true(config->state.instances[1].reservable);
    assert_int_equal(config->state.instances[1].sync.n_public, 0);
    assert_false(config->state.instances[2].reservable);
    evlb_config_destroy(config);
}

static void
test_reservations(void **state)
{
    static const char text[] =
        HEAD "reservations = { period = 50; ready_on_register = false;\n"
             "  unready_after = 100; remove_after = 101;\n"
             "  worker_networks = [ \"10.0.0.0/8\", \"fd00::1\" ];\n"
             "  allow_loopback_workers = true;\n"
             "  allow_private_workers = false;\n"
             "  registration_from_worker = true; };\n";
    struct evlb_config *config = load_good(text);
    const struct reservation_settings *s = &config->state.reservations;

    (void) state;
    assert_int_equal(s->period, 50);
    assert_false(s->ready_on_register);
    assert_int_equal(s->silent, 100);
    assert_int_equal(s->gone, 101);
    assert_int_equal(s->n_worker_networks, 2);
    assert_int_equal(s->worker_networks[0].len, 104);
    assert_int_equal(s->worker_networks[1].len, 128);
    assert_true(s->loopback_workers);
    assert_false(s->private_workers);
    assert_true(s->from_worker);
    evlb_config_destroy(config);
}

static void
test_reservations_defaults(void **state)
{
    static const char *const texts[] = { HEAD, HEAD "reservations = { };\n" };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct evlb_config *config = load_good(texts[i]);
        const struct reservation_settings *s = &config->state.reservations;

        assert_int_equal(s->period, 1000);
        assert_true(s->ready_on_register);
        assert_int_equal(s->silent, 2000);
        assert_int_equal(s->gone, 60000);
        assert_int_equal(s->n_worker_networks, 0);
        assert_false(s->loopback_workers);
        assert_true(s->private_workers);
        assert_false(s->from_worker);
        evlb_config_destroy(config);
    }
}

/* A mistake: 'from' becomes 'to', which is refused on 'line' with words that
 * include 'reason'. */
struct mistake {
    const char *from;
    const char *to;
    int line;
    const char *reason;
};

static const struct mistake mistakes[] = {
    /* Syntax and names. */
    { "bridges = (", "bridges = [", 5, "syntax error" },
    { "l2_miss = \"drop\"", "l2_miss = \"drop", 0, "syntax error" },
    { "l2_miss", "l2_mis", 3, "l2_mis: is no known setting" },
    { "\"drop\";\nb", "\"flood\";\nb", 3, "\"drop\" or \"normal\"" },
    { "\"drop\";\nb", "1;\nb", 3, "l2_miss: must be a string" },
    { "listen =", "lisen =", 1, "openflow.lisen: is no known setting" },

    /* Where to listen. */
    { "tcp:127.0.0.1:6653", "ssl:127.0.0.1", 1,
      "needs the settings of openflow.tls" },
    { "tcp:127.0.0.1:6653", "tcp:localhost", 1, "numeric address" },
    { "tcp:127.0.0.1:6653", "tcp:127.0.0.1:99999", 1, "numeric address" },
    { "tcp:127.0.0.1:6653", "tcp:0.0.0.0", 1, "openflow.allow_plain" },
    { "tcp:127.0.0.1:6653", "tcp:[::]", 1, "can be reached from other hosts" },
    { "unix:/run/evlb", "unix:run/evlb", 2, "no absolute path" },
    { "[ \"tcp:127.0.0.1:6653\",", "\"x\"; y = [", 1, "openflow.y" },

    /* Bridges. */
    { "bridges = (", "bridges = ( ); x = (", 0, "x: is no known setting" },
    { "datapath_id = \"0x1\"; ", "", 7, "lacks the setting \"datapath_id\"" },
    { "\"0x1\"", "\"0x1g\"", 7, "hexadecimal digits" },
    { "\"0x1\"", "\"0\"", 7, "not all 0" },
    { "\"0x1\"", "\"11112222333344445\"", 7, "1 to 16 hexadecimal" },
    { "\"0x1\"", "1", 7, "datapath_id: must be a string" },
    { "\"0x1\"", "\"ab\"", 7, "has the same datapath_id, on line 5" },
    { "name = \"br1\"", "name = \"br0\"", 7, "named \"br0\", on line 5" },
    { "\"daq2\" ]", "\"daq1\" ]", 6, "ports[1]: is listed twice" },
    { "\"daq2\" ]", "\"a-name-too-long-for-it\" ]", 6, "no name of a port" },
    { "[ 3, 4 ]", "[ 3, 65280 ]", 7, "number from 1 to 65279" },
    { "[ 3, 4 ]", "4", 7, "ports: must be a list" },

    /* Interfaces. */
    { "02:00:00:00:00:01", "02:00:00:00:00", 10, "no MAC address" },
    { "02:00:00:00:00:01", "03:00:00:00:00:01", 10, "of one station" },
    { "02:00:00:00:00:01", "00:00:00:00:00:00", 10, "of one station" },
    { "mac = \"02:00:00:00:00:01\"; ", "", 10, "lacks the setting \"mac\"" },
    { "vlan = 7", "vlan = 4095", 11, "number from 0 to 4094" },
    { "vlan = 7", "vlan = 0", 11, "has the same vlan, 0, on line 10" },
    { "id = 9", "id = 16", 11, "number from 0 to 15" },
    { "id = 9", "id = 0", 11, "has the same id, 0, on line 10" },
    { "name = \"tagged\"", "name = \"plain\"", 11, "named \"plain\", on" },
    { "id = 9", "idd = 9", 11, "interfaces[1].idd: is no known setting" },

    /* Instances. */
    { "id = 221", "id = 222", 38, "instances[1].id: must be a number" },
    { "id = 221", "id = -1", 38, "number from 0 to 221" },
    { "id = 221", "id = 0", 38, "instance \"one\" has the same id, 0" },
    { "id = 221; ", "", 38, "lacks the setting \"id\"" },
    { "name = \"two\"", "name = \"one\"", 38, "named \"one\", on line 15" },
    { "[ \"10.0.0.2\" ]", "[ ]", 38, "lacks addresses" },
    { "[ \"10.0.0.2\" ]", "[ \"10.0.0.1\" ]", 38, "of instance \"one\"" },
    { "\"fd00::1\" ]", "\"10.0.0.1\" ]", 16, "of instance \"one\" already" },
    { "\"fd00::1\" ]", "\"fd00:::1\" ]", 16, "no IPv4 or IPv6 address" },
    { "\"fd00::1\" ]", "\"ff02::1\" ]", 16, "not the address of one host" },
    { "[ \"tagged\" ]", "[ \"untagged\" ]", 17, "no interface \"untagged\"" },
    { "[ \"tagged\" ]", "[ ]", 17, "interfaces: must not be empty" },
    { "[ 19522, 19600 ]", "[ 19522 ]", 18, "must be two numbers" },
    { "[ 19522, 19600 ]", "[ 0, 19600 ]", 18, "number from 1 to 65535" },
    { "[ 19522, 19600 ]", "[ 1, 65536 ]", 18, "number from 1 to 65535" },
    { "[ 19522, 19600 ]", "[ 19600, 19522 ]", 18, "is above the last one" },
    { "fd00:1::/32", "fd00:1::1/32", 19, "zeros behind the prefix" },
    { "fd00:1::/32", "fd00:1::/129", 19, "no address and no" },
    { "[ \"0.0.0.0/0\" ]", "[ ]", 38, "lacks sources" },
    { "\"drop\";\n    m", "\"keep\";\n    m", 20, "\"newest\" or \"drop\"" },

    /* Members. */
    { "id = 7; ip", "id = 65535; ip", 22, "number from 0 to 65534" },
    { "id = 7; ip", "id = 3; ip", 24, "member 3 is there twice" },
    { "id = 7; ip", "ip", 22, "lacks the setting \"id\"" },
    { "ip = \"10.0.0.7\"", "ip = \"10.0.0.256\"", 22, "no IPv4 or IPv6" },
    { "ip = \"10.0.0.7\"", "ip = 10", 22, "ip: must be a string" },
    { "ip = \"10.0.0.7\"; ", "", 22, "lacks the setting \"ip\"" },
    { "base = 20000", "base = 0", 23, "number from 1 to 65535" },
    { "base = 20000", "base = 65530", 22, "16 ports from 65530 on exceed" },
    { "bits = 4", "bits = 15", 23, "number from 0 to 14" },
    { "bits = 4", "bits = \"four\"", 23, "number from 0 to 14" },
    { "bits = 4", "bits = 4.0", 23, "number from 0 to 14" },
    { "keep = true", "keep = 1", 23, "keep: must be true or false" },
    { "mac = \"02:00:00:00:00:07\";",
      "mac = \"02:00:00:00:00:07\"; "
      "networks = [ \"10.1.0.0/16\" ];",
      22, "no network and no route" },
    { "mac = \"02:00:00:00:00:07\";",
      "mac = \"02:00:00:00:00:07\"; "
      "networks = [ \"10.1.0.0/8\" ];",
      12, "networks[0]: \"10.1.0.0/8\"" },
    { "mac = \"02:00:00:00:00:07\";",
      "mac = \"02:00:00:00:00:07\"; "
      "networks = [ \"10.0.0.0/16\" ]; routes = ( { to = \"::/0\"; "
      "via = \"10.0.0.9\"; } );",
      12, "routes[0].via: is not of the family" },
    { "mac = \"02:00:00:00:00:07\";",
      "mac = \"02:00:00:00:00:07\"; "
      "networks = [ \"10.0.0.0/16\" ]; routes = ( { to = \"0.0.0.0/0\"; "
      "via = \"10.1.0.9\"; } );",
      12, "is in none of the interface's" },
    { "mac = \"02:00:00:00:00:07\";",
      "mac = \"02:00:00:00:00:07\"; "
      "routes = ( { to = \"0.0.0.0/0\"; } );",
      12, "setting \"via\"" },
    { "l2_miss = \"drop\";", "neighbour = { refresh = 0; };", 3,
      "neighbour.refresh: must be a number from 1 to 3600" },
    { "l2_miss = \"drop\";", "neighbour = { resolve = 1; };", 3,
      "neighbour.resolve: must be true or false" },
    { "egress = \"cn7\"", "egress = \"\"", 23, "no name of a port" },
    { "egress = 12", "egress = 0", 27, "number from 1 to 65279" },
    { "[ \"10.0.0.1\", \"fd00::1\" ]", "[ \"10.0.0.1\" ]", 24,
      "no address of the family" },
    { "keep = true", "keeep = true", 23, "keeep: is no known setting" },

    /* Epochs. */
    { "from = 0;", "", 30, "lacks the setting \"from\"" },
    { "from = 0;", "from = 4294967296;", 30, "write an L behind it" },
    { "from = 0;", "from = -5;", 30, "must be a number from 0 to 1844674" },
    { "from = 0;", "from = \"-5\";", 30, "must be a number from 0 to" },
    { "from = 0;", "from = \"5x\";", 30, "must be a number from 0 to" },
    { "from = 0;", "from = \"18446744073709551616\";", 30, "from 0 to" },
    { "\"18446744073709551615\"", "5", 34, "is not beyond epoch 5" },
    { "{ from = \"", "{ id = 4; from = \"", 34, "connected already" },
    { "{ id = 4; from", "{ id = 65535; from", 32, "lacks the setting \"id\"" },
    { "bits = 3", "bits = 10", 30, "number from 0 to 9" },
    { "xor = 0xabcd", "xor = 65536", 30, "number from 0 to 65535" },
    { "weight = 3", "weight = 0", 0, NULL }, /* Not a mistake. */
    { "weight = 3", "weight = 1000001", 31, "number from 0 to 1000000" },
    { "{ id = 65534; }", "{ id = 65534; weight = 0; }", 32, "weight above 0" },
    { "{ id = 65534; }", "", 32, "no member has a weight" },
    { "{ id = 7; weight = 3; }", "{ id = 8; }", 31, "has no member 8" },
    { "{ id = 7; weight = 3; }", "{ id = 3; }", 30,
      "member 3 is listed twice" },
    { "{ id = 7; weight = 3; }", "7", 31, "must be a group" },
    { "xor = 0xabcd", "slots = 8", 30, "slots: is no known setting" },
};

/* Returns true if 'm' is refused as it should be, or says why not. */
static bool
check_mistake(const struct mistake *m)
{
    char *text = edit(m->from, m->to);
    char *where = m->line ? mem_printf(":%d: ", m->line) : mem_strdup(":");
    struct evlb_config *config;
    char *error = load(text, &config);
    bool ok = m->reason
                  ? (error && strstr(error, where) && strstr(error, m->reason))
                  : !error;

    if (!ok) {
        print_error("\"%s\" for \"%s\", line %d, \"%s\": %s\n", m->to, m->from,
                    m->line, m->reason ? m->reason : "correct",
                    error ? error : "accepted");
    }
    assert_int_equal(config != NULL, !error);
    evlb_config_destroy(config);
    free(error);
    free(where);
    free(text);
    return ok;
}

static void
test_mistakes(void **state)
{
    bool ok = true;

    (void) state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        ok = check_mistake(&mistakes[i]) && ok;
    }
    assert_true(ok);
}

/* Loads the file 'name' of the corpus, whose first line, "# LINE: MESSAGE",
 * says how it is refused. */
static void
check_corpus_file(const char *name)
{
    FILE *stream = fopen(name, "r");
    struct evlb_config *config;
    char line[1024];
    char *error, *expected;

    assert_non_null(stream);
    assert_non_null(fgets(line, sizeof line, stream));
    fclose(stream);
    line[strcspn(line, "\n")] = '\0';
    expected = mem_printf("%s:%s", name, line + 2);
    error = evlb_config_load(name, &config);
    assert_null(config);
    assert_non_null(error);
    assert_string_equal(error, expected);
    free(error);
    free(expected);
}

static void
test_corpus(void **state)
{
    glob_t files;

    (void) state;
    assert_int_equal(glob("tests/config-mistakes/*.conf", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 100);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        check_corpus_file(files.gl_pathv[i]);
    }
    globfree(&files);
}

/* The file can end anywhere. */
static void
test_truncated(void **state)
{
    (void) state;
    for (size_t n = 0; n < sizeof good - 1; n++) {
        struct evlb_config *config;
        char *text = mem_printf("%.*s", (int) n, good);
        char *error = load(text, &config);

        assert_int_equal(config != NULL, !error);
        assert_true(error || n > sizeof good - 4
                    || !strstr(text, "instances"));
        free(error);
        evlb_config_destroy(config);
        free(text);
    }
}

static void
test_no_file(void **state)
{
    struct evlb_config *config;

    (void) state;
    unit_assert_error(evlb_config_load("/nowhere/evlb.conf", &config),
                      "/nowhere/evlb.conf: cannot be read");
    assert_null(config);
}

static void
test_allow_plain(void **state)
{
    char *text = edit("openflow = { listen = [ \"tcp:127.0.0.1:6653\"",
                      "openflow = { allow_plain = true; "
                      "listen = [ \"tcp:0.0.0.0\"");
    struct evlb_config *config = load_good(text);

    (void) state;
    assert_string_equal(config->listen[0], "tcp:0.0.0.0");
    evlb_config_destroy(config);
    free(text);
}

/* Checks where 'text' has state and the operator's socket. */
static void
check_state(const char *text, const char *file, const char *dir,
            const char *socket)
{
    struct evlb_config *config = load_good(text);

    if (file) {
        assert_string_equal(config->state_file, file);
    } else {
        assert_null(config->state_file);
    }
    if (dir) {
        assert_string_equal(config->state_dir, dir);
    } else {
        assert_null(config->state_dir);
    }
    assert_string_equal(config->admin.socket, socket);
    assert_false(config->admin.asked);
    evlb_config_destroy(config);
}

static void
test_state_dir(void **state)
{
    char *here = getcwd(NULL, 0);
    char *dir = mem_printf("%s/some/where", here);
    char *socket = mem_printf("%s/evlbd.sock", dir);

    (void) state;
    unsetenv("EVLB_STATE_DIR");
    check_state(HEAD, NULL, NULL, ADMIN_SOCKET);
    check_state(HEAD "state_file = \"/a/b\";", "/a/b", NULL, ADMIN_SOCKET);
    check_state(HEAD "state_dir = \"/a\";", NULL, "/a", "/a/evlbd.sock");
    check_state(HEAD "state_dir = \"some/where\";", NULL, dir, socket);
    check_state(HEAD "state_dir = \"/a\"; state_file = \"\";", "", "/a",
                "/a/evlbd.sock");

    setenv("EVLB_STATE_DIR", "/c", 1);
    check_state(HEAD, NULL, "/c", "/c/evlbd.sock");
    check_state(HEAD "state_dir = \"/a\";", NULL, "/c", "/c/evlbd.sock");
    setenv("EVLB_STATE_DIR", "some/where", 1);
    check_state(HEAD, NULL, dir, socket);
    setenv("EVLB_STATE_DIR", "", 1);
    check_state(HEAD "state_dir = \"/a\";", NULL, "/a", "/a/evlbd.sock");
    unsetenv("EVLB_STATE_DIR");
    free(socket);
    free(dir);
    free(here);
}

/* The configurations that come with the program are correct. */
static void
test_shipped(void **state)
{
    struct evlb_config *config;

    (void) state;
    unit_assert_error(evlb_config_load("configs/demo.conf", &config), NULL);
    assert_int_equal(config->state.n_instances, 1);
    evlb_config_destroy(config);
    unit_assert_error(evlb_config_load("configs/local.conf", &config), NULL);
    assert_int_equal(config->state.n_instances, 2);
    assert_true(config->state.instances[1].reservable);
    assert_true(config->state.reservations.loopback_workers);
    evlb_config_destroy(config);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_good_epochs),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_allow_plain),
        cmocka_unit_test(test_shipped),
        cmocka_unit_test(test_reservable),
        cmocka_unit_test(test_state_dir),
        cmocka_unit_test(test_reservations),
        cmocka_unit_test(test_reservations_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
