/* SPDX-License-Identifier: Apache-2.0 */

/* Properties of the steps from any rule set to any other.
 *
 * Random states are built into rule sets; the steps between two of them are
 * applied one by one to a table of rules, and after each step the table is
 * looked at as a packet would. */

#include "controller/rules/rule-diff.h"

#include <stdio.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "tests/unit/random-state.h"
#include "tests/unit/unit.h"

#define N_TICKS 40

/* A table of rules that steps are applied to. */

struct table {
    const struct rule *rules[4096];
    size_t n;
};

static void
table_init(struct table *t, const struct rule_set *set)
{
    t->n = 0;
    for (size_t i = 0; i < set->n; i++) {
        assert_true(t->n < sizeof t->rules / sizeof t->rules[0]);
        t->rules[t->n++] = &set->rules[i];
    }
}

static size_t
table_find(const struct table *t, const struct rule *key)
{
    size_t i = 0;

    while (i < t->n && rule_compare(t->rules[i], key)) {
        i++;
    }
    return i;
}

static bool
table_has(const struct table *t, const struct rule *key)
{
    return table_find(t, key) < t->n;
}

/* Returns true if an epoch rule of 't' refers to 'calendar'. */
static bool
is_referenced(const struct table *t, const struct rule_calendar *calendar)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct rule *r = t->rules[i];

        if (r->kind == RULE_EPOCH && !r->epoch.drop
            && r->epoch.instance == calendar->instance
            && r->epoch.epoch == calendar->epoch) {
            return true;
        }
    }
    return false;
}

static void
table_apply(struct table *t, const struct rule_step *step)
{
    size_t i = table_find(t, step->rule);

    if (step->op == RULE_DELETE) {
        assert_true(i < t->n);
        t->rules[i] = t->rules[--t->n];
        return;
    }

    assert_int_equal(step->replaces, i < t->n);
    if (i < t->n) {
        assert_true(step->kind != RULE_CALENDAR
                    || !is_referenced(t, &t->rules[i]->calendar));
        assert_false(rule_equal(t->rules[i], step->rule));
    } else {
        t->n++;
    }
    t->rules[i] = step->rule;
}

/* What a packet would meet. */

/* Returns the epoch rule that 'tick' of 'instance' goes by, or NULL. */
static const struct rule_epoch *
table_lookup(const struct table *t, uint16_t instance, uint64_t tick)
{
    const struct rule_epoch *best = NULL;

    for (size_t i = 0; i < t->n; i++) {
        const struct rule *r = t->rules[i];

        if (r->kind == RULE_EPOCH && r->epoch.instance == instance
            && prefix_contains(&r->epoch.prefix, tick)
            && (!best || r->epoch.prefix.len > best->prefix.len)) {
            best = &r->epoch;
        }
    }
    return best;
}

static bool
same_verdict(const struct rule_epoch *a, const struct rule_epoch *b)
{
    return a->drop == b->drop && (a->drop || a->epoch == b->epoch);
}

static bool
table_has_instance(const struct table *t, uint16_t instance)
{
    struct rule key = { .kind = RULE_INSTANCE,
                        .instance = { .instance = instance } };

    return table_has(t, &key);
}

/* Every tick of an instance of both sets goes by its old or its new epoch. */
static void
check_ticks(const struct table *now, const struct table *old,
            const struct table *new, const uint64_t *ticks)
{
    for (uint16_t instance = 0; instance < RANDOM_N_INSTANCES; instance++) {
        if (!table_has_instance(old, instance)
            || !table_has_instance(new, instance)) {
            continue;
        }
        for (size_t i = 0; i < N_TICKS; i++) {
            const struct rule_epoch *e = table_lookup(now, instance, ticks[i]);

            assert_non_null(e);
            assert_true(
                same_verdict(e, table_lookup(old, instance, ticks[i]))
                || same_verdict(e, table_lookup(new, instance, ticks[i])));
        }
    }
}

