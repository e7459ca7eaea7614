/* SPDX-License-Identifier: Apache-2.0 */

/* Uses the store as evlbd does, for tests that kill it, or take its disk away.
 *
 *     store-writer FILE           does what standard input says, line by line
 *     store-writer FILE FIRST     stores number after number, from FIRST on
 *
 * It prints the records that are there, "record KEY LENGTH WORD", WORD being the
 * value's first, and "ready".  After that, lines "put NUMBER LENGTH" each store
 * a transaction: LENGTH bytes in each of "session/NUMBER" and "token/NUMBER",
 * NUMBER as "last", and both records of NUMBER - 5 are removed.  When it is on
 * the disk, "done NUMBER" is printed, otherwise "failed NUMBER ERROR".  A line
 * "history N" appends N rows of history, beside, and when that is done,
 * "history WRITTEN DROPPED" is printed, the numbers of rows so far.
 *
 * With FIRST, each transaction has 100 bytes and several wait at a time. */

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/core/mem.h"
#include "controller/store/series.h"
#include "controller/store/store.h"

#define KEPT 5
#define N_WAITING 8
#define SMALL 100
#define LENGTH_MAX 1000000

struct writer {
    struct event_base *base;
    struct store *store;
    struct series *series;
    unsigned long next; /* 0 if standard input says what is next. */
};

struct number {
    struct writer *writer;
    unsigned long number;
};

static void put(struct writer *, unsigned long number, size_t length);

static void
say(const char *line)
{
    size_t n = strlen(line);

    if (write(STDOUT_FILENO, line, n) != (ssize_t) n) {
        exit(1);
    }
}

static void
done_cb(void *number_, const char *error)
{
    struct number *number = number_;
    struct writer *w = number->writer;
    char *line = error ? mem_printf("failed %lu %s\n", number->number, error)
                       : mem_printf("done %lu\n", number->number);

    say(line);
    free(line);
    free(number);
    if (w->next) {
        put(w, w->next++, SMALL);
    }
}

static void
put_one(struct store_txn *txn, const char *prefix, unsigned long number,
        const char *value)
{
    char *key = mem_printf("%s/%lu", prefix, number);

    if (value) {
        store_txn_put(txn, key, value);
    } else {
        store_txn_delete(txn, key);
    }
    free(key);
}

/* Stores 'number', with 'length' bytes in each record. */
static void
put(struct writer *w, unsigned long number, size_t length)
{
    struct store_txn *txn = store_txn_create();
    struct number *n = mem_alloc(sizeof *n);
    char *value = mem_printf(
        "%-*lu", (int) (length < LENGTH_MAX ? length : LENGTH_MAX), number);

    put_one(txn, "session", number, value);
    put_one(txn, "token", number, value);
    if (number > KEPT) {
        put_one(txn, "session", number - KEPT, NULL);
        put_one(txn, "token", number - KEPT, NULL);
    }
    store_txn_put(txn, "last", value);
    free(value);
    *n = (struct number){ w, number };
    store_commit(w->store, txn, done_cb, n);
}

static char *
record_cb(void *aux, const char *key, const char *value)
{
    char *line = mem_printf("record %s %zu %.*s\n", key, strlen(value),
                            (int) strcspn(value, " "), value);

    (void) aux;
    say(line);
    free(line);
    return NULL;
}

static void
appended_cb(void *w_, const char *error, const struct series_result *result)
{
    struct writer *w = w_;
    struct series_stats stats;
    char *line;

    (void) error;
    (void) result;
    series_get_stats(w->series, &stats);
    line = mem_printf("history %lu %lu\n", (unsigned long) stats.written,
                      (unsigned long) stats.dropped);
    say(line);
    free(line);
}

static void
append_history(struct writer *w, size_t n)
{
    struct series_sample *samples = mem_zalloc(n * sizeof *samples);

    for (size_t i = 0; i < n; i++) {
        samples[i].reservation = 1;
        samples[i].session = i;
        samples[i].time = INT64_MAX / 4;
    }
    series_append(w->series, samples, n);
    free(samples);
    series_query(w->series, &(struct series_query){ .reservation = 2 },
                 appended_cb, w);
}

static void
obey(struct writer *w, const char *line)
{
    static const char put_word[] = "put ";
    static const char history_word[] = "history ";
    char *rest;

    if (!strncmp(line, put_word, strlen(put_word))) {
        unsigned long number = strtoul(line + strlen(put_word), &rest, 10);

        put(w, number, strtoul(rest, NULL, 10));
    } else if (!strncmp(line, history_word, strlen(history_word))) {
        append_history(w, strtoul(line + strlen(history_word), NULL, 10));
    } else {
        exit(2);
    }
}

/* Commands come one at a time, so a read has whole lines. */
static void
input_cb(evutil_socket_t fd, short events, void *w_)
{
    struct writer *w = w_;
    char buffer[4096];
    char *rest = buffer;
    ssize_t n = read(fd, buffer, sizeof buffer - 1);

    (void) events;
    if (n <= 0) {
        event_base_loopbreak(w->base);
        return;
    }
    buffer[n] = '\0';
    while (*rest) {
        obey(w, strsep(&rest, "\n"));
    }
}

static void
check(char *error)
{
    if (error) {
        fprintf(stderr, "store-writer: %s\n", error);
        exit(1);
    }
}

int
main(int argc, char *argv[])
{
    const struct series_limits limits = { INT64_MAX / 2, UINT64_C(1) << 40 };
    struct writer w = { .base = event_base_new() };
    struct event *input;
    char *history;

    if (argc < 2) {
        return 2;
    }
    check(store_open(w.base, argv[1], &w.store));
    check(store_load(w.store, "", record_cb, NULL));
    history = mem_printf("%s-history", argv[1]);
    check(series_open(w.base, history, &limits, &w.series));
    free(history);
    say("ready\n");
    input =
        event_new(w.base, STDIN_FILENO, EV_READ | EV_PERSIST, input_cb, &w);
    event_add(input, NULL);
    if (argc > 2) {
        w.next = strtoul(argv[2], NULL, 10);
        for (int i = 0; i < N_WAITING; i++) {
            put(&w, w.next++, SMALL);
        }
    }
    event_base_dispatch(w.base);
    w.next = 0;
    store_close(w.store);
    series_close(w.series);
    event_free(input);
    event_base_free(w.base);
    return 0;
}
