/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/reassembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "endpoints/payload.h"
#include "endpoints/ranges.h"

enum event_state {
    EVENT_OPEN,
    EVENT_COMPLETE,   /* Closed with all of its bytes. */
    EVENT_INCOMPLETE, /* Closed without. */
};

struct event {
    LIST_ENTRY(event) in_bucket; /* In 'buckets' of struct reassembly. */
    TAILQ_ENTRY(event) in_list;  /* In 'open', 'closed' or 'unused'. */

    /* Key. */
    uint64_t event_num; /* Event number. */
    uint16_t data_id;   /* Data source. */

    enum event_state state; /* Decides which of the rest is valid. */
    uint16_t port;          /* UDP port of the first segment. */
    bool port_changed;      /* Did a segment come to another port? */
    bool foreign;           /* Was a segment for another node? */
    bool duplicated;        /* Did a segment come twice? */
    uint32_t length;        /* Bytes of the whole event. */
    uint32_t received;      /* Bytes of it that are in 'data'. */
    uint32_t top;           /* End of the highest byte received. */
    uint64_t segments;      /* Segments taken. */
    int64_t opened;         /* When the first segment came. */
    int64_t closed;         /* When it was closed. */
    uint8_t *data;          /* 'length' bytes; NULL once closed. */
    struct ranges ranges;   /* Which of 'data' is there. */
};

LIST_HEAD(event_bucket, event);
TAILQ_HEAD(event_list, event);

/* Every event is in exactly one list; those in 'open' and 'closed' are in a
 * bucket too.  Both of these lists have the oldest event first, because events
 * enter them at the end and never move. */
struct reassembly {
    struct reassembly_config config; /* Limits. */
    reassembly_close_cb *close_cb;   /* Told of each event that is closed. */
    void *aux;                       /* For 'close_cb'. */
    struct reassembly_stats stats;   /* Shown to the caller. */

    struct event *events;         /* All that there can ever be. */
    struct event_list unused;     /* Not in use. */
    struct event_list open;       /* State EVENT_OPEN, by 'opened'. */
    struct event_list closed;     /* The other states, by 'closed'. */
    struct event_bucket *buckets; /* Hash table, chained. */
    size_t mask;                  /* Number of buckets - 1. */
};

/* Returns the word for 'result', for logs and names of counters. */
const char *
reassembly_result_to_string(enum reassembly_result result)
{
    switch (result) {
#define REASSEMBLY_RESULT(NAME, WORD) \
    case REASSEMBLY_##NAME:           \
        return WORD;
        REASSEMBLY_RESULTS
#undef REASSEMBLY_RESULT
    }
    return "unknown";
}

/* Returns the word for 'closing', for logs and names of counters. */
const char *
reassembly_closing_to_string(enum reassembly_closing closing)
{
    switch (closing) {
#define REASSEMBLY_CLOSING(NAME, WORD) \
    case REASSEMBLY_CLOSED_##NAME:     \
        return WORD;
        REASSEMBLY_CLOSINGS
#undef REASSEMBLY_CLOSING
    }
    return "unknown";
}

/* Returns a reassembly with limits 'config' that tells 'close_cb', with 'aux',
 * of each event that it closes.  NULL if there is not enough memory.  The
 * caller frees it with reassembly_destroy(). */
struct reassembly *
reassembly_create(const struct reassembly_config *config,
                  reassembly_close_cb *close_cb, void *aux)
{
    struct reassembly *r = calloc(1, sizeof *r);
    size_t n_events = (size_t) config->max_open + config->max_closed;
    size_t n_buckets = 1;

    if (!r) {
        return NULL;
    }
    while (n_buckets < n_events) {
        n_buckets *= 2;
    }

    r->config = *config;
    r->close_cb = close_cb;
    r->aux = aux;
    r->mask = n_buckets - 1;
    TAILQ_INIT(&r->unused);
    TAILQ_INIT(&r->open);
    TAILQ_INIT(&r->closed);
    r->events = calloc(n_events, sizeof *r->events);
    r->buckets = calloc(n_buckets, sizeof *r->buckets);
    if (!r->events || !r->buckets) {
        reassembly_destroy(r);
        return NULL;
    }
    for (size_t i = 0; i < n_events; i++) {
        TAILQ_INSERT_TAIL(&r->unused, &r->events[i], in_list);
    }
    return r;
}

/* Frees what 'e' holds of the data of an event. */
static void
event_free_data(struct event *e)
{
    free(e->data);
    e->data = NULL;
    ranges_destroy(&e->ranges);
}

/* Frees 'r'.  Open events vanish without a word: call reassembly_flush()
 * first to be told of them. */
void
reassembly_destroy(struct reassembly *r)
{
    struct event *e;

    if (!r) {
        return;
    }
    while ((e = TAILQ_FIRST(&r->open))) {
        TAILQ_REMOVE(&r->open, e, in_list);
        event_free_data(e);
    }
    free(r->events);
    free(r->buckets);
    free(r);
}

