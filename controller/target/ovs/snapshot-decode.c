/* SPDX-License-Identifier: Apache-2.0 */

/* A snapshot's replies: what is on the wire, into the snapshot's own form. */

#include "controller/target/ovs/snapshot-decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>

#include <byte-order.h>
#include <flow.h>
#include <openvswitch/lb.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-meter.h>
#include <openvswitch/ofp-monitor.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/ofpbuf.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/snapshot.h"

/* What the switch does not know, it says is all ones. */
static uint64_t
known__(uint64_t x)
{
    return x == UINT64_MAX ? 0 : x;
}

static struct snapshot_count
count__(uint64_t packets, uint64_t bytes)
{
    return (struct snapshot_count){ known__(packets), known__(bytes) };
}

static uint64_t
duration__(uint32_t sec, uint32_t nsec)
{
    return sec == UINT32_MAX ? 0 : (uint64_t) sec * 1000 + nsec / 1000000;
}

/* Returns a new element, of zeroes, of the array '*p' of '*n' elements of
 * 'size' bytes. */
static void *
append__(void **p, size_t *n, size_t *allocated, size_t size)
{
    void *element;

    if (*n >= *allocated) {
        *p = mem_grow(*p, allocated, size);
    }
    element = (char *) *p + (*n)++ * size;
    memset(element, 0, size);
    return element;
}

#define APPEND(S, WHAT)                                                    \
    append__((void **) &(S)->WHAT, &(S)->n_##WHAT, &(S)->allocated_##WHAT, \
             sizeof *(S)->WHAT)

/* Flows. */

/* Stores in 'f' what identifies it. */
static void
set_flow__(struct snapshot_flow *f, uint8_t table, uint16_t priority,
           ovs_be64 cookie, const struct match *match)
{
    f->table = table;
    f->priority = priority;
    f->cookie = ntohll(cookie);
    f->known = cookie_decode(f->cookie, &f->whose);
    f->match = match_to_string(match, NULL, OFP_DEFAULT_PRIORITY);
}

static void
add_flow__(struct snapshot *s, const struct ofputil_flow_stats *fs)
{
    struct snapshot_flow *f;

    if ((ntohll(fs->cookie) & COOKIE_MASK) != COOKIE_MAGIC) {
        return;
    }
    f = APPEND(s, flows);
    set_flow__(f, fs->table_id, fs->priority, fs->cookie, &fs->match);
    f->count = count__(fs->packet_count, fs->byte_count);
    f->duration_ms = duration__(fs->duration_sec, fs->duration_nsec);
    f->actions = describe_actions(fs->ofpacts, fs->ofpacts_len);
    describe_flow(fs->table_id, fs->priority, f->cookie, &fs->match,
                  fs->ofpacts, fs->ofpacts_len, &f->words);
}

static int
decode_flows__(struct snapshot *s, struct ofpbuf *msg)
{
    struct ofputil_flow_stats fs;
    struct ofpbuf actions;
    int retval;

    ofpbuf_init(&actions, 256);
    while (!(retval =
                 ofputil_decode_flow_stats_reply(&fs, msg, false, &actions))) {
        add_flow__(s, &fs);
    }
    ofpbuf_uninit(&actions);
    return retval;
}

/* Stores in 'f', which the caller must uninitialize, what the switch had
 * counted of the flow that the flow-removed message 'oh' is about.  Returns
 * NULL if successful, or an error, which the caller must free. */
char *
snapshot_decode_removed(const struct ofp_header *oh, struct snapshot_flow *f)
{
    struct ofputil_flow_removed fr;

    memset(f, 0, sizeof *f);
    if (ofputil_decode_flow_removed(&fr, oh)) {
        return mem_strdup("sent a malformed flow-removed message");
    }
    set_flow__(f, fr.table_id, fr.priority, fr.cookie, &fr.match);
    f->count = count__(fr.packet_count, fr.byte_count);
    f->duration_ms = duration__(fr.duration_sec, fr.duration_nsec);
    f->gone = true;
    describe_flow(f->table, f->priority, f->cookie, &fr.match, NULL, 0,
                  &f->words);
    return NULL;
}

/* Groups. */

