/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/readback.h"

#include <inttypes.h>
#include <stdlib.h>

#include <config.h>
#include <openvswitch/util.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-diff.h"
#include "controller/rules/rule-epochs.h"
#include "controller/rules/rule-set.h"

struct readback_node {
    struct hmap_node node; /* In struct readback's 'index'. */
    const struct flows_entry *entry;
    bool claimed; /* Is there a rule for its place? */
};

/* Returns an empty readback, whose 'flows' the caller fills. */
struct readback *
readback_create(bool slot_flows)
{
    struct readback *rb = mem_zalloc(sizeof *rb);

    flows_init(&rb->flows);
    rb->flows.slot_flows = slot_flows;
    hmap_init(&rb->index);
    return rb;
}

/* Destroys 'rb', which may be NULL. */
void
readback_destroy(struct readback *rb)
{
    if (rb) {
        flows_destroy(&rb->flows);
        hmap_destroy(&rb->index);
        free(rb->nodes);
        free(rb);
    }
}

static struct readback_node *
find__(const struct readback *rb, const struct flows_entry *entry)
{
    struct readback_node *node;

    HMAP_FOR_EACH_WITH_HASH (node, node, flows_entry_hash(entry), &rb->index) {
        if (flows_entry_same_place(node->entry, entry)) {
            return node;
        }
    }
    return NULL;
}

/* Ends the filling of 'rb->flows'. */
void
readback_seal(struct readback *rb)
{
    rb->nodes = mem_zalloc(rb->flows.n * sizeof *rb->nodes);
    for (size_t i = 0; i < rb->flows.n; i++) {
        struct readback_node *node = &rb->nodes[i];

        node->entry = &rb->flows.entries[i];
        hmap_insert(&rb->index, &node->node, flows_entry_hash(node->entry));
    }
}

/* Returns true if the switch holds exactly 'entry'. */
bool
readback_has(const struct readback *rb, const struct flows_entry *entry)
{
    const struct readback_node *node = find__(rb, entry);

    return node && flows_entry_equal(node->entry, entry);
}

/* Claims the places of 'rule''s entries.  Returns true if all of them are
 * there, as they should be. */
static bool
claim__(struct readback *rb, const struct rule *rule)
{
    struct flows flows;
    bool installed = true;

    flows_init(&flows);
    flows.slot_flows = rb->flows.slot_flows;
    flows_encode(rule, &flows);
    for (size_t i = 0; i < flows.n; i++) {
        struct readback_node *node = find__(rb, &flows.entries[i]);

        if (node) {
            node->claimed = true;
        }
        installed = installed && readback_has(rb, &flows.entries[i]);
    }
    flows_destroy(&flows);
    return installed;
}

/* Compares what sealed 'rb' read with 'desired'.  Returns those of 'desired''s rules that are installed in full,
 * which the caller must unref. */
struct rule_set *
readback_compare(struct readback *rb, const struct rule_set *desired)
{
    struct rule_set *installed = rule_set_create();

    for (size_t i = 0; i < rb->flows.n; i++) {
        rb->nodes[i].claimed = false;
    }
    for (size_t i = 0; i < desired->n; i++) {
        if (claim__(rb, &desired->rules[i])) {
            rule_set_add(installed, &desired->rules[i]);
        }
    }
    free(rule_set_seal(installed));
    return installed;
}

/* Returns true if a flow that was read sends packets to the calendar of
 * 'epoch' of 'instance'. */
bool
readback_has_epoch(const struct readback *rb, uint16_t instance,
                   uint16_t epoch)
{
    for (size_t i = 0; i < rb->flows.n; i++) {
        if (cookie_refers_to_epoch(&rb->flows.entries[i].cookie, instance,
                                   epoch)) {
            return true;
        }
    }
    return false;
}

/* If 'step' inserts a calendar where the switch has another one, marks it as
 * one that replaces it, or returns an error if that one is connected. */
static char *
check_calendar__(const struct readback *rb, struct rule_step *step)
{
    const struct rule_calendar *calendar = &step->rule->calendar;
    struct flows flows;

    flows_init(&flows);
    flows.slot_flows = rb->flows.slot_flows;
    flows_encode(step->rule, &flows);
    step->replaces = find__(rb, &flows.entries[0]) != NULL;
    flows_destroy(&flows);

    if (step->replaces
        && readback_has_epoch(rb, calendar->instance, calendar->epoch)) {
        return mem_printf("instance %" PRIu16 ": epoch %" PRIu16
                          " stands in the "
                          "switch with another calendar, which cannot change: "
                          "give the epoch another id",
                          calendar->instance, calendar->epoch);
    }
    return NULL;
}

