/* SPDX-License-Identifier: Apache-2.0 */

/* Overlays: what they make of a configuration, and that no sequence of changes
 * breaks what is connected. */

#include "controller/core/overlay.h"

#include <stdio.h>

#include "controller/core/calendar-plan.h"
#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-diff.h"
#include "controller/rules/rule-epochs.h"
#include "controller/rules/rule-set.h"
#include "controller/store/overlay-record.h"
#include "tests/unit/random-state.h"
#include "tests/unit/unit.h"

#define N_CONFIGURED 3

static const struct calendar *
make_calendar(uint64_t *seed, const struct instance *instance)
{
    struct calendar_share *shares =
        mem_zalloc(instance->n_members * sizeof *shares);
    const struct calendar *calendar;

    for (size_t i = 0; i < instance->n_members; i++) {
        shares[i].member = instance->members[i].id;
        shares[i].weight = 1 + unit_random_below(seed, 5);
        shares[i].min_factor = unit_random_below(seed, 2) / 4.0;
    }
    unit_assert_error(
        calendar_create(shares, instance->n_members, 3, &calendar), NULL);
    free(shares);
    return calendar;
}

static struct member
make_member(uint16_t id)
{
    struct member m = { .id = id,
                        .mac = { { 2, 0, 0, 0, 0, (uint8_t) id } },
                        .base = 20000,
                        .bits = 2,
                        .keep = id % 2,
                        .egress = { .type = PORT_NAME } };
    char ip[ADDR_STRLEN];

    snprintf(ip, sizeof ip, "10.0.1.%u", id % 250u + 1);
    assert_true(addr_from_string(ip, &m.ip));
    snprintf(m.egress.name, sizeof m.egress.name, "cn %u", id);
    return m;
}

/* A configuration with one instance, members 0 to N_CONFIGURED - 1 and an epoch
 * 1 from tick 0. */
static void
make_config(struct state *s)
{
    const struct calendar *calendar;
    struct instance *instance;
    uint64_t seed = 5;

    state_init(s);
    s->n_interfaces = s->n_instances = s->n_bridges = 1;
    s->interfaces = mem_zalloc(sizeof *s->interfaces);
    s->interfaces[0].name = mem_strdup("data");
    s->bridges = mem_zalloc(sizeof *s->bridges);
    s->bridges[0].name = mem_strdup("br0");
    s->instances = instance = mem_zalloc(sizeof *s->instances);
    instance->name = mem_strdup("demo");
    instance->line = 7;
    instance->interfaces = mem_alloc(sizeof(struct interface *));
    instance->interfaces[instance->n_interfaces++] = &s->interfaces[0];
    instance->addresses = mem_alloc(sizeof *instance->addresses);
    instance->n_addresses = 1;
    assert_true(addr_from_string("10.0.0.1", &instance->addresses[0]));
    instance->members = mem_alloc(N_CONFIGURED * sizeof(struct member));
    for (uint16_t i = 0; i < N_CONFIGURED; i++) {
        instance->members[instance->n_members] = make_member(i);
        instance->members[instance->n_members++].line = 10 + i;
    }
    epochs_init(&instance->epochs);
    calendar = make_calendar(&seed, instance);
    unit_assert_error(epochs_connect(&instance->epochs, 1, 0, 0, calendar),
                      NULL);
    calendar_unref(calendar);
    instance->epoch_lines = mem_alloc(sizeof(int));
    instance->epoch_lines[0] = 20;
}

static struct state *
apply(const struct overlay *overlay, const struct state *config)
{
    struct state *s;
    int line;

    unit_assert_error(overlay_apply(overlay, config, &s, &line), NULL);
    return s;
}

static void
free_state(struct state *s)
{
    state_destroy(s);
    free(s);
}

static void
check_refused(const struct overlay *overlay, const struct state *config,
              int expected_line, const char *reason)
{
    struct state *s;
    int line;

    unit_assert_error(overlay_apply(overlay, config, &s, &line), reason);
    assert_null(s);
    assert_int_equal(line, expected_line);
}

static void
test_nothing(void **state)
{
    struct overlay *overlay = overlay_create();
    struct state config;
    struct state *s;
    int line;

    (void) state;
    make_config(&config);
    s = apply(overlay, &config);
    assert_int_equal(s->instances[0].n_members, N_CONFIGURED);
    assert_int_equal(s->instances[0].epochs.n, 1);
    assert_ptr_not_equal(s->instances[0].members, config.instances[0].members);
    unit_assert_error(state_check_successor(&config, s, &line), NULL);
    free_state(s);
    state_destroy(&config);
    overlay_destroy(overlay);
    overlay_destroy(NULL);
}

