/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/registration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/core/mem.h"
#include "tests/unit/unit.h"

/* Names. */

static void
test_names(void **state)
{
    static const char *const good[] = {
        "",        "a",          "mylb",        "my_node", "node-7.example",
        "A:b/c-9", "10.0.0.1:7", "host:19523/7"
    };
    static const char *const bad[] = { "-a",    "a-",  "_a",   ".",
                                       "a.",    ".a",  "a..b", "a b",
                                       "a\nb",  "a,b", "a/.b", "\xc3\xa4",
                                       "a\x7f", "*" };

    (void) state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        unit_assert_error(registration_check_name("name", good[i]), NULL);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *start = mem_printf("name: \"%s\" is no name: a name is empty, "
                                 "or at most 253 characters: labels of 1 to "
                                 "63 letters or digits, with \"-\", \"_\", "
                                 "\":\" and \"/\" inside, and dots between",
                                 bad[i]);

        unit_assert_error(registration_check_name("name", bad[i]), start);
        free(start);
    }
}

/* Labels of up to 63 characters, names of up to 253. */
static void
test_long_names(void **state)
{
    char name[256];
    char *error;

    (void) state;
    memset(name, 'x', sizeof name);
    name[63] = name[127] = name[191] = '.';
    name[253] = '\0';
    unit_assert_error(registration_check_name("name", name), NULL);
    name[253] = 'x';
    name[254] = '\0';
    error = registration_check_name("name", name);
    assert_non_null(error);
    free(error);
    name[64] = '\0';
    name[63] = 'x';
    error = registration_check_name("name", name);
    assert_non_null(error);
    free(error);
}

/* Senders. */

static void
test_senders(void **state)
{
    struct in6_addr ip, expected;

    (void) state;
    unit_assert_error(registration_check_sender("s", "10.0.0.9", &ip), NULL);
    assert_true(addr_from_string("10.0.0.9", &expected));
    assert_true(addr_equal(&ip, &expected));
    unit_assert_error(registration_check_sender("s", "2001:db8::9", &ip),
                      NULL);
    unit_assert_error(registration_check_sender("s", "127.0.0.1", &ip), NULL);
    unit_assert_error(registration_check_sender("s", "::1", &ip), NULL);
    unit_assert_error(registration_check_sender("s[1]", "x", &ip),
                      "s[1]: \"x\" is no IP address");
    unit_assert_error(registration_check_sender("s", "10.0.0.1/24", &ip),
                      "s: \"10.0.0.1/24\" is no IP address");
    unit_assert_error(registration_check_sender("s", "0.0.0.0", &ip),
                      "s: 0.0.0.0 is not the address of one host");
    unit_assert_error(registration_check_sender("s", "ff02::1", &ip),
                      "s: ff02::1 is not the address of one host");
    unit_assert_error(registration_check_sender("s", "255.255.255.255", &ip),
                      "s: 255.255.255.255 is not the address of one host");
}

/* Workers. */

/* What there is: two instances, the second without IPv6. */
struct fixture {
    struct in6_addr first[2];
    struct in6_addr second[1];
    struct instance instances[2];
    struct addr_block networks[2];
    struct interface interface;
    struct addr_block worker_networks[1];
    struct state state;
    struct session worker;
};

static struct in6_addr
addr(const char *s)
{
    struct in6_addr ip;

    assert_true(addr_from_string(s, &ip));
    return ip;
}

static struct addr_block
block(const char *s)
{
    struct addr_block b;

    assert_true(addr_block_from_string(s, &b));
    return b;
}

static void
init(struct fixture *f)
{
    *f = (struct fixture){ .interface = { .name = (char *) "data" } };
    f->first[0] = addr("10.0.0.1");
    f->first[1] = addr("2001:db8::1");
    f->second[0] = addr("10.0.0.2");
    f->instances[0] = (struct instance){ .name = (char *) "one",
                                         .addresses = f->first,
                                         .n_addresses = 2 };
    f->instances[1] = (struct instance){ .name = (char *) "two",
                                         .id = 1,
                                         .addresses = f->second,
                                         .n_addresses = 1 };
    f->state.interfaces = &f->interface;
    f->state.n_interfaces = 1;
    f->state.instances = f->instances;
    f->state.n_instances = 2;
    f->state.reservations.private_workers = true;
    f->worker = (struct session){ .name = (char *) "node",
                                  .weight = 1,
                                  .ip = addr("10.0.0.101"),
                                  .base = 10000,
                                  .bits = 4 };
}

