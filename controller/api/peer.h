/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_PEER_H
#define EVLB_PEER_H 1

/* Who is at the other end of a Unix socket, as the kernel says. */

#include <sys/types.h>

char *peer_check(int fd, gid_t group);
char *peer_to_string(int fd, const char *address);

#endif /* peer.h */
