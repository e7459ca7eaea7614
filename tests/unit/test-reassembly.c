/* SPDX-License-Identifier: Apache-2.0 */

/* Reassembly as scripts: segments at given times, what must become of each,
 * and which events must be closed, how and when.  The data of events is
 * evlb-send's, so that each event that is closed as complete proves itself. */

#include "endpoints/reassembly.h"

#include <stdio.h>

#include "endpoints/payload.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#define MAX_CLOSINGS 64 /* Closings that a test looks at. */
#define PORT 20000      /* Where segments come, unless said. */

struct fixture {
    struct reassembly *r;                           /* Under test. */
    struct reassembly_event closings[MAX_CLOSINGS]; /* As they came. */
    size_t n_closings;                              /* Number of 'closings'. */
    size_t n_seen; /* Closings that were checked. */
    uint16_t port; /* Where segments come. */
    int64_t now;   /* The time. */
};

static const struct reassembly_config default_config = {
    .max_open = 16,
    .max_closed = 16,
    .max_ranges = 8,
    .max_event = 1000,
    .max_memory = 4000,
    .timeout = 100,
    .linger = 1000,
    .hash_seed = 1,
};

static uint64_t seed = 1;

static void
note_closing(const struct reassembly_event *e, void *f_)
{
    struct fixture *f = f_;

    if (e->closing == REASSEMBLY_CLOSED_COMPLETE) {
        uint64_t s = payload_seed(e->data_id, e->event_num, e->length);

        assert_non_null(e->data);
        assert_true(payload_check(s, 0, e->data, e->length));
        assert_int_equal(e->received, e->length);
    } else {
        assert_null(e->data);
        assert_true(e->received < e->length);
    }
    assert_true(f->n_closings < MAX_CLOSINGS);
    f->closings[f->n_closings++] = *e;
}

static void
start_with(struct fixture *f, const struct reassembly_config *config)
{
    memset(f, 0, sizeof *f);
    f->port = PORT;
    f->r = reassembly_create(config, note_closing, f);
    assert_non_null(f->r);
}

static void
start(struct fixture *f)
{
    start_with(f, &default_config);
}

/* Ends a script: everything that was closed has been looked at. */
static void
finish(struct fixture *f)
{
    assert_int_equal(f->n_seen, f->n_closings);
    reassembly_destroy(f->r);
}

/* Adds 's' with 'size' bytes of what the event's data is there, each XORed
 * with 'flaw'.  The bytes are on the heap, with nothing behind. */
static enum reassembly_result
add__(struct fixture *f, struct reassembly_segment s, size_t size,
      uint8_t flaw)
{
    uint8_t *data = malloc(size ? size : 1);
    enum reassembly_result result;

    assert_non_null(data);
    payload_fill(payload_seed(s.data_id, s.event_num, s.length), s.offset,
                 data, size);
    for (size_t i = 0; i < size; i++) {
        data[i] ^= flaw;
    }
    s.port = f->port;
    s.data = data;
    s.size = size;
    result = reassembly_add(f->r, &s, f->now);
    free(data);
    return result;
}

/* Adds 'size' bytes at 'offset' of event 'event_num' of source 1, which has
 * 'length' bytes. */
static enum reassembly_result
add(struct fixture *f, uint64_t event_num, uint32_t offset, size_t size,
    uint32_t length)
{
    struct reassembly_segment s = {
        .event_num = event_num,
        .data_id = 1,
        .offset = offset,
        .length = length,
    };

    return add__(f, s, size, 0);
}

/* The script's words.  SEGMENT(RESULT, event, offset, size, length) */
#define SEGMENT(RESULT, ...)                                               \
    assert_string_equal(reassembly_result_to_string(add(&f, __VA_ARGS__)), \
                        RESULT)
#define CLOSED(EVENT, CLOSING) expect_closed(&f, EVENT, CLOSING)
#define NOTHING_CLOSED() assert_int_equal(f.n_seen, f.n_closings)

/* Checks the next closing: it is of 'event_num', and 'closing' is why. */
static const struct reassembly_event *
expect_closed(struct fixture *f, uint64_t event_num, const char *closing)
{
    const struct reassembly_event *e = &f->closings[f->n_seen];

    assert_true(f->n_seen < f->n_closings);
    f->n_seen++;
    assert_int_equal(e->event_num, event_num);
    assert_string_equal(reassembly_closing_to_string(e->closing), closing);
    assert_int_equal(e->closed, f->now);
    return e;
}

