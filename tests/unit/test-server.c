/* SPDX-License-Identifier: Apache-2.0 */

/* Connections, on real sockets and a real event loop. */

#include "controller/target/ovs/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include <config.h>
#include <openvswitch/vlog.h>
#include <util.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/address.h"
#include "controller/target/ovs/snapshot.h"
#include "tests/unit/fake-switch.h"
#include "tests/unit/random-state.h"
#include "tests/unit/unit.h"

struct fixture {
    char directory[32];
    char *address; /* "unix:" and the path. */
    struct event_base *base;
    struct ovs_server *server;
    const struct rule_set *rules;
    unsigned int n_committed;
};

/* A switch at the other end of a socket. */
struct client {
    struct fake_switch sw;
    struct ofpbuf rx;
    int fd;
    bool closed;
};

static void
committed_cb(void *f_, uint64_t datapath_id, const struct rule_set *rules)
{
    struct fixture *f = f_;

    assert_int_equal(datapath_id, 1);
    assert_ptr_equal(rules, f->rules);
    f->n_committed++;
}

static void
setup(struct fixture *f)
{
    uint64_t seed = 13;

    memset(f, 0, sizeof *f);
    memcpy(f->directory, "/tmp/test-server-XXXXXX", 24);
    assert_non_null(mkdtemp(f->directory));
    f->address = mem_printf("unix:%s/of.sock", f->directory);
    f->base = event_base_new();
    f->server = ovs_server_create(f->base, committed_cb, f);
    f->rules = random_rule_set(&seed, true);
    ovs_server_set_rules(f->server, 1, "br0", f->rules);
    unit_assert_error(ovs_server_listen(f->server, f->address), NULL);
}

static void
teardown(struct fixture *f)
{
    struct stat st;

    ovs_server_destroy(f->server);
    assert_int_not_equal(stat(f->address + 5, &st), 0);
    event_base_free(f->base);
    rule_set_unref(f->rules);
    rmdir(f->directory);
    free(f->address);
}

static void
open_client(struct fixture *f, struct client *c)
{
    struct listen_address la;

    memset(c, 0, sizeof *c);
    fake_switch_init(&c->sw);
    ofpbuf_init(&c->rx, 0);
    unit_assert_error(listen_address_parse(f->address, &la), NULL);
    c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *) &la.sa, la.len), 0);
    assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
}

static void
close_client(struct client *c)
{
    close(c->fd);
    ofpbuf_uninit(&c->rx);
    fake_switch_destroy(&c->sw);
}

/* Lets the server do what it can do now. */
static void
run_server(struct fixture *f)
{
    event_base_loop(f->base, EVLOOP_NONBLOCK);
}

/* Takes whole messages out of 'c->rx'. */
static void
receive_messages(struct client *c)
{
    while (c->rx.size >= sizeof(struct ofp_header)) {
        struct ofp_header oh;
        struct ofpbuf *msg;

        memcpy(&oh, c->rx.data, sizeof oh);
        if (c->rx.size < ntohs(oh.length)) {
            return;
        }
        msg = ofpbuf_clone_data(c->rx.data, ntohs(oh.length));
        ofpbuf_pull(&c->rx, msg->size);
        fake_switch_receive(&c->sw, msg->data);
        ofpbuf_delete(msg);
    }
}

static void
receive(struct client *c)
{
    char buf[65536];
    ssize_t n;

    while ((n = recv(c->fd, buf, sizeof buf, 0)) > 0) {
        ofpbuf_put(&c->rx, buf, (size_t) n);
        receive_messages(c);
    }
    c->closed = c->closed || !n || errno != EAGAIN;
}

/* Sends 'n' bytes at 'p', 'step' at a time. */
static void
send_bytes(struct fixture *f, struct client *c, const void *p_, size_t n,
           size_t step)
{
    const char *p = p_;

    while (n && !c->closed) {
        ssize_t sent = send(c->fd, p, MIN(n, step), MSG_NOSIGNAL);

        if (sent > 0) {
            p += sent;
            n -= (size_t) sent;
        }
        run_server(f);
        receive(c);
    }
}

