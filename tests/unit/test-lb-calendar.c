/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the calendar: from a table of members to the map that the datapath
 * carries, and from a packet's slot selector to its member.  Calendars are in
 * heap buffers of just their size. */

#include <config.h>
#include "lb-calendar.h"

#include "byte-order.h"
#include "openvswitch/lb.h"
#include "tests/unit/unit.h"
#include "util.h"

#define MAX_BITS LB_CALENDAR_MAX_BITS

/* Returns a calendar of 'bits', 'xor' and 'members' that the caller must
 * free. */
static struct ovs_action_lb_calendar *
make(unsigned int bits, uint16_t xor, const uint32_t members[])
{
    struct ovs_action_lb_calendar *c = xmalloc(lb_calendar_size(bits));

    memset(c, 0xcc, lb_calendar_size(bits));
    lb_calendar_init(c, bits, xor, members);
    assert_true(lb_calendar_is_valid(c, lb_calendar_size(bits)));
    return c;
}

/* Returns what 'c' makes of a valid packet with 'slot_select'. */
static struct ovs_key_lb
apply(const struct ovs_action_lb_calendar *c, uint16_t slot_select)
{
    struct ovs_key_lb key = {
        .tick = htonll(UINT64_C(0x123456789abcdef0)),
        .slot_select = htons(slot_select),
        .port_select = htons(77),
        .member = htons(4321),
        .status = LB_OK,
        .version = 3,
    };

    lb_calendar_apply(c, &key);
    return key;
}

/* Checks that 'key' has 'member', LB_CALENDAR_NONE for none, and that nothing
 * of the event is left in it. */
static void
check_member(struct ovs_key_lb key, uint32_t member)
{
    struct ovs_key_lb expected = { .version = 3 };

    if (member == LB_CALENDAR_NONE) {
        expected.status = LB_NO_SLOT;
    } else {
        expected.member = htons((uint16_t) member);
    }
    assert_memory_equal(&key, &expected, sizeof key);
}

/* Checks each slot of 'c', and each slot selector, against 'members'. */
static void
check_all(const struct ovs_action_lb_calendar *c, unsigned int bits,
          uint16_t xor, const uint32_t members[])
{
    for (unsigned int select = 0; select <= UINT16_MAX; select++) {
        unsigned int slot = (select ^ xor) % (1u << bits);

        assert_int_equal(lb_calendar_slot(c, htons((uint16_t) select)), slot);
        check_member(apply(c, (uint16_t) select), members[slot]);
    }
}

/* Every number of bits, full and with holes. */
static void
every_size(void **state)
{
    uint32_t members[LB_CALENDAR_MAX_SLOTS];
    uint64_t seed = 21;

    (void) state;
    for (unsigned int bits = 0; bits <= MAX_BITS; bits++) {
        for (int holes = 0; holes < 3; holes++) {
            uint16_t xor = (uint16_t) unit_random(&seed);
            struct ovs_action_lb_calendar *c;

            for (size_t i = 0; i < 1u << bits; i++) {
                members[i] = (holes && !unit_random_below(&seed, 3)
                                  ? LB_CALENDAR_NONE
                                  : unit_random(&seed) & 0xffff);
            }
            if (holes == 2) {
                memset(members, 0xff, sizeof members);
            }
            c = make(bits, xor, members);
            check_all(c, bits, xor, members);
            free(c);
        }
    }
}

/* The description's example: tick 1001 is slot 489 of 512. */
static void
example(void **state)
{
    uint32_t members[512];
    struct ovs_action_lb_calendar *c;

    (void) state;
    for (uint32_t i = 0; i < 512; i++) {
        members[i] = 1000 + i;
    }
    c = make(9, 0, members);
    check_member(apply(c, 1001), 1489);
    check_member(apply(c, 489), 1489);
    free(c);

    c = make(9, 0xffff, members);
    check_member(apply(c, 1001), 1000 + (511 - 489));
    free(c);

    /* Bits of the xor value above the slot do not count. */
    c = make(9, 0xfe00, members);
    check_member(apply(c, 1001), 1489);
    free(c);
}

/* The ID that stands for "none" must be one that no slot has, however the IDs
 * lie: here all of the 512 highest ones are used, but for one. */
static void
none_among_high_ids(void **state)
{
    uint32_t members[LB_CALENDAR_MAX_SLOTS];

    (void) state;
    for (uint32_t hole = 0; hole <= 512; hole++) {
        struct ovs_action_lb_calendar *c;

        for (uint32_t i = 0; i < 512; i++) {
            members[i] = UINT16_MAX - (i < hole ? i : i + 1);
        }
        c = make(MAX_BITS, 0, members);
        for (uint16_t i = 0; i < 512; i++) {
            check_member(apply(c, i), members[i]);
        }
        free(c);

        members[hole % 512] = LB_CALENDAR_NONE;
        c = make(MAX_BITS, 0, members);
        for (uint16_t i = 0; i < 512; i++) {
            check_member(apply(c, i), members[i]);
        }
        free(c);
    }
}

