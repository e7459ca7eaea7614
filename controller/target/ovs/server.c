/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/target/ovs/server-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/listener.h"
#include "controller/target/ovs/session-stats.h"
#include "controller/tls.h"

VLOG_DEFINE_THIS_MODULE(evlb_server);

/* Returns the monotonic time in milliseconds. */
int64_t
ovs_server_now__(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns the switch 'datapath_id', or NULL. */
struct ovs_switch *
ovs_server_find__(const struct ovs_server *server, uint64_t datapath_id)
{
    struct ovs_switch *sw;

    LIST_FOR_EACH (sw, node, &server->switches) {
        if (sw->datapath_id == datapath_id) {
            return sw;
        }
    }
    return NULL;
}

/* Lets switches connect to 'address', as listen_address_parse() takes it.
 * Returns NULL if successful, or an error, which the caller must free. */
char *
ovs_server_listen(struct ovs_server *server, const char *address)
{
    struct door *door = mem_zalloc(sizeof *door);
    char *error = listener_create(server->base, address, connection_accept__,
                                  door, &door->listener);

    if (error) {
        free(door);
        return error;
    }
    door->server = server;
    ovs_list_push_back(&server->doors, &door->node);
    VLOG_INFO("%s: listening", address);
    return NULL;
}

/* The server. */

/* Returns a server without listeners and switches, on 'base'.  'committed' is
 * passed 'aux'. */
struct ovs_server *
ovs_server_create(struct event_base *base, ovs_server_committed_cb *committed,
                  void *aux)
{
    struct ovs_server *server = mem_zalloc(sizeof *server);

    server->base = base;
    server->committed = committed;
    server->aux = aux;
    ovs_list_init(&server->doors);
    ovs_list_init(&server->connections);
    ovs_list_init(&server->switches);
    return server;
}

static void
switch_destroy__(struct ovs_switch *sw)
{
    if (sw->connection) {
        connection_close__(sw->connection, "the switch is not configured "
                                           "any more");
    }
    rule_set_unref(sw->rules);
    free(sw->name);
    free(sw->last_error);
    ovs_list_remove(&sw->node);
    free(sw);
}

/* Destroys 'server', which may be NULL.  Switches keep what they hold. */
void
ovs_server_destroy(struct ovs_server *server)
{
    struct connection *c;
    struct ovs_switch *sw;
    struct door *door;

    if (!server) {
        return;
    }
    LIST_FOR_EACH_SAFE (door, node, &server->doors) {
        listener_destroy(door->listener);
        free(door);
    }
    tls_context_destroy(server->tls);
    LIST_FOR_EACH_SAFE (c, node, &server->connections) {
        connection_destroy__(c);
    }
    LIST_FOR_EACH_SAFE (sw, node, &server->switches) {
        switch_destroy__(sw);
    }
    free(server);
}

/* Makes 'rules' what the switch 'datapath_id', called 'name', should hold. */
void
ovs_server_set_rules(struct ovs_server *server, uint64_t datapath_id,
                     const char *name, const struct rule_set *rules)
{
    struct ovs_switch *sw = ovs_server_find__(server, datapath_id);

    if (!sw) {
        sw = mem_zalloc(sizeof *sw);
        sw->datapath_id = datapath_id;
        ovs_list_push_back(&server->switches, &sw->node);
    }
    free(sw->name);
    sw->name = mem_strdup(name);
    rule_set_unref(sw->rules);
    sw->rules = rule_set_ref(rules);
    if (sw->connection) {
        session_set_rules(sw->connection->session, rules, ovs_server_now__());
        connection_update__(sw->connection);
    }
}

/* Returns true if the switch 'datapath_id' has connected and said so. */
bool
ovs_server_is_connected(const struct ovs_server *server, uint64_t datapath_id)
{
    const struct ovs_switch *sw = ovs_server_find__(server, datapath_id);

    return sw && sw->connection;
}

/* Has 'cb' called with 'parts' (SNAPSHOT_*) of what stands in the switch
 * 'datapath_id'. */
void
ovs_server_snapshot(struct ovs_server *server, uint64_t datapath_id,
                    unsigned int parts, ovs_server_snapshot_cb *cb, void *aux)
{
    struct ovs_switch *sw = ovs_server_find__(server, datapath_id);
    char *error;

    if (sw && sw->connection) {
        session_snapshot(sw->connection->session, parts, cb, aux,
                         ovs_server_now__());
        connection_wake__(sw->connection);
        return;
    }
    error = (sw ? mem_printf("%s: is not connected", sw->name)
                : mem_printf("datapath id %016" PRIx64 " is not configured",
                             datapath_id));
    cb(aux, error, NULL);
    free(error);
}

/* Makes 'observer' know what 'aux' wants to know of the switches. */
void
ovs_server_set_observer(struct ovs_server *server,
                        const struct ovs_server_observer *observer, void *aux)
{
    server->observer = observer;
    server->observer_aux = aux;
}

/* Lets the switch 'datapath_id' go.  It keeps what it holds. */
void
ovs_server_remove(struct ovs_server *server, uint64_t datapath_id)
{
    struct ovs_switch *sw = ovs_server_find__(server, datapath_id);

    if (sw) {
        switch_destroy__(sw);
    }
}

/* Returns how many of the switches that 'server' knows are connected. */
size_t
ovs_server_count_connected(const struct ovs_server *server)
{
    const struct ovs_switch *sw;
    size_t n = 0;

    LIST_FOR_EACH (sw, node, &server->switches) {
        n += sw->connection != NULL;
    }
    return n;
}

/* Has packets that come from flows of ours passed to 'cb', with what
 * ovs_server_create() was given. */
void
ovs_server_set_packet_cb(struct ovs_server *server, ovs_server_packet_cb *cb)
{
    server->packet = cb;
}

/* Has 'cb' called with what switches hold, before they are changed, with what
 * ovs_server_create() was given. */
void
ovs_server_set_held_cb(struct ovs_server *server, ovs_server_held_cb *cb)
{
    server->held = cb;
}

/* Sets what each switch may do for us. */
void
ovs_server_set_limits(struct ovs_server *server,
                      const struct session_limits *limits)
{
    struct connection *c;

    server->limits = *limits;
    LIST_FOR_EACH (c, node, &server->connections) {
        if (c->session) {
            session_set_limits(c->session, limits);
            connection_update__(c);
        }
    }
}

/* Sends the frame of 'size' bytes at 'data' out of 'port' of the switch
 * 'datapath_id'.  Returns false if it is not connected. */
bool
ovs_server_send_packet(struct ovs_server *server, uint64_t datapath_id,
                       uint32_t port, const void *data, size_t size)
{
    struct ovs_switch *sw = ovs_server_find__(server, datapath_id);

    if (!sw || !sw->connection || !sw->connection->session) {
        return false;
    }
    session_send_packet(sw->connection->session, port, data, size);
    connection_update__(sw->connection);
    return true;
}

/* Makes 'tls', which becomes the server's own, what connections from now on at
 * addresses of TLS are made with. */
void
ovs_server_set_tls(struct ovs_server *server, struct ssl_ctx_st *tls)
{
    tls_context_destroy(server->tls);
    server->tls = tls;
}

static bool
is_ready__(const struct session *session)
{
    return session_get_state(session) >= SESSION_READY;
}

/* Calls 'cb' with 'aux' and the status of each switch. */
void
ovs_server_for_each_switch(const struct ovs_server *server,
                           ovs_server_status_cb *cb, void *aux)
{
    const struct ovs_switch *sw;

    LIST_FOR_EACH (sw, node, &server->switches) {
        const struct connection *c = sw->connection;
        const struct session *session = c ? c->session : NULL;
        struct session_counters counters = sw->counters;

        session_add_counters(session, &counters);
        cb(aux, &(struct ovs_switch_status){
                    .name = sw->name,
                    .datapath_id = sw->datapath_id,
                    .peer = c ? c->peer : NULL,
                    .tls = c && c->tls,
                    .state = session ? session_state_to_string(
                                 session_get_state(session))
                                     : "",
                    .connected_since = c ? c->since : 0,
                    .n_rules = sw->rules->n,
                    .last_error = sw->last_error,
                    .last_received =
                        session ? session_get_last_received(session) : 0,
                    .n_connections = sw->n_connections,
                    .counters = counters,
                    .openflow = session && is_ready__(session)
                                    ? session_get_minor_version(session)
                                    : 0,
                    .slot_flows = session && session_has_slot_flows(session),
                    .secondary = session && session_is_secondary(session),
                });
    }
}

/* Sets how the switch 'datapath_id', which has been given rules, is to have
 * calendars, from its next connection on. */
void
ovs_server_set_calendar_mode(struct ovs_server *server, uint64_t datapath_id,
                             enum calendar_mode mode)
{
    ovs_server_find__(server, datapath_id)->calendar_mode = mode;
}

/* Has us be the primary controller of switches that connect from now on and of
 * those that have another one, or an equal one among others.  The latest of
 * several primary ones is it. */
void
ovs_server_set_primary(struct ovs_server *server, bool primary)
{
    struct connection *c;
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    server->generation =
        primary ? (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000
                : 0;
    LIST_FOR_EACH (c, node, &server->connections) {
        if (c->session) {
            session_set_generation(c->session, server->generation);
            connection_update__(c);
        }
    }
}
