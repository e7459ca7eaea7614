/* SPDX-License-Identifier: Apache-2.0 */

/* What a compute node makes of datagrams: the verdict on each, and counters
 * that add up. */

#include "endpoints/intake.h"

#include <stdio.h>

#include "endpoints/payload.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#define PORT 10000 /* First of eight ports. */
#define HEADERS_LEN (WIRE_LB_LEN + WIRE_RE_LEN)

struct fixture {
    struct intake *intake;       /* Under test. */
    struct intake_packet packet; /* What was found in the latest datagram. */
    uint64_t n_packets;          /* Datagrams taken in. */
    size_t n_closed;             /* Events closed. */
    int64_t now;                 /* The time. */
    bool keep;                   /* Do datagrams have an LB header? */
};

static const struct intake_config default_config = {
    .reassembly = {
        .max_open = 4,
        .max_closed = 100,
        .max_ranges = 2,
        .max_event = 10000,
        .max_memory = 20000,
        .timeout = 100,
        .linger = 1000,
    },
    .port_base = PORT,
    .port_bits = 3,
};

static uint64_t seed = 1;

static void
note_closed(const struct reassembly_event *e, void *f_)
{
    struct fixture *f = f_;

    assert_non_null(e);
    f->n_closed++;
}

static void
start_with(struct fixture *f, const struct intake_config *config)
{
    memset(f, 0, sizeof *f);
    f->keep = config->keep;
    f->intake = intake_create(config, note_closed, f);
    assert_non_null(f->intake);
}

static void
start(struct fixture *f, bool keep)
{
    struct intake_config config = default_config;

    config.keep = keep;
    start_with(f, &config);
}

/* Ends a script; each datagram must have had exactly one verdict. */
static void
finish(struct fixture *f)
{
    const struct intake_stats *stats = intake_stats(f->intake);
    uint64_t sum = 0;

    for (int v = 0; v < INTAKE_N_VERDICTS; v++) {
        sum += stats->verdicts[v];
    }
    assert_int_equal(sum, f->n_packets);
    assert_int_equal(stats->packets, f->n_packets);
    intake_destroy(f->intake);
}

/* Takes in the 'size' bytes at 'data', which are copied to the heap first, and
 * returns the word for the verdict. */
static const char *
take(struct fixture *f, uint16_t port, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    assert_non_null(copy);
    memcpy(copy, data, size);
    intake_packet(f->intake, port, copy, size, f->now, &f->packet);
    free(copy);
    f->n_packets++;
    return intake_verdict_to_string(f->packet.verdict);
}

static const struct wire_lb default_lb = {
    .version = 3, .proto = 1, .slot_select = 5, .port_select = 2, .tick = 77
};

/* Writes a good datagram with 'size' bytes at 'offset' of an event of 100.
 * Returns its length. */
static size_t
make(const struct fixture *f, uint8_t *data, uint64_t event_num,
     uint32_t offset, size_t size)
{
    struct wire_re re = {
        .data_id = 9, .offset = offset, .length = 100, .event_num = event_num
    };
    uint8_t *p = data;

    if (f->keep) {
        wire_lb_pack(&default_lb, p, WIRE_LB_LEN);
        p += WIRE_LB_LEN;
    }
    wire_re_pack(&re, p, WIRE_RE_LEN);
    p += WIRE_RE_LEN;
    payload_fill(payload_seed(9, event_num, 100), offset, p, size);
    return p + size - data;
}

static const char *
take_segment(struct fixture *f, uint64_t event_num, uint32_t offset,
             size_t size)
{
    uint8_t data[HEADERS_LEN + 100];
    size_t n = make(f, data, event_num, offset, size);

    return take(f, PORT + 2, data, n);
}

