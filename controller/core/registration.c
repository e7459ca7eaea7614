/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/registration.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

#define LABEL_MAX 63
#define PORTS_END 65536u
#define NAME_RULE                                                            \
    "a name is empty, or at most 253 characters: labels of 1 to 63 letters " \
    "or digits, with \"-\", \"_\", \":\" and \"/\" inside, and dots between"

/* Names. */

/* Is 'c' a letter or digit of ASCII, whatever the locale? */
static bool
is_alnum__(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')
           || (c >= 'A' && c <= 'Z');
}

static bool
is_label__(const char *label, size_t n)
{
    if (n < 1 || n > LABEL_MAX || !is_alnum__(label[0])
        || !is_alnum__(label[n - 1])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_alnum__(label[i]) && !strchr("-_:/", label[i])) {
            return false;
        }
    }
    return true;
}

static bool
is_name__(const char *name)
{
    const char *label = name;

    if (strlen(name) > BOOK_NAME_MAX) {
        return false;
    }
    while (*name) {
        size_t n = strcspn(label, ".");

        if (!is_label__(label, n)) {
            return false;
        }
        if (!label[n]) {
            break;
        }
        label += n + 1;
    }
    return true;
}

/* Checks 'name', which stands in 'field'. */
char *
registration_check_name(const char *field, const char *name)
{
    return (is_name__(name)
                ? NULL
                : mem_printf("%s: \"%.300s\" is no name: " NAME_RULE, field,
                             name));
}

/* Addresses. */

/* Is 'ip' in the block of addresses that 'text' says? */
static bool
is_in__(const char *text, const struct in6_addr *ip)
{
    struct addr_block block;

    return addr_block_from_string(text, &block)
           && addr_block_contains(&block, ip);
}

static bool
is_loopback__(const struct in6_addr *ip)
{
    return is_in__("127.0.0.0/8", ip) || is_in__("::1", ip);
}

static bool
is_private__(const struct in6_addr *ip)
{
    return is_in__("10.0.0.0/8", ip) || is_in__("172.16.0.0/12", ip)
           || is_in__("192.168.0.0/16", ip) || is_in__("fc00::/7", ip);
}

static bool
is_link_local__(const struct in6_addr *ip)
{
    return is_in__("169.254.0.0/16", ip) || is_in__("fe80::/10", ip);
}

/* Can a packet to or from 'ip' be one of a single host? */
static bool
is_host__(const struct in6_addr *ip)
{
    return is_loopback__(ip) || addr_is_unicast(ip);
}

/* Checks that 'text', which stands in 'field', is the address of a sender, and
 * stores it in '*ip'. */
char *
registration_check_sender(const char *field, const char *text,
                          struct in6_addr *ip)
{
    if (!addr_from_string(text, ip)) {
        return mem_printf("%s: \"%.100s\" is no IP address", field, text);
    }
    return (is_host__(ip) ? NULL
                          : mem_printf("%s: %s is not the address of one host",
                                       field, text));
}

/* Returns true if 'family' includes that of 'ip'. */
bool
family_has(enum ip_family family, const struct in6_addr *ip)
{
    switch (family) {
    case IP_FAMILY_DUAL:
        return true;
    case IP_FAMILY_IPV4:
        return addr_is_ipv4(ip);
    case IP_FAMILY_IPV6:
        return !addr_is_ipv4(ip);
    }
    return false;
}

/* Returns the first address of 'instance' that is in 'family', or NULL. */
const struct in6_addr *
instance_find_address(const struct instance *instance, enum ip_family family)
{
    for (size_t i = 0; i < instance->n_addresses; i++) {
        if (family_has(family, &instance->addresses[i])) {
            return &instance->addresses[i];
        }
    }
    return NULL;
}

/* Networks. */

/* What is known about an address after looking at some networks. */
struct search {
    const struct in6_addr *ip;
    bool any;       /* Was there one of the same family? */
    bool found;     /* Is the address in one? */
    bool broadcast; /* Is it the address of all hosts in one? */
};

/* Returns true if all bits of 'ip' behind the first 'len' are ones. */
static bool
is_all_ones__(const struct in6_addr *ip, unsigned int len)
{
    for (unsigned int i = len; i < 128; i++) {
        if (!(ip->s6_addr[i / 8] & (0x80 >> i % 8))) {
            return false;
        }
    }
    return true;
}

static void
search__(struct search *s, const struct addr_block *networks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct addr_block *b = &networks[i];

        if (addr_is_ipv4(&b->addr) == addr_is_ipv4(s->ip)) {
            s->any = true;
            if (addr_block_contains(b, s->ip)) {
                s->found = true;
                s->broadcast =
                    s->broadcast
                    || (addr_is_ipv4(s->ip) && b->len > 96 && b->len < 127
                        && is_all_ones__(s->ip, b->len));
            }
        }
    }
}

static char *
check_networks__(const struct in6_addr *ip, const char *text,
                 const struct state *state)
{
    const struct reservation_settings *r = &state->reservations;
    struct search links = { .ip = ip };
    struct search workers = { .ip = ip };

    for (size_t i = 0; i < state->n_interfaces; i++) {
        search__(&links, state->interfaces[i].networks,
                 state->interfaces[i].n_networks);
    }
    search__(&workers, r->worker_networks, r->n_worker_networks);
    if (links.broadcast || workers.broadcast) {
        return mem_printf("ipAddress: %s is a broadcast address", text);
    }
    if (r->n_worker_networks ? !workers.found : links.any && !links.found) {
        return mem_printf("ipAddress: %s is in none of the networks where "
                          "workers may be (%s)",
                          text,
                          r->n_worker_networks
                              ? "setting worker_networks"
                              : "those of the interfaces; setting "
                                "worker_networks adds others");
    }
    return NULL;
}

