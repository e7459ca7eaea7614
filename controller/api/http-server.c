/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/http-server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/api/http-private.h"
#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"
#include "controller/tls-watch.h"
#include "controller/tls.h"

VLOG_DEFINE_THIS_MODULE(evlb_http_server);

#define BACKLOG 64

/* What is about to be in service. */
struct http_change {
    struct ovs_list doors; /* New ones. */
    struct http_certificate *certificate;
    struct http_settings settings; /* Borrowed. */
};

/* Certificates. */

static void
certificate_destroy__(struct http_certificate *certificate)
{
    if (certificate) {
        tls_watch_destroy(certificate->watch);
        tls_context_destroy(certificate->tls);
        free(certificate);
    }
}

static void
renewed_cb__(void *certificate_, struct ssl_ctx_st *tls)
{
    struct http_certificate *certificate = certificate_;

    tls_context_destroy(certificate->tls);
    certificate->tls = tls;
}

/* Stores in '*certificatep' the one in 'files', NULL if there is none. */
static char *
certificate_create__(struct event_base *base, const struct tls_files *files,
                     struct http_certificate **certificatep)
{
    struct http_certificate *certificate;

    if (!files->certificate) {
        return NULL;
    }
    certificate = *certificatep = mem_zalloc(sizeof *certificate);
    return tls_watch_create(base, files, renewed_cb__, certificate,
                            &certificate->watch);
}

/* Doors. */

static void
door_destroy__(struct http_door *door)
{
    ovs_list_remove(&door->node);
    if (door->http) {
        evhttp_free(door->http);
    }
    free(door->address);
    free(door);
}

static struct bufferevent *
connection_cb__(struct event_base *base, void *door_)
{
    const struct http_door *door = door_;

    (void) base;
    return http_connection_create(door->server, door->tls);
}

static void
request_cb__(struct evhttp_request *req, void *door_)
{
    const struct http_door *door = door_;

    http_call_start(door->server, req);
}

/* Opens 'door''s socket, but lets nobody in yet. */
static char *
bind__(struct http_door *door, const struct listen_address *la)
{
    struct evconnlistener *listener = evconnlistener_new_bind(
        door->server->base, NULL, NULL,
        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE
            | LEV_OPT_DISABLED,
        BACKLOG, (const struct sockaddr *) &la->sa, (int) la->len);

    if (!listener) {
        return mem_printf("%s: cannot listen: %s", door->address,
                          strerror(errno));
    }
    if (!evhttp_bind_listener(door->http, listener)) {
        abort();
    }
    return NULL;
}

/* Adds to 'doors' one of 'server' at 'address'.  Returns NULL if successful, or
 * an error, which the caller must free. */
static char *
door_create__(struct http_server *server, const char *address,
              struct ovs_list *doors)
{
    struct http_door *door = mem_zalloc(sizeof *door);
    struct listen_address la;
    char *error = listen_address_parse(address, &la);

    door->server = server;
    door->address = mem_strdup(address);
    ovs_list_push_back(doors, &door->node);
    if (!error) {
        door->tls = la.tls;
        door->http = evhttp_new(server->base);
        evhttp_set_bevcb(door->http, connection_cb__, door);
        evhttp_set_gencb(door->http, request_cb__, door);
        evhttp_set_allowed_methods(door->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD
                                                   | EVHTTP_REQ_POST);
        error = bind__(door, &la);
    }
    if (error) {
        door_destroy__(door);
    }
    return error;
}

static bool
has_door__(const struct ovs_list *doors, const char *address)
{
    const struct http_door *door;

    LIST_FOR_EACH (door, node, doors) {
        if (!strcmp(door->address, address)) {
            return true;
        }
    }
    return false;
}

static void
close_doors__(struct ovs_list *doors)
{
    struct http_door *door;

    LIST_FOR_EACH_SAFE (door, node, doors) {
        door_destroy__(door);
    }
}

/* Changes. */

