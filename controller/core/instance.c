/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/instance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

/* Initializes 'state' as one without instances. */
void
state_init(struct state *state)
{
    *state = (struct state){ .n_instances = 0 };
}

static void
instance_destroy__(struct instance *instance)
{
    free(instance->name);
    free(instance->addresses);
    free(instance->interfaces);
    free(instance->sources);
    free(instance->sync.address);
    free(instance->sync.list);
    free(instance->sync.public);
    free(instance->members);
    epochs_destroy(&instance->epochs);
    free(instance->epoch_lines);
}

/* Frees what 'state' holds, but not 'state' itself. */
void
state_destroy(struct state *state)
{
    for (size_t i = 0; i < state->n_interfaces; i++) {
        free(state->interfaces[i].name);
        free(state->interfaces[i].networks);
        free(state->interfaces[i].routes);
    }
    free(state->interfaces);
    for (size_t i = 0; i < state->n_instances; i++) {
        instance_destroy__(&state->instances[i]);
    }
    free(state->instances);
    for (size_t i = 0; i < state->n_bridges; i++) {
        free(state->bridges[i].name);
        free(state->bridges[i].ports);
    }
    free(state->bridges);
    free(state->reservations.worker_networks);
}

/* Makes 'copy', which holds a copy of what 'instance' points to, point to
 * copies of its own; its interfaces are those of 'to', not of 'from'. */
static void
instance_clone__(struct instance *copy, const struct instance *instance,
                 const struct state *to, const struct state *from)
{
    *copy = *instance;
    copy->name = mem_strdup(instance->name);
    copy->addresses = mem_dup(instance->addresses,
                              instance->n_addresses * sizeof *copy->addresses);
    copy->interfaces =
        mem_alloc(instance->n_interfaces * sizeof(const struct interface *));
    for (size_t i = 0; i < instance->n_interfaces; i++) {
        copy->interfaces[i] =
            &to->interfaces[instance->interfaces[i] - from->interfaces];
    }
    copy->sources = mem_dup(instance->sources,
                            instance->n_sources * sizeof *copy->sources);
    copy->members = mem_dup(instance->members,
                            instance->n_members * sizeof *copy->members);
    copy->sync.address =
        instance->sync.address ? mem_strdup(instance->sync.address) : NULL;
    copy->sync.list = mem_dup(instance->sync.list,
                              instance->sync.n_list * sizeof *copy->sync.list);
    copy->sync.public =
        mem_dup(instance->sync.public,
                instance->sync.n_public * sizeof *copy->sync.public);
    epochs_clone(&copy->epochs, &instance->epochs);
    copy->epoch_lines =
        mem_dup(instance->epoch_lines, instance->epochs.n * sizeof(int));
}

static void
interface_clone__(struct interface *copy, const struct interface *iface)
{
    *copy = *iface;
    copy->name = mem_strdup(iface->name);
    copy->networks =
        mem_dup(iface->networks, iface->n_networks * sizeof *copy->networks);
    copy->routes =
        mem_dup(iface->routes, iface->n_routes * sizeof *copy->routes);
}

/* Initializes 'copy' as a copy of 'state' that shares nothing with it. */
void
state_clone(struct state *copy, const struct state *state)
{
    *copy = *state;
    copy->reservations.worker_networks =
        mem_dup(state->reservations.worker_networks,
                state->reservations.n_worker_networks
                    * sizeof *copy->reservations.worker_networks);
    copy->interfaces = mem_dup(state->interfaces,
                               state->n_interfaces * sizeof *copy->interfaces);
    for (size_t i = 0; i < state->n_interfaces; i++) {
        interface_clone__(&copy->interfaces[i], &state->interfaces[i]);
    }
    copy->instances = mem_alloc(state->n_instances * sizeof *copy->instances);
    for (size_t i = 0; i < state->n_instances; i++) {
        instance_clone__(&copy->instances[i], &state->instances[i], copy,
                         state);
    }
    copy->bridges =
        mem_dup(state->bridges, state->n_bridges * sizeof *copy->bridges);
    for (size_t i = 0; i < state->n_bridges; i++) {
        const struct bridge *b = &state->bridges[i];

        copy->bridges[i].name = mem_strdup(b->name);
        copy->bridges[i].ports =
            mem_dup(b->ports, b->n_ports * sizeof *b->ports);
    }
}

