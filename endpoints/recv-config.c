/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/recv-config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "endpoints/options.h"
#include "endpoints/util.h"

#define MIB (UINT64_C(1) << 20)
#define MAX_CLOSED 65536 /* Closed events to remember. */
#define MAX_RANGES 4096  /* Separate ranges in one event. */

static char *
parse_payload(const struct option_row *row, const char *value, void *target)
{
    bool *any = target;

    (void) row;
    if (strcmp(value, "evlb") && strcmp(value, "any")) {
        return xasprintf("'%s' is not 'evlb' or 'any'", value);
    }
    *any = !strcmp(value, "any");
    return NULL;
}

static char *
parse_n_ports(const struct option_row *row, const char *value, void *target)
{
    uint64_t *n = target;
    char *reason = options_number(row, value, n);

    if (reason || *n & (*n - 1)) {
        free(reason);
        return xasprintf("'%s' is not a power of two from 1 to 16384", value);
    }
    return NULL;
}

#define TO(MEMBER) offsetof(struct recv_config, MEMBER)

/* clang-format off */
static const struct option_row rows[] = {
    { "listen", "ADDRESS", "Address to receive at (needed)",
      options_address, TO(listen), 0, 0 },
    { "port", "PORT", "First UDP port (needed)",
      options_number, TO(port), 1, 65535 },
    { "ports", "N", "Number of UDP ports, a power of two (1)",
      parse_n_ports, TO(n_ports), 1, 16384 },
    { "rcvbuf", "BYTES", "Receive buffer of each socket (8388608)",
      options_number, TO(rcvbuf), 4096, 1 << 30 },
    { "batch", "N", "Packets from one system call at most (64)",
      options_number, TO(batch), 1, 1024 },

    { "keep", NULL, "Packets still carry their load-balancer header",
      options_flag, TO(keep), 0, 0 },
    { "payload", "evlb|any",
      "Check event data to be evlb-send's, or not (evlb)",
      parse_payload, TO(any_payload), 0, 0 },

    { "epochs", "FILE", "evlbd's log of epochs: tell events of other nodes",
      options_string, TO(epochs), 0, 0 },
    { "instance", "NAME", "The node's instance, with --epochs",
      options_string, TO(instance), 0, 0 },
    { "member", "N", "The node's id as a member, with --epochs",
      options_number, TO(member), 0, UINT16_MAX - 1 },

    { "max-events", "N", "Events open at once (4096)",
      options_number, TO(max_open), 1, 1 << 20 },
    { "max-event-size", "BYTES", "Largest event (67108864)",
      options_number, TO(max_event), 1, UINT32_MAX },
    { "max-memory", "BYTES", "Data of all open events (1073741824)",
      options_number, TO(max_memory), 1, UINT64_C(1) << 40 },
    { "timeout", "SECONDS",
      "Give an event up so long after its first packet (2)",
      options_real, TO(timeout), 0, 86400 },
    { "linger", "SECONDS",
      "Recognise late packets of closed events so long (5)",
      options_real, TO(linger), 0, 86400 },

    { "packets", "N", "Stop after so many packets",
      options_number, TO(n_packets), 1, UINT64_MAX },
    { "idle-exit", "SECONDS", "Stop when no packet came for so long",
      options_real, TO(idle_exit), 0, 86400 },
    { "ready-file", "FILE", "Make this file when all ports are open",
      options_string, TO(ready_file), 0, 0 },

    { "log", "FILE", "Log each packet",
      options_string, TO(log), 0, 0 },
    { "event-log", "FILE", "Log each event",
      options_string, TO(event_log), 0, 0 },
    { "json", NULL, "Report in JSON",
      options_flag, TO(json), 0, 0 },
    { "quiet", NULL, "No progress on standard error",
      options_flag, TO(quiet), 0, 0 },
};
/* clang-format on */

static const struct options options = {
    .program = "evlb-recv",
    .summary = "receive events from a load balancer, as a compute node does",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
};

static const struct recv_config defaults = {
    .n_ports = 1,
    .rcvbuf = 8 * MIB,
    .batch = 64,
    .member = UINT64_MAX,
    .max_open = 4096,
    .max_event = 64 * MIB,
    .max_memory = 1024 * MIB,
    .timeout = 2,
    .linger = 5,
};

/* Returns NULL if the options fit together, else an error. */
static char *
check_config(const struct recv_config *config)
{
    if (!address_is_set(&config->listen)) {
        return xasprintf("--listen: it is needed");
    } else if (!config->port) {
        return xasprintf("--port: it is needed");
    } else if (config->port + config->n_ports > 65536) {
        return xasprintf("--ports: %d ports from %d on do not fit below "
                         "65536",
                         (int) config->n_ports, (int) config->port);
    } else if (!config->epochs
               != (!config->instance || config->member == UINT64_MAX)) {
        return xasprintf("--epochs: it needs --instance and --member, and "
                         "they need it");
    } else if (config->max_event > config->max_memory) {
        return xasprintf("--max-memory: it must not be less than "
                         "--max-event-size");
    }
    return NULL;
}

/* Parses the arguments of evlb-recv into '*config'.  Returns NULL or an error
 * that names the option, which the caller frees. */
char *
recv_config_parse(struct recv_config *config, int argc, char *argv[])
{
    char *error;

    *config = defaults;
    error = options_parse(&options, argc, argv, config);
    return error ? error : check_config(config);
}

/* Puts into '*intake' what 'config' says about the intake of packets. */
void
recv_config_to_intake(const struct recv_config *config,
                      struct intake_config *intake)
{
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        seed = clock_real();
    }
    *intake = (struct intake_config) {
        .reassembly = {
            .max_open = config->max_open,
            .max_closed = MAX_CLOSED,
            .max_ranges = MAX_RANGES,
            .max_event = config->max_event,
            .max_memory = config->max_memory,
            .timeout = config->timeout * NS_PER_S,
            .linger = config->linger * NS_PER_S,
            .hash_seed = seed,
        },
        .keep = config->keep,
        .any_payload = config->any_payload,
        .port_base = config->port,
        .port_bits = __builtin_ctzll(config->n_ports),
    };
}