static void
expect_stats(const struct fixture *f, uint32_t open, uint32_t closed,
             uint64_t memory)
{
    const struct reassembly_stats *stats = reassembly_stats(f->r);

    assert_int_equal(stats->open, open);
    assert_int_equal(stats->closed, closed);
    assert_int_equal(stats->memory, memory);
}

/* Orders of arrival. */

static void
test_one_segment(void **state)
{
    const struct reassembly_event *e;
    struct fixture f;

    (void) state;
    start(&f);
    f.now = 5;
    SEGMENT("ok", 7, 0, 100, 100);
    e = CLOSED(7, "complete");
    assert_int_equal(e->data_id, 1);
    assert_int_equal(e->length, 100);
    assert_int_equal(e->segments, 1);
    assert_int_equal(e->opened, 5);
    assert_int_equal(e->port, PORT);
    assert_false(e->port_changed);
    expect_stats(&f, 0, 1, 0);
    finish(&f);
}

static void
test_in_order(void **state)
{
    const struct reassembly_event *e;
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 0, 40, 100);
    f.now = 1;
    SEGMENT("ok", 7, 40, 40, 100);
    NOTHING_CLOSED();
    expect_stats(&f, 1, 0, 100);
    f.now = 2;
    SEGMENT("ok", 7, 80, 20, 100);
    e = CLOSED(7, "complete");
    assert_int_equal(e->segments, 3);
    assert_int_equal(e->opened, 0);
    assert_int_equal(reassembly_stats(f.r)->reordered, 0);
    finish(&f);
}

static void
test_reversed(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 80, 20, 100);
    SEGMENT("ok", 7, 40, 40, 100);
    SEGMENT("ok", 7, 0, 40, 100);
    CLOSED(7, "complete");
    assert_int_equal(reassembly_stats(f.r)->reordered, 2);
    finish(&f);
}

/* A segment that was overtaken counts as reordered, those that overtook it do
 * not. */
static void
test_overtaken(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 0, 10, 50);
    SEGMENT("ok", 7, 20, 10, 50);
    SEGMENT("ok", 7, 30, 10, 50);
    SEGMENT("ok", 7, 10, 10, 50);
    SEGMENT("ok", 7, 40, 10, 50);
    CLOSED(7, "complete");
    assert_int_equal(reassembly_stats(f.r)->reordered, 1);
    finish(&f);
}

/* Events, and sources of the same event, do not mix. */
static void
test_interleaved(void **state)
{
    struct reassembly_segment other = {
        .event_num = 7, .data_id = 2, .offset = 50, .length = 100
    };
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 0, 50, 100);
    SEGMENT("ok", 8, 50, 50, 100);
    assert_int_equal(add__(&f, other, 50, 0), REASSEMBLY_NEW);
    expect_stats(&f, 3, 0, 300);
    SEGMENT("ok", 8, 0, 50, 100);
    assert_int_equal(CLOSED(8, "complete")->data_id, 1);
    SEGMENT("ok", 7, 50, 50, 100);
    assert_int_equal(CLOSED(7, "complete")->data_id, 1);
    other.offset = 0;
    assert_int_equal(add__(&f, other, 50, 0), REASSEMBLY_NEW);
    assert_int_equal(CLOSED(7, "complete")->data_id, 2);
    finish(&f);
}

/* Keys that differ in one bit of event number or data id are different
 * events, also where the hash table has one bucket for all. */
static void
test_keys(void **state)
{
    struct reassembly_config config = default_config;
    struct fixture f;

    (void) state;
    config.max_open = 200;
    config.max_closed = 0;
    start_with(&f, &config);
    for (int bit = 0; bit < 80; bit++) {
        struct reassembly_segment s = {
            .event_num = bit < 64 ? UINT64_C(1) << bit : 0,
            .data_id = bit < 64 ? 0 : 1 << (bit - 64),
            .length = 2,
        };

        assert_int_equal(add__(&f, s, 1, 0), REASSEMBLY_NEW);
        assert_int_equal(add__(&f, s, 1, 0), REASSEMBLY_DUPLICATE);
    }
    expect_stats(&f, 80, 0, 160);
    finish(&f);
}

