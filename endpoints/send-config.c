/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/send-config.h"

#include <stdlib.h>
#include <string.h>

#include "endpoints/options.h"
#include "endpoints/util.h"

/* Parses 'value', one of the words or a number, into a selector.  'word' is
 * what the selector may follow beside chance. */
static char *
parse_selector(const struct option_row *row, const char *value,
               struct plan_selector *selector, const char *word,
               enum plan_select how)
{
    uint64_t number = 0;
    char *reason;

    if (!strcmp(value, "random")) {
        selector->how = PLAN_SELECT_RANDOM;
        return NULL;
    } else if (!strcmp(value, word)) {
        selector->how = how;
        return NULL;
    }

    reason = options_number(row, value, &number);
    if (reason) {
        free(reason);
        return xasprintf("'%s' is not 'random', '%s' or a number from 0 to "
                         "65535",
                         value, word);
    }
    selector->how = PLAN_SELECT_FIXED;
    selector->value = number;
    return NULL;
}

static char *
parse_entropy(const struct option_row *row, const char *value, void *target)
{
    return parse_selector(row, value, target, "data-id", PLAN_SELECT_DATA_ID);
}

static char *
parse_slot(const struct option_row *row, const char *value, void *target)
{
    return parse_selector(row, value, target, "tick", PLAN_SELECT_TICK);
}

static char *
parse_event_start(const struct option_row *row, const char *value,
                  void *target)
{
    struct plan_config *plan = target;

    plan->own_event_nums = true;
    return options_number(row, value, &plan->event_start);
}

#define TO(MEMBER) offsetof(struct send_config, MEMBER)

/* clang-format off */
static const struct option_row rows[] = {
    { "dest", "ADDRESS", "Address of the load balancer (the URI's data=)",
      options_address, TO(dest), 0, 0 },
    { "port", "PORT[-PORT]", "UDP port, or range to spread over (19522)",
      options_numbers, TO(plan.ports), 1, 65535 },
    { "source", "ADDRESS", "Send from this address",
      options_address, TO(source), 0, 0 },
    { "sockets", "N", "Sockets, with a source port each (1)",
      options_number, TO(plan.n_sockets), 1, 256 },
    { "source-port", "PORT", "Source port of the first socket, then 1 up each",
      options_number, TO(source_port), 1, 65535 },

    { "events", "N", "Events to send, 0 for no end (1000)",
      options_number, TO(plan.n_events), 0, UINT64_MAX },
    { "duration", "SECONDS", "Stop after so long",
      options_real, TO(duration), 0, 1000000000 },
    { "event-size", "BYTES[-BYTES]",
      "Data of each event and data source (10000)",
      options_numbers, TO(plan.event_size), 0, UINT32_MAX },
    { "data-id", "ID[-ID]", "Data sources that contribute to each event (1)",
      options_numbers, TO(plan.data_ids), 0, UINT16_MAX },
    { "event-start", "N",
      "Number events N, N + 1, ... (default: by their ticks)",
      parse_event_start, TO(plan), 0, UINT64_MAX },
    { "seed", "N", "Of all random choices (0)",
      options_number, TO(plan.seed), 0, UINT64_MAX },

    { "lb-version", "2|3", "Version of the load-balancer header (2)",
      options_number, TO(plan.lb_version), 2, 3 },
    { "tick-start", "N", "Tick of the first event (0)",
      options_number, TO(plan.tick_start), 0, UINT64_MAX },
    { "tick-step", "N", "From the tick of an event to the next (1)",
      options_number, TO(plan.tick_step), 0, UINT64_MAX },
    { "tick-clock", NULL, "Ticks are microseconds since the UNIX epoch",
      options_flag, TO(plan.tick_clock), 0, 0 },
    { "entropy", "N|random|data-id", "Port selector (data-id)",
      parse_entropy, TO(plan.entropy), 0, UINT16_MAX },
    { "slot-select", "N|random|tick",
      "Slot selector of version 3 headers (tick)",
      parse_slot, TO(plan.slot), 0, UINT16_MAX },

    { "mtu", "BYTES", "Largest IP packet (1500)",
      options_number, TO(mtu), 100, 9000 },
    { "ttl", "N", "Time to live, hop limit (64)",
      options_number, TO(ttl), 1, 255 },
    { "dscp", "N", "Differentiated services code point (0)",
      options_number, TO(dscp), 0, 63 },
    { "rate", "N", "Events a second at most",
      options_real, TO(rate), 0, 1000000000 },
    { "gbps", "N", "Gb/s of IP packets at most",
      options_real, TO(gbps), 0, 10000 },
    { "reorder", "N", "Send out of order: up to N packets overtake each (0)",
      options_number, TO(reorder), 0, 4096 },
    { "delay", "SECONDS", "Start so much later than other sources (0)",
      options_real, TO(delay), 0, 3600 },
    { "batch", "N", "Packets for one system call at most (64)",
      options_number, TO(batch), 1, 1024 },

    { "sync", "ADDRESS:PORT",
      "Send a Sync datagram there each second (the URI's sync=)",
      options_address_port, TO(sync), 0, 0 },
    { "sync-id", "N", "Source id in Sync (default: the first data source)",
      options_number, TO(sync_id), 0, UINT32_MAX },
    { "sync-lead", "SECONDS", "Sync alone before the first event (1)",
      options_real, TO(sync_lead), 0, 3600 },

    API_OPTIONS_ROWS(send_config, api),
    { "add-sender", NULL,
      "Be added to the reservation's senders while this runs",
      options_flag, TO(add_sender), 0, 0 },

    { "log", "FILE", "Log each packet that was sent",
      options_string, TO(log), 0, 0 },
    { "json", NULL, "Report in JSON",
      options_flag, TO(json), 0, 0 },
    { "quiet", NULL, "No progress on standard error",
      options_flag, TO(quiet), 0, 0 },
};
/* clang-format on */

