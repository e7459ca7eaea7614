/* SPDX-License-Identifier: Apache-2.0 */

/* What a session reads of a switch on demand. */

#include "controller/target/ovs/snapshot.h"

#include <inttypes.h>

#include <config.h>
#include <flow.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/ofp-util.h>
#include <openvswitch/vlog.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/session-stats.h"
#include "controller/target/ovs/session.h"
#include "tests/unit/fake-switch.h"
#include "tests/unit/random-state.h"
#include "tests/unit/unit.h"

#define EPOCH_COOKIE UINT64_C(0x4c42200000070002)

/* A session with a switch, and what its readers got. */
struct fixture {
    struct fake_switch sw;
    struct session *session;
    const struct rule_set *rules;
    int64_t now;

    unsigned int n_answers;
    char *error;                     /* Of the last one. */
    const struct snapshot *snapshot; /* The last one. */
    bool again;                      /* Ask from within the callback. */

    size_t n_found; /* As the observer was told. */
    unsigned int n_removed;
    unsigned int n_read;
    uint64_t removed_packets;
};

static void
snapshot_cb(void *f_, const char *error, const struct snapshot *snapshot)
{
    struct fixture *f = f_;

    assert_true(!error != !snapshot);
    f->n_answers++;
    free(f->error);
    f->error = error ? mem_strdup(error) : NULL;
    snapshot_unref(f->snapshot);
    f->snapshot = snapshot ? snapshot_ref(snapshot) : NULL;
    if (f->again) {
        f->again = false;
        session_snapshot(f->session, SNAPSHOT_ALL, snapshot_cb, f, f->now);
    }
}

static const char *
identify_cb(void *f_, struct session *session, uint64_t datapath_id,
            char **error)
{
    struct fixture *f = f_;

    (void) datapath_id;
    (void) error;
    session_set_rules(session, f->rules, f->now);
    return "br0";
}

static void
committed_cb(void *f_, struct session *session, const struct rule_set *rules)
{
    (void) f_;
    (void) session;
    (void) rules;
}

static unsigned int
found_cb(void *f_, struct session *session, size_t n)
{
    struct fixture *f = f_;

    (void) session;
    f->n_found = n;
    return 42;
}

static void
removed_cb(void *f_, struct session *session, const struct snapshot_flow *flow,
           int64_t now)
{
    struct fixture *f = f_;

    assert_ptr_equal(session, f->session);
    assert_int_equal(now, f->now);
    f->n_removed++;
    f->removed_packets = flow->count.packets;
}