/* Segments that bring nothing, or not only new bytes. */

static void
test_duplicates(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 10, 10, 100);
    SEGMENT("duplicate", 7, 10, 10, 100); /* The same. */
    SEGMENT("duplicate", 7, 12, 3, 100);  /* A part. */
    SEGMENT("ok", 7, 20, 10, 100);
    SEGMENT("duplicate", 7, 10, 20, 100); /* Two at once. */
    SEGMENT("ok", 7, 0, 10, 100);
    SEGMENT("duplicate", 7, 0, 30, 100);
    NOTHING_CLOSED();
    SEGMENT("ok", 7, 30, 70, 100);
    assert_int_equal(CLOSED(7, "complete")->segments, 4);
    finish(&f);
}

static void
test_overlaps(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 10, 10, 100);
    SEGMENT("overlap", 7, 15, 10, 100); /* Off the end. */
    SEGMENT("overlap", 7, 5, 10, 100);  /* Off the start. */
    SEGMENT("overlap", 7, 0, 50, 100);  /* Around. */
    SEGMENT("ok", 7, 60, 10, 100);
    SEGMENT("overlap", 7, 40, 60, 100); /* Over a hole. */
    assert_int_equal(CLOSED(7, "complete")->received, 100);
    finish(&f);
}

/* A segment that contradicts what is there is refused whole, wherever the
 * contradiction is; the event can still be completed. */
static void
test_conflicts(void **state)
{
    struct reassembly_segment s = {
        .event_num = 7, .data_id = 1, .offset = 10, .length = 100
    };
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 10, 10, 100);
    assert_int_equal(add__(&f, s, 10, 1), REASSEMBLY_CONFLICT);
    s.offset = 15;
    assert_int_equal(add__(&f, s, 30, 0x80), REASSEMBLY_CONFLICT);
    s.offset = 0;
    assert_int_equal(add__(&f, s, 11, 0xff), REASSEMBLY_CONFLICT);
    s.offset = 0;
    assert_int_equal(add__(&f, s, 100, 1), REASSEMBLY_CONFLICT);

    /* What is new in a refused segment was not taken. */
    SEGMENT("ok", 7, 20, 80, 100);
    SEGMENT("ok", 7, 0, 10, 100);
    assert_int_equal(CLOSED(7, "complete")->segments, 3);
    finish(&f);
}

static void
test_late_for_complete(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 0, 50, 100);
    SEGMENT("ok", 7, 50, 50, 100);
    CLOSED(7, "complete");
    SEGMENT("late_complete", 7, 50, 50, 100);
    SEGMENT("late_complete", 7, 0, 100, 100);
    SEGMENT("late_complete", 7, 0, 3, 3); /* Of any length. */
    expect_stats(&f, 0, 1, 0);
    finish(&f);
}

/* Segments that are wrong. */

static void
test_length_changes(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 0, 50, 100);
    SEGMENT("length_changed", 7, 50, 50, 101);
    SEGMENT("length_changed", 7, 0, 50, 99);
    SEGMENT("length_changed", 7, 0, 0, 0);
    SEGMENT("length_changed", 7, 0, 50, 50); /* "Complete". */
    NOTHING_CLOSED();
    SEGMENT("ok", 7, 50, 50, 100);
    CLOSED(7, "complete");
    finish(&f);
}

static void
test_beyond_end(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("beyond_end", 7, 0, 101, 100);
    SEGMENT("beyond_end", 7, 1, 100, 100);
    SEGMENT("beyond_end", 7, 100, 1, 100);
    SEGMENT("beyond_end", 7, 101, 0, 100);
    SEGMENT("beyond_end", 7, 101, 1, 100);
    SEGMENT("beyond_end", 7, 0, 1, 0);
    SEGMENT("beyond_end", 7, 1, 0, 0);

    /* Sums that do not fit 32 bits. */
    SEGMENT("beyond_end", 7, UINT32_MAX, 1, 100);
    SEGMENT("beyond_end", 7, UINT32_MAX, 101, 100);
    SEGMENT("beyond_end", 7, UINT32_MAX, 1, UINT32_MAX);
    SEGMENT("beyond_end", 7, UINT32_MAX - 1, 2, UINT32_MAX);
    expect_stats(&f, 0, 0, 0);

    /* In an open event too. */
    SEGMENT("ok", 7, 99, 1, 100);
    SEGMENT("beyond_end", 7, 99, 2, 100);
    SEGMENT("ok", 7, 0, 99, 100);
    CLOSED(7, "complete");
    finish(&f);
}

