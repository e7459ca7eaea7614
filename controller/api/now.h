/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_NOW_H
#define EVLB_NOW_H 1

/* The clock of those who drive state machines: monotonic milliseconds; and what
 * people call the time. */

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static inline int64_t
now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns the ms since 1970. */
static inline int64_t
now_wall_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Stores in '*tv' how long it is until 'when', at least 0. */
static inline void
now_until(int64_t when, struct timeval *tv)
{
    int64_t ms = when - now_ms();

    ms = ms > 0 ? ms : 0;
    tv->tv_sec = ms / 1000;
    tv->tv_usec = ms % 1000 * 1000;
}

#endif /* now.h */
