/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/admin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/api/admin-private.h"
#include "controller/api/health.h"
#include "controller/api/now.h"
#include "controller/core/mem.h"

VLOG_DEFINE_THIS_MODULE(evlb_admin);

/* Returns the name of the instance 'id', in 'arena': empty if it is -1. */
char *
admin_instance_name(struct arena *arena, const struct state *state, int id)
{
    const struct instance *in =
        id >= 0 ? state_find_instance(state, (uint16_t) id) : NULL;

    return (in        ? arena_strdup(arena, in->name)
            : id >= 0 ? arena_printf(arena, "#%d", id)
                      : arena_strdup(arena, ""));
}

/* Returns the name of the interface 'id', in 'arena': empty if it is -1. */
char *
admin_interface_name(struct arena *arena, const struct state *state, int id)
{
    for (size_t i = 0; i < state->n_interfaces; i++) {
        if (state->interfaces[i].id == id) {
            return arena_strdup(arena, state->interfaces[i].name);
        }
    }
    return (id < 0 ? arena_strdup(arena, "") : arena_printf(arena, "#%d", id));
}

/* Returns the names of 'state''s instances, for a message. */
static char *
instance_names__(const struct state *state)
{
    char *s = mem_strdup(state->n_instances ? "" : "(none)");

    for (size_t i = 0; i < state->n_instances; i++) {
        char *longer =
            mem_printf("%s%s%s", s, i ? ", " : "", state->instances[i].name);

        free(s);
        s = longer;
    }
    return s;
}

/* Checks that 'state' has an instance 'name'.  If not, finishes 'call' with an
 * error and returns false. */
bool
admin_find(const struct state *state, struct grpc_call *call, const char *name)
{
    char *names;
    char *error;

    if (state_find_instance_by_name(state, name)) {
        return true;
    }
    names = instance_names__(state);
    error =
        mem_printf("there is no instance \"%s\"; there are: %s", name, names);
    grpc_call_finish(call, GRPC_NOT_FOUND, error);
    free(error);
    free(names);
    return false;
}

/* Stores in '*begin' and '*end' which of 'state''s instances 'name' means:
 * one, or all if it is empty.  If there is none, finishes 'call' with an error
 * and returns false. */
bool
admin_select(const struct state *state, struct grpc_call *call,
             const char *name, size_t *begin, size_t *end)
{
    *begin = 0;
    *end = state->n_instances;
    if (*name) {
        if (!admin_find(state, call, name)) {
            return false;
        }
        *begin = (size_t) (state_find_instance_by_name(state, name)
                           - state->instances);
        *end = *begin + 1;
    }
    return true;
}

/* Returns the handler of the method 'name', or NULL. */
static grpc_handler *
find_handler__(const char *name)
{
    static const struct {
        const char *name;
        grpc_handler *handler;
    } methods[] = {
#define ADMIN_METHOD(NAME, HANDLER) { #NAME, HANDLER },
        ADMIN_METHODS
#undef ADMIN_METHOD
    };

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!strcmp(methods[i].name, name)) {
            return methods[i].handler;
        }
    }
    return NULL;
}

/* Makes 'admin''s own service, health, and 'api' if that is not NULL, what it
 * serves. */
static void
create_services__(struct admin *admin, const struct grpc_service *api)
{
    const ProtobufCServiceDescriptor *d = &evlb__admin__v1__admin__descriptor;
    grpc_handler **handlers = mem_zalloc(d->n_methods * sizeof *handlers);

    for (unsigned int i = 0; i < d->n_methods; i++) {
        handlers[i] = find_handler__(d->methods[i].name);
    }
    admin->all[0] = (struct grpc_service){ d, handlers, admin };
    admin->services.services = admin->all;
    health_init(&admin->all[1], &admin->services);
    admin->services.n = 2;
    if (api) {
        admin->all[admin->services.n++] = *api;
    }
}

/* Makes the directory that 'socket' is in, if it is not there. */
static void
make_directory__(const char *socket)
{
    char *directory = mem_strdup(socket);
    char *slash = strrchr(directory, '/');

    if (slash && slash != directory) {
        *slash = '\0';
        mkdir(directory, 0755);
    }
    free(directory);
}

/* Listens where 'settings' says.  Whoever did not ask for the socket does
 * without if it cannot be had. */
static char *
listen__(struct admin *admin, const struct admin_settings *settings)
{
    char *address = mem_printf("unix:%s", settings->socket);
    char *error;

    make_directory__(settings->socket);
    error = grpc_server_listen(admin->server, address, settings->group);
    if (error && !settings->asked) {
        VLOG_WARN("%s; going on without evlbctl (setting admin.socket)",
                  error);
        free(error);
        error = NULL;
    }
    free(address);
    return error;
}

/* Serves the operator of 'engine' on 'base', where the configuration says, and
 * 'api', which must outlast the service, on the same socket.
 * Returns NULL and stores the service in '*adminp', which the caller must
 * destroy, or returns an error, which the caller must free. */
char *
admin_create(struct event_base *base, struct engine *engine,
             const struct grpc_service *api, struct admin **adminp)
{
    const struct admin_settings *settings = &engine_get_config(engine)->admin;
    struct admin *admin = mem_zalloc(sizeof *admin);
    char *error;

    admin->engine = engine;
    admin->started = now_ms();
    create_services__(admin, api);
    admin->server = grpc_server_create(base, &admin->services);
    error = *settings->socket ? listen__(admin, settings) : NULL;
    if (error) {
        admin_destroy(admin);
        admin = NULL;
    }
    *adminp = admin;
    return error;
}

/* Destroys 'admin', which may be NULL. */
void
admin_destroy(struct admin *admin)
{
    if (admin) {
        grpc_server_destroy(admin->server);
        free((void *) admin->all[0].handlers);
        free(admin);
    }
}

/* Says so if 'config', which is about to be put in service, asks for another
 * socket than the one that is there. */
void
admin_check_config(const struct admin *admin, const struct evlb_config *config)
{
    const struct admin_settings *old =
        &engine_get_config(admin->engine)->admin;
    const struct admin_settings *new = &config->admin;

    if (strcmp(old->socket, new->socket) || old->group != new->group) {
        VLOG_WARN("%s: admin takes effect at the next start", config->file);
    }
}
