/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/session.h"

#include <config.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-bundle.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/vlog.h>
#include <util.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "tests/unit/fake-switch.h"
#include "tests/unit/random-state.h"
#include "tests/unit/unit.h"

/* A session with a switch, and what its handlers saw. */
/* What a session tries before it writes anything: one bundle, and the messages
 * in it. */
#define N_TRIALS 1
#define N_TRIAL_MESSAGES 4

struct fixture {
    struct fake_switch sw;
    struct session *session;
    const struct rule_set *rules;     /* That the switch should hold. */
    const struct rule_set *committed; /* Compared, not used. */
    unsigned int n_committed;
    bool unknown;        /* Is the switch not ours? */
    uint32_t versions;   /* That the switch speaks. */
    uint64_t generation; /* For session_set_generation(). */
    int64_t now;
};

static const char *
identify_cb(void *f_, struct session *session, uint64_t datapath_id,
            char **error)
{
    struct fixture *f = f_;

    if (f->unknown) {
        *error = mem_strdup("is not ours");
        return NULL;
    }
    assert_int_equal(datapath_id, 1);
    session_set_generation(session, f->generation);
    if (f->rules) {
        session_set_rules(session, f->rules, f->now);
    }
    return "br0";
}

static void
committed_cb(void *f_, struct session *session, const struct rule_set *rules)
{
    struct fixture *f = f_;

    assert_ptr_equal(session, f->session);
    f->committed = rules;
    f->n_committed++;
}

static void
setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    fake_switch_init(&f->sw);
    f->sw.ports[0] = "cn1";
    f->versions = 1u << OFP15_VERSION;
    f->now = 1000;
}

static void
teardown(struct fixture *f)
{
    session_destroy(f->session);
    rule_set_unref(f->rules);
    fake_switch_destroy(&f->sw);
}

/* Connects, in place of a connection that may be there. */
static void
connect_session(struct fixture *f)
{
    static const struct session_handlers handlers = { identify_cb,
                                                      committed_cb, NULL,
                                                      NULL };

    session_destroy(f->session);
    ofpbuf_list_delete(&f->sw.replies);
    ovs_list_init(&f->sw.replies);
    f->committed = NULL;
    f->n_committed = 0;
    f->session = session_create("peer", &handlers, f, f->now);
}

/* Passes messages both ways until nobody has anything to say. */
static void
talk(struct fixture *f)
{
    bool active = true;

    while (active) {
        struct ofpbuf *msg;

        active = false;
        while ((msg = session_pop_request(f->session))) {
            fake_switch_receive(&f->sw, msg->data);
            ofpbuf_delete(msg);
            active = true;
        }
        LIST_FOR_EACH_POP (msg, list_node, &f->sw.replies) {
            session_receive(f->session, msg->data, f->now);
            ofpbuf_delete(msg);
            active = true;
        }
    }
}

/* Sends 'msg', which it takes, as it is. */
static void
send_raw(struct fixture *f, struct ofpbuf *msg)
{
    ofpmsg_update_length(msg);
    session_receive(f->session, msg->data, f->now);
    ofpbuf_delete(msg);
}

static void
handshake(struct fixture *f)
{
    connect_session(f);
    fake_switch_hello(&f->sw, f->versions);
    talk(f);
}

static void
assert_no_error(const struct fixture *f)
{
    if (session_get_error(f->session)) {
        fail_msg("session ended: %s", session_get_error(f->session));
    }
}

static void
assert_ready(const struct fixture *f)
{
    assert_no_error(f);
    assert_int_equal(session_get_state(f->session), SESSION_READY);
}

static void
assert_ended(const struct fixture *f, const char *reason)
{
    const char *error = session_get_error(f->session);

    assert_non_null(error);
    if (!strstr(error, reason)) {
        fail_msg("session ended: \"%s\" lacks \"%s\"", error, reason);
    }
}

/* Makes 'rules', which it takes, what the switch should hold. */
static void
set_rules(struct fixture *f, const struct rule_set *rules)
{
    rule_set_unref(f->rules);
    f->rules = rules;
    if (f->session) {
        session_set_rules(f->session, rules, f->now);
        talk(f);
    }
}

