/* SPDX-License-Identifier: Apache-2.0 */

/* The store, on real files, and under SIGKILL. */

#include "controller/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>
#include <sqlite3.h>

#include "controller/core/mem.h"
#include "tests/unit/unit.h"

struct fixture {
    char directory[32];
    char *file;
    struct event_base *base;
    struct store *store;
    char loaded[4096]; /* key=value; ... */
    unsigned int n_done;
};

static void
open_store(struct fixture *f)
{
    unit_assert_error(store_open(f->base, f->file, &f->store), NULL);
}

static void
setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    memcpy(f->directory, "/tmp/test-store-XXXXXX", 23);
    assert_non_null(mkdtemp(f->directory));
    f->file = mem_printf("%s/evlb.db", f->directory);
    f->base = event_base_new();
}

static void
remove_file(const struct fixture *f, const char *suffix)
{
    char *name = mem_printf("%s%s", f->file, suffix);

    unlink(name);
    free(name);
}

static void
teardown(struct fixture *f)
{
    store_close(f->store);
    event_base_free(f->base);
    remove_file(f, "");
    remove_file(f, "-wal");
    remove_file(f, "-shm");
    assert_int_equal(rmdir(f->directory), 0);
    free(f->file);
}

static void
done_cb(void *f_, const char *error)
{
    struct fixture *f = f_;

    assert_null(error);
    f->n_done++;
}

static void
put(struct fixture *f, const char *key, const char *value)
{
    struct store_txn *txn = store_txn_create();

    if (value) {
        store_txn_put(txn, key, value);
    } else {
        store_txn_delete(txn, key);
    }
    store_commit(f->store, txn, done_cb, f);
}

static char *
record_cb(void *f_, const char *key, const char *value)
{
    struct fixture *f = f_;
    size_t n = strlen(f->loaded);

    snprintf(f->loaded + n, sizeof f->loaded - n, "%s=%s;", key, value);
    return NULL;
}

/* Closes the store and opens it again; checks that it holds 'expected'. */
static void
check_reopened(struct fixture *f, const char *expected)
{
    store_close(f->store);
    f->store = NULL;
    open_store(f);
    f->loaded[0] = '\0';
    unit_assert_error(store_load(f->store, "", record_cb, f), NULL);
    assert_string_equal(f->loaded, expected);
}

static void
test_records(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    open_store(&f);
    check_reopened(&f, "");
    put(&f, "b", "2\nlines");
    put(&f, "a", "1");
    put(&f, "c", "");
    while (f.n_done < 3) {
        event_base_loop(f.base, EVLOOP_ONCE);
    }
    check_reopened(&f, "a=1;b=2\nlines;c=;");

    /* Written over and removed, and not waited for: closing does that. */
    put(&f, "b", "3");
    put(&f, "a", NULL);
    put(&f, "none", NULL);
    check_reopened(&f, "b=3;c=;");
    assert_int_equal(f.n_done, 6);
    teardown(&f);
}

static char *
refuse_cb(void *aux, const char *key, const char *value)
{
    (void) aux;
    (void) value;
    return mem_printf("%s is bad", key);
}

static void
test_refused_record(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    open_store(&f);
    put(&f, "a", "1");
    check_reopened(&f, "a=1;");
    unit_assert_error(store_load(f.store, "", refuse_cb, NULL),
                      "evlb.db: a is bad");
    teardown(&f);
}

static void
test_in_use(void **state)
{
    struct fixture f;
    struct store *other;

    (void) state;
    setup(&f);
    open_store(&f);
    put(&f, "a", "1");
    check_reopened(&f, "a=1;");
    unit_assert_error(store_open(f.base, f.file, &other),
                      "is another evlbd using it?");
    assert_null(other);
    teardown(&f);
}

static void
test_cannot_open(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    free(f.file);
    f.file = mem_printf("%s/none/evlb.db", f.directory);
    unit_assert_error(store_open(f.base, f.file, &f.store),
                      "none/evlb.db: unable to open database file");
    teardown(&f);
}

static void
write_file(const struct fixture *f, off_t at, const char *data, size_t n)
{
    int fd = open(f->file, O_RDWR | O_CREAT, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, n, at), n);
    close(fd);
}

