/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_UTIL_H
#define ENDPOINTS_UTIL_H 1

/* What both programs at the ends need from the system: memory or the end,
 * clocks, and a polite way to be stopped. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

#define ARRAY_SIZE(ARRAY) (sizeof(ARRAY) / sizeof *(ARRAY))

/* Exit status of the programs. */
enum {
    EXIT_USAGE = 2 /* Arguments that are not accepted. */
};

char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *xcalloc(size_t n, size_t size);

int64_t clock_mono(void);
int64_t clock_real(void);
void clock_sleep_until(int64_t when);

void stop_on_signals(void);
bool stop_requested(void);

#endif /* endpoints/util.h */
