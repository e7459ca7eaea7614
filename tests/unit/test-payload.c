/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/payload.h"

#include "tests/unit/unit.h"

#define SIZE 300

static uint64_t seed = 1;

/* The published outputs of splitmix64 for seed 1234567: byte i of an event is
 * byte i % 8 of word i / 8, most significant first. */
static void
test_stream(void **state)
{
    static const uint64_t words[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    uint8_t data[sizeof words];

    (void) state;
    payload_fill(1234567, 0, data, sizeof data);
    for (size_t i = 0; i < sizeof data; i++) {
        assert_int_equal(data[i], words[i / 8] >> (56 - 8 * (i % 8)) & 0xff);
    }
}

/* However an event is cut, its segments are its parts. */
static void
test_cuts(void **state)
{
    uint8_t whole[SIZE];

    (void) state;
    payload_fill(42, 0, whole, sizeof whole);
    for (uint32_t offset = 0; offset < SIZE; offset++) {
        for (size_t size = 0; size <= SIZE - offset; size++) {
            uint8_t *part = malloc(size ? size : 1);

            assert_non_null(part);
            payload_fill(42, offset, part, size);
            assert_memory_equal(part, whole + offset, size);
            assert_true(payload_check(42, offset, part, size));
            free(part);
        }
    }
}

/* The last bytes of the largest event. */
static void
test_highest_offset(void **state)
{
    uint8_t data[16], same[16];

    (void) state;
    payload_fill(7, UINT32_MAX - 15, data, sizeof data);
    payload_fill(7, UINT32_MAX - 8, same, 8);
    assert_memory_equal(data + 7, same, 8);
    assert_true(payload_check(7, UINT32_MAX - 15, data, sizeof data));
}

static void
test_every_bit_counts(void **state)
{
    uint8_t data[61];

    (void) state;
    payload_fill(9, 5, data, sizeof data);
    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data[bit / 8] ^= 1 << bit % 8;
        assert_false(payload_check(9, 5, data, sizeof data));
        data[bit / 8] ^= 1 << bit % 8;
    }
    assert_true(payload_check(9, 5, data, sizeof data));
}

/* Right data under a wrong header is wrong data. */
static void
test_header_counts(void **state)
{
    uint8_t data[64];

    (void) state;
    for (int i = 0; i < 1000; i++) {
        uint16_t data_id = unit_random(&seed);
        uint64_t event_num = unit_random(&seed);
        uint32_t length = unit_random(&seed);
        uint32_t offset = unit_random_below(&seed, 1 << 30);
        uint64_t s = payload_seed(data_id, event_num, length);

        payload_fill(s, offset, data, sizeof data);
        assert_true(payload_check(s, offset, data, sizeof data));
        assert_false(payload_check(s, offset + 1, data, sizeof data));
        assert_false(payload_check(s, offset + 8, data, sizeof data));
        s = payload_seed(data_id + 1, event_num, length);
        assert_false(payload_check(s, offset, data, sizeof data));
        s = payload_seed(data_id, event_num + 1, length);
        assert_false(payload_check(s, offset, data, sizeof data));
        s = payload_seed(data_id, event_num, length + 1);
        assert_false(payload_check(s, offset, data, sizeof data));
    }
}

/* The examples of RFC 3720, appendix B.4, and the usual check value. */
static void
test_crc32c_examples(void **state)
{
    uint8_t data[32];

    (void) state;
    assert_int_equal(payload_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(payload_crc32c("", 0), 0);
    memset(data, 0, sizeof data);
    assert_int_equal(payload_crc32c(data, sizeof data), 0x8a9136aa);
    memset(data, 0xff, sizeof data);
    assert_int_equal(payload_crc32c(data, sizeof data), 0x62a8ab43);
    for (int i = 0; i < 32; i++) {
        data[i] = i;
    }
    assert_int_equal(payload_crc32c(data, sizeof data), 0x46dd794e);
    for (int i = 0; i < 32; i++) {
        data[i] = 31 - i;
    }
    assert_int_equal(payload_crc32c(data, sizeof data), 0x113fdb5c);
}

/* The processor's instruction and the plain way agree, at each alignment. */
static void
test_crc32c_both_ways(void **state)
{
    uint8_t data[SIZE];

    (void) state;
    payload_fill(3, 0, data, sizeof data);
    for (size_t start = 0; start < 8; start++) {
        for (size_t size = 0; size <= SIZE - start; size++) {
            assert_int_equal(payload_crc32c(data + start, size),
                             payload_crc32c_bitwise(data + start, size));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_highest_offset),
        cmocka_unit_test(test_every_bit_counts),
        cmocka_unit_test(test_header_counts),
        cmocka_unit_test(test_crc32c_examples),
        cmocka_unit_test(test_crc32c_both_ways),
    };

    return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