static void
test_foreign(void **state)
{
    static const char text[] = "This is no database, but rather a text that "
                               "somebody keeps in a place that is not his.";
    struct fixture f;

    (void) state;
    setup(&f);
    write_file(&f, 0, text, sizeof text);
    unit_assert_error(store_open(f.base, f.file, &f.store),
                      "or move it away to start without");
    teardown(&f);

    /* A database of another program, or of another evlbd. */
    setup(&f);
    open_store(&f);
    check_reopened(&f, "");
    store_close(f.store);
    write_file(&f, 68, "abcd", 4);
    unit_assert_error(store_open(f.base, f.file, &f.store),
                      "is a database of something else");
    write_file(&f, 68, "evlb", 4);
    write_file(&f, 60, "\0\0\0\7", 4);
    unit_assert_error(store_open(f.base, f.file, &f.store),
                      "in format 7; this one knows formats up to 2");
    teardown(&f);
}

static void
test_damaged(void **state)
{
    char *value = mem_alloc(100001);
    char junk[8192];
    struct fixture f;

    (void) state;
    setup(&f);
    open_store(&f);
    memset(value, 'x', 100000);
    value[100000] = '\0';
    put(&f, "a", value);
    free(value);
    store_close(f.store);
    f.store = NULL;
    memset(junk, 0xa5, sizeof junk);
    write_file(&f, 4096, junk, sizeof junk);
    unit_assert_error(store_open(f.base, f.file, &f.store),
                      "or move it away to start without");
    teardown(&f);
}

/* Numbers ascend, and other prefixes are left out. */
static void
test_prefix(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    open_store(&f);
    put(&f, "t/10", "ten");
    put(&f, "t/9", "nine");
    put(&f, "t", "none");
    put(&f, "s/1", "other");
    put(&f, "t/100", "hundred");
    check_reopened(&f, "t=none;s/1=other;t/9=nine;t/10=ten;t/100=hundred;");
    f.loaded[0] = '\0';
    unit_assert_error(store_load(f.store, "t/", record_cb, &f), NULL);
    assert_string_equal(f.loaded, "t/9=nine;t/10=ten;t/100=hundred;");
    f.loaded[0] = '\0';
    unit_assert_error(store_load(f.store, "u", record_cb, &f), NULL);
    assert_string_equal(f.loaded, "");
    teardown(&f);
}

/* Runs 'sql' on the file, which is closed. */
static void
run_sql(const struct fixture *f, const char *sql)
{
    sqlite3 *sqlite;
    char *error = NULL;

    assert_int_equal(sqlite3_open(f->file, &sqlite), SQLITE_OK);
    if (sqlite3_exec(sqlite, sql, NULL, NULL, &error)) {
        fail_msg("%s", error);
    }
    sqlite3_close(sqlite);
}

static void
copy_file(const struct fixture *f, const char *from)
{
    char data[16384];
    int fd = open(from, O_RDONLY);
    ssize_t n = read(fd, data, sizeof data);

    assert_in_range(n, 1, sizeof data - 1);
    close(fd);
    write_file(f, 0, data, (size_t) n);
}

/* tests/store/v1.db was written by evlbd when format 1 was its newest. */
static void
test_migration(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    copy_file(&f, "tests/store/v1.db");
    open_store(&f);
    put(&f, "instance/13", "oldest 1\n");
    check_reopened(&f,
                   "instance/0=oldest 0\nmember 7 10.0.0.7 02:00:00:00:00:07 "
                   "20000 2 0 name 0 cn7\n;instance/12=oldest 40000\n;"
                   "instance/13=oldest 1\n;");
    teardown(&f);
}

/* A migration that fails leaves the file as it was: it is in format 1 and whole
 * then, and goes on where it was when the cause is gone. */
static void
test_migration_fails(void **state)
{
    struct fixture f;

    (void) state;
    setup(&f);
    copy_file(&f, "tests/store/v1.db");
    run_sql(&f, "CREATE TABLE record2 (x)");
    unit_assert_error(store_open(f.base, f.file, &f.store),
                      "already exists (it stays in format 1)");
    run_sql(&f, "DROP TABLE record2; INSERT INTO record VALUES ('x', x'00')");
    unit_assert_error(store_open(f.base, f.file, &f.store),
                      "cannot store BLOB value in TEXT column record2.value");
    run_sql(&f, "DELETE FROM record WHERE key = 'x';"
                "DELETE FROM record WHERE key = 'instance/0'");
    open_store(&f);
    check_reopened(&f, "instance/12=oldest 40000\n;");
    teardown(&f);
}

