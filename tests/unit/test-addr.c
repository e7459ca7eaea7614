/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/addr.h"

#include "tests/unit/unit.h"

static void
test_mac(void **state)
{
    struct mac mac;
    char s[MAC_STRLEN];
    const char *bad[] = { "",
                          "02:00:00:00:00",
                          "02:00:00:00:00:0g",
                          "02-00-00-00-00-01",
                          "02:00:00:00:00:01:",
                          "2:0:0:0:0:1000000" };

    (void) state;
    assert_true(mac_from_string("02:aB:00:9f:00:01", &mac));
    mac_to_string(&mac, s);
    assert_string_equal(s, "02:ab:00:9f:00:01");
    assert_false(mac_is_multicast(&mac));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(mac_from_string(bad[i], &mac));
    }
    assert_true(mac_from_string("ff:ff:ff:ff:ff:ff", &mac));
    assert_true(mac_is_multicast(&mac));
}

static void
check_addr(const char *text, bool ipv4, bool unicast)
{
    struct in6_addr addr;
    char s[ADDR_STRLEN];

    assert_true(addr_from_string(text, &addr));
    assert_int_equal(addr_is_ipv4(&addr), ipv4);
    assert_int_equal(addr_is_unicast(&addr), unicast);
    addr_to_string(&addr, s);
    assert_string_equal(s, text);
}

static void
test_addr(void **state)
{
    struct in6_addr addr;

    (void) state;
    check_addr("10.0.0.1", true, true);
    check_addr("0.0.0.0", true, false);
    check_addr("224.0.0.1", true, false);
    check_addr("255.255.255.255", true, false);
    check_addr("2001:db8::1", false, true);
    check_addr("::", false, false);
    check_addr("ff02::1", false, false);
    assert_false(addr_from_string("10.0.0", &addr));
    assert_false(addr_from_string("10.0.0.1/24", &addr));
    assert_false(addr_from_string("host", &addr));
    assert_true(addr_from_string("10.1.2.3", &addr));
    assert_int_equal(addr_get_ipv4(&addr), 0x0a010203);
}

static void
check_block(const char *text, uint8_t len, const char *shown)
{
    struct addr_block block;
    char s[ADDR_STRLEN];

    assert_true(addr_block_from_string(text, &block));
    assert_int_equal(block.len, len);
    addr_block_to_string(&block, s);
    assert_string_equal(s, shown);
}

static void
test_block(void **state)
{
    struct addr_block block;
    const char *bad[] = {
        "10.0.0.1/24",    "10.0.0.0/33",
        "10.0.0.0/",      "10.0.0.0/-1",
        "10.0.0.0/8x",    "2001:db8::/129",
        "2001:db8::1/64", "/8",
        "10.0.0.0/1000",  "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20"
    };

    (void) state;
    check_block("10.0.0.1", 128, "10.0.0.1");
    check_block("10.0.0.1/32", 128, "10.0.0.1");
    check_block("10.0.0.0/8", 104, "10.0.0.0/8");
    check_block("0.0.0.0/0", 96, "0.0.0.0/0");
    check_block("::/0", 0, "::/0");
    check_block("2001:db8::/33", 33, "2001:db8::/33");
    check_block("2001:db8::7", 128, "2001:db8::7");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(addr_block_from_string(bad[i], &block));
    }
}

static void
test_solicited_node(void **state)
{
    struct in6_addr addr;
    struct mac mac;
    char s[MAC_STRLEN];

    (void) state;
    assert_true(addr_from_string("2001:db8::12:3456", &addr));
    addr_solicited_node_mac(&addr, &mac);
    mac_to_string(&mac, s);
    assert_string_equal(s, "33:33:ff:12:34:56");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mac),
        cmocka_unit_test(test_addr),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_solicited_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