/* An event without data is complete with its only, empty segment; in any other
 * event an empty segment is a fault. */
static void
test_empty(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 0, 0, 0);
    assert_int_equal(CLOSED(7, "complete")->segments, 1);
    SEGMENT("late_complete", 7, 0, 0, 0);
    SEGMENT("empty", 8, 0, 0, 100);
    SEGMENT("empty", 8, 100, 0, 100);
    expect_stats(&f, 0, 1, 0);
    SEGMENT("ok", 8, 0, 50, 100);
    SEGMENT("empty", 8, 50, 0, 100);
    expect_stats(&f, 1, 1, 100);
    finish(&f);
}

/* Limits. */

static void
test_largest_event(void **state)
{
    struct reassembly_config config = default_config;
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 7, 0, 1000, 1000);
    CLOSED(7, "complete");
    SEGMENT("too_big", 8, 0, 10, 1001);
    SEGMENT("too_big", 8, 0, 10, UINT32_MAX);
    expect_stats(&f, 0, 1, 0);
    finish(&f);

    /* Nor may one event be larger than all the memory. */
    config.max_memory = 500;
    start_with(&f, &config);
    SEGMENT("too_big", 7, 0, 10, 501);
    SEGMENT("ok", 7, 0, 500, 500);
    CLOSED(7, "complete");
    finish(&f);
}

/* Where there are too many open events the oldest goes, not the newest. */
static void
test_too_many_events(void **state)
{
    struct reassembly_config config = default_config;
    const struct reassembly_event *e;
    struct fixture f;

    (void) state;
    config.max_open = 3;
    start_with(&f, &config);
    SEGMENT("ok", 1, 0, 30, 100);
    SEGMENT("ok", 2, 0, 50, 100);
    SEGMENT("ok", 3, 0, 50, 100);
    SEGMENT("ok", 1, 30, 10, 100);
    NOTHING_CLOSED();
    f.now = 9;
    SEGMENT("ok", 4, 0, 50, 100);
    e = CLOSED(1, "evicted");
    assert_int_equal(e->received, 40);
    assert_int_equal(e->segments, 2);
    SEGMENT("late_incomplete", 1, 40, 60, 100);
    SEGMENT("ok", 2, 50, 50, 100);
    CLOSED(2, "complete");
    expect_stats(&f, 2, 2, 200);
    finish(&f);
}

/* As many of the oldest go as the new one needs room. */
static void
test_too_much_memory(void **state)
{
    struct reassembly_config config = default_config;
    struct fixture f;

    (void) state;
    config.max_memory = 1000;
    start_with(&f, &config);
    SEGMENT("ok", 1, 0, 1, 400);
    SEGMENT("ok", 2, 0, 1, 300);
    SEGMENT("ok", 3, 0, 1, 300);
    expect_stats(&f, 3, 0, 1000);
    NOTHING_CLOSED();
    SEGMENT("ok", 4, 0, 1, 500);
    CLOSED(1, "evicted");
    CLOSED(2, "evicted");
    expect_stats(&f, 2, 2, 800);
    SEGMENT("ok", 5, 0, 1, 1000);
    CLOSED(3, "evicted");
    CLOSED(4, "evicted");
    expect_stats(&f, 1, 4, 1000);

    /* A segment that is refused evicts nothing. */
    SEGMENT("too_big", 6, 0, 1, 1001);
    SEGMENT("beyond_end", 6, 1, 1, 1);
    NOTHING_CLOSED();
    finish(&f);
}

/* A sender that leaves holes everywhere costs no more than 'max_ranges'. */
static void
test_too_many_ranges(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    for (uint32_t i = 0; i < 8; i++) {
        SEGMENT("ok", 7, 20 * i, 10, 1000);
    }
    SEGMENT("too_many_ranges", 7, 200, 10, 1000);
    SEGMENT("too_many_ranges", 7, 999, 1, 1000);
    SEGMENT("ok", 7, 10, 10, 1000); /* Joins two. */
    SEGMENT("ok", 7, 200, 10, 1000);
    SEGMENT("too_many_ranges", 7, 999, 1, 1000);
    SEGMENT("overlap", 7, 0, 1000, 1000);
    CLOSED(7, "complete");
    finish(&f);
}