/* Checks that 'f''s switch holds what a fresh one would be given. */
static void
assert_holds_rules(struct fixture *f)
{
    struct fixture fresh;
    char *a, *b;

    setup(&fresh);
    memcpy(fresh.sw.ports, f->sw.ports, sizeof fresh.sw.ports);
    fresh.versions = f->versions;
    set_rules(&fresh, rule_set_ref(f->rules));
    handshake(&fresh);
    a = fake_switch_dump(&f->sw);
    b = fake_switch_dump(&fresh.sw);
    assert_string_equal(a, b);
    free(a);
    free(b);
    teardown(&fresh);
}

/* A state with one instance; 'n_epochs' epochs, each 1000 ticks, with the
 * calendar of the same number plus 'variant'. */
static const struct rule_set *
make_rules(unsigned int n_epochs, unsigned int variant)
{
    const struct bridge bridge = { .n_ports = 0 };
    struct interface iface = { .mac = { { 2, 0, 0, 0, 0, 1 } } };
    const struct interface **interfaces = mem_zalloc(sizeof(void *));
    struct instance *instance = mem_zalloc(sizeof *instance);
    struct state state = { .instances = instance, .n_instances = 1 };
    const struct rule_set *rules;

    interfaces[0] = &iface;
    instance->interfaces = interfaces;
    instance->n_interfaces = 1;
    instance->addresses = mem_zalloc(2 * sizeof *instance->addresses);
    instance->n_addresses = 2;
    assert_true(addr_from_string("10.0.0.1", &instance->addresses[0]));
    assert_true(addr_from_string("fd00::1", &instance->addresses[1]));
    random_members(&(uint64_t){ 1 }, instance);
    instance->members[1].egress.type = PORT_NAME;
    memcpy(instance->members[1].egress.name, "cn1", 4);
    for (unsigned int i = 0; i < n_epochs; i++) {
        const struct calendar *calendar = random_calendar(i + variant);

        unit_assert_error(epochs_connect(&instance->epochs, (uint16_t) (i + 1),
                                         i * 1000, 0, calendar),
                          NULL);
        calendar_unref(calendar);
    }
    rules =
        rule_set_build(&state, &bridge, &(struct rule_inputs){ .change = 0 });
    state_destroy(&state);
    return rules;
}

static void
test_install(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(2, 0));
    handshake(&f);
    assert_ready(&f);
    assert_ptr_equal(f.committed, f.rules);
    assert_int_equal(f.n_committed, 1);
    assert_int_equal(f.sw.n_commits, 1);
    assert_int_equal(fake_switch_count_groups(&f.sw), 2);
    assert_true(fake_switch_count_flows(&f.sw) > 50);
    teardown(&f);
}

/* A switch that has everything is left alone. */
static void
test_reconnect_changes_nothing(void **state)
{
    struct fixture f;
    size_t n_mods;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(3, 0));
    handshake(&f);
    n_mods = f.sw.n_mods;
    handshake(&f);
    assert_ready(&f);
    assert_int_equal(f.sw.n_mods, n_mods);
    assert_int_equal(f.sw.n_commits, 1);
    assert_ptr_equal(f.committed, f.rules);
    teardown(&f);
}

/* The same for random rule sets; this is the test that what is read back
 * compares equal to what was sent, for each kind of rule. */
static void
test_reconnect_random(void **state)
{
    uint64_t seed = 7;

    (void) state;
    for (int i = 0; i < 20; i++) {
        struct fixture f;

        setup(&f);
        set_rules(&f, random_rule_set(&seed, true));
        handshake(&f);
        assert_ready(&f);
        handshake(&f);
        assert_ready(&f);
        assert_int_equal(f.sw.n_commits, 1);
        teardown(&f);
    }
}

/* An epoch more costs its group, the prefixes, and /0. */
static void
test_epoch_change(void **state)
{
    struct fixture f;
    size_t n_mods;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    n_mods = f.sw.n_mods;

    /* 1000 = 0b1111101000: six prefixes. */
    set_rules(&f, make_rules(2, 0));
    assert_ready(&f);
    assert_int_equal(f.sw.n_mods - n_mods, 1 + 6 + 1);
    assert_int_equal(f.sw.n_commits, 2);
    assert_ptr_equal(f.committed, f.rules);
    assert_holds_rules(&f);
    teardown(&f);
}

/* From any rule set to any other, in service. */
static void
test_any_change(void **state)
{
    uint64_t seed = 8;

    (void) state;
    for (int i = 0; i < 20; i++) {
        struct fixture f;

        setup(&f);
        set_rules(&f, random_rule_set(&seed, true));
        handshake(&f);
        set_rules(&f, random_rule_set(&seed, true));
        assert_ready(&f);
        assert_holds_rules(&f);
        teardown(&f);
    }
}

