/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_SEND_CONFIG_H
#define ENDPOINTS_SEND_CONFIG_H 1

/* What evlb-send was told to do: the table of its options, their defaults, and
 * the checks across options.  Strings are borrowed from the arguments.
 *
 * With an EJFAT_URI, addresses that were not given are those of the URI. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoints/address.h"
#include "endpoints/api-options.h"
#include "endpoints/plan.h"

/* Bytes of IP and UDP headers in front of the load-balancer header. */
#define SEND_IPV4_UDP_LEN 28
#define SEND_IPV6_UDP_LEN 48

struct send_config {
    struct plan_config plan; /* What to send. */

    union address dest;   /* Where to, port 0. */
    union address source; /* Where from, or unset. */
    uint64_t source_port; /* Of the first socket, 0 for any. */
    uint64_t mtu;         /* Bytes of the largest IP packet. */
    uint64_t ttl;         /* Time to live or hop limit. */
    uint64_t dscp;        /* Of all packets. */
    uint64_t batch;       /* Packets for one system call. */

    double rate;     /* Events a second, 0 for no limit. */
    double gbps;     /* Of IP packets, 0 for no limit. */
    double duration; /* Seconds, 0 for no limit. */

    union address sync; /* Where Sync datagrams go, or unset. */
    uint64_t sync_id;   /* Source id in them. */
    double sync_lead;   /* Seconds of Sync before the first event. */

    struct api_options api; /* The control plane, if any. */
    bool add_sender;        /* Have our packets let through there? */
    union address own;      /* Our address, if so. */

    uint64_t reorder; /* Packets that may overtake one. */
    double delay;     /* Seconds to be behind other sources. */

    const char *log; /* File, or NULL. */
    bool json;       /* Report in JSON. */
    bool quiet;      /* No progress. */
};

char *send_config_parse(struct send_config *, int argc, char *argv[]);
size_t send_config_overhead(const struct send_config *);

#endif /* endpoints/send-config.h */