/* Time. */

static void
test_expiry(void **state)
{
    const struct reassembly_event *e;
    struct fixture f;

    (void) state;
    start(&f);
    f.now = 10;
    SEGMENT("ok", 7, 0, 50, 100);
    f.now = 109;
    SEGMENT("ok", 7, 50, 10, 100); /* Is no reason to wait longer. */
    reassembly_run(f.r, f.now);
    NOTHING_CLOSED();
    f.now = 110;
    reassembly_run(f.r, f.now);
    e = CLOSED(7, "expired");
    assert_int_equal(e->opened, 10);
    assert_int_equal(e->received, 60);
    expect_stats(&f, 0, 1, 0);

    /* The rest comes too late, and opens nothing. */
    SEGMENT("late_incomplete", 7, 60, 40, 100);
    SEGMENT("late_incomplete", 7, 0, 100, 100);
    expect_stats(&f, 0, 1, 0);
    finish(&f);
}

/* Segments of other events move time on as well, and so does a segment that
 * comes just too late for its own. */
static void
test_expiry_by_segments(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 1, 0, 50, 100);
    f.now = 50;
    SEGMENT("ok", 2, 0, 50, 100);
    f.now = 100;
    SEGMENT("ok", 3, 0, 50, 100);
    CLOSED(1, "expired");
    f.now = 150;
    SEGMENT("late_incomplete", 2, 50, 50, 100);
    CLOSED(2, "expired");
    expect_stats(&f, 1, 2, 100);

    /* Even one that is refused. */
    f.now = 200;
    SEGMENT("empty", 4, 0, 0, 1);
    CLOSED(3, "expired");
    finish(&f);
}

/* The oldest are given up first, and only they. */
static void
test_expiry_in_order(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    for (uint64_t event = 0; event < 10; event++) {
        f.now = 10 * (int64_t) event;
        SEGMENT("ok", event, 0, 1, 2);
    }
    f.now = 145;
    reassembly_run(f.r, f.now);
    for (uint64_t event = 0; event < 5; event++) {
        CLOSED(event, "expired");
    }
    NOTHING_CLOSED();
    expect_stats(&f, 5, 5, 10);
    finish(&f);
}

/* An event number may come again once its event is forgotten. */
static void
test_linger(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    f.now = 10;
    SEGMENT("ok", 7, 0, 100, 100);
    CLOSED(7, "complete");
    f.now = 1009;
    SEGMENT("late_complete", 7, 0, 100, 100);
    f.now = 1010;
    SEGMENT("ok", 7, 0, 100, 100);
    CLOSED(7, "complete");
    expect_stats(&f, 0, 1, 0);
    f.now = 2010;
    reassembly_run(f.r, f.now);
    expect_stats(&f, 0, 0, 0);
    finish(&f);
}

static void
test_closed_limit(void **state)
{
    struct reassembly_config config = default_config;
    struct fixture f;

    (void) state;
    config.max_closed = 2;
    start_with(&f, &config);
    for (uint64_t event = 1; event <= 3; event++) {
        SEGMENT("ok", event, 0, 10, 10);
        CLOSED(event, "complete");
    }
    expect_stats(&f, 0, 2, 0);
    SEGMENT("late_complete", 2, 0, 10, 10);
    SEGMENT("late_complete", 3, 0, 10, 10);
    SEGMENT("ok", 1, 0, 10, 10); /* Forgotten. */
    CLOSED(1, "complete");
    SEGMENT("ok", 2, 0, 10, 10); /* Made room for 1. */
    CLOSED(2, "complete");
    finish(&f);
}

/* Without memory for closed events everything else works. */
static void
test_no_closed(void **state)
{
    struct reassembly_config config = default_config;
    struct fixture f;

    (void) state;
    config.max_open = 1;
    config.max_closed = 0;
    start_with(&f, &config);
    for (uint64_t event = 1; event <= 3; event++) {
        SEGMENT("ok", event, 0, 5, 10);
        SEGMENT("ok", event, 5, 5, 10);
        CLOSED(event, "complete");
        expect_stats(&f, 0, 0, 0);
    }
    SEGMENT("ok", 1, 0, 5, 10);
    SEGMENT("ok", 2, 0, 5, 10);
    CLOSED(1, "evicted");
    expect_stats(&f, 1, 0, 10);
    finish(&f);
}