/* The controller comes back with another idea of everything: either the switch
 * is taken there, or, if that would change what is connected, left alone. */
static void
test_any_reconnect(void **state)
{
    int n_done = 0, n_refused = 0;
    uint64_t seed = 8;

    (void) state;
    for (int i = 0; i < 100; i++) {
        struct fixture f;
        char *before, *after;

        setup(&f);
        set_rules(&f, random_rule_set(&seed, true));
        handshake(&f);
        before = fake_switch_dump(&f.sw);
        session_destroy(f.session);
        f.session = NULL;

        set_rules(&f, random_rule_set(&seed, true));
        handshake(&f);
        assert_ready(&f);
        if (f.committed) {
            assert_ptr_equal(f.committed, f.rules);
            assert_holds_rules(&f);
            n_done++;
        } else {
            after = fake_switch_dump(&f.sw);
            assert_string_equal(before, after);
            free(after);
            n_refused++;
        }
        free(before);
        teardown(&f);
    }
    assert_true(n_done > 5 && n_refused > 5);
}

/* The controller comes back without the newest epoch, or with its boundary
 * moved: nothing is changed until it has them. */
static void
test_forgetful_reconnect(void **state)
{
    struct fixture f;
    char *before, *after;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(3, 0));
    handshake(&f);
    before = fake_switch_dump(&f.sw);
    session_destroy(f.session);
    f.session = NULL;

    set_rules(&f, make_rules(2, 0));
    handshake(&f);
    assert_ready(&f);
    assert_null(f.committed);
    after = fake_switch_dump(&f.sw);
    assert_string_equal(before, after);
    free(after);
    free(before);

    set_rules(&f, make_rules(4, 0));
    assert_ptr_equal(f.committed, f.rules);
    assert_holds_rules(&f);
    teardown(&f);
}

/* While the controller was away, flows of ours went missing, changed and were
 * added; others' flows are there too. */
static void
test_repair(void **state)
{
    struct fake_flow *flow;
    struct fixture f;
    size_t n_mods;
    char *dump;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(2, 0));
    handshake(&f);
    assert_int_equal(f.sw.n_commits, 1);

    flow =
        CONTAINER_OF(ovs_list_pop_front(&f.sw.flows), struct fake_flow, node);
    minimatch_destroy(&flow->match);
    ofpbuf_uninit(&flow->actions);
    free(flow);
    fake_switch_add_flow(&f.sw, "table=4,cookie=0x4c42020000000000,"
                                "priority=99,tcp,actions=drop");
    fake_switch_add_flow(&f.sw, "table=8,cookie=0x4c42023300000000,"
                                "priority=1,reg1=0,actions=NORMAL");
    fake_switch_add_flow(&f.sw, "table=0,cookie=0x1234,priority=7,tcp,"
                                "actions=NORMAL");

    n_mods = f.sw.n_mods;
    handshake(&f);
    assert_ready(&f);
    assert_int_equal(f.sw.n_commits, 2);

    /* One was missing, one wrong, one too many. */
    assert_int_equal(f.sw.n_mods - n_mods, 3);
    dump = fake_switch_dump(&f.sw);
    assert_non_null(strstr(dump, "cookie=0000000000001234"));
    assert_null(strstr(dump, "priority=99"));
    free(dump);
    teardown(&f);
}

/* A group of ours that no flow refers to is replaced or deleted. */
static void
test_stray_groups(void **state)
{
    struct fixture f;
    struct fake_flow *flow;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(3, 0));
    handshake(&f);
    LIST_FOR_EACH_SAFE (flow, node, &f.sw.flows) {
        ovs_list_remove(&flow->node);
        minimatch_destroy(&flow->match);
        ofpbuf_uninit(&flow->actions);
        free(flow);
    }
    assert_int_equal(fake_switch_count_groups(&f.sw), 3);

    session_destroy(f.session);
    f.session = NULL;
    set_rules(&f, make_rules(2, 9));
    handshake(&f);
    assert_ready(&f);
    assert_ptr_equal(f.committed, f.rules);
    assert_holds_rules(&f);
    teardown(&f);
}