static void
test_changes(void **state)
{
    struct overlay *overlay = overlay_create();
    struct member m = make_member(9);
    const struct calendar *calendar;
    uint64_t seed = 3;
    struct state config;
    struct state *s;

    (void) state;
    make_config(&config);
    overlay_add_member(overlay, 0, &m);
    m = make_member(4);
    overlay_add_member(overlay, 0, &m);
    s = apply(overlay, &config);
    assert_int_equal(s->instances[0].n_members, N_CONFIGURED + 2);
    assert_int_equal(s->instances[0].members[3].id, 4);
    assert_int_equal(s->instances[0].members[4].id, 9);
    assert_int_equal(s->instances[0].members[4].line, 0);
    assert_int_equal(s->instances[0].members[2].line, 12);
    calendar = make_calendar(&seed, &s->instances[0]);
    free_state(s);

    unit_assert_error(overlay_connect(overlay, 0, 5, 1000, 3, calendar), NULL);
    unit_assert_error(overlay_connect(overlay, 0, 6, 1000, 3, calendar),
                      "is not beyond epoch 5");
    s = apply(overlay, &config);
    assert_int_equal(s->instances[0].epochs.n, 2);
    assert_int_equal(s->instances[0].epochs.epochs[1]->first, 1000);
    assert_int_equal(s->instances[0].epoch_lines[0], 20);
    assert_int_equal(s->instances[0].epoch_lines[1], 0);
    free_state(s);

    /* Member 9 goes, of which epoch 5 makes use. */
    overlay_remove_member(overlay, 0, 9);
    check_refused(overlay, &config, 7,
                  "epoch 5, which is connected, names "
                  "member 9, which is not there");
    m = make_member(9);
    overlay_add_member(overlay, 0, &m);

    /* The configuration's epoch goes. */
    overlay_retire(overlay, 0, 1000);
    s = apply(overlay, &config);
    assert_int_equal(s->instances[0].epochs.n, 1);
    assert_int_equal(s->instances[0].epochs.epochs[0]->id, 5);
    free_state(s);

    calendar_unref(calendar);
    state_destroy(&config);
    overlay_destroy(overlay);
}

/* An operator's epoch is written into the configuration: there it may stay as
 * it is, but not as another one. */
static void
test_adopted(void **state)
{
    struct overlay *overlay = overlay_create();
    const struct calendar *calendar;
    uint64_t seed = 8;
    struct state config;
    struct state *s;

    (void) state;
    make_config(&config);
    unit_assert_error(
        overlay_connect(overlay, 0, 1, 0, 0,
                        config.instances[0].epochs.epochs[0]->calendar),
        NULL);
    s = apply(overlay, &config);
    assert_int_equal(s->instances[0].epochs.n, 1);
    free_state(s);
    overlay_destroy(overlay);

    overlay = overlay_create();
    calendar = make_calendar(&seed, &config.instances[0]);
    unit_assert_error(overlay_connect(overlay, 0, 1, 500, 0, calendar), NULL);
    check_refused(overlay, &config, 7, "instance demo: epoch 1 is connected");
    calendar_unref(calendar);
    state_destroy(&config);
    overlay_destroy(overlay);
}

static void
test_forget(void **state)
{
    struct overlay *overlay = overlay_create();
    struct member m = make_member(9);
    struct state config;

    (void) state;
    make_config(&config);
    overlay_add_member(overlay, 0, &m);
    assert_false(overlay_forget_missing(overlay, &config));
    overlay_add_member(overlay, 5, &m);
    assert_true(overlay_forget_missing(overlay, &config));
    assert_non_null(overlay_find(overlay, 0));
    assert_null(overlay_find(overlay, 5));
    state_destroy(&config);
    overlay_destroy(overlay);
}

static void
check_ports(const struct overlay *overlay, const struct state *config,
            uint16_t first, uint16_t last)
{
    struct state *s = apply(overlay, config);

    assert_int_equal(s->instances[0].first_port, first);
    assert_int_equal(s->instances[0].last_port, last);
    free_state(s);
}

/* An instance that is chained receives on its ports and on the chain's, from
 * record to record, until its sources are cleared. */