/* The calendar that 'epoch' refers to is there. */
static void
check_epoch(const struct table *t, const struct rule_epoch *epoch)
{
    struct rule key = { .kind = RULE_CALENDAR,
                        .calendar = { .instance = epoch->instance,
                                      .epoch = epoch->epoch } };

    assert_true(epoch->drop || table_has(t, &key));
}

/* Every member of the calendar that stands at 'calendar' has its row for the
 * 'address' that packets can come to. */
static void
check_members(const struct table *t, const struct rule_calendar *calendar,
              const struct rule_ip_filter *address, uint16_t vlan)
{
    for (size_t i = 0; i < calendar_n_slots(calendar->calendar); i++) {
        uint16_t member = calendar->calendar->members[i];
        struct rule key = { .kind = RULE_MEMBER,
                            .member = { .instance = calendar->instance,
                                        .vlan = vlan,
                                        .address = address->address,
                                        .member = member } };

        /* Even ids are IPv6 members, odd ones are IPv4. */
        if ((member % 2 != 0) == addr_is_ipv4(&address->address)) {
            assert_true(table_has(t, &key));
        }
    }
}

/* Returns true if 't' has the row of 'rule' with the same content. */
static bool
table_has_equal(const struct table *t, const struct rule *rule)
{
    size_t i = table_find(t, rule);

    return i < t->n && rule_equal(t->rules[i], rule);
}

/* All members of the connected calendars of 'address''s instance are there for
 * packets that come in through 'iface'. */
static void
check_calendars(const struct table *t, const struct rule_ip_filter *address,
                const struct rule_l2_iface *iface)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct rule *r = t->rules[i];

        if (r->kind == RULE_CALENDAR
            && r->calendar.instance == address->instance
            && is_referenced(t, &r->calendar)) {
            check_members(t, &r->calendar, address, iface->vlan);
        }
    }
}

/* An instance that packets can reach through 'address' is complete: it has its
 * counters, an epoch for each tick, and all members of its calendars, for all
 * packets that the old set or the new set lets in ('sets'). */
static void
check_reachable(const struct table *t, const struct table *const sets[2],
                const struct rule *address, const uint64_t *ticks)
{
    assert_true(table_has_instance(t, address->ip_filter.instance));
    for (size_t i = 0; i < N_TICKS; i++) {
        assert_non_null(
            table_lookup(t, address->ip_filter.instance, ticks[i]));
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct rule *iface = t->rules[i];

        for (size_t j = 0; j < 2; j++) {
            if (iface->kind == RULE_L2_IFACE
                && iface->l2_iface.iface == address->ip_filter.iface
                && table_has_equal(sets[j], iface)
                && table_has_equal(sets[j], address)) {
                check_calendars(t, &address->ip_filter, &iface->l2_iface);
            }
        }
    }
}

static void
check_table(const struct table *t, const struct table *const sets[2],
            const uint64_t *ticks)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->rules[i]->kind == RULE_EPOCH) {
            check_epoch(t, &t->rules[i]->epoch);
        } else if (t->rules[i]->kind == RULE_IP_FILTER
                   && addr_equal(&t->rules[i]->ip_filter.address,
                                 &t->rules[i]->ip_filter.unicast)) {
            check_reachable(t, sets, t->rules[i], ticks);
        }
    }
}

static void
check_same(const struct table *t, const struct rule_set *set)
{
    assert_int_equal(t->n, set->n);
    for (size_t i = 0; i < set->n; i++) {
        size_t j = table_find(t, &set->rules[i]);

        assert_true(j < t->n);
        assert_true(rule_equal(t->rules[j], &set->rules[i]));
    }
}

static void
random_ticks(uint64_t *seed, uint64_t *ticks)
{
    ticks[0] = 0;
    ticks[1] = UINT64_MAX;
    for (size_t i = 2; i < N_TICKS; i++) {
        ticks[i] = unit_random_below(seed, 10000);
    }
}

