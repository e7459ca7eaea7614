/* SPDX-License-Identifier: Apache-2.0 */

/* What one peer may take of a gRPC server, and all together. */

#include "controller/api/grpc-peers.h"

#include <stdio.h>

#include "controller/api/grpc-peer.h"
#include "tests/unit/unit.h"

struct fixture {
    struct grpc_settings settings;
    struct grpc_peers *peers;
};

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->settings = (struct grpc_settings) GRPC_SETTINGS_DEFAULT;
    f->settings.max_connections = 10;
    f->settings.max_peer_connections = 3;
    f->settings.max_peer_calls = 5;
    f->settings.max_peer_rate = 100;
    f->peers = grpc_peers_create(&f->settings);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    grpc_peers_destroy(f->peers);
    free(f);
    return 0;
}

static struct grpc_peer *
add(struct fixture *f, const char *name, int64_t now)
{
    struct grpc_peer *peer;
    char *error = grpc_peers_add(f->peers, name, now, &peer);

    assert_null(error);
    return peer;
}

static void
check_refused(struct fixture *f, const char *name, const char *expected)
{
    struct grpc_peer *peer;

    unit_assert_error(grpc_peers_add(f->peers, name, 0, &peer), expected);
    assert_null(peer);
}

/* Peers are one if their addresses are, whatever their ports. */
static void
test_who(void **state)
{
    static const char *const same[][2] = {
        { "tcp:10.0.0.1:5", "tcp:10.0.0.1:65535" },
        { "tcp:10.0.0.2:5", "ssl:10.0.0.2:5" },
        { "tcp:[2001:db8::1]:5", "ssl:[2001:db8::1]:6" },
        { "tcp:[::ffff:10.0.0.3]:5", "tcp:10.0.0.3:6" },
        { "unix:/run/a.sock", "unix:/run/b:c.sock" },
    };
    struct fixture *f = *state;
    struct grpc_peer *all[5];

    for (size_t i = 0; i < 5; i++) {
        all[i] = add(f, same[i][0], 0);
        assert_ptr_equal(all[i], add(f, same[i][1], 0));
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(all[i], all[j]);
        }
    }
    assert_int_equal(grpc_peers_count(f->peers), 10);
    for (size_t i = 0; i < 5; i++) {
        grpc_peers_remove(f->peers, all[i], 0);
        grpc_peers_remove(f->peers, all[i], 0);
    }
    assert_int_equal(grpc_peers_count(f->peers), 0);
}

static void
test_connections_of_one(void **state)
{
    struct fixture *f = *state;
    struct grpc_peer *a = NULL;

    for (int i = 0; i < 3; i++) {
        a = add(f, "tcp:10.0.0.1:1", 0);
    }
    check_refused(f, "tcp:10.0.0.1:1", "3 connections from there");
    check_refused(f, "ssl:10.0.0.1:2", "3 connections from there");
    grpc_peers_remove(f->peers, add(f, "tcp:10.0.0.2:1", 0), 0);
    grpc_peers_remove(f->peers, a, 0);
    assert_ptr_equal(add(f, "tcp:10.0.0.1:1", 0), a);
    for (int i = 0; i < 3; i++) {
        grpc_peers_remove(f->peers, a, 0);
    }
}

static void
test_connections_in_all(void **state)
{
    struct fixture *f = *state;
    struct grpc_peer *all[10];
    char name[32];

    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "tcp:10.0.0.%d:1", i);
        all[i] = add(f, name, 0);
    }
    check_refused(f, "tcp:10.0.0.11:1", "10 connections already");
    grpc_peers_remove(f->peers, all[0], 0);
    all[0] = add(f, "tcp:10.0.0.11:1", 0);
    for (int i = 0; i < 10; i++) {
        grpc_peers_remove(f->peers, all[i], 0);
    }
}

/* Makes calls at 'now' until one is refused; returns how many were not. */
static unsigned int
make_calls(struct grpc_peer *peer, int64_t now, const char *expected)
{
    for (unsigned int n = 0;; n++) {
        char *error;

        grpc_peer_begin(peer);
        error = grpc_peer_admit(peer, now);
        grpc_peer_end(peer);
        if (error) {
            unit_assert_error(error, expected);
            return n;
        }
        assert_true(n < 1000);
    }
}

/* A second's worth at once, and then as time goes by. */
static void
test_rate(void **state)
{
    struct fixture *f = *state;
    struct grpc_peer *a = add(f, "tcp:10.0.0.1:1", 0);
    struct grpc_peer *b = add(f, "tcp:10.0.0.2:1", 0);

    assert_int_equal(make_calls(a, 0, "more than 100 calls a second"), 100);
    assert_int_equal(make_calls(b, 0, "more than 100 calls a second"), 100);
    assert_int_equal(make_calls(a, 9, "more than"), 0);
    assert_int_equal(make_calls(a, 10, "more than"), 1);
    assert_int_equal(make_calls(a, 510, "more than"), 50);
    assert_int_equal(make_calls(a, 100000, "more than"), 100);
    f->settings.max_peer_rate = 10;
    assert_int_equal(make_calls(a, 101000, "more than 10 calls"), 10);
    grpc_peers_remove(f->peers, a, 101000);
    grpc_peers_remove(f->peers, b, 101000);
}

/* Who connects anew is as tired as before, until it would have rested. */
static void
test_rate_and_reconnection(void **state)
{
    struct fixture *f = *state;
    struct grpc_peer *a = add(f, "tcp:10.0.0.1:1", 0);

    assert_int_equal(make_calls(a, 0, "more than"), 100);
    grpc_peers_remove(f->peers, a, 0);
    a = add(f, "tcp:10.0.0.1:2", 100);
    assert_int_equal(make_calls(a, 100, "more than"), 10);
    grpc_peers_remove(f->peers, a, 100);
    a = add(f, "tcp:10.0.0.1:2", 5000);
    assert_int_equal(make_calls(a, 5000, "more than"), 100);
    grpc_peers_remove(f->peers, a, 5000);
}

static void
test_calls_under_way(void **state)
{
    struct fixture *f = *state;
    struct grpc_peer *a = add(f, "tcp:10.0.0.1:1", 0);

    for (int i = 0; i < 5; i++) {
        grpc_peer_begin(a);
        assert_null(grpc_peer_admit(a, 0));
    }
    grpc_peer_begin(a);
    unit_assert_error(grpc_peer_admit(a, 0), "more than 5 calls");
    grpc_peer_end(a);
    grpc_peer_end(a);
    grpc_peer_begin(a);
    assert_null(grpc_peer_admit(a, 0));
    for (int i = 0; i < 5; i++) {
        grpc_peer_end(a);
    }
    grpc_peers_remove(f->peers, a, 0);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_who),
        TEST(test_connections_of_one),
        TEST(test_connections_in_all),
        TEST(test_rate),
        TEST(test_rate_and_reconnection),
        TEST(test_calls_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