static void
read_cb(void *f_, struct session *session, const struct snapshot *snapshot)
{
    struct fixture *f = f_;

    assert_ptr_equal(session, f->session);
    assert_int_equal(snapshot->life, 42);
    f->n_read++;
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

/* Rules of instance 7: an epoch, 2, of four slots and all ticks from 8 on,
 * and member 5 behind port 1. */
static const struct rule_set *
make_rules(void)
{
    const uint16_t members[] = { 5, 5, 6, 5 };
    const struct calendar_share share = { 5, 1, 0, 0 };
    const struct calendar *calendar;
    struct rule_set *set = rule_set_create();
    struct rule rule = { .kind = RULE_CALENDAR };

    unit_assert_error(calendar_create(&share, 1, 2, &calendar), NULL);
    memcpy(((struct calendar *) calendar)->members, members, sizeof members);
    rule.calendar.instance = 7;
    rule.calendar.epoch = 2;
    rule.calendar.calendar = calendar;
    rule_set_add(set, &rule);
    calendar_unref(calendar);

    rule = (struct rule){ .kind = RULE_EPOCH };
    rule.epoch.instance = 7;
    rule.epoch.epoch = 2;
    rule.epoch.prefix = (struct prefix){ 8, 61 };
    rule_set_add(set, &rule);

    rule = (struct rule){ .kind = RULE_MEMBER };
    rule.member.instance = 7;
    rule.member.member = 5;
    rule.member.base = 17000;
    rule.member.bits = 2;
    rule.member.mac = (struct mac){ { 2, 0, 0, 0, 0, 5 } };
    rule.member.egress = (struct port){ .type = PORT_NUMBER, .number = 1 };
    assert_true(addr_from_string("10.0.0.1", &rule.member.address));
    assert_true(addr_from_string("10.0.0.5", &rule.member.ip));
    rule_set_add(set, &rule);
    unit_assert_error(rule_set_seal(set), NULL);
    return set;
}

static void
setup(struct fixture *f)
{
    static const struct session_handlers handlers = { identify_cb,
                                                      committed_cb, NULL,
                                                      NULL };
    static const struct session_observer observer = { found_cb, removed_cb,
                                                      read_cb };

    memset(f, 0, sizeof *f);
    fake_switch_init(&f->sw);
    f->sw.ports[0] = "cn1";
    f->sw.ports[2] = "cn3";
    f->now = 1000;
    f->n_found = 99;
    f->rules = make_rules();
    f->session = session_create("peer", &handlers, f, f->now);
    session_set_observer(f->session, &observer, f);
}

/* A fixture whose session is ready, its rules installed. */
static void
setup_ready(struct fixture *f)
{
    setup(f);
    fake_switch_hello(&f->sw, 1u << OFP15_VERSION);
    talk(f);
    assert_int_equal(session_get_state(f->session), SESSION_READY);
    f->sw.n_flow_requests = 0;
}

static void
teardown(struct fixture *f)
{
    session_destroy(f->session);
    rule_set_unref(f->rules);
    fake_switch_destroy(&f->sw);
    snapshot_unref(f->snapshot);
    free(f->error);
}

static void
ask(struct fixture *f, unsigned int parts)
{
    session_snapshot(f->session, parts, snapshot_cb, f, f->now);
}

static void
assert_error(const struct fixture *f, const char *expected)
{
    assert_null(f->snapshot);
    assert_string_equal(f->error, expected);
}

static const struct snapshot_flow *
find_flow(const struct snapshot *s, const char *stage)
{
    for (size_t i = 0; i < s->n_flows; i++) {
        if (!strcmp(s->flows[i].words.stage, stage)) {
            return &s->flows[i];
        }
    }
    fail_msg("no flow of stage %s", stage);
    return NULL;
}

static void
test_flows(void **state)
{
    const struct snapshot_flow *flow;
    struct fixture f;

    (void) state;
    setup_ready(&f);
    fake_switch_add_flow(&f.sw, "table=3,cookie=0x4c43,actions=drop");
    ask(&f, SNAPSHOT_FLOWS);
    talk(&f);
    assert_null(f.error);
    assert_int_equal(f.snapshot->n_flows, 2);
    assert_int_equal(f.snapshot->n_groups, 0);
    assert_int_equal(f.snapshot->datapath_id, 1);
    assert_int_equal(f.snapshot->life, 42);
    assert_int_equal(f.n_found, 0);
    assert_string_equal(f.snapshot->name, "br0");

    flow = find_flow(f.snapshot, "epoch");
    assert_int_equal(flow->table, 32 + 7);
    assert_int_equal(flow->priority, 161);
    assert_int_equal(flow->cookie, EPOCH_COOKIE);
    assert_true(flow->known);
    assert_int_equal(flow->whose.detail, 2);
    assert_int_equal(flow->count.packets, 7);
    assert_int_equal(flow->count.bytes, 700);
    assert_string_equal(flow->match, "lb_tick=0x8/0xfffffffffffffff8");
    assert_string_equal(flow->actions, "group:3758555138");
    assert_true(flow->words.has_ticks);
    assert_int_equal(flow->words.first_tick, 8);
    assert_int_equal(flow->words.last_tick, 15);
    assert_int_equal(flow->words.epoch, 2);
    assert_int_equal(flow->words.group, UINT32_C(0xe0070002));

    flow = find_flow(f.snapshot, "member");
    assert_int_equal(flow->words.member, 5);
    assert_string_equal(flow->words.member_ip, "10.0.0.5");
    assert_string_equal(flow->words.member_mac, "02:00:00:00:00:05");
    assert_int_equal(flow->words.member_base, 17000);
    assert_int_equal(flow->words.member_ports, 4);
    assert_string_equal(flow->words.address, "10.0.0.1");
    assert_string_equal(flow->words.egress, "1");
    assert_int_equal(flow->words.vlan, 0);
    teardown(&f);
}

/* A calendar that is flows is a calendar, too. */
static void
test_calendar_flow(void **state)
{
    const struct snapshot_flow *flow;
    struct fixture f;

    (void) state;
    setup_ready(&f);
    fake_switch_add_flow(&f.sw, "table=7,cookie=0x4c42210000070002,reg1=7,"
                                "lb_slot_select=1/3,"
                                "actions=set_field:5->lb_member,"
                                "goto_table:8");
    ask(&f, SNAPSHOT_FLOWS);
    talk(&f);
    flow = find_flow(f.snapshot, "calendar");
    assert_int_equal(flow->words.instance, 7);
    assert_int_equal(flow->words.epoch, 2);
    assert_int_equal(flow->words.member, 5);
    teardown(&f);
}

static void
test_groups(void **state)
{
    const struct snapshot_group *g;
    struct fixture f;

    (void) state;
    setup_ready(&f);
    ask(&f, SNAPSHOT_FLOWS | SNAPSHOT_GROUPS);
    talk(&f);
    assert_null(f.error);
    assert_int_equal(f.snapshot->n_groups, 1);
    g = &f.snapshot->groups[0];
    assert_int_equal(g->instance, 7);
    assert_int_equal(g->epoch, 2);
    assert_int_equal(g->bits, 2);
    assert_int_equal(g->table, 8);
    assert_string_equal(g->method, "lb_calendar");
    assert_int_equal(g->references, 3);
    assert_int_equal(g->count.packets, 5);
    assert_int_equal(g->duration_ms, 2000);
    assert_int_equal(g->n_buckets, 4);
    assert_int_equal(g->buckets[2].slot, 2);
    assert_int_equal(g->buckets[2].member, 6);
    assert_int_equal(g->buckets[3].count.packets, 3);

    /* A row for each member; the address of the one that has flows. */
    assert_int_equal(g->words.n, 2);
    assert_int_equal(g->words.rows[0].member, 5);
    assert_string_equal(g->words.rows[0].slots, "0-1,3");
    assert_int_equal(g->words.rows[0].n_slots, 3);
    assert_string_equal(g->words.rows[0].member_ip, "10.0.0.5");
    assert_int_equal(g->words.rows[1].member, 6);
    assert_string_equal(g->words.rows[1].slots, "2");
    assert_string_equal(g->words.rows[1].member_ip, "");
    teardown(&f);
}

static void
test_meters_and_ports(void **state)
{
    struct fixture f;

    (void) state;
    setup_ready(&f);
    ask(&f, SNAPSHOT_METERS | SNAPSHOT_PORTS);
    talk(&f);
    assert_null(f.error);
    assert_int_equal(f.sw.n_flow_requests, 0);
    assert_int_equal(f.snapshot->n_meters, 1);
    assert_int_equal(f.snapshot->meters[0].id, 9);
    assert_int_equal(f.snapshot->meters[0].in.bytes, 3000);
    assert_int_equal(f.snapshot->meters[0].over.packets, 3);
    assert_int_equal(f.snapshot->n_ports, 2);
    assert_string_equal(f.snapshot->ports[1].name, "cn3");
    assert_int_equal(f.snapshot->ports[1].number, 3);
    assert_int_equal(f.snapshot->ports[1].rx.packets, 21);
    assert_int_equal(f.snapshot->ports[1].tx.bytes, 22);
    assert_int_equal(f.snapshot->ports[1].rx_dropped, 0);
    assert_string_equal(snapshot_port_name(f.snapshot, 1), "cn1");
    assert_null(snapshot_port_name(f.snapshot, 2));
    teardown(&f);
}

/* Adds to 'lines' what 'd' says. */
static void
add_line(char ***lines, size_t *n, const struct description *d)
{
    *lines = realloc(*lines, (*n + 1) * sizeof(void *));
    assert_non_null(*lines);
    (*lines)[(*n)++] = mem_printf(
        "%s %s %s %d/%d instance=%d iface=%d vlan=%d in=%d epoch=%d "
        "ticks=%d:%" PRIx64 "..%" PRIx64 " slots=%s(%d) %s %s %s udp=%d..%d "
        "member=%d base=%d ports=%d keep=%d egress=%s group=%x",
        d->stage, d->kind, d->verdict, d->table, d->priority, d->instance,
        d->iface, d->vlan, d->in_port, d->epoch, d->tick_bits, d->first_tick,
        d->last_tick, d->slots ? d->slots : "", d->n_slots, d->eth_dst,
        d->address, d->source, d->first_port, d->last_port, d->member,
        d->member_base, d->member_ports, d->keep, d->egress, d->group);
}

static int
compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Frees lines 'a', which must be the 'n' of 'b'. */
static void
assert_same_lines(char **a, char **b, size_t n)
{
    if (!a || !b) {
        fail_msg("there is nothing to compare");
        return;
    }
    qsort(a, n, sizeof(void *), compare_lines);
    qsort(b, n, sizeof(void *), compare_lines);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(a[i], b[i]);
        free(a[i]);
        free(b[i]);
    }
    free(a);
    free(b);
}

