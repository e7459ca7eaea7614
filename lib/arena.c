/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/arena.h"

#include <stdarg.h>
#include <stdlib.h>

#include "controller/core/mem.h"

void
arena_init(struct arena *arena)
{
    *arena = (struct arena){ 0 };
}

/* Frees all that came from 'arena'. */
void
arena_destroy(struct arena *arena)
{
    for (size_t i = 0; i < arena->n; i++) {
        free(arena->blocks[i]);
    }
    free(arena->blocks);
    arena_init(arena);
}

static void *
add__(struct arena *arena, void *block)
{
    if (arena->n == arena->allocated) {
        arena->blocks =
            mem_grow(arena->blocks, &arena->allocated, sizeof *arena->blocks);
    }
    arena->blocks[arena->n++] = block;
    return block;
}

/* Returns 'size' bytes of zeros. */
void *
arena_alloc(struct arena *arena, size_t size)
{
    return add__(arena, mem_zalloc(size));
}

/* Returns an array of 'n' null pointers. */
void *
arena_pointers(struct arena *arena, size_t n)
{
    return arena_alloc(arena, n * sizeof(void *));
}

/* Appends 'element' to the '*n' pointers in 'array', which is NULL at first.
 * Returns where the array is now. */
void **
arena_append(struct arena *arena, void **array, size_t *n, void *element)
{
    /* There is room for the next power of 2. */
    if (!(*n & (*n - 1))) {
        void **longer = arena_pointers(arena, *n ? *n * 2 : 1);

        for (size_t i = 0; i < *n; i++) {
            longer[i] = array[i];
        }
        array = longer;
    }
    array[(*n)++] = element;
    return array;
}

/* Returns a copy of the 'size' bytes at 'p'. */
void *
arena_dup(struct arena *arena, const void *p, size_t size)
{
    return add__(arena, mem_dup(p, size));
}

/* Returns a copy of 's'. */
char *
arena_strdup(struct arena *arena, const char *s)
{
    return add__(arena, mem_strdup(s));
}

/* Returns the string that printf() would print. */
char *
arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *s;

    va_start(args, format);
    if (vasprintf(&s, format, args) < 0) {
        abort();
    }
    va_end(args);
    return add__(arena, s);
}