/* Opens the doors of 'change' that 'server' does not have. */
static char *
open_doors__(struct http_server *server, struct http_change *change)
{
    const struct http_settings *settings = &change->settings;

    for (size_t i = 0; i < settings->n_listen; i++) {
        const char *address = settings->listen[i];
        char *error = has_door__(&server->doors, address)
                          ? NULL
                          : door_create__(server, address, &change->doors);

        if (error && settings->asked) {
            return error;
        } else if (error) {
            VLOG_WARN("%s; going on without (setting http.listen)", error);
            free(error);
        }
    }
    return NULL;
}

/* Stores in '*changep' what makes 'server' go by 'settings', which must stay
 * until then.  The caller has to commit or to abandon it.  Returns NULL if
 * successful, or an error, which the caller must free, and nothing is
 * changed. */
char *
http_server_prepare(struct http_server *server,
                    const struct http_settings *settings,
                    struct http_change **changep)
{
    struct http_change *change = mem_zalloc(sizeof *change);
    char *error;

    ovs_list_init(&change->doors);
    change->settings = *settings;
    error = certificate_create__(server->base, &settings->tls,
                                 &change->certificate);
    error = error ? error : open_doors__(server, change);
    if (error) {
        http_server_abandon(change);
        change = NULL;
    }
    *changep = change;
    return error;
}

/* Drops 'change', which may be NULL. */
void
http_server_abandon(struct http_change *change)
{
    if (change) {
        close_doors__(&change->doors);
        certificate_destroy__(change->certificate);
        free(change);
    }
}

static bool
is_listed__(const struct http_settings *settings, const char *address)
{
    for (size_t i = 0; i < settings->n_listen; i++) {
        if (!strcmp(settings->listen[i], address)) {
            return true;
        }
    }
    return false;
}

/* Closes the doors of 'server' that 'settings' does not list, and has the
 * others go by it. */
static void
update_doors__(struct http_server *server,
               const struct http_settings *settings)
{
    struct http_door *door;

    LIST_FOR_EACH_SAFE (door, node, &server->doors) {
        if (!is_listed__(settings, door->address)) {
            VLOG_INFO("%s: not listening any more", door->address);
            door_destroy__(door);
        }
    }
    LIST_FOR_EACH (door, node, &server->doors) {
        evhttp_set_max_headers_size(door->http,
                                    (ev_ssize_t) settings->max_headers);
        evhttp_set_max_body_size(door->http, (ev_ssize_t) settings->max_body);
    }
}

static void
enable_cb__(struct evhttp_bound_socket *bound, void *server)
{
    (void) server;
    evconnlistener_enable(evhttp_bound_socket_get_listener(bound));
}

/* Puts 'change', which is taken over, in service. */
void
http_server_commit(struct http_server *server, struct http_change *change)
{
    const struct http_settings *settings = &change->settings;
    struct http_door *door;

    certificate_destroy__(server->certificate);
    server->certificate = change->certificate;
    change->certificate = NULL;
    server->limits.max_connections = settings->max_connections;
    server->limits.max_peer_connections = settings->max_peer_connections;
    server->limits.timeout = 1000 * (int64_t) settings->timeout;
    LIST_FOR_EACH_SAFE (door, node, &change->doors) {
        ovs_list_remove(&door->node);
        ovs_list_push_back(&server->doors, &door->node);
        evhttp_foreach_bound_socket(door->http, enable_cb__, server);
        VLOG_INFO("%s: listening", door->address);
    }
    update_doors__(server, settings);
    http_server_abandon(change);
}

/* The server. */

/* Returns a server on 'base' without a door.  'handler' is passed 'aux' and
 * what comes. */
struct http_server *
http_server_create(struct event_base *base, http_handler *handler, void *aux)
{
    struct http_server *server = mem_zalloc(sizeof *server);

    server->base = base;
    server->handler = handler;
    server->aux = aux;
    ovs_list_init(&server->doors);
    http_connections_init(server);
    return server;
}

/* Destroys 'server', which may be NULL, and ends its connections. */
void
http_server_destroy(struct http_server *server)
{
    if (server) {
        close_doors__(&server->doors);
        http_connections_destroy(server);
        certificate_destroy__(server->certificate);
        free(server);
    }
}

void
http_server_get_counters(const struct http_server *server,
                         struct http_server_counters *counters)
{
    *counters = server->counters;
}
