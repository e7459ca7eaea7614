/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN(A, B) ((A) < (B) ? (A) : (B))
#define MAX(A, B) ((A) > (B) ? (A) : (B))

/* Makes 'r' the empty set, which holds no memory. */
void
ranges_init(struct ranges *r)
{
    memset(r, 0, sizeof *r);
}

/* Frees what 'r' holds and makes it the empty set. */
void
ranges_destroy(struct ranges *r)
{
    if (r) {
        free(r->v);
        ranges_init(r);
    }
}

/* Returns the number of ranges in 'r' that end before 'start', so that they
 * do not even touch it. */
static size_t
count_before(const struct ranges *r, uint32_t start)
{
    size_t low = 0;
    size_t high = r->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->v[mid].end < start) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Returns which ranges of 'r' the range 'new' overlaps or touches. */
struct ranges_span
ranges_find(const struct ranges *r, struct range new)
{
    struct ranges_span span;

    span.first = count_before(r, new.start);
    span.last = span.first;
    while (span.last < r->n && r->v[span.last].start <= new.end) {
        span.last++;
    }
    return span;
}

/* Returns how many positions of 'new' are in 'r' already, where 'span' is
 * ranges_find(r, new). */
uint32_t
ranges_overlap(const struct ranges *r, struct ranges_span span,
               struct range new)
{
    uint32_t n = 0;

    for (size_t i = span.first; i < span.last; i++) {
        n += MIN(r->v[i].end, new.end) - MAX(r->v[i].start, new.start);
    }
    return n;
}

/* Puts 'new' into 'r' as a range of its own, before range 'i'. */
static int
ranges_insert__(struct ranges *r, size_t i, struct range new,
                size_t max_ranges)
{
    if (r->n >= max_ranges) {
        return ENOSPC;
    }
    if (r->n >= r->allocated) {
        size_t allocated = r->allocated ? 2 * r->allocated : 4;
        struct range *v = realloc(r->v, allocated * sizeof *v);

        if (!v) {
            return ENOMEM;
        }
        r->v = v;
        r->allocated = allocated;
    }
    memmove(&r->v[i + 1], &r->v[i], (r->n - i) * sizeof *r->v);
    r->v[i] = new;
    r->n++;
    return 0;
}

/* Adds 'new', which must not be empty, to 'r', where 'span' is
 * ranges_find(r, new).  Returns 0, ENOSPC if 'r' would have more than
 * 'max_ranges' ranges, or ENOMEM; on errors 'r' stays as it was. */
int
ranges_add(struct ranges *r, struct ranges_span span, struct range new,
           size_t max_ranges)
{
    struct range *first;
    size_t gone;

    if (span.first == span.last) {
        return ranges_insert__(r, span.first, new, max_ranges);
    }

    first = &r->v[span.first];
    first->start = MIN(first->start, new.start);
    first->end = MAX(r->v[span.last - 1].end, new.end);
    gone = span.last - span.first - 1;
    memmove(first + 1, &r->v[span.last], (r->n - span.last) * sizeof *r->v);
    r->n -= gone;
    return 0;
}