/* Random sets of IDs near 65535, for each size. */
static void
none_at_random(void **state)
{
    uint32_t members[LB_CALENDAR_MAX_SLOTS];
    uint64_t seed = 22;

    (void) state;
    for (int i = 0; i < 3000; i++) {
        unsigned int bits = unit_random_below(&seed, MAX_BITS + 1);
        struct ovs_action_lb_calendar *c;

        for (size_t slot = 0; slot < 1u << bits; slot++) {
            members[slot] =
                (unit_random_below(&seed, 10)
                     ? UINT16_MAX - unit_random_below(&seed, 1u << bits)
                     : LB_CALENDAR_NONE);
        }
        c = make(bits, 0, members);
        for (unsigned int slot = 0; slot < 1u << bits; slot++) {
            check_member(apply(c, (uint16_t) slot), members[slot]);
        }
        free(c);
    }
}

/* Member 65535 and member 0 are members like any other. */
static void
extreme_ids(void **state)
{
    static const uint32_t members[] = { 0, UINT16_MAX, LB_CALENDAR_NONE, 1 };
    struct ovs_action_lb_calendar *c = make(2, 0, members);

    (void) state;
    for (uint16_t slot = 0; slot < 4; slot++) {
        check_member(apply(c, slot), members[slot]);
    }
    free(c);
}

/* A packet that lb_parse found fault with keeps its fault, gets no member, and
 * loses what else is in its key. */
static void
faulty_packets(void **state)
{
    static const uint32_t members[] = { 7, LB_CALENDAR_NONE };
    struct ovs_action_lb_calendar *c = make(1, 0, members);

    (void) state;
    for (unsigned int status = 1; status < 256; status++) {
        for (uint16_t slot = 0; slot < 2; slot++) {
            struct ovs_key_lb expected = { .status = (uint8_t) status,
                                           .version = 9 };
            struct ovs_key_lb key = expected;

            key.tick = htonll(5);
            key.slot_select = htons(slot);
            key.port_select = htons(6);
            key.member = htons(8);
            lb_calendar_apply(c, &key);
            assert_memory_equal(&key, &expected, sizeof key);
        }
    }
    free(c);
}

/* Only a calendar of just the size that its bits ask for is one. */
static void
sizes(void **state)
{
    (void) state;
    for (unsigned int bits = 0; bits < 256; bits++) {
        for (size_t size = 0; size < 2100; size++) {
            struct ovs_action_lb_calendar *c = xmalloc(size ? size : 1);
            bool valid = bits <= MAX_BITS && size == 8 + 2 * (1u << bits);

            memset(c, 0, size);
            if (size > offsetof(struct ovs_action_lb_calendar, bits)) {
                c->bits = (uint8_t) bits;
            }
            if (size < sizeof *c) {
                assert_false(lb_calendar_is_valid(c, size));
            } else {
                assert_int_equal(lb_calendar_is_valid(c, size), valid);
            }
            free(c);
        }
    }
}

/* The same table gives the same bytes, those that nothing uses included: a
 * datapath flow's actions are compared by them. */
static void
same_bytes(void **state)
{
    uint32_t members[LB_CALENDAR_MAX_SLOTS];

    (void) state;
    for (uint32_t i = 0; i < LB_CALENDAR_MAX_SLOTS; i++) {
        members[i] = i % 7 ? i : LB_CALENDAR_NONE;
    }
    for (unsigned int bits = 0; bits <= MAX_BITS; bits++) {
        struct ovs_action_lb_calendar *a = make(bits, 3, members);
        struct ovs_action_lb_calendar *b = make(bits, 3, members);

        assert_memory_equal(a, b, lb_calendar_size(bits));
        assert_true(is_all_zeros(a->zero, sizeof a->zero));
        free(b);
        free(a);
    }
}

/* The buffer for the largest one is large enough, and no larger. */
static void
buffer(void **state)
{
    (void) state;
    assert_int_equal(LB_CALENDAR_MAX_SLOTS, 512);
    assert_int_equal(sizeof(union lb_calendar_buf), lb_calendar_size(9));
    assert_int_equal(lb_calendar_size(0), 10);
    assert_int_equal(lb_calendar_size(9), 8 + 2 * 512);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),
        cmocka_unit_test(example),
        cmocka_unit_test(none_among_high_ids),
        cmocka_unit_test(none_at_random),
        cmocka_unit_test(extreme_ids),
        cmocka_unit_test(faulty_packets),
        cmocka_unit_test(sizes),
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
