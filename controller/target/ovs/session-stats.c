/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/session-stats.h"

#include <stdlib.h>
#include <string.h>

#include <config.h>

#include <byte-order.h>
#include <openvswitch/match.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofp-meter.h>
#include <openvswitch/ofp-port.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/session-private.h"
#include "controller/target/ovs/snapshot.h"

VLOG_DEFINE_THIS_MODULE(evlb_stats);

/* The requests of a read, in their order, the part that each is for, and what
 * it asks for. */
#define READ_STEPS                                 \
    READ_STEP(FLOWS, FLOWS, "flows")               \
    READ_STEP(GROUP_DESC, GROUPS, "groups")        \
    READ_STEP(GROUP_STATS, GROUPS, "group counts") \
    READ_STEP(METERS, METERS, "meters")            \
    READ_STEP(PORT_DESC, PORTS, "ports")           \
    READ_STEP(PORT_STATS, PORTS, "port counts")

enum read_step {
#define READ_STEP(STEP, PART, TEXT) READ_##STEP,
    READ_STEPS
#undef READ_STEP
        N_READ_STEPS
};

static const struct {
    unsigned int part;
    const char *name;
} steps[] = {
#define READ_STEP(STEP, PART, TEXT) { SNAPSHOT_##PART, TEXT },
    READ_STEPS
#undef READ_STEP
};

/* Somebody who asked for a snapshot. */
struct reader {
    struct ovs_list node;
    unsigned int parts;
    session_snapshot_cb *cb;
    void *aux;
};

struct session_stats {
    const struct session_observer *observer; /* Or NULL. */
    void *aux;
    unsigned int life;
    bool over;               /* Is the session being destroyed? */
    struct ovs_list waiting; /* Readers of the next read. */
    struct ovs_list served;  /* Readers of the read under way. */

    /* The read under way. */
    struct snapshot *snapshot; /* NULL if there is none. */
    unsigned int step;         /* enum read_step. */
    uint32_t xid;              /* Of its request. */
    int64_t deadline;
};

struct session_stats *
session_stats_create__(void)
{
    struct session_stats *stats = mem_zalloc(sizeof *stats);

    ovs_list_init(&stats->waiting);
    ovs_list_init(&stats->served);
    return stats;
}

/* Calls those in 'readers', which is empty afterwards. */
static void
answer__(struct ovs_list *readers, const char *error,
         const struct snapshot *snapshot)
{
    struct ovs_list called;
    struct reader *r;

    ovs_list_move(&called, readers);
    ovs_list_init(readers);
    LIST_FOR_EACH_POP (r, node, &called) {
        r->cb(r->aux, error, snapshot);
        free(r);
    }
}

/* Ends the read under way, with 'error' if that is not NULL. */
static void
end_read__(struct session *s, const char *error)
{
    struct session_stats *stats = s->stats;
    struct snapshot *snapshot = stats->snapshot;

    stats->snapshot = NULL;
    if (!error) {
        snapshot_finish(snapshot);
        if (stats->observer) {
            stats->observer->read(stats->aux, s, snapshot);
        }
    }
    answer__(&stats->served, error, error ? NULL : snapshot);
    snapshot_unref(snapshot);
}

/* Destroys 'stats', of a session with 'name' that is over because of 'reason';
 * NULL stands for nothing that the switch did. */
void
session_stats_destroy__(struct session_stats *stats, const char *name,
                        const char *reason)
{
    char *error = mem_printf("%s: connection lost: %s", name,
                             reason ? reason : "closed");

    stats->over = true;
    while (!ovs_list_is_empty(&stats->served)
           || !ovs_list_is_empty(&stats->waiting)) {
        answer__(&stats->served, error, NULL);
        answer__(&stats->waiting, error, NULL);
    }
    snapshot_unref(stats->snapshot);
    free(stats);
    free(error);
}

static struct ofpbuf *
encode_flows__(enum ofp_version version)
{
    struct ofputil_flow_stats_request fsr = { .cookie = htonll(COOKIE_MAGIC),
                                              .cookie_mask =
                                                  htonll(COOKIE_MASK),
                                              .out_port = OFPP_ANY,
                                              .out_group = OFPG_ANY,
                                              .table_id = 0xff };

    match_init_catchall(&fsr.match);
    return ofputil_encode_flow_stats_request(
        &fsr, ofputil_protocol_from_ofp_version(version));
}

static struct ofpbuf *
encode_step__(enum read_step step, enum ofp_version version)
{
    switch (step) {
    case READ_FLOWS:
        return encode_flows__(version);
    case READ_GROUP_DESC:
        return ofputil_encode_group_desc_request(version, OFPG_ALL);
    case READ_GROUP_STATS:
        return ofputil_encode_group_stats_request(version, OFPG_ALL);
    case READ_METERS:
        return ofputil_encode_meter_request(version, OFPUTIL_METER_STATS,
                                            OFPM13_ALL);
    case READ_PORT_DESC:
        return ofputil_encode_port_desc_stats_request(version, OFPP_ANY);
    case READ_PORT_STATS:
        return ofputil_encode_dump_ports_request(version, OFPP_ANY);
    case N_READ_STEPS:
        break;
    }
    abort();
}