/* Checks that flows, or groups, are told of by 'all', which describes rules,
 * as by the snapshot. */
static void
check_words(const struct fixture *f, const struct descriptions *all,
            bool groups)
{
    const struct snapshot *s = f->snapshot;
    char **wanted = NULL, **read = NULL;
    size_t n_wanted = 0, n_read = 0;

    for (size_t i = 0; i < all->n; i++) {
        if ((all->rows[i].table < 0) == groups) {
            add_line(&wanted, &n_wanted, &all->rows[i]);
        }
    }
    for (size_t i = 0; !groups && i < s->n_flows; i++) {
        add_line(&read, &n_read, &s->flows[i].words);
    }
    for (size_t i = 0; groups && i < s->n_groups; i++) {
        for (size_t j = 0; j < s->groups[i].words.n; j++) {
            add_line(&read, &n_read, &s->groups[i].words.rows[j]);
        }
    }
    assert_int_equal(n_wanted, n_read);
    assert_true(n_read > 0);
    assert_same_lines(wanted, read, n_read);
}

/* A rule and what the switch tells of it are described by the same words. */
static void
test_words(void **state)
{
    uint64_t seed = 5;

    (void) state;
    for (int round = 0; round < 10; round++) {
        struct descriptions all;
        struct fixture f;

        setup(&f);
        rule_set_unref(f.rules);
        f.rules = random_rule_set(&seed, true);
        fake_switch_hello(&f.sw, 1u << OFP15_VERSION);
        talk(&f);

        descriptions_init(&all);
        for (size_t i = 0; i < f.rules->n; i++) {
            describe_rule(&f.rules->rules[i], &all);
        }
        ask(&f, SNAPSHOT_FLOWS);
        talk(&f);
        check_words(&f, &all, false);

        /* Without flows, groups know no addresses, as rules of groups. */
        ask(&f, SNAPSHOT_GROUPS);
        talk(&f);
        check_words(&f, &all, true);
        descriptions_destroy(&all);
        teardown(&f);
    }
}

