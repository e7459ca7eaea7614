/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_RECV_CONFIG_H
#define ENDPOINTS_RECV_CONFIG_H 1

/* What evlb-recv was told to do: the table of its options, their defaults, and
 * the checks across options.  Strings are borrowed from the arguments.
 *
 * With an EJFAT_URI, what was not given comes from there, and from the routes
 * of this host. */

#include <stdbool.h>
#include <stdint.h>

#include "endpoints/address.h"
#include "endpoints/api-options.h"
#include "endpoints/intake.h"
#include "endpoints/registration.h"

struct recv_config {
    union address listen; /* Address of the sockets, port 0. */
    uint64_t port;        /* First UDP port. */
    uint64_t n_ports;     /* UDP ports, a power of two. */
    uint64_t rcvbuf;      /* Bytes of each socket's buffer. */
    uint64_t batch;       /* Packets from one system call. */

    bool keep;        /* LB headers are still there. */
    bool any_payload; /* Event data is not evlb-send's. */

    const char *epochs;   /* evlbd's log of epochs, or NULL. */
    const char *instance; /* The node's instance in it. */
    uint64_t member;      /* The node's number in it. */

    struct api_options api;                  /* Where to register, if. */
    struct registration_config registration; /* As what. */
    double interval;                         /* Between reports, seconds. */
    double grace;                            /* Seconds to leave. */
    uint64_t queue;                          /* Events for processing. */
    double process_rate; /* Events a second, 0 for at once. */

    uint64_t max_open;   /* Limits: see struct reassembly_config. */
    uint64_t max_event;  /* Bytes. */
    uint64_t max_memory; /* Bytes. */
    double timeout;      /* Seconds. */
    double linger;       /* Seconds. */

    uint64_t n_packets; /* Stop after so many, 0 for no end. */
    double idle_exit;   /* Stop after so long without a packet. */

    const char *log;        /* File for packets, or NULL. */
    const char *event_log;  /* File for events, or NULL. */
    const char *ready_file; /* Made when the sockets are there, or NULL. */
    bool json;              /* Report in JSON. */
    bool quiet;             /* No progress. */
};

char *recv_config_parse(struct recv_config *, int argc, char *argv[]);
void recv_config_to_intake(const struct recv_config *, struct intake_config *);

#endif /* endpoints/recv-config.h */