static char *
check(const struct fixture *f, size_t instance, enum ip_family family)
{
    return registration_check_worker(&f->worker, &f->state,
                                     &f->instances[instance], family);
}

/* Checks what is said of a worker of the first instance at 'ip'. */
static void
check_ip(struct fixture *f, const char *ip, const char *error)
{
    f->worker.ip = addr(ip);
    unit_assert_error(check(f, 0, IP_FAMILY_DUAL), error);
}

static void
test_worker(void **state)
{
    struct fixture f;

    (void) state;
    init(&f);
    check_ip(&f, "10.0.0.101", NULL);
    check_ip(&f, "2001:db8::101", NULL);
    check_ip(&f, "10.0.0.1",
             "ipAddress: 10.0.0.1 is the load balancer's own "
             "(instance \"one\")");
    check_ip(&f, "10.0.0.2",
             "ipAddress: 10.0.0.2 is the load balancer's own "
             "(instance \"two\")");
    check_ip(&f, "0.0.0.0",
             "ipAddress: 0.0.0.0 is not the address of one host");
    check_ip(&f, "::", "ipAddress: :: is not the address of one host");
    check_ip(&f, "239.1.2.3",
             "ipAddress: 239.1.2.3 is not the address of one host");
    check_ip(&f, "ff05::2",
             "ipAddress: ff05::2 is not the address of one host");
    check_ip(&f, "255.255.255.255",
             "ipAddress: 255.255.255.255 is not the address of one host");
    check_ip(&f, "169.254.3.4",
             "ipAddress: 169.254.3.4 is a link-local "
             "address, and nothing says of which link");
    check_ip(&f, "fe80::3",
             "ipAddress: fe80::3 is a link-local address, and "
             "nothing says of which link");
}

/* Addresses that only some sites allow. */
static void
test_switches(void **state)
{
    static const char *const private[] = { "10.1.2.3", "172.16.0.1",
                                           "172.31.255.1", "192.168.9.9",
                                           "fd00::7" };
    struct fixture f;

    (void) state;
    init(&f);
    check_ip(&f, "127.0.0.1",
             "ipAddress: 127.0.0.1 is a loopback address, which workers may "
             "not have (setting allow_loopback_workers)");
    check_ip(&f, "::1",
             "ipAddress: ::1 is a loopback address, which workers may "
             "not have (setting allow_loopback_workers)");
    f.state.reservations.loopback_workers = true;
    check_ip(&f, "127.0.0.1", NULL);
    check_ip(&f, "::1", NULL);

    f.state.reservations.private_workers = false;
    for (size_t i = 0; i < sizeof private / sizeof private[0]; i++) {
        char *error =
            mem_printf("ipAddress: %s is a private address, which workers may "
                       "not have (setting allow_private_workers)",
                       private[i]);

        check_ip(&f, private[i], error);
        free(error);
    }
    check_ip(&f, "172.32.0.1", NULL);
    check_ip(&f, "192.169.0.1", NULL);
}

/* Without networks, anywhere; with those of interfaces, there, for families
 * that they have some of; with those of workers, only there. */
static void
test_networks(void **state)
{
    struct fixture f;

    (void) state;
    init(&f);
    check_ip(&f, "198.51.100.7", NULL);

    f.networks[0] = block("10.0.0.0/24");
    f.networks[1] = block("10.0.2.0/31");
    f.interface.networks = f.networks;
    f.interface.n_networks = 2;
    check_ip(&f, "10.0.0.7", NULL);
    check_ip(&f, "10.0.2.1", NULL);
    check_ip(&f, "2001:db8::7", NULL);
    check_ip(&f, "10.0.1.7",
             "ipAddress: 10.0.1.7 is in none of the networks where workers "
             "may be (those of the interfaces; setting worker_networks adds "
             "others)");
    check_ip(&f, "10.0.0.255", "ipAddress: 10.0.0.255 is a broadcast address");

    f.worker_networks[0] = block("10.0.1.0/28");
    f.state.reservations.worker_networks = f.worker_networks;
    f.state.reservations.n_worker_networks = 1;
    check_ip(&f, "10.0.1.7", NULL);
    check_ip(&f, "10.0.1.15", "ipAddress: 10.0.1.15 is a broadcast address");
    check_ip(&f, "10.0.0.7",
             "ipAddress: 10.0.0.7 is in none of the networks where workers "
             "may be (setting worker_networks)");
    check_ip(&f, "2001:db8::7",
             "ipAddress: 2001:db8::7 is in none of the networks where workers "
             "may be (setting worker_networks)");
}