/* Returns the instance with the given 'id', or NULL. */
const struct instance *
state_find_instance(const struct state *state, uint16_t id)
{
    for (size_t i = 0; i < state->n_instances; i++) {
        if (state->instances[i].id == id) {
            return &state->instances[i];
        }
    }
    return NULL;
}

/* Returns the instance that is called 'name', or NULL. */
const struct instance *
state_find_instance_by_name(const struct state *state, const char *name)
{
    for (size_t i = 0; i < state->n_instances; i++) {
        if (!strcmp(state->instances[i].name, name)) {
            return &state->instances[i];
        }
    }
    return NULL;
}

/* Returns the bridge with the given 'datapath_id', or NULL. */
const struct bridge *
state_find_bridge(const struct state *state, uint64_t datapath_id)
{
    for (size_t i = 0; i < state->n_bridges; i++) {
        if (state->bridges[i].datapath_id == datapath_id) {
            return &state->bridges[i];
        }
    }
    return NULL;
}

int
port_compare(const struct port *a, const struct port *b)
{
    if (a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    switch (a->type) {
    case PORT_NONE:
    case PORT_ANY:
    case PORT_IN:
    case PORT_SEEN:
    case PORT_NORMAL:
        return 0;
    case PORT_NUMBER:
        return (a->number > b->number) - (a->number < b->number);
    case PORT_NAME:
        return strcmp(a->name, b->name);
    }
    abort();
}

/* Stores in 'port' what 'word' stands for as a way out of a bridge: "seen",
 * "in_port", "normal".  Returns false if it is another word. */
bool
port_from_keyword(const char *word, struct port *port)
{
    static const struct {
        const char *word;
        enum port_type type;
    } keywords[] = { { "seen", PORT_SEEN },
                     { "in_port", PORT_IN },
                     { "normal", PORT_NORMAL } };

    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        if (!strcmp(word, keywords[i].word)) {
            *port = (struct port){ .type = keywords[i].type };
            return true;
        }
    }
    return false;
}

/* Returns the name of 'port' in words, which the caller must free. */
char *
port_to_string(const struct port *port)
{
    switch (port->type) {
    case PORT_NONE:
        return mem_strdup("none");
    case PORT_ANY:
        return mem_strdup("any");
    case PORT_IN:
        return mem_strdup("in_port");
    case PORT_SEEN:
        return mem_strdup("seen");
    case PORT_NORMAL:
        return mem_strdup("normal");
    case PORT_NUMBER:
        return mem_printf("%" PRIu32, port->number);
    case PORT_NAME:
        return mem_strdup(port->name);
    }
    abort();
}

/* Returns true if an address of 'ip''s family is known to be on the link of
 * 'iface'. */
static bool
has_networks__(const struct interface *iface, const struct in6_addr *ip)
{
    for (size_t i = 0; i < iface->n_networks; i++) {
        if (addr_is_ipv4(&iface->networks[i].addr) == addr_is_ipv4(ip)) {
            return true;
        }
    }
    return false;
}

/* Stores in 'next_hop' whom packets for 'ip' are to be handed to through
 * 'iface': itself, or a router, by the longest network or route that has it.
 * Returns false if 'ip' cannot be reached there. */
bool
interface_next_hop(const struct interface *iface, const struct in6_addr *ip,
                   struct in6_addr *next_hop)
{
    int longest = -1;