/* A clock that stands still or goes back closes nothing. */
static void
test_clock_goes_back(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    f.now = 1000;
    SEGMENT("ok", 7, 0, 50, 100);
    f.now = 0;
    reassembly_run(f.r, f.now);
    SEGMENT("ok", 8, 0, 50, 100);
    NOTHING_CLOSED();
    f.now = 1050;
    SEGMENT("ok", 7, 50, 50, 100);
    CLOSED(7, "complete");
    finish(&f);
}

/* Ports. */

/* All segments of an event that one source sends belong at one port. */
static void
test_port_changes(void **state)
{
    struct reassembly_config config = default_config;
    const struct reassembly_event *e;
    struct fixture f;

    (void) state;
    config.max_open = 1; /* Each event gets the place of the last. */
    config.max_closed = 0;
    start_with(&f, &config);
    SEGMENT("ok", 7, 0, 30, 100);
    SEGMENT("ok", 7, 30, 30, 100);
    assert_int_equal(reassembly_stats(f.r)->port_changes, 0);
    f.port = PORT + 1;
    SEGMENT("ok", 7, 60, 30, 100);
    SEGMENT("duplicate", 7, 60, 30, 100);
    f.port = PORT;
    SEGMENT("ok", 7, 90, 10, 100);
    assert_int_equal(reassembly_stats(f.r)->port_changes, 2);
    e = CLOSED(7, "complete");
    assert_true(e->port_changed);
    assert_int_equal(e->port, PORT);

    /* The next event is another matter. */
    f.port = PORT + 1;
    SEGMENT("ok", 8, 0, 100, 100);
    e = CLOSED(8, "complete");
    assert_false(e->port_changed);
    assert_int_equal(e->port, PORT + 1);
    assert_int_equal(reassembly_stats(f.r)->port_changes, 2);
    finish(&f);
}

/* The end. */

static void
test_flush(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 1, 0, 50, 100);
    SEGMENT("ok", 2, 0, 100, 100);
    CLOSED(2, "complete");
    SEGMENT("ok", 3, 0, 50, 100);
    f.now = 60;
    reassembly_flush(f.r, f.now);
    CLOSED(1, "unfinished");
    CLOSED(3, "unfinished");
    expect_stats(&f, 0, 3, 0);
    reassembly_flush(f.r, f.now);
    finish(&f);
}

/* Open events that nobody flushed are freed too (LeakSanitizer watches). */
static void
test_destroy_with_open(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    SEGMENT("ok", 1, 0, 50, 100);
    SEGMENT("ok", 2, 50, 50, 100);
    finish(&f);
    reassembly_destroy(NULL);
}

/* Memory. */

/* Puts six of ten segments of an event together, without any other memory than
 * the reassembly's.  A segment that finds no memory is sent again. */
static void
add_with_holes(struct fixture *f)
{
    struct reassembly_segment s = {
        .event_num = 7, .data_id = 1, .port = PORT, .length = 200
    };
    uint8_t data[10];

    s.data = data;
    s.size = sizeof data;
    for (s.offset = 0; s.offset < 120; s.offset += 20) {
        payload_fill(payload_seed(1, 7, 200), s.offset, data, sizeof data);
        if (reassembly_add(f->r, &s, 0) != REASSEMBLY_NEW) {
            assert_true(alloc_failed);
            assert_int_equal(reassembly_add(f->r, &s, 0), REASSEMBLY_NEW);
        }
    }
}

/* Sessions in which the n-th allocation fails, for every n: nothing leaks or
 * breaks, and sending the segment again mends the event. */
static void
test_nth_allocation_fails(void **state)
{
    bool failed = true;
    struct fixture f;
    long int n;

    (void) state;
    for (n = 0; failed; n++) {
        alloc_fail_after(n);
        f.r = reassembly_create(&default_config, note_closing, &f);
        failed = alloc_failed;
        alloc_fail_after(-1);
        assert_int_equal(f.r == NULL, failed);
        reassembly_destroy(f.r);
    }
    assert_int_equal(n - 1, 3); /* Three were needed. */

    failed = true;
    for (n = 0; failed; n++) {
        start(&f);
        alloc_fail_after(n);
        add_with_holes(&f);
        failed = alloc_failed;
        alloc_fail_after(-1);
        SEGMENT("overlap", 7, 0, 200, 200);
        CLOSED(7, "complete");
        finish(&f);
    }
    assert_int_equal(n - 1, 3);
}