static void
test_families(void **state)
{
    struct fixture f;

    (void) state;
    init(&f);
    unit_assert_error(check(&f, 0, IP_FAMILY_IPV4), NULL);
    unit_assert_error(check(&f, 0, IP_FAMILY_IPV6),
                      "ipAddress: 10.0.0.101 can receive nothing, for the "
                      "reservation has no IPv4 address");
    f.worker.ip = addr("2001:db8::101");
    unit_assert_error(check(&f, 0, IP_FAMILY_IPV6), NULL);
    unit_assert_error(check(&f, 1, IP_FAMILY_DUAL),
                      "ipAddress: 2001:db8::101 can receive nothing, for the "
                      "reservation has no IPv6 address");

    assert_ptr_equal(instance_find_address(&f.instances[0], IP_FAMILY_DUAL),
                     &f.first[0]);
    assert_ptr_equal(instance_find_address(&f.instances[0], IP_FAMILY_IPV6),
                     &f.first[1]);
    assert_null(instance_find_address(&f.instances[1], IP_FAMILY_IPV6));
}

static void
test_ports(void **state)
{
    struct fixture f;

    (void) state;
    init(&f);
    f.worker.base = 0;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "udpPort: 0, the first of 16 ports, has to be from 1 to "
                      "65520");
    f.worker.base = 65520;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL), NULL);
    f.worker.base = 65521;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "udpPort: 65521, the first of 16 ports, has to be from "
                      "1 to 65520");
    f.worker.base = 49152;
    f.worker.bits = 14;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL), NULL);
    f.worker.bits = 15;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "portRange: 15 is none: at most 14, for 16384 ports");
}

static void
test_numbers(void **state)
{
    struct fixture f;

    (void) state;
    init(&f);
    f.worker.weight = -0.5;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "weight: -0.5 is not a number from 0 to 3.40282e+38");
    f.worker.weight = (double) NAN;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "weight: nan is not a number from 0 to 3.40282e+38");
    f.worker.weight = 0.5;
    f.worker.min_factor = (double) INFINITY;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "minFactor: inf is not a number from 0 to 65536");
    f.worker.min_factor = 2;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL), NULL); /* No maximum. */
    f.worker.max_factor = 1.5;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "minFactor: 2 is greater than maxFactor, 1.5");
    f.worker.max_factor = -1;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "maxFactor: -1 is not a number from 0 to 65536");
}

static void
check_demand(int32_t index, uint32_t length, const char *error)
{
    struct slot_range demands[] = { { 0, 512 }, { index, length } };

    unit_assert_error(registration_check_demands("d", demands, 2), error);
}

static void
test_demands(void **state)
{
    struct slot_range many[513];
    struct fixture f;

    (void) state;
    unit_assert_error(registration_check_demands("d", NULL, 0), NULL);
    check_demand(0, 1, NULL);
    check_demand(511, 1, NULL);
    check_demand(-1, 512, NULL);
    check_demand(-2, 1,
                 "d[1].index: -2 is no slot: 0 to 511, or -1 for the first "
                 "gap that is enough");
    check_demand(512, 1,
                 "d[1].index: 512 is no slot: 0 to 511, or -1 for the first "
                 "gap that is enough");
    check_demand(0, 0,
                 "d[1].length: 0 slots from 0 on are not among the 512 that "
                 "there are");
    check_demand(510, 3,
                 "d[1].length: 3 slots from 510 on are not among the 512 that "
                 "there are");
    check_demand(-1, 513,
                 "d[1].length: 513 slots from -1 on are not among the 512 "
                 "that there are");
    check_demand(1, UINT32_MAX,
                 "d[1].length: 4294967295 slots from 1 on are not among the "
                 "512 that there are");

    for (size_t i = 0; i < 513; i++) {
        many[i] = (struct slot_range){ -1, 1 };
    }
    unit_assert_error(registration_check_demands("d", many, 512), NULL);
    unit_assert_error(registration_check_demands("d", many, 513),
                      "d: 513 ranges are more than the 512 slots");

    init(&f);
    f.worker.demands = many;
    f.worker.n_demands = 513;
    unit_assert_error(check(&f, 0, IP_FAMILY_DUAL),
                      "slotDemands: 513 ranges are more than the 512 slots");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),    cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_senders),  cmocka_unit_test(test_worker),
        cmocka_unit_test(test_switches), cmocka_unit_test(test_networks),
        cmocka_unit_test(test_families), cmocka_unit_test(test_ports),
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_demands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