    *next_hop = *ip;
    for (size_t i = 0; i < iface->n_networks; i++) {
        if (addr_block_contains(&iface->networks[i], ip)
            && addr_is_ipv4(&iface->networks[i].addr) == addr_is_ipv4(ip)
            && iface->networks[i].len > longest) {
            longest = iface->networks[i].len;
        }
    }
    for (size_t i = 0; i < iface->n_routes; i++) {
        const struct route *route = &iface->routes[i];

        if (addr_block_contains(&route->to, ip)
            && addr_is_ipv4(&route->to.addr) == addr_is_ipv4(ip)
            && route->to.len > longest) {
            longest = route->to.len;
            *next_hop = route->via;
        }
    }
    return longest >= 0 || !has_networks__(iface, ip);
}

static int
member_compare__(const void *a_, const void *b_)
{
    const struct member *a = a_;
    const struct member *b = b_;

    return (a->id > b->id) - (a->id < b->id);
}

/* Returns the member with the given 'id', or NULL. */
const struct member *
instance_find_member(const struct instance *instance, uint16_t id)
{
    const struct member key = { .id = id };

    return instance->n_members
               ? bsearch(&key, instance->members, instance->n_members,
                         sizeof key, member_compare__)
               : NULL;
}

/* Returns true if 'addr' is an address of 'instance' itself. */
static bool
is_own__(const struct instance *instance, const struct in6_addr *addr)
{
    for (size_t i = 0; i < instance->n_addresses; i++) {
        if (addr_equal(&instance->addresses[i], addr)) {
            return true;
        }
    }
    return false;
}

/* Returns true if 'instance' has an address of the family of 'ip'. */
static bool
has_family__(const struct instance *instance, const struct in6_addr *ip)
{
    for (size_t i = 0; i < instance->n_addresses; i++) {
        if (addr_is_ipv4(&instance->addresses[i]) == addr_is_ipv4(ip)) {
            return true;
        }
    }
    return false;
}

/* Checks whether 'member' can be one of 'instance'.  Returns NULL, or the
 * reason why not, which the caller must free. */
char *
instance_check_member(const struct instance *instance,
                      const struct member *member)
{
    if (member->id == CALENDAR_NO_MEMBER) {
        return mem_printf("member %u is reserved", CALENDAR_NO_MEMBER);
    }
    if (!addr_is_unicast(&member->ip)) {
        return mem_strdup("ip is not the address of one host");
    }
    if (!has_family__(instance, &member->ip)) {
        return mem_strdup("the instance has no address of the family of the "
                          "member's ip");
    }
    if (is_own__(instance, &member->ip)) {
        return mem_strdup("ip is an address of the instance itself");
    }
    if (member->bits > MEMBER_BITS_MAX) {
        return mem_printf("bits is above %d", MEMBER_BITS_MAX);
    }
    if (!member->base) {
        return mem_strdup("base is 0, which is no UDP port");
    }
    if (member->base + (1u << member->bits) - 1 > UINT16_MAX) {
        return mem_printf("%u ports from %" PRIu16 " on exceed 65535",
                          1u << member->bits, member->base);
    }
    return NULL;
}

static bool
contains__(const struct addr_block *blocks, size_t n,
           const struct in6_addr *addr)
{
    for (size_t i = 0; i < n; i++) {
        if (addr_block_contains(&blocks[i], addr)) {
            return true;
        }
    }
    return false;
}

/* Returns true if 'instance' goes by what 'sender' says about its ticks. */
bool
instance_believes_sync(const struct instance *instance,
                       const struct in6_addr *sender)
{
    const struct sync_settings *sync = &instance->sync;

    switch (sync->from) {
    case SYNC_FROM_SENDERS:
        return contains__(instance->sources, instance->n_sources, sender);
    case SYNC_FROM_ANY:
        return true;
    case SYNC_FROM_LIST:
        return contains__(sync->list, sync->n_list, sender);
    }
    abort();
}

/* Returns true if packets for 'a' and for 'b' meet the same receiver: its MAC
 * address and the port that leads to it may differ, because they only say how
 * to get there. */
static bool
member_same_receiver__(const struct member *a, const struct member *b)
{
    return addr_equal(&a->ip, &b->ip) && a->base == b->base
           && a->bits == b->bits && a->keep == b->keep;
}

