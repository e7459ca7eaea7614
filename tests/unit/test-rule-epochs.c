/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/rules/rule-epochs.h"

#include "controller/core/calendar.h"
#include "controller/core/instance.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "tests/unit/unit.h"

/* An epoch 'id' from tick 'first' on.  A list ends with id 0. */
struct spec {
    uint16_t id;
    uint64_t first;
};

/* Stores in 'epochs' the rules that the epochs of 'specs' are built into. */
static void
build(struct rule_epochs *epochs, const struct spec *specs)
{
    const struct calendar_share share = { 1, 1, 0, 0 };
    const struct bridge bridge = { .n_ports = 0 };
    struct instance *instance = mem_zalloc(sizeof *instance);
    struct state state = { .instances = instance, .n_instances = 1 };
    const struct calendar *calendar;
    struct rule_set *set;

    unit_assert_error(calendar_create(&share, 1, 0, &calendar), NULL);
    for (; specs->id; specs++) {
        unit_assert_error(epochs_connect(&instance->epochs, specs->id,
                                         specs->first, 0, calendar),
                          NULL);
    }
    set =
        rule_set_build(&state, &bridge, &(struct rule_inputs){ .change = 0 });
    rule_epochs_init(epochs);
    for (size_t i = 0; i < set->n; i++) {
        if (set->rules[i].kind == RULE_EPOCH) {
            rule_epochs_add(epochs, &set->rules[i].epoch);
        }
    }
    rule_set_unref(set);
    state_destroy(&state);
    calendar_unref(calendar);
}

static void
check(const struct spec *old, const struct spec *new, const char *reason)
{
    struct rule_epochs a, b;

    build(&a, old);
    build(&b, new);
    unit_assert_error(rule_epochs_check(&a, &b), reason);
    rule_epochs_destroy(&a);
    rule_epochs_destroy(&b);
}

#define LIST(...) ((const struct spec[]){ __VA_ARGS__, { 0, 0 } })

static void
test_allowed(void **state)
{
    const struct spec none[] = { { 0, 0 } };

    (void) state;
    check(none, LIST({ 1, 0 }), NULL);
    check(LIST({ 1, 0 }), LIST({ 1, 0 }), NULL);
    /* One more, or several. */
    check(LIST({ 1, 0 }), LIST({ 1, 0 }, { 2, 1000 }), NULL);
    check(LIST({ 1, 0 }), LIST({ 1, 0 }, { 2, 1000 }, { 3, 1001 }), NULL);
    check(LIST({ 1, 0 }), LIST({ 1, 0 }, { 2, UINT64_MAX }), NULL);
    /* The oldest are taken out, at the same time or not. */
    check(LIST({ 1, 0 }, { 2, 1000 }), LIST({ 2, 1000 }), NULL);
    check(LIST({ 1, 0 }, { 2, 1000 }), LIST({ 2, 1000 }, { 3, 2000 }), NULL);
    check(LIST({ 2, 1000 }), LIST({ 2, 1000 }, { 3, 2000 }), NULL);
}

static void
test_refused(void **state)
{
    const struct spec none[] = { { 0, 0 } };

    (void) state;
    /* The newest must stay. */
    check(LIST({ 1, 0 }), none, "epoch 1 is connected as the newest one");
    check(LIST({ 1, 0 }), LIST({ 2, 0 }), "epoch 1 is connected as the");
    check(LIST({ 1, 0 }, { 2, 1000 }), LIST({ 1, 0 }),
          "epoch 2 is connected as the newest one and is missing");
    /* Boundaries do not move. */
    check(LIST({ 1, 0 }, { 2, 1000 }), LIST({ 1, 0 }, { 2, 1001 }),
          "tick 1000 belongs to epoch 2");
    check(LIST({ 1, 0 }, { 2, 1000 }), LIST({ 1, 0 }, { 2, 999 }),
          "tick 999 belongs to epoch 1");
    check(LIST({ 1, 0 }, { 2, UINT64_MAX }),
          LIST({ 1, 0 }, { 2, UINT64_MAX - 1 }), "belongs to epoch 1");
    /* Nothing is put in between. */
    check(LIST({ 1, 0 }, { 2, 1000 }), LIST({ 1, 0 }, { 3, 500 }, { 2, 1000 }),
          "belongs to epoch 1, which is connected");
    /* What is connected does not become late. */
    check(LIST({ 1, 0 }), LIST({ 1, 10 }), "tick 0 belongs to epoch 1");
}

/* The same for random lists, against each tick of a small space. */
static void
test_random(void **state)
{
    uint64_t seed = 20;
    int n_allowed = 0, n_refused = 0;

    (void) state;
    for (int round = 0; round < 3000; round++) {
        struct spec lists[2][6];
        struct rule_epochs old, new;
        bool allowed = true;
        char *error;

        for (int i = 0; i < 2; i++) {
            uint64_t first = unit_random_below(&seed, 3);
            unsigned int n = 1 + unit_random_below(&seed, 4);
            unsigned int id = 1 + unit_random_below(&seed, 2);

            for (unsigned int j = 0; j < n; j++) {
                lists[i][j] = (struct spec){ (uint16_t) id++, first };
                first += 1 + unit_random_below(&seed, 3);
            }
            lists[i][n] = (struct spec){ 0, 0 };
        }
        build(&old, lists[0]);
        build(&new, lists[1]);

        for (uint64_t tick = 0; tick < 32; tick++) {
            uint16_t a = 0, b = 0, last = 0;
            bool a_stays = false, b_is_new = true;

            for (const struct spec *s = lists[0]; s->id; s++) {
                a = s->first <= tick ? s->id : a;
                last = s->id;
            }
            for (const struct spec *s = lists[1]; s->id; s++) {
                b = s->first <= tick ? s->id : b;
            }
            for (const struct spec *s = lists[1]; s->id; s++) {
                a_stays = a_stays || s->id == a;
            }
            for (const struct spec *s = lists[0]; s->id; s++) {
                b_is_new = b_is_new && s->id != b;
            }
            if (a == last && !a_stays) {
                allowed = false;
            } else if (a && a_stays && a != b
                       && !(a == last && b && b_is_new)) {
                allowed = false;
            }
        }
        error = rule_epochs_check(&old, &new);
        assert_int_equal(!error, allowed);
        n_allowed += allowed;
        n_refused += !allowed;
        free(error);
        rule_epochs_destroy(&old);
        rule_epochs_destroy(&new);
    }
    assert_true(n_allowed > 100 && n_refused > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
