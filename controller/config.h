/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONFIG_H
#define EVLB_CONFIG_H 1

/* The configuration file of evlbd.
 *
 * A struct evlb_config is read and checked as a whole, and does not change after
 * that: another one takes its place.  docs/configuration.md describes the
 * file. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "controller/core/instance.h"
#include "controller/log.h"
#include "controller/store/series.h"
#include "controller/tls.h"

#define ADMIN_SOCKET "/run/evlb/evlbd.sock"
#define ADMIN_NO_GROUP ((gid_t) -1)

/* Where the operator asks. */
struct admin_settings {
    char *socket; /* Empty for none. */
    bool asked;   /* Is 'socket' what the file says? */
    gid_t group;  /* Whose members may, too; or ADMIN_NO_GROUP. */
};

#define API_PORT 19523

/* Where the control API is, beside the operator's socket. */
struct api_settings {
    char **listen; /* Addresses with ports; none if it is not there. */
    size_t n_listen;
    struct tls_files tls; /* For those of TLS. */
    char *root_token;     /* Who has it may do anything; or NULL. */
    char *public_address; /* HOST:PORT that others are told, or NULL. */
    uint32_t max_connections;
    uint32_t max_peer_connections; /* From one address. */
    uint32_t max_peer_calls;       /* From there under way. */
    uint32_t max_peer_rate;        /* From there in a second. */
    uint32_t max_message;          /* Bytes of a request. */
    uint32_t idle;                 /* Seconds of a connection without a
                                    * call. */
};

#define HTTP_PORT 19524

/* Who may have metrics without a token? */
enum http_metrics_door {
    HTTP_METRICS_LOCAL, /* Processes of this host. */
    HTTP_METRICS_OPEN,  /* Everybody. */
    HTTP_METRICS_TOKEN  /* Nobody. */
};

/* Where metrics, REST and the web page are. */
struct http_settings {
    char **listen; /* Addresses with ports. */
    size_t n_listen;
    bool asked;           /* Are they what the file says? */
    struct tls_files tls; /* For those of TLS. */
    enum http_metrics_door metrics;
    uint32_t max_body;    /* Bytes of a request. */
    uint32_t max_headers; /* Likewise. */
    uint32_t max_connections;
    uint32_t max_peer_connections; /* From one address. */
    uint32_t timeout;              /* For a request, or a reply, seconds. */
};

/* Whose worker we may be: other load balancers' control planes. */
struct chain_settings {
    char **allow; /* HOST:PORT of each, as it stands in an EJFAT_URI. */
    size_t n_allow;
    char *ca; /* File of certificates to trust, or NULL for the system's. */
};

bool chain_settings_allow(const struct chain_settings *, const char *address);

struct evlb_config {
    char *file;
    char **listen; /* Where switches connect. */
    size_t n_listen;
    struct tls_files tls; /* For those of TLS. */
    bool primary;         /* Ask switches to be their primary controller? */
    unsigned int slow_path_limit;  /* Packets a second, 0 for no limit of */
    unsigned int controller_limit; /* ours. */
    struct admin_settings admin;
    struct api_settings api;
    struct chain_settings chain;
    struct http_settings http;
    struct log_settings log;
    char *state_file; /* Empty for none, NULL if the file does not say. */
    struct series_limits history;
    char *state_dir; /* Where it is then, an absolute path, or NULL. */
    struct state state;
};

char *evlb_config_load(const char *file, struct evlb_config **);
void evlb_config_destroy(struct evlb_config *);

#endif /* config.h */
