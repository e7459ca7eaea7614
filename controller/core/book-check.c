/* SPDX-License-Identifier: Apache-2.0 */

/* What a book asks of the state. */

#include "controller/core/book.h"

#include <inttypes.h>

#include "controller/core/instance.h"
#include "controller/core/mem.h"

static bool
has_family__(const struct instance *instance, bool ipv4)
{
    for (size_t i = 0; i < instance->n_addresses; i++) {
        if (addr_is_ipv4(&instance->addresses[i]) == ipv4) {
            return true;
        }
    }
    return false;
}

static bool
reservation_has_family__(const struct reservation *r, bool ipv4)
{
    switch (r->family) {
    case IP_FAMILY_DUAL:
        return true;
    case IP_FAMILY_IPV4:
        return ipv4;
    case IP_FAMILY_IPV6:
        return !ipv4;
    }
    return true;
}

/* Checks that 'new' still has the addresses of 'old' family by family, as far
 * as 'r' was promised them. */
static char *
check_families__(const struct reservation *r, const struct instance *old,
                 const struct instance *new)
{
    for (int ipv4 = 0; ipv4 < 2; ipv4++) {
        if (has_family__(old, ipv4) && reservation_has_family__(r, ipv4)
            && !has_family__(new, ipv4)) {
            return mem_printf("instance %s has reservation %" PRIu64
                              " (\"%s\"), so that it must keep an %s address: "
                              "free it first",
                              new->name, r->entry.id, r->name,
                              ipv4 ? "IPv4" : "IPv6");
        }
    }
    return NULL;
}

/* Checks that 'new' can take the place of 'old' while what 'book' says is
 * reserved: each reserved instance stays, stays reservable, and has an address
 * of each family that it had.
 *
 * Returns NULL if so.  Otherwise returns the reason, which the caller must
 * free, and stores in '*line' the line of 'new''s configuration that is to
 * blame, or 0. */
char *
book_check_successor(const struct book *book, const struct state *old,
                     const struct state *new, int *line)
{
    char *error = NULL;

    for (size_t i = 0; !error && i < book->reservations.n; i++) {
        const struct reservation *r = book_get_reservation(book, i);
        const struct instance *a = state_find_instance(old, r->instance);
        const struct instance *b = state_find_instance(new, r->instance);

        *line = b ? b->line : 0;
        if (!b || !b->reservable) {
            error = mem_printf("instance %" PRIu16 " has reservation %" PRIu64
                               " (\"%s\"), so that it must stay and be "
                               "reservable: free it first",
                               r->instance, r->entry.id, r->name);
        } else if (a) {
            error = check_families__(r, a, b);
        }
    }
    return error;
}