/* Applies 'diff' from 'old' to 'new', looking at each step. */
static void
check_steps(uint64_t *seed, const struct rule_diff *diff,
            const struct rule_set *old, const struct rule_set *new)
{
    static struct table t, old_table, new_table;
    const struct table *const sets[2] = { &old_table, &new_table };
    uint64_t ticks[N_TICKS];

    random_ticks(seed, ticks);
    table_init(&t, old);
    table_init(&old_table, old);
    table_init(&new_table, new);
    check_table(&t, sets, ticks);
    for (size_t i = 0; i < diff->n; i++) {
        assert_int_equal(diff->steps[i].kind, diff->steps[i].rule->kind);
        table_apply(&t, &diff->steps[i]);
        check_ticks(&t, &old_table, &new_table, ticks);
        check_table(&t, sets, ticks);
    }
    check_same(&t, new);
}

/* Returns true if a calendar that epochs of 'old' refer to is another one in
 * 'new'. */
static bool
has_conflict(const struct rule_set *old, const struct rule_set *new)
{
    static struct table t;

    table_init(&t, old);
    for (size_t i = 0; i < old->n; i++) {
        const struct rule *a = &old->rules[i];
        const struct rule *b = rule_set_find(new, a);

        if (a->kind == RULE_CALENDAR && b && is_referenced(&t, &a->calendar)
            && !calendar_equal(a->calendar.calendar, b->calendar.calendar)) {
            return true;
        }
    }
    return false;
}

/* From any set to any other; refused exactly where a connected epoch would be
 * given another calendar. */
static void
run_any(uint64_t seed, bool stable, int rounds)
{
    int n_done = 0, n_refused = 0;

    for (int i = 0; i < rounds; i++) {
        struct rule_set *old = random_rule_set(&seed, stable);
        struct rule_set *new = random_rule_set(&seed, stable);
        struct rule_diff diff;
        char *error;

        rule_diff_init(&diff);
        error = rule_diff_compute(&diff, old, new);
        if (has_conflict(old, new)) {
            unit_assert_error(error, "is connected with another calendar");
            n_refused++;
        } else {
            unit_assert_error(error, NULL);
            check_steps(&seed, &diff, old, new);
            n_done++;
        }
        rule_diff_destroy(&diff);
        rule_set_unref(old);
        rule_set_unref(new);
    }
    assert_true(n_done > rounds / 20);
    assert_true(stable ? !n_refused : n_refused > rounds / 20);
}

static void
test_any_to_any(void **state)
{
    (void) state;
    run_any(4, false, 300);
}

static void
test_stable_epochs(void **state)
{
    (void) state;
    run_any(5, true, 200);
}

/* Nothing to do, nothing done. */
static void
test_no_change(void **state)
{
    uint64_t seed = 6;

    (void) state;
    for (int i = 0; i < 50; i++) {
        uint64_t again = seed;
        struct rule_set *a = random_rule_set(&seed, false);
        struct rule_set *b = random_rule_set(&again, false);
        struct rule_diff diff;

        rule_diff_init(&diff);
        unit_assert_error(rule_diff_compute(&diff, a, b), NULL);
        assert_int_equal(diff.n, 0);
        rule_diff_destroy(&diff);
        rule_set_unref(a);
        rule_set_unref(b);
    }
}

/* A change of epoch adds a calendar and the closed range's prefixes and turns
 * the rule of length 0, in this order, and does nothing else. */
