/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/neighbour.h"

#include "controller/core/instance.h"
#include "tests/unit/unit.h"

static struct in6_addr
addr(const char *s)
{
    struct in6_addr a;

    assert_true(addr_from_string(s, &a));
    return a;
}

static struct neighbour_key
make_key(const char *ip)
{
    return (struct neighbour_key){ .datapath_id = 7, .ip = addr(ip) };
}

/* What was asked since the last look. */
struct log {
    unsigned int n;
    bool unicast;
    struct in6_addr ip;
};

static void
ask_cb(void *log_, const struct neighbour *neighbour, bool unicast)
{
    struct log *log = log_;

    log->n++;
    log->unicast = unicast;
    log->ip = neighbour->key.ip;
}

/* Runs 'n' at 'now' and checks that 'expected' questions are asked. */
static void
expect(struct neighbours *n, int64_t now, unsigned int expected, bool unicast)
{
    struct log log = { 0 };

    neighbours_run(n, 100, now, ask_cb, &log);
    assert_int_equal(log.n, expected);
    if (expected) {
        assert_int_equal(log.unicast, unicast);
    }
}

static void
want_one(struct neighbours *n, const struct neighbour_key *key, int64_t now)
{
    neighbours_begin_wanting(n);
    neighbours_want(n, key, now);
    neighbours_end_wanting(n, NULL, NULL);
}

static const struct mac mac_a = { { 2, 0, 0, 0, 0, 1 } };
static const struct mac mac_b = { { 2, 0, 0, 0, 0, 2 } };

/* Somebody who does not answer is asked at growing intervals, of at most 16 s
 * and an eighth. */
static void
test_back_off(void **state)
{
    const struct neighbour_key key = make_key("10.0.0.1");
    int64_t last = 1000, gap = 1000;
    struct neighbours n;

    (void) state;
    neighbours_init(&n, NEIGHBOUR_REFRESH_MS, 3);
    want_one(&n, &key, last);
    expect(&n, last, 1, false);
    for (int i = 0; i < 12; i++) {
        int64_t next = neighbours_wakeup(&n);

        assert_in_range(next - last, gap, gap + gap / 8);
        expect(&n, next - 1, 0, false);
        expect(&n, next, 1, false);
        last = next;
        gap = gap < NEIGHBOUR_MAX_GAP_MS ? 2 * gap : gap;
    }
    neighbours_destroy(&n);
}

/* One who answered is asked again, directly, when the answer has aged; what is
 * known stays although he is silent, and then everybody is asked. */
static void
test_refresh(void **state)
{
    const struct neighbour_key key = make_key("fd00::1");
    const struct neighbour *found;
    struct neighbours n;
    int64_t next;

    (void) state;
    neighbours_init(&n, 60000, 3);
    want_one(&n, &key, 0);
    expect(&n, 0, 1, false);
    assert_true(neighbours_answer(&n, &key, &mac_a, 5, 10));
    next = neighbours_wakeup(&n);
    assert_in_range(next, 60010, 67510);

    for (int i = 0; i < NEIGHBOUR_UNICAST_MAX; i++) {
        expect(&n, next, 1, true);
        next = neighbours_wakeup(&n);
    }
    expect(&n, next, 1, false);
    found = neighbours_find(&n, &key);
    assert_true(found->known);
    assert_true(mac_equal(&found->mac, &mac_a));
    assert_int_equal(found->port, 5);

    /* The same again is no news; another MAC address or port is. */
    assert_false(neighbours_answer(&n, &key, &mac_a, 5, next + 1));
    next = neighbours_wakeup(&n);
    expect(&n, next, 1, true);
    assert_true(neighbours_answer(&n, &key, &mac_b, 5, next + 1));
    next = neighbours_wakeup(&n);
    expect(&n, next, 1, true);
    assert_true(neighbours_answer(&n, &key, &mac_b, 6, next + 1));
    neighbours_destroy(&n);
}

/* Nobody believes an answer to which there is no question. */
static void
test_unasked(void **state)
{
    const struct neighbour_key key = make_key("10.0.0.1");
    const struct neighbour_key other = make_key("10.0.0.2");
    struct neighbours n;

    (void) state;
    neighbours_init(&n, 60000, 3);
    want_one(&n, &key, 0);
    assert_false(neighbours_answer(&n, &key, &mac_a, 5, 0));
    expect(&n, 0, 1, false);
    assert_false(neighbours_answer(&n, &other, &mac_a, 5, 10));
    assert_false(neighbours_answer(&n, &key, &mac_a, 5, NEIGHBOUR_OPEN_MS));
    assert_true(neighbours_answer(&n, &key, &mac_a, 5, NEIGHBOUR_OPEN_MS - 1));
    /* The question is closed now. */
    assert_false(
        neighbours_answer(&n, &key, &mac_b, 6, NEIGHBOUR_OPEN_MS - 1));
    assert_true(mac_equal(&neighbours_find(&n, &key)->mac, &mac_a));
    neighbours_destroy(&n);
}

