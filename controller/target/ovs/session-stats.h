/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_SESSION_STATS_H
#define EVLB_OVS_SESSION_STATS_H 1

/* What a session reads of its switch on demand: snapshots.
 *
 * A read is a series of multipart requests, one after the other, each with a
 * transaction id of its own.  It runs beside whatever the session does
 * otherwise: neither a change nor its state takes notice.
 *
 *     asked while no read runs   ->  a read starts
 *     asked while one runs       ->  waits, and shares the next one with all
 *                                    others that wait
 *
 * so that a reader never gets something from before it asked, and no number of
 * readers makes the switch answer more than one read at a time.
 *
 * Each callback is called exactly once: with the snapshot, or with an error
 * that says why there is none (the switch refused or was silent, sent
 * something wrong, or is gone).  It may ask again, but not end the session. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;
struct snapshot;
struct snapshot_flow;

/* How long all replies of a read may take, in milliseconds. */
#define SESSION_SNAPSHOT_MS 10000

/* The snapshot is constant; who wants to keep it takes a reference.  It is
 * NULL if there is an 'error'. */
typedef void
session_snapshot_cb(void *aux, const char *error, const struct snapshot *);

void session_snapshot(struct session *, unsigned int parts,
                      session_snapshot_cb *, void *aux, int64_t now);

/* Who wants to know what is read, and what happens to flows while nobody
 * reads: in the order of the switch's messages. */
struct session_observer {
    /* When it connected, the switch held 'n' flows and groups of ours.
     * Returns the number that its snapshots are to have as their 'life'. */
    unsigned int (*found)(void *aux, struct session *, size_t n);

    /* The switch deleted the flow of ours, whose last count it tells. */
    void (*removed)(void *aux, struct session *, const struct snapshot_flow *,
                    int64_t now);

    /* What all readers of the snapshot will get, before they do. */
    void (*read)(void *aux, struct session *, const struct snapshot *);
};

void session_set_observer(struct session *, const struct session_observer *,
                          void *aux);

#endif /* session-stats.h */