/* Everything at once: random segments, cut anyhow, of several events, against
 * a model that knows nothing but an array of booleans for each event. */

#define MODEL_EVENTS 6
#define MODEL_LENGTH 120

struct model {
    bool there[MODEL_LENGTH]; /* Which bytes came. */
    uint32_t n;               /* How many. */
};

static const char *
model_result(struct model *m, uint32_t offset, uint32_t size)
{
    uint32_t old = 0;

    if (m->n == MODEL_LENGTH) {
        return "late_complete";
    }
    for (uint32_t i = offset; i < offset + size; i++) {
        old += m->there[i];
        m->there[i] = true;
    }
    m->n += size - old;
    return old == size ? "duplicate" : old ? "overlap" : "ok";
}

static void
test_model(void **state)
{
    struct reassembly_config config = default_config;

    (void) state;
    config.max_ranges = MODEL_LENGTH;
    for (int round = 0; round < 300; round++) {
        struct model models[MODEL_EVENTS] = { { .n = 0 } };
        size_t complete = 0;
        struct fixture f;

        config.hash_seed = unit_random(&seed);
        start_with(&f, &config);
        while (complete < MODEL_EVENTS) {
            unsigned int event = unit_random_below(&seed, MODEL_EVENTS);
            uint32_t offset = unit_random_below(&seed, MODEL_LENGTH);
            uint32_t room = MODEL_LENGTH - offset;
            uint32_t size =
                1 + unit_random_below(&seed, room < 30 ? room : 30);
            bool was_complete = models[event].n == MODEL_LENGTH;
            const char *expected;

            expected = model_result(&models[event], offset, size);
            SEGMENT(expected, event, offset, size, MODEL_LENGTH);
            if (!was_complete && models[event].n == MODEL_LENGTH) {
                CLOSED(event, "complete");
                complete++;
            }
            NOTHING_CLOSED();
        }
        expect_stats(&f, 0, MODEL_EVENTS, 0);
        finish(&f);
    }
}

/* Random nonsense stays within all limits, and each open event is closed in
 * the end, once. */
static void
test_limits_hold(void **state)
{
    struct reassembly_config config = default_config;
    struct fixture f;

    (void) state;
    config.max_open = 5;
    config.max_closed = 7;
    config.max_ranges = 3;
    config.max_memory = 1500;
    start_with(&f, &config);
    for (int i = 0; i < 20000; i++) {
        const struct reassembly_stats *stats = reassembly_stats(f.r);

        f.now += unit_random_below(&seed, 10);
        add(&f, unit_random_below(&seed, 20), unit_random_below(&seed, 300),
            unit_random_below(&seed, 200), unit_random_below(&seed, 1100));
        assert_true(stats->open <= 5);
        assert_true(stats->closed <= 7);
        assert_true(stats->memory <= 1500);
        f.n_closings = 0;
    }
    reassembly_flush(f.r, f.now);
    assert_int_equal(reassembly_stats(f.r)->open, 0);
    assert_int_equal(reassembly_stats(f.r)->memory, 0);
    f.n_seen = f.n_closings;
    finish(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_segment),
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_reversed),
        cmocka_unit_test(test_overtaken),
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_late_for_complete),
        cmocka_unit_test(test_length_changes),
        cmocka_unit_test(test_beyond_end),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_largest_event),
        cmocka_unit_test(test_too_many_events),
        cmocka_unit_test(test_too_much_memory),
        cmocka_unit_test(test_too_many_ranges),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_expiry_by_segments),
        cmocka_unit_test(test_expiry_in_order),
        cmocka_unit_test(test_linger),
        cmocka_unit_test(test_closed_limit),
        cmocka_unit_test(test_no_closed),
        cmocka_unit_test(test_clock_goes_back),
        cmocka_unit_test(test_port_changes),
        cmocka_unit_test(test_flush),
        cmocka_unit_test(test_destroy_with_open),
        cmocka_unit_test(test_nth_allocation_fails),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_limits_hold),
    };

    return cmocka_run_group_tests_name("reassembly", tests, NULL, NULL);
}
