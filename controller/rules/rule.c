/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/rules/rule.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

/* Compares two numbers as qsort() wants it. */
#define CMP(A, B) (((A) > (B)) - ((A) < (B)))

/* Returns the name of 'action'. */
const char *
rule_member_action_to_string(enum rule_member_action action)
{
    switch (action) {
#define RULE_MEMBER_ACTION(ACTION, NAME) \
    case RULE_MEMBER_##ACTION:           \
        return NAME;
        RULE_MEMBER_ACTIONS
#undef RULE_MEMBER_ACTION
    }
    abort();
}

/* For each kind: compares the keys, compares all but the keys, and prints. */

static int
pipeline_compare__(const struct rule_pipeline *a,
                   const struct rule_pipeline *b)
{
    (void) a;
    (void) b;
    return 0;
}

static bool
pipeline_equal__(const struct rule_pipeline *a, const struct rule_pipeline *b)
{
    return a->l2_normal == b->l2_normal;
}

static char *
pipeline_to_string__(const struct rule_pipeline *p)
{
    return mem_printf("l2_miss=%s", p->l2_normal ? "normal" : "drop");
}

static int
iface_compare__(const struct rule_iface *a, const struct rule_iface *b)
{
    return CMP(a->iface, b->iface);
}

static bool
iface_equal__(const struct rule_iface *a, const struct rule_iface *b)
{
    return a->l2_normal == b->l2_normal;
}

static char *
iface_to_string__(const struct rule_iface *i)
{
    return mem_printf("iface=%" PRIu8 " l2_miss=%s", i->iface,
                      i->l2_normal ? "normal" : "drop");
}

static int
probe_compare__(const struct rule_probe *a, const struct rule_probe *b)
{
    return port_compare(&a->port, &b->port);
}

static bool
probe_equal__(const struct rule_probe *a, const struct rule_probe *b)
{
    return a->change == b->change;
}

static char *
probe_to_string__(const struct rule_probe *p)
{
    char *port = port_to_string(&p->port);
    char *s = mem_printf("port=%s change=%" PRIu16, port, p->change);

    free(port);
    return s;
}

static int
instance_compare__(const struct rule_instance *a,
                   const struct rule_instance *b)
{
    return CMP(a->instance, b->instance);
}

static bool
instance_equal__(const struct rule_instance *a, const struct rule_instance *b)
{
    return a->l2_normal == b->l2_normal;
}

static char *
instance_to_string__(const struct rule_instance *i)
{
    return mem_printf("instance=%" PRIu16 " l2_miss=%s", i->instance,
                      i->l2_normal ? "normal" : "drop");
}

static int
member_compare__(const struct rule_member *a, const struct rule_member *b)
{
    int cmp = CMP(a->instance, b->instance);

    cmp = cmp ? cmp : CMP(a->member, b->member);
    cmp = cmp ? cmp : CMP(a->vlan, b->vlan);
    return cmp ? cmp : addr_compare(&a->address, &b->address);
}

static bool
member_equal__(const struct rule_member *a, const struct rule_member *b)
{
    return a->action == b->action && mac_equal(&a->src_mac, &b->src_mac)
           && mac_equal(&a->mac, &b->mac) && addr_equal(&a->ip, &b->ip)
           && a->base == b->base && a->bits == b->bits && a->keep == b->keep
           && !port_compare(&a->egress, &b->egress);
}

static char *
member_to_string__(const struct rule_member *m)
{
    char address[ADDR_STRLEN], ip[ADDR_STRLEN], mac[MAC_STRLEN];
    char *egress = port_to_string(&m->egress);
    char *s;

    addr_to_string(&m->address, address);
    addr_to_string(&m->ip, ip);
    mac_to_string(&m->mac, mac);
    s = mem_printf("instance=%" PRIu16 " member=%" PRIu16 " vlan=%" PRIu16
                   " address=%s ip=%s mac=%s base=%" PRIu16 " bits=%" PRIu8
                   " keep=%s egress=%s action=%s",
                   m->instance, m->member, m->vlan, address, ip, mac, m->base,
                   m->bits, m->keep ? "true" : "false", egress,
                   rule_member_action_to_string(m->action));
    free(egress);
    return s;
}

static int
calendar_compare__(const struct rule_calendar *a,
                   const struct rule_calendar *b)
{
    int cmp = CMP(a->instance, b->instance);

    return cmp ? cmp : CMP(a->epoch, b->epoch);
}

static bool
calendar_equal__(const struct rule_calendar *a, const struct rule_calendar *b)
{
    return a->xor == b->xor &&calendar_equal(a->calendar, b->calendar);
}

static char *
calendar_to_string__(const struct rule_calendar *c)
{
    return mem_printf("instance=%" PRIu16 " epoch=%" PRIu16 " slots=%zu "
                      "xor=%" PRIu16,
                      c->instance, c->epoch, calendar_n_slots(c->calendar),
                      c->xor);
}

static int
epoch_compare__(const struct rule_epoch *a, const struct rule_epoch *b)
{
    int cmp = CMP(a->instance, b->instance);

    cmp = cmp ? cmp : CMP(a->prefix.value, b->prefix.value);
    return cmp ? cmp : CMP(a->prefix.len, b->prefix.len);
}

static bool
epoch_equal__(const struct rule_epoch *a, const struct rule_epoch *b)
{
    return a->late == b->late && a->drop == b->drop && a->epoch == b->epoch;
}

static char *
epoch_to_string__(const struct rule_epoch *e)
{
    return mem_printf(
        "instance=%" PRIu16 " tick=%" PRIu64 "/%" PRIu8 " %s=%" PRIu16 "%s",
        e->instance, e->prefix.value, e->prefix.len,
        e->drop ? "drop" : "epoch", e->epoch, e->late ? " late" : "");
}

