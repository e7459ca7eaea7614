/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_ARENA_H
#define LIB_ARENA_H 1

/* Memory that is freed all at once, for what is built of many small pieces and
 * lives briefly, such as the messages of a reply.  Allocation does not fail;
 * see controller/core/mem.h. */

#include <stddef.h>

struct arena {
    void **blocks;
    size_t n;
    size_t allocated;
};

void arena_init(struct arena *);
void arena_destroy(struct arena *);

/* Makes a TYPE of protobuf-c's with its defaults, INIT. */
#define ARENA_NEW(ARENA, TYPE, INIT) \
    arena_dup((ARENA), &(TYPE) INIT, sizeof(TYPE))

/* Zeroed memory, room for 'n' pointers, a growing array of them, copies,
 * strings. */
void *arena_alloc(struct arena *, size_t size);
void *arena_pointers(struct arena *, size_t n);
void **arena_append(struct arena *, void **array, size_t *n, void *element);
void *arena_dup(struct arena *, const void *, size_t size);
char *arena_strdup(struct arena *, const char *);
char *arena_printf(struct arena *, const char *format, ...)
    __attribute__((__format__(printf, 2, 3)));

#endif /* lib/arena.h */
