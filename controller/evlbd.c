/* SPDX-License-Identifier: Apache-2.0 */

/* evlbd: the controller daemon.
 *
 * It reads a configuration, waits for the configured switches to connect, and
 * keeps each of them at the rules that follow from the configuration.  SIGHUP
 * reads the configuration again; SIGTERM ends the daemon, and the switches go
 * on with what they have. */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include <config.h>
#include <openvswitch/util.h>
#include <openvswitch/vlog.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/epoch-log.h"
#include "controller/log.h"
#include "controller/notify.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/server.h"

VLOG_DEFINE_THIS_MODULE(evlbd);

#define N_SIGNALS 4
#define DEFAULT_CONFIG "/etc/evlb/evlb.conf"

struct options {
    const char *config_file;
    const char *epoch_log;   /* File name, or NULL. */
    struct log_settings log; /* What goes beyond the configuration's. */
    bool check;              /* Only check the configuration? */
};

struct evlbd {
    const struct options *options;
    struct event_base *base;
    struct ovs_server *server;
    struct epoch_log *epoch_log;
    struct notify *notify;
    struct evlb_config *config;
};

static void
usage(void)
{
    printf("evlbd: event load balancer controller\n"
           "usage: evlbd [OPTION]...\n"
           "  -c, --config=FILE     configuration (default: %s)\n"
           "      --check           check the configuration and exit\n"
           "      --epoch-log=FILE  append a record of each epoch that a "
           "switch is given\n"
           "      --log-file=FILE   log to FILE, too\n"
           "      --syslog          log to syslog, too\n"
           "  -v, --verbose=LEVEL   log level, such as dbg or "
           "evlb_session:dbg\n"
           "  -h, --help            show this and exit\n"
           "  -V, --version         show the version and exit\n",
           DEFAULT_CONFIG);
}

static void
parse_level(const char *spec, struct log_settings *log)
{
    char *error = log_settings_add_level(log, spec);

    if (error) {
        fprintf(stderr, "evlbd: --verbose: %s\n", error);
        exit(2);
    }
}

static void
parse_options(int argc, char *argv[], struct options *options)
{
    enum {
        OPT_CHECK = 256,
        OPT_EPOCH_LOG,
        OPT_LOG_FILE,
        OPT_SYSLOG
    };
    static const struct option longopts[] = {
        { "config", required_argument, NULL, 'c' },
        { "check", no_argument, NULL, OPT_CHECK },
        { "epoch-log", required_argument, NULL, OPT_EPOCH_LOG },
        { "log-file", required_argument, NULL, OPT_LOG_FILE },
        { "syslog", no_argument, NULL, OPT_SYSLOG },
        { "verbose", required_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "c:v:hV", longopts, NULL)) != -1) {
        switch (c) {
        case 'c':
            options->config_file = optarg;
            break;
        case OPT_CHECK:
            options->check = true;
            break;
        case OPT_EPOCH_LOG:
            options->epoch_log = optarg;
            break;
        case OPT_LOG_FILE:
            free(options->log.file);
            options->log.file = mem_strdup(optarg);
            break;
        case OPT_SYSLOG:
            options->log.syslog = true;
            break;
        case 'v':
            parse_level(optarg, &options->log);
            break;
        case 'h':
            usage();
            exit(0);
        case 'V':
            printf("evlbd %s\n", EVLB_VERSION);
            exit(0);
        default:
            fprintf(stderr, "evlbd: see \"evlbd --help\"\n");
            exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "evlbd: unexpected argument \"%s\"\n", argv[optind]);
        exit(2);
    }
}

/* Ends the program if 'error' is not NULL. */
static void
check_error(char *error)
{
    if (error) {
        fprintf(stderr, "evlbd: %s\n", error);
        free(error);
        exit(1);
    }
}

static const struct bridge *
find_bridge(const struct state *state, uint64_t datapath_id)
{
    for (size_t i = 0; i < state->n_bridges; i++) {
        if (state->bridges[i].datapath_id == datapath_id) {
            return &state->bridges[i];
        }
    }
    return NULL;
}

/* Records that 'bridge' holds the epoch of 'calendar', if it is new. */
static void
record_epoch(struct evlbd *d, const struct bridge *bridge,
             const struct rule_calendar *calendar)
{
    const struct instance *instance =
        state_find_instance(&d->config->state, calendar->instance);
    const struct epoch *epoch =
        instance ? epochs_find_id(&instance->epochs, calendar->epoch) : NULL;

    if (epoch
        && epoch_log_committed(d->epoch_log, bridge->name, instance, epoch)) {
        VLOG_INFO("ready: switch %s instance %s epoch %" PRIu16 " from tick "
                  "%" PRIu64 " committed",
                  bridge->name, instance->name, epoch->id, epoch->first);
    }
}

static void
committed_cb(void *d_, uint64_t datapath_id, const struct rule_set *rules)
{
    struct evlbd *d = d_;
    const struct bridge *bridge = find_bridge(&d->config->state, datapath_id);

    if (!bridge) {
        return;
    }
    VLOG_DBG("switch %s holds all %zu rules", bridge->name, rules->n);
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->rules[i].kind == RULE_CALENDAR) {
            record_epoch(d, bridge, &rules->rules[i].calendar);
        }
    }
}