static const struct options options = {
    .program = "evlb-send",
    .summary = "send events to a load balancer, as a data source does",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
};

static const struct send_config defaults = {
    .plan = {
        .n_events = 1000,
        .data_ids = { 1, 1 },
        .event_size = { 10000, 10000 },
        .n_sockets = 1,
        .tick_step = 1,
        .lb_version = 2,
        .entropy = { PLAN_SELECT_DATA_ID, 0 },
        .slot = { PLAN_SELECT_TICK, 0 },
    },
    .mtu = 1500,
    .ttl = 64,
    .batch = 64,
    .sync_id = UINT64_MAX,
    .sync_lead = 1,
};

/* Returns the bytes of a packet that are not event data. */
size_t
send_config_overhead(const struct send_config *config)
{
    bool v6 = config->dest.sa.sa_family == AF_INET6;

    return (v6 ? SEND_IPV6_UDP_LEN : SEND_IPV4_UDP_LEN) + WIRE_LB_LEN
           + WIRE_RE_LEN;
}

/* Returns NULL if the ticks make sense, else an error. */
static char *
check_ticks(const struct plan_config *plan)
{
    if (plan->tick_clock && (plan->tick_start || plan->tick_step != 1)) {
        return xasprintf("--tick-clock: it excludes --tick-start and "
                         "--tick-step");
    } else if (!plan->tick_step && !plan->own_event_nums) {
        return xasprintf("--tick-step: 0 needs --event-start, as events "
                         "could not be told apart by their ticks");
    } else if (plan->lb_version == 2 && plan->slot.how != PLAN_SELECT_TICK) {
        return xasprintf("--slot-select: version 2 headers have none; use "
                         "--lb-version 3");
    }
    return NULL;
}

/* Sets the UDP port, if none was given: the usual one, where the URI has
 * it. */
static void
find_port(struct send_config *config)
{
    const struct ejfat_endpoint *data =
        &config->api.uri.data[config->dest.sa.sa_family == AF_INET6];
    struct options_range *ports = &config->plan.ports;

    if (!ports->min) {
        ports->min = WIRE_LB_PORT;
        if (data->min_port
            && (data->min_port > WIRE_LB_PORT
                || data->max_port < WIRE_LB_PORT)) {
            ports->min = data->min_port;
        }
        ports->max = ports->min;
    }
}

/* Puts in what the URI says, where nothing was given. */
static char *
finish_addresses(struct send_config *config)
{
    const struct ejfat_uri *uri = &config->api.uri;
    char *error = api_options_finish(&config->api);

    if (error) {
        return error;
    }
    if (!address_is_set(&config->dest)
        && api_options_get_address(uri->data, config->source.sa.sa_family,
                                   &config->dest)) {
        address_set_port(&config->dest, 0);
    }
    if (!address_is_set(&config->dest)) {
        return xasprintf("--dest: it is needed%s",
                         config->api.set ? ", as the URI has no data= of that "
                                           "family"
                                         : "");
    }
    if (!address_is_set(&config->sync)
        && !api_options_get_address(uri->sync, config->dest.sa.sa_family,
                                    &config->sync)) {
        api_options_get_address(uri->sync, AF_UNSPEC, &config->sync);
    }
    find_port(config);
    return NULL;
}

/* Finds the address that packets will come from, if it is asked for. */
static char *
find_own_address(struct send_config *config)
{
    union address to = config->dest;

    if (!config->add_sender) {
        return NULL;
    } else if (!config->api.set) {
        return xasprintf("--add-sender: it needs a URI; see --uri");
    } else if (address_is_set(&config->source)) {
        config->own = config->source;
        return NULL;
    }
    address_set_port(&to, config->plan.ports.min);
    return address_find_own(&to, &config->own);
}

/* Returns NULL if the options fit together, else an error. */
static char *
check_config(const struct send_config *config)
{
    if (address_is_set(&config->source)
        && (config->source.sa.sa_family != config->dest.sa.sa_family)) {
        return xasprintf("--source: it must be of the same family, IPv4 or "
                         "IPv6, as --dest");
    } else if (config->source_port
               && config->source_port + config->plan.n_sockets > 65536) {
        return xasprintf("--source-port: the source ports of all sockets "
                         "must fit below 65536");
    }
    return check_ticks(&config->plan);
}

/* Parses the arguments of evlb-send into '*config'.  Returns NULL or an error
 * that names the option, which the caller frees. */
char *
send_config_parse(struct send_config *config, int argc, char *argv[])
{
    char *error;

    *config = defaults;
    error = options_parse(&options, argc, argv, config);
    error = error ? error : finish_addresses(config);
    error = error ? error : check_config(config);
    error = error ? error : find_own_address(config);
    if (error) {
        return error;
    }

    config->plan.max_segment = config->mtu - send_config_overhead(config);
    if (config->sync_id == UINT64_MAX) {
        config->sync_id = config->plan.data_ids.min;
    }
    return NULL;
}
