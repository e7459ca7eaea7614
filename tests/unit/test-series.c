/* SPDX-License-Identifier: Apache-2.0 */

/* History on real files: what is appended is found, the oldest of it goes, and
 * nobody waits for it. */

#include "controller/store/series.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/core/mem.h"
#include "tests/unit/unit.h"

#define MANY (UINT64_C(1) << 40)

static const struct series_limits endless = { INT64_MAX / 2, MANY };

struct fixture {
    char directory[32];
    char *file;
    struct event_base *base;
    struct series *series;

    /* Of the last query. */
    unsigned int n_results;
    struct series_sample *samples;
    size_t n_samples;
    struct series_epoch *epochs;
    size_t n_epochs;
    bool truncated;
    char *error;
};

static void
open_series(struct fixture *f, const struct series_limits *limits)
{
    unit_assert_error(series_open(f->base, f->file, limits, &f->series), NULL);
}

static void
setup(struct fixture *f, const struct series_limits *limits)
{
    memset(f, 0, sizeof *f);
    memcpy(f->directory, "/tmp/test-series-XXXXXX", 24);
    assert_non_null(mkdtemp(f->directory));
    f->file = mem_printf("%s/history.db", f->directory);
    f->base = event_base_new();
    open_series(f, limits);
}

static void
forget_result(struct fixture *f)
{
    free(f->samples);
    free(f->epochs);
    free(f->error);
    f->samples = NULL;
    f->epochs = NULL;
    f->error = NULL;
}

static void
teardown(struct fixture *f)
{
    series_close(f->series);
    event_base_free(f->base);
    unlink(f->file);
    assert_int_equal(rmdir(f->directory), 0);
    free(f->file);
    forget_result(f);
}

static void
result_cb(void *f_, const char *error, const struct series_result *result)
{
    struct fixture *f = f_;

    forget_result(f);
    f->n_results++;
    if (error) {
        assert_null(result);
        f->error = mem_strdup(error);
        return;
    }
    f->samples =
        mem_dup(result->samples, result->n_samples * sizeof *f->samples);
    f->n_samples = result->n_samples;
    f->epochs = mem_dup(result->epochs, result->n_epochs * sizeof *f->epochs);
    f->n_epochs = result->n_epochs;
    f->truncated = result->truncated;
}

static void
query(struct fixture *f, const struct series_query *q)
{
    unsigned int n = f->n_results;

    assert_non_null(series_query(f->series, q, result_cb, f));
    assert_int_equal(f->n_results, n); /* Never from within the call. */
    while (f->n_results == n) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_null(f->error);
}

/* Lets all that waits be written. */
static void
flush(struct fixture *f)
{
    query(f, &(struct series_query){ .reservation = 1 });
}

static struct series_stats
get_stats(struct fixture *f)
{
    struct series_stats stats;

    flush(f);
    series_get_stats(f->series, &stats);
    return stats;
}

static struct series_sample
make_sample(uint64_t reservation, uint64_t session, int64_t time)
{
    struct series_sample s = { .reservation = reservation,
                               .session = session,
                               .time = time,
                               .fill = 0.25,
                               .control = -0.125,
                               .ready = session % 2,
                               .events_received = time + 1,
                               .events_reassembled = time + 2,
                               .events_reassembly_errors = time + 3,
                               .events_dequeued = time + 4,
                               .event_enqueue_errors = time + 5,
                               .bytes_received = INT64_MAX,
                               .packets_received = -1,
                               .slots = 512 };

    return s;
}

static void
assert_same_sample(const struct series_sample *a,
                   const struct series_sample *b)
{
    assert_int_equal(a->reservation, b->reservation);
    assert_int_equal(a->session, b->session);
    assert_int_equal(a->time, b->time);
    assert_true(a->fill == b->fill);
    assert_true(a->control == b->control);
    assert_int_equal(a->ready, b->ready);
    assert_int_equal(a->events_received, b->events_received);
    assert_int_equal(a->events_reassembled, b->events_reassembled);
    assert_int_equal(a->events_reassembly_errors, b->events_reassembly_errors);
    assert_int_equal(a->events_dequeued, b->events_dequeued);
    assert_int_equal(a->event_enqueue_errors, b->event_enqueue_errors);
    assert_int_equal(a->bytes_received, b->bytes_received);
    assert_int_equal(a->packets_received, b->packets_received);
    assert_int_equal(a->slots, b->slots);
}