const struct reassembly_stats *
reassembly_stats(const struct reassembly *r)
{
    return &r->stats;
}

static struct event_bucket *
bucket_of(const struct reassembly *r, uint64_t event_num, uint16_t data_id)
{
    uint64_t hash = payload_mix(event_num ^ r->config.hash_seed);

    hash = payload_mix(hash + data_id);
    return &r->buckets[hash & r->mask];
}

static struct event *
event_find(const struct reassembly *r, const struct reassembly_segment *s)
{
    struct event *e = LIST_FIRST(bucket_of(r, s->event_num, s->data_id));

    while (e && (e->event_num != s->event_num || e->data_id != s->data_id)) {
        e = LIST_NEXT(e, in_bucket);
    }
    return e;
}

/* Forgets the closed event 'e'. */
static void
event_forget(struct reassembly *r, struct event *e)
{
    LIST_REMOVE(e, in_bucket);
    TAILQ_REMOVE(&r->closed, e, in_list);
    TAILQ_INSERT_TAIL(&r->unused, e, in_list);
    r->stats.closed--;
}

/* Tells the caller that open event 'e' is closed now. */
static void
event_report(const struct reassembly *r, const struct event *e,
             enum reassembly_closing closing)
{
    bool complete = closing == REASSEMBLY_CLOSED_COMPLETE;
    struct reassembly_event event = {
        .closing = closing,
        .event_num = e->event_num,
        .data_id = e->data_id,
        .port = e->port,
        .port_changed = e->port_changed,
        .foreign = e->foreign,
        .length = e->length,
        .received = e->received,
        .segments = e->segments,
        .opened = e->opened,
        .closed = e->closed,
        .data = complete ? e->data : NULL,
    };

    r->close_cb(&event, r->aux);
}

/* Closes open event 'e', and remembers it as far as the limits allow. */
static void
event_close(struct reassembly *r, struct event *e,
            enum reassembly_closing closing, int64_t now)
{
    e->closed = now;
    event_report(r, e, closing);
    event_free_data(e);
    e->state = (closing == REASSEMBLY_CLOSED_COMPLETE ? EVENT_COMPLETE
                                                      : EVENT_INCOMPLETE);

    TAILQ_REMOVE(&r->open, e, in_list);
    TAILQ_INSERT_TAIL(&r->closed, e, in_list);
    r->stats.open--;
    r->stats.closed++;
    r->stats.memory -= e->length;
    if (r->stats.closed > r->config.max_closed) {
        event_forget(r, TAILQ_FIRST(&r->closed));
    }
}

/* Closes the oldest events until one of 'length' bytes, which config.max_memory
 * has room for, can be opened. */
static void
make_room(struct reassembly *r, uint32_t length, int64_t now)
{
    while (r->stats.open >= r->config.max_open
           || r->stats.memory + length > r->config.max_memory) {
        event_close(r, TAILQ_FIRST(&r->open), REASSEMBLY_CLOSED_EVICTED, now);
    }
}

/* Opens the event of segment 's'.  Returns NULL if there is no memory for
 * it. */
static struct event *
event_open(struct reassembly *r, const struct reassembly_segment *s,
           int64_t now)
{
    uint8_t *data = malloc(s->length ? s->length : 1);
    struct event *e;

    if (!data) {
        return NULL;
    }
    make_room(r, s->length, now);

    e = TAILQ_FIRST(&r->unused);
    TAILQ_REMOVE(&r->unused, e, in_list);
    TAILQ_INSERT_TAIL(&r->open, e, in_list);
    LIST_INSERT_HEAD(bucket_of(r, s->event_num, s->data_id), e, in_bucket);
    e->event_num = s->event_num;
    e->data_id = s->data_id;
    e->state = EVENT_OPEN;
    e->port = s->port;
    e->port_changed = e->foreign = e->duplicated = false;
    e->length = s->length;
    e->received = e->top = 0;
    e->segments = 0;
    e->opened = now;
    e->data = data;
    ranges_init(&e->ranges);
    r->stats.open++;
    r->stats.memory += s->length;
    return e;
}

/* Returns true if 's', whose bytes are 'new', has the same bytes as 'e' where
 * both have any, that is in the ranges of 'e' in 'span'. */
static bool
data_agree(const struct event *e, const struct reassembly_segment *s,
           struct ranges_span span, struct range new)
{
    const uint8_t *data = s->data;

    for (size_t i = span.first; i < span.last; i++) {
        const struct range *old = &e->ranges.v[i];
        uint32_t start = old->start > new.start ? old->start : new.start;
        uint32_t end = old->end < new.end ? old->end : new.end;

        if (memcmp(e->data + start, data + (start - new.start), end - start)) {
            return false;
        }
    }
    return true;
}

