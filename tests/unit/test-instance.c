/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/instance.h"

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "tests/unit/unit.h"

/* An epoch of the members whose bits are 1 in 'members'. */
struct epoch_spec {
    uint16_t id;
    uint64_t first;
    unsigned int members;
};

static void
add_epoch(struct instance *instance, const struct epoch_spec *spec)
{
    struct calendar_share shares[8] = { { .weight = 0 } };
    const struct calendar *calendar;

    for (uint16_t i = 0; i < 8; i++) {
        shares[i].member = i;
        shares[i].weight = (spec->members >> i) & 1;
    }
    unit_assert_error(calendar_create(shares, 8, 3, &calendar), NULL);
    unit_assert_error(
        epochs_connect(&instance->epochs, spec->id, spec->first, 0, calendar),
        NULL);
    calendar_unref(calendar);
    instance->epoch_lines[instance->epochs.n - 1] = 100 + spec->id;
}

/* A state of one instance, number 7, with members 0...7 on ports 1000...1007,
 * and 'n' epochs. */
static struct state *
make_state(const struct epoch_spec *specs, size_t n)
{
    struct state *s = mem_zalloc(sizeof *s);
    struct instance *instance = mem_zalloc(sizeof *instance);

    s->instances = instance;
    s->n_instances = 1;
    instance->name = mem_strdup("test");
    instance->id = 7;
    instance->line = 50;
    instance->n_members = 8;
    instance->members = mem_zalloc(8 * sizeof *instance->members);
    for (uint16_t i = 0; i < 8; i++) {
        instance->members[i].id = i;
        instance->members[i].base = (uint16_t) (1000 + i);
        instance->members[i].line = 200 + i;
    }
    instance->epoch_lines = mem_zalloc(n * sizeof *instance->epoch_lines);
    for (size_t i = 0; i < n; i++) {
        add_epoch(instance, &specs[i]);
    }
    return s;
}

static void
free_state(struct state *s)
{
    state_destroy(s);
    free(s);
}

/* Checks that 'new' may follow 'old', or that it is refused with 'reason' and
 * 'line'. */
static void
check(struct state *old, struct state *new, const char *reason, int line)
{
    int at = 0;

    unit_assert_error(state_check_successor(old, new, &at), reason);
    assert_int_equal(at * !!reason, line);
    free_state(old);
    free_state(new);
}

static const struct epoch_spec three[] = { { 1, 0, 0x0f },
                                           { 2, 1000, 0x3f },
                                           { 3, 2000, 0x30 } };

static void
test_same(void **state)
{
    (void) state;
    check(make_state(three, 3), make_state(three, 3), NULL, 0);
}

static void
test_epoch_added(void **state)
{
    (void) state;
    check(make_state(three, 2), make_state(three, 3), NULL, 0);
    check(make_state(three, 0), make_state(three, 3), NULL, 0);
}

static void
test_boundary_not_beyond(void **state)
{
    const struct epoch_spec low[] = { { 1, 0, 0x0f },
                                      { 4, 900, 0x3f },
                                      { 2, 1000, 0x3f } };

    (void) state;
    check(make_state(three, 2), make_state(low, 3),
          "epoch 4 from tick 900 is not beyond the last connected one, epoch "
          "2 from tick 1000",
          104);
}

static void
test_epoch_changed(void **state)
{
    const struct epoch_spec members[] = { { 1, 0, 0x0f }, { 2, 1000, 0x1f } };
    const struct epoch_spec boundary[] = { { 1, 0, 0x0f }, { 2, 1001, 0x3f } };

    (void) state;
    check(make_state(three, 2), make_state(members, 2),
          "epoch 2 is connected: its beginning, members and weights", 102);
    check(make_state(three, 2), make_state(boundary, 2),
          "epoch 2 is connected: its beginning, members and weights", 102);
}

