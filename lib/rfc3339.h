/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_RFC3339_H
#define LIB_RFC3339_H 1

/* Times as text, "2026-12-01T05:45:00.5Z", from the year 1 to 9999. */

#include <stdbool.h>
#include <stdint.h>

#define RFC3339_STRLEN 36 /* With the null. */

#define RFC3339_MIN INT64_C(-62135596800)
#define RFC3339_MAX INT64_C(253402300799)

bool rfc3339_format(int64_t seconds, int32_t nanos, char s[RFC3339_STRLEN]);
bool rfc3339_parse(const char *, int64_t *seconds, int32_t *nanos);

#endif /* lib/rfc3339.h */
