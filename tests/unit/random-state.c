/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/random-state.h"

#include <stdio.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "tests/unit/unit.h"

/* Even nets are IPv6, odd ones are IPv4. */
static struct in6_addr
make_addr(unsigned int net, unsigned int host)
{
    char s[ADDR_STRLEN];
    struct in6_addr a;

    snprintf(s, sizeof s, net % 2 ? "10.0.%u.%u" : "2001:db8:%u::%u", net,
             host);
    assert_true(addr_from_string(s, &a));
    return a;
}

static void
random_interfaces(uint64_t *seed, struct state *s)
{
    s->n_interfaces = 1 + unit_random_below(seed, 2);
    s->interfaces = mem_zalloc(s->n_interfaces * sizeof *s->interfaces);
    for (unsigned int i = 0; i < s->n_interfaces; i++) {
        struct interface *iface = &s->interfaces[i];

        iface->name = mem_printf("if%u", i);
        iface->id = (uint8_t) i;
        iface->vlan = i ? (uint16_t) (i + unit_random_below(seed, 2)) : 0;
        iface->mac.ea[5] = (uint8_t) unit_random_below(seed, 2);
    }
}

void
random_members(uint64_t *seed, struct instance *instance)
{
    instance->members =
        mem_zalloc(RANDOM_N_MEMBERS * sizeof *instance->members);
    instance->n_members = RANDOM_N_MEMBERS;
    for (uint16_t i = 0; i < RANDOM_N_MEMBERS; i++) {
        struct member *m = &instance->members[i];

        m->id = i;
        m->ip = make_addr(i, unit_random_below(seed, 3));
        m->mac.ea[5] = (uint8_t) (1 + i);
        m->base = (uint16_t) unit_random_below(seed, 2);
        m->egress.type = PORT_IN;
    }
}

/* Weights that are a function of 'variant': the same variant is the same
 * calendar. */
const struct calendar *
random_calendar(unsigned int variant)
{
    struct calendar_share shares[RANDOM_N_MEMBERS] = { { .weight = 0 } };
    const struct calendar *calendar;

    for (uint16_t i = 0; i < RANDOM_N_MEMBERS; i++) {
        shares[i].member = i;
        shares[i].weight = (variant >> i) & 1;
    }
    shares[variant % RANDOM_N_MEMBERS].weight++;
    unit_assert_error(calendar_create(shares, RANDOM_N_MEMBERS, 3, &calendar),
                      NULL);
    return calendar;
}

/* With 'stable', an epoch's calendar is a function of its id, as it is where
 * epochs are only ever connected. */
static void
random_epochs(uint64_t *seed, struct instance *instance, bool stable)
{
    unsigned int n = 1 + unit_random_below(seed, 4);
    uint16_t id = (uint16_t) unit_random_below(seed, 4);
    uint64_t first =
        unit_random_below(seed, 3) ? unit_random_below(seed, 1000) : 0;

    epochs_init(&instance->epochs);
    for (unsigned int i = 0; i < n; i++) {
        unsigned int variant = stable ? id * 5 : unit_random_below(seed, 64);
        const struct calendar *calendar = random_calendar(variant);

        unit_assert_error(
            epochs_connect(&instance->epochs, id++, first, 0, calendar), NULL);
        calendar_unref(calendar);
        first += 1 + unit_random_below(seed, 2000);
    }
}

static void
random_instance(uint64_t *seed, const struct state *s,
                struct instance *instance, uint16_t id, bool stable)
{
    *instance = (struct instance){ .id = id };
    instance->n_interfaces =
        1 + unit_random_below(seed, (unsigned int) s->n_interfaces);
    instance->interfaces =
        mem_zalloc(instance->n_interfaces * sizeof(struct interface *));
    for (size_t i = 0; i < instance->n_interfaces; i++) {
        instance->interfaces[i] = &s->interfaces[i];
    }

    instance->n_addresses = 1 + unit_random_below(seed, 3);
    instance->addresses =
        mem_zalloc(instance->n_addresses * sizeof(struct in6_addr));
    for (unsigned int i = 0; i < instance->n_addresses; i++) {
        /* Of no other instance in this state, but perhaps in the other. */
        instance->addresses[i] = make_addr(i, 10u * id + i);
    }
    instance->first_port = (uint16_t) unit_random_below(seed, 100);
    instance->last_port =
        (uint16_t) (instance->first_port + unit_random_below(seed, 100));
    instance->n_sources = unit_random_below(seed, 3);
    instance->sources =
        mem_zalloc(instance->n_sources * sizeof(struct addr_block));
    for (unsigned int i = 0; i < instance->n_sources; i++) {
        instance->sources[i].addr = make_addr(1, unit_random_below(seed, 9));
        instance->sources[i].len = 128;
    }
    instance->late = unit_random_below(seed, 2) ? LATE_DROP : LATE_NEWEST;
    random_members(seed, instance);
    random_epochs(seed, instance, stable);
}

struct rule_set *
random_rule_set(uint64_t *seed, bool stable)
{
    const struct bridge bridge = { .n_ports = 0 };
    struct rule_set *set;
    struct state s;

    state_init(&s);
    s.l2_normal = unit_random_below(seed, 2);
    random_interfaces(seed, &s);
    s.instances = mem_zalloc(RANDOM_N_INSTANCES * sizeof *s.instances);
    for (uint16_t id = 0; id < RANDOM_N_INSTANCES; id++) {
        if (unit_random_below(seed, 4)) {
            random_instance(seed, &s, &s.instances[s.n_instances++], id,
                            stable);
        }
    }
    set = rule_set_build(&s, &bridge, &(struct rule_inputs){ .change = 0 });
    state_destroy(&s);
    return set;
}
