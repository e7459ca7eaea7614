/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/peer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/core/mem.h"

#define PEER_GROUPS_MAX 256

/* Is the peer on 'fd', whose own group is 'own', in 'group'? */
static bool
is_in_group__(int fd, gid_t own, gid_t group)
{
    gid_t groups[PEER_GROUPS_MAX];
    socklen_t size = sizeof groups;

    if (group == (gid_t) -1) {
        return false;
    }
    if (own == group) {
        return true;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size)) {
        return false;
    }
    for (size_t i = 0; i < size / sizeof *groups; i++) {
        if (groups[i] == group) {
            return true;
        }
    }
    return false;
}

/* Checks that the peer on the Unix socket 'fd' is root, the user that we are,
 * or in 'group' ((gid_t) -1 for none).  Returns NULL if so, or the reason to
 * turn it away, which the caller must free. */
char *
peer_check(int fd, gid_t group)
{
    struct ucred cred;
    socklen_t size = sizeof cred;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size)) {
        return mem_printf("who it is is not known: %s", strerror(errno));
    }
    if (!cred.uid || cred.uid == geteuid()
        || is_in_group__(fd, cred.gid, group)) {
        return NULL;
    }
    return mem_printf("user %u (process %d) is neither root, nor the user "
                      "that evlbd runs as, nor in the group of the socket",
                      (unsigned int) cred.uid, (int) cred.pid);
}

/* Returns a name, for the log, of the peer on 'fd', a connection to the Unix
 * socket 'address'; the caller must free it. */
char *
peer_to_string(int fd, const char *address)
{
    struct ucred cred;
    socklen_t size = sizeof cred;

    return (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size)
                ? mem_strdup(address)
                : mem_printf("%s (user %u, process %d)", address,
                             (unsigned int) cred.uid, (int) cred.pid));
}