/* The calendar of a connected epoch is not touched, whoever wants it. */
static void
test_connected_calendar(void **state)
{
    struct fixture f;
    char *before, *after;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(2, 0));
    handshake(&f);
    before = fake_switch_dump(&f.sw);

    session_destroy(f.session);
    f.session = NULL;
    set_rules(&f, make_rules(2, 9));
    handshake(&f);
    assert_ready(&f);
    assert_null(f.committed);
    after = fake_switch_dump(&f.sw);
    assert_string_equal(before, after);
    free(after);

    /* Rules that agree with it are taken, on the same connection. */
    set_rules(&f, make_rules(3, 0));
    assert_ready(&f);
    assert_ptr_equal(f.committed, f.rules);
    assert_holds_rules(&f);
    free(before);
    teardown(&f);
}

/* If the switch refuses one message, nothing of the change stays; the change
 * is tried again later. */
static void
test_refused_message(void **state)
{
    struct fixture f;
    char *before, *after;

    (void) state;
    for (int nth = 0; nth < 8; nth++) {
        setup(&f);
        set_rules(&f, make_rules(1, 0));
        handshake(&f);
        before = fake_switch_dump(&f.sw);

        f.sw.refuse_add = nth;
        set_rules(&f, make_rules(2, 0));
        assert_ready(&f);
        assert_int_equal(f.sw.n_discards, N_TRIALS + 1);
        assert_int_equal(f.sw.n_commits, 1);
        assert_ptr_not_equal(f.committed, f.rules);
        after = fake_switch_dump(&f.sw);
        assert_string_equal(before, after);

        /* Not at once, but soon. */
        session_run(f.session, f.now + 1);
        talk(&f);
        assert_int_equal(f.sw.n_commits, 1);
        f.now = session_wakeup(f.session);
        while (f.sw.n_commits == 1) {
            session_run(f.session, f.now);
            talk(&f);
            assert_no_error(&f);
            f.now = session_wakeup(f.session);
            assert_true(f.now < 60000);
        }
        assert_ptr_equal(f.committed, f.rules);
        assert_holds_rules(&f);
        free(before);
        free(after);
        teardown(&f);
    }
}

/* The same for the very first change, which relies on what was read back. */
/* What the switch cannot do is found out before anything is written, and named;
 * a switch without the group method gets flows for slots. */
static void
test_trial(void **state)
{
    static const char *const lacks[] = {
        "lacks match field lb_tick; Open vSwitch with the extension",
        "lacks action lb_parse;", "lacks action lb_forward;"
    };
    struct fixture f;
    char *dump;

    (void) state;
    for (int nth = 0; nth < N_TRIAL_MESSAGES; nth++) {
        setup(&f);
        f.sw.refuse_add = nth;
        set_rules(&f, make_rules(1, 0));
        handshake(&f);
        if (nth < N_TRIAL_MESSAGES - 1) {
            assert_ended(&f, lacks[nth]);
            assert_int_equal(fake_switch_count_flows(&f.sw), 0);
            assert_int_equal(f.sw.n_commits, 0);
        } else {
            assert_ready(&f);
            dump = fake_switch_dump(&f.sw);
            assert_null(strstr(dump, "group_id"));
            assert_non_null(strstr(dump, "table=7 "));
            free(dump);
        }
        teardown(&f);
    }
}

static void
test_refused_first(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    fake_switch_add_flow(&f.sw, "table=4,cookie=0x4c42020000000000,"
                                "priority=99,tcp,actions=drop");
    f.sw.refuse_add = N_TRIAL_MESSAGES + 3;
    set_rules(&f, make_rules(2, 0));
    handshake(&f);
    assert_ready(&f);
    assert_null(f.committed);
    assert_int_equal(fake_switch_count_flows(&f.sw), 1);

    set_rules(&f, make_rules(2, 0));
    assert_ptr_equal(f.committed, f.rules);
    assert_holds_rules(&f);
    teardown(&f);
}

static void
test_refused_commit(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    f.sw.refuse_commit = true;
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    assert_ready(&f);
    assert_null(f.committed);
    assert_int_equal(f.sw.n_commits, 0);

    f.sw.refuse_commit = false;
    set_rules(&f, make_rules(2, 0));
    assert_ptr_equal(f.committed, f.rules);
    assert_holds_rules(&f);
    teardown(&f);
}