static char *
check_own__(const struct in6_addr *ip, const char *text,
            const struct state *state)
{
    for (size_t i = 0; i < state->n_instances; i++) {
        const struct instance *in = &state->instances[i];

        for (size_t j = 0; j < in->n_addresses; j++) {
            if (addr_equal(&in->addresses[j], ip)) {
                return mem_printf("ipAddress: %s is the load balancer's own "
                                  "(instance \"%s\")",
                                  text, in->name);
            }
        }
    }
    return NULL;
}

static char *
check_kind__(const struct in6_addr *ip, const char *text,
             const struct reservation_settings *r)
{
    if (!is_host__(ip)) {
        return mem_printf("ipAddress: %s is not the address of one host",
                          text);
    }
    if (is_link_local__(ip)) {
        return mem_printf("ipAddress: %s is a link-local address, and "
                          "nothing says of which link",
                          text);
    }
    if (is_loopback__(ip) && !r->loopback_workers) {
        return mem_printf("ipAddress: %s is a loopback address, which workers "
                          "may not have (setting "
                          "allow_loopback_workers)",
                          text);
    }
    if (is_private__(ip) && !r->private_workers) {
        return mem_printf("ipAddress: %s is a private address, which workers "
                          "may not have (setting allow_private_workers)",
                          text);
    }
    return NULL;
}

static char *
check_family__(const struct in6_addr *ip, const char *text,
               const struct instance *instance, enum ip_family family)
{
    enum ip_family own = addr_is_ipv4(ip) ? IP_FAMILY_IPV4 : IP_FAMILY_IPV6;

    return (family_has(family, ip) && instance_find_address(instance, own)
                ? NULL
                : mem_printf("ipAddress: %s can receive nothing, for the "
                             "reservation has no %s address",
                             text, addr_is_ipv4(ip) ? "IPv4" : "IPv6"));
}

/* Workers. */

static char *
check_number__(const char *field, double value, double max)
{
    return (isfinite(value) && value >= 0 && value <= max
                ? NULL
                : mem_printf("%s: %g is not a number from 0 to %g", field,
                             value, max));
}

static char *
check_factors__(const struct session *s)
{
    char *error =
        check_number__("minFactor", s->min_factor, CALENDAR_FACTOR_MAX);

    if (!error) {
        error =
            check_number__("maxFactor", s->max_factor, CALENDAR_FACTOR_MAX);
    }
    if (!error && s->max_factor > 0 && s->min_factor > s->max_factor) {
        error = mem_printf("minFactor: %g is greater than maxFactor, %g",
                           s->min_factor, s->max_factor);
    }
    return error;
}

static char *
check_ports__(const struct session *s)
{
    if (s->bits > MEMBER_BITS_MAX) {
        return mem_printf("portRange: %u is none: at most %u, for 16384 ports",
                          s->bits, MEMBER_BITS_MAX);
    }
    if (s->base < 1 || s->base + (1u << s->bits) > PORTS_END) {
        return mem_printf("udpPort: %" PRIu16 ", the first of %u ports, has "
                          "to be from 1 to %u",
                          s->base, 1u << s->bits, PORTS_END - (1u << s->bits));
    }
    return NULL;
}

/* Checks the 'n' 'demands', which stand in 'field', by themselves. */
char *
registration_check_demands(const char *field, const struct slot_range *demands,
                           size_t n)
{
    if (n > CALENDAR_SLOTS_MAX) {
        return mem_printf("%s: %zu ranges are more than the %u slots", field,
                          n, CALENDAR_SLOTS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        const struct slot_range *d = &demands[i];

        if (d->index < SLOT_RANGE_ANYWHERE
            || d->index >= (int32_t) CALENDAR_SLOTS_MAX) {
            return mem_printf("%s[%zu].index: %" PRId32 " is no slot: 0 to "
                              "%u, or -1 for the first gap that is enough",
                              field, i, d->index, CALENDAR_SLOTS_MAX - 1);
        }
        if (d->length < 1
            || d->length > (CALENDAR_SLOTS_MAX
                            - (uint32_t) (d->index > 0 ? d->index : 0))) {
            return mem_printf("%s[%zu].length: %" PRIu32 " slots from %" PRId32
                              " on are not among the %u that there are",
                              field, i, d->length, d->index,
                              CALENDAR_SLOTS_MAX);
        }
    }
    return NULL;
}

/* Checks which share of the events 'session' asks for. */
char *
registration_check_share(const struct session *session)
{
    char *error = check_number__("weight", session->weight, (double) FLT_MAX);

    return error ? error : check_factors__(session);
}

/* Checks what 'session' asks for as a worker of 'instance', which is reserved
 * for 'family'. */
char *
registration_check_worker(const struct session *session,
                          const struct state *state,
                          const struct instance *instance,
                          enum ip_family family)
{
    const struct in6_addr *ip = &session->ip;
    char text[ADDR_STRLEN];
    char *error;

    addr_to_string(ip, text);
    error = registration_check_name("name", session->name);
    error = error ? error : check_kind__(ip, text, &state->reservations);
    error = error ? error : check_own__(ip, text, state);
    error = error ? error : check_networks__(ip, text, state);
    error = error ? error : check_family__(ip, text, instance, family);
    error = error ? error : check_ports__(session);
    error = error ? error : registration_check_share(session);
    return error ? error
                 : registration_check_demands("slotDemands", session->demands,
                                              session->n_demands);
}