/* Whatever somebody puts into the file, it is an error and no crash. */
static void
test_hostile(void **state)
{
    static const char *const sqls[][2] = {
        { "INSERT INTO record VALUES (CAST(x'6100' AS TEXT), 'value')",
          "record without a key: is no text" },
        { "INSERT INTO record VALUES ('a', CAST(x'310032' AS TEXT))",
          "record a: is no text" },
        { "DROP TABLE record", "no such table: record" },
        { "DROP TABLE record; CREATE TABLE record (key, value);"
          "INSERT INTO record VALUES (x'ff00', 1), (NULL, NULL), ('a', x'')",
          "is no text" },
        { "DROP TABLE record; CREATE VIEW record (key, value) AS "
          "SELECT 1, 2",
          "cannot modify record because it is a view" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof sqls / sizeof sqls[0]; i++) {
        struct fixture f;
        char *error;

        setup(&f);
        open_store(&f);
        check_reopened(&f, "");
        store_close(f.store);
        f.store = NULL;
        run_sql(&f, sqls[i][0]);
        error = store_open(f.base, f.file, &f.store);
        error = error ? error : store_load(f.store, "", record_cb, &f);
        unit_assert_error(error, sqls[i][1]);
        teardown(&f);
    }
}

/* Transactions that may fail. */

struct outcome {
    unsigned int n;
    char *error;
};

static void
outcome_cb(void *outcome_, const char *error)
{
    struct outcome *outcome = outcome_;

    outcome->n++;
    free(outcome->error);
    outcome->error = error ? mem_strdup(error) : NULL;
}

/* Stores 'value' under 'key', and expects 'expected' or success. */
static void
put_waiting(struct fixture *f, const char *key, const char *value,
            const char *expected)
{
    struct store_txn *txn = store_txn_create();
    struct outcome outcome = { 0, NULL };

    store_txn_put(txn, "other", "1");
    store_txn_put(txn, key, value);
    store_commit(f->store, txn, outcome_cb, &outcome);
    while (!outcome.n) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_int_equal(outcome.n, 1);
    unit_assert_error(outcome.error, expected);
}

/* A transaction with too much in it fails, as a whole, and takes no other one
 * with it. */
static void
test_too_large(void **state)
{
    char *value = mem_alloc(STORE_VALUE_MAX + 2);
    struct outcome outcome = { 0, NULL };
    struct store_txn *txn = store_txn_create();
    struct store_stats stats;
    char key[STORE_KEY_MAX + 2];
    struct fixture f;

    (void) state;
    setup(&f);
    open_store(&f);
    memset(value, 'v', STORE_VALUE_MAX + 1);
    value[STORE_VALUE_MAX + 1] = '\0';
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';

    /* Together with one that is fine. */
    store_txn_put(txn, "first", "1");
    store_txn_put(txn, "big", value);
    store_commit(f.store, txn, outcome_cb, &outcome);
    put(&f, "fine", "1");
    while (!f.n_done) {
        event_base_loop(f.base, EVLOOP_ONCE);
    }
    unit_assert_error(outcome.error,
                      "record big would have 16777217 bytes, more than");
    put_waiting(&f, key, "1", "has more than 255 bytes");
    assert_null(store_get_error(f.store));
    store_get_stats(f.store, &stats);
    assert_int_equal(stats.transactions, 1);
    assert_int_equal(stats.failures, 2);
    assert_int_equal(stats.queue, 0);
    check_reopened(&f, "fine=1;");

    value[STORE_VALUE_MAX] = '\0';
    key[STORE_KEY_MAX] = '\0';
    put_waiting(&f, key, value, NULL);
    free(value);
    teardown(&f);
}

static void
rename_file(const struct fixture *f, const char *suffix, bool back)
{
    char *name = mem_printf("%s%s", f->file, suffix);
    char *away = mem_printf("%s-away", name);

    assert_int_equal(back ? rename(away, name) : rename(name, away), 0);
    free(name);
    free(away);
}

/* A file that is not where it was takes no change, until it is there again. */
static void
test_moved_away(void **state)
{
    static const char *const suffixes[] = { "", "-wal" };
    struct store_stats stats;
    struct fixture f;

    (void) state;
    setup(&f);
    open_store(&f);
    for (size_t i = 0; i < 2; i++) {
        put_waiting(&f, "a", "1", NULL);
        rename_file(&f, suffixes[i], false);
        put_waiting(&f, "a", "2", "has removed or replaced it");
        unit_assert_error(store_get_error(f.store), "put them back");
        write_file(&f, 0, "x", 1); /* Another one is no better. */
        put_waiting(&f, "a", "2", "has removed or replaced it");
        rename_file(&f, suffixes[i], true);
        if (i) {
            break;
        }
        put_waiting(&f, "a", "3", NULL);
        assert_null(store_get_error(f.store));
    }
    store_get_stats(f.store, &stats);
    assert_int_equal(stats.transactions, 3);
    assert_int_equal(stats.failures, 4);
    assert_int_equal(stats.commits, 3);
    assert_true(stats.max_us >= stats.last_us);
    assert_true(stats.commit_us >= stats.max_us);
    teardown(&f);
}

/* SIGKILL.  A child stores numbers, two records a transaction, and says which
 * are done; it is killed at any moment. */

struct child {
    struct fixture *f;
    int fd;
    uint32_t next; /* To be stored. */
    uint32_t done;
};

static void put_next(struct child *);

static void
child_done_cb(void *c_, const char *error)
{
    struct child *c = c_;

    if (error || write(c->fd, &c->done, sizeof c->done) != sizeof c->done) {
        _exit(1);
    }
    c->done++;
    put_next(c);
}

static void
put_next(struct child *c)
{
    struct store_txn *txn = store_txn_create();
    char value[16];

    snprintf(value, sizeof value, "%u", c->next++);
    store_txn_put(txn, "first", value);
    store_txn_put(txn, "second", value);
    store_commit(c->f->store, txn, child_done_cb, c);
}

static void
run_child(struct fixture *f, int fd, uint32_t first)
{
    struct child c = { f, fd, first, first };

    f->base = event_base_new();
    if (store_open(f->base, f->file, &f->store)) {
        _exit(1);
    }
    for (int i = 0; i < 4; i++) {
        put_next(&c); /* Some at a time. */
    }
    event_base_dispatch(f->base);
    _exit(1);
}

/* Runs a child that stores from 'first' on, and kills it when it has stored
 * 'n'.  Returns the last number that it said was stored. */
static uint32_t
kill_child(struct fixture *f, uint32_t first, uint32_t n, unsigned int us)
{
    uint32_t last = 0, number;
    int fds[2];
    pid_t pid;
    int status;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        run_child(f, fds[1], first);
    }
    close(fds[1]);
    while (read(fds[0], &number, sizeof number) == sizeof number) {
        last = number;
        if (number - first == n) {
            usleep(us);
            kill(pid, SIGKILL);
        }
    }
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return last;
}

static void
test_killed(void **state)
{
    uint64_t seed = 99;
    uint32_t first = 1;
    struct fixture f;

    (void) state;
    setup(&f);
    for (int round = 0; round < 20; round++) {
        uint32_t last = kill_child(&f, first, unit_random_below(&seed, 20),
                                   unit_random_below(&seed, 3000));
        const char *second;
        unsigned long a;

        open_store(&f);
        f.loaded[0] = '\0';
        unit_assert_error(store_load(f.store, "", record_cb, &f), NULL);
        assert_memory_equal(f.loaded, "first=", 6);
        a = strtoul(f.loaded + 6, NULL, 10);
        second = strstr(f.loaded, ";second=");
        assert_non_null(second);
        assert_int_equal(strtoul(second + 8, NULL, 10), a);
        assert_true(a >= last);
        store_close(f.store);
        f.store = NULL;
        first = (uint32_t) a + 1;
    }
    teardown(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_refused_record),
        cmocka_unit_test(test_in_use),
        cmocka_unit_test(test_cannot_open),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_migration),
        cmocka_unit_test(test_migration_fails),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_moved_away),
        cmocka_unit_test(test_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
