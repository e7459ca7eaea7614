/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_NEIGHBOUR_H
#define EVLB_NEIGHBOUR_H 1

/* Neighbours: stations whose MAC address, and the port that leads to them, are
 * found by asking.
 *
 *                    asked, 1, 2, 4, ... 16 s apart
 *      UNKNOWN ------------------------------------.
 *         ^  `--------- answer ----> KNOWN <-------'
 *         |                           | ^
 *     no longer                refresh| | answer
 *       wanted                        v |
 *                                  KNOWN, asked again
 *
 * What was found stays until another answer comes or nobody wants it any more:
 * whether a silent station should still get events is not decided here.  An
 * answer counts only while its question is open, so that a stranger cannot
 * redirect packets at a time of his choice.
 *
 * What was found before a restart is taken for known until the answer to a
 * question that is due at once, for members go on receiving meanwhile.
 *
 * This is a state machine without I/O; times are in milliseconds. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/addr.h"

#define NEIGHBOUR_REFRESH_MS 60000 /* From an answer to the next question. */
#define NEIGHBOUR_MAX_GAP_MS 16000 /* Between questions. */
#define NEIGHBOUR_OPEN_MS 3000     /* That a question stays open. */

/* More unanswered questions to the known station itself, and everybody is
 * asked. */
#define NEIGHBOUR_UNICAST_MAX 3

/* A station, as one bridge reaches it through one interface. */
struct neighbour_key {
    uint64_t datapath_id;
    uint8_t iface;
    struct in6_addr ip;
};

struct neighbour {
    struct neighbour_key key;
    bool known;
    struct mac mac;        /* If 'known'. */
    uint32_t port;         /* If 'known', where it was seen. */
    int64_t confirmed;     /* Time of the last answer, if 'known'. */
    int64_t asked;         /* Time of the last question, or INT64_MIN. */
    int64_t next;          /* When to ask again. */
    unsigned int n_silent; /* Questions since the last answer. */
    bool wanted;           /* For neighbours_end_wanting(). */
};

struct neighbours {
    struct neighbour *neighbours; /* Sorted by 'key'. */
    size_t n;
    size_t allocated;
    int64_t refresh;
    uint64_t seed; /* Of jitter. */
};

/* Asks for 'neighbour': the station itself if 'unicast', else everybody. */
typedef void
neighbours_ask_cb(void *aux, const struct neighbour *neighbour, bool unicast);

/* 'neighbour', which was known, is forgotten. */
typedef void
neighbours_forget_cb(void *aux, const struct neighbour *neighbour);

void neighbours_init(struct neighbours *, int64_t refresh, uint64_t seed);
void neighbours_destroy(struct neighbours *);

void neighbours_begin_wanting(struct neighbours *);
void neighbours_want(struct neighbours *, const struct neighbour_key *,
                     int64_t now);
void
neighbours_end_wanting(struct neighbours *, neighbours_forget_cb *, void *aux);
void neighbours_restore(struct neighbours *, const struct neighbour_key *,
                        const struct mac *, uint32_t port, int64_t now);

void neighbours_run(struct neighbours *, size_t max, int64_t now,
                    neighbours_ask_cb *, void *aux);
int64_t neighbours_wakeup(const struct neighbours *);
bool neighbours_answer(struct neighbours *, const struct neighbour_key *,
                       const struct mac *, uint32_t port, int64_t now);

const struct neighbour *
neighbours_find(const struct neighbours *, const struct neighbour_key *);

#endif /* neighbour.h */
