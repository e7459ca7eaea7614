/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-peers.h"

#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <hash.h>
#include <openvswitch/hmap.h>
#include <openvswitch/list.h>

#include "controller/api/grpc-peer.h"
#include "controller/core/mem.h"

struct entry {
    struct grpc_peer peer;
    struct hmap_node node;     /* In struct grpc_peers's 'entries'. */
    struct ovs_list left_node; /* In 'left', if 'n' is 0. */
    size_t n;                  /* Connections. */
    char host[];
};

struct grpc_peers {
    const struct grpc_settings *settings;
    struct hmap entries;
    struct ovs_list left; /* Those without a connection, oldest first. */
    size_t n;             /* Connections in all. */
};

/* Returns nobody, as 'settings', which may change, bound them. */
struct grpc_peers *
grpc_peers_create(const struct grpc_settings *settings)
{
    struct grpc_peers *peers = mem_zalloc(sizeof *peers);

    peers->settings = settings;
    hmap_init(&peers->entries);
    ovs_list_init(&peers->left);
    return peers;
}

static void
forget__(struct grpc_peers *peers, struct entry *e)
{
    ovs_list_remove(&e->left_node);
    hmap_remove(&peers->entries, &e->node);
    free(e);
}

/* Destroys 'peers', which may be NULL; no connection is left. */
void
grpc_peers_destroy(struct grpc_peers *peers)
{
    struct entry *e;

    if (peers) {
        LIST_FOR_EACH_SAFE (e, left_node, &peers->left) {
            forget__(peers, e);
        }
        hmap_destroy(&peers->entries);
        free(peers);
    }
}

/* Stores in '*host' and '*len' what of 'name', "PROTOCOL:HOST:PORT" or
 * "unix:...", is the host. */
static void
get_host__(const char *name, const char **host, size_t *len)
{
    static const char mapped[] = "[::ffff:";
    const char *colon = strchr(name, ':');
    const char *begin = colon && strncmp(name, "unix:", 5) ? colon + 1 : "";
    const char *end = strrchr(begin, ':');

    *len = end ? (size_t) (end - begin) : strlen(begin);
    if (!strncmp(begin, mapped, sizeof mapped - 1) && strchr(begin, '.')) {
        begin += sizeof mapped - 1;
        *len -= sizeof mapped; /* The bracket at the end, too. */
    }
    *host = begin;
}

/* Forgets those that need not be remembered any more. */
static void
prune__(struct grpc_peers *peers, int64_t now)
{
    struct entry *e;

    LIST_FOR_EACH_SAFE (e, left_node, &peers->left) {
        if (!grpc_peer_is_rested(&e->peer, now)) {
            break;
        }
        forget__(peers, e);
    }
}

static struct entry *
find__(struct grpc_peers *peers, const char *host, size_t len, int64_t now)
{
    uint32_t hash = hash_bytes(host, len, 0);
    struct entry *e;

    HMAP_FOR_EACH_WITH_HASH (e, node, hash, &peers->entries) {
        if (strlen(e->host) == len && !memcmp(e->host, host, len)) {
            return e;
        }
    }
    e = mem_zalloc(sizeof *e + len + 1);
    memcpy(e->host, host, len);
    grpc_peer_init(&e->peer, peers->settings, now);
    hmap_insert(&peers->entries, &e->node, hash);
    ovs_list_push_back(&peers->left, &e->left_node);
    return e;
}

/* Adds a connection from 'name', as struct listener names peers.  Returns NULL
 * and stores whose it is in '*peerp', or returns the reason against it, which
 * the caller must free. */
char *
grpc_peers_add(struct grpc_peers *peers, const char *name, int64_t now,
               struct grpc_peer **peerp)
{
    const struct grpc_settings *s = peers->settings;
    const char *host;
    struct entry *e;
    size_t len;

    *peerp = NULL;
    prune__(peers, now);
    if (peers->n >= s->max_connections) {
        return mem_printf("there are %zu connections already", peers->n);
    }
    get_host__(name, &host, &len);
    e = find__(peers, host, len, now);
    if (e->n >= s->max_peer_connections) {
        return mem_printf("there are %zu connections from there already",
                          e->n);
    }
    if (!e->n++) {
        ovs_list_remove(&e->left_node);
    }
    peers->n++;
    *peerp = &e->peer;
    return NULL;
}

/* Removes a connection of 'peer'. */
void
grpc_peers_remove(struct grpc_peers *peers, struct grpc_peer *peer,
                  int64_t now)
{
    struct entry *e = CONTAINER_OF(peer, struct entry, peer);

    peers->n--;
    if (!--e->n) {
        ovs_list_push_back(&peers->left, &e->left_node);
    }
    prune__(peers, now);
}

/* Returns how many connections there are. */
size_t
grpc_peers_count(const struct grpc_peers *peers)
{
    return peers->n;
}
