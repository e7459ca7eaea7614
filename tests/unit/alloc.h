/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_ALLOC_H
#define TESTS_ALLOC_H 1

/* Lets the n-th allocation fail.
 *
 * For a program that is linked with --wrap for malloc, calloc and realloc, and
 * for its own objects only: shared libraries go on as usual.  Included by one
 * source of the program. */

#include <stdbool.h>
#include <stddef.h>

/* Number of allocations that still succeed; negative for no limit. */
static long int alloc_left = -1;

/* Has an allocation failed since alloc_fail_after()? */
static bool alloc_failed;

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);

/* Lets the allocation after the next 'n' fail, and no other.  If 'n' is
 * negative, none. */
static inline void
alloc_fail_after(long int n)
{
    alloc_left = n;
    alloc_failed = false;
}

static inline bool
alloc_fails(void)
{
    if (alloc_left < 0 || alloc_left--) {
        return false;
    }
    alloc_failed = true;
    return true;
}

void *
__wrap_malloc(size_t size)
{
    return alloc_fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return alloc_fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
    return alloc_fails() ? NULL : __real_realloc(p, size);
}

#endif /* alloc.h */