static void
test_epoch_change(void **state)
{
    struct rule_set *sets[2];
    struct rule_diff diff;

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        const struct bridge bridge = { .n_ports = 0 };
        struct instance *instance = mem_zalloc(sizeof *instance);
        struct state s = { .instances = instance, .n_instances = 1 };
        const struct calendar *calendar = random_calendar(9);

        random_members(&(uint64_t){ 1 }, instance);
        unit_assert_error(epochs_connect(&instance->epochs, 1, 0, 0, calendar),
                          NULL);
        if (i) {
            unit_assert_error(
                epochs_connect(&instance->epochs, 2, 48, 0, calendar), NULL);
        }
        calendar_unref(calendar);
        sets[i] =
            rule_set_build(&s, &bridge, &(struct rule_inputs){ .change = 0 });
        state_destroy(&s);
    }

    rule_diff_init(&diff);
    unit_assert_error(rule_diff_compute(&diff, sets[0], sets[1]), NULL);
    assert_int_equal(diff.n, 4);
    assert_int_equal(diff.steps[0].kind, RULE_CALENDAR);
    assert_int_equal(diff.steps[0].rule->calendar.epoch, 2);
    assert_int_equal(diff.steps[1].rule->epoch.prefix.value, 32);
    assert_int_equal(diff.steps[1].rule->epoch.prefix.len, 60);
    assert_int_equal(diff.steps[1].rule->epoch.epoch, 1);
    assert_int_equal(diff.steps[2].rule->epoch.prefix.value, 0);
    assert_int_equal(diff.steps[2].rule->epoch.prefix.len, 59);
    assert_int_equal(diff.steps[3].rule->epoch.prefix.len, 0);
    assert_int_equal(diff.steps[3].rule->epoch.epoch, 2);
    assert_true(diff.steps[3].replaces);
    rule_diff_destroy(&diff);
    rule_set_unref(sets[0]);
    rule_set_unref(sets[1]);
}

/* A calendar that no epoch refers to may be written over. */
static void
test_unreferenced_calendar(void **state)
{
    const struct calendar *a = random_calendar(1), *b = random_calendar(2);
    struct rule rule = { .kind = RULE_CALENDAR };
    struct rule_set *old = rule_set_create(), *new = rule_set_create();
    struct rule_diff diff;

    (void) state;
    rule.calendar.calendar = a;
    rule_set_add(old, &rule);
    rule.calendar.calendar = b;
    rule_set_add(new, &rule);
    unit_assert_error(rule_set_seal(old), NULL);
    unit_assert_error(rule_set_seal(new), NULL);

    rule_diff_init(&diff);
    unit_assert_error(rule_diff_compute(&diff, old, new), NULL);
    assert_int_equal(diff.n, 1);
    assert_true(diff.steps[0].replaces);
    rule_diff_destroy(&diff);
    rule_set_unref(old);
    rule_set_unref(new);
    calendar_unref(a);
    calendar_unref(b);
}

/* A step of a target's own takes the place of its kind. */
static void
test_own_steps(void **state)
{
    const struct rule_step steps[] = {
        { .op = RULE_DELETE, .kind = RULE_MEMBER },
        { .op = RULE_DELETE, .kind = RULE_EPOCH, .depth = 3 },
        { .op = RULE_DELETE, .kind = RULE_L2_IFACE },
        { .op = RULE_UPSERT, .kind = RULE_L2_IFACE },
        { .op = RULE_DELETE, .kind = RULE_EPOCH, .depth = 0 },
        { .op = RULE_UPSERT, .kind = RULE_EPOCH, .depth = 3 },
        { .op = RULE_UPSERT, .kind = RULE_EPOCH, .depth = 9 },
        { .op = RULE_UPSERT, .kind = RULE_PIPELINE },
    };
    const size_t expected[] = { 7, 6, 5, 3, 2, 4, 1, 0 };
    struct rule_diff diff;

    (void) state;
    rule_diff_init(&diff);
    for (size_t i = 0; i < 8; i++) {
        rule_diff_add(&diff, &steps[i]);
    }
    rule_diff_sort(&diff);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(
            rule_step_compare(&diff.steps[i], &steps[expected[i]]), 0);
    }
    rule_diff_destroy(&diff);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_to_any),
        cmocka_unit_test(test_stable_epochs),
        cmocka_unit_test(test_no_change),
        cmocka_unit_test(test_epoch_change),
        cmocka_unit_test(test_unreferenced_calendar),
        cmocka_unit_test(test_own_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