static void
test_chained(void **state)
{
    struct overlay *overlay = overlay_create();
    struct overlay *copy = overlay_create();
    struct state config;
    char *record;

    (void) state;
    make_config(&config);
    config.instances[0].first_port = 16384;
    config.instances[0].last_port = 32767;
    overlay_set_chained(overlay, 0);
    check_ports(overlay, &config, 16384, 32767);

    config.instances[0].reservable = true;
    check_ports(overlay, &config, 16384, 35905);
    record = overlay_record_format(overlay_find(overlay, 0));
    unit_assert_error(overlay_record_parse(copy, "instance/0", record), NULL);
    check_ports(copy, &config, 16384, 35905);
    config.instances[0].first_port = 20000;
    config.instances[0].last_port = 40000;
    check_ports(copy, &config, 19522, 40000);
    overlay_clear_sources(copy, 0);
    check_ports(copy, &config, 20000, 40000);

    free(record);
    state_destroy(&config);
    overlay_destroy(overlay);
    overlay_destroy(copy);
}

/* Random changes, as operators make them, some of which are refused. */

struct model {
    struct state config;
    struct overlay *overlay;
    struct state *state;
    uint16_t next_id;
    uint64_t seed;
};

/* Makes one change in 'overlay', which may be nonsense. */
static void
change_at_random(struct model *m, struct overlay *overlay)
{
    const struct instance *instance = &m->state->instances[0];
    uint16_t id = (uint16_t) unit_random_below(&m->seed, 12);
    const struct epochs *epochs = &instance->epochs;
    struct member member = make_member(id);
    const struct calendar *calendar;

    switch (unit_random_below(&m->seed, 6)) {
    case 0:
        member.base += (uint16_t) unit_random_below(&m->seed, 2);
        overlay_add_member(overlay, 0, &member);
        break;
    case 1:
        overlay_remove_member(overlay, 0, id);
        break;
    case 2:
        overlay_retire(
            overlay, 0,
            epochs
                ->epochs[unit_random_below(&m->seed, (unsigned int) epochs->n)]
                ->first);
        break;
    case 3: /* A new epoch with an old id. */
        m->next_id -= (uint16_t) unit_random_below(&m->seed, 3);
        break;
    default:
        calendar = make_calendar(&m->seed, instance);
        free(overlay_connect(overlay, 0, m->next_id++,
                             epochs_newest(epochs)->first
                                 + unit_random_below(&m->seed, 1000),
                             0, calendar));
        calendar_unref(calendar);
        break;
    }
}

static const struct rule_set *
build(const struct state *s)
{
    static const struct rule_inputs inputs = { .neighbours = NULL };

    return rule_set_build(s, &s->bridges[0], &inputs);
}

/* Returns the index of the row of 'rules' that is the same as 'rule', or -1. */
static int
find_row(struct rule *const *rules, size_t n, const struct rule *rule)
{
    for (size_t i = 0; i < n; i++) {
        if (!rule_compare(rules[i], rule)) {
            return (int) i;
        }
    }
    return -1;
}

/* Checks that what 'n' 'rules' say is whole: an epoch's calendar is there, and
 * the members of a calendar. */
static void
check_whole(struct rule *const *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct rule key = { .kind = RULE_CALENDAR };
        int row;

        if (rules[i]->kind != RULE_EPOCH || rules[i]->epoch.drop) {
            continue;
        }
        key.calendar.epoch = rules[i]->epoch.epoch;
        row = find_row(rules, n, &key);
        assert_true(row >= 0);
        for (size_t slot = 0; slot < 8; slot++) {
            uint16_t member = rules[row]->calendar.calendar->members[slot];
            bool found = false;

            for (size_t j = 0; j < n; j++) {
                found = found
                        || (rules[j]->kind == RULE_MEMBER
                            && rules[j]->member.member == member);
            }
            assert_true(found);
        }
    }
}

/* Returns the epoch of 'tick' by 'n' 'rules', or -1. */
static int
find_epoch(struct rule *const *rules, size_t n, uint64_t tick)
{
    const struct rule_epoch *best = NULL;

    for (size_t i = 0; i < n; i++) {
        if (rules[i]->kind == RULE_EPOCH
            && prefix_contains(&rules[i]->epoch.prefix, tick)
            && (!best || rules[i]->epoch.prefix.len > best->prefix.len)) {
            best = &rules[i]->epoch;
        }
    }
    return best ? best->epoch : -1;
}

/* Goes from 'a' to 'b' step by step and checks each: nothing lacks what it
 * refers to, each tick has an epoch, its old one or its new one, and a calendar
 * that is connected is never written over. */