/* Rules that change while a change is under way are seen to after it. */
static void
test_change_during_change(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    f.rules = make_rules(1, 0);
    handshake(&f);
    rule_set_unref(f.rules);
    f.rules = make_rules(2, 0);
    session_set_rules(f.session, f.rules, f.now);
    assert_int_equal(session_get_state(f.session), SESSION_STAGING);
    rule_set_unref(f.rules);
    f.rules = make_rules(4, 0);
    session_set_rules(f.session, f.rules, f.now);
    talk(&f);
    assert_ready(&f);
    assert_ptr_equal(f.committed, f.rules);
    assert_int_equal(f.sw.n_commits, 3);
    assert_holds_rules(&f);
    teardown(&f);
}

/* A member behind a port that is not there is dropped by name; when the port
 * comes, goes or gets another number, its rule follows. */
static void
test_ports(void **state)
{
    struct fixture f;
    char *dump;

    (void) state;
    setup(&f);
    f.sw.ports[0] = NULL;
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    assert_ready(&f);
    assert_ptr_equal(f.committed, f.rules);
    dump = fake_switch_dump(&f.sw);
    assert_non_null(strstr(dump, "cookie=4c42223400000001"));
    free(dump);

    fake_switch_port_status(&f.sw, 4, "cn1");
    talk(&f);
    assert_ready(&f);
    dump = fake_switch_dump(&f.sw);
    assert_null(strstr(dump, "cookie=4c42223400000001"));
    assert_non_null(strstr(dump, "output:5"));
    free(dump);
    assert_holds_rules(&f);

    fake_switch_port_status(&f.sw, 4, NULL);
    fake_switch_port_status(&f.sw, 6, "cn1");
    talk(&f);
    dump = fake_switch_dump(&f.sw);
    assert_non_null(strstr(dump, "output:7"));
    free(dump);
    assert_holds_rules(&f);
    teardown(&f);
}

/* A number that OpenFlow reserves is of no port. */
static void
test_reserved_ports(void **state)
{
    static const ofp_port_t reserved[] = { OFPP_MAX, OFPP_NONE, OFPP_FLOOD,
                                           OFPP_CONTROLLER };

    (void) state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(reserved); i++) {
        struct ofputil_port_status ps = { .reason = OFPPR_ADD,
                                          .desc = { .name = "cn1" } };
        struct fixture f;

        setup(&f);
        f.versions = 1u << (i % 2 ? OFP13_VERSION : OFP15_VERSION);
        f.sw.ports[0] = NULL;
        set_rules(&f, make_rules(1, 0));
        handshake(&f);
        ps.desc.port_no = reserved[i / 2];
        send_raw(&f,
                 ofputil_encode_port_status(
                     &ps, ofputil_protocol_from_ofp_version(f.sw.version)));
        talk(&f);
        assert_ready(&f);
        assert_int_equal(f.sw.n_commits, 1);
        assert_holds_rules(&f);
        teardown(&f);
    }
}

/* Versions. */

static void
test_old_version(void **state)
{
    struct fixture f;
    struct ofpbuf *msg;
    bool told = false;

    (void) state;
    setup(&f);
    connect_session(&f);
    fake_switch_hello(&f.sw, 1u << OFP12_VERSION | 1u << OFP14_VERSION);
    LIST_FOR_EACH_POP (msg, list_node, &f.sw.replies) {
        session_receive(f.session, msg->data, f.now);
        ofpbuf_delete(msg);
    }
    assert_ended(&f, "wire version 0x05 at most");
    while ((msg = session_pop_request(f.session))) {
        const struct ofp_header *oh = msg->data;

        told = told || oh->type == OFPTYPE_ERROR || oh->type == 1;
        ofpbuf_delete(msg);
    }
    assert_true(told);
    teardown(&f);
}

static void
test_newer_versions_too(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(1, 0));
    connect_session(&f);
    fake_switch_hello(&f.sw, 1u << OFP10_VERSION | 1u << OFP15_VERSION);
    talk(&f);
    assert_ready(&f);
    teardown(&f);
}

static void
test_stranger(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    f.unknown = true;
    handshake(&f);
    assert_ended(&f, "is not ours");
    assert_int_equal(f.sw.n_mods, 0);
    teardown(&f);
}

/* OpenFlow 1.3: what is installed is found again, and becomes anything else,
 * without a group. */
