/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/counters.h"

#include <stdio.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/snapshot.h"
#include "tests/unit/unit.h"

/* A bridge with one flow of ours, the time, and what was counted. */
struct fixture {
    struct counters *counters;
    struct snapshot *snapshot;
    struct snapshot_flow flow;
    unsigned int life;
    int64_t created;
    int64_t now;
};

static void
set_cookie(struct fixture *f, enum rule_kind kind, uint8_t verdict,
           uint16_t owner, uint16_t detail)
{
    f->flow.known = true;
    f->flow.whose = (struct cookie){ kind, verdict, owner, detail };
}

static void
setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->counters = counters_create();
    f->now = 100000;
    f->created = 90000;
    f->flow.match = mem_strdup("udp");
    set_cookie(f, RULE_INSTANCE, VERDICT_BLOCKED_SRC, 3, 0);
}

static void
teardown(struct fixture *f)
{
    counters_destroy(f->counters);
    free(f->flow.match);
}

static void
set_count(struct fixture *f, uint64_t packets)
{
    f->flow.count = (struct snapshot_count){ packets, 100 * packets };
    f->flow.duration_ms = (uint64_t) (f->now - f->created);
}

/* The bridge 'datapath_id' is read, and the flow has counted 'packets'. */
static void
read_bridge(struct fixture *f, uint64_t datapath_id, uint64_t packets)
{
    struct snapshot *s =
        snapshot_create(datapath_id, "br0", SNAPSHOT_ALL, f->now);

    set_count(f, packets);
    s->life = f->life;
    s->flows = &f->flow;
    s->n_flows = 1;
    counters_update(f->counters, s);
    s->flows = NULL;
    s->n_flows = 0;
    snapshot_unref(s);
}

static void
read_flow(struct fixture *f, uint64_t packets)
{
    read_bridge(f, 1, packets);
}

static void
remove_flow(struct fixture *f, uint64_t packets)
{
    set_count(f, packets);
    counters_flow_removed(f->counters, 1, f->life, &f->flow, f->now);
}

/* Returns how many packets the counters called 'name' have counted in all, or
 * -1 if there is none. */
static int64_t
count(const struct fixture *f, const char *name)
{
    const struct counter **all;
    int64_t sum = -1;
    size_t n;

    all = counters_get(f->counters, &n);
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(all[i]->name, name)) {
            sum = (sum < 0 ? 0 : sum) + (int64_t) all[i]->packets;
        }
    }
    free(all);
    return sum;
}

#define CHECK(F, N) assert_int_equal(count(F, "blocked_src"), N)

static void
test_growth(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    CHECK(&f, -1);
    read_flow(&f, 0);
    CHECK(&f, 0);
    read_flow(&f, 5);
    read_flow(&f, 5);
    f.now += 5000;
    read_flow(&f, 12);
    CHECK(&f, 12);

    /* Another bridge has a flow of the same kind, which adds to it. */
    read_bridge(&f, 2, 4);
    CHECK(&f, 16);
    read_bridge(&f, 2, 5);
    read_flow(&f, 13);
    CHECK(&f, 18);
    teardown(&f);
}

/* A flow that goes leaves what it had counted, the last packets included. */
static void
test_removed(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    read_flow(&f, 5);
    f.now += 2000;
    remove_flow(&f, 9);
    CHECK(&f, 9);

    /* It comes again, and goes before it is read. */
    f.created = f.now += 2000;
    f.now += 100;
    remove_flow(&f, 3);
    CHECK(&f, 12);
    f.created = f.now += 2000;
    read_flow(&f, 1);
    CHECK(&f, 13);
    teardown(&f);
}

/* One is replaced in its place, and its successor goes on with its count. */
static void
test_replaced(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    read_flow(&f, 5);
    f.created = f.now += 2000;
    read_flow(&f, 7);
    CHECK(&f, 7);
    f.created = f.now += 2000;
    f.now += 10;
    remove_flow(&f, 8);
    CHECK(&f, 8);
    teardown(&f);
}

/* One goes and another one comes to its place, and is read before the switch
 * tells of the first one's end. */
static void
test_removed_late(void **state)
{
    struct fixture f;
    int64_t first;

    (void) state;
    for (uint64_t second = 3; second <= 8; second += 5) {
        setup(&f);
        first = f.created;
        read_flow(&f, 5);
        f.created = f.now += 5000;
        f.now += 100;
        read_flow(&f, second);

        f.created = first;
        remove_flow(&f, 6);
        CHECK(&f, 6 + (int64_t) second);
        f.created = f.now - 100;
        read_flow(&f, second + 1);
        CHECK(&f, 7 + (int64_t) second);
        teardown(&f);
    }
}

