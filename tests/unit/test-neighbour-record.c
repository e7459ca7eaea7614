/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/neighbour-record.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

static const struct mac mac = { { 2, 0, 0, 0, 0, 7 } };

static void
check_round_trip(const char *ip)
{
    struct neighbour_key key = { .datapath_id = UINT64_MAX, .iface = 15 };
    struct neighbours from, to;
    const struct neighbour *found;
    char *name, *value;

    assert_true(addr_from_string(ip, &key.ip));
    neighbours_init(&from, 1000, 3);
    neighbours_init(&to, 1000, 3);
    neighbours_restore(&from, &key, &mac, UINT32_MAX, 5);
    name = neighbour_record_key(&key);
    value = neighbour_record_format(neighbours_find(&from, &key));
    unit_assert_error(neighbour_record_parse(&to, 5, name, value), NULL);
    found = neighbours_find(&to, &key);
    assert_non_null(found);
    assert_true(mac_equal(&found->mac, &mac));
    assert_true(found->port == UINT32_MAX);
    free(name);
    free(value);
    neighbours_destroy(&from);
    neighbours_destroy(&to);
}

static void
test_round_trip(void **state)
{
    (void) state;
    check_round_trip("10.0.0.7");
    check_round_trip("2001:db8::7");
}

static void
check_error(const char *value, const char *error)
{
    struct neighbours n;

    neighbours_init(&n, 1000, 3);
    unit_assert_error(neighbour_record_parse(&n, 5, "neighbour/x", value),
                      error);
    assert_int_equal(n.n, 0);
    neighbours_destroy(&n);
}

static void
test_errors(void **state)
{
    (void) state;
    check_error("", "neighbour/x");
    check_error("datapath x\n", "datapath");
    check_error("datapath 1\ninterface 16\n", "interface");
    check_error("datapath 1\ninterface 1\nip 10.0.0\n", "ip");
    check_error("datapath 1\ninterface 1\nip 10.0.0.7\nmac 02:00\nport 1\n",
                "no MAC address");
    check_error("datapath 1\ninterface 1\nip 10.0.0.7\n"
                "mac 02:00:00:00:00:07\nport 4294967296\n",
                "port");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