/* Lets both ends talk, 'step' bytes at a time, until nothing more comes. */
static void
talk(struct fixture *f, struct client *c, size_t step)
{
    for (int idle = 0; idle < 20 && !c->closed; idle++) {
        struct ofpbuf *msg;

        LIST_FOR_EACH_POP (msg, list_node, &c->sw.replies) {
            send_bytes(f, c, msg->data, msg->size, step);
            ofpbuf_delete(msg);
            idle = 0;
        }
        run_server(f);
        receive(c);
    }
}

static void
hello(struct client *c)
{
    fake_switch_hello(&c->sw, 1u << OFP15_VERSION);
}

static void
test_whole(void **state)
{
    struct fixture f;
    struct client c;

    (void) state;
    setup(&f);
    open_client(&f, &c);
    hello(&c);
    talk(&f, &c, SIZE_MAX);
    assert_false(c.closed);
    assert_int_equal(f.n_committed, 1);
    assert_int_equal(c.sw.n_commits, 1);

    /* Other rules, in service. */
    rule_set_unref(f.rules);
    f.rules = random_rule_set(&(uint64_t){ 14 }, true);
    ovs_server_set_rules(f.server, 1, "br0", f.rules);
    talk(&f, &c, SIZE_MAX);
    assert_int_equal(f.n_committed, 2);
    close_client(&c);
    teardown(&f);
}

/* What a reader got. */
struct reader {
    char *error;
    unsigned int life;
    size_t n_flows;
    unsigned int n_answers;
};

static void
snapshot_cb(void *r_, const char *error, const struct snapshot *snapshot)
{
    struct reader *r = r_;

    r->n_answers++;
    if (error) {
        r->error = mem_strdup(error);
    } else {
        r->life = snapshot->life;
        r->n_flows = snapshot->n_flows;
    }
}

/* Checks that 'r' has had one answer, 'error', which is freed. */
static void
assert_answer(struct reader *r, const char *error)
{
    assert_int_equal(r->n_answers, 1);
    unit_assert_error(r->error, error);
    *r = (struct reader){ .n_answers = 0 };
}

/* Each reader is answered once, whatever becomes of the switch. */
static void
test_snapshot(void **state)
{
    struct reader r = { .n_answers = 0 };
    struct fixture f;
    struct client c;

    (void) state;
    setup(&f);
    ovs_server_snapshot(f.server, 2, SNAPSHOT_FLOWS, snapshot_cb, &r);
    assert_answer(&r, "datapath id 0000000000000002 is not configured");
    ovs_server_snapshot(f.server, 1, SNAPSHOT_FLOWS, snapshot_cb, &r);
    assert_answer(&r, "br0: is not connected");

    open_client(&f, &c);
    hello(&c);
    talk(&f, &c, SIZE_MAX);
    ovs_server_snapshot(f.server, 1, SNAPSHOT_FLOWS, snapshot_cb, &r);
    talk(&f, &c, SIZE_MAX);
    assert_int_equal(r.n_flows, fake_switch_count_flows(&c.sw));
    assert_int_equal(r.life, 1);
    assert_answer(&r, NULL);

    /* It hangs up, and comes again with nothing. */
    ovs_server_snapshot(f.server, 1, SNAPSHOT_FLOWS, snapshot_cb, &r);
    close_client(&c);
    run_server(&f);
    assert_answer(&r, "br0: connection lost");
    open_client(&f, &c);
    hello(&c);
    talk(&f, &c, SIZE_MAX);
    ovs_server_snapshot(f.server, 1, SNAPSHOT_FLOWS, snapshot_cb, &r);
    talk(&f, &c, SIZE_MAX);
    assert_int_equal(r.life, 2);
    assert_answer(&r, NULL);

    ovs_server_snapshot(f.server, 1, SNAPSHOT_FLOWS, snapshot_cb, &r);
    close_client(&c);
    teardown(&f);
    assert_answer(&r, "br0: connection lost: closed");
}