/* Copies the bytes of 's', which lie in the event, into open event 'e'. */
static enum reassembly_result
event_take(struct reassembly *r, struct event *e,
           const struct reassembly_segment *s)
{
    struct range new = { s->offset, s->offset + s->size };
    struct ranges_span span = ranges_find(&e->ranges, new);
    uint32_t overlap = ranges_overlap(&e->ranges, span, new);
    int error;

    if (overlap && !data_agree(e, s, span, new)) {
        return REASSEMBLY_CONFLICT;
    } else if (overlap == s->size) {
        return REASSEMBLY_DUPLICATE;
    }
    error = ranges_add(&e->ranges, span, new, r->config.max_ranges);
    if (error) {
        return (error == ENOMEM ? REASSEMBLY_NO_MEMORY
                                : REASSEMBLY_TOO_MANY_RANGES);
    }

    memcpy(e->data + s->offset, s->data, s->size);
    e->received += s->size - overlap;
    if (new.end > e->top) {
        e->top = new.end;
    } else {
        r->stats.reordered++;
    }
    return overlap ? REASSEMBLY_OVERLAP : REASSEMBLY_NEW;
}

/* Notes what is wrong with 'e' as a whole, by segment 's' of it, of which
 * became 'result'.  Each event counts once. */
static void
event_note(struct reassembly *r, struct event *e,
           const struct reassembly_segment *s, enum reassembly_result result)
{
    bool duplicated =
        (result == REASSEMBLY_DUPLICATE || result == REASSEMBLY_LATE_COMPLETE);

    if (duplicated && !e->duplicated) {
        e->duplicated = true;
        r->stats.duplicated_events++;
    }
    if (s->foreign && !e->foreign) {
        e->foreign = true;
        r->stats.foreign_events++;
    }
}

/* Adds segment 's' to open event 'e' and closes it if that makes it whole. */
static enum reassembly_result
event_add(struct reassembly *r, struct event *e,
          const struct reassembly_segment *s, int64_t now)
{
    enum reassembly_result result;

    if (s->port != e->port) {
        e->port_changed = true;
        r->stats.port_changes++;
    }
    result = s->size ? event_take(r, e, s) : REASSEMBLY_NEW;
    event_note(r, e, s, result);
    if (result != REASSEMBLY_NEW && result != REASSEMBLY_OVERLAP) {
        return result;
    }
    e->segments++;
    if (e->received == e->length) {
        event_close(r, e, REASSEMBLY_CLOSED_COMPLETE, now);
    }
    return result;
}

/* Checks 's' by itself.  Returns REASSEMBLY_NEW if there is nothing wrong.
 * Only an event of no bytes may have a segment of no bytes. */
static enum reassembly_result
check_segment(const struct reassembly *r, const struct reassembly_segment *s)
{
    if (s->offset > s->length || s->size > s->length - s->offset) {
        return REASSEMBLY_BEYOND_END;
    } else if (!s->size && s->length) {
        return REASSEMBLY_EMPTY;
    } else if (s->length > r->config.max_event
               || s->length > r->config.max_memory) {
        return REASSEMBLY_TOO_BIG;
    }
    return REASSEMBLY_NEW;
}

/* Adds segment 's' to its event, after closing the events that are too old at
 * 'now'.  Returns what became of it; whether it completed the event is told by
 * the callback.  The bytes of a segment that is not taken leave no trace. */
enum reassembly_result
reassembly_add(struct reassembly *r, const struct reassembly_segment *s,
               int64_t now)
{
    enum reassembly_result result = check_segment(r, s);
    struct event *e;

    reassembly_run(r, now);
    if (result != REASSEMBLY_NEW) {
        return result;
    }

    e = event_find(r, s);
    if (e && e->state != EVENT_OPEN) {
        result = (e->state == EVENT_COMPLETE ? REASSEMBLY_LATE_COMPLETE
                                             : REASSEMBLY_LATE_INCOMPLETE);
        event_note(r, e, s, result);
        return result;
    } else if (e && e->length != s->length) {
        return REASSEMBLY_LENGTH_CHANGED;
    }

    e = e ? e : event_open(r, s, now);
    return e ? event_add(r, e, s, now) : REASSEMBLY_NO_MEMORY;
}

/* Closes the events that are too old at 'now', and forgets those that were
 * closed long enough ago.  To be called now and then, so that events are given
 * up even when no segment arrives. */
void
reassembly_run(struct reassembly *r, int64_t now)
{
    struct event *e;

    while ((e = TAILQ_FIRST(&r->open))
           && now - e->opened >= r->config.timeout) {
        event_close(r, e, REASSEMBLY_CLOSED_EXPIRED, now);
    }
    while ((e = TAILQ_FIRST(&r->closed))
           && now - e->closed >= r->config.linger) {
        event_forget(r, e);
    }
}

/* Closes all open events at 'now', as unfinished. */
void
reassembly_flush(struct reassembly *r, int64_t now)
{
    struct event *e;

    while ((e = TAILQ_FIRST(&r->open))) {
        event_close(r, e, REASSEMBLY_CLOSED_UNFINISHED, now);
    }
}
