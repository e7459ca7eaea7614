/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics, REST and the web page in the configuration. */

#include "controller/config-parse.h"

#include <stdlib.h>

#include "controller/config.h"

/* Frees what 'http' holds, but not 'http' itself. */
void
http_settings_destroy(struct http_settings *http)
{
    for (size_t i = 0; i < http->n_listen; i++) {
        free(http->listen[i]);
    }
    free(http->listen);
    tls_files_destroy(&http->tls);
}

void
parse_http(struct reader *r, const config_setting_t *root,
           struct http_settings *http)
{
    static const char *const names[] = {
        "listen",   "tls",         "allow_plain",     "metrics",
        "max_body", "max_headers", "max_connections", "max_peer_connections",
        "timeout",  NULL
    };
    static const char *const metrics[] = { "local", "open", "token", NULL };
    const config_setting_t *group = config_setting_get_member(root, "http");
    struct listen_settings listen = { "http", HTTP_PORT, false,
                                      "browsers cannot reach one" };

    if (!group) {
        return;
    }
    reader_check_names(r, group, names);
    if (r->error) {
        return;
    }
    parse_tls(r, group, false, &http->tls);
    listen.has_tls = http->tls.certificate != NULL;
    http->asked =
        parse_listen(r, group, &listen, &http->listen, &http->n_listen);
    http->metrics = (enum http_metrics_door) reader_find_choice(
        r, group, "metrics", metrics, HTTP_METRICS_LOCAL);
    http->max_body = (uint32_t) reader_find_uint(r, group, "max_body", 1024,
                                                 16 << 20, 1 << 20);
    http->max_headers = (uint32_t) reader_find_uint(r, group, "max_headers",
                                                    1024, 1 << 20, 16 << 10);
    http->max_connections =
        (uint32_t) reader_find_uint(r, group, "max_connections", 1, 4096, 256);
    http->max_peer_connections = (uint32_t) reader_find_uint(
        r, group, "max_peer_connections", 1, 4096, 64);
    http->timeout =
        (uint32_t) reader_find_uint(r, group, "timeout", 1, 3600, 30);
}