/* Messages come in pieces of any size. */
static void
test_fragmented(void **state)
{
    static const size_t steps[] = { 1, 3, 7, 64, 1000 };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct fixture f;
        struct client c;

        setup(&f);
        open_client(&f, &c);
        hello(&c);
        talk(&f, &c, steps[i]);
        assert_false(c.closed);
        assert_int_equal(f.n_committed, 1);
        close_client(&c);
        teardown(&f);
    }
}

/* A switch comes back and is known; a second one with its id is not. */
static void
test_same_switch_twice(void **state)
{
    struct fixture f;
    struct client a, b;

    (void) state;
    setup(&f);
    open_client(&f, &a);
    hello(&a);
    talk(&f, &a, SIZE_MAX);
    assert_int_equal(f.n_committed, 1);

    open_client(&f, &b);
    hello(&b);
    talk(&f, &b, SIZE_MAX);
    assert_true(b.closed);
    assert_int_equal(b.sw.n_mods, 0);
    close_client(&b);

    talk(&f, &a, SIZE_MAX);
    assert_false(a.closed);
    close_client(&a);
    run_server(&f);

    open_client(&f, &a);
    hello(&a);
    talk(&f, &a, SIZE_MAX);
    assert_int_equal(f.n_committed, 2);
    close_client(&a);
    teardown(&f);
}

/* A switch that comes back before its dead connection is noticed takes its
 * place; one that is alive keeps it. */
static void
test_dead_connection(void **state)
{
    struct client a, b;
    struct fixture f;

    (void) state;
    setup(&f);
    open_client(&f, &a);
    hello(&a);
    talk(&f, &a, SIZE_MAX);
    assert_int_equal(f.n_committed, 1);

    /* From here on 'a' does not answer. */
    for (int i = 0;; i++) {
        open_client(&f, &b);
        hello(&b);
        talk(&f, &b, SIZE_MAX);
        if (f.n_committed > 1) {
            break;
        }
        assert_true(b.closed);
        close_client(&b);
        assert_true(i < 100);
        usleep(100 * 1000);
    }
    assert_false(b.closed);
    talk(&f, &a, SIZE_MAX);
    assert_true(a.closed);
    close_client(&a);
    close_client(&b);
    teardown(&f);
}

static void
test_unknown_switch(void **state)
{
    struct fixture f;
    struct client c;

    (void) state;
    setup(&f);
    open_client(&f, &c);
    c.sw.datapath_id = 2;
    hello(&c);
    talk(&f, &c, SIZE_MAX);
    assert_true(c.closed);
    assert_int_equal(c.sw.n_mods, 0);
    close_client(&c);

    /* One that is let go is closed as well. */
    open_client(&f, &c);
    hello(&c);
    talk(&f, &c, SIZE_MAX);
    assert_false(c.closed);
    ovs_server_remove(f.server, 1);
    talk(&f, &c, SIZE_MAX);
    assert_true(c.closed);
    assert_true(fake_switch_count_flows(&c.sw) > 0);
    close_client(&c);
    teardown(&f);
}

/* The last words of the server come through before it closes. */
static void
test_refusal_is_told(void **state)
{
    struct fixture f;
    struct client c;

    (void) state;
    setup(&f);
    open_client(&f, &c);
    fake_switch_hello(&c.sw, 1u << OFP12_VERSION);
    talk(&f, &c, SIZE_MAX);
    assert_true(c.closed);
    assert_int_equal(c.sw.n_errors, 1);
    close_client(&c);
    teardown(&f);
}

/* Lengths that cannot be. */
static void
test_bad_lengths(void **state)
{
    static const uint8_t bad[][8] = { { 6, 0, 0, 7, 0, 0, 0, 1 },
                                      { 6, 0, 0, 0, 0, 0, 0, 1 },
                                      { 'G', 'E', 0, 4, ' ', '/', ' ', 'H' } };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct fixture f;
        struct client c;

        setup(&f);
        open_client(&f, &c);
        send_bytes(&f, &c, bad[i], 8, SIZE_MAX);
        talk(&f, &c, SIZE_MAX);
        assert_true(c.closed);
        close_client(&c);
        teardown(&f);
    }
}

