/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>

#include <openvswitch/ofp-msgs.h>

#include "controller/core/mem.h"
#include "controller/target/ovs/readback.h"
#include "controller/target/ovs/snapshot-decode.h"

/* Returns a snapshot of the switch 'datapath_id', called 'name', without
 * content, which will have 'parts'. */
struct snapshot *
snapshot_create(uint64_t datapath_id, const char *name, unsigned int parts,
                int64_t now)
{
    struct snapshot *s = mem_zalloc(sizeof *s);

    s->n_refs = 1;
    s->datapath_id = datapath_id;
    s->name = mem_strdup(name);
    s->parts = parts;
    s->time_ms = now;
    return s;
}

/* Returns another reference to 's'. */
const struct snapshot *
snapshot_ref(const struct snapshot *s)
{
    ((struct snapshot *) s)->n_refs++;
    return s;
}

/* Frees what 'f' holds, but not 'f' itself. */
void
snapshot_flow_uninit(struct snapshot_flow *f)
{
    free(f->match);
    free(f->actions);
    description_uninit(&f->words);
}

static void
free_groups__(struct snapshot *s)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        free(s->groups[i].method);
        free(s->groups[i].buckets);
        descriptions_destroy(&s->groups[i].words);
    }
    free(s->groups);
}

/* Releases a reference to 's', which may be NULL. */
void
snapshot_unref(const struct snapshot *s_)
{
    struct snapshot *s = (struct snapshot *) s_;

    if (s && !--s->n_refs) {
        for (size_t i = 0; i < s->n_flows; i++) {
            snapshot_flow_uninit(&s->flows[i]);
        }
        free(s->flows);
        free_groups__(s);
        free(s->meters);
        free(s->ports);
        free(s->name);
        free(s);
    }
}

/* Takes the multipart reply 'oh', one of those that a snapshot is made of,
 * into 's'.  Returns NULL if successful, or an error, which the caller must
 * free, that says of the peer what it did. */
char *
snapshot_receive(struct snapshot *s, const struct ofp_header *oh)
{
    char *error;

    s->n_bytes += ntohs(oh->length);
    error = snapshot_decode__(s, oh);
    if (!error
        && s->n_flows + s->n_groups + s->n_buckets + s->n_meters + s->n_ports
               > READBACK_MAX) {
        error = mem_printf("has more than %d things to tell", READBACK_MAX);
    } else if (!error && s->n_bytes > SNAPSHOT_BYTES_MAX) {
        error =
            mem_printf("has more than %u bytes to tell", SNAPSHOT_BYTES_MAX);
    }
    return error;
}

/* Stores in 'members' where each member of 'instance' is told of, by its id,
 * or NULL. */
static void
collect_members__(const struct snapshot *s, int instance,
                  const struct description **members)
{
    memset(members, 0, (UINT16_MAX + 1) * sizeof(void *));
    for (size_t i = 0; i < s->n_flows; i++) {
        const struct description *d = &s->flows[i].words;

        if (d->instance == instance && d->member >= 0 && *d->member_ip) {
            members[d->member] = d;
        }
    }
}

/* Completes 's' from what is there: the rows of groups tell the addresses of
 * their members, which only flows know. */
void
snapshot_finish(struct snapshot *s)
{
    const struct description **members =
        mem_alloc((UINT16_MAX + 1) * sizeof(void *));
    int instance = -1;

    /* The groups of an instance follow one another, their ids being sorted. */
    for (size_t i = 0; i < s->n_groups; i++) {
        struct descriptions *all = &s->groups[i].words;

        if (s->groups[i].instance != instance) {
            instance = s->groups[i].instance;
            collect_members__(s, instance, members);
        }
        for (size_t j = 0; j < all->n; j++) {
            int member = all->rows[j].member;

            if (member >= 0 && members[member]) {
                describe_member_like(&all->rows[j], members[member]);
            }
        }
    }
    free(members);
}

/* Marks the flow 'removed', which the switch has deleted, as gone if 's' has
 * it. */
void
snapshot_mark_removed(struct snapshot *s, const struct snapshot_flow *removed)
{
    for (size_t i = 0; i < s->n_flows; i++) {
        struct snapshot_flow *f = &s->flows[i];

        if (f->cookie == removed->cookie && f->table == removed->table
            && f->priority == removed->priority
            && !strcmp(f->match, removed->match)) {
            f->gone = true;
        }
    }
}

/* Returns the name of port 'number' in 's', or NULL. */
const char *
snapshot_port_name(const struct snapshot *s, uint32_t number)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].number == number) {
            return s->ports[i].name;
        }
    }
    return NULL;
}