/* What is not wanted any more is forgotten, the rest is kept; the number of
 * questions at a time is bounded. */
static void
test_many(void **state)
{
    struct log log = { 0 };
    struct neighbours n;

    (void) state;
    neighbours_init(&n, 60000, 3);
    for (int round = 0; round < 2; round++) {
        neighbours_begin_wanting(&n);
        for (int i = 255; i >= round * 100; i--) {
            struct neighbour_key key = make_key("10.0.0.0");

            key.ip.s6_addr[15] = (uint8_t) i;
            key.iface = i % 3;
            neighbours_want(&n, &key, 0);
        }
        neighbours_end_wanting(&n, NULL, NULL);
        assert_int_equal(n.n, 256 - round * 100);
        for (size_t i = 0; i < n.n; i++) {
            assert_ptr_equal(neighbours_find(&n, &n.neighbours[i].key),
                             &n.neighbours[i]);
        }
    }
    neighbours_run(&n, 64, 0, ask_cb, &log);
    assert_int_equal(log.n, 64);
    neighbours_run(&n, 1000, 0, ask_cb, &log);
    assert_int_equal(log.n, 156);
    neighbours_run(&n, 1000, 0, ask_cb, &log);
    assert_int_equal(log.n, 156);
    neighbours_destroy(&n);
}

static void
check_next_hop(const struct interface *iface, const char *ip,
               const char *expected)
{
    const struct in6_addr a = addr(ip);
    struct in6_addr next_hop;

    assert_int_equal(interface_next_hop(iface, &a, &next_hop),
                     expected != NULL);
    if (expected) {
        const struct in6_addr b = addr(expected);

        assert_true(addr_equal(&next_hop, &b));
    }
}

static void
test_next_hop(void **state)
{
    struct addr_block networks[2];
    struct route routes[3] = { { .via = addr("10.0.0.254") },
                               { .via = addr("10.0.0.253") },
                               { .via = addr("fd00::fe") } };
    struct interface iface = { .n_networks = 0 };

    (void) state;
    check_next_hop(&iface, "10.0.0.1", "10.0.0.1");
    check_next_hop(&iface, "fd00::1", "fd00::1");

    assert_true(addr_block_from_string("0.0.0.0/0", &routes[0].to));
    assert_true(addr_block_from_string("10.2.0.0/15", &routes[1].to));
    assert_true(addr_block_from_string("::/0", &routes[2].to));
    iface.routes = routes;
    iface.n_routes = 3;
    check_next_hop(&iface, "10.0.0.1", "10.0.0.254");
    check_next_hop(&iface, "10.3.255.255", "10.0.0.253");
    check_next_hop(&iface, "10.4.0.0", "10.0.0.254");
    check_next_hop(&iface, "2001:db8::1", "fd00::fe");

    assert_true(addr_block_from_string("10.0.0.0/24", &networks[0]));
    iface.networks = networks;
    iface.n_networks = 1;
    check_next_hop(&iface, "10.0.0.1", "10.0.0.1");
    check_next_hop(&iface, "10.0.1.1", "10.0.0.254");
    iface.n_routes = 0;
    check_next_hop(&iface, "10.0.1.1", NULL);
    check_next_hop(&iface, "fd00::1", "fd00::1");
}

static void
forget_cb(void *n_forgotten, const struct neighbour *neighbour)
{
    assert_true(neighbour->known);
    ++*(unsigned int *) n_forgotten;
}

/* What was known before a restart is known, asked again at once, and forgotten
 * if nobody wants it any more. */
static void
test_restore(void **state)
{
    const struct neighbour_key keys[] = { make_key("10.0.0.1"),
                                          make_key("10.0.0.2") };
    unsigned int n_forgotten = 0;
    struct neighbours n;

    (void) state;
    neighbours_init(&n, NEIGHBOUR_REFRESH_MS, 3);
    neighbours_restore(&n, &keys[0], &mac_a, 7, 1000);
    neighbours_restore(&n, &keys[1], &mac_a, 8, 1000);
    neighbours_begin_wanting(&n);
    neighbours_want(&n, &keys[0], 1000);
    neighbours_end_wanting(&n, forget_cb, &n_forgotten);
    assert_int_equal(n_forgotten, 1);
    assert_null(neighbours_find(&n, &keys[1]));

    assert_true(neighbours_find(&n, &keys[0])->known);
    assert_int_equal(neighbours_find(&n, &keys[0])->port, 7);
    assert_int_equal(neighbours_wakeup(&n), 1000);
    expect(&n, 1000, 1, true);
    assert_false(neighbours_answer(&n, &keys[0], &mac_a, 7, 1001));
    neighbours_destroy(&n);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back_off), cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_unasked),  cmocka_unit_test(test_many),
        cmocka_unit_test(test_next_hop), cmocka_unit_test(test_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
