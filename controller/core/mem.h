/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_MEM_H
#define EVLB_MEM_H 1

/* Allocation that does not fail.
 *
 * The controller's core has no way to go on without memory, so these abort
 * with a message instead of returning NULL.  What they return is released
 * with free(). */

#include <stddef.h>

#define MEM_RETURNS __attribute__((__returns_nonnull__))
#define MEM_PRINTF_FORMAT(FMT, ARG1) \
    __attribute__((__format__(printf, FMT, ARG1)))

MEM_RETURNS void *mem_alloc(size_t size);
MEM_RETURNS void *mem_zalloc(size_t size);
MEM_RETURNS void *mem_dup(const void *, size_t size);
MEM_RETURNS char *mem_strdup(const char *);
MEM_RETURNS char *mem_printf(const char *format, ...) MEM_PRINTF_FORMAT(1, 2);

/* Grows the array 'p', which has room for '*allocated' elements of 'size'
 * bytes, so that it has room for more; returns where it is now. */
MEM_RETURNS void *mem_grow(void *p, size_t *allocated, size_t size);

#endif /* mem.h */
