/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/recv-config.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "endpoints/options.h"
#include "endpoints/util.h"

#define MIB (UINT64_C(1) << 20)
#define MAX_CLOSED 65536 /* Closed events to remember. */
#define MAX_RANGES 4096  /* Separate ranges in one event. */

/* How a worker behaves that could not do what it wanted; worker.h. */
#define BACKOFF_MIN (200 * NS_PER_MS)
#define BACKOFF_MAX (10 * NS_PER_S)
#define FAREWELL (3 * NS_PER_S)

/* A balancer needs a period and its look-ahead to send no more. */
#define QUIET (2 * NS_PER_S)

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

static char *
parse_slots(const struct option_row *row, const char *value, void *target)
{
    (void) row;
    if (!*value || !slot_ranges_parse(value, target)) {
        return xasprintf("'%s' is not " SLOT_RANGES_FORM, value);
    }
    return NULL;
}

static char *
parse_control(const struct option_row *row, const char *value, void *target)
{
    struct control_config *control = target;
    char *end;

    (void) row;
    control->fixed = strcmp(value, "pi") != 0;
    control->value = control->fixed ? strtod(value, &end) : 0;
    if (control->fixed
        && (end == value || *end || !isfinite(control->value)
            || fabs(control->value) > CONTROL_MAX)) {
        return xasprintf("'%s' is not 'pi' or a number from %g to %g", value,
                         -CONTROL_MAX, CONTROL_MAX);
    }
    return NULL;
}

#define TO(MEMBER) offsetof(struct recv_config, MEMBER)

/* clang-format off */
static const struct option_row rows[] = {
    { "listen", "ADDRESS",
      "Address to receive at (with a URI: the one towards its data=)",
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

    API_OPTIONS_ROWS(recv_config, api),
    { "name", "NAME", "Register as (the host's name)",
      options_string, TO(registration.name), 0, 0 },
    { "address", "ADDRESS", "Have events sent there (--listen)",
      options_address, TO(registration.address), 0, 0 },
    { "weight", "W", "Share at first, relative to other nodes (1)",
      options_real, TO(registration.weight), 0, 1000000 },
    { "min-factor", "F", "Least share, as a multiple of the even one (0)",
      options_real, TO(registration.min_factor), 0, 1000000 },
    { "max-factor", "F", "Greatest share, the same way (no limit)",
      options_real, TO(registration.max_factor), 0, 1000000 },
    { "slots", "RANGES", "Demand these slots, as 0-63,100-119,any:16",
      parse_slots, TO(registration.slots), 0, 0 },
    { "interval", "SECONDS", "Between reports of state (0.1)",
      options_real, TO(interval), 0, 3600 },
    { "control", "pi|N",
      "Control signal: by the queue's fill, or always N (pi)",
      parse_control, TO(registration.control), 0, 0 },
    { "set-point", "F", "Fill that the signal aims at (0.25)",
      options_real, TO(registration.control.set_point), 0, 1 },
    { "kp", "K", "Its gain (100)",
      options_real, TO(registration.control.kp), 0, 1000000 },
    { "ki", "K", "Its gain for each second that the fill is off (0)",
      options_real, TO(registration.control.ki), 0, 1000000 },
    { "grace", "SECONDS",
      "At the end, receive what still comes for so long (10)",
      options_real, TO(grace), 0, 3600 },
    { "queue", "N", "Events that wait for processing at most (1000)",
      options_number, TO(queue), 1, 1000000000 },
    { "process-rate", "N", "Events processed a second (at once)",
      options_real, TO(process_rate), 0, 1000000000 },

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
    .registration = {
        .weight = 1,
        .control = { .set_point = 0.25, .kp = 100 },
    },
    .interval = 0.1,
    .grace = 10,
    .queue = 1000,
    .max_open = 4096,
    .max_event = 64 * MIB,
    .max_memory = 1024 * MIB,
    .timeout = 2,
    .linger = 5,
};

static const char *
host_name(void)
{
    static char name[HOST_NAME_MAX + 1];

    return gethostname(name, sizeof name - 1) || !name[0] ? "worker" : name;
}

/* Sets the address to listen at to the one towards the data addresses of the
 * URI, if there is none yet. */
static char *
find_listen_address(struct recv_config *config)
{
    union address data;

    if (address_is_set(&config->listen)) {
        return NULL;
    }
    if (!api_options_get_address(config->api.uri.data, AF_UNSPEC, &data)) {
        return xasprintf("--listen: it is needed, as the URI has no data= to "
                         "derive it from");
    }
    return address_find_own(&data, &config->listen);
}

static bool
is_any_address(const union address *a)
{
    return (a->sa.sa_family == AF_INET6
                ? IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr)
                : a->in.sin_addr.s_addr == htonl(INADDR_ANY));
}

/* Sets the address to register, if there is none yet. */
static char *
find_registered_address(struct recv_config *config)
{
    union address *a = &config->registration.address;
    union address data;
    char *error = NULL;

    if (address_is_set(a)) {
        return NULL;
    }
    if (!is_any_address(&config->listen)) {
        *a = config->listen;
    } else if (!api_options_get_address(config->api.uri.data,
                                        config->listen.sa.sa_family, &data)) {
        error = xasprintf("--address: it is needed, as the URI has no data= "
                          "of that family to derive it from");
    } else {
        error = address_find_own(&data, a);
    }
    return error;
}

/* Puts together what is to be registered. */
static char *
finish_registration(struct recv_config *config)
{
    struct registration_config *r = &config->registration;
    char *error = api_options_finish(&config->api);

    if (error || !config->api.set) {
        return error;
    }
    error = find_listen_address(config);
    error = error ? error : find_registered_address(config);
    if (error) {
        return error;
    }
    address_set_port(&r->address, config->port);
    r->name = r->name ? r->name : host_name();
    r->port_bits = __builtin_ctzll(config->n_ports);
    r->keep = config->keep;
    r->worker = (struct worker_config){
        .interval = config->interval * NS_PER_S,
        .backoff_min = BACKOFF_MIN,
        .backoff_max = BACKOFF_MAX,
        .quiet = QUIET,
        .grace = config->grace * NS_PER_S,
        .farewell = FAREWELL,
    };
    return NULL;
}

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
    } else if (config->registration.max_factor > 0
               && (config->registration.max_factor
                   < config->registration.min_factor)) {
        return xasprintf("--max-factor: it must not be less than "
                         "--min-factor");
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
    error = error ? error : finish_registration(config);
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