static int
compare_groups__(const void *a_, const void *b_)
{
    const struct snapshot_group *a = a_, *b = b_;

    return (a->id > b->id) - (a->id < b->id);
}

/* Returns the group 'id' of 's', whose groups are sorted, or NULL. */
static struct snapshot_group *
find_group__(const struct snapshot *s, uint32_t id)
{
    const struct snapshot_group key = { .id = id };

    return s->n_groups ? bsearch(&key, s->groups, s->n_groups,
                                 sizeof *s->groups, compare_groups__)
                       : NULL;
}

static void
set_buckets__(struct snapshot_group *g, const struct ovs_list *buckets)
{
    const struct ofputil_bucket *bucket;

    g->buckets = mem_zalloc(ovs_list_size(buckets) * sizeof *g->buckets);
    LIST_FOR_EACH (bucket, list_node, buckets) {
        g->buckets[g->n_buckets].slot = bucket->bucket_id;
        g->buckets[g->n_buckets++].member = describe_bucket_member(bucket);
    }
}

static void
add_group__(struct snapshot *s, const struct ofputil_group_desc *gd)
{
    struct lb_calendar_param param;
    uint16_t instance, epoch;
    struct snapshot_group *g;

    if (!group_id_decode(gd->group_id, &instance, &epoch)) {
        return;
    }
    g = APPEND(s, groups);
    s->groups_sorted = false;
    g->id = gd->group_id;
    g->instance = instance;
    g->epoch = epoch;
    g->method = mem_printf("%.*s", (int) sizeof gd->props.selection_method,
                           gd->props.selection_method);
    if (!strcmp(g->method, LB_CALENDAR_METHOD)
        && lb_calendar_param_decode(gd->props.selection_method_param,
                                    &param)) {
        g->table = param.table;
        g->bits = param.bits;
        g->xor = param.xor_value;
    }
    set_buckets__(g, &gd->buckets);
    s->n_buckets += g->n_buckets;
    descriptions_init(&g->words);
    describe_group(gd, &g->words);
}

static int
decode_group_descs__(struct snapshot *s, struct ofpbuf *msg,
                     enum ofp_version version)
{
    struct ofputil_group_desc gd;
    int retval;

    while (!(retval = ofputil_decode_group_desc_reply(&gd, msg, version))) {
        add_group__(s, &gd);
        ofputil_uninit_group_desc(&gd);
    }
    return retval;
}

/* Adds what the switch counted to the group that it described before.  One
 * that has come meanwhile is left out. */
static void
add_group_stats__(struct snapshot *s, const struct ofputil_group_stats *gs)
{
    struct snapshot_group *g = find_group__(s, gs->group_id);

    if (!g) {
        return;
    }
    g->references = gs->ref_count;
    g->count = count__(gs->packet_count, gs->byte_count);
    g->duration_ms = duration__(gs->duration_sec, gs->duration_nsec);
    for (size_t i = 0; i < g->n_buckets && i < gs->n_buckets; i++) {
        g->buckets[i].count = count__(gs->bucket_stats[i].packet_count,
                                      gs->bucket_stats[i].byte_count);
    }
}

static int
decode_group_stats__(struct snapshot *s, struct ofpbuf *msg)
{
    struct ofputil_group_stats gs;
    int retval;

    if (!s->groups_sorted && s->n_groups) {
        qsort(s->groups, s->n_groups, sizeof *s->groups, compare_groups__);
    }
    s->groups_sorted = true;
    while (!(retval = ofputil_decode_group_stats_reply(msg, &gs))) {
        add_group_stats__(s, &gs);
        free(gs.bucket_stats);
    }
    return retval;
}

/* Meters. */

static void
add_meter__(struct snapshot *s, const struct ofputil_meter_stats *ms)
{
    struct snapshot_meter *m = APPEND(s, meters);

    m->id = ms->meter_id;
    m->flows = ms->flow_count;
    m->in = count__(ms->packet_in_count, ms->byte_in_count);
    m->duration_ms = duration__(ms->duration_sec, ms->duration_nsec);
    for (size_t i = 0; i < ms->n_bands; i++) {
        m->over.packets += known__(ms->bands[i].packet_count);
        m->over.bytes += known__(ms->bands[i].byte_count);
    }
}

