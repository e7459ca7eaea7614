/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/counters.h"

#include <stdlib.h>
#include <string.h>

#include <config.h>

#include <hash.h>
#include <openvswitch/hmap.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/snapshot.h"

/* More counters than this are not kept. */
#define COUNTERS_MAX 1000000

/* Two times at which a flow seems to have been made are of one flow if they
 * are not further apart than this. */
#define SAME_FLOW_MS 1000

/* How places of flows and ports begin. */
#define FLOW "flow "
#define PORT "port "

/* A flow that is not there any more may yet be told of for this long. */
#define KEEP_MS 60000

struct node {
    struct hmap_node node; /* In struct counters' 'nodes'. */
    struct counter counter;
};

/* A flow or port, as it was last read. */
struct reading {
    struct hmap_node node; /* In struct counted_bridge's 'readings'. */
    char *place;           /* What it is: unique, but for those that went. */
    int64_t created;       /* When it seems to have been made. */
    int64_t seen;          /* When it was read. */
    bool succeeded;        /* Has another one its place? */
    struct snapshot_count count;
};

struct counted_bridge {
    struct hmap_node node; /* In struct counters' 'bridges'. */
    uint64_t datapath_id;
    unsigned int life;
    struct hmap readings; /* Of "struct reading"s. */
};

struct counters {
    struct hmap nodes;   /* Of "struct node"s. */
    struct hmap bridges; /* Of "struct counted_bridge"s. */
};

/* Returns counters that have counted nothing. */
struct counters *
counters_create(void)
{
    struct counters *c = mem_zalloc(sizeof *c);

    hmap_init(&c->nodes);
    hmap_init(&c->bridges);
    return c;
}

static void
forget_reading__(struct counted_bridge *b, struct reading *r)
{
    hmap_remove(&b->readings, &r->node);
    free(r->place);
    free(r);
}

/* Forgets the readings of 'b' that are older than 'time' and whose places
 * begin with 'kind'. */
static void
forget_readings__(struct counted_bridge *b, const char *kind, int64_t time)
{
    struct reading *r;

    HMAP_FOR_EACH_SAFE (r, node, &b->readings) {
        if (r->seen < time && !strncmp(r->place, kind, strlen(kind))) {
            forget_reading__(b, r);
        }
    }
}

/* Destroys 'c', which may be NULL. */
void
counters_destroy(struct counters *c)
{
    struct counted_bridge *b;
    struct node *n;

    if (!c) {
        return;
    }
    HMAP_FOR_EACH_SAFE (b, node, &c->bridges) {
        forget_readings__(b, "", INT64_MAX);
        hmap_destroy(&b->readings);
        hmap_remove(&c->bridges, &b->node);
        free(b);
    }
    hmap_destroy(&c->bridges);
    HMAP_FOR_EACH_SAFE (n, node, &c->nodes) {
        hmap_remove(&c->nodes, &n->node);
        free(n);
    }
    hmap_destroy(&c->nodes);
    free(c);
}

/* Sums. */

/* Compares whose 'a' and 'b' are, and their names, as qsort() wants it. */
static int
compare__(const struct counter *a, const struct counter *b)
{
    int cmp = (a->scope > b->scope) - (a->scope < b->scope);

    cmp = cmp ? cmp
              : (a->datapath_id > b->datapath_id)
                    - (a->datapath_id < b->datapath_id);
    cmp = cmp ? cmp : strcmp(a->port, b->port);
    cmp = cmp ? cmp : a->iface - b->iface;
    cmp = cmp ? cmp : a->instance - b->instance;
    cmp = cmp ? cmp : a->member - b->member;
    cmp = cmp ? cmp : a->dropped - b->dropped;
    return cmp ? cmp : strcmp(a->name, b->name);
}

static uint32_t
hash__(const struct counter *c)
{
    uint32_t hash = hash_string(c->name, hash_string(c->port, c->scope));

    hash = hash_int((uint32_t) c->iface, hash);
    hash = hash_int((uint32_t) c->instance, hash);
    hash = hash_int((uint32_t) c->member, hash);
    return hash_uint64_basis(c->datapath_id, hash);
}

/* Returns the counter of 'c' that is 'key''s, whose sums are 0, perhaps a new
 * one; or NULL if there are too many. */
static struct counter *
get_counter__(struct counters *c, const struct counter *key)
{
    uint32_t hash = hash__(key);
    struct node *n;

    HMAP_FOR_EACH_WITH_HASH (n, node, hash, &c->nodes) {
        if (!compare__(&n->counter, key)) {
            return &n->counter;
        }
    }
    if (hmap_count(&c->nodes) >= COUNTERS_MAX) {
        return NULL;
    }
    n = mem_alloc(sizeof *n);
    n->counter = *key;
    hmap_insert(&c->nodes, &n->node, hash);
    return &n->counter;
}