/* Tells the server what each switch should hold. */
static void
apply_config(struct evlbd *d)
{
    const struct state *state = &d->config->state;

    for (size_t i = 0; i < state->n_bridges; i++) {
        const struct bridge *bridge = &state->bridges[i];
        const struct rule_set *rules = rule_set_build(state, bridge);

        ovs_server_set_rules(d->server, bridge->datapath_id, bridge->name,
                             rules);
        rule_set_unref(rules);
    }
}

static bool
same_listeners(const struct evlb_config *a, const struct evlb_config *b)
{
    if (a->n_listen != b->n_listen) {
        return false;
    }
    for (size_t i = 0; i < a->n_listen; i++) {
        if (strcmp(a->listen[i], b->listen[i])) {
            return false;
        }
    }
    return true;
}

/* Puts 'config' in the place of the one that is in service. */
static void
replace_config(struct evlbd *d, struct evlb_config *config)
{
    struct evlb_config *old = d->config;

    if (!same_listeners(old, config)) {
        VLOG_WARN("%s: openflow.listen takes effect at the next start",
                  config->file);
    }
    d->config = config;
    for (size_t i = 0; i < old->state.n_bridges; i++) {
        uint64_t datapath_id = old->state.bridges[i].datapath_id;

        if (!find_bridge(&config->state, datapath_id)) {
            ovs_server_remove(d->server, datapath_id);
        }
    }
    evlb_config_destroy(old);
    apply_config(d);
}

static void
reload(struct evlbd *d)
{
    struct evlb_config *config;
    char *error = evlb_config_load(d->options->config_file, &config);

    if (!error) {
        error = evlb_config_check_successor(d->config, config);
    }
    if (!error) {
        error = log_apply(&config->log, &d->options->log);
    }
    if (error) {
        VLOG_ERR("reload refused, nothing is changed: %s", error);
        free(error);
        evlb_config_destroy(config);
        return;
    }
    replace_config(d, config);
    VLOG_INFO("%s: reloaded", d->options->config_file);
}

static void
reload_cb(evutil_socket_t signal, short events, void *d_)
{
    struct evlbd *d = d_;

    (void) signal;
    (void) events;
    notify_reloading(d->notify);
    reload(d);
    notify_ready(d->notify);
}

static void
reopen_cb(evutil_socket_t signal, short events, void *d)
{
    char *error = log_reopen();

    (void) signal;
    (void) events;
    (void) d;
    if (error) {
        VLOG_ERR("%s", error);
        free(error);
    }
}

/* Returns a line about 'd' for the service manager to show. */
static char *
status_cb(void *d_)
{
    const struct evlbd *d = d_;

    return mem_printf("%zu of %zu switches connected, %zu instances.",
                      ovs_server_count_connected(d->server),
                      d->config->state.n_bridges,
                      d->config->state.n_instances);
}

static void
exit_cb(evutil_socket_t signal, short events, void *d_)
{
    struct evlbd *d = d_;

    (void) events;
    VLOG_INFO("%s: exiting, switches go on with what they have",
              strsignal(signal));
    event_base_loopbreak(d->base);
}

static void
listen_all(struct evlbd *d)
{
    for (size_t i = 0; i < d->config->n_listen; i++) {
        check_error(ovs_server_listen(d->server, d->config->listen[i]));
    }
}

static struct event *
add_signal(struct evlbd *d, int signal, event_callback_fn cb)
{
    struct event *event = evsignal_new(d->base, signal, cb, d);

    event_add(event, NULL);
    return event;
}

/* Serves until a signal ends it. */
static void
serve(struct evlbd *d)
{
    struct event *signals[N_SIGNALS];

    signal(SIGPIPE, SIG_IGN);
    d->base = event_base_new();
    if (!d->base) {
        fprintf(stderr, "evlbd: no event loop: %s\n", strerror(errno));
        exit(1);
    }
    signals[0] = add_signal(d, SIGHUP, reload_cb);
    signals[1] = add_signal(d, SIGTERM, exit_cb);
    signals[2] = add_signal(d, SIGINT, exit_cb);
    signals[3] = add_signal(d, SIGUSR1, reopen_cb);
    d->server = ovs_server_create(d->base, committed_cb, d);
    listen_all(d);
    apply_config(d);
    d->notify = notify_create(d->base, status_cb, d);
    notify_ready(d->notify);

    event_base_dispatch(d->base);

    notify_destroy(d->notify);
    ovs_server_destroy(d->server);
    for (size_t i = 0; i < N_SIGNALS; i++) {
        event_free(signals[i]);
    }
    event_base_free(d->base);
}

int
main(int argc, char *argv[])
{
    struct options options = { .config_file = DEFAULT_CONFIG };
    struct evlbd d = { .options = &options };

    log_init();
    parse_options(argc, argv, &options);
    check_error(evlb_config_load(options.config_file, &d.config));
    if (options.check) {
        printf("%s: correct: %zu bridges, %zu interfaces, %zu instances\n",
               options.config_file, d.config->state.n_bridges,
               d.config->state.n_interfaces, d.config->state.n_instances);
    } else {
        check_error(log_apply(&d.config->log, &options.log));
        check_error(epoch_log_open(options.epoch_log, &d.epoch_log));
        serve(&d);
    }
    epoch_log_close(d.epoch_log);
    evlb_config_destroy(d.config);
    log_settings_destroy(&options.log);
    return 0;
}