/* Appends a sample of each of 'n' sessions of 'reservation' at 'time'. */
static void
append(struct fixture *f, uint64_t reservation, size_t n, int64_t time)
{
    struct series_sample *samples = mem_alloc(n * sizeof *samples);

    for (size_t i = 0; i < n; i++) {
        samples[i] = make_sample(reservation, i + 1, time);
    }
    series_append(f->series, samples, n);
    free(samples);
}

static void
test_samples(void **state)
{
    struct series_query q = { .reservation = UINT64_MAX, .limit = 1000 };
    struct series_sample expected;
    struct fixture f;

    (void) state;
    setup(&f, &endless);
    for (int64_t time = 1000; time < 1010; time++) {
        append(&f, UINT64_MAX, 3, time);
        append(&f, 2, 4, time);
    }
    query(&f, &q);
    assert_int_equal(f.n_samples, 30);
    assert_int_equal(f.n_epochs, 0);
    assert_false(f.truncated);
    for (size_t i = 0; i < 30; i++) {
        expected = make_sample(UINT64_MAX, i % 3 + 1, 1000 + (int64_t) i / 3);
        assert_same_sample(&f.samples[i], &expected);
    }

    /* One session, and not from the beginning, after a restart. */
    series_close(f.series);
    open_series(&f, &endless);
    q = (struct series_query){
        .reservation = 2, .session = 4, .since = 1007, .limit = 3
    };
    query(&f, &q);
    assert_int_equal(f.n_samples, 3);
    assert_false(f.truncated);
    for (size_t i = 0; i < 3; i++) {
        expected = make_sample(2, 4, 1007 + (int64_t) i);
        assert_same_sample(&f.samples[i], &expected);
    }
    q.limit = 2;
    query(&f, &q);
    assert_int_equal(f.n_samples, 2);
    assert_int_equal(f.samples[0].time, 1007);
    assert_true(f.truncated);
    q.reservation = 3;
    query(&f, &q);
    assert_int_equal(f.n_samples, 0);
    assert_false(f.truncated);
    teardown(&f);
}

static void
test_epochs(void **state)
{
    struct series_epoch epochs[3] = {
        { 7, 5000, 221, 65535, 0, UINT64_MAX },
        { 7, 6000, 221, 0, UINT64_MAX - 1, 1 },
        { 8, 6000, 1, 3, 99, 2 },
    };
    struct series_query q = { .kind = SERIES_EPOCHS,
                              .reservation = 7,
                              .limit = 9 };
    struct fixture f;

    (void) state;
    setup(&f, &endless);
    series_append_epochs(f.series, epochs, 3);
    append(&f, 7, 1, 5000);
    query(&f, &q);
    assert_int_equal(f.n_samples, 0);
    assert_int_equal(f.n_epochs, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(f.epochs[i].reservation, 7);
        assert_int_equal(f.epochs[i].time, epochs[i].time);
        assert_int_equal(f.epochs[i].instance, epochs[i].instance);
        assert_int_equal(f.epochs[i].epoch, epochs[i].epoch);
        assert_int_equal(f.epochs[i].boundary, epochs[i].boundary);
        assert_int_equal(f.epochs[i].seed, epochs[i].seed);
    }
    q.since = 5001;
    query(&f, &q);
    assert_int_equal(f.n_epochs, 1);
    assert_int_equal(f.epochs[0].epoch, 0);
    q.since = 0;
    q.limit = 1;
    query(&f, &q);
    assert_int_equal(f.n_epochs, 1);
    assert_true(f.truncated);
    teardown(&f);
}

