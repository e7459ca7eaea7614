/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/sync-address.h"

#include <netinet/in.h>
#include <string.h>

#include <event2/util.h>

#include "controller/core/mem.h"

/* Parses 's' into 'address'.  Returns NULL if successful, or an error, which
 * the caller must free. */
char *
sync_address_parse(const char *s, struct sync_address *address)
{
    struct sockaddr_in *sin = (struct sockaddr_in *) &address->sa;
    int len = sizeof address->sa;

    memset(address, 0, sizeof *address);
    if (strncmp(s, "udp:", 4)
        || evutil_parse_sockaddr_port(s + 4, (struct sockaddr *) sin, &len)
        || !sin->sin_port) {
        return mem_printf("\"%s\" is not udp:ADDRESS:PORT with a numeric "
                          "address",
                          s);
    }
    address->len = (socklen_t) len;
    return NULL;
}