static bool
has_calendar__(const struct rule_set *rules, uint16_t instance, uint16_t epoch)
{
    struct rule key = { .kind = RULE_CALENDAR };

    key.calendar.instance = instance;
    key.calendar.epoch = epoch;
    return rule_set_find(rules, &key) != NULL;
}

/* Stores in 'epochs' the epoch rules of 'instance' that were read. */
static void
get_epochs__(const struct readback *rb, uint16_t instance,
             struct rule_epochs *epochs)
{
    for (size_t i = 0; i < rb->flows.n; i++) {
        const struct flows_entry *e = &rb->flows.entries[i];
        struct rule_epoch rule = { .instance = instance,
                                   .prefix = { e->tick, e->depth },
                                   .late = e->cookie.verdict != VERDICT_PASS,
                                   .epoch = e->cookie.detail };

        if (e->cookie.kind == RULE_EPOCH && e->cookie.owner == instance) {
            rule_epochs_add(epochs, &rule);
        }
    }
}

/* Returns true if the newest of 'epochs', of the switch, is of another
 * generation than those of 'desired': it is none of these. */
static bool
is_other_generation__(const struct rule_epochs *epochs,
                      const struct rule_set *desired)
{
    for (size_t i = 0; i < epochs->n; i++) {
        const struct rule_epoch *e = &epochs->rules[i];

        if (!e->prefix.len) {
            return !has_calendar__(desired, e->instance, e->epoch);
        }
    }
    return false;
}

/* Checks that ticks of 'instance' that go by an epoch in the switch go by it
 * in 'desired', too. */
static char *
check_instance__(const struct readback *rb, const struct rule_set *desired,
                 const struct rule_instance *of)
{
    struct rule_epochs old, new;
    char *error;

    rule_epochs_init(&old);
    rule_epochs_init(&new);
    get_epochs__(rb, of->instance, &old);
    for (size_t i = 0; i < desired->n; i++) {
        const struct rule *rule = &desired->rules[i];

        if (rule->kind == RULE_EPOCH && rule->epoch.instance == of->instance) {
            rule_epochs_add(&new, &rule->epoch);
        }
    }
    error = of->renewable && is_other_generation__(&old, desired)
                ? NULL
                : rule_epochs_check(&old, &new);
    rule_epochs_destroy(&old);
    rule_epochs_destroy(&new);
    return error;
}

/* Checks that nothing that is connected in the switch changes. */
static char *
check_connected__(const struct readback *rb, const struct rule_set *desired,
                  const struct rule_diff *diff)
{
    char *error = NULL;

    for (size_t i = 0; !error && i < diff->n; i++) {
        struct rule_step *step = &diff->steps[i];

        if (step->op == RULE_UPSERT && step->kind == RULE_CALENDAR) {
            error = check_calendar__(rb, step);
        }
    }
    for (size_t i = 0; !error && i < desired->n; i++) {
        const struct rule *rule = &desired->rules[i];

        if (rule->kind == RULE_INSTANCE) {
            error = check_instance__(rb, desired, &rule->instance);
        }
    }
    return error;
}

/* Completes 'diff', the steps from readback_compare()'s set to 'desired': adds
 * steps that delete strays.  The steps refer to 'rb'.
 *
 * Returns NULL, or an error, which the caller must free, if something that is
 * connected in the switch would change. */
char *
readback_finish_diff(const struct readback *rb, const struct rule_set *desired,
                     struct rule_diff *diff)
{
    char *error = check_connected__(rb, desired, diff);

    for (size_t i = 0; !error && i < rb->flows.n; i++) {
        const struct flows_entry *entry = &rb->flows.entries[i];
        struct rule_step step = { .op = RULE_DELETE,
                                  .kind = entry->cookie.kind,
                                  .depth = entry->depth,
                                  .aux = entry };

        if (!rb->nodes[i].claimed) {
            rule_diff_add(diff, &step);
        }
    }
    rule_diff_sort(diff);
    return error;
}