/* Any bytes, with a flood of them: the connection may end, nothing else. */
static void
test_garbage(void **state)
{
    uint64_t seed = 15;

    (void) state;
    for (int i = 0; i < 50; i++) {
        struct fixture f;
        struct client c;

        setup(&f);
        open_client(&f, &c);
        for (int j = 0; j < 100 && !c.closed; j++) {
            uint8_t buf[997];

            for (size_t k = 0; k < sizeof buf; k++) {
                buf[k] = (uint8_t) unit_random(&seed);
            }
            send_bytes(&f, &c, buf, sizeof buf, SIZE_MAX);
        }
        close_client(&c);
        run_server(&f);
        teardown(&f);
    }
}

static void
test_too_many(void **state)
{
    struct client clients[OVS_SERVER_MAX_CONNECTIONS + 1];
    struct fixture f;

    (void) state;
    setup(&f);
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        open_client(&f, &clients[i]);
        run_server(&f);
    }
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        receive(&clients[i]);
        assert_int_equal(clients[i].closed, i == OVS_SERVER_MAX_CONNECTIONS);
        close_client(&clients[i]);
    }
    for (int i = 0; i < 100; i++) {
        run_server(&f);
    }

    /* When they are gone, there is room again. */
    open_client(&f, &clients[0]);
    hello(&clients[0]);
    talk(&f, &clients[0], SIZE_MAX);
    assert_int_equal(f.n_committed, 1);
    close_client(&clients[0]);
    teardown(&f);
}

/* A socket that a dead process left is taken over; one in use is not. */
static void
test_stale_socket(void **state)
{
    struct ovs_server *other;
    struct listen_address la;
    struct fixture f;
    char *stale;
    int fd;

    (void) state;
    setup(&f);
    other = ovs_server_create(f.base, committed_cb, &f);
    unit_assert_error(ovs_server_listen(other, f.address), "in use");

    stale = mem_printf("unix:%s/stale.sock", f.directory);
    unit_assert_error(listen_address_parse(stale, &la), NULL);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &la.sa, la.len), 0);
    close(fd);
    unit_assert_error(ovs_server_listen(other, stale), NULL);
    ovs_server_destroy(other);
    free(stale);
    teardown(&f);
}

static void
check_address(const char *s, bool local, const char *error)
{
    struct listen_address la;

    unit_assert_error(listen_address_parse(s, &la), error);
    if (!error) {
        assert_int_equal(listen_address_is_local(&la), local);
    }
}

static void
test_addresses(void **state)
{
    (void) state;
    check_address("tcp:127.0.0.1", true, NULL);
    check_address("tcp:127.1.2.3:7000", true, NULL);
    check_address("tcp:[::1]", true, NULL);
    check_address("tcp:[::1]:7000", true, NULL);
    check_address("tcp:0.0.0.0", false, NULL);
    check_address("tcp:192.0.2.1:6653", false, NULL);
    check_address("tcp:[::]", false, NULL);
    check_address("unix:/a/b", true, NULL);
    check_address("", false, "neither");
    check_address("tcp:", false, "numeric");
    check_address("tcp:host:6653", false, "numeric");
    check_address("tcp:127.0.0.1:0x10", false, "numeric");
    check_address("unix:a", false, "absolute");
    check_address(
        "unix:/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        false, "longer");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_fragmented),
        cmocka_unit_test(test_same_switch_twice),
        cmocka_unit_test(test_dead_connection),
        cmocka_unit_test(test_unknown_switch),
        cmocka_unit_test(test_refusal_is_told),
        cmocka_unit_test(test_bad_lengths),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_stale_socket),
        cmocka_unit_test(test_addresses),
    };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