static int
decode_meters__(struct snapshot *s, struct ofpbuf *msg)
{
    struct ofputil_meter_stats ms;
    struct ofpbuf bands;
    int retval;

    ofpbuf_init(&bands, 64);
    while (!(retval = ofputil_decode_meter_stats(msg, &ms, &bands))) {
        add_meter__(s, &ms);
    }
    ofpbuf_uninit(&bands);
    return retval;
}

/* Ports. */

static int
compare_ports__(const void *a_, const void *b_)
{
    const struct snapshot_port *a = a_, *b = b_;

    return (a->number > b->number) - (a->number < b->number);
}

/* Returns the port 'number' of 's', whose ports are sorted, or NULL. */
static struct snapshot_port *
find_port__(const struct snapshot *s, uint32_t number)
{
    const struct snapshot_port key = { .number = number };

    return s->n_ports ? bsearch(&key, s->ports, s->n_ports, sizeof *s->ports,
                                compare_ports__)
                      : NULL;
}

static int
decode_ports__(struct snapshot *s, struct ofpbuf *msg,
               enum ofp_version version)
{
    struct ofputil_phy_port pp;
    int retval;

    ofpraw_pull_assert(msg);
    while (!(retval = ofputil_pull_phy_port(version, msg, &pp))) {
        struct snapshot_port *p = APPEND(s, ports);

        s->ports_sorted = false;
        p->number = ofp_to_u16(pp.port_no);
        snprintf(p->name, sizeof p->name, "%s", pp.name);
    }
    return retval;
}

static void
add_port_stats__(struct snapshot *s, const struct ofputil_port_stats *ps)
{
    struct snapshot_port *p = find_port__(s, ofp_to_u16(ps->port_no));

    if (!p) {
        return;
    }
    p->rx = count__(ps->stats.rx_packets, ps->stats.rx_bytes);
    p->tx = count__(ps->stats.tx_packets, ps->stats.tx_bytes);
    p->rx_dropped = known__(ps->stats.rx_dropped);
    p->tx_dropped = known__(ps->stats.tx_dropped);
    p->rx_errors = known__(ps->stats.rx_errors);
    p->tx_errors = known__(ps->stats.tx_errors);
    p->duration_ms = duration__(ps->duration_sec, ps->duration_nsec);
}

static int
decode_port_stats__(struct snapshot *s, struct ofpbuf *msg)
{
    struct ofputil_port_stats ps;
    int retval;

    if (!s->ports_sorted && s->n_ports) {
        qsort(s->ports, s->n_ports, sizeof *s->ports, compare_ports__);
    }
    s->ports_sorted = true;
    while (!(retval = ofputil_decode_port_stats(&ps, msg))) {
        add_port_stats__(s, &ps);
        free(ps.custom_stats.counters);
    }
    return retval;
}

/* The replies. */

/* Takes the reply 'oh' into 's'.  Returns NULL if successful, or an error,
 * which the caller must free. */
char *
snapshot_decode__(struct snapshot *s, const struct ofp_header *oh)
{
    struct ofpbuf msg = ofpbuf_const_initializer(oh, ntohs(oh->length));
    enum ofp_version version = oh->version;
    enum ofptype type;
    int retval = OFPERR_OFPBRC_BAD_TYPE;

    if (ofptype_decode(&type, oh)) {
        return mem_strdup("sent a malformed reply");
    }
    if (type == OFPTYPE_FLOW_STATS_REPLY) {
        retval = decode_flows__(s, &msg);
    } else if (type == OFPTYPE_GROUP_DESC_STATS_REPLY) {
        retval = decode_group_descs__(s, &msg, version);
    } else if (type == OFPTYPE_GROUP_STATS_REPLY) {
        retval = decode_group_stats__(s, &msg);
    } else if (type == OFPTYPE_METER_STATS_REPLY) {
        retval = decode_meters__(s, &msg);
    } else if (type == OFPTYPE_PORT_DESC_STATS_REPLY) {
        retval = decode_ports__(s, &msg, version);
    } else if (type == OFPTYPE_PORT_STATS_REPLY) {
        retval = decode_port_stats__(s, &msg);
    }
    return retval == EOF
               ? NULL
               : mem_printf("sent a malformed %s", ofptype_get_name(type));
}