/* Asks for the first thing that the read under way wants, from 'step' on, or
 * ends the read if that was all. */
static void
ask__(struct session *s, unsigned int step)
{
    struct session_stats *stats = s->stats;

    while (step < N_READ_STEPS
           && !(steps[step].part & stats->snapshot->parts)) {
        step++;
    }
    if (step >= N_READ_STEPS) {
        end_read__(s, NULL);
        return;
    }
    stats->step = step;
    stats->xid = session_request__(s, encode_step__(step, s->version));
}

/* Starts the next read, if somebody waits for it and nothing is in its
 * way. */
static void
start__(struct session *s)
{
    struct session_stats *stats = s->stats;
    unsigned int parts = 0;
    struct reader *r;

    if (stats->over || stats->snapshot || ovs_list_is_empty(&stats->waiting)
        || s->error || s->state < SESSION_READY) {
        return;
    }
    LIST_FOR_EACH (r, node, &stats->waiting) {
        parts |= r->parts;
    }
    ovs_list_move(&stats->served, &stats->waiting);
    ovs_list_init(&stats->waiting);
    stats->snapshot = snapshot_create(s->datapath_id, s->name, parts, s->now);
    stats->snapshot->life = stats->life;
    stats->deadline = s->now + SESSION_SNAPSHOT_MS;
    ask__(s, 0);
}

/* Asks for 'parts' of what stands in the switch of 's' and is ours. */
void
session_snapshot(struct session *s, unsigned int parts,
                 session_snapshot_cb *cb, void *aux, int64_t now)
{
    struct reader *r = mem_zalloc(sizeof *r);

    s->now = now;
    *r =
        (struct reader){ .parts = parts & SNAPSHOT_ALL, .cb = cb, .aux = aux };
    ovs_list_push_back(&s->stats->waiting, &r->node);
    start__(s);
}

/* Makes 'observer' know what 'aux' wants to know of 's'. */
void
session_set_observer(struct session *s,
                     const struct session_observer *observer, void *aux)
{
    s->stats->observer = observer;
    s->stats->aux = aux;
}

/* The switch of 's' held 'n' flows and groups of ours when it connected. */
void
session_stats_found__(struct session *s, size_t n)
{
    struct session_stats *stats = s->stats;

    if (stats->observer) {
        stats->life = stats->observer->found(stats->aux, s, n);
    }
}

/* Does what time calls for, and starts a read if one waits. */
void
session_stats_run__(struct session *s)
{
    struct session_stats *stats = s->stats;

    if (stats->snapshot && s->now >= stats->deadline) {
        char *error =
            mem_printf("%s: no answer about its %s within %d s", s->name,
                       steps[stats->step].name, SESSION_SNAPSHOT_MS / 1000);

        end_read__(s, error);
        free(error);
    }
    start__(s);
}

/* Returns when session_stats_run__() should be called next. */
int64_t
session_stats_wakeup__(const struct session_stats *stats)
{
    return stats->snapshot ? stats->deadline : INT64_MAX;
}

/* Processes 'oh' of 'type' if it answers the read under way.  Returns false if
 * it does not. */
bool
session_stats_receive__(struct session *s, const struct ofp_header *oh)
{
    struct session_stats *stats = s->stats;
    char *error;

    if (!stats->snapshot || ntohl(oh->xid) != stats->xid
        || !ofpmsg_is_stat_reply(oh)) {
        return false;
    }
    error = snapshot_receive(stats->snapshot, oh);
    if (error) {
        session_fail__(s, error);
    } else if (!ofpmp_more(oh)) {
        ask__(s, stats->step + 1);
    }
    return true;
}

/* If the error message with 'xid' is about the read under way, ends that and
 * returns true.  A switch without meters has none, which is no error. */
bool
session_stats_receive_error__(struct session *s, uint32_t xid,
                              enum ofperr ofperr)
{
    struct session_stats *stats = s->stats;
    char *error;

    if (!stats->snapshot || xid != stats->xid) {
        return false;
    }
    if (stats->step == READ_METERS) {
        VLOG_DBG("%s: tells of no meters: %s", s->name,
                 ofperr_to_string(ofperr));
        ask__(s, stats->step + 1);
        return true;
    }
    error = mem_printf("%s: refused to tell its %s: %s", s->name,
                       steps[stats->step].name, ofperr_to_string(ofperr));
    end_read__(s, error);
    free(error);
    return true;
}

/* Processes the flow-removed message 'oh'. */
void
session_stats_receive_removed__(struct session *s, const struct ofp_header *oh)
{
    struct session_stats *stats = s->stats;
    struct snapshot_flow f;
    char *error = snapshot_decode_removed(oh, &f);

    if (error) {
        session_fail__(s, error);
    } else if (f.known) {
        if (stats->snapshot) {
            snapshot_mark_removed(stats->snapshot, &f);
        }
        if (stats->observer) {
            stats->observer->removed(stats->aux, s, &f, s->now);
        }
    }
    snapshot_flow_uninit(&f);
}