/* A switch that lost everything begins again; the sum does not. */
static void
test_restart(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    read_flow(&f, 5);
    f.life++;
    f.created = f.now += 2000;
    f.now += 1000;
    read_flow(&f, 50);
    CHECK(&f, 55);
    teardown(&f);
}

/* A flow that is said to be gone is counted by its end alone. */
static void
test_gone(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    read_flow(&f, 5);
    remove_flow(&f, 6);
    f.flow.gone = true;
    read_flow(&f, 5);
    CHECK(&f, 6);
    teardown(&f);
}

/* A hostile switch cannot make a counter go back. */
static void
test_overflow(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    read_flow(&f, UINT64_MAX / 2 + 7);
    read_flow(&f, 1);
    read_flow(&f, UINT64_MAX - 9);
    CHECK(&f, (int64_t) UINT64_MAX);
    teardown(&f);
}

/* Whose a counter is. */
static void
test_owners(void **state)
{
    static const struct {
        enum rule_kind kind;
        int verdict, owner, detail;
        enum counter_scope scope;
        int iface, instance, member;
        int dropped;
        const char *name;
    } cases[] = {
        { RULE_MEMBER, VERDICT_MBR_TX, 4, 9, COUNTER_MEMBER, -1, 4, 9, false,
          "mbr_tx" },
        { RULE_MEMBER, VERDICT_NO_PORT, 4, 9, COUNTER_MEMBER, -1, 4, 9, true,
          "no_port" },
        { RULE_INSTANCE, VERDICT_HEADER + 5, 4, 0, COUNTER_INSTANCE, -1, 4, -1,
          true, "bad_magic" },
        { RULE_EPOCH, VERDICT_LATE, 4, 2, COUNTER_INSTANCE, -1, 4, -1, false,
          "late" },
        { RULE_PIPELINE, VERDICT_L2_DROP, 0xf002, 0, COUNTER_INTERFACE, 2, -1,
          -1, true, "l2_dst_drop" },
        { RULE_PIPELINE, VERDICT_NOTIP, 0xffff, 0, COUNTER_ALL, -1, -1, -1,
          true, "notip" },
    };
    const struct counter **all;
    size_t n;

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;

        setup(&f);
        set_cookie(&f, cases[i].kind, (uint8_t) cases[i].verdict,
                   (uint16_t) cases[i].owner, (uint16_t) cases[i].detail);
        read_flow(&f, 3);
        all = counters_get(f.counters, &n);
        assert_int_equal(n, 1);
        assert_int_equal(all[0]->scope, cases[i].scope);
        assert_int_equal(all[0]->iface, cases[i].iface);
        assert_int_equal(all[0]->instance, cases[i].instance);
        assert_int_equal(all[0]->member, cases[i].member);
        assert_string_equal(all[0]->name, cases[i].name);
        assert_int_equal(all[0]->dropped, cases[i].dropped);
        assert_int_equal(all[0]->bytes, 300);
        free(all);

        /* What goes on is not counted, nor what is not known. */
        f.flow.whose.verdict = VERDICT_PASS;
        f.flow.match[0]++;
        read_flow(&f, 1);
        f.flow.whose.verdict = 0xef;
        read_flow(&f, 1);
        free(counters_get(f.counters, &n));
        assert_int_equal(n, 1);
        teardown(&f);
    }
}

static void
test_ports(void **state)
{
    struct snapshot *s = snapshot_create(5, "br0", SNAPSHOT_ALL, 1000);
    struct counters *c = counters_create();
    struct snapshot_port port = { .number = 2,
                                  .name = "cn1",
                                  .rx = { 4, 400 },
                                  .tx = { 5, 500 },
                                  .rx_dropped = 6 };
    const struct counter **all;
    size_t n;

    (void) state;
    s->ports = &port;
    s->n_ports = 1;
    counters_update(c, s);
    port.rx.packets++;
    counters_update(c, s);
    all = counters_get(c, &n);
    assert_int_equal(n, 6);
    assert_string_equal(all[0]->name, "port_rx");
    assert_string_equal(all[0]->port, "cn1");
    assert_int_equal(all[0]->datapath_id, 5);
    assert_int_equal(all[0]->packets, 5);
    assert_int_equal(all[0]->bytes, 400);
    assert_string_equal(all[1]->name, "port_tx");
    assert_string_equal(all[2]->name, "port_rx_dropped");
    assert_int_equal(all[2]->packets, 6);
    assert_true(all[2]->dropped);
    free(all);
    counters_destroy(c);
    s->ports = NULL;
    s->n_ports = 0;
    snapshot_unref(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),       cmocka_unit_test(test_removed),
        cmocka_unit_test(test_replaced),     cmocka_unit_test(test_restart),
        cmocka_unit_test(test_removed_late), cmocka_unit_test(test_gone),
        cmocka_unit_test(test_overflow),     cmocka_unit_test(test_owners),
        cmocka_unit_test(test_ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
