/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/api-doors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "controller/api/grpc-peer.h"
#include "controller/api/grpc-call.h"
#include "controller/api/grpc-server.h"
#include "controller/api/health.h"
#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"
#include "controller/tls-watch.h"

struct addresses {
    char **addresses;
    size_t n;
};

struct api_doors {
    struct event_base *base;
    struct grpc_service all[2]; /* The control API, and health. */
    struct grpc_services services;
    struct grpc_server *server;
    struct addresses open;
    struct tls_watch *tls; /* Or NULL. */
};

struct api_doors_change {
    struct addresses wanted;
    struct addresses opened; /* Of these, the new ones. */
    struct tls_watch *tls;
    struct grpc_settings settings;
};

static void
addresses_add__(struct addresses *a, const char *address)
{
    a->addresses[a->n++] = mem_strdup(address);
}

static void
addresses_init__(struct addresses *a, size_t max)
{
    a->addresses = mem_alloc(max * sizeof *a->addresses);
    a->n = 0;
}

static void
addresses_destroy__(struct addresses *a)
{
    for (size_t i = 0; i < a->n; i++) {
        free(a->addresses[i]);
    }
    free(a->addresses);
}

static bool
addresses_have__(const struct addresses *a, const char *address)
{
    for (size_t i = 0; i < a->n; i++) {
        if (!strcmp(a->addresses[i], address)) {
            return true;
        }
    }
    return false;
}

/* Returns doors to 'api', what is behind which must stay, on 'base'; none is
 * open. */
struct api_doors *
api_doors_create(struct event_base *base, const struct grpc_service *api)
{
    struct api_doors *doors = mem_zalloc(sizeof *doors);

    doors->base = base;
    doors->all[0] = *api;
    health_init(&doors->all[1], &doors->services);
    doors->services.services = doors->all;
    doors->services.n = 2;
    doors->server = grpc_server_create(base, &doors->services);
    addresses_init__(&doors->open, 0);
    return doors;
}

/* Destroys 'doors', which may be NULL, and ends all connections. */
void
api_doors_destroy(struct api_doors *doors)
{
    if (doors) {
        tls_watch_destroy(doors->tls);
        grpc_server_destroy(doors->server);
        addresses_destroy__(&doors->open);
        free(doors);
    }
}

static void
changed_cb__(void *server, struct ssl_ctx_st *tls)
{
    grpc_server_set_tls(server, tls);
}

/* Opens those of 'change''s addresses that are not open yet. */
static char *
open__(struct api_doors *doors, struct api_doors_change *change)
{
    for (size_t i = 0; i < change->wanted.n; i++) {
        const char *address = change->wanted.addresses[i];

        if (!addresses_have__(&doors->open, address)) {
            char *error =
                grpc_server_listen(doors->server, address, GRPC_NO_GROUP);

            if (error) {
                return error;
            }
            addresses_add__(&change->opened, address);
        }
    }
    return NULL;
}

/* Stores in 's' what 'api' bounds, and where 'http' is. */
static void
set_settings__(struct grpc_settings *s, const struct api_settings *api,
               const struct http_settings *http)
{
    struct listen_address la;
    char *error = NULL;

    *s = (struct grpc_settings){
        .max_connections = api->max_connections,
        .max_peer_connections = api->max_peer_connections,
        .max_peer_calls = api->max_peer_calls,
        .max_peer_rate = api->max_peer_rate,
        .max_message = api->max_message,
        .idle = 1000 * api->idle,
    };
    if (http->n_listen) {
        error = listen_address_parse(http->listen[0], &la);
        s->http_port = error ? 0 : listen_address_get_port(&la);
        s->http_tls = la.tls;
        free(error);
    }
}

/* Prepares to go by 'settings', and to send clients of HTTP to where 'http' says
 * it is.  Returns NULL and stores in '*changep' what is
 * to be committed or abandoned.  Otherwise returns an error, which the caller
 * must free, and stores NULL. */
char *
api_doors_prepare(struct api_doors *doors, const struct api_settings *settings,
                  const struct http_settings *http,
                  struct api_doors_change **changep)
{
    struct api_doors_change *change = mem_zalloc(sizeof *change);
    char *error = NULL;

    addresses_init__(&change->wanted, settings->n_listen);
    addresses_init__(&change->opened, settings->n_listen);
    for (size_t i = 0; i < settings->n_listen; i++) {
        addresses_add__(&change->wanted, settings->listen[i]);
    }
    set_settings__(&change->settings, settings, http);
    if (settings->tls.certificate) {
        error = tls_watch_create(doors->base, &settings->tls, changed_cb__,
                                 doors->server, &change->tls);
    }
    error = error ? error : open__(doors, change);
    if (error) {
        api_doors_abandon(doors, change);
        change = NULL;
    }
    *changep = change;
    return error;
}

static void
change_destroy__(struct api_doors_change *change)
{
    addresses_destroy__(&change->opened);
    free(change);
}

/* From now on 'doors' go by the settings that 'change' was prepared for. */
void
api_doors_commit(struct api_doors *doors, struct api_doors_change *change)
{
    for (size_t i = 0; i < doors->open.n; i++) {
        if (!addresses_have__(&change->wanted, doors->open.addresses[i])) {
            grpc_server_close(doors->server, doors->open.addresses[i]);
        }
    }
    addresses_destroy__(&doors->open);
    doors->open = change->wanted;
    tls_watch_destroy(doors->tls);
    doors->tls = change->tls;
    grpc_server_set(doors->server, &change->settings);
    change_destroy__(change);
}

/* Drops 'change', which may be NULL. */
void
api_doors_abandon(struct api_doors *doors, struct api_doors_change *change)
{
    if (!change) {
        return;
    }
    for (size_t i = 0; i < change->opened.n; i++) {
        grpc_server_close(doors->server, change->opened.addresses[i]);
    }
    tls_watch_destroy(change->tls);
    addresses_destroy__(&change->wanted);
    change_destroy__(change);
}