/* Those who ask while a read runs share the one behind it. */
static void
test_sharing(void **state)
{
    struct fixture f;

    (void) state;
    setup_ready(&f);
    ask(&f, SNAPSHOT_FLOWS);
    ask(&f, SNAPSHOT_FLOWS);
    ask(&f, SNAPSHOT_GROUPS);
    ask(&f, SNAPSHOT_FLOWS);
    talk(&f);
    assert_int_equal(f.n_answers, 4);
    assert_int_equal(f.sw.n_flow_requests, 2);
    assert_int_equal(f.n_read, 2);
    assert_int_equal(f.snapshot->parts, SNAPSHOT_FLOWS | SNAPSHOT_GROUPS);

    f.again = true;
    ask(&f, SNAPSHOT_FLOWS);
    talk(&f);
    assert_int_equal(f.n_answers, 6);
    assert_int_equal(f.snapshot->parts, SNAPSHOT_ALL);
    teardown(&f);
}

/* Asked before the handshake is over, it is read behind it. */
static void
test_early(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    ask(&f, SNAPSHOT_FLOWS);
    assert_int_equal(f.n_answers, 0);
    fake_switch_hello(&f.sw, 1u << OFP15_VERSION);
    talk(&f);
    assert_int_equal(f.n_answers, 1);
    assert_null(f.error);
    teardown(&f);
}