/* Checks that each member that 'epoch' distributes to is the same in 'old' and
 * 'new'. */
static char *
check_members__(const struct instance *old, const struct instance *new,
                const struct epoch *epoch, int *line)
{
    for (size_t i = 0; i < new->n_members; i++) {
        const struct member *b = &new->members[i];
        const struct member *a = instance_find_member(old, b->id);

        if (a && !member_same_receiver__(a, b)
            && calendar_count(epoch->calendar, b->id)) {
            *line = b->line;
            return mem_printf("instance %s: member %" PRIu16
                              " receives events "
                              "of epoch %" PRIu16 ", which is connected: its "
                              "ip, base, bits and keep cannot change (give "
                              "the changed member another id and a new "
                              "epoch)",
                              new->name, b->id, epoch->id);
        }
    }
    return NULL;
}

/* Checks that the epoch at index 'i' of 'new' is one of 'old' unchanged, or
 * that it comes after all of 'old''s. */
static char *
check_epoch__(const struct instance *old, const struct instance *new, size_t i,
              int *line)
{
    const struct epoch *b = new->epochs.epochs[i];
    const struct epoch *a = epochs_find_id(&old->epochs, b->id);
    const struct epoch *last;

    *line = new->epoch_lines[i];
    if (a) {
        if (!epoch_equal(a, b)) {
            return mem_printf("instance %s: epoch %" PRIu16
                              " is connected: its "
                              "beginning, members and weights cannot change "
                              "(add an epoch instead)",
                              new->name, b->id);
        }
        return check_members__(old, new, a, line);
    }

    last = old->epochs.n ? old->epochs.epochs[old->epochs.n - 1] : NULL;
    if (last && b->first <= last->first) {
        return mem_printf("instance %s: epoch %" PRIu16 " from tick %" PRIu64
                          " is not beyond the last connected one, epoch "
                          "%" PRIu16 " from tick %" PRIu64,
                          new->name, b->id, b->first, last->id, last->first);
    }
    return NULL;
}

/* Checks that 'new' has the newest epochs of 'old': the oldest may be left
 * out, but none behind one that stays, and not the newest. */
static char *
check_retired__(const struct instance *old, const struct instance *new,
                int *line)
{
    bool stays = false;

    for (size_t i = 0; i < old->epochs.n; i++) {
        const struct epoch *a = old->epochs.epochs[i];
        bool found = epochs_find_id(&new->epochs, a->id) != NULL;

        if (!found && (stays || i == old->epochs.n - 1)) {
            *line = new->line;
            return mem_printf("instance %s: epoch %" PRIu16
                              " is connected and "
                              "is missing: only the oldest epochs can go, and "
                              "the newest must stay",
                              new->name, a->id);
        }
        stays = stays || found;
    }
    return NULL;
}

static char *
instance_check_successor__(const struct instance *old,
                           const struct instance *new, int *line)
{
    char *error;

    if (new->generation != old->generation
        || (old->untouched && new->untouched)) {
        return NULL;
    }
    error = check_retired__(old, new, line);
    for (size_t i = 0; !error && i < new->epochs.n; i++) {
        error = check_epoch__(old, new, i, line);
    }
    return error;
}

/* Checks whether 'new' may take the place of 'old' while events flow: an
 * instance that is in both must keep what its connected epochs decide.
 *
 * Returns NULL if it may.  Otherwise returns the reason, which the caller must
 * free, and stores in '*line' the line of 'new''s configuration that is to
 * blame. */
char *
state_check_successor(const struct state *old, const struct state *new,
                      int *line)
{
    for (size_t i = 0; i < new->n_instances; i++) {
        const struct instance *b = &new->instances[i];
        const struct instance *a = state_find_instance(old, b->id);
        char *error = a ? instance_check_successor__(a, b, line) : NULL;

        if (error) {
            return error;
        }
    }
    return NULL;
}