static void
check_steps(struct model *m, const struct rule_set *a,
            const struct rule_set *b)
{
    size_t n = a->n;
    struct rule **rules = mem_alloc((a->n + b->n) * sizeof(struct rule *));
    struct rule **olds, **news;
    struct rule_diff diff;

    olds = mem_alloc(a->n * sizeof(struct rule *));
    news = mem_alloc(b->n * sizeof(struct rule *));
    for (size_t i = 0; i < a->n; i++) {
        olds[i] = rules[i] = &a->rules[i];
    }
    for (size_t i = 0; i < b->n; i++) {
        news[i] = &b->rules[i];
    }
    rule_diff_init(&diff);
    unit_assert_error(rule_diff_compute(&diff, a, b), NULL);
    for (size_t i = 0; i < diff.n; i++) {
        struct rule *rule = (struct rule *) diff.steps[i].rule;
        int row = find_row(rules, n, rule);

        if (diff.steps[i].op == RULE_DELETE) {
            rules[row] = rules[--n];
        } else if (row >= 0) {
            assert_int_not_equal(rule->kind, RULE_CALENDAR);
            rules[row] = rule;
        } else {
            rules[n++] = rule;
        }
        check_whole(rules, n);
        for (int j = 0; j < 20; j++) {
            uint64_t tick = unit_random(&m->seed)
                            >> (40 + unit_random_below(&m->seed, 24));
            int epoch = find_epoch(rules, n, tick);

            assert_true(epoch >= 0);
            assert_true(epoch == find_epoch(olds, a->n, tick)
                        || epoch == find_epoch(news, b->n, tick));
        }
    }
    rule_diff_destroy(&diff);
    free(rules);
    free(olds);
    free(news);
}

/* Any accepted change leads from whole to whole, and keeps connected epochs. */
static void
check_accepted(struct model *m, const struct state *next)
{
    const struct epochs *old = &m->state->instances[0].epochs;
    const struct epochs *new = &next->instances[0].epochs;
    const struct rule_set *a = build(m->state);
    const struct rule_set *b = build(next);

    for (size_t i = 0; i < new->n; i++) {
        const struct epoch *same = epochs_find_id(old, new->epochs[i]->id);

        assert_true(!same || epoch_equal(same, new->epochs[i]));
        assert_true(same || new->epochs[i]->first > epochs_newest(old)->first);
    }
    check_steps(m, a, b);
    rule_set_unref(a);
    rule_set_unref(b);
}

/* What is stored of 'overlay' is 'overlay'. */
static void
check_record(const struct overlay *overlay, const struct state *config)
{
    const struct overlay_instance *o = overlay_find(overlay, 0);
    struct overlay *copy = overlay_create();
    struct state *a, *b;
    const struct rule_set *ra, *rb;
    char *value;

    if (o) {
        char *key = overlay_record_key(0);
        char *again;

        value = overlay_record_format(o);
        unit_assert_error(overlay_record_parse(copy, key, value), NULL);
        again = overlay_record_format(overlay_find(copy, 0));
        assert_string_equal(value, again);
        free(again);
        free(value);
        free(key);
    }
    a = apply(overlay, config);
    b = apply(copy, config);
    ra = build(a);
    rb = build(b);
    assert_int_equal(ra->n, rb->n);
    for (size_t i = 0; i < ra->n; i++) {
        assert_true(rule_equal(&ra->rules[i], &rb->rules[i]));
    }
    rule_set_unref(ra);
    rule_set_unref(rb);
    free_state(a);
    free_state(b);
    overlay_destroy(copy);
}

static void
test_random(void **state)
{
    unsigned int n_accepted = 0, n_refused = 0;
    struct model m = { .next_id = 65530, .seed = 20240 };

    (void) state;
    make_config(&m.config);
    m.overlay = overlay_create();
    m.state = apply(m.overlay, &m.config);
    for (int i = 0; i < 600; i++) {
        struct overlay *overlay = overlay_clone(m.overlay);
        struct state *next;
        char *error;
        int line;

        change_at_random(&m, overlay);
        error = overlay_apply(overlay, &m.config, &next, &line);
        error = error ? error : state_check_successor(m.state, next, &line);
        if (error) {
            n_refused++;
            free(error);
            if (next) {
                free_state(next);
            }
            overlay_destroy(overlay);
            continue;
        }
        n_accepted++;
        check_accepted(&m, next);
        check_record(overlay, &m.config);
        free_state(m.state);
        m.state = next;
        overlay_destroy(m.overlay);
        m.overlay = overlay;
    }
    assert_true(n_accepted > 200);
    assert_true(n_refused > 20);
    free_state(m.state);
    overlay_destroy(m.overlay);
    state_destroy(&m.config);
}

