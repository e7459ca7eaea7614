/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/api-options.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/addr.h"
#include "endpoints/util.h"

/* Finds the URI and parses it.  Returns NULL or an error, which the caller
 * frees. */
char *
api_options_finish(struct api_options *o)
{
    const char *text = o->text ? o->text : getenv(EJFAT_URI_VARIABLE);
    char *reason, *error;

    if (text && *text && strcmp(text, "none") != 0) {
        reason = ejfat_uri_parse(text, &o->uri);
        if (reason) {
            error = xasprintf("--uri: %s", reason);
            free(reason);
            return error;
        }
        if (!o->uri.lb_id[0] || !o->uri.token[0]) {
            return xasprintf("--uri: EJFAT_URI: it has no %s; take the one "
                             "that \"evlbctl reserve\" prints",
                             o->uri.lb_id[0] ? "token" : "reservation");
        }
        o->set = true;
    }
    if ((o->ca || o->insecure) && !(o->set && o->uri.tls)) {
        return xasprintf("--%s: it is of use with a URI of ejfats: only",
                         o->ca ? "ca" : "insecure");
    }
    return NULL;
}

static void
from_endpoint(const struct ejfat_endpoint *endpoint, union address *a)
{
    memset(a, 0, sizeof *a);
    if (addr_is_ipv4(&endpoint->ip)) {
        a->in.sin_family = AF_INET;
        a->in.sin_addr.s_addr = htonl(addr_get_ipv4(&endpoint->ip));
    } else {
        a->in6.sin6_family = AF_INET6;
        a->in6.sin6_addr = endpoint->ip;
    }
    address_set_port(a, endpoint->min_port);
}

/* Stores the one of 'endpoints' that is of 'family', with its first port, in
 * '*a'; AF_UNSPEC stands for IPv4, or IPv6 if there is no other.  Returns
 * false if there is none. */
bool
api_options_get_address(
    const struct ejfat_endpoint endpoints[EJFAT_N_FAMILIES], int family,
    union address *a)
{
    for (int i = 0; i < EJFAT_N_FAMILIES; i++) {
        if (endpoints[i].min_port
            && (family == AF_UNSPEC
                || (family == AF_INET) == (i == EJFAT_IPV4))) {
            from_endpoint(&endpoints[i], a);
            return true;
        }
    }
    return false;
}