static void
test_event(void **state)
{
    const struct intake_source *source;
    const struct intake_stats *stats;
    struct fixture f;

    (void) state;
    start(&f, false);
    assert_string_equal(take_segment(&f, 1, 0, 60), "ok");
    assert_false(f.packet.has_lb);
    assert_true(f.packet.has_re);
    assert_int_equal(f.packet.re.data_id, 9);
    assert_int_equal(f.packet.re.offset, 0);
    assert_int_equal(f.packet.size, 60);
    assert_string_equal(take_segment(&f, 1, 60, 40), "ok");
    assert_string_equal(take_segment(&f, 1, 60, 40), "late_complete");

    stats = intake_stats(f.intake);
    assert_int_equal(stats->complete, 1);
    assert_int_equal(stats->complete_bytes, 100);
    assert_int_equal(stats->corrupt_events, 0);
    assert_int_equal(stats->bytes, 3 * WIRE_RE_LEN + 140);
    source = intake_source(f.intake, 9);
    assert_int_equal(source->packets, 3);
    assert_int_equal(source->bytes, 140);
    assert_int_equal(source->complete, 1);
    assert_int_equal(source->incomplete, 0);
    assert_int_equal(intake_source(f.intake, 8)->packets, 0);
    assert_int_equal(f.n_closed, 1);
    finish(&f);
}

/* Whatever is cut off a datagram, it is refused for what is missing. */
static void
test_every_length(void **state)
{
    uint8_t data[HEADERS_LEN + 100];

    (void) state;
    for (int keep = 0; keep < 2; keep++) {
        size_t re_at = keep ? WIRE_LB_LEN : 0;
        struct fixture f;
        size_t n;

        start(&f, keep);
        n = make(&f, data, 1, 0, 100);
        for (size_t size = 0; size < n; size++) {
            const char *word = take(&f, PORT, data, size);

            if (size < re_at) {
                assert_string_equal(word, "lb_short");
            } else if (size < re_at + WIRE_RE_LEN) {
                assert_string_equal(word, "re_short");
            } else if (size == re_at + WIRE_RE_LEN) {
                assert_string_equal(word, "empty");
            } else {
                assert_string_equal(
                    word,
                    (size == re_at + WIRE_RE_LEN + 1 ? "ok" : "overlap"));
            }
            assert_int_equal(f.packet.has_lb, keep && size >= re_at);
            assert_int_equal(f.packet.has_re, size >= re_at + WIRE_RE_LEN);
        }
        assert_string_equal(take(&f, PORT, data, n), "overlap");
        assert_int_equal(intake_stats(f.intake)->complete, 1);
        finish(&f);
    }
}

static void
test_kept_header(void **state)
{
    struct fixture f;

    (void) state;
    start(&f, true);
    assert_string_equal(take_segment(&f, 1, 0, 100), "ok");
    assert_true(f.packet.has_lb);
    assert_int_equal(f.packet.lb.tick, 77);
    assert_int_equal(f.packet.lb.slot_select, 5);
    assert_int_equal(intake_stats(f.intake)->lb_v3, 1);
    assert_int_equal(intake_stats(f.intake)->lb_v2, 0);
    assert_int_equal(intake_stats(f.intake)->wrong_port, 0);
    finish(&f);
}

static void
test_kept_header_faults(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *word;
    } cases[] = {
        { 0, 0x4d, "lb_bad_magic" },
        { 1, 0x43, "lb_bad_magic" },
        { 2, 1, "lb_bad_version" },
        { 2, 4, "lb_bad_version" },
        { 3, 2, "lb_bad_proto" },
        { WIRE_LB_LEN, 0x20, "re_bad_version" },
        { WIRE_LB_LEN, 0x11, "re_bad_version" },
        { WIRE_LB_LEN + 1, 1, "re_bad_version" },
        { HEADERS_LEN, 0, "corrupt" },
    };
    struct fixture f;

    (void) state;
    start(&f, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t data[HEADERS_LEN + 100];
        size_t n = make(&f, data, 1, 0, 100);

        assert_int_not_equal(data[cases[i].at], cases[i].value);
        data[cases[i].at] = cases[i].value;
        assert_string_equal(take(&f, PORT + 2, data, n), cases[i].word);
    }
    assert_int_equal(intake_reassembly_stats(f.intake)->open, 0);
    finish(&f);
}

/* A version 2 header counts as such; the port must be the one that the port
 * selector asks for, modulo the ports that there are. */
