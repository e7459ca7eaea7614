/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-peers.h"

#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <hash.h>
#include <openvswitch/hmap.h>

#include "controller/core/mem.h"

struct grpc_peer {
    struct hmap_node node; /* In struct grpc_peers's 'peers'. */
    char *host;
    size_t n;      /* Connections. */
    double credit; /* Calls that it may make now, or -1 for all. */
    int64_t since; /* When that was so, in ms. */
};

struct grpc_peers {
    struct hmap peers;
};

struct grpc_peers *
grpc_peers_create(void)
{
    struct grpc_peers *peers = mem_zalloc(sizeof *peers);

    hmap_init(&peers->peers);
    return peers;
}

/* Destroys 'peers', which may be NULL; all are removed. */
void
grpc_peers_destroy(struct grpc_peers *peers)
{
    if (peers) {
        hmap_destroy(&peers->peers);
        free(peers);
    }
}

/* Returns how much of 'address', "HOST:PORT", is the host. */
static size_t
host_len__(const char *address)
{
    const char *colon = strrchr(address, ':');

    return colon ? (size_t) (colon - address) : strlen(address);
}

static struct grpc_peer *
find__(const struct grpc_peers *peers, const char *address)
{
    size_t len = host_len__(address);
    struct grpc_peer *p;

    HMAP_FOR_EACH_WITH_HASH (p, node, hash_bytes(address, len, 0),
                             &peers->peers) {
        if (strlen(p->host) == len && !memcmp(p->host, address, len)) {
            return p;
        }
    }
    return NULL;
}

/* Notes a connection from 'address', "HOST:PORT"; returns who it is of. */
struct grpc_peer *
grpc_peers_add(struct grpc_peers *peers, const char *address, int64_t now)
{
    struct grpc_peer *p = find__(peers, address);

    if (!p) {
        size_t len = host_len__(address);

        p = mem_zalloc(sizeof *p);
        p->host = mem_zalloc(len + 1);
        memcpy(p->host, address, len);
        p->credit = -1;
        p->since = now;
        hmap_insert(&peers->peers, &p->node, hash_bytes(address, len, 0));
    }
    p->n++;
    return p;
}

/* Notes the end of a connection of 'p'. */
void
grpc_peers_remove(struct grpc_peers *peers, struct grpc_peer *p)
{
    if (!--p->n) {
        hmap_remove(&peers->peers, &p->node);
        free(p->host);
        free(p);
    }
}

/* Returns how many connections the host of 'address' has. */
size_t
grpc_peer_count(const struct grpc_peers *peers, const char *address)
{
    const struct grpc_peer *p = find__(peers, address);

    return p ? p->n : 0;
}

/* Returns true if 'p' may make another call at 'now', in ms. */
bool
grpc_peer_admit(struct grpc_peer *p, uint32_t max_rate, int64_t now)
{
    p->credit = p->credit < 0
                    ? max_rate
                    : p->credit + (double) (now - p->since) * max_rate / 1000;
    p->credit = p->credit > max_rate ? max_rate : p->credit;
    p->since = now;
    if (p->credit < 1) {
        return false;
    }
    p->credit--;
    return true;
}