/* A result has no more rows than may be asked for. */
static void
test_limit(void **state)
{
    struct series_query q = { .reservation = 1, .limit = SIZE_MAX };
    struct fixture f;

    (void) state;
    setup(&f, &endless);
    for (int64_t i = 0; i < 4; i++) {
        append(&f, 1, 30000, i);
        flush(&f);
    }
    query(&f, &q);
    assert_int_equal(f.n_samples, SERIES_LIMIT_MAX);
    assert_true(f.truncated);
    teardown(&f);
}

static int64_t
wall_ms(void)
{
    return (int64_t) time(NULL) * 1000;
}

/* Old rows go when new ones come, and when the limits change. */
static void
test_age(void **state)
{
    const struct series_limits hour = { 3600000, MANY };
    const struct series_limits none = { 0, MANY };
    struct series_query q = { .reservation = 1, .limit = 9 };
    struct series_epoch epoch = { .reservation = 1 };
    int64_t now = wall_ms();
    struct fixture f;

    (void) state;
    setup(&f, &endless);
    epoch.time = now - 7200000;
    series_append_epochs(f.series, &epoch, 1);
    epoch.time = now - 60000;
    series_append_epochs(f.series, &epoch, 1);
    append(&f, 1, 1, now - 7200000);
    append(&f, 1, 1, now - 60000);
    assert_int_equal(get_stats(&f).written, 4);
    assert_int_equal(get_stats(&f).deleted, 0);
    series_set_limits(f.series, &hour);
    assert_int_equal(get_stats(&f).deleted, 2);
    query(&f, &q);
    assert_int_equal(f.n_samples, 1);
    assert_int_equal(f.samples[0].time, now - 60000);
    q.kind = SERIES_EPOCHS;
    query(&f, &q);
    assert_int_equal(f.n_epochs, 1);
    assert_int_equal(f.epochs[0].time, now - 60000);

    append(&f, 1, 1, now - 3700000);
    append(&f, 1, 1, now);
    assert_int_equal(get_stats(&f).deleted, 3);

    series_set_limits(f.series, &none);
    assert_int_equal(get_stats(&f).deleted, 6);
    append(&f, 1, 1, now);
    assert_int_equal(get_stats(&f).written, 6);
    assert_int_equal(get_stats(&f).dropped, 0); /* Nobody wants it. */
    teardown(&f);
}

/* The file stays about as large as it may be, whatever comes, and what is in it
 * is the newest. */
static void
test_size(void **state)
{
    const struct series_limits small = { INT64_MAX / 2, 1024 * 1024 };
    struct series_query q = { .reservation = 1, .limit = SERIES_LIMIT_MAX };
    struct series_stats stats;
    struct stat st;
    struct fixture f;

    (void) state;
    setup(&f, &small);
    for (int64_t i = 0; i < 300; i++) {
        struct series_epoch epoch = { .reservation = 1, .time = i };

        append(&f, 1, 500, i);
        series_append_epochs(f.series, &epoch, 1);
        flush(&f);
    }
    stats = get_stats(&f);
    assert_int_equal(stats.written, 150300);
    assert_true(stats.deleted > 100000);
    assert_true(stats.size <= 1024 * 1024 + 128 * 1024);
    query(&f, &q);
    assert_int_equal(f.samples[f.n_samples - 1].time, 299);
    assert_true(f.n_samples > 1000);
    assert_true(f.samples[0].time > 200);
    q.kind = SERIES_EPOCHS;
    q.since = f.samples[0].time + 1;
    query(&f, &q);
    assert_true(f.n_epochs + 2 > (size_t) (300 - q.since));
    q.since = 0;
    query(&f, &q);
    assert_true(f.n_epochs < 100);
    series_close(f.series);
    f.series = NULL;
    assert_int_equal(stat(f.file, &st), 0);
    assert_true(st.st_size < 2 * 1024 * 1024);
    teardown(&f);
}