static void
test_openflow13(void **state)
{
    uint64_t seed = 10;

    (void) state;
    for (int i = 0; i < 20; i++) {
        struct fixture f;

        setup(&f);
        f.versions = 1u << OFP10_VERSION | 1u << OFP13_VERSION;
        set_rules(&f, random_rule_set(&seed, true));
        handshake(&f);
        assert_ready(&f);
        assert_int_equal(session_get_minor_version(f.session), 3);
        assert_true(session_has_slot_flows(f.session));
        handshake(&f);
        assert_ready(&f);
        assert_int_equal(f.sw.n_commits, 1);

        set_rules(&f, random_rule_set(&seed, true));
        assert_ready(&f);
        assert_int_equal(f.sw.n_commits, 2);
        assert_int_equal(fake_switch_count_groups(&f.sw), 0);
        assert_holds_rules(&f);
        teardown(&f);
    }
}

/* Roles. */

static const struct session_limits limits = { 1000, 500 };

/* A primary controller of 'versions' with rules for one epoch. */
static void
setup_primary(struct fixture *f, uint32_t versions)
{
    setup(f);
    f->versions = versions;
    f->generation = 100;
    set_rules(f, make_rules(1, 0));
    handshake(f);
    assert_ready(f);
    assert_true(f->sw.primary);
    assert_int_equal(f->sw.n_commits, 1);
    session_set_limits(f->session, &limits);
    talk(f);
    assert_int_equal(f->sw.n_meter_mods, 2);
}

/* One that another controller displaces changes nothing, on this connection and
 * the next ones, until it asks anew; then it reads what the other one did. */
static void
test_displaced(void **state)
{
    static const enum ofp_version versions[] = { OFP13_VERSION,
                                                 OFP15_VERSION };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct fixture f;

        setup_primary(&f, 1u << versions[i]);
        fake_switch_displace(&f.sw, 200);
        talk(&f);
        assert_ready(&f);
        assert_true(session_is_secondary(f.session));
        set_rules(&f, make_rules(2, 0));
        assert_int_equal(f.sw.n_commits, 1);

        for (int again = 0; again < 2; again++) {
            handshake(&f);
            assert_ready(&f);
            assert_true(session_is_secondary(f.session));
            session_send_packet(f.session, 1, "packet", 6);
            session_set_limits(f.session, &limits);
            talk(&f);
            assert_int_equal(f.sw.n_meter_mods, 2);
            assert_null(f.committed);
            assert_int_equal(f.sw.n_commits, 1);
        }

        fake_switch_add_flow(&f.sw, "table=4,cookie=0x4c42020000000000,"
                                    "priority=99,tcp,actions=drop");
        session_set_generation(f.session, 300);
        talk(&f);
        assert_ready(&f);
        assert_false(session_is_secondary(f.session));
        assert_ptr_equal(f.committed, f.rules);
        assert_int_equal(f.sw.n_meter_mods, 4);
        assert_holds_rules(&f);
        teardown(&f);
    }
}

/* What the other controller did is read on the same connection, too. */
static void
test_regains(void **state)
{
    struct fixture f;

    (void) state;
    setup_primary(&f, 1u << OFP15_VERSION);
    fake_switch_displace(&f.sw, 200);
    talk(&f);
    fake_switch_add_flow(&f.sw, "table=4,cookie=0x4c42020000000000,"
                                "priority=99,tcp,actions=drop");
    f.now += 2 * SESSION_HANDSHAKE_MS;
    session_set_generation(f.session, 300);
    while (session_get_state(f.session) == SESSION_READY) {
        struct ofpbuf *msg = session_pop_request(f.session);

        fake_switch_receive(&f.sw, msg->data);
        ofpbuf_delete(msg);
        LIST_FOR_EACH_POP (msg, list_node, &f.sw.replies) {
            session_receive(f.session, msg->data, f.now);
            ofpbuf_delete(msg);
        }
    }

    /* It reads, for which it has as long as for the handshake. */
    assert_int_equal(session_get_state(f.session), SESSION_GROUPS);
    session_run(f.session, f.now + SESSION_HANDSHAKE_MS - 1);
    assert_no_error(&f);
    talk(&f);
    assert_ready(&f);
    assert_holds_rules(&f);
    teardown(&f);
}