/* Makes the calendar once more that 'calendar' is, from what is remembered. */
static const struct calendar *
make_again(const struct calendar *calendar)
{
    const struct calendar_options options = { STRATEGY_DYNAMIC,
                                              calendar->seed };
    struct calendar_member members[8] = { { .weight = 0 } };
    const struct calendar *again;
    bool bounded;

    for (size_t i = 0; i < calendar->n_shares; i++) {
        const struct calendar_share *share = &calendar->shares[i];

        members[i] =
            (struct calendar_member){ .member = share->member,
                                      .weight = share->weight,
                                      .min_factor = share->min_factor,
                                      .max_factor = share->max_factor };
    }
    unit_assert_error(calendar_plan(members, calendar->n_shares, &options,
                                    calendar->bits, &again, &bounded),
                      NULL);
    return again;
}

/* A calendar that was shuffled can be made again from its record. */
static void
test_shuffled_record(void **state)
{
    const struct calendar_member members[] = {
        { .member = 7, .weight = 3, .min_factor = 1.0 / 3, .max_factor = 1.1 },
        { .member = 2, .weight = 5 },
        { .member = 9, .weight = 900, .max_factor = (double) 1.3f }
    };
    const struct calendar_options options = { STRATEGY_DYNAMIC, UINT64_MAX };
    const struct calendar *calendar, *restored, *again;
    struct overlay *overlay = overlay_create();
    struct overlay *copy = overlay_create();
    bool bounded;
    char *record;

    (void) state;
    unit_assert_error(
        calendar_plan(members, 3, &options, 9, &calendar, &bounded), NULL);
    unit_assert_error(overlay_connect(overlay, 0, 1, 0, 0, calendar), NULL);
    record = overlay_record_format(overlay_find(overlay, 0));
    unit_assert_error(overlay_record_parse(copy, "instance/0", record), NULL);
    restored = overlay_find(copy, 0)->epochs.epochs[0]->calendar;
    assert_true(restored->shuffled);
    assert_true(restored->seed == UINT64_MAX);
    assert_true(calendar_equal(restored, calendar));
    again = make_again(restored);
    assert_true(calendar_equal(again, calendar));

    calendar_unref(again);
    calendar_unref(calendar);
    free(record);
    overlay_destroy(overlay);
    overlay_destroy(copy);
}

/* Records that are not what evlbd writes. */
static void
test_bad_records(void **state)
{
    static const struct {
        const char *key, *value, *reason;
    } cases[] = {
        { "instance/999", "oldest 0\n", "is none of evlbd's" },
        { "instance/0x", "oldest 0\n", "is none of evlbd's" },
        { "other", "", "is none of evlbd's" },
        { "instance/0", "oldest\n", "line 1: is not what evlbd writes" },
        { "instance/0", "oldest -1\n", "line 1" },
        { "instance/0", "oldest 1 2\n", "line 1" },
        { "instance/0", "oldest 18446744073709551616\n", "line 1" },
        { "instance/0", "newest 1\n", "line 1" },
        { "instance/0", "oldest 1\n\noldest 2\n", "line 2" },
        { "instance/0", "member 1 10.0.0.1 02:00:00:00:00:01 1 0 0 some 0 \n",
          "line 1" },
        { "instance/0", "member 1 10.0.0.1 02:00:00:00:00:01 1 0 2 any 0 \n",
          "line 1" },
        { "instance/0",
          "member 1 10.0.0.1 02:00:00:00:00:01 1 0 0 name 0 "
          "a-name-of-too-many-characters\n",
          "line 1" },
        { "instance/0", "share 1 1 0 0\n", "line 1" },
        { "instance/0", "epoch 1 0 0 10\n", "line 1" },
        { "instance/0", "epoch 1 0 0 0\n", "lacks its slots" },
        { "instance/0", "epoch 1 0 0 0\nshare 1 1 nan 0\n", "line 2" },
        { "instance/0", "epoch 1 0 0 0\nshare 1 1 0 0\nslots\n", "line 3" },
        { "instance/0", "epoch 1 0 0 0\nshare 1 1 0 0\nslots 1 1\n",
          "line 3" },
        { "instance/0", "seed 1\n", "line 1" },
        { "instance/0", "epoch 1 0 0 0\nseed -1\n", "line 2" },
        { "instance/0", "epoch 1 0 0 0\nseed 1\nseed 1\n", "line 3" },
        { "instance/0", "epoch 1 5 0 0\nslots 1\nepoch 2 5 0 0\nslots 1\n",
          "line 4: epoch 2 from tick 5 is not beyond" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct overlay *overlay = overlay_create();

        unit_assert_error(
            overlay_record_parse(overlay, cases[i].key, cases[i].value),
            cases[i].reason);
        overlay_destroy(overlay);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_adopted),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_chained),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_shuffled_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