/* More rows than may wait are dropped and counted, and nobody waits. */
static void
test_queue_full(void **state)
{
    struct series_stats stats;
    struct fixture f;

    (void) state;
    setup(&f, &endless);
    append(&f, 1, SERIES_QUEUE_MAX, 1);
    append(&f, 1, 1, 2);
    append(&f, 1, SERIES_QUEUE_MAX + 1, 3);
    series_get_stats(f.series, &stats);
    assert_int_equal(stats.dropped, SERIES_QUEUE_MAX + 2);
    assert_int_equal(stats.queue, SERIES_QUEUE_MAX);
    stats = get_stats(&f);
    assert_int_equal(stats.written, SERIES_QUEUE_MAX);
    assert_int_equal(stats.queue, 0);
    append(&f, 1, 1, 4);
    assert_int_equal(get_stats(&f).written, SERIES_QUEUE_MAX + 1);
    teardown(&f);
}

static void
never_cb(void *aux, const char *error, const struct series_result *result)
{
    (void) aux;
    (void) error;
    (void) result;
    fail();
}

/* Queries that are cancelled before, while, and after they are worked on. */
static void
test_cancelled(void **state)
{
    struct series_query q = { .reservation = 1, .limit = SERIES_LIMIT_MAX };
    struct fixture f;

    (void) state;
    setup(&f, &endless);
    append(&f, 1, 40000, 1);
    flush(&f);
    for (unsigned int i = 0; i < 10; i++) {
        struct series_request *request =
            series_query(f.series, &q, never_cb, NULL);

        usleep(i * 3000);
        series_cancel(request);
        flush(&f);
    }
    series_cancel(NULL);
    assert_int_equal(f.n_results, 11);
    teardown(&f);
}

/* Asks once more. */
static void
again_cb(void *f_, const char *error, const struct series_result *result)
{
    struct series_query q = { .reservation = 1, .limit = 9 };
    struct fixture *f = f_;

    assert_null(error);
    assert_int_equal(result->n_samples, 2);
    series_query(f->series, &q, result_cb, f);
}

/* What waits when the series is closed is written, and results are given, also
 * of what is asked then. */
static void
test_closed(void **state)
{
    struct series_query q = { .reservation = 1, .limit = 9 };
    struct fixture f;

    (void) state;
    setup(&f, &endless);
    append(&f, 1, 2, 1);
    series_query(f.series, &q, result_cb, &f);
    series_query(f.series, &q, again_cb, &f);
    series_close(f.series);
    assert_int_equal(f.n_results, 2);
    assert_int_equal(f.n_samples, 2);
    f.series = NULL;
    teardown(&f);
}

static void
remove_wal(const struct fixture *f)
{
    char *wal = mem_printf("%s-wal", f->file);

    unlink(wal);
    free(wal);
}

/* A file of something else, or none at all, is an error, and so is one that
 * disappears; without a series nothing is kept. */
static void
test_bad_files(void **state)
{
    static const char text[] = "This is a text, and longer than a header of "
                               "SQLite's would be, I think, which has 100.";
    struct series_stats stats;
    struct series *none;
    struct fixture f;
    int fd;

    (void) state;
    setup(&f, &endless);
    append(&f, 1, 1, 1);
    flush(&f);
    unlink(f.file);
    append(&f, 1, 2, 1);
    stats = get_stats(&f);
    assert_int_equal(stats.dropped, 2);
    unit_assert_error(series_get_error(f.series),
                      "history.db: somebody has removed or replaced it");
    series_close(f.series);
    remove_wal(&f);

    fd = open(f.file, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    close(fd);
    unit_assert_error(series_open(f.base, f.file, &endless, &none),
                      "history: ");
    assert_null(none);
    unit_assert_error(series_open(f.base, "/nowhere/h.db", &endless, &none),
                      "/nowhere/h.db: unable to open database file; its dir");

    series_append(NULL, &(struct series_sample){ .time = 1 }, 1);
    series_set_limits(NULL, &endless);
    series_get_stats(NULL, &stats);
    assert_int_equal(stats.written + stats.dropped, 0);
    assert_null(series_get_error(NULL));
    series_close(NULL);
    f.series = NULL;
    teardown(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),   cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_limit),     cmocka_unit_test(test_age),
        cmocka_unit_test(test_size),      cmocka_unit_test(test_queue_full),
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_closed),
        cmocka_unit_test(test_bad_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