/* A change goes on beside a read, and the other way round. */
static void
test_beside_a_change(void **state)
{
    const struct rule_set *empty = rule_set_create();
    struct fixture f;

    (void) state;
    setup_ready(&f);
    unit_assert_error(rule_set_seal((struct rule_set *) empty), NULL);
    session_set_rules(f.session, empty, f.now);
    assert_int_equal(session_get_state(f.session), SESSION_STAGING);
    ask(&f, SNAPSHOT_ALL);
    assert_int_equal(session_get_state(f.session), SESSION_STAGING);
    talk(&f);
    assert_null(f.error);
    assert_int_equal(f.n_answers, 1);
    assert_int_equal(session_get_state(f.session), SESSION_READY);
    assert_int_equal(fake_switch_count_flows(&f.sw), 0);
    rule_set_unref(empty);
    teardown(&f);
}

static void
test_refusal(void **state)
{
    struct fixture f;

    (void) state;
    setup_ready(&f);
    f.sw.refuse_stats = "OFPST_METER request";
    ask(&f, SNAPSHOT_ALL);
    talk(&f);
    assert_null(f.error);
    assert_int_equal(f.snapshot->n_meters, 0);
    assert_int_equal(f.snapshot->n_ports, 2);

    f.sw.refuse_stats = "NXST_GROUP request";
    ask(&f, SNAPSHOT_ALL);
    talk(&f);
    assert_error(&f, "br0: refused to tell its group counts: OFPBRC_BAD_STAT");
    assert_null(session_get_error(f.session));

    f.sw.refuse_stats = NULL;
    ask(&f, SNAPSHOT_ALL);
    talk(&f);
    assert_null(f.error);
    teardown(&f);
}

/* Silence ends the read, not the session; what comes then is nobody's. */
static void
test_timeout(void **state)
{
    struct fixture f;

    (void) state;
    setup_ready(&f);
    f.sw.silent = true;
    ask(&f, SNAPSHOT_ALL);
    talk(&f);
    assert_true(session_wakeup(f.session) <= f.now + SESSION_SNAPSHOT_MS);
    f.now += 6000;
    session_run(f.session, f.now); /* An echo request; it is answered. */
    talk(&f);
    f.now += SESSION_SNAPSHOT_MS - 6001;
    session_run(f.session, f.now);
    assert_int_equal(f.n_answers, 0);
    f.now++;
    session_run(f.session, f.now);
    assert_int_equal(f.n_answers, 1);
    assert_error(&f, "br0: no answer about its flows within 10 s");
    assert_null(session_get_error(f.session));
    teardown(&f);
}

static void
test_switch_gone(void **state)
{
    struct fixture f;

    (void) state;
    setup_ready(&f);
    ask(&f, SNAPSHOT_ALL);
    ask(&f, SNAPSHOT_ALL);
    session_destroy(f.session);
    f.session = NULL;
    assert_int_equal(f.n_answers, 2);
    assert_error(&f, "br0: connection lost: closed");
    teardown(&f);
}

