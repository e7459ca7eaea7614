/* SPDX-License-Identifier: Apache-2.0 */

/* evlbd: the controller daemon.
 *
 * It reads a configuration, waits for the configured switches to connect, and
 * keeps each of them at the rules that follow from the configuration.  SIGHUP
 * reads the configuration again; SIGTERM ends the daemon, and the switches go
 * on with what they have. */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <event2/event.h>

#include <config.h>
#include <openvswitch/util.h>
#include <openvswitch/vlog.h>

#include "controller/api/admin.h"
#include "controller/api/api-doors.h"
#include "controller/api/http.h"
#include "controller/api/lb.h"
#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/engine.h"
#include "controller/epoch-log.h"
#include "controller/log.h"
#include "controller/notify.h"
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
    struct engine *engine;
    struct lb *lb;
    struct notify *notify;
    struct admin *admin;
    struct http *http;
    struct api_doors *doors;
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
        fprintf(stderr,
                "evlbd: unexpected argument \"%s\"; see \"evlbd --help\"\n",
                argv[optind]);
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

static char *
accept_cb(void *d_, const struct evlb_config *config)
{
    struct evlbd *d = d_;

    struct api_doors_change *doors;
    struct http_change *http = NULL;
    char *error =
        api_doors_prepare(d->doors, &config->api, &config->http, &doors);

    error = error ? error : http_prepare(d->http, &config->http, &http);
    error = error ? error : log_apply(&config->log, &d->options->log);
    if (error) {
        api_doors_abandon(d->doors, doors);
        http_abandon(http);
    } else {
        admin_check_config(d->admin, config);
        api_doors_commit(d->doors, doors);
        http_commit(d->http, &config->http, http);
    }
    return error;
}

static void
reload(struct evlbd *d)
{
    char *error = engine_reload(d->engine);

    if (error) {
        VLOG_ERR("reload refused, nothing is changed: %s", error);
        free(error);
    } else {
        VLOG_INFO("%s: reloaded", engine_get_config(d->engine)->file);
    }
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
    const struct state *state = engine_get_state(d->engine);

    return mem_printf("%zu of %zu switches connected, %zu instances.",
                      ovs_server_count_connected(engine_get_server(d->engine)),
                      state->n_bridges, state->n_instances);
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

static struct event *
add_signal(struct evlbd *d, int signal, event_callback_fn cb)
{
    struct event *event = evsignal_new(d->base, signal, cb, d);

    event_add(event, NULL);
    return event;
}

/* Opens the doors of HTTP. */
static void
start_http(struct evlbd *d)
{
    const struct http_settings *settings = &engine_get_config(d->engine)->http;
    struct http_change *change;

    d->http = http_create(d->base, d->engine, d->lb);
    check_error(http_prepare(d->http, settings, &change));
    http_commit(d->http, settings, change);
}

/* Opens the doors of the control API. */
static void
open_doors(struct evlbd *d)
{
    const struct evlb_config *config = engine_get_config(d->engine);
    struct api_doors_change *change;

    d->doors = api_doors_create(d->base, lb_get_grpc(d->lb, false));
    check_error(
        api_doors_prepare(d->doors, &config->api, &config->http, &change));
    api_doors_commit(d->doors, change);
}

/* Allows as many open files as we may have: each connection is one. */
static void
raise_file_limit(void)
{
    struct rlimit limit;

    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Serves 'config', reporting epochs to 'epoch_log', until a signal ends it. */
static void
serve(struct evlbd *d, struct evlb_config *config, struct epoch_log *epoch_log)
{
    const struct engine_handlers handlers = { accept_cb, d };
    struct event *signals[N_SIGNALS];

    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();
    d->base = event_base_new();
    if (!d->base) {
        fprintf(stderr, "evlbd: no event loop: %s\n", strerror(errno));
        exit(1);
    }
    signals[0] = add_signal(d, SIGHUP, reload_cb);
    signals[1] = add_signal(d, SIGTERM, exit_cb);
    signals[2] = add_signal(d, SIGINT, exit_cb);
    signals[3] = add_signal(d, SIGUSR1, reopen_cb);
    check_error(
        engine_create(d->base, config, epoch_log, &handlers, &d->engine));
    d->lb = lb_create(d->engine);
    check_error(
        admin_create(d->base, d->engine, lb_get_grpc(d->lb, true), &d->admin));
    start_http(d);
    open_doors(d);
    d->notify = notify_create(d->base, status_cb, d);
    notify_ready(d->notify);

    event_base_dispatch(d->base);

    notify_destroy(d->notify);
    http_destroy(d->http);
    api_doors_destroy(d->doors);
    admin_destroy(d->admin);
    lb_destroy(d->lb);
    engine_destroy(d->engine); /* Ends calls that wait for it. */
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
    struct epoch_log *epoch_log;
    struct evlb_config *config;

    log_init();
    parse_options(argc, argv, &options);
    check_error(evlb_config_load(options.config_file, &config));
    if (options.check) {
        printf("%s: correct: %zu bridges, %zu interfaces, %zu instances\n",
               options.config_file, config->state.n_bridges,
               config->state.n_interfaces, config->state.n_instances);
        evlb_config_destroy(config);
    } else {
        check_error(log_apply(&config->log, &options.log));
        check_error(epoch_log_open(options.epoch_log, &epoch_log));
        serve(&d, config, epoch_log);
        epoch_log_close(epoch_log);
    }
    log_settings_destroy(&options.log);
    return 0;
}