/* Displaced within a change: nothing of it stays, and nobody tries again. */
static void
test_displaced_within_change(void **state)
{
    (void) state;
    for (int when = 0; when < 3; when++) {
        struct fixture f;
        char *before, *after;

        setup_primary(&f, 1u << OFP15_VERSION);
        before = fake_switch_dump(&f.sw);
        f.sw.refuse_add = when == 1 ? 0 : -1;
        f.sw.refuse_commit = when == 2;
        if (when) {
            /* Refused first, so that it is to be tried again later. */
            set_rules(&f, make_rules(2, 0));
            fake_switch_displace(&f.sw, 200);
        } else {
            fake_switch_displace(&f.sw, 200);
            set_rules(&f, make_rules(2, 0));
        }
        talk(&f);
        for (int i = 0; i < 10; i++) {
            f.now = session_wakeup(f.session);
            session_run(f.session, f.now);
            talk(&f);
            assert_ready(&f);
            assert_true(session_wakeup(f.session) > f.now);
        }
        assert_int_equal(f.sw.n_commits, 1);
        after = fake_switch_dump(&f.sw);
        assert_string_equal(before, after);
        free(before);
        free(after);
        teardown(&f);
    }
}

/* The role may become another one on a connection. */
static void
test_other_role(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    assert_false(f.sw.primary);
    session_set_generation(f.session, 100);
    talk(&f);
    assert_true(f.sw.primary);

    fake_switch_displace(&f.sw, 200);
    talk(&f);
    assert_true(session_is_secondary(f.session));
    session_set_generation(f.session, 0);
    talk(&f);
    assert_ready(&f);
    assert_false(session_is_secondary(f.session));
    set_rules(&f, make_rules(2, 0));
    assert_holds_rules(&f);
    teardown(&f);
}

/* A switch without roles has one controller. */
static void
test_no_roles(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    f.sw.refuse_roles = true;
    f.generation = 100;
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    assert_ready(&f);
    assert_false(session_is_secondary(f.session));
    assert_ptr_equal(f.committed, f.rules);
    teardown(&f);
}

/* Time. */

static void
test_handshake_timeout(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    connect_session(&f);
    assert_true(session_wakeup(f.session) <= f.now + SESSION_HANDSHAKE_MS);
    session_run(f.session, f.now + SESSION_HANDSHAKE_MS - 1);
    assert_no_error(&f);
    session_run(f.session, f.now + SESSION_HANDSHAKE_MS);
    assert_non_null(session_get_error(f.session));
    teardown(&f);
}

/* A silent switch is asked, and given up if it does not answer. */
static void
test_probe(void **state)
{
    struct fixture f;
    struct ofpbuf *msg;
    int64_t start;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    start = f.now;

    for (int i = 1; i <= 10; i++) {
        f.now = session_wakeup(f.session);
        assert_int_equal(f.now, start + i * SESSION_PROBE_MS);
        session_run(f.session, f.now);
        talk(&f);
        assert_ready(&f);
    }

    /* Now it does not answer any more. */
    start = f.now;
    while (!session_get_error(f.session)) {
        f.now = session_wakeup(f.session);
        assert_true(f.now <= start + SESSION_DEAD_MS);
        session_run(f.session, f.now);
        while ((msg = session_pop_request(f.session))) {
            ofpbuf_delete(msg);
        }
    }
    assert_int_equal(f.now, start + SESSION_DEAD_MS);
    assert_ended(&f, "is silent");
    teardown(&f);
}

/* A peer whose place another one wants keeps it if it answers in time. */
static void
test_challenge(void **state)
{
    struct fixture f;
    int64_t start;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    start = f.now += 10;
    session_challenge(f.session, f.now);
    talk(&f);
    assert_false(session_is_silent(f.session, start + SESSION_CHALLENGE_MS));

    /* Asking once more does not give it more time. */
    start = f.now += 10;
    session_challenge(f.session, start);
    session_challenge(f.session, start + SESSION_CHALLENGE_MS / 2);
    assert_false(
        session_is_silent(f.session, start + SESSION_CHALLENGE_MS - 1));
    assert_true(session_is_silent(f.session, start + SESSION_CHALLENGE_MS));
    f.now = start + SESSION_CHALLENGE_MS;
    talk(&f);
    assert_false(session_is_silent(f.session, f.now));
    teardown(&f);
}

/* Hostile peers. */

static void
test_no_hello(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    connect_session(&f);
    send_raw(&f, ofputil_encode_echo_request(OFP15_VERSION));
    assert_ended(&f, "before hello");
    teardown(&f);
}