/* Adds without going round. */
static void
add_to__(uint64_t *sum, uint64_t x)
{
    *sum = *sum + x < *sum ? UINT64_MAX : *sum + x;
}

static void
add__(struct counters *c, const struct counter *key,
      const struct snapshot_count *x)
{
    struct counter *counter = get_counter__(c, key);

    if (counter) {
        add_to__(&counter->packets, x->packets);
        add_to__(&counter->bytes, x->bytes);
    }
}

/* Differences. */

static struct counted_bridge *
get_bridge__(struct counters *c, uint64_t datapath_id, unsigned int life)
{
    struct counted_bridge *b;

    HMAP_FOR_EACH_WITH_HASH (b, node, hash_uint64(datapath_id), &c->bridges) {
        if (b->datapath_id == datapath_id) {
            if (b->life != life) {
                forget_readings__(b, "", INT64_MAX);
                b->life = life;
            }
            return b;
        }
    }
    b = mem_zalloc(sizeof *b);
    b->datapath_id = datapath_id;
    b->life = life;
    hmap_init(&b->readings);
    hmap_insert(&c->bridges, &b->node, hash_uint64(datapath_id));
    return b;
}

/* Returns how much 'new' is more than 'old', or all of it if it began again. */
static struct snapshot_count
minus__(const struct snapshot_count *new, const struct snapshot_count *old)
{
    if (new->packets < old->packets || new->bytes < old->bytes) {
        return *new;
    }
    return (struct snapshot_count){ new->packets - old->packets,
                                    new->bytes - old->bytes };
}

/* Returns the reading of what stands at 'place' in 'b', or NULL. */
static struct reading *
find_current__(const struct counted_bridge *b, const char *place)
{
    struct reading *r;

    HMAP_FOR_EACH_WITH_HASH (r, node, hash_string(place, 0), &b->readings) {
        if (!r->succeeded && !strcmp(r->place, place)) {
            return r;
        }
    }
    return NULL;
}

static struct reading *
add_reading__(struct counted_bridge *b, const char *place)
{
    struct reading *r = mem_zalloc(sizeof *r);

    r->place = mem_strdup(place);
    hmap_insert(&b->readings, &r->node, hash_string(place, 0));
    return r;
}

/* Takes in that what stands at 'place' since 'created' has counted 'count' at
 * the time 'now'.  Returns how much that is new. */
static struct snapshot_count
read__(struct counted_bridge *b, const char *place, int64_t created,
       const struct snapshot_count *count, int64_t now)
{
    struct reading *r = find_current__(b, place);
    struct snapshot_count more;

    /* A younger one that has counted less has not succeeded to the count of
     * the one before, whose last count is still to come. */
    if (r && created > r->created + SAME_FLOW_MS
        && count->packets < r->count.packets) {
        r->succeeded = true;
        r = NULL;
    }
    r = r ? r : add_reading__(b, place);
    more = minus__(count, &r->count);
    r->count = *count;
    r->created = created;
    r->seen = now;
    return more;
}

/* Returns the reading of the flow at 'place' since 'created', which is not
 * there any more, or NULL if it never was read.  One that is younger than what
 * was read has succeeded to it. */
static struct reading *
find_removed__(const struct counted_bridge *b, const char *place,
               int64_t created)
{
    struct reading *r, *best = NULL;

    HMAP_FOR_EACH_WITH_HASH (r, node, hash_string(place, 0), &b->readings) {
        if (!strcmp(r->place, place) && created >= r->created - SAME_FLOW_MS
            && (!best || r->created > best->created)) {
            best = r;
        }
    }
    return best;
}

/* Flows. */

/* Stores in 'key' which counter flow 'f' counts for.  Returns false if for
 * none. */
static bool
flow_counter__(const struct snapshot_flow *f, struct counter *key)
{
    const struct cookie *cookie = &f->whose;

    *key = (struct counter){ .iface = -1, .instance = -1, .member = -1 };
    if (!f->known || cookie->verdict == VERDICT_PASS) {
        return false;
    }
    key->name = verdict_to_string(cookie->verdict);
    key->dropped = verdict_is_drop(cookie->verdict);
    if (cookie->kind == RULE_MEMBER) {
        key->scope = COUNTER_MEMBER;
        key->instance = cookie->owner;
        key->member = cookie->detail;
    } else if (cookie->owner <= INSTANCE_ID_MAX) {
        key->scope = COUNTER_INSTANCE;
        key->instance = cookie->owner;
    } else if (cookie->owner >= OWNER_IFACE
               && cookie->owner <= OWNER_IFACE + INTERFACE_ID_MAX) {
        key->scope = COUNTER_INTERFACE;
        key->iface = cookie->owner - OWNER_IFACE;
    }
    return key->name != NULL;
}

