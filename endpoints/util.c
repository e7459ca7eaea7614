/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/util.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t stop_signal;

static void out_of_memory(void) __attribute__((noreturn));

static void
out_of_memory(void)
{
    fputs("out of memory\n", stderr);
    abort();
}

/* Returns the formatted string, which the caller frees. */
char *
xasprintf(const char *format, ...)
{
    va_list args;
    char *s;
    int n;

    va_start(args, format);
    n = vasprintf(&s, format, args);
    va_end(args);
    if (n < 0) {
        out_of_memory();
    }
    return s;
}

/* As calloc(), but ends the program where that fails. */
void *
xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (!p) {
        out_of_memory();
    }
    return p;
}

static int64_t
clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* Returns the time in nanoseconds of a clock that does not go back. */
int64_t
clock_mono(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* Returns nanoseconds since the UNIX epoch. */
int64_t
clock_real(void)
{
    return clock_ns(CLOCK_REALTIME);
}

/* Sleeps until clock_mono() is 'when', or until a signal comes. */
void
clock_sleep_until(int64_t when)
{
    struct timespec ts = {
        .tv_sec = when / NS_PER_S,
        .tv_nsec = when % NS_PER_S,
    };

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void
note_signal(int signum)
{
    stop_signal = signum;
}

/* Lets SIGINT and SIGTERM set stop_requested() instead of killing the process.
 * A second signal kills it, in case that it does not look. */
void
stop_on_signals(void)
{
    struct sigaction action = {
        .sa_handler = note_signal,
        .sa_flags = SA_RESETHAND,
    };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool
stop_requested(void)
{
    return stop_signal != 0;
}
