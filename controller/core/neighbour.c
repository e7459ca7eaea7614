/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/neighbour.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* Initializes 'n' without neighbours.  'refresh' is the time from an answer to
 * the next question. */
void
neighbours_init(struct neighbours *n, int64_t refresh, uint64_t seed)
{
    *n = (struct neighbours){ .refresh = refresh, .seed = seed };
}

/* Frees what 'n' holds, but not 'n' itself. */
void
neighbours_destroy(struct neighbours *n)
{
    free(n->neighbours);
}

static int
compare_keys__(const struct neighbour_key *a, const struct neighbour_key *b)
{
    if (a->datapath_id != b->datapath_id) {
        return a->datapath_id < b->datapath_id ? -1 : 1;
    }
    if (a->iface != b->iface) {
        return a->iface < b->iface ? -1 : 1;
    }
    return addr_compare(&a->ip, &b->ip);
}

/* Returns the index of 'key', or where it would have to be inserted. */
static size_t
search__(const struct neighbours *n, const struct neighbour_key *key)
{
    size_t begin = 0, end = n->n;

    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;

        if (compare_keys__(&n->neighbours[middle].key, key) < 0) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

static struct neighbour *
find__(const struct neighbours *n, const struct neighbour_key *key)
{
    size_t i = search__(n, key);

    return i < n->n && !compare_keys__(&n->neighbours[i].key, key)
               ? &n->neighbours[i]
               : NULL;
}

/* Returns what is known of 'key', or NULL if nobody wants it. */
const struct neighbour *
neighbours_find(const struct neighbours *n, const struct neighbour_key *key)
{
    return find__(n, key);
}

/* Begins to tell which neighbours are wanted: all others are forgotten at
 * neighbours_end_wanting(). */
void
neighbours_begin_wanting(struct neighbours *n)
{
    for (size_t i = 0; i < n->n; i++) {
        n->neighbours[i].wanted = false;
    }
}

static void
insert__(struct neighbours *n, size_t i, const struct neighbour *neighbour)
{
    if (n->n >= n->allocated) {
        n->neighbours =
            mem_grow(n->neighbours, &n->allocated, sizeof *n->neighbours);
    }
    memmove(&n->neighbours[i + 1], &n->neighbours[i],
            (n->n - i) * sizeof *n->neighbours);
    n->neighbours[i] = *neighbour;
    n->n++;
}

/* Makes 'key' one of those that are wanted.  A new one is asked for at once. */
void
neighbours_want(struct neighbours *n, const struct neighbour_key *key,
                int64_t now)
{
    struct neighbour *neighbour = find__(n, key);

    if (neighbour) {
        neighbour->wanted = true;
    } else {
        insert__(n, search__(n, key),
                 &(struct neighbour){ .key = *key,
                                      .wanted = true,
                                      .asked = INT64_MIN,
                                      .next = now });
    }
}

/* Forgets those that nobody wanted since neighbours_begin_wanting(), and calls
 * 'forget', unless it is NULL, for those that were known. */
void
neighbours_end_wanting(struct neighbours *n, neighbours_forget_cb *forget,
                       void *aux)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->n; i++) {
        if (n->neighbours[i].wanted) {
            n->neighbours[kept++] = n->neighbours[i];
        } else if (forget && n->neighbours[i].known) {
            forget(aux, &n->neighbours[i]);
        }
    }
    n->n = kept;
}

/* Takes 'key' to have 'mac' and to be at 'port', as it was before a restart;
 * whether that is still so is asked at once.  It is not wanted yet. */
void
neighbours_restore(struct neighbours *n, const struct neighbour_key *key,
                   const struct mac *mac, uint32_t port, int64_t now)
{
    if (!find__(n, key)) {
        insert__(n, search__(n, key),
                 &(struct neighbour){ .key = *key,
                                      .known = true,
                                      .mac = *mac,
                                      .port = port,
                                      .confirmed = now,
                                      .asked = INT64_MIN,
                                      .next = now });
    }
}

/* Returns 'ms' or up to an eighth more, so that questions do not come all at
 * once (xorshift64, Marsaglia 2003). */
static int64_t
jitter__(struct neighbours *n, int64_t ms)
{
    n->seed ^= n->seed << 13;
    n->seed ^= n->seed >> 7;
    n->seed ^= n->seed << 17;
    return ms + (int64_t) (n->seed % (uint64_t) (ms / 8 + 1));
}

/* Returns the time from the question number 'n_silent' without an answer, 1 at
 * first, to the next one. */
static int64_t
gap__(unsigned int n_silent)
{
    int64_t gap = 1000;

    while (--n_silent && gap < NEIGHBOUR_MAX_GAP_MS) {
        gap *= 2;
    }
    return gap;
}

/* Asks those questions that are due, at most 'max', by calling 'ask' with
 * 'aux'. */
void
neighbours_run(struct neighbours *n, size_t max, int64_t now,
               neighbours_ask_cb *ask, void *aux)
{
    for (size_t i = 0; max && i < n->n; i++) {
        struct neighbour *neighbour = &n->neighbours[i];

        if (neighbour->next <= now) {
            ask(aux, neighbour,
                neighbour->known
                    && neighbour->n_silent < NEIGHBOUR_UNICAST_MAX);
            neighbour->asked = now;
            neighbour->next = now + jitter__(n, gap__(++neighbour->n_silent));
            max--;
        }
    }
}

/* Returns when neighbours_run() should be called next. */
int64_t
neighbours_wakeup(const struct neighbours *n)
{
    int64_t wakeup = INT64_MAX;

    for (size_t i = 0; i < n->n; i++) {
        if (n->neighbours[i].next < wakeup) {
            wakeup = n->neighbours[i].next;
        }
    }
    return wakeup;
}

/* Takes the answer that 'key' has 'mac' and was seen at 'port'.  Returns true
 * if this is news; an answer that nobody asked for is none. */
bool
neighbours_answer(struct neighbours *n, const struct neighbour_key *key,
                  const struct mac *mac, uint32_t port, int64_t now)
{
    struct neighbour *neighbour = find__(n, key);
    bool news;

    if (!neighbour || neighbour->asked == INT64_MIN
        || now - neighbour->asked >= NEIGHBOUR_OPEN_MS) {
        return false;
    }
    news = !neighbour->known || !mac_equal(&neighbour->mac, mac)
           || neighbour->port != port;
    neighbour->known = true;
    neighbour->mac = *mac;
    neighbour->port = port;
    neighbour->confirmed = now;
    neighbour->asked = INT64_MIN;
    neighbour->n_silent = 0;
    neighbour->next = now + jitter__(n, n->refresh);
    return news;
}
