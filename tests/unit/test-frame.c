/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/frame.h"

#include "tests/unit/unit.h"

static const struct mac own = { { 2, 0, 0, 0, 0, 1 } };
static const struct mac station = { { 0xaa, 0, 0, 0, 0, 2 } };

static struct in6_addr
addr(const char *s)
{
    struct in6_addr a;

    assert_true(addr_from_string(s, &a));
    return a;
}

/* Reads the hexadecimal 'text', in which spaces do not count. */
static size_t
from_hex(const char *text, uint8_t *data)
{
    size_t n = 0;

    while (*text) {
        const char digits[] = { text[0], *text == ' ' ? '\0' : text[1], '\0' };

        if (*text == ' ') {
            text++;
        } else {
            data[n++] = (uint8_t) strtoul(digits, NULL, 16);
            text += 2;
        }
    }
    return n;
}

static void
check_frame(const uint8_t *frame, size_t n, const char *expected)
{
    uint8_t bytes[256];

    assert_int_equal(n, from_hex(expected, bytes));
    assert_memory_equal(frame, bytes, n);
}

static void
test_questions(void **state)
{
    struct frame_sender sender = { 0, own, addr("10.0.0.1") };
    struct in6_addr target = addr("10.0.0.2");
    uint8_t frame[FRAME_MAX];
    size_t n;

    (void) state;
    n = frame_encode_question(frame, &sender, &target, NULL);
    check_frame(frame, n,
                "ffffffffffff 020000000001 0806 0001080006040001 "
                "020000000001 0a000001 000000000000 0a000002");
    sender.vlan = 7;
    n = frame_encode_question(frame, &sender, &target, &station);
    check_frame(frame, n,
                "aa0000000002 020000000001 8100 0007 0806 "
                "0001080006040001 020000000001 0a000001 "
                "000000000000 0a000002");

    sender = (struct frame_sender){ 0, own, addr("fd00::1") };
    target = addr("fd00::1:2:3");
    n = frame_encode_question(frame, &sender, &target, NULL);
    check_frame(frame, n,
                "3333ff020003 020000000001 86dd 60000000 0020 3a ff "
                "fd000000000000000000000000000001 "
                "ff0200000000000000000001ff020003 "
                "87 00 7d90 00000000 fd000000000000000000000100020003 "
                "01 01 020000000001");
}

/* A solicitation as others send it, without the option. */
static size_t
solicitation(uint8_t *data, const char *src)
{
    struct frame_sender sender = { 0, station, addr(src) };
    struct in6_addr target = addr("fd00::1");
    size_t n = frame_encode_question(data, &sender, &target, NULL);
    uint8_t *ip6 = data + 14;
    uint32_t sum = 24 + 58;

    n -= 8;
    ip6[5] = 24;
    ip6[42] = ip6[43] = 0;
    for (size_t i = 8; i < n - 14; i += 2) {
        sum += (uint32_t) (ip6[i] << 8 | ip6[i + 1]);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    ip6[42] = (uint8_t) (sum >> 8);
    ip6[43] = (uint8_t) sum;
    return n;
}

static void
test_answers_a_solicitation(void **state)
{
    const struct frame_sender sender = { 0, own, addr("fd00::1") };
    uint8_t data[FRAME_MAX];
    struct frame f;
    size_t n;

    (void) state;
    frame_decode(data, solicitation(data, "fd00::99"), &f);
    assert_int_equal(f.type, FRAME_QUESTION);
    assert_true(mac_equal(&f.mac, &station));
    n = frame_encode_advertisement(data, &sender, &f);
    check_frame(data, n,
                "aa0000000002 020000000001 86dd 60000000 0020 3a ff "
                "fd000000000000000000000000000001 "
                "fd000000000000000000000000000099 "
                "88 00 3c05 40000000 fd000000000000000000000000000001 "
                "02 01 020000000001");

    /* Duplicate address detection: to everybody, not solicited. */
    frame_decode(data, solicitation(data, "::"), &f);
    assert_int_equal(f.type, FRAME_QUESTION);
    n = frame_encode_advertisement(data, &sender, &f);
    check_frame(data, n,
                "333300000001 020000000001 86dd 60000000 0020 3a ff "
                "fd000000000000000000000000000001 "
                "ff020000000000000000000000000001 "
                "88 00 7a9b 00000000 fd000000000000000000000000000001 "
                "02 01 020000000001");
}

/* Each answer is read, and each byte that is changed or missing is either of no
 * importance or makes it none. */
static void
test_answers(void **state)
{
    struct in6_addr target = addr("10.0.0.2");
    struct frame_sender sender = { 7, station, addr("10.0.0.2") };
    uint8_t data[FRAME_MAX];
    struct frame f;
    size_t n;

    (void) state;
    n = frame_encode_question(data, &sender, &target, &own);
    frame_decode(data, n, &f);
    assert_int_equal(f.type, FRAME_OTHER);
    data[18 + 7] = 2;
    frame_decode(data, n, &f);
    assert_int_equal(f.type, FRAME_ANSWER);
    assert_int_equal(f.vlan, 7);
    assert_true(mac_equal(&f.mac, &station));
    assert_true(addr_equal(&f.ip, &target));
    for (size_t i = 0; i < n; i++) {
        frame_decode(data, i, &f);
        assert_int_equal(f.type, FRAME_OTHER);
    }
    data[18 + 8] |= 1; /* A group. */
    frame_decode(data, n, &f);
    assert_int_equal(f.type, FRAME_OTHER);

    frame_decode(data, solicitation(data, "fd00::99"), &f);
    sender = (struct frame_sender){ 0, own, addr("fd00::1") };
    n = frame_encode_advertisement(data, &sender, &f);
    frame_decode(data, n, &f);
    assert_int_equal(f.type, FRAME_ANSWER);
    assert_true(addr_equal(&f.ip, &sender.ip));
    assert_true(mac_equal(&f.mac, &own));
    for (size_t i = 0; i < n; i++) {
        frame_decode(data, i, &f);
        assert_int_equal(f.type, FRAME_OTHER);
    }
    for (size_t i = 20; i < n; i++) {
        data[i] ^= 0x40;
        frame_decode(data, n, &f);
        assert_int_equal(f.type, FRAME_OTHER);
        data[i] ^= 0x40;
    }
}

/* Anything may come. */
static void
test_noise(void **state)
{
    uint64_t seed = 4;
    uint8_t data[FRAME_MAX];
    struct frame f;

    (void) state;
    for (int i = 0; i < 200000; i++) {
        size_t n = solicitation(data, "fd00::99");

        for (unsigned int k = unit_random_below(&seed, 4); k; k--) {
            data[unit_random_below(&seed, (unsigned int) n)] =
                (uint8_t) unit_random_below(&seed, 256);
        }
        n = unit_random_below(&seed, FRAME_MAX);
        {
            uint8_t *copy = malloc(n ? n : 1);

            memcpy(copy, data, n);
            frame_decode(copy, n, &f);
            free(copy);
        }
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_answers_a_solicitation),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
