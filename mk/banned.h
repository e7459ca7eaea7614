/* SPDX-License-Identifier: Apache-2.0
 *
 * Included ahead of every source file of the project: functions that write
 * without a bound, or that cannot report an error, do not compile.
 *
 * A redeclaration with the attribute "deprecated" does it, together with
 * -Werror.  Calls in system headers, Open vSwitch's among them, do not
 * count. */

#ifndef MK_BANNED_H
#define MK_BANNED_H 1

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GCC compiles all of the project; clang, which compiles only the fuzzers and
 * the static checks, takes no attribute after a definition, and some of these
 * are defined inline. */
#ifndef __clang__
#define EVLB_BANNED(USE) __attribute__((deprecated("use " USE)))

char *strcpy(char *, const char *) EVLB_BANNED("ovs_strlcpy or snprintf");
char *strcat(char *, const char *) EVLB_BANNED("snprintf");
char *strncpy(char *, const char *, size_t) EVLB_BANNED("ovs_strlcpy");
char *strncat(char *, const char *, size_t) EVLB_BANNED("snprintf");
char *strtok(char *, const char *) EVLB_BANNED("strtok_r");
char *stpcpy(char *, const char *) EVLB_BANNED("snprintf");
int sprintf(char *, const char *, ...) EVLB_BANNED("snprintf");
int vsprintf(char *, const char *, va_list) EVLB_BANNED("vsnprintf");
int atoi(const char *) EVLB_BANNED("strtol");
long atol(const char *) EVLB_BANNED("strtol");
long long atoll(const char *) EVLB_BANNED("strtoll");
double atof(const char *) EVLB_BANNED("strtod");
#endif /* __clang__ */

#endif /* mk/banned.h */
