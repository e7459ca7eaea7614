/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/http.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/api/http-metrics.h"
#include "controller/api/http-page.h"
#include "controller/api/http-server.h"
#include "controller/api/rest.h"
#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/engine.h"

struct http {
    struct engine *engine;
    struct lb *lb;
    enum http_metrics_door door; /* Who may have metrics without a token? */
    struct http_server *server;
    struct http_metrics *metrics;
};

static void
fail__(struct http_call *call, int status, const char *message)
{
    http_call_reply(call, status, "text/plain; charset=utf-8", message,
                    strlen(message));
}

/* Checks that 'call' only asks for something.  If not, ends it and returns
 * false. */
static bool
check_get__(struct http_call *call)
{
    if (http_call_method(call) != HTTP_GET) {
        http_call_set_header(call, "Allow", "GET, HEAD");
        fail__(call, 405, "this is for GET\n");
        return false;
    }
    return true;
}

/* May who sent 'call' have metrics without a token? */
static bool
is_open__(const struct http *http, const struct http_call *call)
{
    switch (http->door) {
    case HTTP_METRICS_LOCAL:
        return http_call_is_local(call);
    case HTTP_METRICS_OPEN:
        return true;
    case HTTP_METRICS_TOKEN:
        return false;
    }
    abort();
}

static void
admitted_cb__(void *http_, struct http_call *call)
{
    const struct http *http = http_;

    http_metrics_serve(http->metrics, call);
}

static void
serve_metrics__(struct http *http, struct http_call *call)
{
    if (!check_get__(call)) {
        return;
    }
    if (is_open__(http, call)) {
        http_metrics_serve(http->metrics, call);
    } else {
        rest_admit(http->lb, call, admitted_cb__, http);
    }
}

/* Is 'path' 'prefix', or something below it? */
static bool
is_below__(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);

    return !strncmp(path, prefix, n) && (!path[n] || path[n] == '/');
}

/* Returns the port of the first door of gRPC, or 0 if there is none. */
static uint16_t
get_grpc_port__(const struct http *http)
{
    const struct api_settings *api = &engine_get_config(http->engine)->api;
    const char *colon = api->n_listen ? strrchr(api->listen[0], ':') : NULL;

    return colon ? (uint16_t) strtoul(colon + 1, NULL, 10) : 0;
}

static void
handle__(void *http_, struct http_call *call)
{
    struct http *http = http_;
    const char *path = http_call_path(call);

    if (!strcmp(path, "/metrics")) {
        serve_metrics__(http, call);
    } else if (is_below__(path, REST_PATH)) {
        rest_serve(http->lb, get_grpc_port__(http), call);
    } else if (strcmp(path, "/")) {
        fail__(call, 404, "there are /, /metrics and " REST_PATH "\n");
    } else if (check_get__(call)) {
        http_page_serve(call);
    }
}

/* Returns what serves 'engine' and 'lb' on 'base', at no address yet. */
struct http *
http_create(struct event_base *base, struct engine *engine, struct lb *lb)
{
    struct http *http = mem_zalloc(sizeof *http);
    struct metrics_sources sources = { .engine = engine,
                                       .started = time(NULL) };

    http->engine = engine;
    http->lb = lb;
    http->server = http_server_create(base, handle__, http);
    sources.http = http->server;
    http->metrics = http_metrics_create(base, &sources);
    return http;
}

/* Destroys 'http', which may be NULL. */
void
http_destroy(struct http *http)
{
    if (http) {
        http_metrics_destroy(http->metrics);
        http_server_destroy(http->server);
        free(http);
    }
}

/* Prepares to go by 'settings': see http_server_prepare(). */
char *
http_prepare(struct http *http, const struct http_settings *settings,
             struct http_change **changep)
{
    return http_server_prepare(http->server, settings, changep);
}

/* From now on 'http' goes by 'settings', for which 'change' was prepared. */
void
http_commit(struct http *http, const struct http_settings *settings,
            struct http_change *change)
{
    http->door = settings->metrics;
    http_server_commit(http->server, change);
}

/* Drops 'change', which may be NULL. */
void
http_abandon(struct http_change *change)
{
    http_server_abandon(change);
}