static char *
flow_place__(const struct snapshot_flow *f)
{
    return mem_printf(FLOW "%u %u %s", f->table, f->priority, f->match);
}

static void
update_flow__(struct counters *c, struct counted_bridge *b,
              const struct snapshot_flow *f, int64_t now)
{
    struct snapshot_count more;
    struct counter key;
    char *place;

    if (f->gone || !flow_counter__(f, &key)) {
        return;
    }
    place = flow_place__(f);
    more = read__(b, place, now - (int64_t) f->duration_ms, &f->count, now);
    add__(c, &key, &more);
    free(place);
}

/* Takes in that the switch 'datapath_id' in its 'life' has deleted 'f' at the
 * time 'now'. */
void
counters_flow_removed(struct counters *c, uint64_t datapath_id,
                      unsigned int life, const struct snapshot_flow *f,
                      int64_t now)
{
    struct counted_bridge *b = get_bridge__(c, datapath_id, life);
    struct snapshot_count more = f->count;
    struct reading *r;
    struct counter key;
    char *place;

    if (!flow_counter__(f, &key)) {
        return;
    }
    place = flow_place__(f);
    r = find_removed__(b, place, now - (int64_t) f->duration_ms);
    if (r) {
        more = minus__(&f->count, &r->count);
        forget_reading__(b, r);
    }
    add__(c, &key, &more);
    free(place);
}

/* Ports. */

/* Counts for 'name' of 'port' that it has counted 'count' so far. */
static void
update_port_counter__(struct counters *c, struct counted_bridge *b,
                      const struct snapshot_port *port, const char *name,
                      bool dropped, struct snapshot_count count, int64_t now)
{
    struct counter key = { .scope = COUNTER_PORT,
                           .iface = -1,
                           .instance = -1,
                           .member = -1,
                           .datapath_id = b->datapath_id,
                           .name = name,
                           .dropped = dropped };
    char *place = mem_printf(PORT "%s %s", port->name, name);
    struct snapshot_count more;

    memcpy(key.port, port->name, sizeof key.port);
    more = read__(b, place, now - (int64_t) port->duration_ms, &count, now);
    add__(c, &key, &more);
    free(place);
}

static void
update_port__(struct counters *c, struct counted_bridge *b,
              const struct snapshot_port *p, int64_t now)
{
    const struct {
        const char *name;
        bool dropped;
        struct snapshot_count count;
    } all[] = {
        { "port_rx", false, p->rx },
        { "port_tx", false, p->tx },
        { "port_rx_dropped", true, { p->rx_dropped, 0 } },
        { "port_tx_dropped", true, { p->tx_dropped, 0 } },
        { "port_rx_errors", true, { p->rx_errors, 0 } },
        { "port_tx_errors", true, { p->tx_errors, 0 } },
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        update_port_counter__(c, b, p, all[i].name, all[i].dropped,
                              all[i].count, now);
    }
}

/* Takes 's' in, which has just been read: nothing that the switch has told
 * since may have been taken in before. */
void
counters_update(struct counters *c, const struct snapshot *s)
{
    struct counted_bridge *b = get_bridge__(c, s->datapath_id, s->life);

    for (size_t i = 0; i < s->n_flows; i++) {
        update_flow__(c, b, &s->flows[i], s->time_ms);
    }
    for (size_t i = 0; i < s->n_ports; i++) {
        update_port__(c, b, &s->ports[i], s->time_ms);
    }
    if (s->parts & SNAPSHOT_FLOWS) {
        forget_readings__(b, FLOW, s->time_ms - KEEP_MS);
    }
    if (s->parts & SNAPSHOT_PORTS) {
        forget_readings__(b, PORT, s->time_ms - KEEP_MS);
    }
}

static int
compare_pointers__(const void *a, const void *b)
{
    return compare__(*(const struct counter *const *) a,
                     *(const struct counter *const *) b);
}

/* Returns all counters, sorted by owner and name, and stores in '*n' how many
 * they are.  The caller must free the array, but not what it points to, which
 * is good until the next update. */
const struct counter **
counters_get(const struct counters *c, size_t *n)
{
    const struct counter **all =
        mem_alloc(hmap_count(&c->nodes) * sizeof(void *));
    struct node *node;

    *n = 0;
    HMAP_FOR_EACH (node, node, &c->nodes) {
        all[(*n)++] = &node->counter;
    }
    if (*n) {
        qsort(all, *n, sizeof(void *), compare_pointers__);
    }
    return all;
}