static int
ports_compare__(const struct rule_ports *a, const struct rule_ports *b)
{
    int cmp = CMP(a->instance, b->instance);

    cmp = cmp ? cmp : CMP(a->port, b->port);
    return cmp ? cmp : CMP(a->mask, b->mask);
}

static bool
ports_equal__(const struct rule_ports *a, const struct rule_ports *b)
{
    (void) a;
    (void) b;
    return true;
}

static char *
ports_to_string__(const struct rule_ports *p)
{
    return mem_printf("instance=%" PRIu16 " ports=%" PRIu16 "..%" PRIu16,
                      p->instance, p->port,
                      (uint16_t) (p->port | (uint16_t) ~p->mask));
}

static int
source_compare__(const struct rule_source *a, const struct rule_source *b)
{
    int cmp = CMP(a->instance, b->instance);

    return cmp ? cmp : addr_block_compare(&a->block, &b->block);
}

static bool
source_equal__(const struct rule_source *a, const struct rule_source *b)
{
    (void) a;
    (void) b;
    return true;
}

static char *
source_to_string__(const struct rule_source *s)
{
    char block[ADDR_STRLEN];

    addr_block_to_string(&s->block, block);
    return mem_printf("instance=%" PRIu16 " source=%s", s->instance, block);
}

static int
ip_filter_compare__(const struct rule_ip_filter *a,
                    const struct rule_ip_filter *b)
{
    int cmp = CMP(a->iface, b->iface);

    return cmp ? cmp : addr_compare(&a->address, &b->address);
}

static bool
ip_filter_equal__(const struct rule_ip_filter *a,
                  const struct rule_ip_filter *b)
{
    return a->instance == b->instance && addr_equal(&a->unicast, &b->unicast)
           && mac_equal(&a->mac, &b->mac);
}

static char *
ip_filter_to_string__(const struct rule_ip_filter *f)
{
    char address[ADDR_STRLEN], unicast[ADDR_STRLEN], mac[MAC_STRLEN];

    addr_to_string(&f->address, address);
    addr_to_string(&f->unicast, unicast);
    mac_to_string(&f->mac, mac);
    return mem_printf("iface=%" PRIu8 " address=%s instance=%" PRIu16
                      " unicast=%s mac=%s",
                      f->iface, address, f->instance, unicast, mac);
}

static int
mac_filter_compare__(const struct rule_mac_filter *a,
                     const struct rule_mac_filter *b)
{
    int cmp = CMP(a->iface, b->iface);

    return cmp ? cmp : mac_compare(&a->mac, &b->mac);
}

static bool
mac_filter_equal__(const struct rule_mac_filter *a,
                   const struct rule_mac_filter *b)
{
    (void) a;
    (void) b;
    return true;
}

static char *
mac_filter_to_string__(const struct rule_mac_filter *f)
{
    char mac[MAC_STRLEN];

    mac_to_string(&f->mac, mac);
    return mem_printf("iface=%" PRIu8 " mac=%s", f->iface, mac);
}

static int
l2_iface_compare__(const struct rule_l2_iface *a,
                   const struct rule_l2_iface *b)
{
    int cmp = port_compare(&a->port, &b->port);

    return cmp ? cmp : CMP(a->vlan, b->vlan);
}

static bool
l2_iface_equal__(const struct rule_l2_iface *a, const struct rule_l2_iface *b)
{
    return a->iface == b->iface;
}

static char *
l2_iface_to_string__(const struct rule_l2_iface *l)
{
    char *port = port_to_string(&l->port);
    char *s = mem_printf("port=%s vlan=%" PRIu16 " iface=%" PRIu8, port,
                         l->vlan, l->iface);

    free(port);
    return s;
}

/* Returns the name of 'kind'. */
const char *
rule_kind_to_string(enum rule_kind kind)
{
    switch (kind) {
#define RULE_KIND(KIND, MEMBER, NAME) \
    case RULE_##KIND:                 \
        return NAME;
        RULE_KINDS
#undef RULE_KIND
    }
    abort();
}

/* Compares 'a' and 'b' by their kinds and keys; returns 0 if they are the same
 * row of the same table. */
int
rule_compare(const struct rule *a, const struct rule *b)
{
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    switch (a->kind) {
#define RULE_KIND(KIND, MEMBER, NAME) \
    case RULE_##KIND:                 \
        return MEMBER##_compare__(&a->MEMBER, &b->MEMBER);
        RULE_KINDS
#undef RULE_KIND
    }
    abort();
}

/* Returns true if 'a' and 'b', which are the same row, say the same. */
bool
rule_equal(const struct rule *a, const struct rule *b)
{
    switch (a->kind) {
#define RULE_KIND(KIND, MEMBER, NAME) \
    case RULE_##KIND:                 \
        return MEMBER##_equal__(&a->MEMBER, &b->MEMBER);
        RULE_KINDS
#undef RULE_KIND
    }
    abort();
}

/* Returns 'rule' in words, which the caller must free. */
char *
rule_to_string(const struct rule *rule)
{
    char *details = NULL;
    char *s;

    switch (rule->kind) {
#define RULE_KIND(KIND, MEMBER, NAME)                  \
    case RULE_##KIND:                                  \
        details = MEMBER##_to_string__(&rule->MEMBER); \
        break;
        RULE_KINDS
#undef RULE_KIND
    }
    s = mem_printf("%s %s", rule_kind_to_string(rule->kind), details);
    free(details);
    return s;
}