static void
test_epoch_gone(void **state)
{
    const struct epoch_spec hole[] = { { 1, 0, 0x0f }, { 3, 2000, 0x30 } };
    const struct epoch_spec back[] = { { 1, 0, 0x0f },
                                       { 2, 1000, 0x3f },
                                       { 3, 2000, 0x30 } };

    (void) state;
    /* The oldest may go. */
    check(make_state(three, 3), make_state(three + 1, 2), NULL, 0);
    check(make_state(three, 3), make_state(three + 2, 1), NULL, 0);
    /* One in the middle, the newest, or all may not. */
    check(make_state(three, 3), make_state(hole, 2),
          "epoch 2 is connected "
          "and is missing",
          50);
    check(make_state(three, 3), make_state(three, 2),
          "epoch 3 is connected "
          "and is missing",
          50);
    check(make_state(three, 3), make_state(three, 0),
          "epoch 3 is connected "
          "and is missing",
          50);
    /* What is gone does not come back. */
    check(make_state(three + 1, 2), make_state(back, 3),
          "epoch 1 from tick 0 is not beyond", 101);
}

static void
test_member_changed(void **state)
{
    struct state *new;

    (void) state;
    /* Member 7 receives nothing; member 4 does, from epoch 2 on. */
    new = make_state(three, 3);
    new->instances[0].members[7].base++;
    check(make_state(three, 3), new, NULL, 0);

    new = make_state(three, 3);
    new->instances[0].members[4].base++;
    check(make_state(three, 3), new, "member 4 receives events of epoch 2",
          204);

    new = make_state(three, 3);
    new->instances[0].members[4].keep = true;
    check(make_state(three, 3), new, "member 4 receives events", 204);

    new = make_state(three, 3);
    new->instances[0].members[4].bits++;
    check(make_state(three, 3), new, "member 4 receives events", 204);

    new = make_state(three, 3);
    new->instances[0].members[4].ip.s6_addr[9]++;
    check(make_state(three, 3), new, "member 4 receives events", 204);

    /* The way to it may change. */
    new = make_state(three, 3);
    new->instances[0].members[4].mac.ea[1]++;
    new->instances[0].members[4].egress.type = PORT_IN;
    check(make_state(three, 3), new, NULL, 0);
}

static void
test_other_instance(void **state)
{
    struct state *new = make_state(three, 1);

    (void) state;
    new->instances[0].id = 8;
    check(make_state(three, 3), new, NULL, 0);
}

static void
test_ports(void **state)
{
    const struct port ports[] = { { .type = PORT_NONE },
                                  { .type = PORT_ANY },
                                  { .type = PORT_IN },
                                  { .type = PORT_NUMBER, .number = 1 },
                                  { .type = PORT_NUMBER, .number = 10 },
                                  { .type = PORT_NAME, .name = "a" },
                                  { .type = PORT_NAME, .name = "b" } };
    const char *names[] = { "none", "any", "in_port", "1", "10", "a", "b" };

    (void) state;
    for (size_t i = 0; i < 7; i++) {
        char *s = port_to_string(&ports[i]);

        assert_string_equal(s, names[i]);
        free(s);
        for (size_t j = 0; j < 7; j++) {
            int cmp = port_compare(&ports[i], &ports[j]);

            assert_int_equal((cmp > 0) - (cmp < 0), (i > j) - (i < j));
        }
    }
}

/* Ids need not be without gaps. */
static void
test_find_member(void **state)
{
    struct member members[] = {
        { .id = 0 }, { .id = 3 }, { .id = 4 }, { .id = 900 }, { .id = 65534 }
    };
    struct instance instance = { .members = members };

    (void) state;
    assert_null(instance_find_member(&instance, 0));
    for (instance.n_members = 1; instance.n_members <= 5;
         instance.n_members++) {
        for (size_t i = 0; i < 5; i++) {
            const struct member *found =
                instance_find_member(&instance, members[i].id);

            assert_ptr_equal(found,
                             i < instance.n_members ? &members[i] : NULL);
        }
        assert_null(instance_find_member(&instance, 2));
        assert_null(instance_find_member(&instance, 65535));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_member),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_epoch_added),
        cmocka_unit_test(test_boundary_not_beyond),
        cmocka_unit_test(test_epoch_changed),
        cmocka_unit_test(test_epoch_gone),
        cmocka_unit_test(test_member_changed),
        cmocka_unit_test(test_other_instance),
        cmocka_unit_test(test_ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
