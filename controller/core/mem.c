/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *
mem_check__(void *p)
{
    if (!p) {
        fputs("evlb: out of memory\n", stderr);
        abort();
    }
    return p;
}

/* Returns 'size' bytes of uninitialized memory. */
void *
mem_alloc(size_t size)
{
    return mem_check__(malloc(size ? size : 1));
}

/* Returns 'size' bytes of zeros. */
void *
mem_zalloc(size_t size)
{
    return mem_check__(calloc(1, size ? size : 1));
}

/* Returns a copy of the 'size' bytes at 'p'. */
void *
mem_dup(const void *p, size_t size)
{
    void *copy = mem_alloc(size);

    if (size) {
        memcpy(copy, p, size);
    }
    return copy;
}

/* Returns a copy of the string 's'. */
char *
mem_strdup(const char *s)
{
    return mem_dup(s, strlen(s) + 1);
}

/* Returns the string that printf() would print. */
char *
mem_printf(const char *format, ...)
{
    va_list args;
    char *s;
    int n;

    va_start(args, format);
    n = vasprintf(&s, format, args);
    va_end(args);
    return mem_check__(n < 0 ? NULL : s);
}

void *
mem_grow(void *p, size_t *allocated, size_t size)
{
    size_t n = *allocated ? *allocated * 2 : 8;

    if (n < *allocated || n > SIZE_MAX / size) {
        mem_check__(NULL);
    }
    *allocated = n;
    return mem_check__(realloc(p, n * size));
}