static void
test_versions_and_ports(void **state)
{
    static const struct {
        uint16_t selector;
        uint16_t port;
        uint64_t wrong;
    } cases[] = {
        { 0, PORT, 0 },          { 7, PORT + 7, 0 }, { 8, PORT, 0 },
        { 0xffff, PORT + 7, 0 }, { 1, PORT, 1 },     { 7, PORT + 6, 1 },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_lb lb = default_lb;
        uint8_t data[HEADERS_LEN + 100];
        struct fixture f;
        size_t n;

        start(&f, true);
        n = make(&f, data, 1, 0, 100);
        lb.version = 2;
        lb.port_select = cases[i].selector;
        wire_lb_pack(&lb, data, WIRE_LB_LEN);
        assert_string_equal(take(&f, cases[i].port, data, n), "ok");
        assert_int_equal(intake_stats(f.intake)->lb_v2, 1);
        assert_int_equal(intake_stats(f.intake)->wrong_port, cases[i].wrong);
        finish(&f);
    }
}

/* A header that was to be stripped is told from other nonsense. */
static void
test_unstripped(void **state)
{
    uint8_t data[HEADERS_LEN + 100];
    struct fixture keeping = { .keep = true };
    struct fixture f;
    size_t n = make(&keeping, data, 1, 0, 100);

    (void) state;
    start(&f, false);
    assert_string_equal(take(&f, PORT, data, n), "unstripped");
    assert_string_equal(take(&f, PORT, data, WIRE_LB_LEN), "unstripped");
    assert_string_equal(take(&f, PORT, data, WIRE_LB_LEN - 1), "re_short");
    data[2] = 9;
    assert_string_equal(take(&f, PORT, data, n), "re_bad_version");
    finish(&f);

    /* Once is as expected, twice is not. */
    start(&f, true);
    n = make(&f, data, 1, 0, 40);
    memmove(data + WIRE_LB_LEN, data, n);
    assert_string_equal(take(&f, PORT, data, n + WIRE_LB_LEN),
                        "re_bad_version");
    finish(&f);
}

/* Wrong data never gets into an event. */
static void
test_corrupt(void **state)
{
    uint8_t data[HEADERS_LEN + 100];
    struct fixture f;
    size_t n;

    (void) state;
    start(&f, false);
    n = make(&f, data, 1, 0, 100);
    for (size_t bit = 8 * 2; bit < 8 * n; bit++) {
        data[bit / 8] ^= 1 << bit % 8;
        assert_string_equal(take(&f, PORT, data, n), "corrupt");
        data[bit / 8] ^= 1 << bit % 8;
    }
    assert_int_equal(intake_reassembly_stats(f.intake)->open, 0);
    assert_string_equal(take(&f, PORT, data, n), "ok");
    assert_int_equal(intake_stats(f.intake)->complete, 1);
    finish(&f);
}

/* With foreign data, only what contradicts itself is found. */
static void
test_any_payload(void **state)
{
    struct intake_config config = default_config;
    uint8_t data[HEADERS_LEN + 100];
    struct fixture f;
    size_t n;

    (void) state;
    config.any_payload = true;
    start_with(&f, &config);
    n = make(&f, data, 1, 0, 60);
    memset(data + WIRE_RE_LEN, 'x', 60);
    assert_string_equal(take(&f, PORT, data, n), "ok");
    data[WIRE_RE_LEN + 59] = 'y';
    assert_string_equal(take(&f, PORT, data, n), "conflict");
    assert_string_equal(take_segment(&f, 1, 60, 40), "ok");
    assert_int_equal(intake_stats(f.intake)->complete, 1);
    finish(&f);
}

/* The reassembly's own verdicts come through. */
static void
test_reassembly_verdicts(void **state)
{
    struct wire_re re = { .data_id = 9, .length = 100, .event_num = 1 };
    uint8_t data[HEADERS_LEN + 100];
    struct fixture f;
    size_t n;

    (void) state;
    start(&f, false);
    assert_string_equal(take_segment(&f, 1, 10, 10), "ok");
    assert_string_equal(take_segment(&f, 1, 10, 10), "duplicate");
    assert_string_equal(take_segment(&f, 1, 30, 10), "ok");
    assert_string_equal(take_segment(&f, 1, 50, 10), "too_many_ranges");
    assert_string_equal(take_segment(&f, 1, 91, 10), "beyond_end");

    n = make(&f, data, 1, 0, 10);
    re.length = 99;
    wire_re_pack(&re, data, WIRE_RE_LEN);
    payload_fill(payload_seed(9, 1, 99), 0, data + WIRE_RE_LEN, 10);
    assert_string_equal(take(&f, PORT, data, n), "length_changed");
    re.length = 10001;
    wire_re_pack(&re, data, WIRE_RE_LEN);
    payload_fill(payload_seed(9, 1, 10001), 0, data + WIRE_RE_LEN, 10);
    assert_string_equal(take(&f, PORT, data, n), "too_big");

    f.now = 100;
    assert_string_equal(take_segment(&f, 1, 50, 10), "late_incomplete");
    finish(&f);
}