/* A reply that is malformed ends the session, and its readers hear why. */
static void
test_malformed(void **state)
{
    struct fixture f;
    struct ofpbuf *msg;

    (void) state;
    setup_ready(&f);
    ask(&f, SNAPSHOT_FLOWS);
    while ((msg = session_pop_request(f.session))) {
        fake_switch_receive(&f.sw, msg->data);
        ofpbuf_delete(msg);
    }
    msg = ofpbuf_from_list(ovs_list_front(&f.sw.replies));
    ((uint8_t *) msg->data)[16] = 0xff; /* The first flow's length. */
    talk(&f);
    assert_string_equal(session_get_error(f.session),
                        "sent a malformed OFPST_FLOW reply");
    session_destroy(f.session);
    f.session = NULL;
    assert_error(&f, "br0: connection lost: "
                     "sent a malformed OFPST_FLOW reply");
    teardown(&f);
}

/* A switch that never ends is not listened to for ever. */
static void
test_too_much(void **state)
{
    struct snapshot *s = snapshot_create(1, "br0", SNAPSHOT_PORTS, 0);
    struct ofpbuf *request =
        ofputil_encode_port_desc_stats_request(OFP15_VERSION, OFPP_ANY);
    struct ovs_list replies;
    struct ofputil_phy_port pp = { .port_no = u16_to_ofp(1) };
    struct ofpbuf *msg;
    char *error = NULL;
    unsigned int n = 0;

    (void) state;
    ofpmp_init(&replies, request->data);
    for (int i = 0; i < 800; i++) {
        ofputil_append_port_desc_stats_reply(&pp, &replies);
    }
    msg = ofpbuf_from_list(ovs_list_front(&replies));
    ofpmsg_update_length(msg);
    while (!error && n < 100000) {
        error = snapshot_receive(s, msg->data);
        n++;
    }
    assert_true(n > 100);
    unit_assert_error(error, "has more than");
    ofpbuf_list_delete(&replies);
    ofpbuf_delete(request);
    snapshot_unref(s);
}

/* A flow that goes while a read runs is marked, and its last count told. */
static void
test_flow_removed(void **state)
{
    struct fixture f;
    struct ofpbuf *msg;

    (void) state;
    setup_ready(&f);
    ask(&f, SNAPSHOT_FLOWS);
    while ((msg = session_pop_request(f.session))) {
        fake_switch_receive(&f.sw, msg->data);
        ofpbuf_delete(msg);
    }
    fake_switch_flow_removed(&f.sw, EPOCH_COOKIE, 12, 3);
    talk(&f);
    assert_int_equal(f.n_removed, 1);
    assert_int_equal(f.removed_packets, 12);
    assert_null(f.error);

    ask(&f, SNAPSHOT_FLOWS | SNAPSHOT_PORTS);
    talk(&f);
    assert_int_equal(f.snapshot->n_flows, 1);
    assert_false(f.snapshot->flows[0].gone);
    teardown(&f);
}

/* The same between the flows' reply and the end of the read. */
static void
test_flow_removed_meanwhile(void **state)
{
    struct fixture f;
    struct ofpbuf *msg;

    (void) state;
    setup_ready(&f);
    ask(&f, SNAPSHOT_FLOWS | SNAPSHOT_PORTS);
    msg = session_pop_request(f.session);
    fake_switch_receive(&f.sw, msg->data);
    ofpbuf_delete(msg);
    fake_switch_flow_removed(&f.sw, EPOCH_COOKIE, 12, 3);
    talk(&f);
    assert_int_equal(f.snapshot->n_flows, 2);
    assert_true(find_flow(f.snapshot, "epoch")->gone);
    assert_false(find_flow(f.snapshot, "member")->gone);
    teardown(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flows),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_calendar_flow),
        cmocka_unit_test(test_meters_and_ports),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_beside_a_change),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_switch_gone),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_flow_removed),
        cmocka_unit_test(test_flow_removed_meanwhile),
    };

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
