/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/reorder.h"

#include <stdlib.h>

#include "endpoints/payload.h"

/* Prepares 'r' to hold back up to 'window' segments.  Returns false if there
 * is no memory for them.  reorder_destroy() frees it in either case. */
bool
reorder_init(struct reorder *r, size_t window, uint64_t seed)
{
    *r = (struct reorder){
        .window = window,
        .seed = payload_mix(seed),
        .pool = calloc(window + 1, sizeof *r->pool),
    };
    return r->pool != NULL;
}

/* Frees what 'r' holds, which may be NULL. */
void
reorder_destroy(struct reorder *r)
{
    if (r) {
        free(r->pool);
        r->pool = NULL;
        r->n = 0;
    }
}

/* Takes the segment with the least key, of equal ones the latest, out of the
 * pool into '*out'.  Returns false if there is none. */
bool
reorder_drain(struct reorder *r, struct plan_segment *out)
{
    struct reorder_item *least = r->pool;

    if (!r->n) {
        return false;
    }
    for (struct reorder_item *i = r->pool; i < r->pool + r->n; i++) {
        if (i->key < least->key
            || (i->key == least->key && i->position > least->position)) {
            least = i;
        }
    }

    *out = least->segment;
    if (least->position < r->top) {
        r->n_overtaken++;
    } else {
        r->top = least->position + 1;
    }
    *least = r->pool[--r->n];
    return true;
}

/* Puts '*in' into the pool.  Once that is full, returns true and the segment
 * that leaves for it in '*out', which may be the same. */
bool
reorder_put(struct reorder *r, const struct plan_segment *in,
            struct plan_segment *out)
{
    uint64_t position = r->n_in++;
    uint64_t jitter = payload_mix(r->seed + position) % (r->window + 1);

    r->pool[r->n++] = (struct reorder_item){
        .position = position,
        .key = position + jitter,
        .segment = *in,
    };
    return r->n > r->window && reorder_drain(r, out);
}