/* Events that are not completed are counted by the reason, and what they
 * lack. */
static void
test_incomplete(void **state)
{
    const struct intake_stats *stats;
    struct fixture f;

    (void) state;
    start(&f, false);
    stats = intake_stats(f.intake);
    for (uint64_t event = 1; event <= 5; event++) {
        assert_string_equal(take_segment(&f, event, 0, 70), "ok");
    }
    assert_int_equal(stats->evicted, 1); /* There is room for 4. */
    assert_int_equal(stats->missing_bytes, 30);
    f.now = 50;
    assert_string_equal(take_segment(&f, 2, 70, 30), "ok");
    assert_string_equal(take_segment(&f, 6, 0, 70), "ok");
    f.now = 100;
    intake_run(f.intake, f.now);
    assert_int_equal(stats->expired, 3); /* 3, 4 and 5. */
    intake_flush(f.intake, f.now);
    assert_int_equal(stats->unfinished, 1);
    assert_int_equal(stats->complete, 1);
    assert_int_equal(stats->missing_bytes, 150);
    assert_int_equal(intake_source(f.intake, 9)->complete, 1);
    assert_int_equal(intake_source(f.intake, 9)->incomplete, 5);
    assert_int_equal(f.n_closed, 6);
    finish(&f);
}

/* Random bytes, and good datagrams with random bytes in them. */
static void
test_nonsense(void **state)
{
    (void) state;
    for (int keep = 0; keep < 2; keep++) {
        struct fixture f;

        start(&f, keep);
        for (int i = 0; i < 20000; i++) {
            uint8_t data[HEADERS_LEN + 100];
            size_t n = make(&f, data, i % 7, i % 90, i % 11);
            unsigned int flaws = unit_random_below(&seed, 4);

            for (unsigned int j = 0; j < flaws; j++) {
                data[unit_random_below(&seed, n)] = unit_random(&seed);
            }
            f.now += i % 3;
            take(&f, PORT, data, unit_random_below(&seed, n + 1));
        }
        finish(&f);
    }
}

static void
test_nth_allocation_fails(void **state)
{
    struct intake *intake = NULL;
    long int n;

    (void) state;
    for (n = 0; !intake; n++) {
        alloc_fail_after(n);
        intake = intake_create(&default_config, note_closed, NULL);
        assert_int_equal(!intake, alloc_failed);
    }
    alloc_fail_after(-1);
    assert_true(n > 4);
    intake_destroy(intake);
    intake_destroy(NULL);
}

/* A segment without memory for its event is a verdict like any other. */
static void
test_no_memory(void **state)
{
    uint8_t data[HEADERS_LEN + 100];
    struct fixture f;
    size_t n;

    (void) state;
    start(&f, false);
    n = make(&f, data, 1, 0, 100);
    alloc_fail_after(0);
    intake_packet(f.intake, PORT, data, n, f.now, &f.packet);
    alloc_fail_after(-1);
    f.n_packets++;
    assert_int_equal(f.packet.verdict, INTAKE_NO_MEMORY);
    assert_string_equal(take(&f, PORT, data, n), "ok");
    finish(&f);
}

/* Each verdict has a word of its own: they are names of counters. */
static void
test_words(void **state)
{
    (void) state;
    for (int v = 0; v < INTAKE_N_VERDICTS; v++) {
        assert_string_not_equal(intake_verdict_to_string(v), "unknown");
        for (int w = 0; w < v; w++) {
            assert_string_not_equal(intake_verdict_to_string(v),
                                    intake_verdict_to_string(w));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_kept_header),
        cmocka_unit_test(test_kept_header_faults),
        cmocka_unit_test(test_versions_and_ports),
        cmocka_unit_test(test_unstripped),
        cmocka_unit_test(test_corrupt),
        cmocka_unit_test(test_any_payload),
        cmocka_unit_test(test_reassembly_verdicts),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_nth_allocation_fails),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests_name("intake", tests, NULL, NULL);
}