static void
test_second_hello(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    handshake(&f);
    send_raw(&f, ofputil_encode_hello(1u << OFP15_VERSION));
    assert_ended(&f, "second hello");
    teardown(&f);
}

static void
test_version_switch(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    handshake(&f);
    send_raw(&f, ofputil_encode_echo_request(OFP13_VERSION));
    assert_ended(&f, "after agreeing on 0x06");
    teardown(&f);
}

static void
test_unasked_commit(void **state)
{
    struct ofputil_bundle_ctrl_msg ctrl = { .type = OFPBCT_COMMIT_REPLY };
    struct ofpbuf *request =
        ofputil_encode_bundle_ctrl_request(OFP15_VERSION, &ctrl);
    struct fixture f;

    (void) state;
    setup(&f);
    set_rules(&f, make_rules(1, 0));
    handshake(&f);
    send_raw(&f, ofputil_encode_bundle_ctrl_reply(request->data, &ctrl));
    assert_ended(&f, "committed what it was not told to");
    ofpbuf_delete(request);
    teardown(&f);
}

/* A peer that only asks, and never reads, is given up; one that reads is
 * not. */
static void
test_asks_only(void **state)
{
    struct fixture f;
    struct ofpbuf *msg;

    (void) state;
    setup(&f);
    handshake(&f);
    for (int i = 0; i < 10000; i++) {
        send_raw(&f, ofputil_encode_echo_request(OFP15_VERSION));
        while ((msg = session_pop_request(f.session))) {
            ofpbuf_delete(msg);
        }
    }
    assert_no_error(&f);
    for (int i = 0; i < 10000 && !session_get_error(f.session); i++) {
        send_raw(&f, ofputil_encode_echo_request(OFP15_VERSION));
    }
    assert_ended(&f, "asks more than it reads");
    teardown(&f);
}

/* Anything, in any state, may end the session, but no more. */
static void
test_garbage(void **state)
{
    uint64_t seed = 9;

    (void) state;
    for (int i = 0; i < 3000; i++) {
        uint8_t buf[128] __attribute__((aligned(8)));
        struct ofp_header *oh = (struct ofp_header *) buf;
        struct fixture f;
        struct ofpbuf *msg;

        setup(&f);
        connect_session(&f);
        if (i % 3) {
            handshake(&f);
        }
        for (size_t j = 0; j < sizeof buf; j++) {
            buf[j] = (uint8_t) unit_random(&seed);
        }
        oh->version = OFP15_VERSION;
        oh->type = (uint8_t) unit_random_below(&seed, 40);
        oh->length = htons((uint16_t) (8 + unit_random_below(&seed, 121)));
        oh->xid = htonl(unit_random_below(&seed, 8));
        session_receive(f.session, oh, f.now);
        while ((msg = session_pop_request(f.session))) {
            ofpbuf_delete(msg);
        }
        teardown(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_install),
        cmocka_unit_test(test_reconnect_changes_nothing),
        cmocka_unit_test(test_reconnect_random),
        cmocka_unit_test(test_epoch_change),
        cmocka_unit_test(test_any_change),
        cmocka_unit_test(test_any_reconnect),
        cmocka_unit_test(test_forgetful_reconnect),
        cmocka_unit_test(test_repair),
        cmocka_unit_test(test_stray_groups),
        cmocka_unit_test(test_connected_calendar),
        cmocka_unit_test(test_refused_message),
        cmocka_unit_test(test_trial),
        cmocka_unit_test(test_refused_first),
        cmocka_unit_test(test_refused_commit),
        cmocka_unit_test(test_change_during_change),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_reserved_ports),
        cmocka_unit_test(test_old_version),
        cmocka_unit_test(test_newer_versions_too),
        cmocka_unit_test(test_stranger),
        cmocka_unit_test(test_openflow13),
        cmocka_unit_test(test_displaced),
        cmocka_unit_test(test_regains),
        cmocka_unit_test(test_displaced_within_change),
        cmocka_unit_test(test_other_role),
        cmocka_unit_test(test_no_roles),
        cmocka_unit_test(test_handshake_timeout),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_challenge),
        cmocka_unit_test(test_no_hello),
        cmocka_unit_test(test_second_hello),
        cmocka_unit_test(test_version_switch),
        cmocka_unit_test(test_unasked_commit),
        cmocka_unit_test(test_asks_only),
        cmocka_unit_test(test_garbage),
    };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
